//! Ranges of zeros too large to be written at once: a host may zero a whole drive with one command.

use std::collections::BTreeMap;

use super::contents::Stamps;

/// A larger range of zeros is written in pieces of this size, one after the other.
const PIECE_BYTES_MAX: u64 = 8 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Zeros {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    /// True if the range stays allocated in the image file.
    pub(super) keeps_space: bool,
}

impl Zeros {
    /// The piece to write first, and the rest.
    pub(super) fn split(self) -> (Zeros, Option<Zeros>) {
        let piece = Zeros { bytes: self.bytes.min(PIECE_BYTES_MAX), ..self };
        let rest =
            Zeros { offset: self.offset + piece.bytes, bytes: self.bytes - piece.bytes, ..self };
        (piece, (rest.bytes > 0).then_some(rest))
    }
}

#[derive(Debug)]
struct Remaining {
    rest: Option<Zeros>,
    written: Vec<Stamps>,
}

/// The rest of the large ranges in progress, by the ID of their command.
#[derive(Debug, Default)]
pub(super) struct LargeZeros {
    commands: BTreeMap<u32, Remaining>,
}

impl LargeZeros {
    /// Keeps the rest of a command whose first piece is being written.
    pub(super) fn begin(&mut self, id: u32, rest: Zeros) {
        self.commands.insert(id, Remaining { rest: Some(rest), written: Vec::new() });
    }

    /// The next piece of a command whose latest piece is done; `None` if that was the last, or the
    /// command is not a large range.
    #[inline]
    pub(super) fn next_piece(&mut self, id: u32) -> Option<Zeros> {
        if self.commands.is_empty() {
            return None;
        }
        let remaining = self.commands.get_mut(&id)?;
        let (piece, rest) = remaining.rest.take()?.split();
        remaining.rest = rest;
        Some(piece)
    }

    /// Keeps the stamps of a piece that is done, while the next one is written. Other commands may
    /// have written meanwhile, so the stamps of the pieces need not be consecutive.
    pub(super) fn piece_done(&mut self, id: u32, stamps: Stamps) {
        if let Some(remaining) = self.commands.get_mut(&id) {
            remaining.written.push(stamps);
        }
    }

    /// Ends a command, and returns the stamps of its earlier pieces.
    #[inline]
    pub(super) fn end(&mut self, id: u32) -> Vec<Stamps> {
        if self.commands.is_empty() {
            return Vec::new();
        }
        self.commands.remove(&id).map_or_else(Vec::new, |remaining| remaining.written)
    }

    pub(super) fn clear(&mut self) {
        self.commands.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn zeros(offset: u64, bytes: u64) -> Zeros {
        Zeros { offset, bytes, keeps_space: true }
    }

    #[test]
    fn pieces_cover_the_range_in_order() {
        let mut large = LargeZeros::default();
        let (first, rest) = zeros(MIB, 20 * MIB).split();
        assert_eq!(first, zeros(MIB, 8 * MIB));
        large.begin(3, rest.unwrap());
        assert_eq!(large.next_piece(4), None);
        assert_eq!(large.next_piece(3), Some(zeros(9 * MIB, 8 * MIB)));
        large.piece_done(3, Stamps { first: 1, last: 2 });
        assert_eq!(large.next_piece(3), Some(zeros(17 * MIB, 4 * MIB)));
        large.piece_done(3, Stamps { first: 7, last: 8 });
        assert_eq!(large.next_piece(3), None);
        assert_eq!(large.end(3), [Stamps { first: 1, last: 2 }, Stamps { first: 7, last: 8 }]);
        assert_eq!(large.end(3), []);
    }

    #[test]
    fn a_small_range_is_one_piece() {
        assert_eq!(zeros(0, 8 * MIB).split(), (zeros(0, 8 * MIB), None));
    }
}
