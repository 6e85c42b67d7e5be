//! The drives, filesystems and journals that a trace observes.

use std::collections::HashMap;
use std::path::PathBuf;

use drive::{BlockDevice, DeviceNumber, MountTable, Place, SystemRoot};

use crate::args::trace::TraceArgs;
use crate::exit::WrongUse;

/// The traced devices, and their names.
pub struct Scope {
    /// As the user named it.
    pub subject: String,
    pub traced: trace::Scope,
    /// The drives at the bottom.
    pub devices: Vec<BlockDevice>,
}

/// The drives below a path or a device; all drives for a command or a process.
pub fn of(root: &SystemRoot, args: &TraceArgs) -> anyhow::Result<Scope> {
    let mounts = MountTable::read(root)?;
    let on_device = mounts.mounts().iter().filter(|mount| !mount.device.is_anonymous());
    let filesystems = on_device.map(|mount| (mount.device, disks_of(root, mount))).collect();
    let (subject, devices) = if let Some(path) = &args.path {
        let place = Place::of(root, path)?;
        let device = place.block_device().ok_or_else(|| {
            WrongUse(format!(
                "{} is not on a block device, so the kernel's block layer does not see its writes",
                path.display()
            ))
        })?;
        (path.display().to_string(), drives_below(device))
    } else if let Some(path) = &args.device {
        let number = root
            .device_at(path)
            .ok_or_else(|| WrongUse(format!("{} is not a block device", path.display())))?;
        (path.display().to_string(), drives_below(&BlockDevice::read(root, number)?))
    } else {
        let words = args.command.iter().map(|word| word.to_string_lossy());
        let words = words.map(|word| judge::shell_word(&word)).collect::<Vec<_>>().join(" ");
        let subject = args.pid.map_or(words, |pid| format!("process {pid}"));
        (subject, drive::drives(root))
    };
    let mut devices = devices;
    let is_new = |devices: &[BlockDevice], drive: &BlockDevice| {
        devices.iter().all(|known| known.disk_device() != drive.disk_device())
    };
    for drive in log_drives(root, &mounts) {
        if is_new(&devices, &drive) {
            devices.push(drive);
        }
    }
    let disks: Vec<DeviceNumber> = devices.iter().map(BlockDevice::disk_device).collect();
    let partitions: HashMap<_, _> = disks
        .iter()
        .flat_map(|&disk| {
            let partitions = BlockDevice::partitions(root, disk);
            partitions.into_iter().map(move |partition| (partition, disk))
        })
        .collect();
    let traced = trace::Scope { disks, partitions, filesystems };
    Ok(Scope { subject, traced, devices })
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
