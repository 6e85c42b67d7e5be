//! The usage of a disk: its partitions, the layers built on them, the mounted filesystems.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::{device_path, sysfs_place};
use crate::place::effective_options;
use crate::system_root::Attributes;
use crate::{
    BlockDevice, DeviceNumber, MountTable, Occupied, Partition, SystemRoot, WriteCache, occupancy,
};

/// Deeper than any real stack of devices.
const DEPTH_MAX: usize = 16;

/// A device and its uses: a disk, a partition, or a layer above.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// The path that users know.
    #[serde(with = "crate::lossy_path")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The kernel's name.
    pub name: String,
    /// The kind of layer, if this is one: `lvm`, `crypt`, `raid1`.
    pub layer: Option<String>,
    pub size_bytes: Option<u64>,
    /// The kernel's view of its cache; a partition inherits this from its disk.
    pub write_cache: Option<WriteCache>,
    pub mounts: Vec<MountedOn>,
    /// Position on the disk, if this is a partition.
    pub partition: Option<Partition>,
    /// UUID of the mounted multi-device Btrfs filesystem that it belongs to.
    pub btrfs: Option<String>,
    /// True if the kernel uses it for swap.
    pub swap: bool,
    /// Partitions, and devices built on it.
    pub parts: Vec<Usage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MountedOn {
    #[serde(with = "crate::lossy_path")]
    #[schemars(with = "String")]
    pub mount_point: PathBuf,
    /// `ext4`, `xfs`...
    pub fs_type: String,
    /// The options that affect a sync.
    pub options: Vec<String>,
    /// The mount option that suppresses flushes, if there is one.
    pub flushes_disabled_by: Option<String>,
}

impl Usage {
    /// The uses of a disk. Tables that cannot be read are left out.
    pub fn of(root: &SystemRoot, disk: DeviceNumber) -> Option<Usage> {
        let place = sysfs_place(root, disk)?;
        let tables = Tables { root, mounts: MountTable::read(root).ok(), swaps: swaps(root) };
        Some(tables.usage(&place, disk, &mut BTreeSet::new()))
    }

    /// This device and everything on it, from the bottom up.
    pub fn all(&self) -> Vec<&Usage> {
        let mut all = vec![self];
        all.extend(self.parts.iter().flat_map(Usage::all));
        all
    }

    /// Every mounted filesystem on it, at any layer.
    pub fn filesystems(&self) -> impl Iterator<Item = (&Usage, &MountedOn)> {
        self.all()
            .into_iter()
            .flat_map(|usage| usage.mounts.iter().map(move |mount| (usage, mount)))
    }
}

/// Returns whether the disk has a user that no table names (ZFS, Ceph, another program). Asks the
/// kernel by opening the disk exclusively for a moment.
pub fn claimed_by_unknown(root: &SystemRoot, disk: &BlockDevice) -> bool {
    occupancy(root, disk.device)
        .is_ok_and(|all| all.iter().any(|one| matches!(one, Occupied::Claim { .. })))
}

struct Tables<'a> {
    root: &'a SystemRoot,
    mounts: Option<MountTable>,
    swaps: Vec<DeviceNumber>,
}

impl Tables<'_> {
    /// `above` lists the devices that lead here: a cyclic stack ends there.
    fn usage(&self, place: &Path, number: DeviceNumber, above: &mut BTreeSet<PathBuf>) -> Usage {
        let own = Attributes { directory: place.to_owned() };
        above.insert(place.to_owned());
        let mut parts = Vec::new();
        if above.len() < DEPTH_MAX {
            let names = own.entries("");
            let partitions = names
                .iter()
                .map(|name| place.join(name))
                .filter(|path| path.join("partition").exists());
            let holders = own.entries("holders");
            let holders = holders
                .iter()
                .filter_map(|name| fs::canonicalize(place.join("holders").join(name)).ok());
            let mut below: Vec<PathBuf> =
                partitions.chain(holders).filter(|path| !above.contains(path)).collect();
            below.sort_by_key(|path| natural(path));
            for path in below {
                let Some(number) = (Attributes { directory: path.clone() }).parsed("dev") else {
                    continue;
                };
                parts.push(self.usage(&path, number, above));
            }
        }
        above.remove(place);
        let read = BlockDevice::read(self.root, number).ok();
        let path = device_path(place);
        let name = place
            .file_name()
            .map(|name| name.to_string_lossy().replace('!', "/"))
            .unwrap_or_default();
        Usage {
            layer: read.as_ref().and_then(|device| device.layer.clone()),
            size_bytes: read.as_ref().and_then(|device| device.size_bytes),
            write_cache: read.as_ref().and_then(|device| device.queue.write_cache),
            mounts: self.mounts_of(number, &name),
            partition: read.as_ref().and_then(|device| device.partition.clone()),
            btrfs: self.btrfs_with(&name),
            swap: self.swaps.contains(&number),
            parts,
            path,
            name,
        }
    }

    /// Each mounted Btrfs filesystem lists its devices; the mount table lists only one.
    fn btrfs_with(&self, name: &str) -> Option<String> {
        let filesystems = self.root.attributes("sys/fs/btrfs");
        filesystems
            .entries("")
            .into_iter()
            .find(|uuid| filesystems.exists(format!("{uuid}/devices/{name}")))
    }

    fn mounts_of(&self, number: DeviceNumber, name: &str) -> Vec<MountedOn> {
        let mounts = self.mounts.iter().flat_map(MountTable::mounts);
        let here = mounts.filter(|mount| {
            mount.device == number
                || (mount.device.is_anonymous()
                    && self.root.device_at(&mount.source) == Some(number))
        });
        let mut found: Vec<MountedOn> = Vec::new();
        for mount in here {
            let mut mount = mount.clone();
            mount.effective_options = effective_options(self.root, &mount, name);
            let options = mount.options_that_matter().into_iter().map(str::to_owned).collect();
            let mounted = MountedOn {
                options,
                flushes_disabled_by: mount.flushes_disabled_by().map(str::to_owned),
                mount_point: mount.mount_point,
                fs_type: mount.fs_type,
            };
            // Bind mounts and subvolumes show one filesystem many times; users know it by the
            // first.
            if !found.iter().any(|other| other.fs_type == mounted.fs_type) {
                found.push(mounted);
            }
        }
        found
    }
}

fn swaps(root: &SystemRoot) -> Vec<DeviceNumber> {
    let paths = crate::occupancy::swap_paths(root).unwrap_or_default();
    paths.iter().filter_map(|path| root.device_at(path)).collect()
}

/// An order that puts `sda2` before `sda10`, and `sdz` before `sdaa`, as the kernel numbers them.
pub(crate) fn natural(path: &Path) -> Vec<(usize, String)> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // In these series, letters count like digits: a longer name comes later.
    let series = ["xvd", "sd", "hd", "vd"]
        .into_iter()
        .find(|prefix| name.starts_with(prefix))
        .unwrap_or_default();
    let mut key = vec![(0, series.to_owned())];
    let mut rest = &name[series.len()..];
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        let counts = digits || (!series.is_empty() && key.len() == 1);
        key.push((if counts { piece.len() } else { 0 }, piece.to_owned()));
        rest = after;
    }
    key
}
