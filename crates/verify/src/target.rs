//! Where a run is written: a file of its own in a directory, which stays to be checked, or a file or device that a person gave up.
//!
//! What may be overwritten is decided as everywhere in flushmark ([`engine::Target`]): only what flushmark made, or what `--destroy-data` names; never what is mounted, held or swapped on.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use drive::{DirectIo, NoBlockDevice, Place, PlaceKind, SystemRoot};
use engine::{EngineError, Intent, Stop, Target};
use rustix::fs::{FallocateFlags, FlockOperation, OFlags, fallocate, flock};

use crate::aligned::AlignedBlock;
use crate::disk::Disk;
use crate::drive_facts::DriveFacts;
use crate::error::VerifyError;
use crate::file_disk::{DiskSpec, open_to_read};
use crate::filling::fill;
use crate::geometry::{FIRST_SLOT_BYTES, Geometry, SUPERBLOCK_BYTES, SUPERBLOCKS_AT};
use crate::record::HEADER_BYTES;
use crate::run_header::{FuaPath, RunHeader, SyncMethod};
use crate::superblock::{self, SuperblockFault};

/// The file that is made in a directory.
pub const FILE_NAME: &str = "flushmark-verify.dat";
/// Enough that the drive's cache does not hold all of it for long, little enough to be filled in seconds.
pub const SIZE_BYTES: u64 = 256 << 20;
/// The smallest logical block that Linux knows.
const SECTOR_BYTES: u32 = 512;

/// A target that is held to be written.
#[derive(Debug)]
pub struct WriteTarget {
    /// As the person wrote it.
    pub given: String,
    /// The file or device that is written.
    pub path: PathBuf,
    /// What lies beneath.
    pub place: Place,
    /// Its drives.
    pub facts: DriveFacts,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// The logical block.
    pub sector_bytes: u32,
    /// Bytes that the run may take.
    pub room_bytes: u64,
    hold: Hold,
}

