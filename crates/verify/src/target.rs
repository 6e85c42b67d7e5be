//! The target of a run: a file that flushmark creates in a directory and keeps for the check, or a
//! file or device that the user gave up.
//!
//! The rules for overwriting are those of [`engine::Target`]: only what flushmark created, or what
//! `--destroy-data` allows; never what is mounted, held or used as swap.

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

/// The file that flushmark creates in a directory.
pub const FILE_NAME: &str = "flushmark-verify.dat";
/// Too large for the drive's cache, and small enough to fill in seconds.
pub const SIZE_BYTES: u64 = 256 << 20;
/// The smallest logical block of Linux.
const SECTOR_BYTES: u32 = 512;

#[derive(Debug)]
pub struct WriteTarget {
    /// The target as the user wrote it.
    pub given: String,
    /// The file or device to write.
    pub path: PathBuf,
    /// The storage under the target.
    pub place: Place,
    pub facts: DriveFacts,
    /// True if the page cache is bypassed.
    pub direct: bool,
    /// The logical block in bytes: the unit of the drive's atomic writes.
    pub sector_bytes: u32,
    /// Alignment of writes that the system requires, which may be larger.
    pub alignment_bytes: u32,
    /// The run that is on the target now.
    pub replaces: Option<u64>,
    /// Space that the run may take.
    pub room_bytes: u64,
    hold: Hold,
}

/// Keeps others from writing.
#[derive(Debug)]
enum Hold {
    /// A file that flushmark created.
    Own(OwnFile),
    /// A file or device that existed before.
    Given(#[expect(dead_code, reason = "held for its effect")] Box<Target>),
}

/// The file in a directory. A new file is removed on drop, unless its run has begun.
#[derive(Debug)]
struct OwnFile {
    file: File,
    path: PathBuf,
    directory: PathBuf,
    /// True if it was empty when opened.
    is_new: bool,
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        let mut head = [0; superblock::MAGIC.len()];
        let carries_a_run =
            self.file.read_exact_at(&mut head, 0).is_ok() && head == superblock::MAGIC;
        if self.is_new && !carries_a_run {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl WriteTarget {
    /// Opens `given`, with the requested size.
    pub fn open(
        root: &SystemRoot,
        given: &str,
        destroy_data: bool,
        size_bytes: Option<u64>,
    ) -> Result<WriteTarget, VerifyError> {
        refuse_non_storage(given)?;
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
        let direct_open = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlags::DIRECT.bits() as i32)
            .open(&path);
        let direct_io = direct_open.as_ref().ok().and_then(DirectIo::of);
        let logical_bytes =
            place.block_device().and_then(|device| device.queue.logical_block_bytes);
        let Some((sector_bytes, alignment_bytes)) = blocks(logical_bytes, direct_io) else {
            return Err(VerifyError::LargeBlocks { path });
        };
        // Some filesystems accept O_DIRECT and use the page cache all the same.
        let direct = direct_open.is_ok() && direct_io != Some(DirectIo::Unsupported);
        let replaces = run_on(&path);
        let given = given.to_owned();
        Ok(WriteTarget {
            given,
            path,
            place,
            facts,
            direct,
            sector_bytes,
            alignment_bytes,
            replaces,
            room_bytes,
            hold,
        })
    }

    /// The way to pass FUA writes to the kernel: for raw devices io_uring, if available, because a
    /// blocking call would add a flush to each.
    pub fn fua_path(&self) -> FuaPath {
        let spec = self.spec(SyncMethod::Fsync, SyncMethod::RwfDsync, FuaPath::IoUring);
        if self.place.kind == PlaceKind::BlockDevice && spec.open(true).is_ok() {
            FuaPath::IoUring
        } else {
            FuaPath::Blocking
        }
    }

    /// The options with which lanes open the target.
    pub fn spec(
        &self,
        flush_method: SyncMethod,
        fua_method: SyncMethod,
        fua_path: FuaPath,
    ) -> DiskSpec {
        DiskSpec {
            path: self.path.clone(),
            direct: self.direct,
            flush_method,
            fua_method,
            fua_path,
        }
    }

    pub fn target_id(&self, run_id: u64) -> u32 {
        target_id(&self.place, &self.facts, run_id)
    }

    /// Writes version 0 of every record and makes it durable, then the superblocks. `progress`
    /// receives the share that is done, from 0 to 1.
    pub fn prepare(
        &self,
        run: &RunHeader,
        stop: &Stop,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), VerifyError> {
        let call = |action| VerifyError::call(action, &self.path);
        let geometry = &run.geometry;
        if let Hold::Own(OwnFile { file, .. }) = &self.hold {
            // A longer file of an earlier run is shortened; missing space is reserved now, so it
            // cannot run out later.
            let size_bytes = geometry.size_bytes();
            if file.metadata().map_err(call("read the size of"))?.len() > size_bytes {
                file.set_len(size_bytes).map_err(call("shorten"))?;
            }
            match fallocate(file, FallocateFlags::empty(), 0, size_bytes) {
                Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
                Err(errno) => return Err(call("reserve space for")(errno.into())),
            }
        }
        let spec = self.spec(run.flush_method, run.fua_method, run.fua_path);
        let mut disk = spec.open(false).map_err(call("open"))?;
        fill(&mut disk, run, stop, progress).map_err(call("fill"))?;
        if stop.is_requested() {
            return Err(VerifyError::Interrupted);
        }
        if let Hold::Own(OwnFile { file, directory, .. }) = &self.hold {
            // The file's length and name must be as durable as its content.
            file.sync_all().map_err(call("sync"))?;
            File::open(directory)
                .and_then(|directory| directory.sync_all())
                .map_err(call("sync the directory of"))?;
        }
        Ok(())
    }
}

/// Identifies the target: the drive, and the part of it that is written. A file has no lasting
/// identity, so it gets that of the run.
pub(crate) fn target_id(place: &Place, facts: &DriveFacts, run_id: u64) -> u32 {
    if place.kind != PlaceKind::BlockDevice {
        return run_id as u32 | 1;
    }
    let start =
        place.block_device().and_then(|device| device.partition.as_ref()?.start_bytes).unwrap_or(0);
    crc32c::crc32c(format!("{}@{start}", facts.label).as_bytes()) | 1
}

/// The run on a target that is about to be overwritten.
fn run_on(path: &Path) -> Option<u64> {
    let (mut disk, _) = open_to_read(path).ok()?;
    let [first, copy] = superblock::read(&mut disk).0;
    Some(first.or(copy).ok()?.run_id)
}

/// The logical block, which no write tears, and the alignment of writes. The alignment does not
/// show where the drive tears writes, so an unknown logical block is assumed to be the smallest: a
/// tear at the edge of a larger block is also at the edge of a smaller one. `None` if a superblock
/// would not be a whole number of blocks.
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

pub(crate) fn refuse_non_storage(given: &str) -> Result<(), VerifyError> {
    match TargetName::parse(given) {
        TargetName::Path(_) => Ok(()),
        _ => Err(VerifyError::NotStorage { given: given.to_owned() }),
    }
}

/// Opens or creates the file in a directory. An existing file must be of an earlier run.
fn own_file(directory: &Path) -> Result<OwnFile, VerifyError> {
    let path = directory.join(FILE_NAME);
    let mut options = OpenOptions::new();
    // A link could lead to a file that is not flushmark's.
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32);
    let file = options.open(&path).map_err(VerifyError::call("create", &path))?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Err(VerifyError::Busy { path });
    }
    if !is_own(&file).map_err(VerifyError::call("read", &path))? {
        return Err(VerifyError::ForeignFile { path });
    }
    let is_new = file.metadata().map_err(VerifyError::call("read the size of", &path))?.len() == 0;
    Ok(OwnFile { file, path, directory: directory.to_owned(), is_new })
}

