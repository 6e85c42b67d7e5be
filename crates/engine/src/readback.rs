//! Verification: a disk that knows what was written to it and checks it, after the measurement,
//! after every N writes, or as it is read.

use std::sync::Arc;

use rustix::io::Errno;
use workload::access::Region;
use workload::random::generator;
use workload::{CheckTime, Content, SyncCall, Verification};

use crate::buffers::Buffers;
use crate::disk::{Backed, BlockDisk, Disk, OnMismatch};
use crate::job::{Failure, Stop};
use crate::seal::Sealer;

/// The blocks of a region that were written, each with its last write.
#[derive(Debug)]
pub struct Written {
    region: Region,
    /// The mark of the last write of each block; 0 if there was none.
    marks: Vec<u32>,
}

/// Identifies a write by the low bits of its number. Never 0.
const fn mark(number: u64) -> u32 {
    match (number as u32).wrapping_add(1) {
        0 => 1,
        mark => mark,
    }
}

impl Written {
    pub fn new(region: Region) -> Written {
        Written { region, marks: vec![0; region.blocks as usize] }
    }

    fn index(&self, offset: u64) -> Option<usize> {
        let within = offset.checked_sub(self.region.start)?;
        let is_block = within.is_multiple_of(self.region.block_bytes);
        usize::try_from(within / self.region.block_bytes).ok().filter(|_| is_block)
    }

    fn note(&mut self, offset: u64, mark: u32) {
        if let Some(noted) = self.index(offset).and_then(|index| self.marks.get_mut(index)) {
            *noted = mark;
        }
    }

    /// The mark of the last write to a block, if there was one.
    fn last(&self, offset: u64) -> Option<u32> {
        self.marks.get(self.index(offset)?).copied().filter(|&mark| mark != 0)
    }

    fn offsets(&self) -> impl Iterator<Item = u64> + '_ {
        let written = self.marks.iter().enumerate().filter(|&(_, &mark)| mark != 0);
        written.map(|(index, _)| self.region.start + index as u64 * self.region.block_bytes)
    }
}

/// The blocks to check, and the time of the check.
#[derive(Debug)]
enum Schedule {
    /// All written blocks at the end; `None` leaves them to a later test.
    AtEnd { check: bool },
    /// The blocks of the last writes, checked once there are this many.
    Every { writes: usize, unchecked: Vec<u64> },
    /// Each block that is read, against what earlier jobs wrote.
    OnRead { earlier: Vec<Arc<Written>> },
}

/// A disk that verifies.
#[derive(Debug)]
pub struct Verified<D> {
    disk: D,
    sealer: Sealer,
    latest: bool,
    /// Other jobs write the same blocks.
    shared: bool,
    written: Written,
    schedule: Schedule,
    /// A block of memory for reading back.
    memory: Buffers,
    checked: u64,
    /// Blocks that were read but that no earlier job wrote.
    unknown: u64,
}

impl<D: Disk> Verified<D> {
    /// `earlier` is what earlier jobs wrote, for a verification of reads.
    ///
    /// # Errors
    /// Fails if the system is out of memory.
    pub fn new(
        disk: D,
        verification: &Verification,
        region: Region,
        earlier: Vec<Arc<Written>>,
    ) -> std::io::Result<Verified<D>> {
        let schedule = match verification.time {
            CheckTime::Afterwards => Schedule::AtEnd { check: true },
            CheckTime::InLaterTest => Schedule::AtEnd { check: false },
            CheckTime::EveryWrites(writes) => {
                Schedule::Every { writes: writes as usize, unchecked: Vec::new() }
            }
            CheckTime::OnRead => Schedule::OnRead { earlier },
        };
        let memory =
            Buffers::new(1, region.block_bytes as usize, Content::Zero, &mut generator(0, 0))?;
        Ok(Verified {
            disk,
            sealer: Sealer::new(verification),
            latest: verification.latest,
            shared: verification.shared,
            written: Written::new(region),
            schedule,
            memory,
            checked: 0,
            unknown: 0,
        })
    }

