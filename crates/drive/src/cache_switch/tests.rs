//! Simulated drives that behave, vanish, refuse and lie.

use std::cell::RefCell;
use std::fs;
use std::rc::Rc;

use super::*;
use crate::{AfterPowerCycle, ToldBy};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Honest,
    Refuses,
    SaysAndDoesNot,
    VanishesWhenSwitched,
    KernelNeverFlushes,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a trait of the drive by itself")]
struct Simulated {
    on: bool,
    present: bool,
    switchable: bool,
    gone: bool,
    manner: Manner,
    commands: Vec<bool>,
}

#[derive(Debug, Clone)]
struct Drive(Rc<RefCell<Simulated>>);

impl Drive {
    fn new(on: bool, manner: Manner) -> Drive {
        let drive = Simulated {
            on,
            present: true,
            switchable: true,
            gone: false,
            manner,
            commands: Vec::new(),
        };
        Drive(Rc::new(RefCell::new(drive)))
    }

    fn is_on(&self) -> bool {
        self.0.borrow().on
    }
}

fn gone() -> CommandError {
    CommandError::Gone { device: "/dev/sdx".into() }
}

impl CacheControl for Drive {
    fn reading(&mut self) -> Result<CacheReading, CommandError> {
        let drive = self.0.borrow();
        if drive.gone {
            return Err(gone());
        }
        Ok(CacheReading {
            present: drive.present,
            enabled: drive.on,
            switchable: drive.switchable,
            after_power_cycle: AfterPowerCycle::Reverts,
            told_by: ToldBy::AtaIdentify,
        })
    }

    fn switch(&mut self, on: bool) -> Result<(), CommandError> {
        let mut drive = self.0.borrow_mut();
        drive.commands.push(on);
        match drive.manner {
            Manner::Honest | Manner::KernelNeverFlushes => drive.on = on,
            Manner::SaysAndDoesNot => {}
            Manner::Refuses => {
                return Err(CommandError::Refused {
                    device: "/dev/sdx".into(),
                    command: "SET FEATURES",
                    answer: "aborted".to_owned(),
                });
            }
            Manner::VanishesWhenSwitched => drive.gone = true,
        }
        Ok(())
    }

    fn kernel_believes(&self) -> Option<WriteCache> {
        let drive = self.0.borrow();
        let through = !drive.on || drive.manner == Manner::KernelNeverFlushes;
        Some(if through { WriteCache::WriteThrough } else { WriteCache::WriteBack })
    }
}

fn identity() -> Identity {
    Identity {
        model: Some("Test Drive".to_owned()),
        serial: Some("S/1".to_owned()),
        size_bytes: Some(1 << 30),
        place: "sys/devices/ata1".to_owned(),
        path: "/dev/sdx".to_owned(),
    }
}

struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench { directory: tempfile::tempdir().unwrap() }
    }

    fn state(&self) -> StateDir {
        StateDir::new(self.directory.path().join("state"))
    }

    fn switch(&self, drive: &Drive) -> CacheSwitch<Drive> {
        CacheSwitch::new(
            drive.clone(),
            "/dev/sdx".as_ref(),
            self.state().lock(&identity()).unwrap(),
        )
    }

    fn on_record(&self) -> Vec<bool> {
        let records = self.state().records().unwrap();
        records
            .into_iter()
            .flat_map(|kept| kept.record.unwrap().changes)
            .map(|change| change.was_on)
            .collect()
    }
}

#[test]
fn what_a_run_changed_is_put_back_and_struck() {
    let (bench, drive) = (Bench::new(), Drive::new(true, Manner::Honest));
    let mut switch = bench.switch(&drive);
    assert!(
        matches!(switch.set(false, By::Run).unwrap(), Switched::Done(reading) if !reading.enabled)
    );
    assert_eq!((drive.is_on(), bench.on_record()), (false, vec![true]));
    assert!(matches!(switch.set(false, By::Run).unwrap(), Switched::Already(_)));
    assert!(switch.undo().unwrap().unwrap().enabled);
    assert_eq!((drive.is_on(), bench.on_record()), (true, vec![]));
    assert!(switch.undo().unwrap().is_none());
}

