//! Opens a target to check it: finds what is left of a run, and whether this is the drive that the
//! run was written to.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use drive::{DriveError, NoBlockDevice, Place, PlaceKind, SystemRoot};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::disk::{DeadDisk, Disk as _};
use crate::drive_facts::{DriveFacts, can_be_the_same};
use crate::error::VerifyError;
use crate::file_disk::{FileDisk, open_to_read};
use crate::run_header::RunHeader;
use crate::superblock::{self, SuperblockFault};
use crate::target::{FILE_NAME, refuse_non_storage, target_id};

/// Filesystems that write new data elsewhere and then commit it themselves: if an unsynced write is
/// missing there, the drive did not necessarily lose it.
const COPY_ON_WRITE: [&str; 5] = ["btrfs", "zfs", "bcachefs", "nilfs2", "f2fs"];

/// A target opened for a check. Nothing is written to it.
#[derive(Debug, Clone)]
pub struct CheckTarget {
    /// The target as the user wrote it.
    pub given: String,
    /// The file or device to read.
    pub path: PathBuf,
    /// The storage under the target; `None` if the drive is gone.
    pub place: Option<Place>,
    pub facts: DriveFacts,
    pub superblocks: [Result<RunHeader, SuperblockFault>; 2],
    /// The error if the target could not be opened, or its superblocks could not be read.
    unreadable: Option<Arc<io::Error>>,
    /// A shared lock that keeps writers away; `None` if nothing can be read.
    lock: Option<Arc<File>>,
}

/// Storage to read from.
#[derive(Debug)]
pub enum Readable {
    /// A file or device, and whether direct I/O is used.
    File(FileDisk, bool),
    /// A drive that does not respond.
    Dead(DeadDisk),
}

impl CheckTarget {
    /// Opens `given` and reads its superblocks.
    ///
    /// # Errors
    /// If the target does not exist or cannot be accessed. A drive that returns no data, or damaged
    /// superblocks, are not errors yet.
    pub fn open(root: &SystemRoot, given: &str) -> Result<CheckTarget, VerifyError> {
        refuse_non_storage(given)?;
        let mut path = PathBuf::from(given);
        let there = Place::of(root, &path).map_err(|error| match error {
            DriveError::NoSuchPath { .. } if path.starts_with("/dev") => {
                VerifyError::Missing { path: path.clone() }
            }
            DriveError::NoSuchPath { .. } => VerifyError::NoTarget { path: path.clone() },
            error => error.into(),
        })?;
        if there.kind == PlaceKind::Directory {
            path.push(FILE_NAME);
            if !path.exists() {
                return Err(VerifyError::NoRun { path: PathBuf::from(given) });
            }
        }
        let place = Place::of(root, &path)?;
        let path = place.path.clone();
        let target = CheckTarget {
            given: given.to_owned(),
            facts: DriveFacts::of(root, &place),
            superblocks: [const { Err(SuperblockFault::Damaged) }; 2],
            unreadable: None,
            lock: None,
            path,
            place: Some(place),
        };
        target.read_superblocks()
    }

    /// A drive that no longer exists.
    pub fn missing(given: &str) -> CheckTarget {
        CheckTarget {
            given: given.to_owned(),
            path: PathBuf::from(given),
            place: None,
            facts: DriveFacts::default(),
            superblocks: [const { Err(SuperblockFault::Damaged) }; 2],
            unreadable: Some(Arc::new(io::ErrorKind::NotFound.into())),
            lock: None,
        }
    }

    /// Returns whether nothing exists under the target's name.
    pub const fn is_missing(&self) -> bool {
        self.place.is_none()
    }

    fn read_superblocks(mut self) -> Result<CheckTarget, VerifyError> {
        let is_device =
            self.place.as_ref().is_some_and(|place| place.kind == PlaceKind::BlockDevice);
        let opened =
            File::open(&self.path).and_then(|lock| Ok((lock, open_to_read(&self.path)?.0)));
        let (lock, mut disk) = match opened {
            Err(error) if is_device && is_dead(&error) => {
                self.unreadable = Some(Arc::new(error));
                return Ok(self);
            }
            opened => opened.map_err(VerifyError::call("open", &self.path))?,
        };
        // A run that is still being written cannot be checked.
        if flock(&lock, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK) {
            return Err(VerifyError::Busy { path: self.path });
        }
        if disk.size_bytes() == 0 && is_device {
            self.unreadable = Some(Arc::new(io::Error::other("the device reports no size")));
            return Ok(self);
        }
        self.lock = Some(Arc::new(lock));
        let (superblocks, unreadable) = superblock::read(&mut disk);
        self.superblocks = superblocks;
        self.unreadable = unreadable.map(Arc::new);
        Ok(self)
    }

