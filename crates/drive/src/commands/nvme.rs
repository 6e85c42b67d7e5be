//! NVMe admin commands and answers (NVM Express Base Specification 2.0).

use super::bytes::{at_least, little_endian, padded_text};
use super::carrier::NvmeCommand;
use super::{CacheReading, DriveIdentity, InvalidAnswer};
use crate::{AfterPowerCycle, Health, ToldBy};

/// Identify, CNS 01h: the controller (5.17.2.1).
pub const IDENTIFY_CONTROLLER: NvmeCommand =
    NvmeCommand { opcode: 0x06, namespace: 0, dword10: 0x01, dword11: 0 };
/// Size of every Identify data structure, in bytes.
pub const IDENTIFY_BYTES: usize = 4096;

/// Get Log Page of the SMART / Health Information log (02h), for the whole controller; bits 31:16
/// are the number of dwords minus one (5.16).
pub const SMART_LOG: NvmeCommand = NvmeCommand {
    opcode: 0x02,
    namespace: u32::MAX,
    dword10: (SMART_BYTES as u32 / 4 - 1) << 16 | 0x02,
    dword11: 0,
};
/// Size of that log, in bytes.
pub const SMART_BYTES: usize = 512;

/// Feature 06h, Volatile Write Cache (5.27.1.4).
const WRITE_CACHE: u32 = 0x06;

/// Get Features of the write cache: bit 0 of the answer is its current value.
pub const GET_WRITE_CACHE: NvmeCommand =
    NvmeCommand { opcode: 0x0A, namespace: 0, dword10: WRITE_CACHE, dword11: 0 };
/// Get Features with Select 011b: the capabilities of the feature.
pub const GET_WRITE_CACHE_CAPABILITIES: NvmeCommand =
    NvmeCommand { dword10: 0b011 << 8 | WRITE_CACHE, ..GET_WRITE_CACHE };

pub const SET_FEATURES: u8 = 0x09;

/// Set Features of the write cache; a saved value survives resets and power cycles.
pub fn set_write_cache(on: bool, save: bool) -> NvmeCommand {
    let dword10 = u32::from(save) << 31 | WRITE_CACHE;
    NvmeCommand { opcode: SET_FEATURES, namespace: 0, dword10, dword11: u32::from(on) }
}

/// The answer to Identify Controller (figure 275).
#[derive(Debug, Clone)]
pub struct Controller {
    identity: DriveIdentity,
    /// ONCS bit 4: Set Features supports Save, Get Features supports Select.
    pub selects: bool,
    /// VWC bit 0.
    pub has_write_cache: bool,
}

impl Controller {
    pub fn decode(answer: &[u8]) -> Result<Controller, InvalidAnswer> {
        at_least(answer, IDENTIFY_BYTES)?;
        let identity = DriveIdentity {
            serial: padded_text(&answer[4..24]),
            model: padded_text(&answer[24..64]),
            firmware: padded_text(&answer[64..72]),
            // Since 2.0, NVMe drives may rotate; this answer does not say.
            rotation: None,
        };
        // It would be dangerous to read "no volatile cache" from a blank answer.
        if identity.model.is_none() {
            return Err(InvalidAnswer("the model number is missing".to_owned()));
        }
        let optional_commands = u16::from_le_bytes([answer[520], answer[521]]);
        Ok(Controller {
            identity,
            selects: optional_commands & 1 << 4 != 0,
            has_write_cache: answer[525] & 1 != 0,
        })
    }

    /// Model, serial number and firmware.
    pub fn identity(self) -> DriveIdentity {
        self.identity
    }
}

/// Capabilities of the write cache feature (5.15, supported capabilities).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Its value can be saved.
    pub saveable: bool,
    /// Its value can be changed.
    pub changeable: bool,
}

impl Capabilities {
    /// Decodes dword 0 of the answer.
    pub fn decode(result: u32) -> Capabilities {
        Capabilities { saveable: result & 1 << 0 != 0, changeable: result & 1 << 2 != 0 }
    }
}

