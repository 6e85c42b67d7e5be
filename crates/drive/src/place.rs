//! Everything about one path that the user gave as a target, and the storage below it.

use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, StatxFlags};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mount::FileServer;
use crate::{BlockDevice, DeviceNumber, DriveError, Mount, MountTable, SystemRoot};

/// A path that a workload may write to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// Absolute path, links followed.
    #[serde(with = "crate::lossy_path")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    pub kind: PlaceKind,
    /// The raw block device itself, or the device of the filesystem that contains the path; the
    /// latter may be anonymous.
    pub device: DeviceNumber,
    /// The mount that contains a directory or file; `None` for a raw block device.
    pub mount: Option<Mount>,
    /// The block device below, or why there is none.
    pub backing: Backing,
    /// Free space on the filesystem; `None` for a raw block device.
    pub space: Option<Space>,
    /// Alignment of direct I/O, if the kernel reports it (Linux 6.1, for files and devices; not for
    /// directories).
    pub direct_io: Option<DirectIo>,
    /// Size of the file or device; `None` for a directory.
    pub size_bytes: Option<u64>,
}

/// The kinds of path that a workload can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceKind {
    /// A test file is created in it.
    Directory,
    /// Its content is overwritten.
    RegularFile,
    /// Its content is overwritten.
    BlockDevice,
}

/// The storage below a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backing {
    /// A block device, with all its layers.
    BlockDevice(Box<BlockDevice>),
    NoBlockDevice(NoBlockDevice),
}

/// Why no block device was found below a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "because")]
pub enum NoBlockDevice {
    /// tmpfs, ramfs: nothing here is ever durable.
    Memory { fs_type: String },
    /// An overlay of directories, such as the root of a container.
    Overlay {
        /// The directory that takes the writes, with its path on the host.
        #[serde(with = "crate::lossy_path::option")]
        #[schemars(with = "Option<String>")]
        upper: Option<PathBuf>,
    },
    /// NFS, SMB, CephFS...: the drive is on another machine.
    Network { fs_type: String },
    /// 9p, virtiofs, FUSE...: another program serves the files, and where it stores them is
    /// unknown.
    Served { fs_type: String },
    /// ZFS pools devices, and lists them in no file of procfs or sysfs.
    Pool {
        /// Name of the dataset.
        source: String,
    },
    /// sysfs does not list the filesystem's device number (a container without the host's sysfs).
    NotInSysfs {
        /// Major and minor number.
        device: DeviceNumber,
    },
    /// None of the above.
    Unresolved {
        fs_type: String,
        /// The mounted source: a device, a share or a word.
        source: String,
    },
}

impl fmt::Display for NoBlockDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { fs_type } => write!(f, "{fs_type} keeps files in memory"),
            Self::Overlay { upper: Some(upper) } => {
                write!(f, "overlay writes to {} on the host", upper.display())
            }
            Self::Overlay { upper: None } => {
                write!(f, "overlay without an upper directory is read-only")
            }
            Self::Network { fs_type } => write!(f, "{fs_type} stores files on another machine"),
            Self::Served { fs_type } => {
                write!(f, "{fs_type} stores files through another program or the hypervisor")
            }
            Self::Pool { source } => {
                write!(f, "zfs does not report the devices of the pool of {source}")
            }
            Self::NotInSysfs { device } => {
                write!(f, "sysfs does not list the block device {device}")
            }
            Self::Unresolved { fs_type, source } => {
                write!(f, "{fs_type} mounted from `{source}` does not report its block device")
            }
        }
    }
}

/// Space on a filesystem, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Space {
    /// The filesystem's size.
    pub total_bytes: u64,
    /// Free space, including root's reserve.
    pub free_bytes: u64,
    /// Free space for this user, without root's reserve.
    pub available_bytes: u64,
}

/// Requirements of `O_DIRECT` on one file or device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirectIo {
    /// Supported, with this alignment.
    Aligned {
        /// Alignment of buffers in memory.
        memory_bytes: u32,
        /// Alignment of offsets and lengths.
        offset_bytes: u32,
    },
    /// Not supported here.
    Unsupported,
}