    /// Checks the remaining blocks after the measurement; returns a note for the result.
    ///
    /// # Errors
    /// Fails as `on_mismatch` does.
    pub fn conclude(
        &mut self,
        stop: &Stop,
        on_mismatch: OnMismatch<'_>,
    ) -> Result<String, Failure> {
        if self.schedule.checks_at_end() {
            self.check_written(stop, on_mismatch)?;
        }
        let checked = self.checked;
        Ok(match &self.schedule {
            _ if stop.is_requested() => {
                format!("the run was stopped after {checked} blocks had been verified")
            }
            Schedule::AtEnd { check: true } if self.shared => {
                "all written blocks were read back once all jobs had ended: each 512 B is whole and \
                 in its place. Several jobs write the same blocks, so a lost write would not be \
                 noticed"
                    .to_owned()
            }
            Schedule::AtEnd { check: true } => {
                "all written blocks were read back and verified".to_owned()
            }
            Schedule::AtEnd { check: false } => {
                "the written blocks can be verified by a later section".to_owned()
            }
            Schedule::Every { .. } => {
                "all written blocks were read back and verified, most of them within the measured \
                 time (verify_backlog)"
                    .to_owned()
            }
            Schedule::OnRead { .. } if self.unknown == 0 => {
                "all blocks that were read were verified against what an earlier section wrote"
                    .to_owned()
            }
            Schedule::OnRead { .. } => format!(
                "{checked} reads were verified against what an earlier section wrote; {} others \
                 were not, because it had not written those blocks",
                self.unknown
            ),
        })
    }

    /// Hands the written blocks to a later test.
    pub fn into_written(self) -> Written {
        self.written
    }

    /// Reads a block back and checks it.
    fn check_block(&mut self, offset: u64) -> Result<(), Failure> {
        let block = self.memory.slot_mut(0);
        let moved = self.disk.read(block, offset);
        Failure::check("reading back", offset, block.len(), moved)?;
        let last = self.written.last(offset);
        self.checked += 1;
        matches(&self.sealer, block, offset, last.filter(|_| self.latest))
    }
}

impl Schedule {
    const fn checks_at_end(&self) -> bool {
        matches!(self, Schedule::AtEnd { check: true } | Schedule::Every { .. })
    }
}

/// Checks a block; `last` is the mark of the write that must have left it.
fn matches(sealer: &Sealer, block: &[u8], offset: u64, last: Option<u32>) -> Result<(), Failure> {
    if let Err(damage) = sealer.check(block, offset) {
        return Err(Failure::Mismatch { offset: damage.offset, mismatch: damage.what });
    }
    match last {
        Some(last) if mark(sealer.number(block)) != last => {
            Err(Failure::Mismatch { offset, mismatch: "lost write, it holds an older block" })
        }
        _ => Ok(()),
    }
}

impl<D: Backed> Backed for Verified<D> {
    type Storage = D::Storage;

    fn storage(&self) -> &D::Storage {
        self.disk.storage()
    }
}

impl<D: Disk> Disk for Verified<D> {
    fn write_name(&self) -> &'static str {
        self.disk.write_name()
    }

    fn read(&mut self, block: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.disk.read(block, offset)
    }

    fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        self.disk.write(block, offset)
    }

    fn sync(&mut self, call: SyncCall, offset: u64) -> Result<(), Errno> {
        self.disk.sync(call, offset)
    }

    fn renew(&mut self) -> Result<(), Errno> {
        self.disk.renew()
    }
}

impl<D: Disk> BlockDisk for Verified<D> {
    const VERIFIES: bool = true;

    fn has_read(&mut self, block: &[u8], offset: u64) -> Result<(), Failure> {
        let Schedule::OnRead { earlier } = &self.schedule else { return Ok(()) };
        let Some(last) = earlier.iter().find_map(|written| written.last(offset)) else {
            self.unknown += 1;
            return Ok(());
        };
        self.checked += 1;
        matches(&self.sealer, block, offset, Some(last).filter(|_| self.latest))
    }

    fn has_written(&mut self, block: &[u8], offset: u64) {
        self.written.note(offset, mark(self.sealer.number(block)));
        if let Schedule::Every { unchecked, .. } = &mut self.schedule {
            unchecked.push(offset);
        }
    }

    fn check_is_due(&self) -> bool {
        matches!(&self.schedule, Schedule::Every { writes, unchecked } if unchecked.len() >= *writes)
    }

