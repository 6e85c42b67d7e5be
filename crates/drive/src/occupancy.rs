//! Finds the users of a raw block device.
//!
//! A device is in use when it is mounted, used for swap or part of another device; when one of its
//! partitions is; when anything stacked on those is; or, for a partition, when the whole disk is. A
//! loop device is also in use when what it presents is. Two partitions of a disk, or two loop devices
//! on one file, concern each other only where their bytes overlap.
//! The kernel's tables name the user. They show only this process's mount namespace, and omit ZFS
//! and some devices of multi-device filesystems. So the kernel itself has the last word: opening a
//! block device with `O_EXCL` fails with `EBUSY` while it is claimed (open(2)).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::{SECTOR_BYTES, device_path, disk_place, sysfs_place};
use crate::file_identity::NamedFile;
use crate::loop_devices::{self, LoopDevice};
use crate::mount::unescape;
use crate::system_root::Attributes;
use crate::{DeviceNumber, DriveError, MountTable, SystemRoot};

/// One reason not to overwrite a device, or a file (see [`file_occupancy`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "by")]
#[non_exhaustive]
pub enum Occupied {
    #[error("{} is mounted on {}", .device.display(), .mount_point.display())]
    Mount {
        /// The requested device, a partition of it, or a device stacked on it.
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        device: PathBuf,
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        mount_point: PathBuf,
    },
    #[error("{} belongs to the Btrfs filesystem {uuid}, which is mounted", .device.display())]
    Btrfs {
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        device: PathBuf,
        uuid: String,
    },
    #[error("{} is in use as swap", .device.display())]
    Swap {
        /// The device or file.
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        device: PathBuf,
    },
    /// Another block device is built on it: RAID, LVM, dm-crypt, bcache...
    #[error("{} is held by {}", .device.display(), .holder.display())]
    Holder {
        /// The device below.
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        device: PathBuf,
        /// The device built on it.
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        holder: PathBuf,
    },
    #[error("{} is attached to {}", .device.display(), .loop_device.display())]
    Loop {
        /// The device or file.
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        device: PathBuf,
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        loop_device: PathBuf,
    },
    /// A loop device is attached to a path that leads to the file here. It may present another
    /// file, because the path may lead elsewhere in the mount namespace where the device was
    /// attached; the kernel could not be asked.
    #[error("{} is attached to {}, which leads to this file here", .loop_device.display(), .backing_file.display())]
    LoopByName {
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        file: PathBuf,
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        loop_device: PathBuf,
        /// The path that the loop device was attached to.
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        backing_file: PathBuf,
    },
    /// A loop device may present this file: the path of its file leads nowhere here, and the kernel
    /// could not be asked.
    #[error(
        "{} may be attached to {}, which only root can rule out, because {} does not exist here",
        .file.display(), .loop_device.display(), .backing_file.display()
    )]
    LoopUnknown {
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        file: PathBuf,
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        loop_device: PathBuf,
        /// The path that the loop device was attached to.
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        backing_file: PathBuf,
    },
    #[error("{} shows the same file as {}", .other.display(), .loop_device.display())]
    SharedFile {
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        loop_device: PathBuf,
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        other: PathBuf,
    },
    /// A user that no table names has claimed it: ZFS, Ceph, another mount namespace, another
    /// program.
    #[error("{} is claimed for exclusive use by another program or filesystem", .device.display())]
    Claim {
        #[serde(with = "crate::lossy_path")]
        #[schemars(with = "String")]
        device: PathBuf,
    },
}