impl DirectIo {
    /// Asks the kernel about an open file (`statx` with `STATX_DIOALIGN`); `None` if it does not
    /// say.
    pub fn of(file: impl AsFd) -> Option<Self> {
        let found = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
        Self::of_statx(&found)
    }

    fn of_path(path: &Path) -> Option<Self> {
        let found =
            rustix::fs::statx(rustix::fs::CWD, path, AtFlags::empty(), StatxFlags::DIOALIGN)
                .ok()?;
        Self::of_statx(&found)
    }

    fn of_statx(found: &rustix::fs::Statx) -> Option<Self> {
        if found.stx_mask & StatxFlags::DIOALIGN.bits() == 0 {
            return None;
        }
        // statx(2): both are zero when direct I/O is not supported on this file.
        Some(match (found.stx_dio_mem_align, found.stx_dio_offset_align) {
            (0, _) | (_, 0) => DirectIo::Unsupported,
            (memory_bytes, offset_bytes) => DirectIo::Aligned { memory_bytes, offset_bytes },
        })
    }
}

/// The sizes of atomic writes (`RWF_ATOMIC`) to one file or device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtomicWrites {
    /// The smallest size.
    pub bytes_min: u32,
    /// The largest size.
    pub bytes_max: u32,
}

impl AtomicWrites {
    /// Asks the kernel about an open file (`statx` with `STATX_WRITE_ATOMIC`, Linux 6.11); `None`
    /// if there are none.
    pub fn of(file: impl AsFd) -> Option<Self> {
        // Not in rustix 1.1: `include/uapi/linux/stat.h`.
        let asked = StatxFlags::from_bits_retain(0x0001_0000);
        let found = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, asked).ok()?;
        let (bytes_min, bytes_max) =
            (found.stx_atomic_write_unit_min, found.stx_atomic_write_unit_max);
        let supported = found.stx_mask & asked.bits() != 0 && bytes_max > 0;
        supported.then_some(AtomicWrites { bytes_min, bytes_max })
    }

    /// Returns `true` if a block of this size, aligned to it, can be written atomically.
    pub fn allow(&self, bytes: u32) -> bool {
        bytes.is_power_of_two() && (self.bytes_min..=self.bytes_max).contains(&bytes)
    }
}

impl Place {
    /// Collects everything about `path`: the path on this machine, the rest below `root`.
    ///
    /// # Errors
    ///
    /// [`DriveError::NoSuchPath`], [`DriveError::Inaccessible`] or [`DriveError::WrongKind`] for
    /// the path itself; [`DriveError::Table`], [`DriveError::MalformedMount`] or
    /// [`DriveError::NoMount`] for the mount that contains it; [`DriveError::NoSuchDevice`] for a
    /// raw block device that sysfs does not list.
    pub fn of(root: &SystemRoot, path: &Path) -> Result<Self, DriveError> {
        let refused = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => DriveError::NoSuchPath { path: path.to_owned() },
            _ => DriveError::Inaccessible { path: path.to_owned(), source },
        };
        let canonical = crate::resolve(path).map_err(refused)?;
        let metadata = fs::metadata(&canonical).map_err(refused)?;
        let kind = kind_of(&metadata)
            .map_err(|kind| DriveError::WrongKind { path: canonical.clone(), kind })?;
        let (device, space) = match kind {
            PlaceKind::BlockDevice => (metadata.rdev(), None),
            _ => (metadata.dev(), Some(Space::of(&canonical).map_err(refused)?)),
        };
        let found = Found {
            kind,
            device: DeviceNumber::from_dev(device),
            space,
            direct_io: DirectIo::of_path(&canonical),
            size_bytes: (kind == PlaceKind::RegularFile).then_some(metadata.len()),
            path: canonical,
        };
        found.explain(root)
    }

    /// The block device below, if there is one.
    pub fn block_device(&self) -> Option<&BlockDevice> {
        match &self.backing {
            Backing::BlockDevice(device) => Some(device),
            Backing::NoBlockDevice(_) => None,
        }
    }

    /// The reason, if no block device was found below.
    pub fn no_block_device(&self) -> Option<&NoBlockDevice> {
        match &self.backing {
            Backing::BlockDevice(_) => None,
            Backing::NoBlockDevice(reason) => Some(reason),
        }
    }

    /// Type of the filesystem that contains the path; `None` for a raw block device.
    pub fn fs_type(&self) -> Option<&str> {
        self.mount.as_ref().map(|mount| mount.fs_type.as_str())
    }
}

