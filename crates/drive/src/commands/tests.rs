//! Drives that vanish, refuse, lie or give invalid answers.

mod simulated;

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use rustix::io::Errno;

use super::*;
use crate::MediumWrites;
use simulated::{Fault, Kind, Simulated};

/// A drive with a fault, and the commands that it will have received.
fn opened(kind: Kind, fault: Fault) -> (OpenDrive, Arc<Mutex<Vec<u8>>>) {
    let simulated = Simulated::new(kind, fault);
    let commands = Arc::clone(&simulated.commands);
    let name = if kind == Kind::Nvme { "/dev/nvme0n1" } else { "/dev/sdx" };
    let connection = Connection::new(name.as_ref(), Box::new(simulated));
    let ata = match kind {
        Kind::Sata => Ata::Inside,
        Kind::UsbBridge | Kind::UsbStick => Ata::BehindUsb,
        Kind::Sas | Kind::Nvme => Ata::IfItSaysSo,
    };
    let opened = match kind {
        Kind::Nvme => Opened::Nvme(connection),
        _ => Opened::Scsi { connection, ata, dialect: None },
    };
    (OpenDrive(opened), commands)
}

fn drive(kind: Kind, fault: Fault) -> OpenDrive {
    opened(kind, fault).0
}

const SPEAKING: [Kind; 4] = [Kind::Sata, Kind::Sas, Kind::Nvme, Kind::UsbBridge];

#[test]
fn a_good_drive_is_switched_off_and_on() {
    for kind in SPEAKING {
        let mut drive = drive(kind, Fault::None);
        assert!(drive.write_cache().unwrap().enabled, "{kind:?}");
        for on in [false, true] {
            drive.set_write_cache(on).unwrap();
            assert_eq!(drive.write_cache().unwrap().enabled, on, "{kind:?}");
        }
    }
}

#[test]
fn each_kind_reports_its_cache() {
    let told_by = |kind, fault| {
        let reading = drive(kind, fault).write_cache().unwrap();
        (reading.told_by, reading.after_power_cycle)
    };
    assert_eq!(told_by(Kind::Sata, Fault::None), (ToldBy::AtaIdentify, AfterPowerCycle::Reverts));
    assert_eq!(told_by(Kind::Sas, Fault::None), (ToldBy::ScsiCachingPage, AfterPowerCycle::Keeps));
    assert_eq!(
        told_by(Kind::UsbBridge, Fault::None),
        (ToldBy::ScsiCachingPage, AfterPowerCycle::Keeps)
    );
    assert_eq!(told_by(Kind::Nvme, Fault::None), (ToldBy::NvmeFeature, AfterPowerCycle::Keeps));
}

#[test]
fn a_sata_drive_behind_a_sas_adapter_is_asked_in_ata() {
    let simulated = Simulated::new(Kind::Sata, Fault::None);
    let connection = Connection::new("/dev/sdx".as_ref(), Box::new(simulated));
    let mut drive = OpenDrive(Opened::Scsi { connection, ata: Ata::IfItSaysSo, dialect: None });
    assert_eq!(drive.write_cache().unwrap().told_by, ToldBy::AtaIdentify);
}

#[test]
fn a_sas_drive_gets_no_ata() {
    let (mut drive, commands) = opened(Kind::Sas, Fault::None);
    drive.write_cache().unwrap();
    drive.health().unwrap();
    assert!(!commands.lock().unwrap().contains(&0x85));
    // Once is enough to know its command set.
    assert_eq!(commands.lock().unwrap().iter().filter(|command| **command == 0x12).count(), 1);
}

#[test]
fn a_stick_gets_nothing_but_the_first_question() {
    let (mut drive, commands) = opened(Kind::UsbStick, Fault::None);
    insta::assert_snapshot!(drive.write_cache().unwrap_err(), @"/dev/sdx does not support that: USB sticks and card readers may hang on such commands, so none is sent");
    assert_eq!(*commands.lock().unwrap(), [0x12]);
}

#[test]
fn the_short_form_serves_where_the_long_is_unknown() {
    let mut drive = drive(Kind::Sas, Fault::OnlyShortForm);
    drive.set_write_cache(false).unwrap();
    assert!(!drive.write_cache().unwrap().enabled);
}

#[test]
fn what_a_drive_has_to_tell_first_is_no_answer() {
    assert!(drive(Kind::Sata, Fault::Attentions(3)).write_cache().is_ok());
    let endless = drive(Kind::Sas, Fault::Attentions(usize::MAX)).write_cache().unwrap_err();
    insta::assert_snapshot!(endless, @"/dev/sdx refused INQUIRY: unit attention, it was reset or switched on (sense 6h/29h/00h)");
}