#[test]
fn a_record_outlives_its_process_and_the_drives_name() {
    let (bench, drive) = (Bench::new(), Drive::new(true, Manner::Honest));
    bench.switch(&drive).set(false, By::Run).unwrap();
    let left = left_over(&bench.state()).unwrap();
    assert_eq!((left.len(), left[0].changes[0].was_on, left[0].changes[0].by), (1, true, By::Run));
    // A power cycle in between: the drive has returned to its default, and only the record is
    // removed.
    drive.0.borrow_mut().on = true;
    drive.0.borrow_mut().commands.clear();
    let renamed = Identity {
        path: "/dev/sdb".to_owned(),
        place: "sys/devices/ata2".to_owned(),
        ..identity()
    };
    let record = bench.state().lock(&renamed).unwrap();
    let mut switch = CacheSwitch::new(drive.clone(), "/dev/sdb".as_ref(), record);
    assert!(switch.undo().unwrap().unwrap().enabled);
    assert_eq!((drive.0.borrow().commands.len(), bench.on_record()), (0, vec![]));
}

#[test]
fn a_run_on_a_drive_that_a_person_had_switched_comes_back_to_the_persons_setting() {
    let (bench, drive) = (Bench::new(), Drive::new(true, Manner::Honest));
    let mut switch = bench.switch(&drive);
    switch.set(false, By::Command).unwrap();
    switch.set(true, By::Run).unwrap();
    assert_eq!(bench.on_record(), [true, false]);
    assert!(!switch.undo().unwrap().unwrap().enabled);
    assert!(switch.undo().unwrap().unwrap().enabled);
    assert_eq!(bench.on_record(), Vec::<bool>::new());
}

#[test]
fn a_run_that_tries_both_settings_comes_back_and_so_does_one_that_was_killed() {
    let (bench, drive) = (Bench::new(), Drive::new(true, Manner::Honest));
    let mut switch = bench.switch(&drive);
    switch.set(false, By::Run).unwrap();
    assert!(switch.found_on().unwrap());
    switch.set(true, By::Run).unwrap();
    assert_eq!(bench.on_record(), Vec::<bool>::new());
    assert!(switch.found_on().unwrap());
    switch.set(false, By::Run).unwrap();
    // Killed here: the record stays, the lock goes with the process.
    drop(switch);
    let mut next = bench.switch(&drive);
    assert!(next.finish_runs().unwrap());
    assert!(drive.is_on() && bench.on_record().is_empty());
    assert!(!next.finish_runs().unwrap());
}

#[test]
fn switching_back_by_hand_leaves_nothing_on_record() {
    let (bench, drive) = (Bench::new(), Drive::new(true, Manner::Honest));
    let mut switch = bench.switch(&drive);
    switch.set(false, By::Command).unwrap();
    switch.set(true, By::Command).unwrap();
    assert_eq!((drive.is_on(), bench.on_record()), (true, vec![]));
}

