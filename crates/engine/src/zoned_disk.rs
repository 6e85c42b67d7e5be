//! A disk whose operations go where its zones require them.

use std::sync::Arc;

use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use workload::SyncCall;
use workload::zones::{Claim, Grant, Lack, ZoneAction, ZoneJob};

use crate::disk::{Backed, Block, BlockDisk, Disk, FileDisk, OnMismatch, Placing};
use crate::job::{Failure, Stop};
use crate::open_files::OpenFiles;
use crate::readback::Verified;
use crate::space::SpaceDisk;
use crate::zones::Zones;

/// The storage of the zones. One type for all, so the loops are compiled once for zones.
#[derive(Debug)]
pub enum Storage {
    Files(FileDisk),
    Verified(Box<Verified<FileDisk>>),
    /// Each write resets a zone.
    Resets(SpaceDisk),
}

#[derive(Debug)]
pub struct ZonedDisk {
    storage: Storage,
    zones: Arc<Zones>,
    job: ZoneJob,
    /// The operations in flight.
    held: Vec<Grant>,
    /// Changes of the zones when the job last asked for a place.
    seen: u64,
    resets: u64,
    lack: Option<Lack>,
}

/// The result of a job on zones.
#[derive(Debug)]
pub struct ZonedEnd {
    pub storage: Storage,
    /// Number of zones that the job reset.
    pub resets: u64,
    /// The reason, if no operation had a place at the end.
    pub note: Option<&'static str>,
}

impl ZonedDisk {
    pub const fn new(storage: Storage, zones: Arc<Zones>, job: ZoneJob) -> ZonedDisk {
        ZonedDisk { storage, zones, job, held: Vec::new(), seen: 0, resets: 0, lack: None }
    }

    /// Ends the job's operations in flight, which have failed.
    fn release(&mut self) {
        for grant in self.held.drain(..) {
            self.zones.table().fail(&self.job, grant, None);
        }
        self.zones.notify();
    }

    pub fn end(mut self) -> ZonedEnd {
        self.release();
        let note = self.lack.map(|lack| match lack {
            Lack::Data => "at the end, no zone held data to read",
            Lack::Used => "at the end, no zone held data to reset",
            Lack::Space => "at the end, all zones were full, and their data was to be verified",
            Lack::OpenZones => "ended early, because no zone could be opened for a write",
        });
        ZonedEnd { storage: self.storage, resets: self.resets, note }
    }

    fn file_at(&self, offset: u64) -> BorrowedFd<'_> {
        self.storage().at(offset).0
    }

    fn hold(&mut self, grant: Grant) -> Placing {
        self.held.push(grant);
        self.lack = None;
        let Grant { action, offset, bytes } = grant;
        Placing::At(Block { reads: action == ZoneAction::Read, offset, bytes: bytes as u32 })
    }
}

impl Backed for ZonedDisk {
    type Storage = OpenFiles;

    fn storage(&self) -> &OpenFiles {
        match &self.storage {
            Storage::Files(disk) => disk.storage(),
            Storage::Verified(disk) => disk.storage(),
            Storage::Resets(disk) => disk.storage(),
        }
    }
}