/// The results of system calls on a path. Separate from the tables, so another machine's tables can
/// be applied to it.
struct Found {
    path: PathBuf,
    kind: PlaceKind,
    device: DeviceNumber,
    space: Option<Space>,
    direct_io: Option<DirectIo>,
    size_bytes: Option<u64>,
}

impl Found {
    fn explain(self, root: &SystemRoot) -> Result<Place, DriveError> {
        let (mount, backing) = if self.kind == PlaceKind::BlockDevice {
            (None, Backing::BlockDevice(Box::new(BlockDevice::read(root, self.device)?)))
        } else {
            let table = MountTable::read(root)?;
            let mount = table.holding(&self.path, Some(self.device));
            let mut mount =
                mount.cloned().ok_or(DriveError::NoMount { path: self.path.clone() })?;
            let backing = backing_of(root, &mount, self.device);
            if let Backing::BlockDevice(device) = &backing {
                mount.effective_options = effective_options(root, &mount, &device.name);
            }
            (Some(mount), backing)
        };
        let device_bytes = match &backing {
            Backing::BlockDevice(device) if self.kind == PlaceKind::BlockDevice => {
                device.size_bytes
            }
            _ => None,
        };
        Ok(Place {
            path: self.path,
            kind: self.kind,
            device: self.device,
            mount,
            backing,
            space: self.space,
            direct_io: self.direct_io,
            size_bytes: self.size_bytes.or(device_bytes),
        })
    }
}

impl Space {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let found = rustix::fs::statvfs(path)?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Ok(Space {
            total_bytes: bytes(found.f_blocks),
            free_bytes: bytes(found.f_bfree),
            available_bytes: bytes(found.f_bavail),
        })
    }
}

fn kind_of(metadata: &Metadata) -> Result<PlaceKind, &'static str> {
    let kind = metadata.file_type();
    if kind.is_dir() {
        Ok(PlaceKind::Directory)
    } else if kind.is_file() {
        Ok(PlaceKind::RegularFile)
    } else if kind.is_block_device() {
        Ok(PlaceKind::BlockDevice)
    } else if kind.is_char_device() {
        Err("character device")
    } else if kind.is_fifo() {
        Err("named pipe")
    } else if kind.is_socket() {
        Err("socket")
    } else {
        Err("special file")
    }
}

fn backing_of(root: &SystemRoot, mount: &Mount, device: DeviceNumber) -> Backing {
    let number = if device.is_anonymous() {
        // Btrfs (and bcachefs) have an anonymous number and name one of their devices as the
        // source.
        let by_source = root.device_at(&mount.source);
        match by_source {
            Some(number) => number,
            None => return Backing::NoBlockDevice(reason(mount)),
        }
    } else {
        device
    };
    match BlockDevice::read(root, number) {
        Ok(found) => Backing::BlockDevice(Box::new(found)),
        Err(_) => Backing::NoBlockDevice(NoBlockDevice::NotInSysfs { device: number }),
    }
}

fn reason(mount: &Mount) -> NoBlockDevice {
    let fs_type = mount.fs_type.clone();
    let source = || mount.source.to_string_lossy().into_owned();
    match mount.file_server() {
        Some(FileServer::AnotherMachine) => return NoBlockDevice::Network { fs_type },
        Some(FileServer::AnotherProgram) => return NoBlockDevice::Served { fs_type },
        None => {}
    }
    match fs_type.as_str() {
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" | "rootfs" => {
            NoBlockDevice::Memory { fs_type }
        }
        "overlay" => {
            let upper =
                mount.super_options.iter().find_map(|option| option.strip_prefix("upperdir="));
            NoBlockDevice::Overlay { upper: upper.map(PathBuf::from) }
        }
        "zfs" => NoBlockDevice::Pool { source: source() },
        _ => NoBlockDevice::Unresolved { source: source(), fs_type },
    }
}

