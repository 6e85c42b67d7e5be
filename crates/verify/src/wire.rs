//! Numbers and words as bytes, for everything that leaves the program: superblock, journal, connection.
//!
//! A reader takes nothing on trust: every length is held against what is there, and what remains at the end is an error.

#![expect(clippy::missing_errors_doc, reason = "all of them fail in one way: the bytes are malformed")]

/// Bytes that are not what they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It ends in the middle.
    #[error("it ends in the middle")]
    Short,
    /// More follows than belongs to it.
    #[error("something follows its end")]
    Long,
    /// Words that are not UTF-8.
    #[error("its words are not UTF-8")]
    Words,
    /// A number that cannot be.
    #[error("its {0} cannot be")]
    Number(&'static str),
}

/// Appends fields.
#[derive(Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// One byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    /// Two bytes, little-endian.
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Four bytes, little-endian.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Eight bytes, little-endian.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A byte that says whether there is one, then eight bytes.
    pub fn maybe(&mut self, value: Option<u64>) -> &mut Self {
        self.u8(u8::from(value.is_some())).u64(value.unwrap_or(0))
    }

    /// Two bytes of length, then UTF-8; longer words are cut.
    pub fn words(&mut self, words: &str) -> &mut Self {
        let mut end = words.len().min(usize::from(u16::MAX));
        while !words.is_char_boundary(end) {
            end -= 1;
        }
        self.u16(end as u16);
        self.0.extend(&words.as_bytes()[..end]);
        self
    }
}

/// Takes fields off.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Of these bytes.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| Malformed::Short)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// A truth value.
    pub fn flag(&mut self, what: &'static str) -> Result<bool, Malformed> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed::Number(what)),
        }
    }

    /// A number that may be missing.
    pub fn maybe(&mut self, what: &'static str) -> Result<Option<u64>, Malformed> {
        let there = self.flag(what)?;
        let value = self.u64()?;
        Ok(there.then_some(value))
    }

    /// Words.
    pub fn words(&mut self) -> Result<String, Malformed> {
        let length = usize::from(self.u16()?);
        String::from_utf8(self.take(length)?.to_vec()).map_err(|_| Malformed::Words)
    }

    /// What has not been taken.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// Nothing may be left.
    pub fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed::Long) }
    }
}