#[test]
fn a_drive_that_will_not_or_does_not_leaves_nothing_changed_and_nothing_claimed() {
    let mut said = Vec::new();
    for manner in [Manner::Refuses, Manner::SaysAndDoesNot] {
        let (bench, drive) = (Bench::new(), Drive::new(true, manner));
        said.push(bench.switch(&drive).set(false, By::Command).unwrap_err().to_string());
        assert_eq!((drive.is_on(), bench.on_record()), (true, vec![]), "{manner:?}");
    }
    let (bench, drive) = (Bench::new(), Drive::new(false, Manner::KernelNeverFlushes));
    said.push(bench.switch(&drive).set(true, By::Command).unwrap_err().to_string());
    assert_eq!((drive.is_on(), bench.on_record()), (false, vec![]));
    for (present, switchable) in [(false, false), (true, false)] {
        let (bench, drive) = (Bench::new(), Drive::new(true, Manner::Honest));
        drive.0.borrow_mut().present = present;
        drive.0.borrow_mut().switchable = switchable;
        let error = bench.switch(&drive).set(false, By::Command).unwrap_err();
        assert_eq!(error.blame(), blame::Blame::Usage);
        said.push(error.to_string());
        assert!(drive.0.borrow().commands.is_empty());
    }
    insta::assert_snapshot!(said.join("\n"), @"
    /dev/sdx refused SET FEATURES: aborted
    /dev/sdx accepted the command to switch its write cache off, but reports it unchanged: this drive (or a RAID controller or USB bridge in front of it) cannot be trusted with the setting
    /dev/sdx would cache writes while the kernel sends it no flushes, and every fsync would be a lie; its cache was left off: make the kernel rescan the drive (echo 1 > /sys/block/sdx/device/rescan) and repeat
    /dev/sdx has no volatile write cache, so there is nothing to switch
    /dev/sdx has its write cache on and cannot switch it
    ");
}

#[test]
fn a_drive_that_vanishes_in_the_middle_keeps_its_record() {
    let (bench, drive) = (Bench::new(), Drive::new(true, Manner::VanishesWhenSwitched));
    let error = bench.switch(&drive).set(false, By::Run).unwrap_err();
    insta::assert_snapshot!(error, @"/dev/sdx is gone: it was unplugged, or its driver gave up on it; the state of its write cache is now unknown: run `flushmark cache restore /dev/sdx` to restore it");
    assert_eq!(bench.on_record(), [true]);
    assert!(bench.switch(&drive).undo().is_err());
    assert_eq!(bench.on_record(), [true]);
}

#[test]
fn a_cache_that_was_on_without_flushes_is_put_back_as_it_was_found() {
    for by in [By::Run, By::Command] {
        let (bench, drive) = (Bench::new(), Drive::new(true, Manner::KernelNeverFlushes));
        let mut switch = bench.switch(&drive);
        switch.set(false, by).unwrap();
        assert!(switch.undo().unwrap().unwrap().enabled, "{by:?}");
        assert_eq!((drive.is_on(), bench.on_record()), (true, vec![]));
    }
}

#[test]
fn a_users_setting_overrides_what_a_killed_run_left() {
    // Killed while off; then the user chooses off.
    let (bench, drive) = (Bench::new(), Drive::new(true, Manner::Honest));
    bench.switch(&drive).set(false, By::Run).unwrap();
    bench.switch(&drive).set(false, By::Command).unwrap();
    assert_eq!((drive.is_on(), bench.on_record()), (false, vec![true]));
    assert!(!bench.switch(&drive).finish_runs().unwrap(), "the next run leaves it off");
    // Killed while off; then the user chooses on.
    let (bench, drive) = (Bench::new(), Drive::new(true, Manner::Honest));
    bench.switch(&drive).set(false, By::Run).unwrap();
    bench.switch(&drive).set(true, By::Command).unwrap();
    assert_eq!((drive.is_on(), bench.on_record()), (true, vec![]));
}

#[test]
fn what_was_found_is_what_the_runs_found_and_not_what_a_person_had_before() {
    let (bench, drive) = (Bench::new(), Drive::new(true, Manner::Honest));
    let mut switch = bench.switch(&drive);
    switch.set(false, By::Command).unwrap();
    assert!(!switch.found_on().unwrap());
    switch.set(true, By::Run).unwrap();
    assert!(!switch.found_on().unwrap());
}

#[test]
fn two_processes_never_switch_one_drive() {
    let bench = Bench::new();
    let held = bench.state().lock(&identity()).unwrap();
    let error = bench.state().lock(&identity()).unwrap_err();
    let said = error.to_string().replace(&std::process::id().to_string(), "PID");
    insta::assert_snapshot!(said, @"Test Drive (S/1) is being switched by another flushmark (process PID): wait until it is done");
    drop(held);
    assert!(bench.state().lock(&identity()).is_ok());
}

#[test]
fn nothing_is_changed_when_nothing_can_be_written_down() {
    let (bench, drive) = (Bench::new(), Drive::new(true, Manner::Honest));
    let mut switch = bench.switch(&drive);
    // A directory blocks the path of the new record: even root cannot write a file there.
    let state = bench.state();
    let new =
        fs::read_dir(state.path()).unwrap().next().unwrap().unwrap().path().with_extension("new");
    fs::create_dir(new).unwrap();
    let error = switch.set(false, By::Run).unwrap_err();
    assert!(matches!(error, SwitchError::State(StateError::Io { .. })), "{error}");
    assert!(drive.0.borrow().commands.is_empty());
}

#[test]
fn a_damaged_record_is_kept_aside_and_nothing_is_guessed() {
    for damage in
        ["", "{", "{\"schema\": \"flushmark/cache-record/1\", \"changes\": []}", "null", "[1]"]
    {
        let (bench, drive) = (Bench::new(), Drive::new(true, Manner::Honest));
        bench.switch(&drive).set(false, By::Run).unwrap();
        let path = bench.state().records().unwrap()[0].path.clone();
        fs::write(&path, damage).unwrap();
        assert!(bench.state().records().unwrap()[0].record.is_err());
        let error = bench.state().lock(&identity()).unwrap_err();
        let StateError::Damaged { kept, .. } = &error else { panic!("{error}") };
        assert_eq!(fs::read_to_string(kept).unwrap(), damage);
        assert!(!path.exists() && !drive.is_on());
        // A second one does not overwrite the first.
        fs::write(&path, "x").unwrap();
        let StateError::Damaged { kept: second, .. } = bench.state().lock(&identity()).unwrap_err()
        else {
            panic!()
        };
        assert_ne!(*kept, second);
    }
}

#[test]
fn a_record_of_another_schema_or_drive_is_not_taken_for_ours() {
    let (bench, drive) = (Bench::new(), Drive::new(true, Manner::Honest));
    bench.switch(&drive).set(false, By::Run).unwrap();
    let path = bench.state().records().unwrap()[0].path.clone();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("S/1", "S_1")).unwrap();
    assert!(matches!(bench.state().lock(&identity()), Err(StateError::Foreign { .. })));
    assert!(path.exists(), "another drive's record is left alone");
    fs::write(&path, text.replace("record/1", "record/2")).unwrap();
    assert!(matches!(bench.state().lock(&identity()), Err(StateError::Damaged { .. })));
}

