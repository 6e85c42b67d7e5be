//! The mounts of emulated drives, and of filesystems on them, as the kernel lists them.

use std::path::{Path, PathBuf};

use drive::emulated::FILESYSTEM;
use drive::{Mount, MountTable, SystemRoot};

pub(crate) fn drive_mounts(table: &MountTable) -> impl Iterator<Item = &Mount> {
    table.mounts().iter().filter(|mount| mount.fs_type == FILESYSTEM)
}

/// Mount points of filesystems on these loop devices.
pub(crate) fn mounts_of(table: &MountTable, loops: &[PathBuf]) -> Vec<PathBuf> {
    let on_loop = |mount: &&Mount| loops.contains(&mount.source);
    table.mounts().iter().filter(on_loop).map(|mount| mount.mount_point.clone()).collect()
}

/// Loop devices whose file is in this directory.
pub(crate) fn loops_on(directory: &Path) -> Vec<PathBuf> {
    let Ok(devices) = std::fs::read_dir("/sys/block") else { return Vec::new() };
    let on_it = |device: std::fs::DirEntry| {
        let file = std::fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
        Path::new(file.trim_end())
            .starts_with(directory)
            .then(|| Path::new("/dev").join(device.file_name()))
    };
    devices.flatten().filter_map(on_it).collect()
}

/// Mount points of emulated drives and of filesystems on them.
pub(crate) fn places_of_drives() -> Vec<PathBuf> {
    let Ok(table) = MountTable::read(&SystemRoot::default()) else { return Vec::new() };
    let with_filesystems = |mount: &Mount| {
        let filesystems = mounts_of(&table, &loops_on(&mount.mount_point));
        std::iter::once(mount.mount_point.clone()).chain(filesystems).collect::<Vec<_>>()
    };
    drive_mounts(&table).flat_map(with_filesystems).collect()
}
