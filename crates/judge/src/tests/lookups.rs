//! Looking up results and devices in a case.

use drive::{BlockDevice, HostFacts, Partition, Transport, Virtualisation, WriteCache};
use measurement::TestResult;
use workload::SyncMethod::{Fdatasync, Fsync, LinkedFsync, None as NoSync, ODsync};
use workload::{Arrivals, Layout, Pattern, SyncMethod};

use super::AsCase as _;
use crate::case::{Case, syncs_by_call};
use samples::machine::{Machine, on, read, write};
use samples::place::drive;

type Change = fn(&mut TestResult);

/// Changes that turn any test into one of another kind.
const OTHER_WORK: [Change; 4] = [
    |result| result.workload.jobs = 2,
    |result| result.workload.depth = 2,
    |result| {
        result.workload.rate = Some(measurement::RateRecord {
            per_second: 1.0,
            reads_per_second: None,
            arrivals: Arrivals::Poisson,
        });
    },
    |result| result.workload.block_bytes = 16385,
];

fn changed(result: &TestResult, change: Change) -> TestResult {
    let mut result = result.clone();
    change(&mut result);
    result
}

fn with<T>(results: &[TestResult], look: impl Fn(&Case<'_>) -> T) -> T {
    look(&Case::new(results, None, &HostFacts::default()))
}

fn is_small_write(result: TestResult, sync: SyncMethod) -> bool {
    with(&[result], |case| case.small_write(sync).is_some())
}

#[test]
fn a_small_commit_is_one_synced_write_at_a_time() {
    let base = write(Fsync, 10.0, 20.0).result();
    assert!(is_small_write(base.clone(), Fsync) && !is_small_write(base.clone(), Fdatasync));
    let others: [Change; 5] = [
        |result| result.workload.block_bytes = 0,
        |result| result.workload.sync_every = 2,
        |result| result.workload.pattern = Some(Pattern::RandRw),
        |result| result.commit_us = None,
        |result| result.commit_us.as_mut().unwrap().count = 0,
    ];
    for change in OTHER_WORK.into_iter().chain(others) {
        let other = changed(&base, change);
        assert!(!is_small_write(other.clone(), Fsync), "{:?}", other.workload);
    }
    assert!(!is_small_write(
        changed(&base, |result| result.commit_us.as_mut().unwrap().p50 = 0.0),
        Fsync
    ));
    assert!(is_small_write(changed(&base, |result| result.workload.block_bytes = 16384), Fsync));
    assert!(is_small_write(changed(&base, |result| result.workload.block_bytes = 1), Fsync));
    assert!(is_small_write(
        changed(&base, |result| result.workload.pattern = Some(Pattern::Write)),
        Fsync
    ));
    // A per-write method, or none, does not depend on `sync_every`.
    for sync in [ODsync, NoSync] {
        let every =
            changed(&write(sync, 10.0, 0.0).result(), |result| result.workload.sync_every = 2);
        assert!(is_small_write(every, sync), "{sync:?}");
    }
    assert!(!is_small_write(
        changed(&write(NoSync, 10.0, 0.0).result(), |result| result.write_us = None),
        NoSync
    ));
}

#[test]
fn a_random_read_is_one_small_direct_read_at_a_time() {
    let base = read(80.0).result();
    let is_read = |result: TestResult| with(&[result], |case| case.random_read().is_some());
    assert!(
        is_read(base.clone())
            && is_read(changed(&base, |result| result.workload.block_bytes = 16384))
    );
    let others: [Change; 3] = [
        |result| result.workload.pattern = Some(Pattern::Read),
        |result| result.workload.direct = false,
        |result| result.read_us = None,
    ];
    for change in OTHER_WORK.into_iter().chain(others) {
        let other = changed(&base, change);
        assert!(!is_read(other.clone()), "{:?}", other.workload);
    }
}

#[test]
fn of_several_tests_the_most_usual_represents_a_commit() {
    let base = write(Fsync, 10.0, 20.0).result();
    let worse: [Change; 5] = [
        |result| result.workload.direct = false,
        |result| result.workload.layout = Some(Layout::Append),
        |result| result.workload.block_bytes = 16384,
        |result| result.workload.block_bytes = 8192,
        |result| result.workload.pattern = Some(Pattern::Write),
    ];
    // From the least to the most usual; each is chosen until a better one is added.
    let mut results: Vec<TestResult> = worse.map(|change| changed(&base, change)).to_vec();
    results.push(base);
    for count in 1..=results.len() {
        let chosen =
            with(&results[..count], |case| case.small_write(Fsync).unwrap().workload.clone());
        assert_eq!(chosen, results[count - 1].workload);
    }
    let layout_unknown = changed(&results[5], |result| result.workload.layout = None);
    results.insert(0, layout_unknown);
    assert_eq!(
        with(&results, |case| case.small_write(Fsync).unwrap().workload.layout),
        None,
        "equal to the best"
    );
}

#[test]
fn methods_are_compared_between_otherwise_equal_tests() {
    let (fsync, fdatasync) =
        (write(Fsync, 10.0, 20.0).result(), write(Fdatasync, 10.0, 15.0).result());
    let is_pair = |other: TestResult| {
        with(&[fsync.clone(), other], |case| case.small_write_pair(Fsync, Fdatasync).is_some())
    };
    assert!(is_pair(fdatasync.clone()));
    let others: [Change; 4] = [
        |result| result.workload.block_bytes = 8192,
        |result| result.workload.pattern = Some(Pattern::Write),
        |result| result.workload.layout = Some(Layout::Append),
        |result| result.workload.direct = false,
    ];
    for change in others {
        let other = changed(&fdatasync, change);
        assert!(!is_pair(other.clone()), "{:?}", other.workload);
    }
}

#[test]
fn one_committer_is_compared_with_the_most_of_the_same_test() {
    let one = write(Fsync, 10.0, 20.0).result();
    let many = |jobs: u64| write(Fsync, 10.0, 20.0).jobs(jobs).result();
    let jobs = |results: &[TestResult]| {
        with(results, |case| Some(case.one_and_many_jobs()?.1.workload.jobs))
    };
    assert_eq!(jobs(&[one.clone(), many(4), many(16), many(8)]), Some(16));
    assert_eq!(jobs(std::slice::from_ref(&one)), None);
    let others: [Change; 2] = [
        |result| result.workload.sync_every = 2,
        |result| result.workload.pattern = Some(Pattern::Write),
    ];
    for change in others {
        assert_eq!(jobs(&[one.clone(), changed(&many(4), change)]), None);
    }
}

#[test]
fn a_sync_by_call_differs_from_a_flag() {
    for (sync, by_call) in [(Fsync, true), (LinkedFsync, true), (ODsync, false), (NoSync, false)] {
        assert_eq!(syncs_by_call(&write(sync, 10.0, 1.0).result()), by_call, "{sync:?}");
    }
}

/// A disk with a unique device number.
fn disk(minor: u32, transport: Transport) -> BlockDevice {
    let mut disk = drive(["sda", "sdb"][minor as usize], transport);
    disk.device.minor = minor;
    disk
}

/// An array of a partition of the first disk and of the whole second one.
fn array() -> BlockDevice {
    let mut array = drive("md0", Transport::Md);
    let mut first = disk(0, Transport::Sata);
    first.name = "sda1".to_owned();
    first.partition = Some(Partition {
        number: Some(1),
        start_bytes: None,
        disk: "sda".to_owned(),
        disk_device: None,
    });
    array.layers = vec![first, disk(1, Transport::Sata)];
    array
}

fn of(device: BlockDevice) -> Machine {
    on("ext4", "rw", device)
}

#[test]
fn drives_are_named_by_model_path_or_number() {
    let label = |device: BlockDevice| of(device).case().drive_label();
    let mut named = disk(0, Transport::Sata);
    named.model = Some("a model".to_owned());
    assert_eq!(
        [label(named), label(disk(0, Transport::Sata)), label(array())],
        ["a model", "/dev/sda", "the array of 2 drives"]
    );
    let machine = of(array());
    let case = machine.case();
    assert_eq!(case.disk_path(), "/dev/sda");
    assert_eq!(case.disk_paths(), ["/dev/sda", "/dev/sdb"]);
    assert_eq!(case.device_names(), ["md0", "sda1", "sda", "sdb"]);
    assert_eq!(case.path(), "/srv/db");
    with(&[], |nowhere| {
        let said = (nowhere.drive_label(), nowhere.disk_path(), nowhere.path());
        assert_eq!(said, ("the storage".to_owned(), "/dev/DISK".to_owned(), "PATH".to_owned()));
        assert!(nowhere.drives().is_empty() && nowhere.disk_paths().is_empty());
    });
}

#[test]
fn a_model_is_recognised_by_its_path() {
    let mut model = disk(0, Transport::Nvme);
    assert!(!of(model.clone()).case().is_modelled());
    model.path = "sim:a-drive".into();
    assert!(of(model).case().is_modelled());
}

#[test]
fn a_drive_is_directly_attached_if_nothing_is_in_between() {
    let direct = |device: BlockDevice| of(device).case().is_directly_attached();
    assert!(direct(array()) && direct(disk(0, Transport::Nvme)));
    assert!(!direct(disk(0, Transport::Usb)));
    let mut half = array();
    half.layers[1].transport = Transport::Usb;
    assert!(!direct(half));
    let mut guest = of(disk(0, Transport::Sata));
    assert!(!guest.case().is_virtual());
    guest.host.virtualisation = Some(Virtualisation::Kvm);
    assert!(guest.case().is_virtual() && !guest.case().is_directly_attached());
    for transport in [Transport::Virtio, Transport::HyperV, Transport::Xen] {
        assert!(of(disk(0, transport)).case().is_virtual());
    }
    let controller = |class: u32, disk: &str| {
        let mut machine = of(array());
        machine.host.controllers = vec![drive::host::Controller {
            address: "0000:03:00.0".to_owned(),
            class,
            vendor_id: 0x1000,
            device_id: 0x005d,
            driver: Some("megaraid_sas".to_owned()),
            numa_node: None,
            disks: vec![disk.to_owned()],
        }];
        machine.case().is_directly_attached()
    };
    assert!(!controller(0x01_0400, "sda"));
    assert!(controller(0x01_0400, "sdc"), "in front of another disk");
    assert!(controller(0x01_0700, "sda"), "a plain adapter");
    assert!(with(&[], |nowhere| !nowhere.is_directly_attached()));
}

#[test]
fn one_rotating_or_caching_drive_is_enough() {
    let rotates = |both: [Option<bool>; 2]| {
        let mut array = array();
        for (layer, said) in array.layers.iter_mut().zip(both) {
            layer.queue.rotational = said;
        }
        of(array).case().reported_rotational()
    };
    assert_eq!(rotates([Some(false), Some(true)]), Some(true));
    assert_eq!(rotates([Some(false), None]), Some(false));
    assert_eq!(rotates([None, None]), None);
    let belief = |own: Option<WriteCache>, both: [Option<WriteCache>; 2]| {
        let mut array = array();
        array.queue.write_cache = own;
        for (layer, said) in array.layers.iter_mut().zip(both) {
            layer.queue.write_cache = said;
        }
        of(array).case().cache_belief()
    };
    let (back, through) = (Some(WriteCache::WriteBack), Some(WriteCache::WriteThrough));
    assert_eq!(belief(back, [through, back]), back);
    assert_eq!(belief(back, [through, through]), through);
    assert_eq!(belief(through, [back, back]), through, "flushes stopped by a layer reach no drive");
    assert_eq!(belief(back, [None, None]), back);
    assert_eq!(belief(None, [None, None]), None);
}
