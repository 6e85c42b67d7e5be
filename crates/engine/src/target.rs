//! The target of a workload: a directory, a file, a block device, or nothing.
//!
//! Safety is decided when a target is opened. Nothing is overwritten that flushmark did not create,
//! unless the user allowed it; targets that are mounted, held or used as swap are refused even
//! then. A plan that only reads may use any target.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drive::{
    BlockDevice, Counters, DeviceNumber, DirectIo, Occupied, Place, PlaceKind, SystemRoot,
    Transport, WriteCache,
};
use measurement::{TargetKind, TargetRecord};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use workload::{BlockBytes, Plan, Room, Step, TargetName, Test, Work};

use crate::ceph::{self, CephTarget, ObjectSpace, Storage};
use crate::error::EngineError;
use crate::export::ExportTarget;
use crate::job::Stop;
use crate::limits;
use crate::part::PartSpec;
use crate::readback::Written;
use crate::scratch::Scratch;
use crate::wear::WearMeter;
use crate::zones::Zones;

/// `EXT4_SUPER_MAGIC` of include/uapi/linux/magic.h.
const EXT4: u64 = 0xef53;

/// The planned effects of a plan on its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intent {
    /// At least one test writes.
    pub writes: bool,
    /// The user has allowed the target's content to be destroyed.
    pub destroy_data: bool,
}

impl Intent {
    /// The intent of a plan.
    pub fn of(plan: &Plan, destroy_data: bool) -> Intent {
        let writes = |test: &Test| match &test.work {
            Work::Blocks(workload) => workload.pattern.writes(),
            Work::Steps(program) => {
                program.steps.iter().any(|step| !matches!(step, Step::Sync { .. }))
            }
            // A sort writes its runs.
            Work::Sort(_) => true,
        };
        Intent { writes: plan.tests.iter().any(writes), destroy_data }
    }
}

/// An opened target. Files created on it are removed on drop.
#[derive(Debug)]
pub struct Target {
    given: String,
    opened: Opened,
    /// Tests may use all space of a filesystem.
    may_fill: bool,
    /// The blocks that a later test checks, by file name.
    written: Mutex<HashMap<String, Vec<Arc<Written>>>>,
    /// The zones of files that stay, as earlier tests left them.
    zones: Mutex<HashMap<String, Arc<Zones>>>,
    wear: WearMeter,
}

#[derive(Debug)]
pub(crate) enum Opened {
    Null,
    Directory { place: Place, scratch: Scratch, budget_bytes: u64 },
    Existing(Existing),
    Export(ExportTarget),
    Ceph(CephTarget),
}

/// An existing file or device.
#[derive(Debug)]
pub(crate) struct Existing {
    pub(crate) place: Place,
    pub(crate) path: PathBuf,
    pub(crate) size_bytes: u64,
    pub(crate) writable: bool,
    /// Holds the lock and, for a device, the exclusive claim that prevents mounting.
    _claim: OwnedFd,
}

impl Target {
    /// The space available to tests: the size of a device or file; half of the free space in a
    /// directory.
    pub fn room(&self) -> Room {
        match &self.opened {
            Opened::Null => Room::Unlimited,
            Opened::Directory { budget_bytes, .. } => Room::Free(*budget_bytes),
            Opened::Existing(existing) => Room::Whole(existing.size_bytes),
            Opened::Export(export) => Room::Whole(export.export().bytes),
            Opened::Ceph(ceph) => Room::Whole(ceph.record().size_bytes),
        }
    }

