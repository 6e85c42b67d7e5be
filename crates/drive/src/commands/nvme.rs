//! NVMe admin commands and answers (NVM Express Base Specification 2.0).

use super::bytes::{at_least, little_endian, padded_text};
use super::carrier::NvmeCommand;
use super::{CacheReading, DriveIdentity, InvalidAnswer};
use crate::{AfterPowerCycle, Health, ToldBy, WrittenBytes};

/// Identify, CNS 01h: the controller (5.17.2.1).
pub const IDENTIFY_CONTROLLER: NvmeCommand =
    NvmeCommand { opcode: 0x06, namespace: 0, dword10: 0x01, dword11: 0 };
/// Size of every Identify data structure, in bytes.
pub const IDENTIFY_BYTES: usize = 4096;

/// Get Log Page, for the whole controller; bits 31:16 are the number of dwords minus one (5.16).
const fn get_log(page: u8, bytes: usize) -> NvmeCommand {
    NvmeCommand {
        opcode: 0x02,
        namespace: u32::MAX,
        dword10: (bytes as u32 / 4 - 1) << 16 | page as u32,
        dword11: 0,
    }
}

/// The SMART / Health Information log.
pub const SMART_LOG: NvmeCommand = get_log(0x02, SMART_BYTES);
/// Size of that log and of the vendors' logs, in bytes.
pub const SMART_BYTES: usize = 512;

/// The Supported Log Pages log.
pub const SUPPORTED_LOGS: NvmeCommand = get_log(0x00, SUPPORTED_LOGS_BYTES);
/// Size of that log, in bytes: four for each page.
pub const SUPPORTED_LOGS_BYTES: usize = 1024;

/// The number of the OCP's log page "SMART / Health Information Extended". It lies in the vendors'
/// range, so its content must be recognised by its GUID.
pub const OCP_PAGE: u8 = 0xC0;
pub const OCP_LOG: NvmeCommand = get_log(OCP_PAGE, SMART_BYTES);

/// The number of Intel's log page "Additional SMART Attributes", which Solidigm kept.
pub const INTEL_PAGE: u8 = 0xCA;
pub const INTEL_LOG: NvmeCommand = get_log(INTEL_PAGE, SMART_BYTES);

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
    /// PCI vendor number.
    vendor: u16,
    /// LPA bit 5: the controller supports the Supported Log Pages log.
    pub lists_logs: bool,
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
            vendor: u16::from_le_bytes([answer[0], answer[1]]),
            lists_logs: answer[261] & 1 << 5 != 0,
            selects: optional_commands & 1 << 4 != 0,
            has_write_cache: answer[525] & 1 != 0,
        })
    }

    /// Returns whether it is a drive of Intel, or of Solidigm, which took over Intel's drives.
    pub fn is_intel(&self) -> bool {
        matches!(self.vendor, 0x8086 | 0x025E)
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
        host_bytes_written: data_written(answer).map(|written| written.bytes),
        medium_bytes_written: None,
        power_loss_protection_failed: answer[0] & BACKUP_FAILED != 0,
    })
}

/// Bytes written by the host, from the SMART / Health Information log: data units of a thousand
/// sectors of 512 bytes; 0 is "not reported" (5.16.1.3).
pub fn data_written(answer: &[u8]) -> Option<WrittenBytes> {
    const DATA_UNIT_BYTES: u64 = 512_000;
    let units = little_endian(answer, 48, 16).filter(|units| *units > 0)?;
    WrittenBytes::counted(units, DATA_UNIT_BYTES)
}

/// Returns whether the Supported Log Pages log lists a page (bit 0 of its entry).
pub fn is_listed(supported_logs: &[u8], page: u8) -> bool {
    supported_logs.get(4 * usize::from(page)).is_some_and(|entry| entry & 1 != 0)
}

/// Bytes that the drive has written to its flash, from the OCP's log page: physical media units written,
/// in bytes (OCP, Datacenter NVMe SSD Specification, SMART / Health Information Extended). `None`
/// if the page is another one.
pub fn ocp_written(answer: &[u8]) -> Option<WrittenBytes> {
    /// AFD514C9-7C6F-4F9C-A4F2-BFEA2810AFC5, little endian; nvme-cli checks it as well
    /// (plugins/ocp/ocp-smart-extended-log.c).
    const GUID: u128 = 0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5;
    // The specification does not say in which steps the counter advances. Drives program flash on
    // several planes at once, which is less than this.
    const STEP_BYTES: u64 = 1 << 20;

    if answer.get(496..512)? != GUID.to_le_bytes() {
        return None;
    }
    let bytes = little_endian(answer, 0, 16).filter(|bytes| (1..u64::MAX).contains(bytes))?;
    Some(WrittenBytes { bytes, granule_bytes: STEP_BYTES })
}