/// The state of the cache. `value` is dword 0 of the answer to Get Features. A drive that does not
/// report the feature's capabilities is assumed to let it be changed: Get and Set Features come
/// together where there is a cache.
pub fn reading(value: Option<u32>, capabilities: Option<Capabilities>) -> CacheReading {
    let (present, enabled) = (value.is_some(), value.is_some_and(|value| value & 1 != 0));
    let switchable = present && capabilities.is_none_or(|capabilities| capabilities.changeable);
    CacheReading {
        present,
        enabled,
        switchable,
        // An unsaved value is lost with any reset of the controller.
        after_power_cycle: match capabilities {
            Some(Capabilities { saveable: true, .. }) if switchable => AfterPowerCycle::Keeps,
            Some(_) if switchable => AfterPowerCycle::Reverts,
            _ => AfterPowerCycle::Unknown,
        },
        told_by: ToldBy::NvmeFeature,
    }
}

/// Decodes the SMART / Health Information log (5.16.1.3).
pub fn health(answer: &[u8]) -> Result<Health, InvalidAnswer> {
    // Spare below its threshold, reliability degraded, read-only, backup of volatile memory (the
    // capacitors of power-loss protection) failed, persistent memory unreliable. Overheating (bit
    // 1) is left out: it passes.
    const FAILING: u8 = 0b0011_1101;
    const BACKUP_FAILED: u8 = 0b0001_0000;
    const ZERO_CELSIUS_IN_KELVIN: i32 = 273;

    at_least(answer, SMART_BYTES)?;
    let answer = &answer[..SMART_BYTES];
    if answer.iter().all(|byte| *byte == 0) {
        return Err(InvalidAnswer("it is blank".to_owned()));
    }
    let counter = |at: usize| little_endian(answer, at, 16);
    let kelvin = i32::from(u16::from_le_bytes([answer[1], answer[2]]));
    Ok(Health {
        failing: Some(answer[0] & FAILING != 0),
        temperature_celsius: (kelvin != 0)
            .then(|| i16::try_from(kelvin - ZERO_CELSIUS_IN_KELVIN).ok())
            .flatten(),
        spare_percent: Some(answer[3]),
        used_percent: Some(u16::from(answer[5])),
        power_cycles: counter(112),
        power_on_hours: counter(128),
        unsafe_shutdowns: counter(144),
        media_errors: counter(160),
        power_loss_protection_failed: answer[0] & BACKUP_FAILED != 0,
    })
}

const FEATURE_NOT_SAVEABLE: u16 = 0x10D;

/// Returns whether Set Features was refused only because the value cannot be saved.
pub fn is_not_saveable(status: u16) -> bool {
    status == FEATURE_NOT_SAVEABLE
}

/// Returns whether the driver, not the drive, ended the command because the drive was unplugged or
/// is being reset (Path Related Status; Linux returns "Host Pathing Error" and "Command Aborted By
/// Host").
pub fn is_path_lost(status: u16) -> bool {
    matches!(status, 0x370 | 0x371)
}