    pub fn open_to_read(&self) -> io::Result<Readable> {
        if self.lock.is_none() {
            return Ok(Readable::Dead(DeadDisk));
        }
        open_to_read(&self.path).map(|(disk, direct)| Readable::File(disk, direct))
    }

    pub fn run(&self) -> Result<&RunHeader, VerifyError> {
        let path = || self.path.clone();
        let [first, copy] = &self.superblocks;
        match (first, copy) {
            // The later of the two; the other one reverted to the run before.
            (Ok(first), Ok(copy)) if copy.circumstances.replaces == Some(first.run_id) => Ok(copy),
            (Ok(run), _) | (_, Ok(run)) => Ok(run),
            (Err(SuperblockFault::Newer), _) | (_, Err(SuperblockFault::Newer)) => {
                Err(VerifyError::NewerFormat { path: path() })
            }
            (Err(SuperblockFault::Absent), Err(SuperblockFault::Absent)) => {
                Err(VerifyError::NoRun { path: path() })
            }
            _ => Err(match &self.unreadable {
                Some(source) => {
                    let cause = io::Error::new(source.kind(), source.to_string());
                    VerifyError::Unreadable { path: path(), cause }
                }
                None => VerifyError::SuperblockDamaged { path: path() },
            }),
        }
    }

    /// Number of superblocks, of two, that do not belong to this run: damaged, missing, or older.
    pub fn superblocks_lost(&self, run: &RunHeader) -> usize {
        let is_its = |superblock: &&Result<RunHeader, SuperblockFault>| {
            superblock.as_ref().is_ok_and(|found| found.run_id == run.run_id)
        };
        self.superblocks.len() - self.superblocks.iter().filter(is_its).count()
    }

    /// Refuses a drive other than the one that the run was written to, if both are known.
    pub fn expect_drive(&self, run: &RunHeader) -> Result<(), VerifyError> {
        let (then, now) = (&run.circumstances.drive, &self.facts.label);
        if !can_be_the_same(then, now) {
            return Err(VerifyError::OtherDrive {
                path: self.path.clone(),
                then: then.clone(),
                now: now.clone(),
            });
        }
        Ok(())
    }

    /// Returns whether this is certainly the drive (and partition) that the run was written to,
    /// whatever it contains now.
    pub fn is_surely_of(&self, run: &RunHeader) -> bool {
        self.place.as_ref().is_some_and(|place| {
            place.kind == PlaceKind::BlockDevice
                && self.facts.has_serials
                && self.facts.label == run.circumstances.drive
                && target_id(place, &self.facts, run.run_id) == run.target_id
        })
    }

    /// Returns whether this is a whole drive, which no repartitioning can shrink.
    pub fn is_whole_drive(&self) -> bool {
        let device = self.place.as_ref().filter(|place| place.kind == PlaceKind::BlockDevice);
        device
            .and_then(Place::block_device)
            .is_some_and(|device| device.partition.is_none() && device.layers.is_empty())
    }

    /// Why missing unsynced writes prove nothing about the drive; `None` if they do.
    pub fn control_caveat(&self) -> Option<&'static str> {
        let place = self.place.as_ref()?;
        if place.fs_type().is_some_and(|fs_type| COPY_ON_WRITE.contains(&fs_type)) {
            return Some("the filesystem writes new data elsewhere and commits it later");
        }
        match place.no_block_device()? {
            NoBlockDevice::Memory { .. }
            | NoBlockDevice::Network { .. }
            | NoBlockDevice::Served { .. } => {
                Some("the filesystem is not on a drive of this machine")
            }
            _ => None,
        }
    }

    /// Removes the file that flushmark created in a directory. Files and devices that the user
    /// named are kept. Returns whether a file was removed.
    pub fn remove(&self) -> Result<bool, VerifyError> {
        let is_file = self.place.as_ref().is_some_and(|place| place.kind == PlaceKind::RegularFile);
        if !self.path.ends_with(FILE_NAME) || !is_file {
            return Ok(false);
        }
        std::fs::remove_file(&self.path).map_err(VerifyError::call("remove", &self.path))?;
        Ok(true)
    }
}