    /// Inspects `given` and opens it.
    ///
    /// # Errors
    /// Fails if the target is invalid, unsafe or defective; see [`EngineError`].
    pub fn open(root: &SystemRoot, given: &str, intent: Intent) -> Result<Target, EngineError> {
        let name = TargetName::parse(given);
        let opened = if name == TargetName::Null {
            Opened::Null
        } else if matches!(name, TargetName::Nbd(_)) {
            Opened::Export(open_export(given, intent)?)
        } else if let TargetName::Image(image) = name {
            Opened::Ceph(CephTarget::image(given, image, intent)?)
        } else if let TargetName::Pool(pool) = name {
            Opened::Ceph(CephTarget::pool(given, pool)?)
        } else if let Some(scheme) = unknown_scheme(given) {
            return Err(EngineError::UnknownScheme {
                given: given.to_owned(),
                scheme: scheme.to_owned(),
            });
        } else {
            let place = Place::of(root, Path::new(given))?;
            match place.kind {
                PlaceKind::Directory => open_directory(place)?,
                PlaceKind::RegularFile | PlaceKind::BlockDevice => {
                    Opened::Existing(open_existing(root, place, intent)?)
                }
            }
        };
        let mut target = Target::new(given.to_owned(), opened, intent.destroy_data);
        if let Some(device) = target.place().and_then(Place::block_device).filter(|_| intent.writes)
        {
            target.wear = WearMeter::of(root, device);
        }
        Ok(target)
    }

    /// A target in a Ceph cluster that the caller has opened. `given` is its name in results.
    pub fn in_ceph(given: impl Into<String>, ceph: CephTarget) -> Target {
        Target::new(given.into(), Opened::Ceph(ceph), false)
    }

    /// The pool and namespace of a target's objects; `None` for any target that is not a pool.
    pub fn object_space(&self) -> Option<ObjectSpace> {
        let Opened::Ceph(ceph) = &self.opened else { return None };
        match ceph.storage() {
            Storage::Objects(objects) => Some(objects.space()),
            Storage::Image(_) => None,
        }
    }

    /// Creates the objects of a target in a pool, and returns the time that each took, in
    /// nanoseconds; `None` for any other target.
    ///
    /// # Errors
    /// If the cluster does not take them.
    pub fn create_objects(&self, stop: &Stop) -> Result<Option<Vec<u64>>, EngineError> {
        let Opened::Ceph(ceph) = &self.opened else { return Ok(None) };
        crate::prepare::create_objects(self, ceph, stop).map(Some)
    }

    fn new(given: String, opened: Opened, may_fill: bool) -> Target {
        let (written, zones, wear) = (Mutex::default(), Mutex::default(), WearMeter::default());
        Target { given, opened, may_fill, written, zones, wear }
    }

    /// The target as given by the user.
    pub fn given(&self) -> &str {
        &self.given
    }

    /// Returns `true` if it is a directory on ext4, or on its predecessors, which have the same
    /// number.
    pub fn is_directory_on_ext4(&self) -> bool {
        let Opened::Directory { scratch, .. } = &self.opened else { return false };
        let filesystem = rustix::fs::fstatfs(scratch.directory());
        filesystem.is_ok_and(|filesystem| filesystem.f_type as u64 == EXT4)
    }

    /// Its kind, as recorded in result documents.
    pub fn kind(&self) -> TargetKind {
        match &self.opened {
            Opened::Null => TargetKind::Null,
            Opened::Directory { .. } => TargetKind::Directory,
            Opened::Existing(existing) if existing.place.kind == PlaceKind::BlockDevice => {
                TargetKind::BlockDevice
            }
            Opened::Existing(_) => TargetKind::File,
            Opened::Export(_) => TargetKind::Nbd,
            Opened::Ceph(ceph) => match ceph.storage() {
                ceph::Storage::Image(_) => TargetKind::Image,
                ceph::Storage::Objects(_) => TargetKind::Objects,
            },
        }
    }