/// What keeps others away.
#[derive(Debug)]
enum Hold {
    /// A file of flushmark's own.
    Own(OwnFile),
    /// A file or device that was there.
    Given(#[expect(dead_code, reason = "held, not used")] Box<Target>),
}

/// The file in a directory. One that was made for a run which never began is gone again afterwards.
#[derive(Debug)]
struct OwnFile {
    file: File,
    path: PathBuf,
    directory: PathBuf,
    /// Whether it was empty when it was opened.
    is_new: bool,
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        let mut head = [0; superblock::MAGIC.len()];
        let carries_a_run = self.file.read_exact_at(&mut head, 0).is_ok() && head == superblock::MAGIC;
        if self.is_new && !carries_a_run {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl WriteTarget {
    /// Opens `given`, or says why not. `size_bytes` is what was asked for.
    ///
    /// # Errors
    /// Every way in which a target can be wrong, dangerous or out of order.
    pub fn open(
        root: &SystemRoot,
        given: &str,
        destroy_data: bool,
        size_bytes: Option<u64>,
    ) -> Result<WriteTarget, VerifyError> {
        refuse_what_is_no_storage(given)?;
        let place = Place::of(root, Path::new(given))?;
        let facts = DriveFacts::of(root, &place);
        let (path, hold, room_bytes) = if place.kind == PlaceKind::Directory {
            let own = own_file(&place.path)?;
            let room_bytes = room_in(&place, &own.file, size_bytes)?;
            (own.path.clone(), Hold::Own(own), room_bytes)
        } else {
            let target = Target::open(root, given, Intent { writes: true, destroy_data })?;
            let there = target.room_bytes().unwrap_or(0);
            let room_bytes = match (size_bytes, place.kind) {
                (Some(size_bytes), _) => size_bytes.min(there),
                (None, PlaceKind::BlockDevice) => SIZE_BYTES.min(there),
                (None, _) => there,
            };
            (place.path.clone(), Hold::Given(Box::new(target)), room_bytes)
        };
        let direct_open =
            OpenOptions::new().read(true).write(true).custom_flags(OFlags::DIRECT.bits() as i32).open(&path);
        let direct = direct_open.is_ok();
        let alignment = match direct_open.ok().and_then(DirectIo::of) {
            Some(DirectIo::Aligned { offset_bytes, .. }) => Some(u64::from(offset_bytes)),
            _ => place.block_device().and_then(|device| device.queue.logical_block_bytes),
        };
        let sector_bytes = alignment
            .and_then(|bytes| u32::try_from(bytes).ok())
            .filter(|bytes| bytes.is_power_of_two())
            .map_or(SECTOR_BYTES, |bytes| bytes.clamp(SECTOR_BYTES, SUPERBLOCK_BYTES as u32));
        Ok(WriteTarget { given: given.to_owned(), path, place, facts, direct, sector_bytes, room_bytes, hold })
    }

    /// Which way FUA writes go: on raw devices through io_uring, where there is one, because a blocking call would send a flush behind each.
    pub fn fua_path(&self) -> FuaPath {
        let spec = self.spec(SyncMethod::Fsync, SyncMethod::RwfDsync, FuaPath::IoUring);
        if self.place.kind == PlaceKind::BlockDevice && spec.open(true).is_ok() {
            FuaPath::IoUring
        } else {
            FuaPath::Blocking
        }
    }

    /// How lanes open it.
    pub fn spec(&self, flush_method: SyncMethod, fua_method: SyncMethod, fua_path: FuaPath) -> DiskSpec {
        DiskSpec {
            path: self.path.clone(),
            direct: self.direct,
            sector_bytes: self.sector_bytes,
            flush_method,
            fua_method,
            fua_path,
        }
    }

    /// Identity of the target: of the drive and of the part of it that is written. Files have none that outlives them, so that theirs is the run's.
    pub fn target_id(&self, run_id: u64) -> u32 {
        if self.place.kind != PlaceKind::BlockDevice {
            return run_id as u32 | 1;
        }
        let start = self.place.block_device().and_then(|device| device.partition.as_ref()?.start_bytes).unwrap_or(0);
        crc32c::crc32c(format!("{}@{start}", self.facts.label).as_bytes()) | 1
    }

    /// Writes version 0 of every record and makes it durable, then the superblocks. `progress` is told the share that is done, from 0 to 1.
    ///
    /// # Errors
    /// When the system does not do its part, or `stop` is requested.
    pub fn prepare(&self, run: &RunHeader, stop: &Stop, progress: &mut dyn FnMut(f64)) -> Result<(), VerifyError> {
        let call = |action| VerifyError::call(action, &self.path);
        let geometry = &run.geometry;
        if let Hold::Own(OwnFile { file, .. }) = &self.hold {
            // Longer files of earlier runs are cut; whatever is missing is reserved at once, so that there is room for all of it.
            let size_bytes = geometry.size_bytes();
            if file.metadata().map_err(call("look at"))?.len() > size_bytes {
                file.set_len(size_bytes).map_err(call("shorten"))?;
            }
            match fallocate(file, FallocateFlags::empty(), 0, size_bytes) {
                Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
                Err(errno) => return Err(call("reserve space for")(errno.into())),
            }
        }
        let spec = self.spec(run.flush_method, run.fua_method, run.fua_path);
        let mut disk = spec.open(false).map_err(call("open"))?;
        fill(&mut disk, run, stop, progress).map_err(call("write through"))?;
        if stop.is_requested() {
            return Err(VerifyError::Interrupted);
        }
        if let Hold::Own(OwnFile { file, directory, .. }) = &self.hold {
            // The file's length and its name must be as durable as its content.
            file.sync_all().map_err(call("sync"))?;
            File::open(directory).and_then(|directory| directory.sync_all()).map_err(call("sync the directory of"))?;
        }
        Ok(())
    }
}

fn refuse_what_is_no_storage(given: &str) -> Result<(), VerifyError> {
    let no_medium = given == "null:" || given.starts_with("sim:");
    if no_medium { Err(VerifyError::NotStorage { given: given.to_owned() }) } else { Ok(()) }
}

/// Opens or makes the file in a directory. One that is there must be an earlier run's.
fn own_file(directory: &Path) -> Result<OwnFile, VerifyError> {
    let path = directory.join(FILE_NAME);
    let mut options = OpenOptions::new();
    // A link that somebody put there leads to a file that is not flushmark's.
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32);
    let file = options.open(&path).map_err(VerifyError::call("make", &path))?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Err(VerifyError::Busy { path });
    }
    if !is_own(&file).map_err(VerifyError::call("read", &path))? {
        return Err(VerifyError::ForeignFile { path });
    }
    let is_new = file.metadata().map_err(VerifyError::call("look at", &path))?.len() == 0;
    Ok(OwnFile { file, path, directory: directory.to_owned(), is_new })
}

/// Whether a file is empty, carries a run, or was being prepared for one.
fn is_own(file: &File) -> std::io::Result<bool> {
    let size_bytes = file.metadata()?.len();
    if size_bytes == 0 {
        return Ok(true);
    }
    let mut head = [0; HEADER_BYTES];
    let mut starts_as = |at: u64, magic: &[u8]| -> std::io::Result<bool> {
        let there = file.read_at(&mut head, at)?;
        Ok(head[..there].starts_with(magic))
    };
    for at in SUPERBLOCKS_AT {
        if starts_as(at, &superblock::MAGIC)? {
            return Ok(true);
        }
    }
    // A run that was interrupted while it filled the file: nothing in front, records behind.
    Ok(starts_as(0, &[0; HEADER_BYTES])?
        && (size_bytes <= FIRST_SLOT_BYTES
            || starts_as(FIRST_SLOT_BYTES, &crate::record::MAGIC)?
            || starts_as(FIRST_SLOT_BYTES, &[0; HEADER_BYTES])?))
}

/// Never more than half of what is free, what the file has already not counted.
fn room_in(place: &Place, file: &File, size_bytes: Option<u64>) -> Result<u64, VerifyError> {
    use std::os::unix::fs::MetadataExt as _;

    let there = file.metadata().map_or(0, |metadata| metadata.blocks() * 512);
    // A filesystem that says that it has no blocks at all knows no limit.
    let free_bytes = place.space.filter(|space| space.total_bytes > 0).map_or(u64::MAX, |space| space.available_bytes);
    let budget = (free_bytes / 2).saturating_add(there);
    let needed_bytes = size_bytes.unwrap_or(SIZE_BYTES);
    if needed_bytes <= budget {
        return Ok(needed_bytes);
    }
    match size_bytes {
        None if budget >= 2 * FIRST_SLOT_BYTES => Ok(budget),
        _ => {
            let needed_bytes = size_bytes.unwrap_or(2 * FIRST_SLOT_BYTES);
            Err(EngineError::NoSpace { path: place.path.clone(), free_bytes, needed_bytes }.into())
        }
    }
}

/// A target that is opened to be checked. Nothing is written to it.
#[derive(Debug, Clone)]
pub struct CheckTarget {
    /// As the person wrote it.
    pub given: String,
    /// The file or device that is read.
    pub path: PathBuf,
    /// What lies beneath.
    pub place: Place,
    /// Its drives.
    pub facts: DriveFacts,
    /// What its superblock and the copy are.
    pub superblocks: [Result<RunHeader, SuperblockFault>; 2],
    /// The system's answer to reading them, where that failed.
    unreadable: Option<i32>,
    /// Held, so that nobody begins to write meanwhile.
    _lock: Arc<File>,
}

impl CheckTarget {
    /// Looks at `given` and reads its superblocks.
    ///
    /// # Errors
    /// When it does not exist or cannot be read. Superblocks that are damaged are no error yet.
    pub fn open(root: &SystemRoot, given: &str) -> Result<CheckTarget, VerifyError> {
        refuse_what_is_no_storage(given)?;
        let mut path = PathBuf::from(given);
        if Place::of(root, &path)?.kind == PlaceKind::Directory {
            path.push(FILE_NAME);
            if !path.exists() {
                return Err(VerifyError::NoRun { path: PathBuf::from(given) });
            }
        }
        let place = Place::of(root, &path)?;
        let facts = DriveFacts::of(root, &place);
        let path = place.path.clone();
        let lock = File::open(&path).map_err(VerifyError::call("open", &path))?;
        // Of a run that is being written, nothing can be said.
        if flock(&lock, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK) {
            return Err(VerifyError::Busy { path });
        }
        let (mut disk, _) = open_to_read(&path, SECTOR_BYTES).map_err(VerifyError::call("open", &path))?;
        if disk.size_bytes() == 0 && place.kind == PlaceKind::BlockDevice {
            let source = std::io::Error::other("the device has no size any more");
            return Err(VerifyError::Unreadable { path, source });
        }
        let mut block = AlignedBlock::new(SUPERBLOCK_BYTES as usize);
        let mut unreadable = None;
        let superblocks = SUPERBLOCKS_AT.map(|at| match disk.read(at, block.bytes_mut()) {
            Ok(()) => superblock::parse(block.bytes()),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(SuperblockFault::Absent),
            Err(error) => {
                unreadable = error.raw_os_error();
                Err(SuperblockFault::Damaged)
            }
        });
        Ok(CheckTarget { given: given.to_owned(), path, place, facts, superblocks, unreadable, _lock: Arc::new(lock) })
    }

