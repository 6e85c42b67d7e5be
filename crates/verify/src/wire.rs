//! Binary encoding of numbers and strings for superblock, journal and network.
//!
//! A reader trusts nothing: every length is checked against the available bytes, and trailing bytes
//! are an error.

/// Why bytes cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("the data ends too early")]
    Short,
    #[error("there are trailing bytes")]
    Long,
    #[error("a string is not UTF-8")]
    Words,
    #[error("invalid {0}")]
    Number(&'static str),
}

/// Encodes fields.
#[derive(Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A byte that says whether there is a value, then eight bytes.
    pub fn maybe(&mut self, value: Option<u64>) -> &mut Self {
        self.u8(u8::from(value.is_some())).u64(value.unwrap_or(0))
    }

    /// Two bytes of length, then UTF-8. Longer strings are truncated.
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

/// Decodes fields.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
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

    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

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

    pub fn words(&mut self) -> Result<String, Malformed> {
        let length = usize::from(self.u16()?);
        String::from_utf8(self.take(length)?.to_vec()).map_err(|_| Malformed::Words)
    }

    /// The remaining bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// Checks that nothing is left.
    pub fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed::Long) }
    }
}
