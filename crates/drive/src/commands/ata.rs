//! ATA commands and answers (T13: ACS-4), and how they travel inside SCSI ones (T10: SAT-4).
//!
//! | module | purpose |
//! | --- | --- |
//! | `identify` | IDENTIFY DEVICE: what the drive is, and its write cache |
//! | `smart` | SMART attributes and verdict |
//! | `statistics` | Device Statistics, the counters defined by the standard |
//! | `written` | the attributes in which vendors count what a drive has written |

pub mod identify;
pub mod smart;
pub mod statistics;
pub mod written;

use super::scsi::sense::Sense;

/// The ATA command registers that these modules need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AtaCommand {
    pub command: u8,
    pub feature: u8,
    pub count: u8,
    /// 48 bits in EXT commands, 28 otherwise.
    pub lba: u64,
    /// True if this is an EXT command.
    pub extended: bool,
}

/// Size of every data answer requested here: one block.
pub const BLOCK_BYTES: usize = 512;

const PROTOCOL_NO_DATA: u8 = 3;
const PROTOCOL_PIO_IN: u8 = 4;

const CHECK_CONDITION: u8 = 1 << 5;
const FROM_DRIVE: u8 = 1 << 3;
const IN_BLOCKS: u8 = 1 << 2;
const LENGTH_IN_COUNT: u8 = 0b10;

impl AtaCommand {
    /// ATA PASS-THROUGH (16) for a command that reads one block.
    pub fn reading(self) -> [u8; 16] {
        self.cdb(PROTOCOL_PIO_IN, FROM_DRIVE | IN_BLOCKS | LENGTH_IN_COUNT)
    }

    /// The same for a command that moves no data.
    pub fn without_data(self) -> [u8; 16] {
        self.cdb(PROTOCOL_NO_DATA, 0)
    }

    /// The same for a command whose answer is in the registers: they come back as sense data.
    pub fn for_registers(self) -> [u8; 16] {
        self.cdb(PROTOCOL_NO_DATA, CHECK_CONDITION)
    }

    // SAT-4, ATA PASS-THROUGH (16) command: the upper byte of each register (EXT commands) precedes
    // the lower.
    fn cdb(self, protocol: u8, transfer: u8) -> [u8; 16] {
        let lba = self.lba.to_le_bytes();
        let upper = |index: usize| if self.extended { lba[index] } else { 0 };
        let device = if self.extended { 0x40 } else { lba[3] & 0x0f };
        let first = protocol << 1 | u8::from(self.extended);
        let registers =
            [0, self.feature, 0, self.count, upper(3), lba[0], upper(4), lba[1], upper(5), lba[2]];
        let mut cdb = [0; 16];
        cdb[..3].copy_from_slice(&[0x85, first, transfer]);
        cdb[3..13].copy_from_slice(&registers);
        cdb[13..15].copy_from_slice(&[device, self.command]);
        cdb
    }
}

/// SET FEATURES, enable (02h) or disable (82h) the volatile write cache.
pub fn set_write_cache(on: bool) -> AtaCommand {
    AtaCommand { command: 0xEF, feature: if on { 0x02 } else { 0x82 }, ..AtaCommand::default() }
}

/// CHECK POWER MODE: a drive in standby answers without waking up.
pub const CHECK_POWER_MODE: AtaCommand =
    AtaCommand { command: 0xE5, feature: 0, count: 0, lba: 0, extended: false };

/// READ LOG EXT of one page.
pub fn read_log(log: u8, page: u8) -> AtaCommand {
    let lba = u64::from(page) << 8 | u64::from(log);
    AtaCommand { command: 0x2F, count: 1, lba, extended: true, ..AtaCommand::default() }
}

/// The registers that a command returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    pub error: u8,
    pub status: u8,
    /// Bits 7:0 of the count, which hold the answer of CHECK POWER MODE.
    pub count: u8,
    /// Bits 23:8 of the LBA, which hold the answer of SMART.
    pub lba_8_to_23: u16,
}

