//! Commands that drivers give drives: which one it is, and for which drives the kernel records it.

use drive::DriverAddress;

use crate::event::{Flags, Operation};

/// The bus of a driver's tracepoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bus {
    Nvme,
    Scsi,
}

impl Bus {
    pub fn of(address: &DriverAddress) -> Bus {
        match address {
            DriverAddress::Nvme { .. } => Bus::Nvme,
            DriverAddress::Scsi { .. } => Bus::Scsi,
        }
    }
}

/// Opcodes of the NVM command set (NVM Command Set Specification 1.0, section 3).
mod nvm {
    pub const FLUSH: u8 = 0x00;
    pub const WRITE: u8 = 0x01;
    pub const READ: u8 = 0x02;
    pub const DATASET_MANAGEMENT: u8 = 0x09;
    /// Bit 30 of command dword 12: byte 3 of the third of the dwords from 10 on.
    pub const FUA_BYTE: usize = 11;
    pub const FUA: u8 = 0x40;
}

/// Opcodes of SCSI (SBC-4).
mod sbc {
    pub const WRITE_6: u8 = 0x0a;
    pub const WRITE_10: u8 = 0x2a;
    pub const WRITE_12: u8 = 0xaa;
    pub const WRITE_16: u8 = 0x8a;
    pub const READS: [u8; 4] = [0x08, 0x28, 0xa8, 0x88];
    pub const SYNCHRONIZE_CACHE_10: u8 = 0x35;
    pub const SYNCHRONIZE_CACHE_16: u8 = 0x91;
    pub const UNMAP: u8 = 0x42;
    pub const WRITE_SAME_10: u8 = 0x41;
    pub const WRITE_SAME_16: u8 = 0x93;
    /// `WRITE (32)`: the opcode of all commands of variable length, and the service action.
    pub const VARIABLE: u8 = 0x7f;
    pub const WRITE_32: [u8; 2] = [0x00, 0x0b];
    /// A bit of byte 1; of byte 10 in `WRITE (32)`.
    pub const FUA: u8 = 0x08;
    /// A bit of byte 1 of `WRITE SAME`.
    pub const UNMAPS: u8 = 0x08;
}

/// An NVMe command for a namespace, by its opcode and its dwords from 10 on.
pub(crate) fn nvme_command(opcode: u8, dwords: &[u8]) -> Flags {
    let fua = dwords.get(nvm::FUA_BYTE).is_some_and(|byte| byte & nvm::FUA != 0);
    match opcode {
        nvm::FLUSH => Flags::of(Operation::Flush),
        nvm::WRITE => Flags::of(Operation::Write).with_fua(fua),
        nvm::READ => Flags::of(Operation::Read),
        nvm::DATASET_MANAGEMENT => Flags::of(Operation::Discard),
        _ => Flags::of(Operation::Other),
    }
}

/// A SCSI command, by its command descriptor block. libata translates each for an ATA drive.
pub(crate) fn scsi_command(block: &[u8]) -> Flags {
    let has = |byte: usize, bit: u8| block.get(byte).is_some_and(|byte| byte & bit != 0);
    match block.first().copied().unwrap_or_default() {
        sbc::WRITE_6 => Flags::of(Operation::Write),
        sbc::WRITE_10 | sbc::WRITE_12 | sbc::WRITE_16 => {
            Flags::of(Operation::Write).with_fua(has(1, sbc::FUA))
        }
        sbc::VARIABLE if block.get(8..10) == Some(&sbc::WRITE_32) => {
            Flags::of(Operation::Write).with_fua(has(10, sbc::FUA))
        }
        sbc::SYNCHRONIZE_CACHE_10 | sbc::SYNCHRONIZE_CACHE_16 => Flags::of(Operation::Flush),
        sbc::UNMAP => Flags::of(Operation::Discard),
        sbc::WRITE_SAME_10 | sbc::WRITE_SAME_16 if has(1, sbc::UNMAPS) => {
            Flags::of(Operation::Discard)
        }
        opcode if sbc::READS.contains(&opcode) => Flags::of(Operation::Read),
        _ => Flags::of(Operation::Other),
    }
}

/// The events of commands that are worth recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// Commands that a driver gives or takes back, except reads.
    Given,
    /// Commands that ended and may have failed, with the field that is not zero then.
    Ended { failure: Option<&'static str> },
}

/// The kernel takes a filter of at most one page.
const FILTER_MAX: usize = 4095;

/// The kernel's filter for these drives; `None` if none is on this bus.
pub(crate) fn filter<'a>(
    bus: Bus,
    recorded: Recorded,
    addresses: impl Iterator<Item = &'a DriverAddress>,
) -> Option<String> {
    let mut each: Vec<&DriverAddress> = addresses.filter(|one| Bus::of(one) == bus).collect();
    each.sort();
    if each.is_empty() {
        return None;
    }
    let drives = each.into_iter().map(condition).collect::<Vec<_>>().join(" || ");
    let which = match recorded {
        Recorded::Given => not_a_read(bus),
        Recorded::Ended { failure: Some(field) } => format!("{field} != 0"),
        Recorded::Ended { failure: None } => return Some(within(drives, String::new())),
    };
    let both = format!("({drives}) && {which}");
    Some(within(both, which))
}

