//! Reading records from a stream.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use memchr::memchr;

/// Bytes per read and per write: at this size the system call costs nothing in comparison.
pub(crate) const BLOCK: usize = 1 << 20;

/// The format of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Records that end with a byte, which is not part of them; the last one may lack it.
    Lines {
        /// The terminating byte.
        end: u8,
    },
    /// Records of this many bytes each (not 0).
    Records(usize),
}

/// Why a record cannot be read.
#[derive(Debug)]
pub(crate) enum RecordError {
    Io(io::Error),
    /// Bytes after the last whole record.
    Rest {
        left: usize,
        size: usize,
    },
}

/// Reads records, a block at a time.
pub(crate) struct Records<R> {
    from: R,
    unit: Unit,
    bytes: Vec<u8>,
    /// The bytes that were read and not returned yet.
    unread: Range<usize>,
    /// Number of them that are known to contain no terminator.
    seen: usize,
}

impl<R: Read> Records<R> {
    /// Reads `block` bytes at a time, or more if a record is longer.
    pub(crate) fn new(from: R, unit: Unit, block: usize) -> Self {
        Self { from, unit, bytes: vec![0; block], unread: 0..0, seen: 0 }
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, RecordError> {
        loop {
            let Range { start, end: filled } = self.unread;
            if let Some(length) = end_of(&self.bytes[start..filled], self.unit, self.seen) {
                let end = start + length;
                self.unread.start = end + usize::from(matches!(self.unit, Unit::Lines { .. }));
                self.seen = 0;
                return Ok(Some(&self.bytes[start..end]));
            }
            self.seen = self.unread.len();
            if self.read()? {
                continue;
            }
            let rest = self.unread.clone();
            (self.unread.start, self.seen) = (rest.end, 0);
            return match (rest.len(), self.unit) {
                (0, _) => Ok(None),
                (left, Unit::Records(size)) => Err(RecordError::Rest { left, size }),
                (_, Unit::Lines { .. }) => Ok(Some(&self.bytes[rest])),
            };
        }
    }

    /// Reads more; returns `false` at the end.
    fn read(&mut self) -> Result<bool, RecordError> {
        self.bytes.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        if self.unread.end == self.bytes.len() {
            self.bytes.resize(2 * self.bytes.len(), 0);
        }
        loop {
            match self.from.read(&mut self.bytes[self.unread.end..]) {
                Ok(read) => {
                    self.unread.end += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(RecordError::Io(error)),
            }
        }
    }
}

/// A reader that reports the size of every block read.
pub(crate) struct Watched<R, P> {
    pub(crate) from: R,
    pub(crate) progress: P,
}

impl<R: Read, P: FnMut(u64)> Read for Watched<R, P> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(to)?;
        (self.progress)(read as u64);
        Ok(read)
    }
}

/// The end of the first record in these bytes, if it is complete; the first `seen` bytes contain no
/// terminator.
fn end_of(bytes: &[u8], unit: Unit, seen: usize) -> Option<usize> {
    match unit {
        Unit::Lines { end } => memchr(end, &bytes[seen..]).map(|at| seen + at),
        Unit::Records(size) => (bytes.len() >= size).then_some(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Returns a few bytes per read.
    struct Dribble<'a>(&'a [u8], usize);

    impl Read for Dribble<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let many = self.0.len().min(self.1).min(to.len());
            to[..many].copy_from_slice(&self.0[..many]);
            self.0 = &self.0[many..];
            Ok(many)
        }
    }

    fn read(bytes: &[u8], step: usize, unit: Unit) -> Result<Vec<Vec<u8>>, RecordError> {
        let mut from = Records::new(Dribble(bytes, step), unit, 8);
        let mut records = vec![];
        while let Some(record) = from.next()? {
            records.push(record.to_vec());
        }
        assert!(from.next()?.is_none(), "a record after the end");
        Ok(records)
    }

    proptest! {
        #[test]
        fn lines_are_split_wherever_blocks_end(bytes in vec(prop_oneof![Just(b'\n'), Just(0), Just(b'a')], 0..100), step in 1usize..20) {
            let mut expected: Vec<Vec<u8>> = bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
            if expected.last().is_some_and(Vec::is_empty) {
                expected.pop();
            }
            prop_assert_eq!(read(&bytes, step, Unit::Lines { end: b'\n' }).unwrap(), expected);
        }

        #[test]
        fn records_are_of_one_size(bytes in vec(any::<u8>(), 0..100), step in 1usize..20, size in 1usize..9) {
            match read(&bytes, step, Unit::Records(size)) {
                Ok(records) => prop_assert_eq!(records.concat(), bytes),
                Err(RecordError::Rest { left, .. }) => prop_assert!(left == bytes.len() % size && left > 0),
                Err(error) => prop_assert!(false, "{:?}", error),
            }
        }
    }

    #[test]
    fn a_line_longer_than_a_block_is_whole() {
        let line = vec![b'x'; 3 * BLOCK + 5];
        let bytes = [&line[..], b"\n", &line[..]].concat();
        assert!(read(&bytes, BLOCK, Unit::Lines { end: b'\n' }).unwrap() == [line.clone(), line]);
    }
}
