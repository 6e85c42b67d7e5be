//! Machines laid out in temporary directories.

use std::fs;

use super::*;
use crate::{AfterPowerCycle, Disagreement, ToldBy, WriteCache};
use captures::{Machine, built};

fn names(inventory: &Inventory) -> Vec<&str> {
    inventory.drives.iter().map(|record| record.device.name.as_str()).collect()
}

fn record<'a>(inventory: &'a Inventory, name: &str) -> &'a DriveRecord {
    inventory.drives.iter().find(|record| record.device.name == name).unwrap()
}

#[test]
fn a_laptops_drive_with_all_that_lies_on_it() {
    let machine = built::laptop();
    machine.attribute("pci0000:00/0000:00:06.0/0000:02:00.0", "numa_node", b"-1\n");
    let inventory = Inventory::read(&SystemRoot::new(machine.path()));
    let drive = record(&inventory, "nvme0n1");
    assert_eq!((drive.pci_address.as_deref(), drive.numa_node), (Some("0000:02:00.0"), None));
    let usage = drive.usage.as_ref().unwrap();
    let parts: Vec<&str> = usage.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(parts, ["nvme0n1p1", "nvme0n1p2", "nvme0n1p3"]);
    let mounted: Vec<String> = usage
        .filesystems()
        .map(|(on, mount)| format!("{} {} {}", on.name, mount.fs_type, mount.mount_point.display()))
        .collect();
    assert!(mounted.iter().any(|line| line.starts_with("nvme0n1p2 ext4 /")), "{mounted:?}");
    assert!(usage.parts[2].swap);
    assert_eq!(
        drive.cache.drive,
        Answer::NotAsked { because: "the drive is not on this machine".to_owned() }
    );
    assert_eq!(drive.cache.kernel.write_cache, Some(WriteCache::WriteBack));
    assert_eq!(drive.cache.filesystems.len(), mounted.len());
}

#[test]
fn a_volume_is_listed_on_both_of_its_drives() {
    let inventory = Inventory::read(&SystemRoot::new(built::raid_server().path()));
    let under: Vec<&str> = inventory
        .drives
        .iter()
        .filter(|record| record.device.layers.is_empty() && !record.cache.filesystems.is_empty())
        .map(|record| record.device.name.as_str())
        .collect();
    assert_eq!(under.len(), 2, "{:?}", names(&inventory));
}

#[test]
fn people_count_sdz_before_sdaa_and_nvme2_before_nvme10() {
    let machine = Machine::new();
    for (minor, name) in ["sdaa", "sdz", "nvme10n1", "nvme2n1", "sda"].iter().enumerate() {
        machine.disk(
            &format!("pci0000:00/block/{name}"),
            &format!("8:{minor}"),
            &[("size", "1000")],
        );
    }
    let inventory = Inventory::read(&SystemRoot::new(machine.path()));
    assert_eq!(names(&inventory), ["nvme2n1", "nvme10n1", "sda", "sdz", "sdaa"]);
}

#[test]
fn placeholders_are_left_out() {
    let machine = Machine::new();
    machine
        .disk("virtual/block/loop0", "7:0", &[("size", "0")])
        .disk("virtual/block/loop1", "7:1", &[("size", "100"), ("loop/backing_file", "/srv/image")])
        .disk("virtual/block/zram0", "252:0", &[("size", "0")])
        .disk("virtual/block/ram0", "1:0", &[("size", "8192")])
        .disk("pci0000:00/block/sr0", "11:0", &[("size", "0")]);
    assert_eq!(names(&Inventory::read(&SystemRoot::new(machine.path()))), ["loop1"]);
}

#[test]
fn a_drive_that_vanishes_between_listing_and_reading_is_named() {
    let machine = built::laptop();
    machine.link("sys/block/sdx", "sys/devices/gone/sdx");
    let inventory = Inventory::read(&SystemRoot::new(machine.path()));
    assert_eq!(inventory.vanished, ["sdx"]);
    assert_eq!(names(&inventory), ["nvme0n1"]);
}

