//! `flushmark cache`: the write cache of drives, seen, switched, put back.

use std::path::Path;

use anyhow::Context as _;
use drive::cache_switch::{self, By, CacheSwitch, SwitchError};
use drive::{BlockDevice, Place, PlaceKind, SystemRoot};

use super::{drives, print};
use crate::args::{CacheAction, CacheArgs, SwitchArgs};
use crate::exit::{self, Verdict, WrongUse};
use crate::write_cache::state_dir;

/// Does one of these.
pub fn run(args: &CacheArgs) -> anyhow::Result<Verdict> {
    match &args.action {
        CacheAction::Status { devices, format } => drives::cache_status(devices, *format),
        CacheAction::On(switch) => set(switch, true),
        CacheAction::Off(switch) => set(switch, false),
        CacheAction::Restore { device } => restore(device.as_deref()),
    }
}

fn set(args: &SwitchArgs, on: bool) -> anyhow::Result<Verdict> {
    let root = SystemRoot::default();
    let disk = whole_disk(&root, &args.device)?;
    if args.udev_rule {
        print(&rule(&root, &disk, on)?)?;
        return Ok(Verdict::Done);
    }
    // Locked first, so that what is looked at next is not being changed by another flushmark.
    let mut switch = CacheSwitch::open(&root, &state_dir(), &disk)?;
    // First, so that the state that is judged is the one that a person left.
    switch.finish_runs()?;
    let reading = switch.reading()?;
    // A cache that is not there or cannot be switched is no question of who uses the drive.
    if reading.enabled != on && reading.present && reading.switchable && !args.in_use {
        cache_switch::refuse_in_use(&root, &disk)?;
    }
    let switched = switch.set(on, By::Command)?;
    print(&report::cache_switched(&disk, switched, switch.kernel_believes()))?;
    Ok(Verdict::Done)
}

/// The udev rule for a drive that would take the switch.
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
    rule.with_context(|| format!("{} has no serial number that a udev rule could go by", disk.path.display()))
}

fn restore(device: Option<&Path>) -> anyhow::Result<Verdict> {
    let root = SystemRoot::default();
    let state = state_dir();
    let only = device.map(|device| whole_disk(&root, device)).transpose()?;
    let kept_aside = state.kept_aside().map_err(SwitchError::from)?;
    let outcomes = cache_switch::restore(&root, &state, only.as_ref()).map_err(SwitchError::from)?;
    let mut page = String::new();
    if outcomes.is_empty() {
        page += &match &only {
            Some(disk) => format!("Nothing is on record of {}.\n", disk.path.display()),
            None => "Nothing is on record: no write cache was left switched.\n".to_owned(),
        };
        for path in kept_aside {
            page += &format!("A damaged record lies at {}: nobody can say what it was about.\n", path.display());
        }
    }
    let mut failed = None;
    for outcome in outcomes {
        match outcome {
            Ok(restored) => page += &report::cache_restored(&restored),
            // Each is said; the last decides how the program ends.
            Err(error) => {
                if let Some(earlier) = failed.replace(error) {
                    exit::complain(&earlier.to_string());
                }
            }
        }
    }
    // A reader that went away must not hide a failure.
    let printed = print(&page);
    match failed {
        Some(error) => Err(error.into()),
        None => printed.map(|()| Verdict::Done),
    }
}

/// The disk at a path. A partition is refused: its disk has the cache, and others may lie on it.
fn whole_disk(root: &SystemRoot, path: &Path) -> anyhow::Result<BlockDevice> {
    let place = Place::of(root, path).map_err(|error| WrongUse(error.to_string()))?;
    let disk = place.block_device().filter(|_| place.kind == PlaceKind::BlockDevice);
    let disk =
        disk.ok_or_else(|| WrongUse(format!("{} is no block device: name a drive, such as /dev/sda", path.display())))?;
    if let Some(partition) = &disk.partition {
        let message = format!(
            "{} is a partition of /dev/{}, which has the cache: name that drive; what happens concerns all of it",
            path.display(),
            partition.disk
        );
        return Err(WrongUse(message).into());
    }
    Ok(disk.clone())
}
