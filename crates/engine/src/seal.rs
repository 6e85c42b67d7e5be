//! The contents that make damage to a block visible.
//!
//! A header begins each piece of a block: the stamp (the number of the write and the offset, which
//! `buffers` puts into every block) and a checksum (CRC-32C). What follows is the workload's
//! content, or a pattern.

use workload::{FillPattern, Seal, Verification};

use crate::stamp::{STAMP, stamp_header};

const CHECKSUM: std::ops::Range<usize> = STAMP..STAMP + 4;
/// Bytes of a header. The smallest block has room for one.
const HEADER: usize = CHECKSUM.end;

/// Writes and checks the contents of blocks.
#[derive(Debug, Clone, Copy)]
pub struct Sealer {
    seal: Seal,
    piece_bytes: usize,
}

/// Damage to a piece of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Offset of the piece.
    pub offset: u64,
    pub what: &'static str,
}

impl Sealer {
    pub const fn new(verification: &Verification) -> Sealer {
        Sealer { seal: verification.seal, piece_bytes: verification.piece_bytes as usize }
    }

    /// Returns `true` if all data of a block is known, so content need not be stamped.
    pub const fn fills(&self) -> bool {
        self.seal.fill().is_some()
    }

    /// Completes a block that is written to `offset` as the job's write with this number.
    pub fn seal(&self, block: &mut [u8], number: u64, offset: u64) {
        let fill = self.seal.fill();
        for (index, piece) in block.chunks_mut(self.piece_bytes).enumerate() {
            if let Some(fill) = fill {
                repeat(piece, fill);
            }
            if self.seal.has_header() {
                stamp_header(piece, number, offset + (index * self.piece_bytes) as u64);
                let checksum = self.checksum(piece);
                piece[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
            }
        }
    }

    fn checksum(&self, piece: &[u8]) -> u32 {
        let stamp = crc32c::crc32c(&piece[..CHECKSUM.start]);
        match self.seal {
            Seal::Checksum { .. } => crc32c::crc32c_append(stamp, &piece[CHECKSUM.end..]),
            Seal::Header { .. } | Seal::Pattern(_) => stamp,
        }
    }

    /// The number of the write that left a block; 0 if blocks have no header.
    pub fn number(&self, block: &[u8]) -> u64 {
        let number = block.first_chunk().filter(|_| self.seal.has_header());
        number.map_or(0, |number| u64::from_le_bytes(*number))
    }

    /// Checks a block that was read from `offset`.
    pub fn check(&self, block: &[u8], offset: u64) -> Result<(), Damage> {
        for (index, piece) in block.chunks(self.piece_bytes).enumerate() {
            let offset = offset + (index * self.piece_bytes) as u64;
            if let Some(what) = self.damage(piece, offset) {
                return Err(Damage { offset, what });
            }
        }
        Ok(())
    }

    fn damage(&self, piece: &[u8], offset: u64) -> Option<&'static str> {
        if self.seal.has_header() {
            if piece[CHECKSUM] != self.checksum(piece).to_le_bytes() {
                return Some("checksum mismatch");
            }
            if piece[8..STAMP] != offset.to_le_bytes() {
                return Some("misdirected write, its stamp names another offset");
            }
        }
        let data = if self.seal.has_header() { HEADER } else { 0 };
        let fill = self.seal.fill()?;
        let pattern = fill.bytes().iter().cycle().skip(data % fill.bytes().len());
        (!piece[data..].iter().eq(pattern.take(piece.len() - data))).then_some("pattern mismatch")
    }
}

/// Fills a piece with a pattern, from its first byte on.
fn repeat(piece: &mut [u8], fill: FillPattern) {
    for copy in piece.chunks_mut(fill.bytes().len()) {
        copy.copy_from_slice(&fill.bytes()[..copy.len()]);
    }
}

#[cfg(test)]
mod tests {
    use workload::CheckTime;

    use super::*;

    fn sealer(seal: Seal, piece_bytes: u32) -> Sealer {
        let (time, latest) = (CheckTime::Afterwards, true);
        Sealer::new(&Verification { seal, piece_bytes, time, latest, shared: false })
    }

    /// The first byte of each run of bytes whose damage is noticed, and its end.
    fn noticed(sealer: Sealer, bytes: usize) -> Vec<(usize, usize)> {
        let mut block = vec![0x5a; bytes];
        sealer.seal(&mut block, 7, 8192);
        assert_eq!(sealer.check(&block, 8192), Ok(()));
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for at in 0..bytes {
            block[at] ^= 0x10;
            let found = sealer.check(&block, 8192);
            block[at] ^= 0x10;
            let Err(damage) = found else { continue };
            let piece = at / sealer.piece_bytes * sealer.piece_bytes;
            assert_eq!(damage.offset, 8192 + piece as u64);
            match runs.last_mut() {
                Some((_, end)) if *end == at => *end += 1,
                _ => runs.push((at, at + 1)),
            }
        }
        runs
    }

    #[test]
    fn every_byte_that_a_seal_covers_is_checked() {
        let fill = FillPattern::new(&[0xaa, 0x55, 0x5a]);
        let whole = [(0, 2048)];
        assert_eq!(noticed(sealer(Seal::Checksum { fill: None }, 2048), 2048), whole);
        assert_eq!(noticed(sealer(Seal::Checksum { fill }, 512), 2048), whole);
        assert_eq!(noticed(sealer(Seal::Header { fill }, 512), 2048), whole);
        assert_eq!(noticed(sealer(Seal::Pattern(fill.unwrap()), 512), 2048), whole);
        let headers = [(0, 20), (1024, 1044)];
        assert_eq!(noticed(sealer(Seal::Header { fill: None }, 1024), 2048), headers);
    }

    #[test]
    fn a_block_at_the_wrong_place_is_noticed() {
        let sealer = sealer(Seal::Header { fill: None }, 512);
        let mut block = vec![0; 1024];
        sealer.seal(&mut block, 7, 4096);
        let what = "misdirected write, its stamp names another offset";
        assert_eq!(sealer.check(&block, 8192), Err(Damage { offset: 8192, what }));
        assert_eq!(sealer.number(&block), 7);
    }

    #[test]
    fn a_pattern_begins_with_each_piece() {
        let fill = FillPattern::new(&[1, 2, 3]).unwrap();
        let mut block = vec![0; 1024];
        sealer(Seal::Pattern(fill), 512).seal(&mut block, 7, 0);
        assert_eq!((&block[..4], &block[510..514]), (&[1, 2, 3, 1][..], &[1, 2, 1, 2][..]));
    }
}
