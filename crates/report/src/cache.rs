//! What became of a write cache that was switched or put back, in sentences.

use drive::cache_switch::{By, Restored, Switched};
use drive::{AfterPowerCycle, BlockDevice, CacheReading, ToldBy, WriteCache};

/// After `cache on` or `cache off`: what the drive says now, what the kernel does, what power does to it.
pub fn cache_switched(disk: &BlockDevice, switched: Switched, kernel: Option<WriteCache>) -> String {
    let path = disk.path.display();
    let reading = switched.reading();
    let state = on_off(reading.enabled);
    let mut text = match switched {
        Switched::Already(_) => format!("{path}: the write cache is {state} already; nothing was changed.\n"),
        Switched::Done(_) => format!(
            "{path}: the write cache is {state} now, and the drive confirms it ({}).\n  `flushmark cache restore {path}` puts it back.\n",
            told_by(reading.told_by)
        ),
    };
    text += match (reading.enabled, kernel) {
        (true, Some(WriteCache::WriteBack)) => "  The kernel flushes it whenever software asks for durability.\n",
        (true, Some(WriteCache::WriteThrough)) => {
            "  Danger: the kernel sends it no flushes (queue/write_cache says write through), so every fsync is a lie.\n"
        }
        (false, Some(WriteCache::WriteThrough)) => "  The kernel sends it no flushes, and none are needed.\n",
        (false, Some(WriteCache::WriteBack)) => {
            "  The kernel goes on sending flushes, which find nothing to do: harmless, and right as soon as the cache is on again.\n"
        }
        (_, None) => "",
    };
    text + &after_power_cycle(disk, reading)
}

fn after_power_cycle(disk: &BlockDevice, reading: CacheReading) -> String {
    let path = disk.path.display();
    let rule = format!(
        "`flushmark cache {} {path} --udev-rule` prints a rule that sets it each time the drive appears.",
        on_off(reading.enabled)
    );
    match reading.after_power_cycle {
        AfterPowerCycle::Keeps => "  The drive saves the setting: it survives a power cycle.\n".to_owned(),
        AfterPowerCycle::Reverts => format!("  The drive forgets the setting when power goes.\n  {rule}\n"),
        AfterPowerCycle::Unknown => {
            format!("  The drive does not say whether the setting survives a power cycle.\n  {rule}\n")
        }
    }
}

/// After `cache restore`: one drive.
pub fn cache_restored(restored: &Restored) -> String {
    let path = restored.device.display();
    let who = match restored.changed_by {
        By::Command => "`flushmark cache`",
        By::Run => "a run that was killed",
    };
    let more = if restored.more {
        format!("  An older change is on record; `flushmark cache restore {path}` once more undoes that, too.\n")
    } else {
        String::new()
    };
    format!(
        "{path}: {}: the write cache is {} again, as it was before {who} switched it; the drive confirms it ({}).\n{more}",
        restored.title,
        on_off(restored.reading.enabled),
        told_by(restored.reading.told_by)
    )
}

/// `on` or `off`.
pub(crate) const fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Which answer of the drive tells of its cache.
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
        CacheReading { present: true, enabled, switchable: true, after_power_cycle, told_by: ToldBy::AtaIdentify }
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
        /dev/sda: the write cache is off now, and the drive confirms it (ATA IDENTIFY DEVICE, word 85).
          `flushmark cache restore /dev/sda` puts it back.
          The kernel sends it no flushes, and none are needed.
          The drive forgets the setting when power goes.
          `flushmark cache off /dev/sda --udev-rule` prints a rule that sets it each time the drive appears.

        /dev/sda: the write cache is off now, and the drive confirms it (ATA IDENTIFY DEVICE, word 85).
          `flushmark cache restore /dev/sda` puts it back.
          The kernel goes on sending flushes, which find nothing to do: harmless, and right as soon as the cache is on again.
          The drive saves the setting: it survives a power cycle.

        /dev/sda: the write cache is on already; nothing was changed.
          The kernel flushes it whenever software asks for durability.
          The drive does not say whether the setting survives a power cycle.
          `flushmark cache on /dev/sda --udev-rule` prints a rule that sets it each time the drive appears.

        /dev/sda: the write cache is on already; nothing was changed.
          Danger: the kernel sends it no flushes (queue/write_cache says write through), so every fsync is a lie.
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
        /dev/sda: Micron 5100 (S1): the write cache is on again, as it was before a run that was killed switched it; the drive confirms it (ATA IDENTIFY DEVICE, word 85).
        /dev/sda: Micron 5100 (S1): the write cache is on again, as it was before `flushmark cache` switched it; the drive confirms it (ATA IDENTIFY DEVICE, word 85).
          An older change is on record; `flushmark cache restore /dev/sda` once more undoes that, too.
        ");
    }
}