/// All reasons not to overwrite the block device; empty if there are none.
///
/// The answer may be outdated as soon as it returns: to write, keep the device open with `O_EXCL`
/// meanwhile.
///
/// # Errors
///
/// [`DriveError::NoSuchDevice`] when sysfs does not list the device, [`DriveError::Table`] or
/// [`DriveError::MalformedMount`] when a table cannot be read: a device whose users are unknown is
/// not free.
pub fn occupancy(root: &SystemRoot, device: DeviceNumber) -> Result<Vec<Occupied>, DriveError> {
    let place = sysfs_place(root, device).ok_or(DriveError::NoSuchDevice { device })?;
    let mounts = MountTable::read(root)?;
    let swaps = swap_paths(root)?;
    let loops = loop_devices::attached(root);

    let mut family = Family { root, loops: &loops, members: BTreeMap::new(), found: Vec::new() };
    family.add(&place, EVERYTHING);
    let Family { members, mut found, .. } = family;

    for mount in mounts.mounts() {
        let by_source = root.device_at(&mount.source);
        for (number, Member { path, .. }) in &members {
            if mount.device == *number || by_source == Some(*number) {
                found.push(Occupied::Mount {
                    device: path.clone(),
                    mount_point: mount.mount_point.clone(),
                });
            }
        }
    }
    for swap in swaps.iter().filter_map(|path| root.device_at(path)) {
        if let Some(Member { path, .. }) = members.get(&swap) {
            found.push(Occupied::Swap { device: path.clone() });
        }
    }
    if found.is_empty() {
        // A disk is claimed when one of its partitions is, which may not be concerned here.
        let concerns = |member: &&Member| {
            let mut partitions = partitions(&member.place);
            partitions.all(|place| members.values().any(|other| other.place == place))
        };
        // One claim is enough: asking again would only find it through another device.
        let own = members.get(&device);
        let others = members.iter().filter(|(number, _)| **number != device);
        let claim = own.into_iter().chain(others.map(|(_, member)| member)).filter(concerns).find(
            |member| {
                let name = member.place.file_name().unwrap_or_default();
                claimed(&root.path(Path::new("/dev").join(name)))
            },
        );
        found.extend(claim.map(|member| Occupied::Claim { device: member.path.clone() }));
    }
    Ok(found)
}

/// Reasons not to overwrite a regular file, given its canonical path: it is a swap file, a loop
/// device presents it as a drive, or a filesystem is mounted directly from it. The file is
/// compared, not its name, so the user of the file may know it by any name.
///
/// A loop device that this user may not open is recognised only by the path of its file. If that
/// path leads nowhere here, every file that may be meant is in use: one of the same size, or with a
/// second name.
///
/// # Errors
///
/// [`DriveError::Table`] or [`DriveError::MalformedMount`] when a table cannot be read.
pub fn file_occupancy(root: &SystemRoot, path: &Path) -> Result<Vec<Occupied>, DriveError> {
    let mounts = MountTable::read(root)?;
    let swaps = swap_paths(root)?;
    let file = NamedFile::new(root, &mounts, path);
    let own = || path.to_owned();
    let mut found: Vec<Occupied> = Vec::new();
    let mut unknown: Vec<Occupied> = Vec::new();
    for device in loop_devices::attached(root) {
        let loop_device = device.path();
        match (device.status, file.identity()) {
            (Some(status), Some(identity)) if status.file == identity => {
                found.push(Occupied::Loop { device: own(), loop_device });
            }
            (Some(_), Some(_)) => {}
            _ if file.is_named(&device.backing_path) => {
                let backing_file = device.backing_path;
                found.push(Occupied::LoopByName { file: own(), loop_device, backing_file });
            }
            (None, Some(_)) if may_show(&device, &file) => {
                let backing_file = device.backing_path;
                unknown.push(Occupied::LoopUnknown { file: own(), loop_device, backing_file });
            }
            _ => {}
        }
    }
    // EROFS and FUSE filesystems mount a file without a loop device.
    let from_files = mounts.mounts().iter().filter(|mount| mount.device.is_anonymous());
    for mount in
        from_files.filter(|mount| mount.source.is_absolute() && file.is_named(&mount.source))
    {
        found.push(Occupied::Mount { device: own(), mount_point: mount.mount_point.clone() });
    }
    if swaps.iter().any(|swap| file.is_named(swap))
        || (!swaps.is_empty() && is_swapped_on(&file.real_path()))
    {
        found.push(Occupied::Swap { device: own() });
    }
    Ok(if found.is_empty() { unknown } else { found })
}