    /// The run that it carries.
    ///
    /// # Errors
    /// When no superblock tells.
    pub fn run(&self) -> Result<&RunHeader, VerifyError> {
        let path = || self.path.clone();
        let [first, copy] = &self.superblocks;
        match (first, copy) {
            (Ok(run), _) | (_, Ok(run)) => Ok(run),
            (Err(SuperblockFault::Newer), _) | (_, Err(SuperblockFault::Newer)) => {
                Err(VerifyError::NewerFormat { path: path() })
            }
            (Err(SuperblockFault::Absent), Err(SuperblockFault::Absent)) => Err(VerifyError::NoRun { path: path() }),
            _ if self.unreadable.is_some() => {
                let source = std::io::Error::from_raw_os_error(self.unreadable.unwrap_or_default());
                Err(VerifyError::Unreadable { path: path(), source })
            }
            _ => Err(VerifyError::SuperblockDamaged { path: path() }),
        }
    }

    /// Refuses a drive that is another one than the run was written on, where both can be told.
    ///
    /// # Errors
    /// When it is another one.
    pub fn expect_drive(&self, run: &RunHeader) -> Result<(), VerifyError> {
        let (then, now) = (&run.circumstances.drive, &self.facts.label);
        let told = self.place.kind == PlaceKind::BlockDevice && !then.is_empty() && !now.is_empty();
        if told && then != now {
            return Err(VerifyError::OtherDrive { path: self.path.clone(), then: then.clone(), now: now.clone() });
        }
        Ok(())
    }