/// The same from Intel's log page: items of 12 bytes, each with a key and, from byte 5, six bytes
/// of raw value (nvme-cli, plugins/solidigm/solidigm-smart.c). Key F4h counts NAND writes in units
/// of 32 MiB (product specifications of the DC P3700 and its successors). `None` if this item is
/// missing, as on Optane drives.
pub fn intel_written(answer: &[u8]) -> Option<WrittenBytes> {
    const ITEM_BYTES: usize = 12;
    const NAND_BYTES_WRITTEN: u8 = 0xF4;
    const UNIT_BYTES: u64 = 32 << 20;

    let item = answer.chunks_exact(ITEM_BYTES).find(|item| item[0] == NAND_BYTES_WRITTEN)?;
    let units = little_endian(item, 5, 6).filter(|units| *units > 0)?;
    WrittenBytes::counted(units, UNIT_BYTES)
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
        for (at, value) in [(48, 2_000), (112, 1_200_u64), (128, 8_760), (144, 57), (160, 2)] {
            data[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        data
    }

    /// The GUID in the order in which nvme-cli lists its bytes.
    const OCP_GUID: [u8; 16] = [
        0xC5, 0xAF, 0x10, 0x28, 0xEA, 0xBF, 0xF2, 0xA4, 0x9C, 0x4F, 0x6F, 0x7C, 0xC9, 0x14, 0xD5,
        0xAF,
    ];

    /// The OCP's log page.
    pub fn ocp(written_bytes: u64) -> Vec<u8> {
        let mut data = vec![0; SMART_BYTES];
        data[..8].copy_from_slice(&written_bytes.to_le_bytes());
        data[496..].copy_from_slice(&OCP_GUID);
        data
    }

    /// Intel's log page with these keys and raw values.
    pub fn intel(items: &[(u8, u64)]) -> Vec<u8> {
        let mut data = vec![0; SMART_BYTES];
        for (item, (key, raw)) in data.chunks_exact_mut(12).zip(items) {
            (item[0], item[3]) = (*key, 100);
            item[5..11].copy_from_slice(&raw.to_le_bytes()[..6]);
        }
        data
    }

    #[test]
    fn flash_writes_by_the_ocp() {
        assert_eq!(ocp_written(&ocp(3 << 40)).map(|written| written.bytes), Some(3 << 40));
        // Beyond 64 bits, or blank.
        let mut damaged = ocp(3 << 40);
        damaged[9] = 1;
        assert_eq!((ocp_written(&damaged), ocp_written(&ocp(0))), (None, None));
        // Another vendor's page of this number.
        let mut other = ocp(3 << 40);
        other[500] ^= 1;
        assert_eq!((ocp_written(&other), ocp_written(&other[..500])), (None, None));
    }

    #[test]
    fn flash_writes_by_intel() {
        let page = intel(&[(0xAB, 0), (0xF4, 224_943_088), (0xF5, 100_000_000)]);
        let written = intel_written(&page).unwrap();
        assert_eq!((written.bytes, written.granule_bytes), (224_943_088 << 25, 32 << 20));
        assert_eq!(intel_written(&intel(&[(0xF5, 100)])), None);
        // Not a value, but bytes that look like a key between two items.
        assert_eq!(intel_written(&intel(&[(0xAB, 0xF4), (0xAC, 0xF4F4_F4F4_F4F4)])), None);
    }

    #[test]
    fn log_pages_are_listed() {
        let mut list = vec![0; SUPPORTED_LOGS_BYTES];
        list[4 * 0xC0] = 1;
        assert!(is_listed(&list, OCP_PAGE) && !is_listed(&list, INTEL_PAGE));
        assert!(!is_listed(&[], OCP_PAGE));
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
        assert_eq!(SUPPORTED_LOGS.dword10, 0x00FF_0000);
        assert_eq!(OCP_LOG.dword10, 0x007F_00C0);
        assert_eq!(INTEL_LOG.dword10, 0x007F_00CA);
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
                host_bytes_written: Some(1_024_000_000),
                medium_bytes_written: None,
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
            let _ = (data_written(&answer), ocp_written(&answer), intel_written(&answer));
            let _ = is_listed(&answer, wide);
            if answer.len() >= SMART_BYTES {
                let mut ocp = answer.clone();
                ocp[496..512].copy_from_slice(&OCP_GUID);
                let _ = ocp_written(&ocp);
            }
            let whole: Vec<u8> = answer.iter().copied().cycle().chain(std::iter::repeat(wide)).take(IDENTIFY_BYTES).collect();
            let _ = Controller::decode(&whole).map(Controller::identity);
        }
    }
}