/// Returns whether a loop device that cannot be queried may present this file.
fn may_show(device: &LoopDevice, file: &NamedFile<'_>) -> bool {
    fs::metadata(file.real_path()).is_ok_and(|found| found.nlink() > 1 || device.fits(found.len()))
        && file.may_have_been(&device.backing_path)
}

/// All bytes of a device.
const EVERYTHING: Range<u64> = 0..u64::MAX;

/// A device whose content a write to the requested one changes.
struct Member {
    path: PathBuf,
    place: PathBuf,
    /// The bytes that may change.
    bytes: Range<u64>,
}

/// The devices whose use counts as use of the requested one.
struct Family<'a> {
    root: &'a SystemRoot,
    loops: &'a [LoopDevice],
    members: BTreeMap<DeviceNumber, Member>,
    found: Vec<Occupied>,
}

impl Family<'_> {
    /// Adds a part of a device, and everything that has one of these bytes too: partitions, the
    /// disk of a partition, devices built on it, and for loop devices what they present.
    fn add(&mut self, place: &Path, bytes: Range<u64>) {
        let own = Attributes { directory: place.to_owned() };
        let Some(number) = own.parsed("dev") else { return };
        let path = device_path(place);
        let is_new = !self.members.contains_key(&number);
        let member = self.members.entry(number).or_insert_with(|| Member {
            path: path.clone(),
            place: place.to_owned(),
            bytes: bytes.clone(),
        });
        let bytes = hull(&member.bytes, &bytes);
        if !is_new && bytes == member.bytes {
            return;
        }
        member.bytes = bytes.clone();
        if is_new {
            self.add_holders(place, &path);
            self.find_btrfs(place, &path);
        }
        let disk = disk_place(place);
        if disk != place {
            // Without its position, a neighbour of the partition looks like something that overlaps it.
            let on_disk = partition_bytes(place).map_or(0..0, |part| within(&bytes, &part));
            self.add(disk, on_disk);
        }
        for partition in partitions(place) {
            let part = partition_bytes(&partition).unwrap_or(EVERYTHING);
            if let Some(bytes) = of_part(&bytes, &part) {
                self.add(&partition, bytes);
            }
        }
        self.add_loops(place, &path, number, &bytes);
    }

    /// Adds the devices that the kernel has built on this one.
    fn add_holders(&mut self, place: &Path, path: &Path) {
        for holder in (Attributes { directory: place.to_owned() }).entries("holders") {
            if let Ok(holder) = fs::canonicalize(place.join("holders").join(&holder)) {
                let holder_path = device_path(&holder);
                self.found.push(Occupied::Holder { device: path.to_owned(), holder: holder_path });
                // Only its driver knows which of its bytes are here.
                self.add(&holder, EVERYTHING);
            } else {
                self.found.push(Occupied::Holder {
                    device: path.to_owned(),
                    holder: Path::new("/dev").join(holder),
                });
            }
        }
    }

    /// Adds the loop devices on a device. For a loop device, adds the device below and the other
    /// loop devices on the same part of its file.
    fn add_loops(&mut self, place: &Path, path: &Path, number: DeviceNumber, bytes: &Range<u64>) {
        let loops = self.loops;
        for device in loops.iter().filter(|device| device.block_device(self.root) == Some(number)) {
            if let Some(bytes) = of_part(bytes, &device.part) {
                let loop_device = device.path();
                if !self.holds(&loop_device) {
                    self.found.push(Occupied::Loop { device: path.to_owned(), loop_device });
                }
                self.add_loop(device, bytes);
            }
        }
        let Some(own) = loops.iter().find(|device| place.ends_with(&device.name)) else { return };
        let below = within(bytes, &own.part);
        if let Some(device) = own.block_device(self.root) {
            if let Some(place) = sysfs_place(self.root, device) {
                self.add(&place, below);
            }
            return;
        }
        for other in loops.iter().filter(|other| other.shares_file_with(own)) {
            if let Some(bytes) = of_part(&below, &other.part).filter(|_| other.name != own.name) {
                let (loop_device, other_path) = (path.to_owned(), other.path());
                if !self.holds(&other_path) {
                    self.found.push(Occupied::SharedFile { loop_device, other: other_path });
                }
                self.add_loop(other, bytes);
            }
        }
    }

    fn add_loop(&mut self, device: &LoopDevice, bytes: Range<u64>) {
        let link = self.root.path("sys/class/block").join(&device.name);
        if let Ok(place) = fs::canonicalize(link) {
            self.add(&place, bytes);
        }
    }

    fn holds(&self, path: &Path) -> bool {
        self.members.values().any(|member| member.path == path)
    }

    /// A mounted Btrfs lists each of its devices; the mount table lists only one.
    fn find_btrfs(&mut self, place: &Path, path: &Path) {
        let Some(name) = place.file_name() else { return };
        let filesystems = self.root.attributes("sys/fs/btrfs");
        for uuid in filesystems.entries("") {
            if filesystems.exists(Path::new(&uuid).join("devices").join(name)) {
                self.found.push(Occupied::Btrfs { device: path.to_owned(), uuid });
            }
        }
    }
}