impl Disk for ZonedDisk {
    fn write_name(&self) -> &'static str {
        match &self.storage {
            Storage::Files(_) | Storage::Verified(_) => "write",
            Storage::Resets(_) => "zone reset",
        }
    }

    fn read(&mut self, block: &mut [u8], offset: u64) -> Result<usize, Errno> {
        match &mut self.storage {
            Storage::Files(disk) => disk.read(block, offset),
            Storage::Verified(disk) => disk.read(block, offset),
            Storage::Resets(disk) => disk.read(block, offset),
        }
    }

    fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        match &mut self.storage {
            Storage::Files(disk) => disk.write(block, offset),
            Storage::Verified(disk) => disk.write(block, offset),
            Storage::Resets(disk) => {
                let (sequential, used) = {
                    let table = self.zones.table();
                    (table.is_sequential(offset), table.is_used(offset))
                };
                if !sequential {
                    return disk.write(block, offset);
                }
                if used {
                    self.zones.reset(self.file_at(offset), offset)?;
                    self.resets += 1;
                }
                Ok(block.len())
            }
        }
    }

    fn sync(&mut self, call: SyncCall, offset: u64) -> Result<(), Errno> {
        crate::disk::sync(self.file_at(offset), call)
    }

    fn renew(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

impl BlockDisk for ZonedDisk {
    const VERIFIES: bool = true;
    const PLACES: bool = true;

    fn place(&mut self, block: Block) -> Result<Placing, Failure> {
        let action = match (&self.storage, block.reads) {
            (Storage::Resets(_), _) => ZoneAction::Reset,
            (_, true) => ZoneAction::Read,
            (_, false) => ZoneAction::Write,
        };
        loop {
            let claim = {
                let mut table = self.zones.table();
                self.seen = table.changes();
                table.claim(&mut self.job, action, block.offset, block.bytes.into())
            };
            match claim {
                Claim::Granted(grant) => return Ok(self.hold(grant)),
                Claim::ResetFirst { zone, bytes } => {
                    if let Err(errno) = self.zones.reset(self.file_at(zone), zone) {
                        self.zones.table().abandon(zone);
                        return Err(Failure::of("resetting a zone", errno));
                    }
                    self.resets += 1;
                    let grant = self.zones.table().after_reset(&mut self.job, zone, bytes);
                    self.zones.notify();
                    return Ok(self.hold(grant));
                }
                Claim::FinishFirst { zone } => {
                    if let Err(errno) = self.zones.finish(self.file_at(zone), zone) {
                        self.zones.table().abandon(zone);
                        return Err(Failure::of("finishing a zone", errno));
                    }
                    self.zones.table().after_finish(zone);
                    self.zones.notify();
                }
                Claim::Busy => return Ok(Placing::Later),
                Claim::Nothing(lack) => {
                    self.lack = Some(lack);
                    // Other jobs may still write the data.
                    let waits = self.job.is_timed() && matches!(lack, Lack::Data | Lack::Used);
                    return Ok(if waits { Placing::Later } else { Placing::Nowhere });
                }
            }
        }
    }

    fn performed(&mut self, block: Block, done: bool) {
        let Block { reads, offset, bytes } = block;
        let is_this = |grant: &Grant| {
            let same = grant.offset == offset && grant.bytes == u64::from(bytes);
            same && (grant.action == ZoneAction::Read) == reads
        };
        let Some(index) = self.held.iter().position(is_this) else { return };
        let grant = self.held.swap_remove(index);
        if done {
            self.zones.table().complete(&self.job, grant);
        } else {
            let write_pointer = match grant.action {
                ZoneAction::Read => None,
                _ => self.zones.write_pointer(self.file_at(offset), offset),
            };
            self.zones.table().fail(&self.job, grant, write_pointer);
        }
        self.zones.notify();
    }

    fn await_place(&self) {
        self.zones.wait(self.seen);
    }

    fn has_read(&mut self, block: &[u8], offset: u64) -> Result<(), Failure> {
        match &mut self.storage {
            Storage::Verified(disk) => disk.has_read(block, offset),
            Storage::Files(_) | Storage::Resets(_) => Ok(()),
        }
    }

    fn has_written(&mut self, block: &[u8], offset: u64) {
        if let Storage::Verified(disk) = &mut self.storage {
            disk.has_written(block, offset);
        }
    }

    fn check_is_due(&self) -> bool {
        matches!(&self.storage, Storage::Verified(disk) if disk.check_is_due())
    }

    fn check_written(&mut self, stop: &Stop, on_mismatch: OnMismatch<'_>) -> Result<(), Failure> {
        match &mut self.storage {
            Storage::Verified(disk) => disk.check_written(stop, on_mismatch),
            Storage::Files(_) | Storage::Resets(_) => Ok(()),
        }
    }
}
