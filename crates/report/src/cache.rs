//! The result of switching or restoring a write cache.

use drive::cache_switch::{By, Restored, Switched};
use drive::{AfterPowerCycle, BlockDevice, CacheReading, ToldBy, WriteCache};

/// The result of `cache on` or `cache off`: the drive's state, the kernel's behaviour, and whether
/// the setting survives a power cycle.
pub fn cache_switched(
    disk: &BlockDevice,
    switched: Switched,
    kernel: Option<WriteCache>,
) -> String {
    let path = disk.path.display();
    let reading = switched.reading();
    let state = on_off(reading.enabled);
    let mut text = match switched {
        Switched::Already(_) => {
            format!("{path}: the write cache is already {state}; nothing was changed.\n")
        }
        Switched::Done(_) => format!(
            "{path}: the write cache is now {state}, as the drive confirms ({}).\n  Run `flushmark \
             cache restore {path}` to restore the previous setting.\n",
            told_by(reading.told_by)
        ),
    };
    text += match (reading.enabled, kernel) {
        (true, Some(WriteCache::WriteBack)) => {
            "  The kernel flushes it whenever software requests durability.\n"
        }
        (true, Some(WriteCache::WriteThrough)) => {
            "  Danger: the kernel sends no flushes (queue/write_cache is `write through`), so no \
             fsync is durable.\n"
        }
        (false, Some(WriteCache::WriteThrough)) => {
            "  The kernel sends no flushes, and none are needed.\n"
        }
        (false, Some(WriteCache::WriteBack)) => {
            "  The kernel still sends flushes. They are harmless, and needed again once the cache \
             is on.\n"
        }
        (_, None) => "",
    };
    text + &after_power_cycle(disk, reading)
}

fn after_power_cycle(disk: &BlockDevice, reading: CacheReading) -> String {
    let path = disk.path.display();
    let rule = format!(
        "Run `flushmark cache {} {path} --udev-rule` to print a udev rule that sets it whenever \
         the drive appears.",
        on_off(reading.enabled)
    );
    match reading.after_power_cycle {
        AfterPowerCycle::Keeps => {
            "  The drive saves the setting: it survives a power cycle.\n".to_owned()
        }
        AfterPowerCycle::Reverts => {
            format!("  The drive loses the setting on power loss.\n  {rule}\n")
        }
        AfterPowerCycle::Unknown => {
            format!(
                "  The drive does not report whether the setting survives a power cycle.\n  \
                 {rule}\n"
            )
        }
    }
}

/// The result of `cache restore` for one drive.
pub fn cache_restored(restored: &Restored) -> String {
    let path = restored.device.display();
    let who = match restored.changed_by {
        By::Command => "`flushmark cache`",
        By::Run => "a run that was killed",
    };
    let more = if restored.more {
        format!(
            "  An older change is on record; run `flushmark cache restore {path}` again to undo \
             that as well.\n"
        )
    } else {
        String::new()
    };
    format!(
        "{path}: {}: the write cache is {} again, as before {who} switched it; the drive confirms \
         it ({}).\n{more}",
        restored.title,
        on_off(restored.reading.enabled),
        told_by(restored.reading.told_by)
    )
}

pub(crate) const fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// The source of a drive's cache state.
pub(crate) const fn told_by(told_by: ToldBy) -> &'static str {
    match told_by {
        ToldBy::AtaIdentify => "ATA IDENTIFY DEVICE, word 85",
        ToldBy::ScsiCachingPage => "SCSI caching mode page, WCE",
        ToldBy::NvmeFeature => "NVMe feature 06h",
        ToldBy::VirtioConfig => "virtio's configuration",
    }
}

#[cfg(test)]
mod golden {
    use std::path::PathBuf;

    use super::*;

    fn reading(enabled: bool, after_power_cycle: AfterPowerCycle) -> CacheReading {
        CacheReading {
            present: true,
            enabled,
            switchable: true,
            after_power_cycle,
            told_by: ToldBy::AtaIdentify,
        }
    }

    #[test]
    fn switched() {
        let place = samples::place::raid();
        let disk = place.block_device().unwrap().drives()[0];
        let through = Some(WriteCache::WriteThrough);
        let back = Some(WriteCache::WriteBack);
        let pages = [
            cache_switched(disk, Switched::Done(reading(false, AfterPowerCycle::Reverts)), through),
            cache_switched(disk, Switched::Done(reading(false, AfterPowerCycle::Keeps)), back),
            cache_switched(disk, Switched::Already(reading(true, AfterPowerCycle::Unknown)), back),
            cache_switched(disk, Switched::Already(reading(true, AfterPowerCycle::Keeps)), through),
        ];
        insta::assert_snapshot!(pages.join("\n"), @"
        /dev/sda: the write cache is now off, as the drive confirms (ATA IDENTIFY DEVICE, word 85).
          Run `flushmark cache restore /dev/sda` to restore the previous setting.
          The kernel sends no flushes, and none are needed.
          The drive loses the setting on power loss.
          Run `flushmark cache off /dev/sda --udev-rule` to print a udev rule that sets it whenever the drive appears.

        /dev/sda: the write cache is now off, as the drive confirms (ATA IDENTIFY DEVICE, word 85).
          Run `flushmark cache restore /dev/sda` to restore the previous setting.
          The kernel still sends flushes. They are harmless, and needed again once the cache is on.
          The drive saves the setting: it survives a power cycle.

        /dev/sda: the write cache is already on; nothing was changed.
          The kernel flushes it whenever software requests durability.
          The drive does not report whether the setting survives a power cycle.
          Run `flushmark cache on /dev/sda --udev-rule` to print a udev rule that sets it whenever the drive appears.

        /dev/sda: the write cache is already on; nothing was changed.
          Danger: the kernel sends no flushes (queue/write_cache is `write through`), so no fsync is durable.
          The drive saves the setting: it survives a power cycle.
        ");
    }

    #[test]
    fn restored() {
        let once = Restored {
            device: PathBuf::from("/dev/sda"),
            title: "Micron 5100 (S1)".to_owned(),
            changed_by: By::Run,
            reading: reading(true, AfterPowerCycle::Reverts),
            more: false,
        };
        let twice = Restored { changed_by: By::Command, more: true, ..once.clone() };
        insta::assert_snapshot!(cache_restored(&once) + &cache_restored(&twice), @"
        /dev/sda: Micron 5100 (S1): the write cache is on again, as before a run that was killed switched it; the drive confirms it (ATA IDENTIFY DEVICE, word 85).
        /dev/sda: Micron 5100 (S1): the write cache is on again, as before `flushmark cache` switched it; the drive confirms it (ATA IDENTIFY DEVICE, word 85).
          An older change is on record; run `flushmark cache restore /dev/sda` again to undo that as well.
        ");
    }
}