/// Returns whether a file is empty, contains a run, or was being filled for one.
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
    // A run that was interrupted while filling the file: zeros, then records.
    Ok(starts_as(0, &[0; HEADER_BYTES])?
        && (size_bytes <= FIRST_SLOT_BYTES
            || starts_as(FIRST_SLOT_BYTES, &crate::record::MAGIC)?
            || starts_as(FIRST_SLOT_BYTES, &[0; HEADER_BYTES])?))
}

/// Space for the run: at most half of the free space, not counting what the file already has.
fn room_in(place: &Place, file: &File, size_bytes: Option<u64>) -> Result<u64, VerifyError> {
    use std::os::unix::fs::MetadataExt as _;

    let there = file.metadata().map_or(0, |metadata| metadata.blocks() * 512);
    // A filesystem that reports no blocks at all has no known limit.
    let free_bytes = place
        .space
        .filter(|space| space.total_bytes > 0)
        .map_or(u64::MAX, |space| space.available_bytes);
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

/// The kernel's identifier of this boot; empty if there is none.
pub fn boot_id(root: &SystemRoot) -> String {
    std::fs::read_to_string(root.path("proc/sys/kernel/random/boot_id"))
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

/// A random run identifier.
pub fn new_run_id() -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_le_bytes(bytes))
}

/// The layout with the requested numbers on this target.
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
            "record size {} is not supported; expected a power of two from one block ({}) to 1 MiB",
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
    fn drives_are_identified_by_label_and_offset_and_files_by_their_run() {
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
    fn atomic_unit_and_alignment_may_differ() {
        let aligned = |offset_bytes| Some(DirectIo::Aligned { memory_bytes: 4, offset_bytes });
        assert_eq!(blocks(Some(512), aligned(512)), Some((512, 512)));
        assert_eq!(
            blocks(Some(512), aligned(4096)),
            Some((512, 4096)),
            "a drive of 512 bytes tears within 4096"
        );
        assert_eq!(blocks(Some(4096), aligned(4096)), Some((4096, 4096)));
        assert_eq!(blocks(Some(4096), None), Some((4096, 4096)));
        assert_eq!(blocks(None, aligned(4096)), Some((512, 4096)));
        assert_eq!(blocks(None, Some(DirectIo::Unsupported)), Some((512, 512)));
        assert_eq!(blocks(Some(512), aligned(65536)), None);
        assert_eq!(blocks(Some(16384), None), None);
    }
}
