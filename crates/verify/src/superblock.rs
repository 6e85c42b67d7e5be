//! The first block of a target, which identifies the run and its layout.
//!
//! The superblock and its copy are written after every slot was written and synced, and before the
//! run begins. So if it exists, all slots have held version 0.
//!
//! ```text
//! byte 0 magic "flushmark verify" (16) | 16 format (4) | 20 length (4) | 24 CRC32C of what follows (4) | 28 the run
//! ```

use std::io;

use crate::aligned::AlignedBlock;
use crate::disk::Disk;
use crate::geometry::{SUPERBLOCK_BYTES, SUPERBLOCKS_AT};
use crate::run_header::RunHeader;
use crate::wire::{Reader, Writer};

/// The first bytes of a target.
pub const MAGIC: [u8; 16] = *b"flushmark verify";
pub const FORMAT: u32 = 1;
const HEAD_BYTES: usize = 28;

/// Why a block is not a valid superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuperblockFault {
    /// It does not begin like one: there is nothing of flushmark.
    Absent,
    /// It begins like one but is damaged.
    Damaged,
    /// A later version wrote it.
    Newer,
}

/// The superblock of a run. Strings that are too long are truncated.
pub fn block(header: &RunHeader) -> Vec<u8> {
    let mut header = header.clone();
    loop {
        let mut body = Writer::default();
        header.write(&mut body);
        if HEAD_BYTES + body.0.len() > SUPERBLOCK_BYTES as usize {
            let about = &mut header.circumstances;
            let all = [&mut about.target, &mut about.drive, &mut about.witness, &mut about.boot_id];
            if let Some(longest) = all.into_iter().max_by_key(|words| words.len()) {
                *longest = longest.chars().take(longest.chars().count() / 2).collect();
            }
            continue;
        }
        let mut out = Writer(MAGIC.to_vec());
        out.u32(FORMAT).u32(body.0.len() as u32).u32(crc32c::crc32c(&body.0));
        out.0.extend(body.0);
        out.0.resize(SUPERBLOCK_BYTES as usize, 0);
        return out.0;
    }
}

pub fn parse(block: &[u8]) -> Result<RunHeader, SuperblockFault> {
    if !block.starts_with(&MAGIC) {
        return Err(SuperblockFault::Absent);
    }
    let damaged = |_| SuperblockFault::Damaged;
    let mut from = Reader::new(&block[MAGIC.len()..]);
    let (format, length, crc) =
        (from.u32().map_err(damaged)?, from.u32().map_err(damaged)?, from.u32().map_err(damaged)?);
    let body = from.rest().get(..length as usize).ok_or(SuperblockFault::Damaged)?;
    if crc32c::crc32c(body) != crc {
        return Err(SuperblockFault::Damaged);
    }
    if format != FORMAT {
        return Err(SuperblockFault::Newer);
    }
    let mut from = Reader::new(body);
    let header = RunHeader::read(&mut from).map_err(damaged)?;
    from.end().map_err(damaged)?;
    Ok(header)
}

/// Reads the superblock and its copy, and returns the error if they cannot be read.
pub fn read(disk: &mut impl Disk) -> ([Result<RunHeader, SuperblockFault>; 2], Option<io::Error>) {
    let mut block = AlignedBlock::new(SUPERBLOCK_BYTES as usize);
    let mut unreadable = None;
    let superblocks = SUPERBLOCKS_AT.map(|at| match disk.read(at, block.bytes_mut()) {
        Ok(()) => parse(block.bytes()),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(SuperblockFault::Absent),
        Err(error) => {
            unreadable = Some(error);
            Err(SuperblockFault::Damaged)
        }
    });
    (superblocks, unreadable)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::run_header::tests::sample;

    #[test]
    fn a_superblock_survives_a_round_trip() {
        let block = block(&sample());
        assert_eq!(block.len(), 4096);
        assert_eq!(parse(&block), Ok(sample()));
    }

    #[test]
    fn long_strings_are_truncated() {
        let mut header = sample();
        header.circumstances.target = "ü".repeat(4000);
        let read = parse(&block(&header)).unwrap();
        assert!(read.circumstances.target.starts_with("üüü"));
    }

    #[test]
    fn invalid_superblocks_are_distinguished() {
        assert_eq!(parse(&[0; 4096]), Err(SuperblockFault::Absent));
        assert_eq!(parse(&[]), Err(SuperblockFault::Absent));
        assert_eq!(parse(&MAGIC), Err(SuperblockFault::Damaged));
        let mut newer = block(&sample());
        newer[16] = 2;
        assert_eq!(parse(&newer), Err(SuperblockFault::Newer));
    }

    proptest! {
        #[test]
        fn any_damage_is_detected(at in 20usize..100, flip in 1u8..) {
            let mut block = block(&sample());
            block[at] ^= flip;
            prop_assert_eq!(parse(&block), Err(SuperblockFault::Damaged));
        }
    }
}