/// ext4 lists all options in force, one per line, under the kernel's name of its device.
pub(crate) fn effective_options(
    root: &SystemRoot,
    mount: &Mount,
    device_name: &str,
) -> Option<Vec<String>> {
    // ext4 serves ext3 as well, and lists both in its directory.
    if !matches!(mount.fs_type.as_str(), "ext3" | "ext4") {
        return None;
    }
    let text = root
        .attributes("proc/fs/ext4")
        .text(format!("{}/options", device_name.replace('/', "!")))?;
    Some(text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use crate::{JournalMode, Transport, WriteCache};
    use captures::{Machine, built};

    use super::*;

    fn directory(machine: &Machine, path: &str, device: &str) -> Place {
        explain(machine, path, device, PlaceKind::Directory).unwrap()
    }

    fn explain(
        machine: &Machine,
        path: &str,
        device: &str,
        kind: PlaceKind,
    ) -> Result<Place, DriveError> {
        let device = device.parse().unwrap();
        Found { path: path.into(), kind, device, space: None, direct_io: None, size_bytes: None }
            .explain(&SystemRoot::new(machine.path()))
    }

    fn why(place: &Place) -> String {
        place.no_block_device().map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn a_laptops_home_is_on_ext4_on_a_partition_of_an_nvme_drive() {
        let place = directory(&built::laptop(), "/home/me", "259:2");
        assert_eq!(place.fs_type(), Some("ext4"));
        assert_eq!(place.mount.as_ref().and_then(Mount::journal_mode), Some(JournalMode::Ordered));
        let device = place.block_device().unwrap();
        assert_eq!((device.name.as_str(), device.transport), ("nvme0n1p2", Transport::Nvme));
        assert_eq!(
            (device.queue.write_cache, device.queue.fua),
            (Some(WriteCache::WriteBack), Some(true))
        );
    }

    #[test]
    fn a_servers_volume_is_on_xfs_over_four_layers() {
        let place = directory(&built::raid_server(), "/srv/data/pg", "253:1");
        let mount = place.mount.as_ref().unwrap();
        assert_eq!((mount.fs_type.as_str(), mount.journal_mode()), ("xfs", None));
        assert_eq!(mount.options_that_matter(), ["noatime", "logbufs=8", "logbsize=32k"]);
        assert_eq!(place.block_device().unwrap().drives().len(), 2);
    }

    #[test]
    fn memory_has_no_device() {
        let place = directory(&built::laptop(), "/tmp/x", "0:35");
        insta::assert_snapshot!(why(&place), @"tmpfs keeps files in memory");
        assert!(place.block_device().is_none());
    }

    #[test]
    fn a_container_has_an_overlay_and_a_volume() {
        let machine = built::container();
        insta::assert_snapshot!(why(&directory(&machine, "/var/lib", "0:60")), @"overlay writes to /var/lib/docker/overlay2/c0/diff on the host");
        let volume = directory(&machine, "/data", "254:0");
        assert_eq!(volume.block_device().unwrap().name, "vda");
        assert_eq!(volume.mount.unwrap().root, Path::new("/srv/volumes/pg"));
        assert_eq!(why(&directory(&machine, "/dev/shm", "0:63")), "tmpfs keeps files in memory");
    }

    #[test]
    fn btrfs_is_resolved_by_its_source() {
        let machine = built::laptop();
        machine.mounts("28 1 0:31 /@home /home rw - btrfs /dev/nvme0n1p2 rw,ssd,subvol=/@home\n");
        let place = directory(&machine, "/home/me", "0:47");
        assert_eq!(place.block_device().unwrap().name, "nvme0n1p2");
        machine.mounts("28 1 0:31 /@home /home rw - btrfs /dev/mapper/luks-1 rw\n");
        insta::assert_snapshot!(why(&directory(&machine, "/home/me", "0:47")), @"btrfs mounted from `/dev/mapper/luks-1` does not report its block device");
        machine.disk("virtual/block/dm-0", "253:0", &[("dm/name", "luks-1")]);
        assert_eq!(directory(&machine, "/home/me", "0:47").block_device().unwrap().name, "dm-0");
    }

    #[test]
    fn every_other_reason_has_words() {
        let machine = Machine::new();
        let mut lines = Vec::new();
        for (fs_type, source) in [
            ("nfs4", "nas:/export"),
            ("9p", "share"),
            ("fuse.mergerfs", "a:b"),
            ("zfs", "tank/db"),
            ("newfs", "x"),
        ] {
            machine.mounts(&format!("28 1 0:31 / / rw - {fs_type} {source} rw\n"));
            lines.push(why(&directory(&machine, "/srv", "0:31")));
        }
        machine.mounts("28 1 0:31 / / ro - overlay overlay ro,lowerdir=/l\n");
        lines.push(why(&directory(&machine, "/srv", "0:31")));
        machine.mounts("28 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
        lines.push(why(&directory(&machine, "/srv", "8:1")));
        insta::assert_snapshot!(lines.join("\n"), @"
        nfs4 stores files on another machine
        9p stores files through another program or the hypervisor
        fuse.mergerfs stores files through another program or the hypervisor
        zfs does not report the devices of the pool of tank/db
        newfs mounted from `x` does not report its block device
        overlay without an upper directory is read-only
        sysfs does not list the block device 8:1
        ");
    }

    #[test]
    fn a_raw_device_has_no_mount() {
        let place =
            explain(&built::laptop(), "/dev/nvme0n1p3", "259:3", PlaceKind::BlockDevice).unwrap();
        assert_eq!((place.mount.as_ref(), place.size_bytes), (None, Some(46883840 * 512)));
        let absent = explain(&built::laptop(), "/dev/sda", "8:0", PlaceKind::BlockDevice);
        assert!(matches!(absent, Err(DriveError::NoSuchDevice { .. })));
    }

    #[test]
    fn paths_that_no_workload_can_use_are_refused() {
        let root = SystemRoot::default();
        let of = |path: &str| Place::of(&root, path.as_ref()).unwrap_err();
        insta::assert_snapshot!(of("/no/such/path"), @"/no/such/path does not exist: name an existing directory, regular file or block device");
        insta::assert_snapshot!(of("/dev/null"), @"/dev/null is a character device: name a directory, a regular file or a block device");
        insta::assert_snapshot!(of("/proc/self/mountinfo/x"), @"cannot access /proc/self/mountinfo/x: Not a directory (os error 20)");
        let machine = Machine::new();
        machine.mounts("40 28 0:21 / /proc rw - proc proc rw\n");
        let outside = explain(&machine, "/home", "8:1", PlaceKind::Directory).unwrap_err();
        insta::assert_snapshot!(outside, @"no mount in /proc/self/mountinfo contains /home: run outside the chroot, or mount the directory into it");
    }

    #[test]
    fn this_machines_directories_are_explained() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, [7; 5000]).unwrap();
        let root = SystemRoot::default();
        let of_directory = Place::of(&root, directory.path()).unwrap();
        let of_file = Place::of(&root, &file).unwrap();
        assert_eq!((of_directory.kind, of_directory.size_bytes), (PlaceKind::Directory, None));
        assert_eq!((of_file.kind, of_file.size_bytes), (PlaceKind::RegularFile, Some(5000)));
        assert_eq!(of_file.mount, of_directory.mount);
        let space = of_file.space.unwrap();
        assert!(space.total_bytes >= space.free_bytes && space.free_bytes >= space.available_bytes);
        assert_eq!(DirectIo::of(fs::File::open(&file).unwrap()), of_file.direct_io);
    }

    #[test]
    fn a_place_survives_json_and_has_a_schema() {
        for place in [
            directory(&built::raid_server(), "/srv/data", "253:1"),
            directory(&built::container(), "/", "0:60"),
        ] {
            let json = serde_json::to_string(&place).unwrap();
            assert_eq!(serde_json::from_str::<Place>(&json).unwrap(), place);
        }
        let schema = schemars::schema_for!(Place);
        assert!(schema.as_value()["properties"]["backing"].is_object());
    }
}
