//! Golden tests of the pages of `flushmark drives`.

use std::path::PathBuf;

use drive::cache_switch::{Change, Identity};
use drive::{AfterPowerCycle, CacheReading, CacheViews, MountedOn, ToldBy};

use super::*;

fn answer(enabled: bool) -> Answer<CacheReading> {
    let after_power_cycle = AfterPowerCycle::Reverts;
    let told = CacheReading {
        present: true,
        enabled,
        switchable: true,
        after_power_cycle,
        told_by: ToldBy::AtaIdentify,
    };
    Answer::Told { told }
}

fn usage(name: &str, mounts: &[(&str, &str, Option<&str>)], parts: Vec<Usage>) -> Usage {
    let mounts = mounts.iter().map(|(mount_point, fs_type, off)| MountedOn {
        mount_point: PathBuf::from(mount_point),
        fs_type: (*fs_type).to_owned(),
        options: vec!["noatime".to_owned()],
        flushes_disabled_by: off.map(str::to_owned),
    });
    Usage {
        path: PathBuf::from(format!("/dev/{name}")),
        name: name.to_owned(),
        layer: None,
        size_bytes: Some(500 << 30),
        write_cache: Some(WriteCache::WriteBack),
        mounts: mounts.collect(),
        partition: None,
        btrfs: None,
        swap: false,
        parts,
    }
}

fn record(device: &BlockDevice, drive: Answer<CacheReading>, usage: Option<Usage>) -> DriveRecord {
    DriveRecord {
        cache: CacheViews::of(device, usage.as_ref(), drive),
        device: device.clone(),
        numa_node: Some(1),
        wwn: Some("naa.5000c50015ea71ac".to_owned()),
        pci_address: Some("0000:3b:00.0".to_owned()),
        health: Answer::NeedsRoot,
        usage,
        poll_queues: None,
        claimed: None,
    }
}

fn document(drives: Vec<DriveRecord>) -> DrivesDocument {
    DrivesDocument {
        schema: "flushmark/drives/1".to_owned(),
        flushmark: "0.1.0".to_owned(),
        findings: judge::drives(&drives),
        drives,
        vanished: Vec::new(),
        switched: Vec::new(),
    }
}

/// Three drives: one without problems, one whose filesystem sends no flushes, one whose cache the
/// kernel does not know.
fn machine() -> DrivesDocument {
    let place = samples::place::raid();
    let sata = place.block_device().unwrap().drives()[0].clone();
    let mut first = sata.clone();
    first.queue.write_cache = Some(WriteCache::WriteBack);
    first.serial = Some("S3EWNX0K".to_owned());
    first.queue.discard_max_bytes = Some(2 << 30);
    first.queue.discard_granularity_bytes = Some(4096);
    let mut second =
        BlockDevice { path: "/dev/sdb".into(), name: "sdb".to_owned(), ..first.clone() };
    second.queue.rotational = Some(true);
    let third = BlockDevice { path: "/dev/sdc".into(), name: "sdc".to_owned(), ..sata };
    let mut healthy = record(
        &first,
        answer(true),
        Some(usage(
            "sda",
            &[],
            vec![usage("sda1", &[("/", "ext4", None), ("/home", "xfs", None)], vec![])],
        )),
    );
    healthy.health = Answer::Told {
        told: Health {
            used_percent: Some(3),
            temperature_celsius: Some(31),
            power_cycles: Some(12),
            host_bytes_written: Some(44_554 << 25),
            medium_bytes_written: Some(90_287 << 25),
            failing: Some(false),
            ..Health::default()
        },
    };
    document(vec![
        healthy,
        record(
            &second,
            Answer::NeedsRoot,
            Some(usage("sdb", &[("/srv", "ext4", Some("nobarrier"))], vec![])),
        ),
        record(&third, answer(true), None),
    ])
}

