//! Refuses to switch the cache of a drive in use.

use crate::cache_switch::SwitchError;
use crate::{BlockDevice, SystemRoot, Transport, occupancy, read_signatures};

/// Refuses a drive that is mounted, held, used for swap, claimed, or contains data. Switching a
/// cache never loses data, but it changes how fast and how safe the commits on the drive are, and
/// that is for the drive's users to decide.
///
/// # Errors
/// [`SwitchError::InUse`] and [`SwitchError::Signed`]; others when the drive cannot be examined.
pub fn refuse_in_use(root: &SystemRoot, disk: &BlockDevice) -> Result<(), SwitchError> {
    refuse(root, disk, &sharing_the_cache(root, disk))
}

/// Refuses when another namespace of the same NVMe controller is in use, for callers that already
/// hold this one. Never refuses any other disk.
pub fn refuse_others_in_use(root: &SystemRoot, disk: &BlockDevice) -> Result<(), SwitchError> {
    let mut others = sharing_the_cache(root, disk);
    others.retain(|other| other.device != disk.device);
    refuse(root, disk, &others)
}

fn refuse(
    root: &SystemRoot,
    asked: &BlockDevice,
    disks: &[BlockDevice],
) -> Result<(), SwitchError> {
    let device = || asked.path.clone();
    for disk in disks {
        let by = occupancy(root, disk.device)?;
        if !by.is_empty() {
            return Err(SwitchError::InUse { device: device(), by });
        }
        let what = read_signatures(&root.path(&disk.path))?;
        if !what.is_empty() {
            return Err(SwitchError::Signed { device: device(), what });
        }
    }
    Ok(())
}

/// The disk itself, or all namespaces of an NVMe controller: the cache is the controller's.
fn sharing_the_cache(root: &SystemRoot, disk: &BlockDevice) -> Vec<BlockDevice> {
    let controller = disk.name.rsplit_once('n').map(|(controller, _)| format!("{controller}n"));
    let Some(controller) = controller.filter(|_| disk.transport == Transport::Nvme) else {
        return vec![disk.clone()];
    };
    let names = root
        .attributes("sys/block")
        .entries("")
        .into_iter()
        .filter(|name| name.starts_with(&controller));
    names.filter_map(|name| BlockDevice::read(root, root.device_named(&name)?).ok()).collect()
}