fn partitions(place: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let place = place.to_owned();
    let names = Attributes { directory: place.clone() }.entries("");
    names.into_iter().map(move |name| place.join(name)).filter(|dir| dir.join("partition").exists())
}

/// The bytes of the disk that a partition presents.
fn partition_bytes(place: &Path) -> Option<Range<u64>> {
    let own = Attributes { directory: place.to_owned() };
    let [start, size] = ["start", "size"].map(|file| own.parsed::<u64>(file));
    let start = start?.saturating_mul(SECTOR_BYTES);
    Some(start..start.saturating_add(size?.saturating_mul(SECTOR_BYTES)))
}

/// Converts bytes of a part to bytes of the whole.
fn within(bytes: &Range<u64>, part: &Range<u64>) -> Range<u64> {
    let at = |byte: u64| part.start.saturating_add(byte).min(part.end);
    at(bytes.start)..at(bytes.end)
}

/// Converts bytes of the whole to bytes of a part; `None` if it has none of them.
fn of_part(bytes: &Range<u64>, part: &Range<u64>) -> Option<Range<u64>> {
    let (start, end) = (bytes.start.max(part.start), bytes.end.min(part.end));
    (start < end).then(|| start - part.start..end - part.start)
}

/// The smallest range that contains both.
fn hull(one: &Range<u64>, other: &Range<u64>) -> Range<u64> {
    match (one.is_empty(), other.is_empty()) {
        (true, _) => other.clone(),
        (_, true) => one.clone(),
        _ => one.start.min(other.start)..one.end.max(other.end),
    }
}

/// The first column of `/proc/swaps`. A kernel without swap has no such file.
pub(crate) fn swap_paths(root: &SystemRoot) -> Result<Vec<PathBuf>, DriveError> {
    let path = root.path("proc/swaps");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(DriveError::Table { path, source }),
    };
    let lines = bytes.split(|&byte| byte == b'\n').skip(1).filter(|line| line.starts_with(b"/"));
    let column =
        |line: &[u8]| line.split(u8::is_ascii_whitespace).next().unwrap_or_default().to_owned();
    Ok(lines.map(|line| std::ffi::OsString::from_vec(unescape(&column(line))).into()).collect())
}

/// Asks the kernel. Only `EBUSY` means that the device is claimed. A user who may not open it
/// learns nothing, but cannot overwrite it either.
fn claimed(node: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
    matches!(rustix::fs::open(node, flags, Mode::empty()), Err(rustix::io::Errno::BUSY))
}

/// Asks the kernel whether it swaps on a file, whose path in `/proc/swaps` may lead nowhere here.
/// Copying zero bytes changes nothing, and is refused with `ETXTBSY` before the length is checked
/// (`generic_file_rw_checks` in fs/read_write.c, since Linux 5.3). A file that cannot be opened for
/// writing cannot be overwritten either.
fn is_swapped_on(path: &Path) -> bool {
    let Ok(file) =
        rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
    else {
        return false;
    };
    let copied = rustix::fs::copy_file_range(&file, Some(&mut 0), &file, Some(&mut 0), 0);
    copied == Err(rustix::io::Errno::TXTBSY)
}

#[cfg(test)]
mod tests {
    use captures::{Machine, built};

