//! The udev rule that sets a cache each time the drive appears, for drives that forget the setting.

use crate::{BlockDevice, CacheReading, ToldBy, Transport};

/// A udev rules file for one drive. `None` where udev could not distinguish the drive from others
/// (no serial number, or one that udev writes differently).
pub fn rule(disk: &BlockDevice, reading: CacheReading, on: bool) -> Option<String> {
    let serial = udev_value(disk.serial.as_deref()?)?;
    // An attribute is compared verbatim, with its blanks.
    if reading.told_by == ToldBy::NvmeFeature && disk.serial.as_deref() != Some(serial.as_str()) {
        return None;
    }
    let (state, word) = if on { ("on", "write back") } else { ("off", "write through") };
    // udev expands `%k` to the kernel's name; `$` is doubled.
    let run = match reading.told_by {
        ToldBy::AtaIdentify | ToldBy::ScsiCachingPage => {
            format!(
                "/bin/sh -c 'for file in /sys/block/%k/device/scsi_disk/*/cache_type; do echo \
                 {word} > $$file; done'"
            )
        }
        ToldBy::VirtioConfig => format!("/bin/sh -c 'echo {word} > /sys/block/%k/cache_type'"),
        // The feature belongs to the controller: drives refuse it for a namespace.
        ToldBy::NvmeFeature => {
            format!("/usr/sbin/nvme set-feature /dev/%k --feature-id=6 --value={}", u8::from(on))
        }
    };
    // udev's rules for virtio set ID_SERIAL alone (60-persistent-storage.rules).
    let which = match reading.told_by {
        ToldBy::VirtioConfig => "SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", ENV{ID_SERIAL}",
        ToldBy::NvmeFeature => "SUBSYSTEM==\"nvme\", ATTR{serial}",
        // scsi_id keeps the serial number of page 80h separate: its ID_SERIAL_SHORT is the name of
        // page 83h.
        ToldBy::ScsiCachingPage if disk.transport != Transport::Usb => {
            "SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", ENV{ID_SCSI_SERIAL}"
        }
        ToldBy::AtaIdentify | ToldBy::ScsiCachingPage => {
            "SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", ENV{ID_SERIAL_SHORT}"
        }
    };
    let needs = match reading.told_by {
        ToldBy::NvmeFeature => "# Needs nvme-cli.\n",
        _ => "",
    };
    let model = disk.model.as_deref().unwrap_or("drive").replace(char::is_control, " ");
    Some(format!(
        "# /etc/udev/rules.d/61-write-cache.rules\n\
         # Volatile write cache {state}: {model}, serial number {serial}.\n\
         {needs}\
         ACTION==\"add\", {which}==\"{serial}\", \
         RUN+=\"{run}\"\n"
    ))
}

/// The form of `ID_SERIAL_SHORT`: white space becomes an underscore. A value that could mean
/// something else in a rule is rejected.
fn udev_value(serial: &str) -> Option<String> {
    let value = serial.split_whitespace().collect::<Vec<_>>().join("_");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    (!value.is_empty() && value.chars().all(plain)).then_some(value)
}