#[test]
fn refusals_of_the_switch_are_errors() {
    let refusal =
        |kind| drive(kind, Fault::RefusesSwitch).set_write_cache(false).unwrap_err().to_string();
    insta::assert_snapshot!(refusal(Kind::Sata), @"/dev/sdx refused SET FEATURES: command aborted (sense Bh/00h/00h)");
    insta::assert_snapshot!(refusal(Kind::Sas), @"/dev/sdx refused MODE SELECT: illegal request, invalid field in the command (sense 5h/24h/00h)");
    insta::assert_snapshot!(refusal(Kind::Nvme), @"/dev/nvme0n1 refused Set Features: the feature cannot be changed (status 10Eh)");
}

#[test]
fn a_drive_that_only_pretends_is_seen_through_by_reading() {
    for kind in SPEAKING {
        let mut drive = drive(kind, Fault::IgnoresSwitch);
        drive.set_write_cache(false).unwrap();
        assert!(drive.write_cache().unwrap().enabled, "{kind:?}");
    }
}

#[test]
fn a_drive_may_vanish_at_any_moment() {
    for kind in SPEAKING {
        for errno in [Errno::NODEV, Errno::NXIO] {
            // The shortest of these conversations has more commands.
            for after in 0..8 {
                let fault = || Fault::KernelSays(errno, after);
                let (mut asked, commands) = opened(kind, fault());
                let mut came = vec![
                    asked.write_cache().map(|_| ()),
                    asked.set_write_cache(false),
                    asked.health().map(|_| ()),
                    asked.identity().map(|_| ()),
                ];
                // SCSI has no counter to ask for.
                if kind != Kind::Sas {
                    came.push(asked.wear().map(|_| ()));
                }
                let sent = commands.lock().unwrap().len();
                for error in came.into_iter().filter_map(Result::err) {
                    let expected = matches!(error, CommandError::Gone { .. })
                        || (kind == Kind::UsbBridge
                            && matches!(error, CommandError::NotSupported { .. }));
                    assert!(expected, "{kind:?} after {after}: {error}");
                }
                assert!(sent > after, "{kind:?} was never asked command {after}");
            }
        }
    }
    let gone = drive(Kind::Sata, Fault::KernelSays(Errno::NODEV, 0)).write_cache().unwrap_err();
    insta::assert_snapshot!(gone, @"/dev/sdx is gone: it was unplugged, or its driver gave up on it");
    let lost = drive(Kind::Nvme, Fault::PathLost).health().unwrap_err();
    insta::assert_snapshot!(lost, @"/dev/nvme0n1 is gone: it was unplugged, or its driver gave up on it");
}

#[test]
fn what_the_kernel_says_in_words() {
    let answer = |kind, errno| {
        drive(kind, Fault::KernelSays(errno, 0)).write_cache().unwrap_err().to_string()
    };
    for (kind, errno) in [(Kind::Sata, Errno::PERM), (Kind::Nvme, Errno::ACCESS)] {
        assert!(
            answer(kind, errno).ends_with("takes commands only from root: run flushmark with sudo"),
            "{kind:?}"
        );
    }
    insta::assert_snapshot!(answer(Kind::Sas, Errno::NOTTY), @"/dev/sdx does not support that: its driver does not pass INQUIRY on");
    insta::assert_snapshot!(answer(Kind::Nvme, Errno::OPNOTSUPP), @"/dev/nvme0n1 does not support that: its driver does not pass Identify on");
    insta::assert_snapshot!(answer(Kind::Sata, Errno::TIMEDOUT), @"cannot send IDENTIFY DEVICE to /dev/sdx: Connection timed out (os error 110)");
}

#[test]
fn opening_in_words() {
    let answer = |errno| Connection::not_opened("/dev/sdx".as_ref(), errno).to_string();
    insta::assert_snapshot!(answer(Errno::ACCESS), @"/dev/sdx takes commands only from root: run flushmark with sudo");
    insta::assert_snapshot!(answer(Errno::NOENT), @"/dev/sdx does not support that: /dev has no node for it here (are you in a container?); run flushmark on the host");
    insta::assert_snapshot!(answer(Errno::NXIO), @"/dev/sdx is gone: it was unplugged, or its driver gave up on it");
    insta::assert_snapshot!(answer(Errno::BUSY), @"cannot send a command to /dev/sdx: Device or resource busy (os error 16)");
}

