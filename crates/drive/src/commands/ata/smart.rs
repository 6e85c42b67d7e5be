//! SMART: a drive's verdict on itself, and the attributes that its vendor chose to count.

use super::super::InvalidAnswer;
use super::super::bytes::{at_least, little_endian};
use super::{AtaCommand, BLOCK_BYTES, Registers, written};
use crate::{Health, Wear};

/// SMART commands carry this key in their LBA, and the drive answers in the same place.
const KEY: u16 = 0xC24F;
/// RETURN STATUS: a threshold was passed.
const FAILING: u16 = 0x2CF4;

const fn smart(feature: u8, count: u8) -> AtaCommand {
    AtaCommand { command: 0xB0, feature, count, lba: (KEY as u64) << 8, extended: false }
}

pub const READ_DATA: AtaCommand = smart(0xD0, 1);
pub const RETURN_STATUS: AtaCommand = smart(0xDA, 0);

/// The drive's verdict; `None` where the registers hold neither answer (a bridge that loses them).
pub fn failing(registers: Registers) -> Option<bool> {
    match registers.lba_8_to_23 {
        KEY => Some(false),
        FAILING => Some(true),
        _ => None,
    }
}

// Attributes are vendor-specific, and no standard lists them. Vendors agree on the meaning of these
// numbers (smartmontools' drivedb.h); wear is not among them, so it is taken from Device Statistics
// only.
const POWER_ON_HOURS: u8 = 9;
const POWER_CYCLES: u8 = 12;
const UNEXPECTED_POWER_LOSS: u8 = 174;
/// On a disk, heads retracted with the last energy; on an SSD, unsafe shutdowns.
const POWER_OFF_RETRACT: u8 = 192;
const TEMPERATURE: u8 = 194;
const AIRFLOW_TEMPERATURE: u8 = 190;
const PENDING_SECTORS: u8 = 197;
const UNCORRECTABLE_SECTORS: u8 = 198;

const ATTRIBUTES: std::ops::Range<usize> = 2..362;
const ATTRIBUTE_BYTES: usize = 12;

/// The answer to SMART READ DATA.
#[derive(Debug)]
pub struct Attributes<'a>(&'a [u8]);

