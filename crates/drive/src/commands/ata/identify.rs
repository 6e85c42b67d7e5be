//! IDENTIFY DEVICE: what an ATA drive is, and the state of its write cache.

use super::super::bytes::{at_least, padded_text};
use super::super::{CacheReading, DriveIdentity, InvalidAnswer, Rotation};
use super::{AtaCommand, BLOCK_BYTES};
use crate::{AfterPowerCycle, ToldBy};

pub const IDENTIFY_DEVICE: AtaCommand =
    AtaCommand { command: 0xEC, feature: 0, count: 1, lba: 0, extended: false };

/// The answer to IDENTIFY DEVICE: 256 words, each with its lower byte first (ACS-4, IDENTIFY DEVICE
/// data).
#[derive(Debug, Clone)]
pub struct Identify(Vec<u8>);

const SERIAL: std::ops::Range<usize> = 10..20;
const FIRMWARE: std::ops::Range<usize> = 23..27;
const MODEL: std::ops::Range<usize> = 27..47;

/// Supported feature sets; words 82 to 84.
const SUPPORTED: usize = 82;
/// Enabled feature sets; words 85 to 87.
const ENABLED: usize = 85;
const SMART: u16 = 1 << 0;
const WRITE_CACHE: u16 = 1 << 5;
/// In the third word: General Purpose Logging, which READ LOG EXT needs.
const LOGS: u16 = 1 << 5;

/// Bits of the sector sizes; the logical size, in words of 16 bits, is in the two words at 117.
const SECTOR_SIZES: usize = 106;
const LARGE_LOGICAL_SECTORS: u16 = 1 << 12;
const LOGICAL_SECTOR_WORDS: usize = 117;

const ROTATION: usize = 217;
const INTEGRITY: usize = 255;
const INTEGRITY_SIGNATURE: u16 = 0xA5;