/// A user in the group `disk`, who may send SCSI's queries but no ATA commands.
#[derive(Debug)]
struct GroupDisk(Simulated);

impl carrier::Carrier for GroupDisk {
    fn scsi(
        &mut self,
        cdb: &[u8],
        payload: carrier::Payload<'_>,
        timeout: std::time::Duration,
    ) -> Result<carrier::ScsiAnswer, Errno> {
        let allowed = !matches!(cdb[0], 0x85 | 0x55 | 0x15);
        if allowed { self.0.scsi(cdb, payload, timeout) } else { Err(Errno::PERM) }
    }

    fn nvme(
        &mut self,
        _: carrier::NvmeCommand,
        _: &mut [u8],
        _: std::time::Duration,
    ) -> Result<carrier::NvmeAnswer, Errno> {
        Err(Errno::ACCESS)
    }
}

#[test]
fn a_user_who_may_read_the_node_learns_what_scsi_reports() {
    let carrier = GroupDisk(Simulated::new(Kind::Sata, Fault::None));
    let connection = Connection::new("/dev/sdx".as_ref(), Box::new(carrier));
    let mut drive = OpenDrive(Opened::Scsi { connection, ata: Ata::Inside, dialect: None });
    assert_eq!(drive.write_cache().unwrap().told_by, ToldBy::ScsiCachingPage);
    assert!(matches!(drive.set_write_cache(false), Err(CommandError::NeedsRoot { .. })));
    // The translation layer has no logs; the error to report is the missing permission.
    assert!(matches!(drive.health(), Err(CommandError::NeedsRoot { .. })));
}

#[test]
fn health_by_each_way() {
    let sata = drive(Kind::Sata, Fault::None).health().unwrap();
    // The standard's statistics take precedence over the vendor's attributes.
    assert_eq!(
        (sata.power_cycles, sata.power_on_hours, sata.used_percent),
        (Some(61), Some(12346), Some(13))
    );
    assert_eq!((sata.media_errors, sata.failing), (Some(2), Some(true)));
    assert_eq!(drive(Kind::Sas, Fault::None).health().unwrap().power_on_hours, Some(12346));
    assert_eq!(drive(Kind::Nvme, Fault::None).health().unwrap().unsafe_shutdowns, Some(57));
    insta::assert_snapshot!(drive(Kind::UsbBridge, Fault::None).health().unwrap_err(), @"/dev/sdx does not support that: it has no health logs (illegal request, unknown command (sense 5h/20h/00h))");
}

#[test]
fn what_a_drive_has_written() {
    let medium = |kind, fault| match drive(kind, fault).wear().unwrap().medium {
        MediumWrites::Bytes(written) => written.bytes,
        pages @ MediumWrites::Pages { .. } => panic!("{pages:?}"),
    };
    // Its model is one of Intel's.
    assert_eq!(medium(Kind::Sata, Fault::None), 2500 * (32 << 20));
    assert_eq!(medium(Kind::Nvme, Fault::ListsLogs(vec![0x02, 0xC0])), 5 << 30);
    assert_eq!(medium(Kind::Nvme, Fault::HasVendorLogs(0x144D)), 5 << 30);
    for intel in [0x8086, 0x025E] {
        assert_eq!(medium(Kind::Nvme, Fault::HasVendorLogs(intel)), 100 * (32 << 20));
    }
    let host = drive(Kind::Nvme, Fault::HasVendorLogs(0)).wear().unwrap().host;
    assert_eq!(host.map(|host| host.bytes), Some(1_024_000_000));

    let none = |kind, fault| drive(kind, fault).wear().unwrap_err().to_string();
    insta::assert_snapshot!(none(Kind::Nvme, Fault::None), @"/dev/nvme0n1 does not support that: it has no known counter of what it writes to its flash");
    insta::assert_snapshot!(none(Kind::Nvme, Fault::ListsLogs(vec![0x02])), @"/dev/nvme0n1 does not support that: it has no known counter of what it writes to its flash");
    insta::assert_snapshot!(none(Kind::Sas, Fault::None), @"/dev/sdx does not support that: SCSI has no counter of what a drive writes");
    insta::assert_snapshot!(none(Kind::UsbBridge, Fault::None), @"/dev/sdx does not support that: SCSI has no counter of what a drive writes");
    insta::assert_snapshot!(none(Kind::Sata, Fault::KernelSays(Errno::PERM, 0)), @"/dev/sdx takes commands only from root: run flushmark with sudo");
}