#[test]
fn multipath_nvme_paths_are_not_drives_and_have_not_vanished() {
    let machine = built::laptop();
    machine.file("/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0c0n1/hidden", "1\n");
    machine
        .link("sys/block/nvme0c0n1", "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0c0n1");
    let inventory = Inventory::read(&SystemRoot::new(machine.path()));
    assert_eq!((names(&inventory), inventory.vanished.len()), (vec!["nvme0n1"], 0));
}

#[test]
fn a_layer_in_the_middle_that_stops_flushes_is_found() {
    let machine = Machine::new();
    machine.disk(
        "pci0000:00/block/sda",
        "8:0",
        &[("size", "1000"), ("queue/write_cache", "write back")],
    );
    for (minor, name, belief) in [(0, "dm-0", "write through"), (1, "dm-1", "write back")] {
        let attributes = [
            ("size", "1000"),
            ("dm/name", name),
            ("dm/uuid", "LVM-x"),
            ("queue/write_cache", belief),
        ];
        machine.disk(&format!("virtual/block/{name}"), &format!("253:{minor}"), &attributes);
    }
    machine
        .stack("virtual/block/dm-0", "pci0000:00/block/sda")
        .stack("virtual/block/dm-1", "virtual/block/dm-0");
    machine.mounts("28 1 253:1 / /srv rw - ext4 /dev/mapper/dm-1 rw\n");
    let inventory = Inventory::read(&SystemRoot::new(machine.path()));
    let view = &record(&inventory, "sda").cache.filesystems[0];
    assert_eq!(
        (view.mount_point.as_path(), view.stopped_by.as_deref()),
        (Path::new("/srv"), Some("dm-0"))
    );
}

#[test]
fn every_device_of_a_btrfs_is_known_to_belong_to_it() {
    let machine = Machine::new();
    for (minor, name) in [(0, "sda"), (16, "sdb")] {
        machine.disk(
            &format!("pci0000:00/block/{name}"),
            &format!("8:{minor}"),
            &[("size", "1000")],
        );
        machine.file(&format!("/sys/fs/btrfs/u-1/devices/{name}/size"), "1000\n");
    }
    for drive in Inventory::read(&SystemRoot::new(machine.path())).drives {
        assert_eq!(drive.usage.unwrap().btrfs.as_deref(), Some("u-1"));
    }
}

#[test]
fn stacks_that_lead_back_to_themselves_end() {
    let machine = Machine::new();
    for (minor, name) in ["dm-0", "dm-1", "dm-2"].iter().enumerate() {
        machine.disk(
            &format!("virtual/block/{name}"),
            &format!("253:{minor}"),
            &[("size", "1000"), ("dm/name", "same")],
        );
    }
    for (upper, lower) in [("dm-0", "dm-1"), ("dm-1", "dm-2"), ("dm-2", "dm-0")] {
        machine.stack(&format!("virtual/block/{upper}"), &format!("virtual/block/{lower}"));
    }
    let inventory = Inventory::read(&SystemRoot::new(machine.path()));
    assert_eq!(inventory.drives.len(), 3);
    for record in &inventory.drives {
        let usage = record.usage.as_ref().unwrap();
        assert!(usage.all().len() <= 3, "{}", usage.all().len());
    }
}

#[test]
fn absurd_values_are_no_values() {
    let machine = Machine::new();
    machine.mounts("malformed\n").disk(
        "pci0000:00/0000:00:1f.2/block/sda",
        "8:0",
        &[
            ("size", "99999999999999999999999"),
            ("queue/write_cache", "write sideways"),
            ("queue/io_timeout", "-1"),
            ("queue/discard_granularity", "many"),
            ("queue/fua", "2"),
            ("queue/rotational", "perhaps"),
            ("device/model", "\u{0}\u{0}"),
        ],
    );
    machine.disk(
        "pci0000:00/0000:00:1f.2/block/sdb",
        "8:16",
        &[("size", "8"), ("queue/write_cache", "write back")],
    );
    let inventory = Inventory::read(&SystemRoot::new(machine.path()));
    assert_eq!(names(&inventory), ["sda", "sdb"]);
    let absurd = &record(&inventory, "sda").device;
    assert_eq!((absurd.size_bytes, absurd.model.as_deref()), (None, None));
    assert_eq!(absurd.queue, crate::Queue::default());
    assert!(record(&inventory, "sdb").usage.as_ref().unwrap().mounts.is_empty());
}