    use super::*;

    fn reasons(machine: &Machine, device: &str) -> String {
        let found = occupancy(&SystemRoot::new(machine.path()), device.parse().unwrap()).unwrap();
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_disk_is_as_busy_as_its_partitions() {
        insta::assert_snapshot!(reasons(&built::laptop(), "259:0"), @"
        /dev/nvme0n1p2 is mounted on /
        /dev/nvme0n1p1 is mounted on /boot/efi
        /dev/nvme0n1p3 is in use as swap
        ");
    }

    #[test]
    fn a_partition_answers_for_itself_and_not_for_its_siblings() {
        let machine = built::laptop();
        insta::assert_snapshot!(reasons(&machine, "259:3"), @"/dev/nvme0n1p3 is in use as swap");
        machine.swaps("");
        assert_eq!(reasons(&machine, "259:3"), "");
    }

    #[test]
    fn a_partition_is_busy_when_its_whole_disk_is() {
        let machine = built::laptop();
        machine.swaps("").mounts("1 1 259:0 / /old rw - ext2 /dev/nvme0n1 rw\n");
        insta::assert_snapshot!(reasons(&machine, "259:3"), @"/dev/nvme0n1 is mounted on /old");
    }

    #[test]
    fn a_stack_is_busy_from_bottom_to_top() {
        let machine = built::raid_server();
        insta::assert_snapshot!(reasons(&machine, "8:0"), @"
        /dev/sda2 is held by /dev/md0
        /dev/md0 is held by /dev/mapper/secret
        /dev/mapper/secret is held by /dev/mapper/vg0-data
        /dev/mapper/vg0-data is mounted on /srv/data
        ");
        insta::assert_snapshot!(reasons(&machine, "253:1"), @"/dev/mapper/vg0-data is mounted on /srv/data");
        assert_eq!(reasons(&machine, "8:1"), "");
    }

    #[test]
    fn a_mount_is_found_by_its_source_when_its_number_is_anonymous() {
        let machine = built::laptop();
        machine.swaps("").mounts("1 1 0:44 /@ / rw - btrfs /dev/disk/by-uuid/12-34 rw\n");
        machine.file("dev/nvme0n1p3", "");
        machine.link("dev/disk/by-uuid/12-34", "dev/nvme0n1p3");
        insta::assert_snapshot!(reasons(&machine, "259:3"), @"/dev/nvme0n1p3 is mounted on /");
    }

    #[test]
    fn each_device_of_a_mounted_btrfs_is_busy() {
        let machine = built::raid_server();
        machine.attribute("../fs/btrfs/3a4b/devices/sdb1", "size", b"1");
        insta::assert_snapshot!(reasons(&machine, "8:17"), @"/dev/sdb1 belongs to the Btrfs filesystem 3a4b, which is mounted");
    }

    #[test]
    fn a_loop_device_on_a_block_device_is_followed() {
        let machine = built::raid_server();
        machine.disk("virtual/block/loop3", "7:3", &[("loop/backing_file", "/dev/sda1")]);
        machine.mounts("1 1 7:3 / /mnt/old rw - ext4 /dev/loop3 rw\n");
        insta::assert_snapshot!(reasons(&machine, "8:1"), @"
        /dev/sda1 is attached to /dev/loop3
        /dev/loop3 is mounted on /mnt/old
        ");
    }

    #[test]
    fn what_is_under_a_loop_device_is_followed() {
        let machine = built::raid_server();
        let on = |name: &str, number: &str, file: &str, more: &[(&str, &str)]| {
            let device = format!("virtual/block/{name}");
            machine.disk(&device, number, &[&[("loop/backing_file", file)], more].concat());
        };
        on("loop1", "7:1", "/dev/sda1", &[]);
        on("loop2", "7:2", "/dev/loop1", &[]);
        on("loop3", "7:3", "/srv/image", &[("loop/offset", "0"), ("loop/sizelimit", "4096")]);
        on("loop4", "7:4", "/srv/image", &[("loop/offset", "4096"), ("loop/sizelimit", "0")]);
        on("loop5", "7:5", "/dev/sda", &[("loop/offset", "1048576"), ("loop/sizelimit", "4096")]);
        machine.mounts(
            "1 1 8:1 / /mnt/old rw - ext4 /dev/sda1 rw\n1 1 7:3 / /mnt/image rw - ext4 /dev/loop3 \
             rw\n",
        );
        insta::assert_snapshot!(reasons(&machine, "7:2"), @"
        /dev/sda is attached to /dev/loop5
        /dev/sda1 is mounted on /mnt/old
        ");
        assert_eq!(reasons(&machine, "7:4"), "", "another part of the file");
        assert!(reasons(&machine, "7:5").contains("/dev/sda1 is mounted on /mnt/old"));
        assert_eq!(reasons(&machine, "8:17"), "");
    }

    #[test]
    fn holders_in_a_circle_end() {
        let machine = Machine::new();
        machine.mounts("").swaps("");
        machine.disk("virtual/block/dm-0", "253:0", &[]).disk("virtual/block/dm-1", "253:1", &[]);
        machine.stack("virtual/block/dm-0", "virtual/block/dm-1");
        machine.stack("virtual/block/dm-1", "virtual/block/dm-0");
        assert_eq!(
            occupancy(&SystemRoot::new(machine.path()), "253:0".parse().unwrap()).unwrap().len(),
            2
        );
    }

    #[test]
    fn an_unknown_device_is_not_free() {
        let machine = Machine::new();
        machine.disk("virtual/block/vdz", "254:9", &[]);
        let device = "254:9".parse().unwrap();
        assert!(matches!(
            occupancy(&SystemRoot::new(machine.path()), device),
            Err(DriveError::Table { .. })
        ));
        machine.mounts("garbage\n");
        assert!(matches!(
            occupancy(&SystemRoot::new(machine.path()), device),
            Err(DriveError::MalformedMount { line: 1, .. })
        ));
        machine.mounts("");
        assert!(
            occupancy(&SystemRoot::new(machine.path()), device).unwrap().is_empty(),
            "a kernel without swap has no /proc/swaps"
        );
        let absent = "254:10".parse().unwrap();
        assert!(matches!(
            occupancy(&SystemRoot::new(machine.path()), absent),
            Err(DriveError::NoSuchDevice { .. })
        ));
        fs::create_dir(machine.path().join("proc/swaps")).unwrap();
        assert!(matches!(
            occupancy(&SystemRoot::new(machine.path()), device),
            Err(DriveError::Table { .. })
        ));
    }

    #[test]
    fn bytes_are_placed_in_parts_and_wholes() {
        assert_eq!(within(&(2..5), &(10..14)), 12..14);
        assert_eq!(within(&EVERYTHING, &(10..u64::MAX)), 10..u64::MAX);
        assert_eq!(of_part(&(2..12), &(10..14)), Some(0..2));
        assert_eq!(of_part(&(2..10), &(10..14)), None);
        assert_eq!((hull(&(1..2), &(4..6)), hull(&(0..0), &(4..6))), (1..6, 4..6));
    }

    #[test]
    fn files_in_use_are_named() {
        let machine = built::cloud_vm();
        machine.swaps("/srv/swap\\040file file 100 0 -2\n");
        machine.disk("virtual/block/loop0", "7:0", &[("loop/backing_file", "/srv/disk.img")]);
        let reasons = |path: &str| {
            let found = file_occupancy(&SystemRoot::new(machine.path()), path.as_ref()).unwrap();
            found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(reasons("/srv/swap file"), @"/srv/swap file is in use as swap");
        insta::assert_snapshot!(reasons("/srv/disk.img"), @"/dev/loop0 is attached to /srv/disk.img, which leads to this file here");
        assert_eq!(reasons("/srv/other"), "");
    }

    #[test]
    fn a_claim_has_words() {
        let claim = Occupied::Claim { device: "/dev/sdb".into() };
        insta::assert_snapshot!(claim, @"/dev/sdb is claimed for exclusive use by another program or filesystem");
        assert_eq!(serde_json::to_string(&claim).unwrap(), r#"{"by":"claim","device":"/dev/sdb"}"#);
    }
}