impl Attributes<'_> {
    /// Decodes the answer: 30 slots of 12 bytes, each with a number (0 for an empty slot), flags, two
    /// normalised values and, from byte 5, six bytes of raw value; at the end a byte that makes the
    /// sum of all bytes zero (ATA-7, the last standard to describe the slots; ACS-4 calls them
    /// vendor specific).
    pub fn decode(answer: &[u8]) -> Result<Attributes<'_>, InvalidAnswer> {
        at_least(answer, BLOCK_BYTES)?;
        let answer = &answer[..BLOCK_BYTES];
        if answer.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) != 0 {
            return Err(InvalidAnswer("its checksum is wrong".to_owned()));
        }
        Ok(Attributes(answer))
    }

    /// The lowest `bytes` bytes of a raw value, which has six. Vendors put other values into the
    /// upper ones: milliseconds, the lowest and highest temperature.
    fn raw(&self, number: u8, bytes: usize) -> Option<u64> {
        let mut slots = self.0[ATTRIBUTES].chunks_exact(ATTRIBUTE_BYTES);
        slots.find(|slot| slot[0] == number).and_then(|slot| little_endian(slot, 5, bytes))
    }

    /// The counters of bytes written; `None` if the attributes of this model are not known.
    pub fn wear(&self, model: &str) -> Option<Wear> {
        written::wear(model, |number| self.raw(number, 6))
    }

    /// The attributes that vendors agree on.
    pub fn health(&self) -> Health {
        let raw = |number, bytes| self.raw(number, bytes);
        let pending = raw(PENDING_SECTORS, 4);
        let uncorrectable = raw(UNCORRECTABLE_SECTORS, 4);
        let temperature = raw(TEMPERATURE, 1).or_else(|| raw(AIRFLOW_TEMPERATURE, 1));
        Health {
            power_on_hours: raw(POWER_ON_HOURS, 4),
            power_cycles: raw(POWER_CYCLES, 4),
            unsafe_shutdowns: raw(UNEXPECTED_POWER_LOSS, 4).or_else(|| raw(POWER_OFF_RETRACT, 4)),
            // A sector that a scan found unreadable is counted in both.
            media_errors: pending.max(uncorrectable),
            temperature_celsius: temperature.map(|degrees| i16::from(degrees as u8 as i8)),
            ..Health::default()
        }
    }
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An answer to SMART READ DATA with these attributes and raw values.
    pub fn answer(attributes: &[(u8, u64)]) -> Vec<u8> {
        let mut data = vec![0; BLOCK_BYTES];
        data[0] = 0x10;
        for (slot, (number, raw)) in attributes.iter().enumerate() {
            let slot = &mut data[2 + slot * ATTRIBUTE_BYTES..][..ATTRIBUTE_BYTES];
            slot[0] = *number;
            slot[3..5].fill(100);
            slot[5..11].copy_from_slice(&raw.to_le_bytes()[..6]);
        }
        let sum = data.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        data[511] = sum.wrapping_neg();
        data
    }

    fn health(answer: &[u8]) -> Health {
        Attributes::decode(answer).unwrap().health()
    }

    #[test]
    fn counters_of_writes_have_six_bytes() {
        let answer = answer(&[(246, 0xFFFF_FFFF_FFFF), (247, 1 << 40), (248, 1 << 40)]);
        let attributes = Attributes::decode(&answer).unwrap();
        let wear = attributes.wear("CT500MX500SSD1").unwrap();
        assert_eq!(wear.host.unwrap().bytes, 0xFFFF_FFFF_FFFF * 512);
        assert_eq!(wear.medium_bytes(wear.host.unwrap().bytes), Some(2 * 0xFFFF_FFFF_FFFF * 512));
        assert_eq!(attributes.wear("Samsung SSD 870 EVO 1TB"), None);
    }

    #[test]
    fn attributes_that_makers_agree_on() {
        // 194: 31 °C now, 19 lowest, 47 highest. 9: hours, with a vendor's milliseconds above.
        let health = health(&answer(&[
            (9, 0x1234_0000_3039),
            (12, 61),
            (174, 7),
            (192, 9),
            (194, 0x002F_0013_001F),
            (197, 8),
            (198, 3),
        ]));
        assert_eq!(
            health,
            Health {
                power_on_hours: Some(12345),
                power_cycles: Some(61),
                unsafe_shutdowns: Some(7),
                temperature_celsius: Some(31),
                media_errors: Some(8),
                ..Health::default()
            }
        );
    }

    #[test]
    fn counters_that_are_not_kept_are_none() {
        assert_eq!(health(&answer(&[])), Health::default());
        assert_eq!(health(&answer(&[(192, 4)])).unsafe_shutdowns, Some(4));
        assert_eq!(health(&answer(&[(190, 0xFB)])).temperature_celsius, Some(-5));
    }

    #[test]
    fn damaged_data_are_refused() {
        let mut damaged = answer(&[(9, 1)]);
        damaged[7] ^= 1;
        insta::assert_snapshot!(Attributes::decode(&damaged).unwrap_err().0, @"its checksum is wrong");
        insta::assert_snapshot!(Attributes::decode(&damaged[..100]).unwrap_err().0, @"100 bytes; expected 512");
    }

    #[test]
    fn the_verdict_comes_in_the_registers() {
        let registers = |lba_8_to_23| Registers { error: 0, status: 0x50, count: 0, lba_8_to_23 };
        assert_eq!(failing(registers(0xC24F)), Some(false));
        assert_eq!(failing(registers(0x2CF4)), Some(true));
        assert_eq!(failing(registers(0)), None);
        let cdb = RETURN_STATUS.for_registers();
        assert_eq!(cdb, [0x85, 0x06, 0x20, 0, 0xDA, 0, 0, 0, 0, 0, 0x4F, 0, 0xC2, 0, 0xB0, 0]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(mut data in proptest::collection::vec(any::<u8>(), BLOCK_BYTES)) {
            let sum = data[..511].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
            data[511] = sum.wrapping_neg();
            let attributes = Attributes::decode(&data).unwrap();
            let _ = (attributes.health(), attributes.wear("CT500MX500SSD1"));
        }
    }
}
