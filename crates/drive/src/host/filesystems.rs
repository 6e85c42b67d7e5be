//! Mounted filesystems on block devices.

use std::collections::BTreeMap;
use std::path::Path;

use super::facts::FilesystemFacts;
use crate::block::sysfs_place;
use crate::place::effective_options;
use crate::{DeviceNumber, Mount, MountTable, Space, SystemRoot};

/// Filesystems that cannot be written to.
const READ_ONLY: [&str; 5] = ["squashfs", "erofs", "iso9660", "cramfs", "udf"];

/// Lists each filesystem once, ordered by mount point. Empty when the mount table cannot be read.
pub(super) fn filesystems(root: &SystemRoot) -> Vec<FilesystemFacts> {
    let Ok(table) = MountTable::read(root) else { return Vec::new() };
    let mut chosen: BTreeMap<DeviceNumber, &Mount> = BTreeMap::new();
    for mount in table.mounts() {
        let Some(device) = block_device(root, mount) else { continue };
        match chosen.get(&device) {
            Some(known) if rank(known) <= rank(mount) => {}
            _ => drop(chosen.insert(device, mount)),
        }
    }
    let mut found: Vec<_> =
        chosen.into_iter().map(|(device, mount)| describe(root, device, mount)).collect();
    found.sort_by(|a, b| a.mount_point.cmp(&b.mount_point));
    found
}

/// Prefers the whole filesystem to a part of it (a bind mount or a subvolume), then the mount point
/// nearest the root.
fn rank(mount: &Mount) -> (bool, usize) {
    (mount.root != Path::new("/"), mount.mount_point.as_os_str().len())
}

fn block_device(root: &SystemRoot, mount: &Mount) -> Option<DeviceNumber> {
    if READ_ONLY.contains(&mount.fs_type.as_str()) {
        return None;
    }
    // Btrfs has an anonymous number and names one of its devices as the source. Other filesystems
    // with such a number have no device: an overlay's source is just a word.
    if mount.device.is_anonymous() { root.device_at(&mount.source) } else { Some(mount.device) }
}

fn describe(root: &SystemRoot, number: DeviceNumber, mount: &Mount) -> FilesystemFacts {
    let place = sysfs_place(root, number);
    let device =
        place.and_then(|place| Some(place.file_name()?.to_string_lossy().replace('!', "/")));
    let mut mount = mount.clone();
    mount.effective_options =
        device.as_deref().and_then(|device| effective_options(root, &mount, device));
    // The mount points of another machine's tree cannot be examined here.
    let space =
        (*root == SystemRoot::default()).then(|| Space::of(&mount.mount_point).ok()).flatten();
    FilesystemFacts {
        flushes_disabled_by: mount.flushes_disabled_by().map(str::to_owned),
        discard: mount.discards_online(),
        mount_point: mount.mount_point,
        fs_type: mount.fs_type,
        device,
        space,
    }
}

#[cfg(test)]
mod tests {
    use captures::built;

    use super::*;

    fn points(machine: &captures::Machine) -> Vec<String> {
        let found = filesystems(&SystemRoot::new(machine.path()));
        found
            .iter()
            .map(|found| format!("{} {:?}", found.mount_point.display(), found.device))
            .collect()
    }

    #[test]
    fn a_filesystem_is_listed_once_at_its_main_mount_point() {
        let machine = built::laptop();
        machine.mounts(
            "\
20 1 259:2 /a / rw - ext4 /dev/nvme0n1p2 rw
21 20 259:2 / /mnt/whole/filesystem rw - ext4 /dev/nvme0n1p2 rw
22 20 259:2 / /mnt/whole/filesystem/again rw - ext4 /dev/nvme0n1p2 rw
23 20 7:0 / /snap/core ro - squashfs /dev/loop0 ro
24 20 0:30 / /tmp rw - tmpfs tmpfs rw
25 20 8:1 /volume /data rw - xfs /dev/sda1 rw
",
        );
        // The last one's device is not in sysfs, as seen from a container.
        assert_eq!(points(&machine), ["/data None", "/mnt/whole/filesystem Some(\"nvme0n1p2\")"]);
    }

    #[test]
    fn a_malformed_table_gives_no_filesystems() {
        let machine = built::laptop();
        machine.mounts("nonsense\n");
        assert_eq!(points(&machine), Vec::<String>::new());
    }

    #[test]
    fn this_machines_filesystems_have_room() {
        for found in filesystems(&SystemRoot::default()) {
            assert!(
                found.space.is_none_or(|space| space.total_bytes >= space.available_bytes),
                "{found:?}"
            );
        }
    }
}
