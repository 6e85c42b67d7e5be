//! Prepares a target for a run: writes and syncs version 0 of every record, then the superblocks
//! that mark the target as ready.

use std::io;

use engine::Stop;

use crate::aligned::AlignedBlock;
use crate::disk::Disk;
use crate::geometry::{SUPERBLOCK_BYTES, SUPERBLOCKS_AT};
use crate::lane::fill_record;
use crate::run_header::RunHeader;
use crate::superblock;

/// Size of the writes: large enough to reach the drive's speed.
const PIECE_BYTES: u64 = 1 << 20;

/// Fills a target. `progress` receives the share that is done, from 0 to 1. If `stop` is requested,
/// the target is left without superblocks.
pub fn fill(
    disk: &mut impl Disk,
    run: &RunHeader,
    stop: &Stop,
    progress: &mut dyn FnMut(f64),
) -> io::Result<()> {
    // Erase the superblocks of an earlier run, which would be wrong for a partly filled target.
    put_superblocks(disk, &[0; SUPERBLOCK_BYTES as usize])?;
    let geometry = &run.geometry;
    let record_bytes = geometry.record_bytes() as usize;
    let mut piece = AlignedBlock::new(PIECE_BYTES as usize);
    let per_piece = PIECE_BYTES / geometry.record_bytes();
    let mut slot = 0;
    while slot < geometry.slots() {
        if stop.is_requested() {
            return Ok(());
        }
        let count = per_piece.min(geometry.slots() - slot);
        let bytes = &mut piece.bytes_mut()[..count as usize * record_bytes];
        for (index, block) in bytes.chunks_exact_mut(record_bytes).enumerate() {
            let place =
                geometry.location((slot + index as u64) * u64::from(geometry.record_sectors));
            fill_record(run, place.lane, place.index, block);
        }
        disk.write(
            geometry.sector_address_bytes(slot * u64::from(geometry.record_sectors)),
            bytes,
        )?;
        slot += count;
        progress(slot as f64 / geometry.slots() as f64);
    }
    disk.sync()?;
    put_superblocks(disk, &superblock::block(run))
}

fn put_superblocks(disk: &mut impl Disk, bytes: &[u8]) -> io::Result<()> {
    let mut block = AlignedBlock::new(SUPERBLOCK_BYTES as usize);
    block.bytes_mut().copy_from_slice(bytes);
    for at in SUPERBLOCKS_AT {
        disk.write(at, block.bytes())?;
    }
    disk.sync()
}
