//! The stamp at the start of each piece that is written, which makes every write differ.

/// Bytes of a stamp: the write number, then the offset, both little-endian.
pub const STAMP: usize = 16;

/// Writes the number and the offset to the start of a piece.
#[inline]
pub fn stamp_header(piece: &mut [u8], number: u64, offset: u64) {
    let mut mark = [0; STAMP];
    mark[..8].copy_from_slice(&number.to_le_bytes());
    mark[8..].copy_from_slice(&offset.to_le_bytes());
    let room = piece.len().min(STAMP);
    piece[..room].copy_from_slice(&mark[..room]);
}