#[test]
fn health_sends_no_vendor_command_that_the_drive_does_not_list() {
    let written = |fault| {
        let health = drive(Kind::Nvme, fault).health().unwrap();
        (health.host_bytes_written, health.medium_bytes_written)
    };
    assert_eq!(written(Fault::None), (Some(1_024_000_000), None));
    assert_eq!(written(Fault::HasVendorLogs(0x8086)), (Some(1_024_000_000), None));
    assert_eq!(written(Fault::ListsLogs(vec![0xC0])), (Some(1_024_000_000), Some(5 << 30)));
    let sata = drive(Kind::Sata, Fault::None).health().unwrap();
    // The standard's count of sectors takes precedence here, too.
    assert_eq!(sata.host_bytes_written, Some(70_000_000 * 512));
    assert_eq!(sata.medium_bytes_written, Some(2500 * (32 << 20)));
}

#[test]
fn a_sleeping_disk_is_not_woken() {
    let mut sleeping = drive(Kind::Sata, Fault::Sleeps);
    insta::assert_snapshot!(sleeping.health().unwrap_err(), @"/dev/sdx does not support that: it is in standby, and reading its health would wake it");
    assert!(sleeping.write_cache().unwrap().enabled);
}

#[test]
fn identity_by_each_way() {
    let sata = drive(Kind::Sata, Fault::None).identity().unwrap();
    assert_eq!(sata.model.as_deref(), Some("INTEL SSDSC2KB480G8"));
    assert_eq!(sata.rotation, Some(Rotation::SolidState));
    let sas = drive(Kind::Sas, Fault::None).identity().unwrap();
    assert_eq!(
        (sas.model.as_deref(), sas.serial.as_deref()),
        (Some("XS400LE70084"), Some("S4Y0NABC"))
    );
    let usb = drive(Kind::UsbBridge, Fault::None).identity().unwrap();
    assert_eq!((usb.model.as_deref(), usb.serial), (Some("XS400LE70084"), None));
    assert_eq!(
        drive(Kind::Nvme, Fault::None).identity().unwrap().firmware.as_deref(),
        Some("GDC5902Q")
    );
}

#[test]
fn blank_answers_are_nonsense_and_no_drive_without_a_cache() {
    let answer =
        |kind| drive(kind, Fault::Answers(vec![0; 4096])).write_cache().unwrap_err().to_string();
    insta::assert_snapshot!(answer(Kind::Sata), @"/dev/sdx gave an invalid answer to IDENTIFY DEVICE: the model number is missing");
    insta::assert_snapshot!(answer(Kind::Sas), @"/dev/sdx gave an invalid answer to INQUIRY: its response data format is 0; expected 2");
    insta::assert_snapshot!(answer(Kind::Nvme), @"/dev/nvme0n1 gave an invalid answer to Identify: the model number is missing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_answer_makes_a_conversation_stumble(bytes in proptest::collection::vec(any::<u8>(), 0..600), kind in 0..SPEAKING.len()) {
        let mut drive = drive(SPEAKING[kind], Fault::Answers(bytes));
        let _ = (drive.write_cache(), drive.set_write_cache(true), drive.health());
        let _ = (drive.identity(), drive.wear());
    }
}

#[test]
fn silent_devices_are_refused_before_anything_is_opened() {
    let machine = captures::built::raid_server();
    let device =
        BlockDevice::read(&SystemRoot::new(machine.path()), "9:0".parse().unwrap()).unwrap();
    insta::assert_snapshot!(OpenDrive::open(&SystemRoot::new(machine.path()), &device).unwrap_err(), @"/dev/md0 does not support that: a software RAID has no cache; ask the drives below, /dev/sda2, /dev/sdb2");
}

#[test]
fn a_drive_that_left_between_listing_and_asking_is_gone() {
    let machine = captures::built::laptop();
    let device =
        BlockDevice::read(&SystemRoot::new(machine.path()), "259:0".parse().unwrap()).unwrap();
    let open = || OpenDrive::open(&SystemRoot::new(machine.path()), &device).unwrap_err();
    assert!(matches!(open(), CommandError::NotSupported { .. }), "no node");
    // Another device has its name now.
    machine.file("/dev/nvme0n1", "");
    assert!(matches!(open(), CommandError::Gone { .. }), "another node");
    std::fs::remove_file(machine.path().join("sys/dev/block/259:0")).unwrap();
    assert!(matches!(open(), CommandError::Gone { .. }), "no entry in sysfs");
}