    fn check_written(&mut self, stop: &Stop, on_mismatch: OnMismatch<'_>) -> Result<(), Failure> {
        let offsets: Vec<u64> = match &mut self.schedule {
            Schedule::Every { unchecked, .. } => std::mem::take(unchecked),
            Schedule::AtEnd { .. } | Schedule::OnRead { .. } => self.written.offsets().collect(),
        };
        for offset in offsets {
            if stop.is_requested() {
                break;
            }
            if let Err(failure) = self.check_block(offset) {
                on_mismatch(failure)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use workload::Seal;

    use super::*;
    use crate::disk::MemoryDisk;

    const REGION: Region = Region { start: 8192, blocks: 100, block_bytes: 4096 };

    fn verification(time: CheckTime) -> Verification {
        let seal = Seal::Checksum { fill: None };
        Verification { seal, piece_bytes: 4096, time, latest: true, shared: false }
    }

    fn disk(time: CheckTime) -> (Verified<MemoryDisk>, Buffers) {
        let verification = verification(time);
        let buffers = Buffers::new(1, 4096, Content::Random, &mut generator(1, 0)).unwrap();
        let disk = Verified::new(MemoryDisk::default(), &verification, REGION, Vec::new());
        (disk.unwrap(), buffers.with_seal(Sealer::new(&verification)))
    }

    fn write(disk: &mut Verified<MemoryDisk>, buffers: &mut Buffers, block: u64) -> Vec<u8> {
        let offset = REGION.start + block * 4096;
        let content = buffers.next_stamped(offset);
        disk.write(content, offset).unwrap();
        disk.has_written(content, offset);
        content.to_vec()
    }

    fn conclude(disk: &mut Verified<MemoryDisk>) -> Result<String, String> {
        disk.conclude(&Stop::new(), &mut Err).map_err(|failure| failure.to_string())
    }

    #[test]
    fn what_was_written_is_found_again_and_damage_is_noticed() {
        let (mut disk, mut buffers) = disk(CheckTime::Afterwards);
        let blocks = [0, 63, 64, 99, 63];
        let written = blocks.map(|block| write(&mut disk, &mut buffers, block));
        assert_eq!(conclude(&mut disk).unwrap(), "all written blocks were read back and verified");
        assert_eq!(disk.checked, 4);
        let mut put = |content: &[u8], block: u64| {
            disk.disk.write(content, REGION.start + block * 4096).unwrap();
            let found = conclude(&mut disk).unwrap_err();
            disk.disk.write(&written[0], REGION.start).unwrap();
            disk.disk.write(&written[4], REGION.start + 63 * 4096).unwrap();
            found
        };
        insta::assert_snapshot!(put(&written[0], 63), @"the block at offset 266240 differs from what was written there: misdirected write, its stamp names another offset");
        insta::assert_snapshot!(put(&written[1], 63), @"the block at offset 266240 differs from what was written there: lost write, it holds an older block");
        let mut damaged = written[0].clone();
        damaged[4000] ^= 1;
        insta::assert_snapshot!(put(&damaged, 0), @"the block at offset 8192 differs from what was written there: checksum mismatch");
    }

    #[test]
    fn blocks_are_checked_once_enough_were_written() {
        let (mut disk, mut buffers) = disk(CheckTime::EveryWrites(3));
        let mut due = Vec::new();
        for block in 0..7 {
            write(&mut disk, &mut buffers, block);
            due.push(disk.check_is_due());
            if disk.check_is_due() {
                disk.check_written(&Stop::new(), &mut Err).unwrap();
            }
        }
        assert_eq!(due, [false, false, true, false, false, true, false]);
        assert_eq!(disk.checked, 6);
        conclude(&mut disk).unwrap();
        assert_eq!(disk.checked, 7);
    }

    #[test]
    fn a_later_test_checks_what_it_reads() {
        let (mut writer, mut buffers) = disk(CheckTime::InLaterTest);
        let content = write(&mut writer, &mut buffers, 5);
        conclude(&mut writer).unwrap();
        assert_eq!(writer.checked, 0);
        let earlier = vec![Arc::new(writer.into_written())];
        let reading = verification(CheckTime::OnRead);
        let mut reader = Verified::new(MemoryDisk::default(), &reading, REGION, earlier).unwrap();
        let offset = REGION.start + 5 * 4096;
        assert_eq!(reader.has_read(&content, offset), Ok(()));
        assert_eq!(reader.has_read(&[0; 4096], offset + 4096), Ok(()));
        insta::assert_snapshot!(conclude(&mut reader).unwrap(), @"1 reads were verified against what an earlier section wrote; 1 others were not, because it had not written those blocks");
        assert!(reader.has_read(&[0; 4096], offset).is_err());
    }

    #[test]
    fn ignored_mismatches_do_not_end_the_check() {
        let (mut disk, mut buffers) = disk(CheckTime::Afterwards);
        (0..4).for_each(|block| drop(write(&mut disk, &mut buffers, block)));
        disk.disk.write(&[0; 4096], REGION.start).unwrap();
        disk.disk.write(&[0; 4096], REGION.start + 4096).unwrap();
        let mut ignored = 0;
        let mut ignore = |_| {
            ignored += 1;
            Ok(())
        };
        disk.conclude(&Stop::new(), &mut ignore).unwrap();
        assert_eq!((ignored, disk.checked), (2, 4));
    }
}
