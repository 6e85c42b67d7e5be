//! Reading back what a job wrote: each write carries a checksum, and after the measurement each block that was written is read and checked.

use workload::access::Region;

use crate::buffers::STAMP;
use crate::disk::Disk;
use crate::job::{Failure, Stop};

/// Where a block's checksum stands: behind its stamp. The smallest block has room for both.
const CHECKSUM: std::ops::Range<usize> = STAMP..STAMP + 4;

/// Puts a checksum (CRC-32C) into a block that was stamped.
pub fn seal(block: &mut [u8]) {
    let checksum = checksum(block);
    block[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
}

fn checksum(block: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&block[..CHECKSUM.start]), &block[CHECKSUM.end..])
}

/// What is wrong with a block that was read back from where it was written.
fn flaw(block: &[u8], offset: u64) -> Option<&'static str> {
    if block[CHECKSUM] != checksum(block).to_le_bytes() {
        return Some("its checksum does not match its content");
    }
    (block[8..STAMP] != offset.to_le_bytes()).then_some("it was written to another place")
}

/// Which blocks of a region were written.
#[derive(Debug)]
pub struct Written {
    region: Region,
    /// One bit each.
    blocks: Vec<u64>,
}

impl Written {
    /// None yet.
    pub fn new(region: Region) -> Written {
        Written { region, blocks: vec![0; region.blocks.div_ceil(64) as usize] }
    }

    /// Notes a block.
    pub fn note(&mut self, offset: u64) {
        let block = (offset - self.region.start) / self.region.block_bytes;
        self.blocks[(block / 64) as usize] |= 1 << (block % 64);
    }

    /// Reads every block that was noted, and returns how many there are.
    ///
    /// # Errors
    /// The first block that cannot be read, or that holds something else than what was written there.
    pub fn read_back(&self, disk: &mut impl Disk, memory: &mut [u8], stop: &Stop) -> Result<u64, Failure> {
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
            if let Some(flaw) = flaw(block, offset) {
                return Err(Failure::Mismatch { offset, flaw });
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
        disk.sync(SyncCall::Fsync).unwrap();
        let mut memory = vec![0; 4096];
        let mut read = |disk: &mut MemoryDisk| written.read_back(disk, &mut memory, &Stop::new());
        assert_eq!(read(&mut disk), Ok(4));
        let mut misplaced = vec![0; 4096];
        disk.read(&mut misplaced, 8192).unwrap();
        disk.write(&misplaced, 8192 + 64 * 4096).unwrap();
        let failure = read(&mut disk).unwrap_err().to_string();
        insta::assert_snapshot!(failure, @"the block at offset 270336 is not what was written there: it was written to another place");
        misplaced[4000] ^= 1;
        disk.write(&misplaced, 8192).unwrap();
        let failure = read(&mut disk).unwrap_err().to_string();
        insta::assert_snapshot!(failure, @"the block at offset 8192 is not what was written there: its checksum does not match its content");
    }
}