/// Returns whether this error means that the drive does not respond.
fn is_dead(error: &io::Error) -> bool {
    let dead =
        [Errno::IO, Errno::NXIO, Errno::NODEV, Errno::NOMEDIUM, Errno::NOLINK, Errno::TIMEDOUT];
    error.raw_os_error().is_some_and(|code| dead.iter().any(|errno| errno.raw_os_error() == code))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use drive::Backing;

    use super::*;

    /// A file that poses as a raw drive with this name.
    pub(crate) fn drive_in_a_file(path: &Path, name: &str) -> CheckTarget {
        let raw = samples::place::bare_device();
        let backing = Backing::NoBlockDevice(NoBlockDevice::NotInSysfs { device: raw.device });
        let place = Place { path: path.to_owned(), backing, ..raw };
        let has_serials = !name.is_empty();
        let facts = DriveFacts { label: name.to_owned(), has_serials, ..DriveFacts::default() };
        let target = CheckTarget {
            place: Some(place),
            facts,
            ..CheckTarget::missing(&path.to_string_lossy())
        };
        CheckTarget { unreadable: None, ..target }.read_superblocks().unwrap()
    }

    #[test]
    fn only_another_name_is_another_drive() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("drive");
        std::fs::write(&path, [0; 8192]).unwrap();
        let mut run = RunHeader::plain(1, crate::geometry::tests::small());
        let mut is_accepted = |then: &str, now: &str| {
            run.circumstances.drive = then.to_owned();
            drive_in_a_file(&path, now).expect_drive(&run).is_ok()
        };
        assert!(is_accepted("Micron 5100 (S1)", "Micron 5100 (S1)"));
        assert!(
            is_accepted("Micron 5100 (S1)", "Micron 5100"),
            "the user may be unable to read the serial number"
        );
        assert!(
            is_accepted("Micron 5100 (S1)", "") && is_accepted("", "Micron 5100 (S1)"),
            "unknown"
        );
        assert!(!is_accepted("Micron 5100 (S1)", "Micron 5100 (S2)"));
        assert!(!is_accepted("Micron 5100 (S1)", "SanDisk"));
        assert!(!is_accepted("SanDisk", "SanDisk Ultra (S9)"), "a longer name is another model");
        assert!(!is_accepted("SanDisk Ultra (S9)", "SanDisk"));
        assert!(
            is_accepted("SanDisk (USB)", "SanDisk (USB) (S9)")
                && is_accepted("SanDisk (USB) (S9)", "SanDisk (USB)")
        );
        assert!(
            is_accepted("A (S1), B (S2)", "A (S1), B") && is_accepted("A, B (S2)", "A (S1), B")
        );
        assert!(
            !is_accepted("A (S1), B (S2)", "A (S1)") && !is_accepted("A (S1), B (S2)", "A (S1), C")
        );
    }

    #[test]
    fn storage_without_a_drive_has_a_control_caveat() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("drive");
        std::fs::write(&path, [0; 8192]).unwrap();
        let mut target = drive_in_a_file(&path, "");
        assert_eq!(target.control_caveat(), None);
        let fs_type = || "tmpfs".to_owned();
        for elsewhere in [
            NoBlockDevice::Memory { fs_type: fs_type() },
            NoBlockDevice::Network { fs_type: fs_type() },
            NoBlockDevice::Served { fs_type: fs_type() },
        ] {
            target.place.as_mut().unwrap().backing = Backing::NoBlockDevice(elsewhere);
            assert_eq!(
                target.control_caveat(),
                Some("the filesystem is not on a drive of this machine")
            );
        }
        target.place = None;
        assert_eq!(target.control_caveat(), None);
    }

    #[test]
    fn io_errors_mean_a_dead_drive() {
        let dead = |errno: Errno| is_dead(&errno.into());
        assert!(dead(Errno::IO) && dead(Errno::NXIO) && dead(Errno::NOMEDIUM));
        assert!(
            !dead(Errno::ACCESS) && !dead(Errno::NOENT) && !is_dead(&io::Error::other("no number"))
        );
    }
}
