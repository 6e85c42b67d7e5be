//! The file format of a run: sorted records, front-coded, in blocks with checksums.
//!
//! A block consists of a header of 16 bytes and a body. The header: number of bytes in the body,
//! number of records in it, number of the block in its run, and the CRC-32C of these three and the
//! body; each 32 bits, little-endian. A record in the body: the number of bytes that its key shares
//! with the previous one in the run, the number of bytes that follow, and the length of the
//! payload, each a variable-length number of seven bits per byte; then the rest of the key and the
//! payload. The merge needs the number of shared bytes of each key anyway, and URLs shrink to half
//! their size. A run ends with a block of no records; one without it was cut short. The length of
//! the longest block stays in memory, so a greater length is recognised as damage before it is used
//! for reading.

use std::io::{self, ErrorKind, Read, Write};

use thiserror::Error;

use super::space::RunFile;
use crate::keys::shared;

/// Bytes in a body after which the block is closed: large enough for the drive to read it at full
/// speed, small enough for a merge of a hundred runs to need 25 MiB.
pub(super) const BLOCK: usize = 256 << 10;

const HEAD: usize = 16;

/// Maximum length of key and payload together. The body of a block has less than [`BLOCK`] bytes
/// before its last record, so its length then fits 32 bits.
pub(super) const RECORD_MAX: usize = 4095 << 20;

/// Three variable-length numbers of 32 bits.
const NUMBERS: usize = 3 * 5;

const _: () = assert!(BLOCK + NUMBERS + RECORD_MAX <= u32::MAX as usize);

/// Why a run could not be read back.
#[derive(Debug, Error)]
pub(super) enum RunError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the checksum of block {0} is wrong")]
    Checksum(u32),
    #[error("the length of block {0} is greater than that of any block written")]
    Overlong(u32),
    #[error("block {0} is in the place of block {1}")]
    Misplaced(u32, u32),
    #[error("it is cut short in or after block {0}")]
    CutShort(u32),
    #[error("block {0} contains invalid records")]
    Nonsense(u32),
}

/// The sizes that determine the memory of a reader.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Longest {
    /// Bytes in the body of the longest block.
    block: usize,
    /// Bytes of the longest key.
    key: usize,
}

impl Longest {
    /// Memory of a reader, in bytes.
    pub(super) fn memory(self) -> usize {
        self.block + self.key
    }
}

#[derive(Debug)]
pub(super) struct RunWriter<W> {
    to: W,
    longest: Longest,
    block: Vec<u8>,
    records: u32,
    number: u32,
    last: Vec<u8>,
}

impl<W: Write> RunWriter<W> {
    pub(super) fn new(to: W) -> Self {
        let mut block = Vec::with_capacity(HEAD + BLOCK);
        block.resize(HEAD, 0);
        Self { to, longest: Longest::default(), block, records: 0, number: 0, last: Vec::new() }
    }

    /// Adds a record whose key shares at least `known` bytes with the previous one's. Returns
    /// whether a block was written.
    pub(super) fn push(&mut self, key: &[u8], payload: &[u8], known: usize) -> io::Result<bool> {
        let known = known.min(key.len()).min(self.last.len());
        let alike = known + shared(&key[known..], &self.last[known..]);
        put_number(&mut self.block, alike);
        put_number(&mut self.block, key.len() - alike);
        put_number(&mut self.block, payload.len());
        self.block.extend_from_slice(&key[alike..]);
        self.block.extend_from_slice(payload);
        self.last.truncate(alike);
        self.last.extend_from_slice(&key[alike..]);
        self.records += 1;
        self.longest.key = self.longest.key.max(key.len());
        let full = self.block.len() - HEAD >= BLOCK;
        if full {
            self.close_block()?;
        }
        Ok(full)
    }

    fn close_block(&mut self) -> io::Result<()> {
        let length = self.block.len() - HEAD;
        self.longest.block = self.longest.block.max(length);
        let body = u32::try_from(length).map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
        for (place, value) in self.block.chunks_exact_mut(4).zip([body, self.records, self.number])
        {
            place.copy_from_slice(&value.to_le_bytes());
        }
        let sum = checksum(&self.block[..HEAD], &self.block[HEAD..]);
        self.block[12..HEAD].copy_from_slice(&sum.to_le_bytes());
        self.to.write_all(&self.block)?;
        self.block.truncate(HEAD);
        self.records = 0;
        self.number += 1;
        Ok(())
    }

    /// Ends the run, and returns what it was written to.
    pub(super) fn finish(mut self) -> io::Result<(W, Longest)> {
        if self.records > 0 {
            self.close_block()?;
        }
        self.close_block()?;
        self.to.flush()?;
        Ok((self.to, self.longest))
    }
}

fn checksum(head: &[u8], body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&head[..12]), body)
}