impl Registers {
    /// Decodes sense data, which carry the registers as a descriptor of type 09h or spread over the
    /// fields of the fixed format (SAT-4, ATA Status Return).
    pub fn from_sense(sense: &[u8]) -> Option<Registers> {
        const ATA_STATUS_RETURN: u8 = 0x09;
        // ATA PASS-THROUGH INFORMATION AVAILABLE. Without it, the fixed format's fields mean
        // something else.
        const INFORMATION_AVAILABLE: (u8, u8) = (0x00, 0x1D);

        let decoded = Sense::decode(sense)?;
        if let Some(descriptor) = decoded.descriptor(sense, ATA_STATUS_RETURN) {
            return Some(Registers {
                error: *descriptor.get(3)?,
                status: *descriptor.get(13)?,
                count: *descriptor.get(5)?,
                lba_8_to_23: u16::from_le_bytes([*descriptor.get(9)?, *descriptor.get(11)?]),
            });
        }
        if decoded.descriptors || (decoded.code, decoded.qualifier) != INFORMATION_AVAILABLE {
            return None;
        }
        Some(Registers {
            error: *sense.get(3)?,
            status: *sense.get(4)?,
            count: *sense.get(6)?,
            lba_8_to_23: u16::from_le_bytes([*sense.get(10)?, *sense.get(11)?]),
        })
    }

    /// Returns whether CHECK POWER MODE reports one of the two standby modes, in which disks are
    /// stopped (ACS-4, CHECK POWER MODE, count field).
    pub fn is_standby(self) -> bool {
        matches!(self.count, 0x00 | 0x01)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn identify_as_sat_writes_it() {
        let cdb = identify::IDENTIFY_DEVICE.reading();
        assert_eq!(cdb, [0x85, 0x08, 0x0E, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xEC, 0]);
    }

    #[test]
    fn the_switch_moves_no_data() {
        assert_eq!(
            set_write_cache(true).without_data(),
            [0x85, 0x06, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xEF, 0]
        );
        assert_eq!(
            set_write_cache(false).without_data(),
            [0x85, 0x06, 0, 0, 0x82, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xEF, 0]
        );
    }

    #[test]
    fn an_extended_command_has_its_log_and_page_in_the_lba() {
        let cdb = read_log(0x04, 0x07).reading();
        assert_eq!(cdb, [0x85, 0x09, 0x0E, 0, 0, 0, 1, 0, 0x04, 0, 0x07, 0, 0, 0x40, 0x2F, 0]);
    }

    #[test]
    fn registers_come_back_in_both_formats() {
        let expected = Registers { error: 0, status: 0x50, count: 1, lba_8_to_23: 0xC24F };
        let mut descriptor = vec![0x72, 0x01, 0x00, 0x1D, 0, 0, 0, 14];
        descriptor.extend([0x09, 0x0C, 0, 0, 0, 1, 0, 0, 0, 0x4F, 0, 0xC2, 0, 0x50]);
        assert_eq!(Registers::from_sense(&descriptor), Some(expected));

        let fixed = [0x70, 0, 0x01, 0x00, 0x50, 0, 1, 10, 0, 0, 0x4F, 0xC2, 0x00, 0x1D, 0, 0, 0, 0];
        assert_eq!(Registers::from_sense(&fixed), Some(expected));
    }

    #[test]
    fn standby_differs_from_idle_and_active() {
        let standby =
            |count| Registers { error: 0, status: 0x50, count, lba_8_to_23: 0 }.is_standby();
        assert_eq!([0x00, 0x01, 0x80, 0x83, 0xFF].map(standby), [true, true, false, false, false]);
    }

    #[test]
    fn a_refusal_carries_no_registers() {
        let fixed = [0x70, 0, 0x05, 0, 0x50, 0, 0, 10, 0, 0, 0x4F, 0xC2, 0x20, 0x00, 0, 0, 0, 0];
        assert_eq!(Registers::from_sense(&fixed), None);
        assert_eq!(Registers::from_sense(&[0x72, 0x05, 0x20, 0x00, 0, 0, 0, 0]), None);
        assert_eq!(Registers::from_sense(&[]), None);
    }

    proptest! {
        #[test]
        fn no_sense_makes_it_stumble(sense in proptest::collection::vec(any::<u8>(), 0..70)) {
            let _ = Registers::from_sense(&sense);
        }
    }
}
