//! Single rules: their conditions, and their texts in rarer cases.

use drive::{Backing, NoBlockDevice, Transport, WriteCache};
use measurement::{Confidence, Grade, TestResult, Use};
use workload::Submission;
use workload::SyncMethod::{Fdatasync, Fsync, None as NoSync, ODsync};

use super::{AsCase as _, describe, describe_findings, ids};
use crate::case::Case;
use crate::findings::findings;
use crate::fitness::fitness;
use crate::flush_path::FlushPath;
use crate::nearest::nearest;
use samples::machine::{self, Machine, on, raw, read, write};
use samples::place::drive;

#[test]
fn a_raw_device_where_o_dsync_flushes_too() {
    let mut nvme = drive("nvme1n1", Transport::Nvme);
    nvme.queue.fua = Some(true);
    let machine = raw(nvme).measure([
        write(NoSync, 20.0, 0.0),
        write(Fsync, 20.0, 1_400.0).flushes(1.0),
        write(ODsync, 1_450.0, 0.0).flushes(1.0),
    ]);
    insta::assert_snapshot!(describe(&machine), @"
    no-power-loss-protection (high)
      /dev/nvme1n1 shows no power-loss protection (PLP): a commit (4 KiB write + fsync) takes 1.42 ms, the same write unsynced 20 µs.
      - 4 KiB write + fsync p50: 1420.3 us
      - 4 KiB write p50: 20.02 us
      - 4 KiB write + fsync: flushes: 1.0 per commit
      > Where commits matter (database log, Ceph, SLOG), use a drive whose datasheet promises power-loss protection; `flushmark catalogue --protected yes` lists such drives.
    o-dsync-flushes-too (high)
      Each blocking O_DSYNC write to the raw device sends a FUA write and a FLUSH (1.45 ms): one flush more than durability needs.
      - 4 KiB write + O_DSYNC p50: 1451.0 us
      - engine: psync
      - 4 KiB write + O_DSYNC: flushes: 1.0 per commit
      - 4 KiB write + fsync p50: 1420.3 us
      > Writes through io_uring or libaio avoid the FLUSH: measure them with `--engine io_uring` before comparing methods.
    Ceph OSD: poor. 690 commits/s (4 KiB write + O_DSYNC, the slower of two methods); protected drives make 10,000 and more, consumer drives 500 to 2,000.
    ZFS SLOG: poor. 99 % of commits take 1.49 ms or less (4 KiB write + fsync); at 2 ms a log device gains nothing, good ones take less than 0.2 ms.
    database log: fair. One connection makes 704 commits/s (4 KiB write + fsync), p99 1.49 ms, within etcd's limit of 10 ms.
    general use: good. 99 % of commits take 1.49 ms or less (4 KiB write + fsync).
    like micron-5100-eco-960gb (cache on), 1.07 times apart
      - 4 KiB write + fsync: 1420.0 here, 1517.5 published, us
    like micron-1100-256gb-x2-raid1 (cache default), 1.08 times apart
      - 4 KiB write + fsync: 1420.0 here, 1534.0 published, us
    like samsung-970-evo-plus-2tb (cache default), 1.03 times apart
      - 4 KiB write + fsync: 1420.0 here, 1456.0 published, us
      ? Compared with its 8 KiB write + fsync, the most similar published test.
    ");
}

#[test]
fn an_asynchronous_write_that_was_measured_shows_what_avoiding_the_flush_saves() {
    let mut nvme = drive("nvme1n1", Transport::Nvme);
    nvme.queue.fua = Some(true);
    let mut machine =
        raw(nvme).measure([write(ODsync, 1_450.0, 0.0).flushes(1.0), write(ODsync, 30.0, 0.0)]);
    machine.results[1].workload.submission = Some(Submission::Asynchronous);
    let advice = |machine: &Machine| {
        let found = findings(&machine.case());
        found.iter().find(|found| found.id == "o-dsync-flushes-too").unwrap().advice.clone()
    };
    insta::assert_snapshot!(advice(&machine), @"Writes through io_uring or libaio avoid the FLUSH: the same write takes 30 µs that way.");
    // With the write cache off, another test's figure would be compared.
    machine.results[1].workload.write_cache = workload::WriteCache::Off;
    insta::assert_snapshot!(advice(&machine), @"Writes through io_uring or libaio avoid the FLUSH: measure them with `--engine io_uring` before comparing methods.");
}

/// The finding about power-loss protection of this drive, whose commits take 1.4 ms.
fn slow_commits(model: &str, transport: Transport) -> (String, String) {
    let mut slow = drive("sda", transport);
    slow.model = Some(model.to_owned());
    let machine = on("ext4", "rw", slow)
        .measure([write(NoSync, 20.0, 0.0), write(Fsync, 20.0, 1_400.0).flushes(1.0)]);
    let mut found = findings(&machine.case());
    let first = found.swap_remove(0);
    (first.title, first.advice)
}

#[test]
fn a_slow_drive_that_is_published_as_protected_is_to_be_measured_with_its_cache_off() {
    let (title, advice) = slow_commits("Micron_5100_ECO_960GB", Transport::Sata);
    insta::assert_snapshot!(title, @"Micron_5100_ECO_960GB commits like a drive without power-loss protection (PLP) while its write cache is on: a commit (4 KiB write + fsync) takes 1.42 ms, the same write unsynced 20 µs.");
    insta::assert_snapshot!(advice, @"The catalogue lists it as protected: `sudo flushmark run write-cache /srv/db --in-use` shows whether it is fast with its cache off.");
    let (_, advice) = slow_commits("Samsung SSD 860 EVO 2TB", Transport::Sata);
    assert!(advice.starts_with("If its datasheet promises"), "{advice}");
}

#[test]
fn behind_a_usb_adapter_or_a_network_a_slow_commit_says_less_about_the_drive() {
    insta::assert_snapshot!(slow_commits("Portable SSD T7", Transport::Usb).0, @"Portable SSD T7 commits like a drive without power-loss protection (PLP): a commit (4 KiB write + fsync) takes 1.42 ms, the same write unsynced 20 µs.");
    insta::assert_snapshot!(slow_commits("LUN", Transport::NvmeFabrics).0, @"A commit (4 KiB write + fsync) on LUN takes 1.42 ms, the same write unsynced 20 µs; the hypervisor or the network may be the cause, not a lack of power-loss protection (PLP).");
}

#[test]
fn a_protected_sata_drive_that_may_ignore_fua() {
    // The published figures of a Seagate Nytro 1351.
    let mut sata = drive("sda", Transport::Sata);
    sata.model = Some("XA3840LE10063".to_owned());
    let machine = on("xfs", "rw", sata).measure([
        write(NoSync, 50.0, 0.0),
        write(Fsync, 50.0, 3_420.0).flushes(1.0),
        write(ODsync, 53.5, 0.0).flushes(0.0),
    ]);
    insta::assert_snapshot!(describe(&machine), @"
    no-power-loss-protection (medium)
      XA3840LE10063 commits like a drive without power-loss protection (PLP) while its write cache is on: a commit (4 KiB write + fsync) takes 3.47 ms, the same write unsynced 50 µs.
      - 4 KiB write + fsync p50: 3471.4 us
      - 4 KiB write p50: 50.02 us
      - 4 KiB write + fsync: flushes: 1.0 per commit
      ? Some protected SATA drives still write their cache out on each flush while it is on (Micron 5100: 671 commits/s, and 25,100 with the cache off).
      > If its datasheet promises power-loss protection, `sudo flushmark run write-cache /srv/db --in-use` shows whether it is fast with its cache off; otherwise use a drive that has it where commits matter.
    o-dsync-ignored (low)
      O_DSYNC takes 53.5 µs, no longer than an unsynced write, although a flush takes 3.47 ms.
      - 4 KiB write + O_DSYNC p50: 53.5 us
      - 4 KiB write + fsync p50: 3471.4 us
      - 4 KiB write p50: 50.02 us
      - 4 KiB write + O_DSYNC: flushes: 0.0 per commit
      ? A drive with power-loss protection may legitimately acknowledge a FUA write from its cache and still write the cache out on a flush (Seagate Nytro 1351: 18,700 commits/s with O_SYNC, 288 with fsync); timing alone cannot distinguish it from a drive that ignores FUA.
      > Use fdatasync (`wal_sync_method=fdatasync` in PostgreSQL) until `flushmark verify` has proved O_DSYNC on this drive.
    Ceph OSD: poor. 288 commits/s (4 KiB write + fsync, the slower of two methods); protected drives make 10,000 and more, consumer drives 500 to 2,000.
    ZFS SLOG: unfit. 99 % of commits take 3.64 ms or less (4 KiB write + fsync); at 2 ms a log device gains nothing, good ones take less than 0.2 ms.
    database log: fair. One connection makes 288 commits/s (4 KiB write + fsync), p99 3.64 ms, within etcd's limit of 10 ms.
    general use: good. 99 % of commits take 3.64 ms or less (4 KiB write + fsync).
    like seagate-nytro-1351-3840gb (cache on), 1.00 times apart
      - 4 KiB write + fsync: 3470.0 here, 3472.2 published, us
      - 4 KiB write + O_DSYNC: 53.5 here, 53.5 published, us
    like samsung-970-evo-1tb (cache default), 1.11 times apart
      - 4 KiB write + fsync: 3470.0 here, 3136.0 published, us
      ? Compared with its 8 KiB write + fsync, the most similar published test.
    like samsung-mzvlb512hajq-512gb (cache unknown), 1.33 times apart
      - 4 KiB write + fsync: 3470.0 here, 2604.2 published, us
    ");
}

#[test]
fn a_drive_whose_cache_the_kernel_is_configured_to_ignore() {
    let mut sata = drive("sda", Transport::Sata);
    sata.queue.write_cache = Some(WriteCache::WriteThrough);
    sata.cache_type = Some("write back".to_owned());
    let machine = on("xfs", "rw", sata)
        .measure([write(NoSync, 50.0, 0.0), write(Fsync, 50.0, 2.0).flushes(0.0)]);
    insta::assert_snapshot!(describe(&machine), @"
    cache-belief-overridden (high)
      The kernel is configured not to flush /dev/sda, although the drive reports a volatile cache.
      - sda: cache as the drive reports it: write back
      - sda: queue/write_cache: write through
      ? A drive with power-loss protection loses nothing because of this; check its datasheet.
      > Re-enable flushes with `echo 'write back' > /sys/block/sda/queue/write_cache`. To avoid flushes, switch the cache off instead: `flushmark cache off /dev/sda`.
    Ceph OSD: unfit. The kernel is configured to send no flushes to a drive that reports a volatile cache.
    ZFS SLOG: unfit. The kernel is configured to send no flushes to a drive that reports a volatile cache.
    database log: unfit. The kernel is configured to send no flushes to a drive that reports a volatile cache.
    general use: unfit. The kernel is configured to send no flushes to a drive that reports a volatile cache.
    like samsung-pm1643a-960gb (cache unknown), 1.04 times apart
      - 4 KiB write + fsync: 52.0 here, 53.9 published, us
      ? These commits are not durable: only the speed is similar.
    like seagate-nytro-1351-3840gb (cache off), 1.06 times apart
      - 4 KiB write + fsync: 52.0 here, 55.2 published, us
      ? These commits are not durable: only the speed is similar.
    like kingston-sedc1500m-7680gb-x2-raid1 (cache default), 1.02 times apart
      - 4 KiB write + fsync: 52.0 here, 51.0 published, us
      ? Compared with its 4 KiB write + fdatasync, the most similar published test. These commits are not durable: only the speed is similar.
    ");
}

#[test]
fn a_disk_that_commits_faster_than_it_turns() {
    let mut machine = machine::disk();
    machine.results.clear();
    let machine = machine.measure([
        write(NoSync, 90.0, 0.0),
        write(Fdatasync, 95.0, 310.0).flushes(1.0),
        read(8_100.0),
    ]);
    insta::assert_snapshot!(describe(&machine), @"
    flush-too-fast (medium)
      A commit takes 405 µs, less than the 8.33 ms of one rotation: the flush did not wait for the platter.
      - rotational (kernel): yes
      - 4 KiB read p50: 8101.9 us
      - 4 KiB write + fdatasync p50: 405.2 us
      - 4 KiB write + fdatasync: flushes: 1.0 per commit
      ? A disk that caches in flash or in a reserved band of the platter is that fast without lying, until that cache is full. Timing alone cannot distinguish that from a lie.
      > Run `flushmark verify` with a power cut to find out; until then, do not store anything on it that must survive one.
    rotating-disk (high)
      TOSHIBA MG07ACA14TE is a rotating disk: a random access takes 8.1 ms.
      - rotational (kernel): yes
      - 4 KiB write + fdatasync p50: 405.2 us
      - 4 KiB read p50: 8101.9 us
      > Put what commits (database log, ZFS SLOG, Ceph block.db) on an SSD with power-loss protection, and keep the bulk of the data here.
    Ceph OSD: fair. 2,469 commits/s (4 KiB write + fdatasync); 10,000 would not limit an OSD.
    ZFS SLOG: fair. 99 % of commits take 425 µs or less (4 KiB write + fdatasync); good log devices take less than 0.2 ms.
    database log: good. One connection makes 2,469 commits/s (4 KiB write + fdatasync), p99 425 µs, within etcd's limit of 10 ms.
    general use: fair. 99 % of commits take 425 µs or less (4 KiB write + fdatasync), 99 % of random reads take 8.5 ms or less (4 KiB read).
    like tesla-2tb (cache default), 1.05 times apart
      - 4 KiB write + fdatasync: 405.0 here, 425.2 published, us
    like xpg-gammix-s70-blade-2tb (cache default), 1.13 times apart
      - 4 KiB write + fdatasync: 405.0 here, 357.3 published, us
    like corsair-mp600-500gb (cache default), 1.11 times apart
      - 4 KiB write + fdatasync: 405.0 here, 451.3 published, us
      ? Compared with its 8 KiB write + fdatasync, the most similar published test.
    ");
    let behind_controller = |transport| {
        let mut disk = drive("sda", transport);
        disk.queue.rotational = Some(true);
        let tests = [write(Fdatasync, 60.0, 40.0).flushes(1.0), read(5_000.0)];
        findings(&on("xfs", "rw", disk).measure(tests).case()).remove(0)
    };
    assert_eq!(behind_controller(Transport::Sata).confidence, Confidence::Medium);
    assert_eq!(behind_controller(Transport::Scsi).confidence, Confidence::Low);
}

#[test]
fn a_mount_that_makes_everything_synchronous() {
    let mut machine = machine::protected_nvme();
    machine.place.as_mut().unwrap().mount.as_mut().unwrap().options.push("sync".to_owned());
    let finding = findings(&machine.case())
        .into_iter()
        .find(|finding| finding.id == "synchronous-mount")
        .unwrap();
    insta::assert_snapshot!(format!("{}\n{}", finding.title, finding.advice), @r"
    /srv/db is mounted with `sync`: every write waits for durability, even unsynced ones.
    Run `mount -o remount,async /srv/db`: software that needs durability requests it, and other writes need not wait.
    ");
}

#[test]
fn slow_storage_that_is_not_listed_as_rotating() {
    let machine = on("ext4", "rw", drive("sdd", Transport::Scsi)).measure([
        write(NoSync, 6_000.0, 0.0),
        write(Fdatasync, 6_000.0, 6_500.0).flushes(1.0),
        read(7_000.0),
    ]);
    assert_eq!(ids(&machine), ["as-slow-as-a-rotating-disk"]);
}

#[test]
fn committers_that_do_not_share_flushes_do_not_merge() {
    let machine =
        machine::consumer_nvme().measure([write(Fsync, 21.0, 23_000.0).jobs(8).flushes(2.0)]);
    let ids = ids(&machine);
    assert!(!ids.contains(&"concurrent-flushes-merge".to_owned()), "{ids:?}");
    assert!(ids.contains(&"commits-do-not-scale".to_owned()), "{ids:?}");
}

#[test]
fn the_command_to_re_enable_flushes_fits_the_filesystem() {
    let advice = |fs_type: &str, options: &str| {
        let machine = on(fs_type, options, drive("sda", Transport::Sata));
        findings(&machine.case()).remove(0).advice
    };
    let all = [
        advice("ext4", "rw,barrier=0"),
        advice("btrfs", "rw,nobarrier"),
        advice("f2fs", "rw,fsync_mode=nobarrier"),
        advice("xfs", "rw,nobarrier"),
        advice("overlay", "rw,volatile"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
    Run `mount -o remount,barrier=1 /srv/db` now, and remove `barrier=0` from /etc/fstab; if it is not set there, run `tune2fs -o ^nobarrier /dev/sda`.
    Run `mount -o remount,barrier /srv/db` now, and remove `nobarrier` from /etc/fstab.
    Run `mount -o remount,fsync_mode=posix /srv/db` now, and remove `fsync_mode=nobarrier` from /etc/fstab.
    Remove `nobarrier` from /etc/fstab and remount /srv/db.
    Start the container without the `volatile` option, or give the database a separate volume.
    ");
}

#[test]
fn every_kind_of_target_in_memory_is_found() {
    for transport in [Transport::Zram, Transport::Ram, Transport::NullBlk] {
        let machine = on("ext4", "rw", drive("x0", transport));
        assert!(
            matches!(FlushPath::of(&machine.case()), FlushPath::InMemory { .. }),
            "{transport:?}"
        );
    }
    let mut looped = drive("loop0", Transport::Loop);
    looped.backing_file = Some("/dev/shm/image".into());
    assert!(matches!(
        FlushPath::of(&on("ext4", "rw", looped.clone()).case()),
        FlushPath::InMemory { .. }
    ));
    looped.backing_file = Some("/srv/image".into());
    assert_eq!(FlushPath::of(&on("ext4", "rw", looped).case()), FlushPath::Unobserved);
}

#[test]
fn a_few_commits_without_a_flush_prove_nothing() {
    let mut machine = machine::swallowed_flushes();
    for result in &mut machine.results {
        result.proof.commits = result.proof.commits.min(5);
    }
    assert_eq!(FlushPath::of(&machine.case()), FlushPath::Unobserved);
}

#[test]
fn lost_flushes_make_storage_unfit_for_every_use() {
    for machine in [machine::tmpfs(), machine::without_barriers(), machine::swallowed_flushes()] {
        let fitness = fitness(&machine.case());
        assert!(Use::ALL.iter().all(|used| fitness[used].grade == Grade::Unfit), "{fitness:?}");
    }
}

#[test]
fn an_empty_case_yields_no_finding() {
    let host = drive::HostFacts::default();
    let case = Case::new(&[], None, &host);
    assert!(findings(&case).is_empty());
    assert!(nearest(&case, 3).is_empty());
    assert!(fitness(&case).values().all(|fitness| fitness.grade == Grade::Unknown));
    // A read alone does not grade commits either.
    let reads = on("ext4", "rw", drive("nvme0n1", Transport::Nvme)).measure([read(80.0)]);
    assert_eq!(fitness(&reads.case())[&Use::DatabaseLog].grade, Grade::Unknown);
}

#[test]
fn a_drive_that_declares_no_cache() {
    let declared = |name: &str, transport| {
        let mut drive = drive(name, transport);
        drive.queue.write_cache = Some(WriteCache::WriteThrough);
        on("xfs", "rw", drive)
            .measure([write(NoSync, 12.0, 0.0), write(Fsync, 12.0, 1.0).flushes(0.0)])
    };
    insta::assert_snapshot!(describe_findings(&declared("nvme0n1", Transport::Nvme)), @r"
    power-loss-protection-likely (medium)
      /dev/nvme0n1 most likely has power-loss protection (PLP): a commit (4 KiB write + fsync) takes 13 µs, less than programming flash.
      - 4 KiB write + fsync p50: 13.01 us
      - 4 KiB write p50: 12.01 us
      - 4 KiB write + fsync: flushes: 0.0 per commit
      - volatile cache (drive): none
      ? Timing alone cannot distinguish a protected cache from a drive that ignores flushes.
      > Check the drive's datasheet for power-loss protection, or prove it with `flushmark verify` and a power cut.
    no-flush-sent (high)
      /dev/nvme0n1 reports no volatile cache, so the kernel sends no flush: a commit costs only its write, 13 µs.
      - volatile cache (kernel): write through
      - 4 KiB write + fsync p50: 13.01 us
      - 4 KiB write + fsync: flushes: 0.0 per commit
      > Nothing to do if that is true; check with `nvme get-feature -f 6 -H /dev/nvme0n1`.
    ");
    insta::assert_snapshot!(describe_findings(&declared("nbd0", Transport::Nbd)), @r"
    no-flush-sent (medium)
      /dev/nbd0 reports no volatile cache, so the kernel sends no flush: a commit costs only its write, 13 µs.
      - volatile cache (kernel): write through
      - 4 KiB write + fsync p50: 13.01 us
      - 4 KiB write + fsync: flushes: 0.0 per commit
      ? Whether a completed write is durable depends on the program or machine that serves the device.
      > Check what serves it: it must either report a cache and honour flushes, or write through.
    ");
    insta::assert_snapshot!(describe_findings(&declared("sdb", Transport::Usb)), @r"
    no-flush-sent (low)
      /dev/sdb reports no volatile cache, so the kernel sends no flush: a commit costs only its write, 13 µs.
      - volatile cache (kernel): write through
      - 4 KiB write + fsync p50: 13.01 us
      - 4 KiB write + fsync: flushes: 0.0 per commit
      ? USB bridges often hide the drive's cache, and then a power cut loses acknowledged writes.
      > Nothing to do if that is true; check with `smartctl -g wcache /dev/sdb`.
    ");
}

#[test]
fn a_fast_cache_of_a_controller_gets_low_confidence() {
    let commits = [write(NoSync, 30.0, 0.0), write(Fdatasync, 30.0, 40.0).flushes(1.0)];
    let machine = on("xfs", "rw", drive("sda", Transport::Scsi)).measure(commits);
    let finding = findings(&machine.case()).remove(0);
    assert_eq!(
        (finding.id.as_str(), finding.confidence),
        ("power-loss-protection-likely", Confidence::Low)
    );
}

#[test]
fn an_uncounted_virtual_flush_is_also_unproven() {
    let mut machine =
        on("xfs", "rw", drive("sda", Transport::HyperV)).measure([write(Fdatasync, 60.0, 70.0)]);
    assert_eq!(ids(&machine), ["virtual-flush-unproven"]);
    let because = &fitness(&machine.case())[&Use::ZfsSlog].because;
    assert!(because.ends_with("; provided that its host honours flushes."), "{because}");
    // At the speed of programming flash, nothing is suspicious.
    machine.results.clear();
    assert_eq!(ids(&machine.measure([write(Fdatasync, 60.0, 270.0)])), Vec::<String>::new());
}

#[test]
fn timing_between_protected_and_unprotected_is_inconclusive() {
    let said = |sync_us: f64| {
        let tests = [write(NoSync, 20.0, 0.0), write(Fdatasync, 20.0, sync_us).flushes(1.0)];
        ids(&on("xfs", "rw", drive("nvme0n1", Transport::Nvme)).measure(tests))
    };
    assert_eq!(said(150.0), ["power-loss-protection-likely"]);
    assert_eq!(said(250.0), Vec::<String>::new());
    assert_eq!(said(350.0), ["no-power-loss-protection"]);
}

#[test]
fn a_slow_commit_among_slow_writes_is_inconclusive() {
    let tests = [write(NoSync, 900.0, 0.0), write(Fdatasync, 900.0, 1_000.0).flushes(1.0)];
    assert_eq!(
        ids(&on("xfs", "rw", drive("nvme0n1", Transport::Nvme)).measure(tests)),
        Vec::<String>::new()
    );
}

#[test]
fn without_fua_a_raw_o_dsync_write_is_reported_from_two_flushes_on() {
    let noted = |fua, flushes| {
        let mut nvme = drive("nvme1n1", Transport::Nvme);
        nvme.queue.fua = Some(fua);
        let machine = raw(nvme).measure([write(ODsync, 1_450.0, 0.0).flushes(flushes)]);
        ids(&machine).contains(&"o-dsync-flushes-too".to_owned())
    };
    assert!(noted(true, 1.0) && noted(false, 2.0));
    assert!(!noted(false, 1.0) && !noted(true, 0.0));
}

#[test]
fn every_target_without_a_device_has_advice() {
    let text = |name: &str| name.to_owned();
    let reasons = [
        NoBlockDevice::Network { fs_type: text("nfs4") },
        NoBlockDevice::Served { fs_type: text("9p") },
        NoBlockDevice::Pool { source: text("tank/db") },
        NoBlockDevice::NotInSysfs { device: drive::DeviceNumber { major: 8, minor: 1 } },
        NoBlockDevice::Unresolved { fs_type: text("odd"), source: text("none") },
    ];
    let findings_text = reasons.map(|reason| {
        let mut machine = machine::overlay();
        machine.results.clear();
        machine.place.as_mut().unwrap().backing = Backing::NoBlockDevice(reason);
        let finding = findings(&machine.case()).remove(0);
        format!("{}\n> {}", finding.title, finding.advice)
    });
    insta::assert_snapshot!(findings_text.join("\n"), @r"
    The flushes of /srv/db could not be counted: nfs4 stores files on another machine.
    > Also run `flushmark check` on the server: the difference is the network.
    The flushes of /srv/db could not be counted: 9p stores files through another program or the hypervisor.
    > Run `flushmark check` where that program stores its files.
    The flushes of /srv/db could not be counted: zfs does not report the devices of the pool of tank/db.
    > `zpool status -v` lists the devices; run `flushmark run slog DEVICE` on a spare one to see the cost of a log on it.
    The flushes of /srv/db could not be counted: sysfs does not list the block device 8:1.
    > Mount the host's /sys into the container, read-only, and measure again.
    The flushes of /srv/db could not be counted: odd mounted from `none` does not report its block device.
    > Run `flushmark check` on the device itself if you can find it.
    ");
}

#[test]
fn results_are_looked_up_by_their_workload() {
    let machine = on("ext4", "rw", drive("sda", Transport::Sata)).measure([
        write(Fsync, 10.0, 1.0).block(16384).sequential(),
        write(Fsync, 10.0, 2.0).sequential(),
        write(Fsync, 10.0, 3.0),
        write(Fsync, 10.0, 4.0).block(512),
        write(Fsync, 10.0, 5.0).block(1 << 20),
        write(Fsync, 10.0, 6.0).jobs(4),
        write(Fsync, 10.0, 7.0).jobs(16),
        write(Fdatasync, 10.0, 8.0).block(16384).sequential(),
        read(9.0),
    ]);
    let case = machine.case();
    let sync_us = |result: &measurement::TestResult| result.sync_us.unwrap().p50.round();
    assert!((sync_us(case.small_write(Fsync).unwrap()) - 3.0).abs() < f64::EPSILON);
    assert!(case.small_write(NoSync).is_none() && case.control().is_none());
    let (fsync, fdatasync) = case.small_write_pair(Fsync, Fdatasync).unwrap();
    assert_eq!((sync_us(fsync), sync_us(fdatasync)), (1.0, 8.0));
    let (one, many) = case.one_and_many_jobs().unwrap();
    assert_eq!((sync_us(one), many.workload.jobs), (3.0, 16));
    assert!((sync_us(case.cheapest_commit().unwrap()) - 3.0).abs() < f64::EPSILON);
}

#[test]
fn more_committers_than_cpus_raise_a_doubt() {
    let mut machine = on("xfs", "rw", drive("nvme0n1", Transport::Nvme)).measure([
        write(Fdatasync, 10.0, 10.0).flushes(1.0),
        write(Fdatasync, 80.0, 60.0).jobs(8).flushes(1.0),
    ]);
    let doubt = |machine: &Machine| {
        let found = findings(&machine.case())
            .into_iter()
            .find(|finding| finding.id == "commits-do-not-scale");
        found.unwrap().doubt
    };
    machine.host.logical_cpus = Some(8);
    assert_eq!(doubt(&machine), None);
    machine.host.logical_cpus = Some(2);
    assert_eq!(
        doubt(&machine).as_deref(),
        Some("There are more committers than CPUs, which may be the limit.")
    );
}

#[test]
fn noise_lowers_findings_from_timing_and_not_from_facts() {
    let confidence = |machine: &Machine, id: &str| {
        findings(&machine.case()).into_iter().find(|finding| finding.id == id).unwrap().confidence
    };
    assert_eq!(confidence(&machine::consumer_nvme(), "no-power-loss-protection"), Confidence::High);
    assert_eq!(confidence(&machine::noisy(), "no-power-loss-protection"), Confidence::Medium);
    let mut noisy = machine::noisy();
    noisy
        .place
        .as_mut()
        .unwrap()
        .mount
        .as_mut()
        .unwrap()
        .super_options
        .push("nobarrier".to_owned());
    assert_eq!(confidence(&noisy, "flushes-switched-off"), Confidence::High);
}

#[test]
fn a_raid_controller_answers_for_the_drive() {
    let mut sas = drive("sda", Transport::Scsi);
    sas.model = Some("MR9361-8i".to_owned());
    let mut machine = on("xfs", "rw", sas)
        .measure([write(NoSync, 30.0, 0.0), write(Fsync, 30.0, 12.0).flushes(1.0)]);
    machine.host.controllers = vec![drive::host::Controller {
        address: "0000:03:00.0".to_owned(),
        class: 0x01_0400,
        vendor_id: 0x1000,
        device_id: 0x005d,
        driver: Some("megaraid_sas".to_owned()),
        numa_node: None,
        disks: vec!["sda".to_owned()],
    }];
    insta::assert_snapshot!(describe_findings(&machine), @"
    behind-raid-controller (high)
      A RAID controller hides MR9361-8i: the tests measured its cache, and it decides whether flushes reach the drives.
      - PCI 0000:03:00.0: 1000:005d, driver megaraid_sas
      - 4 KiB write + fsync p50: 42.02 us
      - 4 KiB write + fsync: flushes: 1.0 per commit
      > Check with the vendor's tool (storcli, perccli, ssacli, arcconf) that its cache has a healthy battery, that it writes through without one, and that the drives' caches are off.
    power-loss-protection-likely (low)
      MR9361-8i most likely has power-loss protection (PLP): a commit (4 KiB write + fsync) takes 42 µs, less than programming flash.
      - 4 KiB write + fsync p50: 42.02 us
      - 4 KiB write p50: 30.02 us
      - 4 KiB write + fsync: flushes: 1.0 per commit
      ? A RAID controller answers for the drive: its cache is fast, and only its battery decides whether that is protected.
      > Check the drive's datasheet for power-loss protection, or prove it with `flushmark verify` and a power cut.
    ");
    // The same drive, slow: the finding about the controller precedes the one about the drive.
    machine.results.clear();
    let slow =
        machine.measure([write(NoSync, 30.0, 0.0), write(Fsync, 30.0, 4_000.0).flushes(1.0)]);
    let blamed = findings(&slow.case())
        .into_iter()
        .find(|finding| finding.id == "no-power-loss-protection")
        .unwrap();
    assert_eq!(blamed.confidence, Confidence::Low);
    assert!(blamed.doubt.unwrap().contains("RAID controller"));
}

#[test]
fn host_settings_are_reported_if_they_concern_the_target() {
    let mut machine = on("ext4", "rw", drive("sda", Transport::Sata))
        .measure([write(Fsync, 30.0, 12.0).flushes(1.0)]);
    let disk = |name: &str, scheduler: &str| drive::host::DiskSettings {
        name: name.to_owned(),
        transport: Transport::Sata,
        rotational: Some(false),
        scheduler: Some(scheduler.to_owned()),
        numa_node: None,
        interrupts: Vec::new(),
        virtual_disk: None,
    };
    machine.host.disks = vec![disk("sda", "none"), disk("sdb", "bfq")];
    assert!(!ids(&machine).contains(&"host-costs-latency".to_owned()), "bfq is on another disk");
    machine.host.disks[0].scheduler = Some("bfq".to_owned());
    machine.host.cpu.turbo = Some(false);
    let finding = findings(&machine.case())
        .into_iter()
        .find(|finding| finding.id == "host-costs-latency")
        .unwrap();
    insta::assert_snapshot!(finding.title, @"2 settings of this host cost latency: Turbo; sda: I/O scheduler.");
    // Settings of another bus do not concern the target.
    machine.host.power.nvme_ps_max_latency_us = Some(100_000);
    machine
        .host
        .disks
        .push(drive::host::DiskSettings { transport: Transport::Nvme, ..disk("nvme0n1", "none") });
    let again = findings(&machine.case())
        .into_iter()
        .find(|finding| finding.id == "host-costs-latency")
        .unwrap();
    assert_eq!(again.title, finding.title);
}

#[test]
fn a_small_part_of_a_device() {
    const GIB: u64 = 1 << 30;
    let tested = |size_bytes: u64| {
        let mut machine = raw(drive("nvme1n1", Transport::Nvme)).measure([
            write(NoSync, 20.0, 0.0).size(size_bytes),
            write(Fsync, 20.0, 1_400.0).size(GIB).flushes(1.0),
            read(80.0).size(size_bytes),
        ]);
        machine.place.as_mut().unwrap().size_bytes = Some(100 * GIB);
        machine
    };
    insta::assert_snapshot!(describe_findings(&tested(GIB)).split("small-test-area").nth(1).unwrap(), @"
    (medium)
     The tests used 1 % of /dev/nvme1n1: a drive is often faster there than on its full capacity.
     - test area: 1024.0 MiB
     - size of the target: 102400.0 MiB
     > Omit `size` to test the whole drive.
    ");
    assert!(ids(&tested(9 * GIB)).contains(&"small-test-area".to_owned()));
    assert!(!ids(&tested(10 * GIB)).contains(&"small-test-area".to_owned()), "a tenth is enough");
    assert!(!ids(&tested(100 * GIB)).contains(&"small-test-area".to_owned()));
}

/// A sequential write of `bytes` after a rest.
fn burst(bytes: u64, elapsed_s: f64) -> TestResult {
    let mut result = write(NoSync, 20.0, 0.0).sequential().block(1 << 20).result();
    result.workload.rest_s = 1.0;
    result.proof.writes = bytes >> 20;
    result.elapsed_s = elapsed_s;
    result
}

#[test]
fn a_test_area_smaller_than_the_cache_is_reported() {
    const MIB: u64 = 1 << 20;
    // A cache of 768 MiB: bursts go at 2 GB/s until it is full, then at 0.5 GB/s.
    let bursts = [128, 256, 384, 512, 640, 768, 1024, 1280, 1536, 1792, 2048].map(|mib| {
        let (fast, slow) = (mib.min(1024) * MIB, mib.saturating_sub(1024) * MIB);
        burst(mib * MIB, fast as f64 / 2e9 + slow as f64 / 0.5e9)
    });
    let machine = |size_bytes: u64| {
        let mut machine = raw(drive("nvme1n1", Transport::Nvme))
            .measure([write(Fsync, 20.0, 1_400.0).size(size_bytes)]);
        machine.place.as_mut().unwrap().size_bytes = Some(4 << 30);
        machine.results.extend(bursts.iter().cloned().map(|mut result| {
            result.workload.size_bytes = size_bytes;
            result
        }));
        machine
    };
    assert!(describe_findings(&machine(512 * MIB)).contains("less than its cache"));
    assert!(!ids(&machine(2048 * MIB)).contains(&"small-test-area".to_owned()));
}

/// Grades of a drive with one commit test, as text.
fn grades(commit: TestResult) -> String {
    let machine =
        Machine { results: vec![commit], ..on("ext4", "rw", drive("nvme0n1", Transport::Nvme)) };
    let graded = fitness(&machine.case());
    let line = |used: Use| {
        let measurement::Fitness { grade, because } = &graded[&used];
        format!("{}: {}. {because}\n", used.label(), grade.name())
    };
    Use::ALL.map(line).concat()
}

#[test]
fn grades_follow_the_rate_and_the_p99_of_a_test_with_two_speeds() {
    // The median is 90 µs, but every third commit waits for 4 ms.
    let commit = write(Fdatasync, 20.0, 70.0).slow(0.34, 45.0).result();
    insta::assert_snapshot!(grades(commit), @"
    Ceph OSD: poor. 696 commits/s (4 KiB write + fdatasync): 66 % at about 90 µs, 34 % at about 4.1 ms; protected drives make 10,000 and more, consumer drives 500 to 2,000.
    ZFS SLOG: unfit. 99 % of commits take 4.25 ms or less (4 KiB write + fdatasync): 66 % at about 90 µs, 34 % at about 4.1 ms; at 2 ms a log device gains nothing, good ones take less than 0.2 ms.
    database log: fair. One connection makes 696 commits/s (4 KiB write + fdatasync: 66 % at about 90 µs, 34 % at about 4.1 ms), p99 4.25 ms, within etcd's limit of 10 ms.
    general use: good. 99 % of commits take 4.25 ms or less (4 KiB write + fdatasync): 66 % at about 90 µs, 34 % at about 4.1 ms.
    ");
}

#[test]
fn a_grade_is_withheld_where_noise_decides_it() {
    // The rate falls from 4,000 to 1,600 commits/s: fair to poor for an OSD.
    insta::assert_snapshot!(grades(write(Fdatasync, 100.0, 400.0).drifting().result()), @"
    Ceph OSD: unknown. Inconclusive: 4 KiB write + fdatasync swings between 2,000 and 3,600 per second, poor to fair; run it longer.
    ZFS SLOG: unknown. Inconclusive: the p99 of 4 KiB write + fdatasync swings between 278 µs and 500 µs, poor to fair; run it longer.
    database log: unknown. Inconclusive: 4 KiB write + fdatasync swings between 2,000 and 3,600 per second, fair to good; run it longer.
    general use: unknown. Inconclusive: the p99 of 4 KiB write + fdatasync swings between 278 µs and 500 µs, good to excellent; run it longer.
    ");
    // The same drift far from any mark changes no grade.
    let far = grades(write(Fdatasync, 100.0, 900.0).drifting().result());
    assert!(!far.contains("Inconclusive"), "{far}");
}

#[test]
fn a_loop_device_is_judged_as_a_file() {
    let below = drive("vda2", Transport::Virtio);
    let mut looped = drive("loop0", Transport::Loop);
    looped.backing_file = Some("/srv/disk image".into());
    looped.backing_device = Some(Box::new(below));
    looped.queue.rotational = Some(true);
    let mut machine = raw(looped).measure([
        write(NoSync, 50.0, 0.0),
        write(Fdatasync, 50.0, 90.0).flushes(1.0),
        read(30.0),
    ]);
    machine.host.virtualisation = Some(drive::Virtualisation::Kvm);
    machine.place.as_mut().unwrap().size_bytes = Some(1 << 30);
    insta::assert_snapshot!(describe_findings(&machine), @"
    loop-device (high)
      /dev/loop0 is a loop device on /srv/disk image, stored by /dev/vda2: each flush is an fsync of that file.
      - file of /dev/loop0: /srv/disk image
      - device of its filesystem: /dev/vda2
      - 4 KiB write + fdatasync p50: 140.0 us
      - 4 KiB write + fdatasync: flushes: 1.0 per commit
      > Run `flushmark check /srv` to judge that filesystem and its drive: the difference is the loop device.
    ");
}

#[test]
fn a_virtual_disk_is_not_called_rotating_by_a_suite_without_reads() {
    let mut disk = drive("vda", Transport::Virtio);
    disk.queue.rotational = Some(true);
    let mut machine = on("ext4", "rw", disk).measure([write(Fdatasync, 50.0, 4_000.0)]);
    machine.host.virtualisation = Some(drive::Virtualisation::Kvm);
    assert!(!ids(&machine).iter().any(|id| id == "rotating-disk"), "{:?}", ids(&machine));
    let read_too = machine.measure([read(9_000.0)]);
    assert!(ids(&read_too).iter().any(|id| id == "rotating-disk"));
}
