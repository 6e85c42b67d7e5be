//! The positions of the writes to one file of a step program.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{FileSpec, Placement};
use crate::blocks::Layout;
use crate::random::below;

/// The position of the next write to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileCursor {
    /// The end of what was written, for patterns that go on from there.
    next: u64,
    used_up: bool,
}

impl FileCursor {
    /// Returns the offset and length of the next write, and moves past it. `bytes` is the size in
    /// the step's notation.
    pub fn advance(
        &mut self,
        placement: Placement,
        bytes: u32,
        file: &FileSpec,
        draws: &mut Xoshiro256PlusPlus,
    ) -> (u64, u32) {
        let (size, length) = (file.size_bytes, u64::from(bytes));
        let mut wrap = || self.used_up |= file.layout == Layout::Preallocated;
        match placement {
            Placement::Same => (0, bytes),
            Placement::Rand => (below(draws, (size / length).max(1)) * length, bytes),
            Placement::Append => {
                let offset = self.next;
                self.next += length;
                self.used_up |= self.next + length > size;
                (offset, bytes)
            }
            Placement::Seq => {
                let offset = if self.next + length > size {
                    wrap();
                    0
                } else {
                    self.next
                };
                self.next = offset + length;
                (offset, bytes)
            }
            Placement::Tail { block_bytes } => {
                let block = u64::from(block_bytes);
                let begin = if (self.next + length).next_multiple_of(block) > size {
                    wrap();
                    0
                } else {
                    self.next
                };
                self.next = begin + length;
                let offset = begin / block * block;
                (offset, (self.next.next_multiple_of(block) - offset) as u32)
            }
        }
    }

    /// The file was cut off at this length.
    pub fn truncate(&mut self, length: u64) {
        self.next = self.next.min(length);
    }

    /// True once after the layout was used up. It is renewed between two turns, so no commit
    /// pays for it.
    pub fn take_used_up(&mut self) -> bool {
        std::mem::take(&mut self.used_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::generator;
    use proptest::prelude::*;

    fn file(size_bytes: u64, layout: Layout) -> FileSpec {
        FileSpec { name: "log".to_owned(), size_bytes, layout, direct: false, open_flag: None }
    }

    fn places(placement: Placement, bytes: u32, file: &FileSpec, count: usize) -> Vec<(u64, u32)> {
        let (mut cursor, mut draws) = (FileCursor::default(), generator(1, 0));
        (0..count).map(|_| cursor.advance(placement, bytes, file, &mut draws)).collect()
    }

    #[test]
    fn the_last_block_is_written_again_until_it_is_full() {
        let log = file(24 << 10, Layout::Overwrite);
        let tail = Placement::Tail { block_bytes: 8192 };
        assert_eq!(
            places(tail, 3000, &log, 9),
            [
                (0, 8192),
                (0, 8192),
                (0, 16384),
                (8192, 8192),
                (8192, 8192),
                (8192, 16384),
                (16384, 8192),
                (16384, 8192),
                (0, 8192),
            ]
        );
        assert_eq!(
            places(tail, 8192, &log, 4),
            [(0, 8192), (8192, 8192), (16384, 8192), (0, 8192)]
        );
    }

    #[test]
    fn appends_and_sequences_reach_the_end() {
        let log = file(10, Layout::Preallocated);
        assert_eq!(places(Placement::Seq, 4, &log, 4), [(0, 4), (4, 4), (0, 4), (4, 4)]);
        let (mut cursor, mut draws) = (FileCursor::default(), generator(1, 0));
        let mut used_up = |placement| {
            cursor.advance(placement, 4, &log, &mut draws);
            cursor.take_used_up()
        };
        assert_eq!([Placement::Seq; 3].map(&mut used_up), [false, false, true]);
        let (mut cursor, mut draws) = (FileCursor::default(), generator(1, 0));
        cursor.advance(Placement::Append, 4, &log, &mut draws);
        assert!(!cursor.take_used_up());
        cursor.advance(Placement::Append, 4, &log, &mut draws);
        assert!(cursor.take_used_up() && !cursor.take_used_up());
        cursor.truncate(2);
        assert_eq!(cursor.advance(Placement::Append, 4, &log, &mut draws), (2, 4));
    }

    proptest! {
        /// A log is written without gaps, in whole blocks, within the file, and no block is written
        /// again once the log has moved on.
        #[test]
        fn a_tail_covers_the_log(bytes in 1..5000u32, block in 1..2000u32, blocks in 8..40u64) {
            let size = (u64::from(bytes.div_ceil(block)) + blocks) * u64::from(block);
            let log = file(size, Layout::Overwrite);
            let tail = Placement::Tail { block_bytes: block };
            let block = u64::from(block);
            let mut end = 0;
            for (offset, length) in places(tail, bytes, &log, 200) {
                // The first block may be written several times before the log moves on.
                if offset == 0 && end >= block {
                    end = 0;
                }
                prop_assert!(offset % block == 0 && u64::from(length) % block == 0);
                prop_assert!(u64::from(length) <= tail.largest_write_bytes(bytes));
                prop_assert_eq!(offset, end / block * block);
                end += u64::from(bytes);
                prop_assert_eq!(offset + u64::from(length), end.next_multiple_of(block));
                prop_assert!(offset + u64::from(length) <= size);
            }
        }
    }
}
