//! The operations that drives were asked for, sent and given, counted at three levels: bios at the
//! block layer, requests to the driver, commands to the drive.

use std::collections::{BTreeMap, HashMap};

use drive::{DeviceNumber, DriverAddress};
use measurement::{DriveTraffic, OperationCounts};

use crate::decode::Tracepoint;
use crate::drivers::Bus;
use crate::event::{Event, Flags, Operation, What};
use crate::live::Scope;

/// Counts the operations on each drive, by any program and by the kernel.
#[derive(Debug)]
pub struct Traffic {
    /// The disk of each partition.
    disks: HashMap<DeviceNumber, DeviceNumber>,
    addresses: HashMap<DriverAddress, DeviceNumber>,
    drives: BTreeMap<Drive, DriveTraffic>,
}

/// A drive, by its address in a trace that does not say which device that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Drive {
    Device(DeviceNumber),
    Address(DriverAddress),
}

impl Traffic {
    /// For a trace of this scope.
    pub fn new(scope: &Scope) -> Traffic {
        Traffic {
            disks: scope.partitions.clone(),
            addresses: scope.addresses.clone(),
            drives: BTreeMap::new(),
        }
    }

    /// Takes note of an event.
    pub fn event(&mut self, event: &Event) {
        match event.what {
            What::Bio { extent, flags, .. } => {
                add(&mut self.of_device(extent.device).asked, flags, extent.sectors > 0);
            }
            What::Issue { extent, flags } => {
                add(&mut self.of_device(extent.device).sent, flags, extent.sectors > 0);
            }
            What::Complete { extent, failed: true, .. } => {
                self.of_device(extent.device).sent.failed += 1;
            }
            What::CommandGiven { address, flags } => {
                if let Some(drive) = self.at(address) {
                    add(&mut drive.given, flags, true);
                }
            }
            What::CommandRefused { address, flags } => {
                if let Some(drive) = self.at(address) {
                    take(&mut drive.given, flags);
                }
            }
            What::CommandFailed { address } => {
                if let Some(drive) = self.at(address) {
                    drive.given.failed += 1;
                }
            }
            _ => {}
        }
    }

    fn of_device(&mut self, device: DeviceNumber) -> &mut DriveTraffic {
        let disk = self.disks.get(&device).copied().unwrap_or(device);
        self.drives.entry(Drive::Device(disk)).or_default()
    }

    /// `None` for a drive that is not traced: the kernel's filter may be too short for all that
    /// are.
    fn at(&mut self, address: DriverAddress) -> Option<&mut DriveTraffic> {
        let drive = match self.addresses.get(&address) {
            Some(&device) => Drive::Device(device),
            None if self.addresses.is_empty() => Drive::Address(address),
            None => return None,
        };
        Some(self.drives.entry(drive).or_default())
    }

    /// The traffic of each drive whose driver reports commands. `missing` are the tracepoints that
    /// the kernel lacks, `name` names a drive.
    pub fn finish(
        mut self,
        missing: &[String],
        name: impl Fn(DeviceNumber) -> String,
    ) -> Vec<DriveTraffic> {
        let lacks = |bus| {
            let given = match bus {
                Bus::Nvme => Tracepoint::NvmeSetup,
                Bus::Scsi => Tracepoint::ScsiStart,
            };
            missing.contains(&given.path())
        };
        let reports = self.addresses.iter().filter(|(address, _)| !lacks(Bus::of(address)));
        let reporting: Vec<DeviceNumber> = reports.map(|(_, &device)| device).collect();
        self.drives.retain(|drive, traffic| {
            let is_idle = *traffic == DriveTraffic::default();
            !is_idle && !matches!(drive, Drive::Device(device) if !reporting.contains(device))
        });
        let named = self.drives.into_iter().map(|(drive, traffic)| DriveTraffic {
            device: match drive {
                Drive::Device(device) => name(device),
                Drive::Address(address) => address.to_string(),
            },
            ..traffic
        });
        named.collect()
    }
}

/// A bio without data that asks for a flush is a flush and nothing else.
fn add(counts: &mut OperationCounts, flags: Flags, has_data: bool) {
    counts.flushes += u64::from(flags.preflush() || flags.operation == Operation::Flush);
    match flags.operation {
        Operation::Write if has_data => {
            counts.writes += 1;
            counts.fua_writes += u64::from(flags.fua());
        }
        Operation::Discard => counts.discards += 1,
        Operation::Other => counts.others += 1,
        Operation::Read | Operation::Flush | Operation::Write => {}
    }
}

