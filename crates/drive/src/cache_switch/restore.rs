//! Restores settings that a killed run or an earlier command left changed.

use std::path::PathBuf;

use crate::cache_switch::state::{StoredRecord, move_aside};
use crate::cache_switch::{By, CacheSwitch, Identity, Record, StateDir, StateError, SwitchError};
use crate::{BlockDevice, CacheReading, SystemRoot, Transport};

/// A drive whose cache was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Its current path.
    pub device: PathBuf,
    /// Model and serial number.
    pub title: String,
    /// The origin of the change: a command or a run.
    pub changed_by: By,
    /// The drive's answer after the restore.
    pub reading: CacheReading,
    /// True if an older change is still on record.
    pub more: bool,
}

/// Records that no living process holds: left by a killed run or an earlier `cache on|off`, and
/// ready to be restored.
///
/// Damaged records are not included: see [`StateDir::records`].
pub fn left_over(state: &StateDir) -> Result<Vec<Record>, StateError> {
    let kept = state.records()?.into_iter().filter(|kept| !kept.is_locked);
    Ok(kept.filter_map(|kept| kept.record.ok()).collect())
}

/// Undoes the latest change of each recorded drive, or of one drive only. Each drive has a separate
/// outcome: one that is absent or refuses does not keep the others from being restored.
pub fn restore(
    root: &SystemRoot,
    state: &StateDir,
    only: Option<&BlockDevice>,
) -> Result<Vec<Result<Restored, SwitchError>>, StateError> {
    let identity = only.map(|disk| Identity::of(root, disk));
    let kept = state.records()?.into_iter().filter(|kept| match (&identity, &kept.record) {
        (Some(only), Ok(record)) => record.drive.is_same(only),
        (Some(only), Err(_)) => StateDir::is_record_of(&kept.path, only),
        (None, _) => true,
    });
    Ok(kept.map(|kept| restore_one(root, state, kept, only)).collect())
}

fn restore_one(
    root: &SystemRoot,
    state: &StateDir,
    kept: StoredRecord,
    only: Option<&BlockDevice>,
) -> Result<Restored, SwitchError> {
    let record = match kept.record {
        Ok(record) => record,
        // The process that holds the lock is about to rewrite it.
        Err(_) if kept.is_locked => {
            let drive = kept.path.display().to_string();
            return Err(StateError::Locked { drive, holder: None }.into());
        }
        Err(what) => return Err(move_aside(&kept.path, &what)?.into()),
    };
    let title = record.drive.title();
    let disk = match only {
        Some(disk) => disk.clone(),
        None => find(root, &record.drive)?,
    };
    let changed_by = record.changes.last().map_or(By::Run, |change| change.by);
    let mut switch = CacheSwitch::open(root, state, &disk)?;
    let reading = match switch.undo()? {
        Some(reading) => reading,
        // Another process restored it between the listing and the lock.
        None => switch.reading()?,
    };
    let more = switch.record.last().is_some();
    Ok(Restored { device: disk.path, title, changed_by, reading, more })
}

/// The disk with that identity, whatever its current name. Namespaces of one NVMe controller are
/// one drive; the first represents them all.
fn find(root: &SystemRoot, wanted: &Identity) -> Result<BlockDevice, SwitchError> {
    let names = root.attributes("sys/block").entries("");
    let disks =
        names.iter().filter_map(|name| BlockDevice::read(root, root.device_named(name)?).ok());
    let mut fitting: Vec<BlockDevice> =
        disks.filter(|disk| Identity::of(root, disk).is_same(wanted)).collect();
    if fitting.len() > 1 && fitting.iter().any(|disk| disk.transport != Transport::Nvme) {
        let paths = fitting.iter().map(|disk| disk.path.display().to_string()).collect();
        return Err(SwitchError::Ambiguous { drive: wanted.title(), paths });
    }
    if fitting.is_empty() {
        Err(SwitchError::Absent { drive: wanted.title() })
    } else {
        Ok(fitting.swap_remove(0))
    }
}