/// The statuses that queries and cache switches can meet (Status Code).
pub fn status_in_words(status: u16) -> String {
    let words = match status {
        0x001 => "unknown command",
        0x002 => "invalid field in the command",
        0x006 => "internal error",
        0x007 => "command aborted",
        0x00B => "invalid namespace or format",
        0x00C => "command sequence error",
        0x015 => "operation denied",
        0x020 => "the namespace is write protected",
        0x109 => "unsupported log page",
        FEATURE_NOT_SAVEABLE => "the feature cannot be saved",
        0x10E => "the feature cannot be changed",
        0x10F => "the feature belongs to the whole controller",
        _ => return format!("status {status:03X}h"),
    };
    format!("{words} (status {status:03X}h)")
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An answer to Identify Controller.
    pub fn identify(model: &str, write_cache: bool, selects: bool) -> Vec<u8> {
        let mut data = vec![0; IDENTIFY_BYTES];
        data[4..24].copy_from_slice(b"S64ANS0T123456      ");
        data[24..64].copy_from_slice(format!("{model:<40}").as_bytes());
        data[64..72].copy_from_slice(b"GDC5902Q");
        data[520] = if selects { 0x5F } else { 0x4F };
        data[525] = if write_cache { 0x07 } else { 0x06 };
        data
    }

    pub fn smart(warning: u8) -> Vec<u8> {
        let mut data = vec![0; SMART_BYTES];
        data[0] = warning;
        data[1..3].copy_from_slice(&310_u16.to_le_bytes());
        data[3..6].copy_from_slice(&[98, 10, 104]);
        for (at, value) in [(112, 1_200_u64), (128, 8_760), (144, 57), (160, 2)] {
            data[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        data
    }

    #[test]
    fn a_drive_names_itself() {
        let controller = Controller::decode(&identify("Samsung SSD 980 1TB", true, true)).unwrap();
        assert!(controller.has_write_cache && controller.selects);
        let identity = controller.identity();
        assert_eq!(identity.model.as_deref(), Some("Samsung SSD 980 1TB"));
        assert_eq!(identity.serial.as_deref(), Some("S64ANS0T123456"));
        assert_eq!(identity.firmware.as_deref(), Some("GDC5902Q"));
        // Bits 2:1 of VWC are about Flush, not about a cache.
        let plp =
            Controller::decode(&identify("SAMSUNG MZQL21T9HCJR-00A07", false, false)).unwrap();
        assert!(!plp.has_write_cache && !plp.selects);
    }

    #[test]
    fn a_blank_answer_is_not_taken_for_a_drive_without_a_cache() {
        insta::assert_snapshot!(Controller::decode(&[0; 4096]).unwrap_err().0, @"the model number is missing");
        insta::assert_snapshot!(Controller::decode(&[1; 512]).unwrap_err().0, @"512 bytes; expected 4096");
    }

    #[test]
    fn the_cache_is_read_from_its_feature() {
        let capable = |bits| Some(Capabilities::decode(bits));
        let of = |value, capabilities| {
            let CacheReading { present, enabled, switchable, after_power_cycle, .. } =
                reading(value, capabilities);
            (present, enabled, switchable, after_power_cycle)
        };
        assert_eq!(of(Some(1), capable(0b101)), (true, true, true, AfterPowerCycle::Keeps));
        assert_eq!(of(Some(0), capable(0b100)), (true, false, true, AfterPowerCycle::Reverts));
        assert_eq!(of(Some(1), capable(0b001)), (true, true, false, AfterPowerCycle::Unknown));
        assert_eq!(of(Some(1), None), (true, true, true, AfterPowerCycle::Unknown));
        assert_eq!(of(None, None), (false, false, false, AfterPowerCycle::Unknown));
    }

    #[test]
    fn commands_as_the_specification_writes_them() {
        assert_eq!(set_write_cache(false, false).dword10, 6);
        assert_eq!(
            set_write_cache(true, true),
            NvmeCommand { opcode: 9, namespace: 0, dword10: 0x8000_0006, dword11: 1 }
        );
        assert_eq!(GET_WRITE_CACHE_CAPABILITIES.dword10, 0x306);
        assert_eq!(SMART_LOG.dword10, 0x007F_0002);
    }

    #[test]
    fn a_drive_reports_its_health() {
        assert_eq!(
            health(&smart(0)).unwrap(),
            Health {
                used_percent: Some(104),
                spare_percent: Some(98),
                unsafe_shutdowns: Some(57),
                power_cycles: Some(1200),
                power_on_hours: Some(8760),
                media_errors: Some(2),
                temperature_celsius: Some(37),
                failing: Some(false),
                power_loss_protection_failed: false,
            }
        );
        assert!(health(&smart(0b1_0000)).unwrap().power_loss_protection_failed);
        for (warning, failing) in
            [(0b1, true), (0b10, false), (0b100, true), (0b1000, true), (0b1_0000, true)]
        {
            assert_eq!(health(&smart(warning)).unwrap().failing, Some(failing), "{warning:b}");
        }
        insta::assert_snapshot!(health(&[0; 512]).unwrap_err().0, @"it is blank");
    }

    #[test]
    fn refusals_in_words() {
        insta::assert_snapshot!(status_in_words(0x10E), @"the feature cannot be changed (status 10Eh)");
        insta::assert_snapshot!(status_in_words(0x7FF), @"status 7FFh");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(answer in proptest::collection::vec(any::<u8>(), 0..520), wide: u8) {
            let _ = (health(&answer), Controller::decode(&answer));
            let whole: Vec<u8> = answer.iter().copied().cycle().chain(std::iter::repeat(wide)).take(IDENTIFY_BYTES).collect();
            let _ = Controller::decode(&whole).map(Controller::identity);
        }
    }
}