#[test]
fn drives_in_a_table() {
    insta::assert_snapshot!(drives_page(&machine(), false, &Look::plain()), @"
      drive     model                bus   cache       kernel        filesystem  used for
      /dev/sda  INTEL SSDSC2BB480G4  SATA  on          flushes, FUA  flushes     / (ext4), /home (xfs)
      /dev/sdb  INTEL SSDSC2BB480G4  SATA  needs root  flushes, FUA  nobarrier   /srv (ext4)
      /dev/sdc  INTEL SSDSC2BB480G4  SATA  on          no flushes    -           -

    Run as root to see more of /dev/sdb, /dev/sdc: the cache state that the drive reports, names that
    sysfs hides, health.

    Findings
     1. No sync on /srv flushes the write cache of /dev/sdb: it is mounted with `nobarrier`.
        because: queue/write_cache write back; ext4 on /srv nobarrier
        confidence: high
        to do: Run `mount -o remount,barrier /srv`, and remove `nobarrier` from /etc/fstab.
     2. The kernel sends no flushes to /dev/sdc, although its volatile write cache is on: no fsync is
        durable.
        because: drive reports on; queue/write_cache write through
        confidence: high: A drive with power-loss protection loses nothing because of this; check its
                    datasheet.
        to do: Re-enable flushes with `echo 'write back' > /sys/block/sdc/queue/write_cache`, or switch
               the cache off: `flushmark cache off /dev/sdc`.
    ");
}

#[test]
fn one_drive_in_detail() {
    let mut document = machine();
    document.drives.truncate(1);
    document.findings.clear();
    insta::assert_snapshot!(drives_page(&document, true, &Look::plain()), @"
      drive     model                size  bus   cache  kernel        filesystem  used for
      /dev/sda  INTEL SSDSC2BB480G4  1 TB  SATA  on     flushes, FUA  flushes     / (ext4), /home (xfs)

    /dev/sda
      drive        INTEL SSDSC2BB480G4, serial number S3EWNX0K, naa.5000c50015ea71ac
      attached     SATA, PCI 0000:3b:00.0, NUMA node 1
      size         1 TB, sectors of 512 B
      queue        scheduler none
      discard      yes, in units of 4 KiB
      write cache  on (ATA IDENTIFY DEVICE, word 85); the kernel assumes a volatile cache and sends
                   flushes, and writes that bypass it (FUA)
      health       healthy, 3 % of rated endurance used, 31 °C, 12 power cycles, 1.49 TB written,
                   3.03 TB written to flash
      use          /dev/sda
                   · /dev/sda1, 500 GiB, ext4 on / noatime, xfs on /home noatime
    ");
}

#[test]
fn caches_and_recorded_changes() {
    let mut document = machine();
    document.findings.clear();
    document.vanished.push("sdx".to_owned());
    let drive = Identity {
        model: Some("Micron 5100".to_owned()),
        serial: Some("S1".to_owned()),
        size_bytes: None,
        place: String::new(),
        path: "/dev/sda".to_owned(),
    };
    document.switched.push(Record::new(
        drive,
        vec![Change { was_on: true, was_unflushed: false, by: By::Run, pid: 7, at_unix_s: 0 }],
    ));
    insta::assert_snapshot!(cache_status_page(&document, &Look::plain()), @"
      drive     drive says  kernel        filesystem  can be switched  after a power cycle
      /dev/sda  on          flushes, FUA  flushes     yes              forgotten
      /dev/sdb  needs root  flushes, FUA  nobarrier   -                -
      /dev/sdc  on          no flushes    -           yes              forgotten

    Run as root to see more of /dev/sdb, /dev/sdc: the cache state that the drive reports, names that
    sysfs hides, health.

    /dev/sdx disappeared while it was being read.

    a run that was killed or is still running switched the write cache of Micron 5100 (S1), which was
    on; run `flushmark cache restore` to restore it.
    ");
}

fn captured(name: &str) -> String {
    let capture = captures::lay_out(name);
    let inventory = drive::Inventory::read(&drive::SystemRoot::new(capture.path()));
    let document = DrivesDocument { vanished: inventory.vanished, ..document(inventory.drives) };
    drives_page(&document, false, &Look::plain())
}

#[test]
fn a_server_with_two_sockets() {
    insta::assert_snapshot!(captured("nvme-server"), @"
    drive         bus   cache  kernel      filesystem  used for
    /dev/nvme0n1  NVMe  -      no flushes  flushes     /boot/efi (vfat), / (ext4)
    /dev/nvme1n1  NVMe  -      no flushes  flushes     /var/lib/postgresql (xfs)
    /dev/nvme2n1  NVMe  -      no flushes  -           -
    /dev/nvme3n1  NVMe  -      no flushes  -           -
    ");
}

#[test]
fn a_box_behind_a_raid_card() {
    insta::assert_snapshot!(captured("raid-card-homelab"), @"
    drive     model                size  bus   cache  kernel      filesystem  used for
    /dev/sda  AVAGO MR9361-8i      4 TB  SCSI  -      no flushes  nobarrier   / (ext4)
    /dev/sdb  WDC WD40EFRX-68W     4 TB  SAS   -      flushes     flushes     /mnt/backup (ext4)
    /dev/sdc  Samsung SSD 860    500 GB  SAS   -      flushes     flushes     /tank (ext4)
    /dev/sdd  Cruzer Fit        15.4 GB  USB   -      no flushes  -           -
    ");
}

#[test]
fn a_raid5() {
    insta::assert_snapshot!(captured("md-raid5"), @"
    drive                    model             bus    cache  kernel   filesystem  used for
    /dev/mapper/office-data  -                 lvm    -      flushes  flushes     /srv/office (ext4)
    /dev/md0                 -                 raid5  -      flushes  flushes     /srv/office (ext4)
    /dev/sda                 CT1000MX500SSD1   SATA   -      flushes  flushes     /srv/office (ext4)
    /dev/sdb                 CT1000MX500SSD1   SATA   -      flushes  flushes     /srv/office (ext4)
    /dev/sdc                 CT1000MX500SSD1   SATA   -      flushes  flushes     /srv/office (ext4)
    /dev/sdd                 KINGSTON SA400S3  SATA   -      flushes  flushes     / (ext4), swap
    ");
}

#[test]
fn a_cloud_machine() {
    insta::assert_snapshot!(captured("cloud-vm"), @"
    drive     model             size  bus     media     cache  kernel        filesystem  used for
    /dev/sr0  QEMU DVD-ROM   1.07 GB  SATA    -         -      -             -           -
    /dev/sda  QEMU HARDDISK   107 GB  virtio  flash     -      flushes, FUA  flushes     /data (btrfs)
    /dev/sdb  QEMU HARDDISK  10.7 GB  SATA    rotating  -      flushes       -           -
    /dev/vda  -              42.9 GB  virtio  rotating  -      flushes       flushes     / (ext4)
    ");
}

#[test]
fn nothing_to_see() {
    insta::assert_snapshot!(drives_page(&document(Vec::new()), false, &Look::plain()), @"No drives found.");
}
