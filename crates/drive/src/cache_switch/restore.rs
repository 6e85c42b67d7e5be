//! Puts back what a killed run or an earlier command left changed.

use std::path::PathBuf;

use crate::cache_switch::state::{Kept, keep_aside};
use crate::cache_switch::{By, CacheSwitch, Identity, Record, StateDir, StateError, SwitchError};
use crate::{BlockDevice, CacheReading, SystemRoot};

/// A drive whose cache was put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Its path now.
    pub device: PathBuf,
    /// Model and serial number.
    pub title: String,
    /// Who had changed it.
    pub changed_by: By,
    /// What the drive says now.
    pub reading: CacheReading,
    /// Whether an older change is still on record.
    pub more: bool,
}

/// Records that no living process holds: what a killed run or an earlier `cache on|off` left, and what would be put back.
///
/// # Errors
/// When the directory cannot be read.
pub fn left_over(state: &StateDir) -> Result<Vec<Record>, StateError> {
    let kept = state.records()?.into_iter().filter(|kept| !kept.is_locked);
    Ok(kept.filter_map(|kept| kept.record.ok()).collect())
}

/// Puts back the latest change of each drive on record, or of one drive alone. Each drive has its own outcome: one that is absent or
/// refuses keeps no other from being put back.
///
/// # Errors
/// When the directory of records cannot be read.
pub fn restore(
    root: &SystemRoot,
    state: &StateDir,
    only: Option<&BlockDevice>,
) -> Result<Vec<Result<Restored, SwitchError>>, StateError> {
    let only = only.map(|disk| Identity::of(root, disk));
    let kept = state.records()?.into_iter().filter(|kept| match (&only, &kept.record) {
        (Some(only), Ok(record)) => record.drive.is_same(only),
        (Some(_), Err(_)) => false,
        (None, _) => true,
    });
    Ok(kept.map(|kept| restore_one(root, state, kept)).collect())
}

fn restore_one(root: &SystemRoot, state: &StateDir, kept: Kept) -> Result<Restored, SwitchError> {
    let record = match kept.record {
        Ok(record) => record,
        Err(what) => return Err(keep_aside(&kept.path, &what)?.into()),
    };
    let title = record.drive.title();
    let disk = find(root, &record.drive).ok_or_else(|| SwitchError::Absent { drive: title.clone() })?;
    let changed_by = record.changes.last().map_or(By::Run, |change| change.by);
    let mut switch = CacheSwitch::open(root, state, &disk)?;
    let reading = match switch.undo()? {
        Some(reading) => reading,
        // Somebody else put it back between the listing and the lock.
        None => switch.reading()?,
    };
    let more = switch.record.last().is_some();
    Ok(Restored { device: disk.path, title, changed_by, reading, more })
}

/// The disk of that identity, whatever its name is now.
fn find(root: &SystemRoot, wanted: &Identity) -> Option<BlockDevice> {
    let names = root.attributes("sys/block").entries("");
    let disks = names.iter().filter_map(|name| BlockDevice::read(root, root.device_named(name)?).ok());
    disks.into_iter().find(|disk| Identity::of(root, disk).is_same(wanted))
}
