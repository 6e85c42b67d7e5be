//! The drives, filesystems and journals that a trace observes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use drive::{BlockDevice, DeviceNumber, DriverAddress, HostFacts, MountTable, Place, SystemRoot};
use trace::{Header, Scope};

use crate::exit::WrongUse;

/// The drives below a place.
pub fn of_place(root: &SystemRoot, subject: &str, place: &Place) -> anyhow::Result<Header> {
    let device = place.block_device().ok_or_else(|| {
        WrongUse(format!(
            "{subject} is not on a block device, so the kernel's block layer does not see its writes"
        ))
    })?;
    of_drives(root, subject.to_owned(), drives_below(device))
}

/// The drives below a device.
pub fn of_device(root: &SystemRoot, path: &Path) -> anyhow::Result<Header> {
    let device = BlockDevice::read(root, device_at(root, path)?)?;
    of_drives(root, path.display().to_string(), drives_below(&device))
}

/// All drives of this machine.
pub fn of_all(root: &SystemRoot, subject: String) -> anyhow::Result<Header> {
    of_drives(root, subject, drive::drives(root))
}

/// These drives, with those that hold logs of filesystems.
fn of_drives(
    root: &SystemRoot,
    subject: String,
    mut devices: Vec<BlockDevice>,
) -> anyhow::Result<Header> {
    let mounts = MountTable::read(root)?;
    let on_device = mounts.mounts().iter().filter(|mount| !mount.device.is_anonymous());
    let filesystems = on_device.map(|mount| (mount.device, disks_of(root, mount))).collect();
    let is_new = |devices: &[BlockDevice], drive: &BlockDevice| {
        devices.iter().all(|known| known.disk_device() != drive.disk_device())
    };
    for drive in log_drives(root, &mounts) {
        if is_new(&devices, &drive) {
            devices.push(drive);
        }
    }
    let disks: Vec<DeviceNumber> = devices.iter().map(BlockDevice::disk_device).collect();
    let without_requests = devices.iter().filter(|drive| drive.queue.hardware_queues.is_none());
    let without_requests = without_requests.map(BlockDevice::disk_device).collect();
    let partitions: HashMap<_, _> = disks
        .iter()
        .flat_map(|&disk| {
            let partitions = BlockDevice::partitions(root, disk);
            partitions.into_iter().map(move |partition| (partition, disk))
        })
        .collect();
    let addresses = disks.iter().flat_map(|&disk| {
        DriverAddress::of_disk(root, disk).into_iter().map(move |address| (address, disk))
    });
    let addresses = addresses.collect();
    Ok(Header {
        subject,
        kernel: HostFacts::read(root).kernel_release.unwrap_or_default(),
        scope: Scope { disks, partitions, without_requests, filesystems, addresses },
        devices,
    })
}

/// The number of the block device at this path.
pub fn device_at(root: &SystemRoot, path: &Path) -> anyhow::Result<DeviceNumber> {
    let number = root.device_at(path);
    Ok(number.ok_or_else(|| WrongUse(format!("{} is not a block device", path.display())))?)
}

/// The drives that hold logs of filesystems on other drives: XFS names them in its options, jbd2 in
/// the list of its journals, where those within a filesystem have the number of an inode.
fn log_drives(root: &SystemRoot, mounts: &MountTable) -> Vec<BlockDevice> {
    let of_xfs = mounts.mounts().iter().filter_map(|mount| xfs_log(root, mount));
    let journals = std::fs::read_dir(root.path("proc/fs/jbd2")).into_iter().flatten().flatten();
    let of_jbd2 = journals
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| {
            let inode = name.rsplit_once('-').map(|(_, inode)| inode);
            inode.is_none_or(|inode| inode.parse::<u64>().is_err())
        })
        .map(|name| PathBuf::from("/dev").join(name.replace('!', "/")));
    let numbers = of_xfs.chain(of_jbd2.filter_map(|path| root.device_at(&path)));
    let devices = numbers.filter_map(|number| BlockDevice::read(root, number).ok());
    devices.flat_map(|device| drives_below(&device)).collect()
}

/// The disks with a filesystem's data and, where XFS has it elsewhere, its log.
fn disks_of(root: &SystemRoot, mount: &drive::Mount) -> Vec<DeviceNumber> {
    let devices = xfs_log(root, mount).into_iter().chain([mount.device]);
    let devices = devices.filter_map(|number| BlockDevice::read(root, number).ok());
    devices.flat_map(|device| drives_below(&device)).map(|drive| drive.disk_device()).collect()
}

fn xfs_log(root: &SystemRoot, mount: &drive::Mount) -> Option<DeviceNumber> {
    let log = mount.super_options.iter().find_map(|option| option.strip_prefix("logdev="))?;
    root.device_at(log.as_ref())
}

fn drives_below(device: &BlockDevice) -> Vec<BlockDevice> {
    device.drives().into_iter().cloned().collect()
}
