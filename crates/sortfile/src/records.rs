//! Reading records from a stream.

use std::io::{self, ErrorKind, Read};
use std::ops::ControlFlow;

use memchr::memchr;

/// Bytes per read: at this size the system call costs nothing in comparison.
const BLOCK: usize = 1 << 20;

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

/// Why reading stopped early.
#[derive(Debug)]
pub(crate) enum Ended<E> {
    Io(io::Error),
    /// Bytes after the last whole record.
    Rest {
        left: usize,
        size: usize,
    },
    By(E),
}

/// Calls `each` with every record, and `progress` with the size of every block read.
pub(crate) fn for_each<E>(
    mut from: impl Read,
    unit: Unit,
    mut progress: impl FnMut(u64),
    mut each: impl FnMut(&[u8]) -> ControlFlow<E>,
) -> Result<(), Ended<E>> {
    let mut bytes = vec![0; BLOCK];
    // The incomplete record at the end of the last block.
    let mut begun = 0;
    // Number of its bytes that are known to contain no terminator.
    let mut seen = 0;
    loop {
        if begun == bytes.len() {
            bytes.resize(2 * bytes.len(), 0);
        }
        let read = match from.read(&mut bytes[begun..]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Ended::Io(error)),
        };
        let filled = begun + read;
        let mut at = 0;
        while let Some(end) = end_of(&bytes[at..filled], unit, seen) {
            if let ControlFlow::Break(error) = each(&bytes[at..at + end]) {
                return Err(Ended::By(error));
            }
            at += end + usize::from(matches!(unit, Unit::Lines { .. }));
            seen = 0;
        }
        bytes.copy_within(at..filled, 0);
        begun = filled - at;
        seen = begun;
        progress(read as u64);
    }
    match (begun, unit) {
        (0, _) => Ok(()),
        (left, Unit::Records(size)) => Err(Ended::Rest { left, size }),
        (_, Unit::Lines { .. }) => match each(&bytes[..begun]) {
            ControlFlow::Break(error) => Err(Ended::By(error)),
            ControlFlow::Continue(()) => Ok(()),
        },
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

    fn read(bytes: &[u8], step: usize, unit: Unit) -> Result<Vec<Vec<u8>>, Ended<()>> {
        let mut records = vec![];
        for_each(
            Dribble(bytes, step),
            unit,
            |_| {},
            |record| {
                records.push(record.to_vec());
                ControlFlow::Continue(())
            },
        )?;
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
                Err(Ended::Rest { left, .. }) => prop_assert!(left == bytes.len() % size && left > 0),
                Err(ended) => prop_assert!(false, "{:?}", ended),
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
