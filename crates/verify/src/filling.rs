//! Gets a target ready for a run: version 0 everywhere, durable, and then the superblocks, which say so.

use std::io;

use engine::Stop;

use crate::aligned::AlignedBlock;
use crate::disk::Disk;
use crate::geometry::{SUPERBLOCK_BYTES, SUPERBLOCKS_AT};
use crate::lane::fill_record;
use crate::run_header::RunHeader;
use crate::superblock;

/// Targets are filled in pieces of this size: large enough to go at the drive's speed.
const PIECE_BYTES: u64 = 1 << 20;

/// Fills a disk. `progress` is told the share that is done, from 0 to 1. When `stop` is requested, the disk is left without superblocks.
///
/// # Errors
/// As the disk reports them.
pub fn fill(disk: &mut impl Disk, run: &RunHeader, stop: &Stop, progress: &mut dyn FnMut(f64)) -> io::Result<()> {
    // An earlier run's superblocks must not speak for a target that is half filled.
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
            let place = geometry.location((slot + index as u64) * u64::from(geometry.record_sectors));
            fill_record(run, place.lane, place.index, block);
        }
        disk.write(geometry.sector_address_bytes(slot * u64::from(geometry.record_sectors)), bytes)?;
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
