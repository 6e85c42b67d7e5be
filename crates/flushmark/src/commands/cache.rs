//! `flushmark cache`: shows, switches and restores the write caches of drives.

use std::path::Path;

use anyhow::Context as _;
use drive::cache_switch::{self, By, CacheSwitch, SwitchError};
use drive::{BlockDevice, Place, PlaceKind, SystemRoot};

use super::{drives, print};
use crate::args::{CacheAction, CacheArgs, SwitchArgs};
use crate::exit::{self, ExitStatus, WrongUse};
use crate::write_cache::state_dir;

pub fn run(args: &CacheArgs) -> anyhow::Result<ExitStatus> {
    match &args.action {
        CacheAction::Status { devices, format } => drives::cache_status(devices, *format),
        CacheAction::On(switch) => set(switch, true),
        CacheAction::Off(switch) => set(switch, false),
        CacheAction::Restore { device } => restore(device.as_deref()),
    }
}

fn set(args: &SwitchArgs, on: bool) -> anyhow::Result<ExitStatus> {
    let root = SystemRoot::default();
    let disk = whole_disk(&root, &args.device)?;
    if args.udev_rule {
        print(&rule(&root, &disk, on)?)?;
        return Ok(ExitStatus::Done);
    }
    // Locked before reading, so that no other flushmark process changes the state meanwhile.
    let mut switch = CacheSwitch::open(&root, &state_dir(), &disk)?;
    // Restores what killed runs left, so that the state read next is the one that the user left.
    switch.finish_runs()?;
    let reading = switch.reading()?;
    // Only a cache that can and would be switched affects the users of the drive.
    if reading.enabled != on && reading.present && reading.switchable && !args.in_use {
        cache_switch::refuse_in_use(&root, &disk)?;
    }
    let switched = switch.set(on, By::Command)?;
    print(&report::cache_switched(&disk, switched, switch.kernel_believes()))?;
    Ok(ExitStatus::Done)
}

/// The udev rule for a drive whose cache can be switched.
fn rule(root: &SystemRoot, disk: &BlockDevice, on: bool) -> anyhow::Result<String> {
    let device = || disk.path.clone();
    let mut drive = drive::OpenDrive::open(root, disk).map_err(SwitchError::from)?;
    let reading = drive.write_cache().map_err(SwitchError::from)?;
    if !reading.present {
        return Err(SwitchError::NoCache { device: device() }.into());
    }
    if !reading.switchable {
        return Err(SwitchError::Fixed { device: device(), on: reading.enabled }.into());
    }
    let rule = cache_switch::udev::rule(disk, reading, on);
    rule.with_context(|| {
        format!("{} has no serial number for a udev rule to match", disk.path.display())
    })
}

fn restore(device: Option<&Path>) -> anyhow::Result<ExitStatus> {
    let root = SystemRoot::default();
    let state = state_dir();
    let only = device.map(|device| whole_disk(&root, device)).transpose()?;
    let kept_aside = state.kept_aside().map_err(SwitchError::from)?;
    let outcomes =
        cache_switch::restore(&root, &state, only.as_ref()).map_err(SwitchError::from)?;
    let mut page = String::new();
    if outcomes.is_empty() {
        page += &match &only {
            Some(disk) => {
                format!("Nothing to restore: no saved state of {}.\n", disk.path.display())
            }
            None => "Nothing to restore: no write cache was left switched.\n".to_owned(),
        };
        for path in kept_aside {
            page += &format!(
                "A damaged record is kept at {}; which drive it was about is unknown.\n",
                path.display()
            );
        }
    }
    let mut failed = None;
    for outcome in outcomes {
        match outcome {
            Ok(restored) => page += &report::cache_restored(&restored),
            // Every error is printed; the last determines the exit code.
            Err(error) => {
                if let Some(earlier) = failed.replace(error) {
                    exit::complain(&earlier.to_string());
                }
            }
        }
    }
    // Report a failure even if nobody reads stdout.
    let printed = print(&page);
    match failed {
        Some(error) => Err(error.into()),
        None => printed.map(|()| ExitStatus::Done),
    }
}

/// The drive at a path. A partition is refused, because its drive has the cache and may have other
/// partitions.
fn whole_disk(root: &SystemRoot, path: &Path) -> anyhow::Result<BlockDevice> {
    let place = Place::of(root, path).map_err(|error| WrongUse(error.to_string()))?;
    let disk = place.block_device().filter(|_| place.kind == PlaceKind::BlockDevice);
    let disk = disk.ok_or_else(|| {
        WrongUse(format!(
            "{} is not a block device; name a drive, such as /dev/sda",
            path.display()
        ))
    })?;
    if let Some(partition) = &disk.partition {
        let message = format!(
            "{} is a partition of /dev/{}, whose cache all partitions share; name the drive",
            path.display(),
            partition.disk
        );
        return Err(WrongUse(message).into());
    }
    Ok(disk.clone())
}