#[test]
fn records_survive_json() {
    for machine in [built::laptop(), built::raid_server(), built::cloud_vm()] {
        for record in Inventory::read(&SystemRoot::new(machine.path())).drives {
            let json = serde_json::to_string(&record).unwrap();
            assert_eq!(serde_json::from_str::<DriveRecord>(&json).unwrap(), record);
        }
    }
}

/// Every combination of the three views, with its findings.
#[test]
fn contradictions() {
    let machine = built::laptop();
    let sound = Inventory::read(&SystemRoot::new(machine.path())).drives.remove(0).cache;
    let reading = |present, enabled| {
        let reading = CacheReading {
            present,
            enabled,
            switchable: present,
            after_power_cycle: AfterPowerCycle::Reverts,
            told_by: ToldBy::NvmeFeature,
        };
        Answer::Told { told: reading }
    };
    let mut lines = Vec::new();
    for (name, drive) in [
        ("on", reading(true, true)),
        ("off", reading(true, false)),
        ("none", reading(false, false)),
        ("root only", Answer::NeedsRoot),
    ] {
        for belief in [WriteCache::WriteBack, WriteCache::WriteThrough] {
            for cache_type in [None, Some("write back")] {
                let mut views = CacheViews { drive: drive.clone(), ..sound.clone() };
                views.kernel.write_cache = Some(belief);
                views.kernel.cache_type = cache_type.map(str::to_owned);
                let found: Vec<String> =
                    views.disagreements().iter().map(|one| format!("{one:?}")).collect();
                lines.push(format!("{name}, {belief:?}, {cache_type:?}: {}", found.join(", ")));
            }
        }
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    on, WriteBack, None: 
    on, WriteBack, Some("write back"): 
    on, WriteThrough, None: KernelSendsNoFlushes
    on, WriteThrough, Some("write back"): KernelSendsNoFlushes
    off, WriteBack, None: FlushesInVain
    off, WriteBack, Some("write back"): FlushesInVain
    off, WriteThrough, None: 
    off, WriteThrough, Some("write back"): 
    none, WriteBack, None: FlushesInVain
    none, WriteBack, Some("write back"): FlushesInVain
    none, WriteThrough, None: 
    none, WriteThrough, Some("write back"): 
    root only, WriteBack, None: 
    root only, WriteBack, Some("write back"): 
    root only, WriteThrough, None: 
    root only, WriteThrough, Some("write back"): BeliefOverridden
    "#);
    let mut barriers = sound.clone();
    barriers.filesystems[0].flushes_disabled_by = Some("nobarrier".to_owned());
    assert!(matches!(
        &barriers.disagreements()[..],
        [Disagreement::FilesystemSendsNoFlushes { .. }]
    ));
    let mut layer = sound;
    layer.filesystems[0].stopped_by = Some("dm-0".to_owned());
    assert!(matches!(&layer.disagreements()[..], [Disagreement::LayerStopsFlushes { .. }]));
}

#[test]
fn a_usb_disk_is_known_by_its_descriptor() {
    let machine = Machine::new();
    let place = "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host15/target15:0:0/15:0:0:0/block/sdl";
    machine.disk(place, "8:0", &[("size", "1000")]);
    machine.attribute("pci0000:00/0000:00:14.0/usb2/2-1", "idVendor", b"0bda\n");
    machine.attribute("pci0000:00/0000:00:14.0/usb2/2-1", "serial", b"USB1\n");
    let inventory = Inventory::read(&SystemRoot::new(machine.path()));
    assert_eq!(record(&inventory, "sdl").device.serial.as_deref(), Some("USB1"));
    fs::remove_dir_all(machine.path().join("sys/devices/pci0000:00")).unwrap();
    assert_eq!(Inventory::read(&SystemRoot::new(machine.path())).vanished, ["sdl"]);
}