#[test]
fn restoring_says_what_became_of_each_record() {
    let bench = Bench::new();
    let root = SystemRoot::new(bench.directory.path());
    bench.switch(&Drive::new(true, Manner::Honest)).set(false, By::Run).unwrap();
    fs::write(bench.state().path().join("write-cache-x.json"), "rubbish").unwrap();
    let outcomes = restore(&root, &bench.state(), None).unwrap();
    let said: Vec<String> =
        outcomes.iter().map(|outcome| outcome.as_ref().unwrap_err().to_string()).collect();
    let place = bench.directory.path().to_string_lossy().into_owned();
    insta::assert_snapshot!(said.join("\n").replace(&place, "/ROOT"), @"
    Test Drive (S/1) is not attached, so its write cache cannot be restored; its record is kept: attach the drive and repeat
    the record of changes in /ROOT/state/write-cache-x.json is damaged (expected value at line 1 column 1), so the previous state of that cache is unknown; it was kept as /ROOT/state/write-cache-x.damaged: examine it, set the cache with `flushmark cache on|off`, and remove it
    ");
    assert!(restore(&root, &StateDir::new("/no/such/directory"), None).unwrap().is_empty());
}

#[test]
fn a_drive_is_known_by_its_serial_number_or_else_by_its_place() {
    let elsewhere = Identity {
        place: "sys/devices/ata9".to_owned(),
        path: "/dev/sdq".to_owned(),
        ..identity()
    };
    assert!(identity().is_same(&elsewhere));
    assert!(!identity().is_same(&Identity { serial: Some("S/2".to_owned()), ..identity() }));
    assert!(!identity().is_same(&Identity { serial: None, ..identity() }));
    // A cloud volume that grew, another namespace of the same controller.
    assert!(identity().is_same(&Identity { size_bytes: Some(2 << 30), ..identity() }));
    let nameless = Identity { serial: None, ..identity() };
    assert!(nameless.is_same(&nameless.clone()));
    assert!(!nameless.is_same(&Identity { serial: None, ..elsewhere }));
}

#[test]
fn twins_are_known_by_their_place_and_namespaces_by_their_controller() {
    let machine = captures::Machine::new();
    let numbered =
        |name: &str| format!("pci0000:00/usb1/{name}/host3/target3:0:0/3:0:0:0/block/{name}");
    for (minor, name) in [(0, "sda"), (16, "sdb")] {
        let attributes =
            [("device/model", "Bridge"), ("device/serial", "0123456789AB"), ("size", "8")];
        machine.disk(&numbered(name), &format!("8:{minor}"), &attributes);
    }
    let disk = |number: &str| {
        BlockDevice::read(&SystemRoot::new(machine.path()), number.parse().unwrap()).unwrap()
    };
    let (first, second) = (
        Identity::of(&SystemRoot::new(machine.path()), &disk("8:0")),
        Identity::of(&SystemRoot::new(machine.path()), &disk("8:16")),
    );
    assert_eq!((first.serial.as_deref(), first.is_same(&second)), (None, false));
    assert_ne!(first.file_stem(), second.file_stem());
    for (minor, name) in [(0, "nvme0n1"), (1, "nvme0n2")] {
        let attributes = [
            ("device/model", "Two"),
            ("device/serial", "N1"),
            ("size", if minor == 0 { "8" } else { "16" }),
        ];
        machine.disk(
            &format!("pci0000:00/nvme/nvme0/{name}"),
            &format!("259:{minor}"),
            &attributes,
        );
    }
    let namespaces = ["259:0", "259:1"]
        .map(|number| Identity::of(&SystemRoot::new(machine.path()), &disk(number)));
    assert!(namespaces[0].is_same(&namespaces[1]) && namespaces[0].serial.is_some());
    // A filesystem on one namespace forbids switching the other.
    machine.mounts("28 1 259:1 / /srv rw - ext4 /dev/nvme0n2 rw\n");
    for refused in [
        refuse_in_use(&SystemRoot::new(machine.path()), &disk("259:0")),
        refuse_others_in_use(&SystemRoot::new(machine.path()), &disk("259:0")),
    ] {
        assert!(
            matches!(refused, Err(SwitchError::InUse { .. } | SwitchError::Drive(_))),
            "{refused:?}"
        );
    }
    machine.mounts("");
    assert!(refuse_others_in_use(&SystemRoot::new(machine.path()), &disk("8:0")).is_ok());
}

#[test]
fn a_place_omits_the_numbers_of_this_boot() {
    let machine = captures::Machine::new();
    let place = "pci0000:00/0000:00:05.0/usb2/2-1/2-1:1.0/host15/target15:0:0/15:0:0:1/block/sdl";
    machine.disk(place, "8:0", &[]);
    let disk = BlockDevice::read(&SystemRoot::new(machine.path()), "8:0".parse().unwrap()).unwrap();
    let identity = Identity::of(&SystemRoot::new(machine.path()), &disk);
    assert_eq!(identity.place, "sys/devices/pci0000:00/0000:00:05.0/usb2/2-1/2-1:1.0/0:0:1/block");
}

#[test]
fn udev_rules() {
    use captures::built;
    let laptop = built::laptop();
    let disk =
        BlockDevice::read(&SystemRoot::new(laptop.path()), "259:0".parse().unwrap()).unwrap();
    let reading = |told_by| CacheReading {
        present: true,
        enabled: true,
        switchable: true,
        after_power_cycle: AfterPowerCycle::Reverts,
        told_by,
    };
    let rules = [ToldBy::AtaIdentify, ToldBy::VirtioConfig, ToldBy::NvmeFeature]
        .map(|told_by| udev::rule(&disk, reading(told_by), false).unwrap())
        .join("\n");
    insta::assert_snapshot!(rules, @r#"
    # /etc/udev/rules.d/61-write-cache.rules
    # Volatile write cache off: Samsung SSD 980 PRO 1TB, serial number S5GXNX0R000000.
    ACTION=="add", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", ENV{ID_SERIAL_SHORT}=="S5GXNX0R000000", RUN+="/bin/sh -c 'for file in /sys/block/%k/device/scsi_disk/*/cache_type; do echo write through > $$file; done'"

    # /etc/udev/rules.d/61-write-cache.rules
    # Volatile write cache off: Samsung SSD 980 PRO 1TB, serial number S5GXNX0R000000.
    ACTION=="add", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", ENV{ID_SERIAL}=="S5GXNX0R000000", RUN+="/bin/sh -c 'echo write through > /sys/block/%k/cache_type'"

    # /etc/udev/rules.d/61-write-cache.rules
    # Volatile write cache off: Samsung SSD 980 PRO 1TB, serial number S5GXNX0R000000.
    # Needs nvme-cli.
    ACTION=="add", SUBSYSTEM=="nvme", ATTR{serial}=="S5GXNX0R000000", RUN+="/usr/sbin/nvme set-feature /dev/%k --feature-id=6 --value=0"
    "#);
    for serial in [None, Some("\"; RUN+=\"x".to_owned()), Some(String::new())] {
        let odd = BlockDevice { serial, ..disk.clone() };
        assert_eq!(udev::rule(&odd, reading(ToldBy::AtaIdentify), true), None);
    }
    let spaced = BlockDevice { serial: Some("WD  12 3".to_owned()), ..disk };
    assert!(
        udev::rule(&spaced, reading(ToldBy::AtaIdentify), true).unwrap().contains("\"WD_12_3\"")
    );
}