/// Takes back a command, unless it was given before the trace began.
fn take(counts: &mut OperationCounts, flags: Flags) {
    let mut one = OperationCounts::default();
    add(&mut one, flags, true);
    counts.writes = counts.writes.saturating_sub(one.writes);
    counts.fua_writes = counts.fua_writes.saturating_sub(one.fua_writes);
    counts.flushes = counts.flushes.saturating_sub(one.flushes);
    counts.discards = counts.discards.saturating_sub(one.discards);
    counts.others = counts.others.saturating_sub(one.others);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Command, Extent};

    const DISK: DeviceNumber = DeviceNumber { major: 8, minor: 0 };
    const PARTITION: DeviceNumber = DeviceNumber { major: 8, minor: 1 };
    const OTHER: DeviceNumber = DeviceNumber { major: 254, minor: 0 };

    fn address(text: &str) -> DriverAddress {
        text.parse().unwrap()
    }

    fn scope() -> Scope {
        Scope {
            disks: vec![DISK, OTHER],
            partitions: HashMap::from([(PARTITION, DISK)]),
            addresses: HashMap::from([(address("0:0:0:0"), DISK)]),
            ..Scope::default()
        }
    }

    fn bio(device: DeviceNumber, sectors: u32, flags: &str) -> What {
        let (flags, command) = (Flags::parse(flags.as_bytes()), Command::new(b"dd"));
        What::Bio { extent: Extent { device, sector: 0, sectors }, flags, command }
    }

    fn issue(device: DeviceNumber, sectors: u32, flags: &str) -> What {
        let flags = Flags::parse(flags.as_bytes());
        What::Issue { extent: Extent { device, sector: 0, sectors }, flags }
    }

    fn given(address: &str, operation: Operation, fua: bool) -> What {
        let flags = Flags::of(operation).with_fua(fua);
        What::CommandGiven { address: self::address(address), flags }
    }

    fn traffic(scope: &Scope, missing: &[String], events: &[What]) -> Vec<DriveTraffic> {
        let mut traffic = Traffic::new(scope);
        events.iter().for_each(|&what| traffic.event(&Event { at: 0, thread: 7, what }));
        traffic.finish(missing, |device| device.to_string())
    }

    fn counts(writes: u64, fua_writes: u64, flushes: u64) -> OperationCounts {
        OperationCounts { writes, fua_writes, flushes, ..OperationCounts::default() }
    }

    fn levels(traffic: &DriveTraffic) -> [OperationCounts; 3] {
        [traffic.asked, traffic.sent, traffic.given]
    }

    #[test]
    fn fua_that_becomes_a_flush_on_its_way() {
        let events = [
            bio(PARTITION, 8, "WFS"),
            issue(DISK, 8, "WS"),
            given("0:0:0:0", Operation::Write, false),
            issue(DISK, 0, "FF"),
            given("0:0:0:0", Operation::Flush, false),
        ];
        let seen = traffic(&scope(), &[], &events);
        assert_eq!(seen[0].device, "8:0");
        assert_eq!(levels(&seen[0]), [counts(1, 1, 0), counts(1, 0, 1), counts(1, 0, 1)]);
    }

    #[test]
    fn fua_and_flushes_that_arrive() {
        let events = [
            bio(DISK, 8, "FWFSM"),
            issue(DISK, 0, "FF"),
            given("0:0:0:0", Operation::Flush, false),
            issue(DISK, 8, "WFSM"),
            given("0:0:0:0", Operation::Write, true),
            bio(DISK, 0, "FWS"),
            issue(DISK, 0, "FF"),
            given("0:0:0:0", Operation::Flush, false),
            given("0:0:0:0", Operation::Read, false),
        ];
        let seen = traffic(&scope(), &[], &events);
        assert_eq!(levels(&seen[0]), [counts(1, 1, 2); 3]);
    }

    #[test]
    fn discards_others_and_failures() {
        let failed = What::Complete {
            extent: Extent { device: DISK, sector: 0, sectors: 8 },
            flags: Flags::parse(b"W"),
            failed: true,
        };
        let events = [
            bio(DISK, 8, "D"),
            issue(DISK, 8, "D"),
            given("0:0:0:0", Operation::Discard, false),
            given("0:0:0:0", Operation::Other, false),
            What::CommandFailed { address: address("0:0:0:0") },
            failed,
        ];
        let seen = traffic(&scope(), &[], &events);
        let discards = OperationCounts { discards: 1, ..OperationCounts::default() };
        let sent = OperationCounts { failed: 1, ..discards };
        assert_eq!(levels(&seen[0]), [discards, sent, OperationCounts { others: 1, ..sent }]);
    }

    #[test]
    fn a_command_that_the_controller_refuses_was_not_given() {
        let refused = |fua| What::CommandRefused {
            address: address("0:0:0:0"),
            flags: Flags::of(Operation::Write).with_fua(fua),
        };
        let events = [
            given("0:0:0:0", Operation::Write, true),
            refused(true),
            given("0:0:0:0", Operation::Write, true),
        ];
        assert_eq!(traffic(&scope(), &[], &events)[0].given, counts(1, 1, 0));
        // It was given before the trace began.
        let events = [bio(DISK, 8, "W"), refused(false)];
        assert_eq!(traffic(&scope(), &[], &events)[0].given, counts(0, 0, 0));
    }

    #[test]
    fn only_drives_whose_drivers_report_commands() {
        let events =
            [bio(DISK, 8, "WFS"), bio(OTHER, 8, "WFS"), given("9:0:0:0", Operation::Write, true)];
        let seen = traffic(&scope(), &[], &events);
        assert_eq!(seen.len(), 1);
        assert_eq!(levels(&seen[0]), [counts(1, 1, 0), counts(0, 0, 0), counts(0, 0, 0)]);
        let missing = ["scsi/scsi_dispatch_cmd_start".to_owned()];
        assert_eq!(traffic(&scope(), &missing, &events), []);
        assert_eq!(traffic(&scope(), &[], &[]), []);
    }

    #[test]
    fn a_text_names_drives_by_their_addresses() {
        let events = [
            given("nvme0n1", Operation::Write, true),
            given("2:0:0:0", Operation::Flush, false),
            bio(DISK, 8, "WFS"),
        ];
        let seen = traffic(&Scope::default(), &[], &events);
        let named: Vec<_> = seen.iter().map(|one| (one.device.as_str(), one.given)).collect();
        assert_eq!(named, [("nvme0n1", counts(1, 1, 0)), ("2:0:0:0", counts(0, 0, 1))]);
    }
}