/// The filter, or the part without drives if it is too long.
pub(crate) fn within(filter: String, part: String) -> String {
    if filter.len() > FILTER_MAX { part } else { filter }
}

fn condition(address: &DriverAddress) -> String {
    match address {
        DriverAddress::Nvme { .. } => format!("disk == \"{address}\""),
        DriverAddress::Scsi { host, channel, target, lun } => {
            format!("(host_no == {host} && channel == {channel} && id == {target} && lun == {lun})")
        }
    }
}

fn not_a_read(bus: Bus) -> String {
    let reads: &[u8] = match bus {
        Bus::Nvme => &[nvm::READ],
        Bus::Scsi => &sbc::READS,
    };
    reads.iter().map(|read| format!("opcode != {read}")).collect::<Vec<_>>().join(" && ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
    }

    /// Command descriptor blocks of Linux 6.1 and of the standard.
    #[test]
    fn scsi_commands() {
        for (block, flags) in [
            ("2a 00 00 00 00 00 00 00 08 00", "W"),
            ("2a 08 00 00 00 00 00 00 08 00", "WF"),
            ("8a 08 00 00 00 00 00 00 00 00 00 00 00 08 00 00", "WF"),
            ("aa 00 00 00 00 00 00 00 00 08 00 00", "W"),
            ("0a 08 00 00 08 00", "W"),
            ("7f 00 00 00 00 00 00 18 00 0b 08 00", "WF"),
            ("7f 00 00 00 00 00 00 18 00 0b 00 00", "W"),
            ("7f 00 00 00 00 00 00 18 00 09 08 00", "N"),
            ("35 00 00 00 00 00 00 00 00 00", "F"),
            ("91 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", "F"),
            ("42 00 00 00 00 00 00 00 18 00", "D"),
            ("93 08 00 00 00 00 00 00 00 00 00 00 00 80 00 00", "D"),
            ("93 00 00 00 00 00 00 00 00 00 00 00 00 80 00 00", "N"),
            ("28 00 00 00 00 00 00 00 08 00", "R"),
            ("12 01 83 00 ff 00", "N"),
            ("2a", "W"),
        ] {
            assert_eq!(scsi_command(&bytes(block)).to_string(), flags, "{block}");
        }
        assert_eq!(scsi_command(&[]).operation, Operation::Other);
    }

    #[test]
    fn nvme_commands() {
        let mut dwords = [0; 24];
        for (opcode, flags) in [(0, "F"), (1, "W"), (2, "R"), (8, "N"), (9, "D"), (0x7d, "N")] {
            assert_eq!(nvme_command(opcode, &dwords).to_string(), flags, "{opcode}");
        }
        dwords[nvm::FUA_BYTE] = nvm::FUA;
        assert_eq!(nvme_command(nvm::WRITE, &dwords).to_string(), "WF");
        assert_eq!(nvme_command(nvm::WRITE, &[]).to_string(), "W");
        assert_eq!(nvme_command(nvm::DATASET_MANAGEMENT, &dwords).to_string(), "D");
    }

    fn addresses(names: &[&str]) -> Vec<DriverAddress> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn filters_in_the_kernels_language() {
        let drives = addresses(&["2:0:0:0", "nvme0n1", "nvme0c1n1", "3:0:1:0"]);
        let filter = |bus, recorded| filter(bus, recorded, drives.iter()).unwrap();
        insta::assert_snapshot!(filter(Bus::Nvme, Recorded::Given), @r#"(disk == "nvme0n1" || disk == "nvme0c1n1") && opcode != 2"#);
        let failed = Recorded::Ended { failure: Some("status") };
        insta::assert_snapshot!(filter(Bus::Nvme, failed), @r#"(disk == "nvme0n1" || disk == "nvme0c1n1") && status != 0"#);
        insta::assert_snapshot!(filter(Bus::Scsi, Recorded::Given), @"((host_no == 2 && channel == 0 && id == 0 && lun == 0) || (host_no == 3 && channel == 0 && id == 1 && lun == 0)) && opcode != 8 && opcode != 40 && opcode != 168 && opcode != 136");
        let timeout = Recorded::Ended { failure: None };
        insta::assert_snapshot!(filter(Bus::Scsi, timeout), @"(host_no == 2 && channel == 0 && id == 0 && lun == 0) || (host_no == 3 && channel == 0 && id == 1 && lun == 0)");
    }

    #[test]
    fn without_drives_on_a_bus_nothing_is_recorded() {
        let drives = addresses(&["nvme0n1"]);
        assert_eq!(filter(Bus::Scsi, Recorded::Given, drives.iter()), None);
    }

    #[test]
    fn a_filter_that_the_kernel_would_refuse_names_no_drives() {
        let names: Vec<String> = (0..1000).map(|host| format!("{host}:0:0:0")).collect();
        let drives = addresses(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let given = filter(Bus::Scsi, Recorded::Given, drives.iter()).unwrap();
        assert_eq!(given, not_a_read(Bus::Scsi));
        let timeout = filter(Bus::Scsi, Recorded::Ended { failure: None }, drives.iter());
        assert_eq!(timeout, Some(String::new()));
    }
}
