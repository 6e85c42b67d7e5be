//! Where a run is written: a file of its own in a directory, which stays to be checked, or a file or device that a person gave up.
//!
//! What may be overwritten is decided as everywhere in flushmark ([`engine::Target`]): only what flushmark made, or what `--destroy-data` names; never what is mounted, held or swapped on.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use drive::{DirectIo, Place, PlaceKind, SystemRoot};
use engine::{EngineError, Intent, Stop, Target};
use rustix::fs::{FallocateFlags, FlockOperation, OFlags, fallocate, flock};
use workload::{Room, TargetName};

use crate::drive_facts::DriveFacts;
use crate::error::VerifyError;
use crate::file_disk::{DiskSpec, open_to_read};
use crate::filling::fill;
use crate::geometry::{FIRST_SLOT_BYTES, Geometry, SUPERBLOCK_BYTES, SUPERBLOCKS_AT};
use crate::record::HEADER_BYTES;
use crate::run_header::{FuaPath, RunHeader, SyncMethod};
use crate::superblock;

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
    /// The logical block: the smallest piece that the drive writes by itself.
    pub sector_bytes: u32,
    /// What the system wants writes to be a multiple of, which may be more.
    pub alignment_bytes: u32,
    /// The run that lies there now.
    pub replaces: Option<u64>,
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
            let there = match target.room() {
                Room::Whole(bytes) | Room::Free(bytes) => bytes,
                Room::Unlimited => 0,
            };
            let room_bytes = match (size_bytes, place.kind) {
                (Some(size_bytes), _) => size_bytes.min(there),
                (None, PlaceKind::BlockDevice) => SIZE_BYTES.min(there),
                (None, _) => there,
            };
            (place.path.clone(), Hold::Given(Box::new(target)), room_bytes)
        };
        let direct_open =
            OpenOptions::new().read(true).write(true).custom_flags(OFlags::DIRECT.bits() as i32).open(&path);
        let direct_io = direct_open.as_ref().ok().and_then(DirectIo::of);
        let logical_bytes = place.block_device().and_then(|device| device.queue.logical_block_bytes);
        let Some((sector_bytes, alignment_bytes)) = blocks(logical_bytes, direct_io) else {
            return Err(VerifyError::LargeBlocks { path });
        };
        // Some filesystems open a file so and then go through the page cache all the same.
        let direct = direct_open.is_ok() && direct_io != Some(DirectIo::Unsupported);
        let replaces = run_on(&path);
        let given = given.to_owned();
        Ok(WriteTarget { given, path, place, facts, direct, sector_bytes, alignment_bytes, replaces, room_bytes, hold })
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
        DiskSpec { path: self.path.clone(), direct: self.direct, flush_method, fua_method, fua_path }
    }

    /// Identity of the target.
    pub fn target_id(&self, run_id: u64) -> u32 {
        target_id(&self.place, &self.facts, run_id)
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

/// Identity of a target: of the drive and of the part of it that is written. Files have none that outlives them, so that theirs is the run's.
pub(crate) fn target_id(place: &Place, facts: &DriveFacts, run_id: u64) -> u32 {
    if place.kind != PlaceKind::BlockDevice {
        return run_id as u32 | 1;
    }
    let start = place.block_device().and_then(|device| device.partition.as_ref()?.start_bytes).unwrap_or(0);
    crc32c::crc32c(format!("{}@{start}", facts.label).as_bytes()) | 1
}

/// The run on a target that is about to be overwritten.
fn run_on(path: &Path) -> Option<u64> {
    let (mut disk, _) = open_to_read(path).ok()?;
    let [first, copy] = superblock::read(&mut disk).0;
    Some(first.or(copy).ok()?.run_id)
}

/// The logical block, which no write tears, and what writes must be a multiple of. What the system wants says nothing of where the drive tears, so where nobody tells the logical block it is the
/// smallest: a tear on the edge of a larger one lies on the edge of a smaller one, too. `None` where a superblock is no whole piece.
fn blocks(logical_bytes: Option<u64>, direct_io: Option<DirectIo>) -> Option<(u32, u32)> {
    let aligned_bytes = match direct_io {
        Some(DirectIo::Aligned { offset_bytes, .. }) => Some(offset_bytes),
        _ => None,
    };
    let logical_bytes = logical_bytes.and_then(|bytes| u32::try_from(bytes).ok());
    let sector_bytes = logical_bytes.unwrap_or(SECTOR_BYTES).max(SECTOR_BYTES);
    let alignment_bytes = aligned_bytes.unwrap_or(sector_bytes).max(sector_bytes);
    let fits = |bytes: u32| bytes.is_power_of_two() && u64::from(bytes) <= SUPERBLOCK_BYTES;
    (fits(sector_bytes) && fits(alignment_bytes)).then_some((sector_bytes, alignment_bytes))
}

pub(crate) fn refuse_what_is_no_storage(given: &str) -> Result<(), VerifyError> {
    match TargetName::parse(given) {
        TargetName::Path(_) => Ok(()),
        TargetName::Model(_) | TargetName::Null => Err(VerifyError::NotStorage { given: given.to_owned() }),
    }
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
    let least = u64::from(target.alignment_bytes);
    let taken = record_bytes.max(least);
    let sectors = taken / u64::from(target.sector_bytes);
    let [flush_lanes, fua_lanes, control_lanes] = lanes;
    let record_sectors = u16::try_from(sectors).ok().filter(|_| taken.is_multiple_of(least)).ok_or_else(|| {
        crate::geometry::ImpossibleGeometry(format!(
            "records of {} are not supported: a power of two from one block ({}) to 1 MiB is",
            workload::format_bytes(record_bytes),
            workload::format_bytes(least)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_and_its_part_are_the_target_s_identity_and_a_file_s_is_its_run_s() {
        let capture = captures::lay_out("md-raid5");
        let root = SystemRoot::new(capture.path());
        let drive = |name: &str| DriveFacts { label: name.to_owned(), ..DriveFacts::default() };
        let place = |minor| crate::drive_facts::tests::place(&root, 8, minor);
        let (whole, partition) = (place(0), place(1));
        let id = target_id(&whole, &drive("A (S1)"), 6);
        assert_eq!((id, id % 2), (target_id(&whole, &drive("A (S1)"), 7), 1));
        assert_ne!(id, target_id(&whole, &drive("A (S2)"), 6));
        assert_ne!(id, target_id(&partition, &drive("A (S1)"), 6));
        let file = Place { kind: PlaceKind::RegularFile, ..whole };
        assert_eq!([6, 7, 8].map(|run_id| target_id(&file, &drive("A (S1)"), run_id)), [7, 7, 9]);
    }

    #[test]
    fn what_the_drive_tears_is_not_what_the_system_wants() {
        let aligned = |offset_bytes| Some(DirectIo::Aligned { memory_bytes: 4, offset_bytes });
        assert_eq!(blocks(Some(512), aligned(512)), Some((512, 512)));
        assert_eq!(blocks(Some(512), aligned(4096)), Some((512, 4096)), "a drive of 512 bytes tears within 4096");
        assert_eq!(blocks(Some(4096), aligned(4096)), Some((4096, 4096)));
        assert_eq!(blocks(Some(4096), None), Some((4096, 4096)));
        assert_eq!(blocks(None, aligned(4096)), Some((512, 4096)));
        assert_eq!(blocks(None, Some(DirectIo::Unsupported)), Some((512, 512)));
        assert_eq!(blocks(Some(512), aligned(65536)), None);
        assert_eq!(blocks(Some(16384), None), None);
    }
}