fn put_number(to: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn take_number(from: &[u8], at: &mut usize) -> Option<usize> {
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let byte = *from.get(*at)?;
        *at += 1;
        number |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Reads a run, one block at a time.
#[derive(Debug)]
pub(super) struct RunReader<R> {
    from: R,
    longest: Longest,
    block: Vec<u8>,
    at: usize,
    /// Number of unread records in this block.
    left: u32,
    /// Number of the next block.
    number: u32,
    key: Vec<u8>,
    payload: std::ops::Range<usize>,
    ended: bool,
}

impl<R: Read> RunReader<R> {
    /// Allocates all the memory that the reader needs.
    pub(super) fn new(from: R, longest: Longest) -> Self {
        let (block, key) = (Vec::with_capacity(longest.block), Vec::with_capacity(longest.key));
        Self { from, longest, block, at: 0, left: 0, number: 0, key, payload: 0..0, ended: false }
    }

    /// Moves back to before the first record.
    pub(super) fn rewind(&mut self) -> Result<(), RunError>
    where
        R: RunFile,
    {
        self.from.rewind()?;
        (self.left, self.number, self.ended) = (0, 0, false);
        self.key.clear();
        Ok(())
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(super) fn payload(&self) -> &[u8] {
        &self.block[self.payload.clone()]
    }

    /// Moves to the next record; returns how many bytes its key shares with the previous one,
    /// `None` at the end of the run.
    pub(super) fn advance(&mut self) -> Result<Option<usize>, RunError> {
        while self.left == 0 {
            if self.ended {
                return Ok(None);
            }
            self.read_block()?;
        }
        self.left -= 1;
        self.read_record().map(Some).ok_or(RunError::Nonsense(self.number - 1))
    }

    fn read_record(&mut self) -> Option<usize> {
        let alike = take_number(&self.block, &mut self.at)?;
        let rest = take_number(&self.block, &mut self.at)?;
        let payload = take_number(&self.block, &mut self.at)?;
        let key = self.block.get(self.at..)?.get(..rest)?;
        if alike > self.key.len() {
            return None;
        }
        self.key.truncate(alike);
        self.key.extend_from_slice(key);
        let from = self.at + rest;
        let to = from.checked_add(payload)?;
        self.block.get(from..to)?;
        self.payload = from..to;
        self.at = to;
        Some(alike)
    }

    fn read_block(&mut self) -> Result<(), RunError> {
        let number = self.number;
        let cut = |error: io::Error| match error.kind() {
            ErrorKind::UnexpectedEof => RunError::CutShort(number),
            _ => RunError::Io(error),
        };
        let mut head = [0; HEAD];
        self.from.read_exact(&mut head).map_err(cut)?;
        let [body, records, stands, sum] = std::array::from_fn(|index| {
            u32::from_le_bytes(std::array::from_fn(|byte| head[4 * index + byte]))
        });
        // A damaged length must not cause a huge allocation.
        if body as usize > self.longest.block {
            return Err(RunError::Overlong(number));
        }
        self.block.resize(body as usize, 0);
        self.from.read_exact(&mut self.block).map_err(cut)?;
        if sum != checksum(&head, &self.block) {
            return Err(RunError::Checksum(number));
        }
        if stands != number {
            return Err(RunError::Misplaced(stands, number));
        }
        (self.at, self.left, self.number) = (0, records, number + 1);
        self.ended = records == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    type Pair = (Vec<u8>, Vec<u8>);

    fn written(records: &[Pair]) -> (Vec<u8>, Longest) {
        let mut writer = RunWriter::new(Vec::new());
        for (key, payload) in records {
            writer.push(key, payload, 0).unwrap();
        }
        writer.finish().unwrap()
    }

    fn read(bytes: &[u8], longest: Longest) -> Result<Vec<Pair>, RunError> {
        let mut reader = RunReader::new(bytes, longest);
        let mut records = vec![];
        let mut last = vec![];
        while let Some(alike) = reader.advance()? {
            assert_eq!(alike, shared(&last, reader.key()));
            last = reader.key().to_vec();
            records.push((reader.key().to_vec(), reader.payload().to_vec()));
        }
        Ok(records)
    }

    fn records() -> impl Strategy<Value = Vec<Pair>> {
        let bytes = || vec(prop_oneof![Just(b'a'), Just(0), any::<u8>()], 0..50);
        vec((bytes(), bytes()), 0..12)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(records in records()) {
            let (bytes, longest) = written(&records);
            prop_assert_eq!(read(&bytes, longest).unwrap(), records);
        }

        #[test]
        fn a_flipped_bit_or_a_cut_is_noticed(records in records(), place: prop::sample::Index, bit in 0..8_u8, cut: bool) {
            let (mut bytes, longest) = written(&records);
            let place = place.index(bytes.len());
            if cut {
                bytes.truncate(place);
            } else {
                bytes[place] ^= 1_u8 << bit;
            }
            prop_assert!(read(&bytes, longest).is_err());
        }
    }

    #[test]
    fn swapped_or_missing_blocks_are_detected() {
        let records: Vec<_> = (0..3).map(|n| (vec![n; BLOCK], vec![n])).collect();
        let (bytes, longest) = written(&records);
        let read = |bytes: &[u8]| read(bytes, longest);
        assert_eq!(read(&bytes).unwrap(), records);
        let block = HEAD + 3 + 2 + 1 + BLOCK;
        let swapped = [&bytes[block..2 * block], &bytes[..block], &bytes[2 * block..]].concat();
        assert_eq!(read(&swapped).unwrap_err().to_string(), "block 1 is in the place of block 0");
        assert_eq!(
            read(&bytes[..block]).unwrap_err().to_string(),
            "it is cut short in or after block 1"
        );
    }

    /// An endless reader after a header whose length has a flipped bit.
    #[test]
    fn a_damaged_length_is_not_used_for_reading() {
        let (mut bytes, longest) = written(&[(b"key".to_vec(), vec![])]);
        bytes[3] ^= 0x80;
        let read = Cell::new(0);
        let endless = Counted { from: (&bytes[..]).chain(io::repeat(0)), read: &read };
        let error = RunReader::new(endless, longest).advance().unwrap_err().to_string();
        assert_eq!(error, "the length of block 0 is greater than that of any block written");
        assert_eq!(read.get(), HEAD);
    }

    struct Counted<'a, R> {
        from: R,
        read: &'a Cell<usize>,
    }

    impl<R: Read> Read for Counted<'_, R> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let read = self.from.read(bytes)?;
            self.read.set(self.read.get() + read);
            Ok(read)
        }
    }
}