impl Identify {
    pub fn decode(answer: &[u8]) -> Result<Identify, InvalidAnswer> {
        at_least(answer, BLOCK_BYTES)?;
        let identify = Identify(answer[..BLOCK_BYTES].to_vec());
        if identify.word(INTEGRITY) & 0xff == INTEGRITY_SIGNATURE
            && identify.0.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) != 0
        {
            return Err(InvalidAnswer("its checksum is wrong".to_owned()));
        }
        // Bit 15 is clear for every ATA device; ATAPI devices (15) and CompactFlash (848Ah, which
        // looks like one) set it.
        if identify.0.iter().all(|byte| *byte == 0) || identify.text(MODEL).is_none() {
            return Err(InvalidAnswer("the model number is missing".to_owned()));
        }
        Ok(identify)
    }

    fn word(&self, index: usize) -> u16 {
        u16::from_le_bytes([self.0[2 * index], self.0[2 * index + 1]])
    }

    /// In each word, the upper byte holds the first of two characters.
    fn text(&self, words: std::ops::Range<usize>) -> Option<String> {
        let text: Vec<u8> = words.flat_map(|index| self.word(index).to_be_bytes()).collect();
        padded_text(&text)
    }

    /// Returns whether the feature words are valid: the last but one has 01b in its upper bits.
    /// Drives older than ATA-4 lack them, and bridges may leave them blank.
    fn are_valid(&self, words: usize) -> bool {
        let signed = if words == SUPPORTED { words + 1 } else { words + 2 };
        self.word(signed) >> 14 == 0b01
    }

    fn supports(&self, feature: u16) -> Option<bool> {
        self.are_valid(SUPPORTED).then(|| self.word(SUPPORTED) & feature != 0)
    }

    fn enables(&self, feature: u16) -> Option<bool> {
        self.are_valid(ENABLED).then(|| self.word(ENABLED) & feature != 0)
    }

    /// State of the write cache; `None` when the drive does not report it.
    pub fn write_cache(&self) -> Option<CacheReading> {
        let present = self.supports(WRITE_CACHE)?;
        Some(CacheReading {
            present,
            enabled: present && self.enables(WRITE_CACHE)?,
            // The bit of word 82 promises SET FEATURES 02h and 82h.
            switchable: present,
            // SET FEATURES lasts until power is cut (ACS-4: a power-on reset restores the drive's
            // defaults), and cannot be saved.
            after_power_cycle: if present {
                AfterPowerCycle::Reverts
            } else {
                AfterPowerCycle::Unknown
            },
            told_by: ToldBy::AtaIdentify,
        })
    }

    /// Returns whether SMART is supported and enabled; `None` when the drive does not report it.
    pub fn smart(&self) -> Option<(bool, bool)> {
        let supported = self.supports(SMART)?;
        Some((supported, supported && self.enables(SMART).unwrap_or(false)))
    }

    /// Returns whether READ LOG EXT is supported.
    pub fn has_logs(&self) -> bool {
        let word = self.word(SUPPORTED + 2);
        word >> 14 == 0b01 && word & LOGS != 0
    }

    /// Size of a logical sector, in bytes.
    pub fn sector_bytes(&self) -> u64 {
        let sizes = self.word(SECTOR_SIZES);
        if sizes >> 14 == 0b01 && sizes & LARGE_LOGICAL_SECTORS != 0 {
            let [low, high] = [0, 1].map(|word| self.word(LOGICAL_SECTOR_WORDS + word));
            return 2 * (u64::from(high) << 16 | u64::from(low));
        }
        512
    }

    /// Model, serial number and firmware.
    pub fn identity(&self) -> DriveIdentity {
        DriveIdentity {
            model: self.text(MODEL),
            serial: self.text(SERIAL),
            firmware: self.text(FIRMWARE),
            rotation: Rotation::decode(self.word(ROTATION)),
        }
    }
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Builder of answers to IDENTIFY DEVICE.
    #[derive(Debug, Clone)]
    pub struct Answer(pub Vec<u8>);

    impl Answer {
        pub fn new() -> Answer {
            let mut answer = Answer(vec![0; BLOCK_BYTES]);
            answer
                .text(SERIAL, "PHYF0001")
                .text(FIRMWARE, "XC311132")
                .text(MODEL, "INTEL SSDSC2KB480G8");
            answer.word(82, SMART | WRITE_CACHE).word(83, 0x4000).word(84, 0x4000 | LOGS);
            answer
                .word(85, SMART | WRITE_CACHE)
                .word(86, 0)
                .word(87, 0x4000 | LOGS)
                .word(ROTATION, 1);
            answer
        }

        pub fn word(&mut self, index: usize, value: u16) -> &mut Self {
            self.0[2 * index..2 * index + 2].copy_from_slice(&value.to_le_bytes());
            self
        }

        fn text(&mut self, words: std::ops::Range<usize>, text: &str) -> &mut Self {
            let mut padded = format!("{text:<width$}", width = 2 * words.len()).into_bytes();
            padded.chunks_mut(2).for_each(<[u8]>::reverse);
            self.0[2 * words.start..2 * words.end].copy_from_slice(&padded);
            self
        }

        pub fn cache_on(&mut self, on: bool) -> &mut Self {
            self.word(85, if on { SMART | WRITE_CACHE } else { SMART })
        }

        fn sealed(&mut self) -> &mut Self {
            self.word(INTEGRITY, INTEGRITY_SIGNATURE);
            let sum = self.0.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
            self.word(
                INTEGRITY,
                u16::from_be_bytes([sum.wrapping_neg(), INTEGRITY_SIGNATURE as u8]),
            )
        }
    }

    fn decode(answer: &Answer) -> Identify {
        Identify::decode(&answer.0).unwrap()
    }

    #[test]
    fn a_drive_names_itself() {
        let identity = decode(&Answer::new()).identity();
        assert_eq!(identity.model.as_deref(), Some("INTEL SSDSC2KB480G8"));
        assert_eq!(identity.serial.as_deref(), Some("PHYF0001"));
        assert_eq!(identity.firmware.as_deref(), Some("XC311132"));
        assert_eq!(identity.rotation, Some(Rotation::SolidState));
    }

    #[test]
    fn the_cache_is_there_and_on_or_off() {
        for on in [true, false] {
            let reading = decode(Answer::new().cache_on(on)).write_cache().unwrap();
            assert_eq!(
                reading,
                CacheReading {
                    present: true,
                    enabled: on,
                    switchable: true,
                    after_power_cycle: AfterPowerCycle::Reverts,
                    told_by: ToldBy::AtaIdentify,
                }
            );
        }
    }

    #[test]
    fn a_drive_without_a_cache_has_none_that_is_on() {
        // Word 85 claims what word 82 denies.
        let reading = decode(Answer::new().word(82, SMART)).write_cache().unwrap();
        assert!(!reading.present && !reading.enabled && !reading.switchable);
    }

    #[test]
    fn feature_words_without_their_signature_say_nothing() {
        for signature in [0x0000, 0x8000, 0xC000, 0xFFFF] {
            for word in [83, 87] {
                assert_eq!(
                    decode(Answer::new().word(word, signature)).write_cache(),
                    None,
                    "word {word}"
                );
            }
        }
        assert_eq!(decode(Answer::new().word(83, 0)).smart(), None);
        assert!(!decode(Answer::new().word(84, 0xFFFF)).has_logs());
    }

    #[test]
    fn sectors_are_of_512_bytes_unless_larger_ones_are_reported() {
        assert_eq!(decode(&Answer::new()).sector_bytes(), 512);
        // Only the physical sectors are larger.
        assert_eq!(decode(Answer::new().word(106, 0x6003)).sector_bytes(), 512);
        let native = decode(Answer::new().word(106, 0x5000).word(117, 2048)).sector_bytes();
        assert_eq!(native, 4096);
        assert_eq!(decode(Answer::new().word(106, 0xFFFF).word(117, 2048)).sector_bytes(), 512);
    }

    #[test]
    fn a_wrong_checksum_is_noticed_where_there_is_one() {
        assert!(Identify::decode(&Answer::new().sealed().0).is_ok());
        let mut damaged = Answer::new();
        damaged.sealed().0[300] ^= 1;
        insta::assert_snapshot!(Identify::decode(&damaged.0).unwrap_err().0, @"its checksum is wrong");
    }

    #[test]
    fn what_is_short_or_blank_is_nonsense() {
        insta::assert_snapshot!(Identify::decode(&[0; 36]).unwrap_err().0, @"36 bytes; expected 512");
        insta::assert_snapshot!(Identify::decode(&[0; 512]).unwrap_err().0, @"the model number is missing");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(answer in proptest::collection::vec(any::<u8>(), 0..600)) {
            if let Ok(identify) = Identify::decode(&answer) {
                let _ = (identify.write_cache(), identify.smart(), identify.has_logs());
                let _ = (identify.sector_bytes(), identify.identity());
            }
        }
    }
}