    /// The kind of a target that is not reached through this machine's kernel, and so has neither
    /// files nor a page cache here; `None` for any other target.
    pub(crate) fn beyond_the_kernel(&self) -> Option<&'static str> {
        match self.kind() {
            TargetKind::Nbd => Some("an NBD export"),
            TargetKind::Image => Some("a Ceph image"),
            TargetKind::Objects => Some("a Ceph pool"),
            _ => None,
        }
    }

    /// Every write is durable when it is acknowledged, whether a workload asks for it or not.
    /// `direct` writes bypass the page cache.
    pub(crate) fn writes_are_durable(&self, direct: bool) -> bool {
        match &self.opened {
            Opened::Ceph(ceph) => ceph.writes_are_durable(),
            Opened::Existing(existing) => {
                direct
                    && existing.place.kind == PlaceKind::BlockDevice
                    && existing.place.block_device().is_some_and(maps_an_image)
            }
            Opened::Null | Opened::Directory { .. } | Opened::Export(_) => false,
        }
    }

    /// The target as result documents record it.
    pub fn record(&self) -> TargetRecord {
        let record = TargetRecord::new(self.given(), self.kind());
        match &self.opened {
            Opened::Export(export) => record.with_export(export.record()),
            Opened::Ceph(ceph) => record.with_ceph(ceph.record().clone()),
            _ => record,
        }
    }

    /// The filesystem and drive under the target; `None` for `null:` and for what is on other
    /// hosts.
    pub fn place(&self) -> Option<&Place> {
        match &self.opened {
            Opened::Null | Opened::Export(_) | Opened::Ceph(_) => None,
            Opened::Directory { place, .. } => Some(place),
            Opened::Existing(existing) => Some(&existing.place),
        }
    }

    /// Remarks for the user about the opened target, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        match &self.opened {
            Opened::Directory { scratch, .. } if scratch.leftovers() > 0 => {
                vec![format!(
                    "removed leftover test files of earlier runs that a crash of the machine had \
                     interrupted: {} directories",
                    scratch.leftovers()
                )]
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Removes test files that are not in `specs` if both together would exceed the space that this
    /// run may use.
    pub(crate) fn make_room(&self, specs: &[PartSpec]) {
        if let Opened::Directory { scratch, budget_bytes, .. } = &self.opened {
            let needed: u64 = specs.iter().map(|spec| spec.size_bytes).sum();
            let kept: HashSet<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
            let others = scratch.files_except(|name| kept.contains(name));
            if others.iter().map(|(_, bytes)| bytes).sum::<u64>() + needed > *budget_bytes {
                others.iter().for_each(|(name, _)| scratch.remove(name));
            }
        }
    }

    /// The space for a test that is to run into a full filesystem, if the user has allowed that:
    /// more than there is.
    pub(crate) fn room_to_fill(&self) -> Option<Room> {
        let Opened::Directory { place, .. } = &self.opened else { return None };
        let total = place.space.map(|space| space.total_bytes).filter(|&bytes| bytes > 0);
        // More by the largest block, so the last write fails even where files need no other space.
        let beyond = u64::from(BlockBytes::MAX.get());
        total.filter(|_| self.may_fill).map(|total| Room::Free(total.saturating_add(beyond)))
    }

    /// Size of one of this run's files.
    pub(crate) fn file_bytes(&self, name: &str) -> Option<u64> {
        match &self.opened {
            Opened::Directory { scratch, .. } => {
                let mut found = scratch.files_except(|other| other != name);
                found.pop().map(|(_, bytes)| bytes)
            }
            Opened::Null | Opened::Existing(_) | Opened::Export(_) | Opened::Ceph(_) => None,
        }
    }

    fn written(&self) -> MutexGuard<'_, HashMap<String, Vec<Arc<Written>>>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The blocks that tests have written to this file, if a later one checks them.
    pub(crate) fn written_to(&self, name: &str) -> Vec<Arc<Written>> {
        self.written().get(name).cloned().unwrap_or_default()
    }

    /// Keeps what a job has written to this file.
    pub(crate) fn keep_written(&self, name: &str, written: Written) {
        self.written().entry(name.to_owned()).or_default().push(Arc::new(written));
    }

    /// Another test overwrites this file.
    pub(crate) fn forget_written(&self, name: &str) {
        self.written().remove(name);
    }

    /// The zones of a file, as earlier tests left them.
    pub(crate) fn zones_of(&self, name: &str) -> Option<Arc<Zones>> {
        self.zones.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Keeps the zones of a file for later tests.
    pub(crate) fn keep_zones(&self, name: &str, zones: Arc<Zones>) {
        let mut kept = self.zones.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(name.to_owned(), zones);
    }

    /// Removes one of this run's files.
    pub(crate) fn remove_file(&self, name: &str) {
        if let Opened::Directory { scratch, .. } = &self.opened {
            scratch.remove(name);
        }
    }

    /// The path for messages.
    pub(crate) fn path(&self) -> &Path {
        match &self.opened {
            Opened::Null | Opened::Export(_) | Opened::Ceph(_) => Path::new(self.given()),
            Opened::Directory { scratch, .. } => scratch.parent_path(),
            Opened::Existing(existing) => &existing.path,
        }
    }

    /// The devices whose counters are read.
    pub(crate) fn counting_devices(&self) -> Vec<DeviceNumber> {
        self.place()
            .and_then(Place::block_device)
            .map(drive::BlockDevice::flush_counting_devices)
            .unwrap_or_default()
    }

    /// The counters of what the drives write to their media.
    pub(crate) fn wear(&self) -> &WearMeter {
        &self.wear
    }

    /// The required alignment of offsets, lengths and addresses for direct I/O on `file`.
    pub(crate) fn alignment_bytes(&self, file: impl AsFd) -> u64 {
        let queue = || self.place()?.block_device()?.queue.logical_block_bytes;
        match DirectIo::of(file) {
            Some(DirectIo::Aligned { offset_bytes, .. }) => u64::from(offset_bytes),
            _ => queue().unwrap_or(SECTOR_BYTES),
        }
    }
}

/// The smallest logical block size supported by Linux.
const SECTOR_BYTES: u64 = 512;

/// A prefix `name:` that is neither part of a path nor a known kind of target.
fn unknown_scheme(given: &str) -> Option<&str> {
    let (scheme, _) = given.split_once(':')?;
    let is_word = !scheme.is_empty()
        && scheme.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    (is_word && !Path::new(given).exists()).then_some(scheme)
}

fn open_export(given: &str, intent: Intent) -> Result<ExportTarget, EngineError> {
    let target = ExportTarget::open(given)?;
    if intent.writes {
        if target.export().is_read_only() {
            return Err(EngineError::ReadOnlyExport { given: given.to_owned() });
        }
        if !intent.destroy_data {
            let (path, signatures) = (PathBuf::from(given), Vec::new());
            return Err(EngineError::WouldOverwrite { path, signatures });
        }
    }
    Ok(target)
}

fn open_directory(place: Place) -> Result<Opened, EngineError> {
    let scratch = Scratch::create(&place.path)?;
    // At most half of the free space, so other programs on this filesystem do not run out of space.
    // A filesystem that reports zero blocks has no limit (statfs(2) of ramfs, and of tmpfs with
    // size=0): it lives in memory, which can run out instead.
    let free_bytes = match place.space {
        Some(space) if space.total_bytes > 0 => Some(space.available_bytes),
        Some(_) => limits::available_bytes(),
        None => None,
    };
    let budget_bytes = free_bytes.map_or(u64::MAX, |free_bytes| free_bytes / 2);
    Ok(Opened::Directory { place, scratch, budget_bytes })
}

fn open_existing(root: &SystemRoot, place: Place, intent: Intent) -> Result<Existing, EngineError> {
    let path = place.path.clone();
    let is_device = place.kind == PlaceKind::BlockDevice;
    if intent.writes {
        // The kernel silently opens a read-only device for writing; only the writes fail, with
        // EPERM.
        if is_device && place.block_device().is_some_and(|device| device.read_only == Some(true)) {
            return Err(EngineError::ReadOnlyDevice { path });
        }
        let occupied: Vec<Occupied> = if is_device {
            drive::occupancy(root, place.device)?
        } else {
            drive::file_occupancy(root, &path)?
        };
        if !occupied.is_empty() {
            return Err(EngineError::Occupied { path, occupied });
        }
        if !intent.destroy_data {
            let signatures = drive::read_signatures(&path).unwrap_or_default();
            return Err(EngineError::WouldOverwrite { path, signatures });
        }
    }
    let access = match (intent.writes, is_device) {
        // O_EXCL on a block device without O_CREAT claims it: the kernel then refuses to mount it
        // (open(2)).
        (true, true) => OFlags::RDWR | OFlags::EXCL,
        (true, false) => OFlags::RDWR,
        (false, _) => OFlags::RDONLY,
    };
    let claim =
        rustix::fs::open(&path, access | OFlags::CLOEXEC, Mode::empty()).map_err(|errno| {
            match errno {
                Errno::BUSY => EngineError::Occupied {
                    path: path.clone(),
                    occupied: vec![Occupied::Claim { device: path.clone() }],
                },
                errno => EngineError::opening(&path, errno),
            }
        })?;
    if flock(&claim, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        return Err(EngineError::AnotherRun { path });
    }
    let size_bytes = rustix::fs::seek(&claim, rustix::fs::SeekFrom::End(0)).map_err(|errno| {
        EngineError::Call { action: "find the size of", path: path.clone(), errno }
    })?;
    Ok(Existing { place, path, size_bytes, writable: intent.writes, _claim: claim })
}

/// Returns whether the kernel's driver passes each request of a device to a Ceph cluster. The driver
/// has no cache: what it acknowledges is on all replicas.
fn maps_an_image(device: &BlockDevice) -> bool {
    device.transport == Transport::Rbd && device.queue.write_cache != Some(WriteCache::WriteBack)
}

/// The sum of the counters of the devices under a target; `None` if no device has counters.
pub(crate) fn read_counters(root: &SystemRoot, devices: &[DeviceNumber]) -> Option<Counters> {
    let mut sum: Option<Counters> = None;
    for &device in devices {
        let counters = Counters::read(root, device).ok()?;
        sum = Some(sum.map_or(counters, |sum| sum.plus(&counters)));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(given: &str, writes: bool, destroy_data: bool) -> Result<Target, EngineError> {
        Target::open(&SystemRoot::default(), given, Intent { writes, destroy_data })
    }

    #[test]
    fn kinds_that_do_not_exist_yet_are_named() {
        let error = open("emu:samsung-980-1tb", true, false).unwrap_err();
        assert!(matches!(error, EngineError::UnknownScheme { ref scheme, .. } if scheme == "emu"));
        assert_eq!(error.blame(), blame::Blame::Usage);
    }

    #[test]
    fn a_mapped_image_has_no_cache() {
        let machine = captures::built::ceph_client();
        let read = |machine: &captures::Machine, number: &str| {
            let number: DeviceNumber = number.parse().unwrap();
            BlockDevice::read(&SystemRoot::new(machine.path()), number).unwrap()
        };
        assert!(maps_an_image(&read(&machine, "252:0")));
        machine.set("sys/devices/rbd/0/block/rbd0/queue/write_cache", "write back");
        assert!(!maps_an_image(&read(&machine, "252:0")), "a driver that has one");
        assert!(!maps_an_image(&read(&captures::built::cloud_vm(), "254:0")));
    }

    #[test]
    fn no_such_path_is_wrong_use() {
        let error = open("/nowhere/at/all", true, false).unwrap_err();
        assert_eq!(error.blame(), blame::Blame::Usage);
    }

    #[test]
    fn a_file_is_destroyed_only_when_asked() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![1u8; 8192]).unwrap();
        let given = file.path().to_str().unwrap();
        let error = open(given, true, false).unwrap_err();
        assert!(matches!(error, EngineError::WouldOverwrite { .. }));
        assert_eq!(error.blame(), blame::Blame::Safety);
        assert_eq!(open(given, true, true).unwrap().kind(), TargetKind::File);
        assert_eq!(open(given, false, false).unwrap().kind(), TargetKind::File);
    }

    #[test]
    fn a_file_with_a_filesystem_in_it_is_named_in_the_refusal() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut image = vec![0u8; 1 << 20];
        image[..4].copy_from_slice(b"XFSB");
        image[4..8].copy_from_slice(&4096u32.to_be_bytes());
        std::fs::write(file.path(), image).unwrap();
        let error = open(file.path().to_str().unwrap(), true, false).unwrap_err();
        assert!(error.to_string().contains("XFS"), "{error}");
    }

    #[test]
    fn two_runs_on_one_file_are_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let given = file.path().to_str().unwrap();
        let _first = open(given, true, true).unwrap();
        assert!(matches!(open(given, true, true), Err(EngineError::AnotherRun { .. })));
    }

    #[test]
    fn null_is_nothing() {
        let target = open("null:", true, false).unwrap();
        assert_eq!((target.kind(), target.place()), (TargetKind::Null, None));
    }
}