    /// Removes the file that flushmark made in a directory. Files and devices that a person gave stay.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self) -> Result<bool, VerifyError> {
        if !self.path.ends_with(FILE_NAME) || self.place.kind != PlaceKind::RegularFile {
            return Ok(false);
        }
        std::fs::remove_file(&self.path).map_err(VerifyError::call("remove", &self.path))?;
        Ok(true)
    }
}

/// The kernel's name of this boot; empty where it has none.
pub fn boot_id(root: &SystemRoot) -> String {
    std::fs::read_to_string(root.path("proc/sys/kernel/random/boot_id"))
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

/// A random run identity.
///
/// # Errors
/// When the kernel gives no random bytes.
pub fn new_run_id() -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_le_bytes(bytes))
}

/// The layout that a person's wishes give on this target.
///
/// # Errors
/// When they cannot be fulfilled there.
pub fn geometry(
    target: &WriteTarget,
    record_bytes: u64,
    lanes: [u16; 3],
    writes_per_sync: u16,
) -> Result<Geometry, VerifyError> {
    let sectors = record_bytes.max(u64::from(target.sector_bytes)) / u64::from(target.sector_bytes);
    let [flush_lanes, fua_lanes, control_lanes] = lanes;
    let whole = record_bytes.max(u64::from(target.sector_bytes)).is_multiple_of(u64::from(target.sector_bytes));
    let record_sectors = u16::try_from(sectors).ok().filter(|_| whole).ok_or_else(|| {
        crate::geometry::ImpossibleGeometry(format!(
            "records of {} are not supported: a power of two from one sector ({}) to 1 MiB is",
            workload::format_bytes(record_bytes),
            workload::format_bytes(u64::from(target.sector_bytes))
        ))
    })?;
    let geometry = Geometry {
        sector_bytes: target.sector_bytes,
        record_sectors,
        slots_per_lane: 0,
        flush_lanes,
        fua_lanes,
        control_lanes,
        writes_per_sync,
    };
    Ok(geometry.within(target.room_bytes)?)
}

/// What speaks against the place of a journal and does not forbid it, in one sentence.
pub fn journal_caveat(root: &SystemRoot, path: &Path) -> Option<String> {
    let place = Place::of(root, path).ok()?;
    let path = path.display();
    match place.no_block_device()? {
        NoBlockDevice::Memory { .. } => Some(format!(
            "the journal {path} lies in memory: it survives a cut of the drive's power, but not of this machine's"
        )),
        NoBlockDevice::Network { .. } => None,
        unknown => Some(format!(
            "nobody can say on which drive the journal {path} lies ({unknown}): make sure that it is not the one that is tested"
        )),
    }
}

/// Says on which disks a journal lies, so that it is not put on the one that is tested.
///
/// # Errors
/// When it would lie on a disk of the target, or its place cannot be looked at.
pub fn expect_apart(root: &SystemRoot, target: &WriteTarget, journal: &Path) -> Result<(), VerifyError> {
    let parent = journal.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let place = Place::of(root, if journal.exists() { journal } else { parent })?;
    let facts = DriveFacts::of(root, &place);
    let same_disk = facts.disks.iter().find(|disk| target.facts.disks.contains(disk));
    // Without block devices (a network, memory), one filesystem is one drive.
    let same_filesystem =
        facts.disks.is_empty() && target.place.kind != PlaceKind::BlockDevice && place.device == target.place.device;
    if let Some(disk) = same_disk {
        return Err(VerifyError::JournalOnTarget { path: journal.to_owned(), device: format!("/dev/{disk}") });
    }
    if same_filesystem {
        let device = "the same filesystem".to_owned();
        return Err(VerifyError::JournalOnTarget { path: journal.to_owned(), device });
    }
    Ok(())
}
