//! Whether somebody would be surprised by a switched cache.

use crate::cache_switch::SwitchError;
use crate::{BlockDevice, SystemRoot, Transport, occupancy, read_signatures};

/// Refuses a drive that is mounted, held, swapped on or claimed, or on which data lies. No switch of a cache loses data: what it changes is how fast and
/// how safe the commits of whoever uses the drive are, and that is theirs to say.
///
/// # Errors
/// [`SwitchError::InUse`] and [`SwitchError::Signed`]; others when the drive cannot be looked at.
pub fn refuse_in_use(root: &SystemRoot, disk: &BlockDevice) -> Result<(), SwitchError> {
    refuse(root, disk, &sharing_the_cache(root, disk))
}

/// Refuses when somebody uses another namespace of the same NVMe controller, for whoever holds this one already. For every other disk there is nothing to refuse.
///
/// # Errors
/// As [`refuse_in_use`].
pub fn refuse_others_in_use(root: &SystemRoot, disk: &BlockDevice) -> Result<(), SwitchError> {
    let mut others = sharing_the_cache(root, disk);
    others.retain(|other| other.device != disk.device);
    refuse(root, disk, &others)
}

fn refuse(root: &SystemRoot, asked: &BlockDevice, disks: &[BlockDevice]) -> Result<(), SwitchError> {
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

/// The disk itself; of NVMe all namespaces of its controller, whose cache it is.
fn sharing_the_cache(root: &SystemRoot, disk: &BlockDevice) -> Vec<BlockDevice> {
    let controller = disk.name.rsplit_once('n').map(|(controller, _)| format!("{controller}n"));
    let Some(controller) = controller.filter(|_| disk.transport == Transport::Nvme) else { return vec![disk.clone()] };
    let names = root.attributes("sys/block").entries("").into_iter().filter(|name| name.starts_with(&controller));
    names.filter_map(|name| BlockDevice::read(root, root.device_named(&name)?).ok()).collect()
}
