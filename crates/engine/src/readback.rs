//! Read-back verification: each write carries a checksum, and every written block is read and
//! checked after the measurement.

use workload::access::Region;

use crate::buffers::STAMP;
use crate::disk::Disk;
use crate::job::{Failure, Stop};

/// Position of a block's checksum: after its stamp. The smallest block has room for both.
const CHECKSUM: std::ops::Range<usize> = STAMP..STAMP + 4;

/// Adds a checksum (CRC-32C) to a stamped block.
pub fn seal(block: &mut [u8]) {
    let checksum = checksum(block);
    block[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
}

fn checksum(block: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&block[..CHECKSUM.start]), &block[CHECKSUM.end..])
}

/// Checks a block that was read back from `offset`; returns a description of the mismatch.
fn mismatch(block: &[u8], offset: u64) -> Option<&'static str> {
    if block[CHECKSUM] != checksum(block).to_le_bytes() {
        return Some("checksum mismatch");
    }
    (block[8..STAMP] != offset.to_le_bytes())
        .then_some("misdirected write, its stamp names another offset")
}

/// The set of blocks of a region that were written.
#[derive(Debug)]
pub struct Written {
    region: Region,
    /// One bit per block.
    blocks: Vec<u64>,
}

impl Written {
    pub fn new(region: Region) -> Written {
        Written { region, blocks: vec![0; region.blocks.div_ceil(64) as usize] }
    }

    /// Adds a block.
    pub fn note(&mut self, offset: u64) {
        let block = (offset - self.region.start) / self.region.block_bytes;
        self.blocks[(block / 64) as usize] |= 1 << (block % 64);
    }

    /// Reads back and checks every block of the set; returns their number.
    ///
    /// # Errors
    /// Fails at the first block that cannot be read or does not match.
    pub fn read_back(
        &self,
        disk: &mut impl Disk,
        memory: &mut [u8],
        stop: &Stop,
    ) -> Result<u64, Failure> {
        let block = &mut memory[..self.region.block_bytes as usize];
        let mut count = 0;
        for index in 0..self.region.blocks {
            let word = self.blocks[(index / 64) as usize];
            if word & 1 << (index % 64) == 0 {
                continue;
            }
            if stop.is_requested() {
                break;
            }
            let offset = self.region.start + index * self.region.block_bytes;
            let moved = disk.read(block, offset);
            Failure::check("reading back", offset, block.len(), moved)?;
            if let Some(mismatch) = mismatch(block, offset) {
                return Err(Failure::Mismatch { offset, mismatch });
            }
            count += 1;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use workload::access::generator;
    use workload::{Content, SyncCall};

    use super::*;
    use crate::buffers::Buffers;
    use crate::disk::MemoryDisk;

    #[test]
    fn what_was_written_is_found_again_and_damage_is_noticed() {
        let region = Region { start: 8192, blocks: 100, block_bytes: 4096 };
        let mut buffers = Buffers::new(1, 4096, Content::Random, &mut generator(1, 0)).unwrap();
        let (mut disk, mut written) = (MemoryDisk::default(), Written::new(region));
        for block in [0, 63, 64, 99, 63] {
            let offset = 8192 + block * 4096;
            let content = buffers.next_stamped(offset);
            seal(content);
            disk.write(content, offset).unwrap();
            written.note(offset);
        }
        disk.sync(SyncCall::Fsync, 0).unwrap();
        let mut memory = vec![0; 4096];
        let mut read = |disk: &mut MemoryDisk| written.read_back(disk, &mut memory, &Stop::new());
        assert_eq!(read(&mut disk), Ok(4));
        let mut misplaced = vec![0; 4096];
        disk.read(&mut misplaced, 8192).unwrap();
        disk.write(&misplaced, 8192 + 64 * 4096).unwrap();
        let failure = read(&mut disk).unwrap_err().to_string();
        insta::assert_snapshot!(failure, @"the block at offset 270336 differs from what was written there: misdirected write, its stamp names another offset");
        misplaced[4000] ^= 1;
        disk.write(&misplaced, 8192).unwrap();
        let failure = read(&mut disk).unwrap_err().to_string();
        insta::assert_snapshot!(failure, @"the block at offset 8192 differs from what was written there: checksum mismatch");
    }
}
