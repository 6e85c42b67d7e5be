//! The complete judgement of one machine each.

use drive::Virtualisation;
use measurement::ExportRecord;
use workload::SyncMethod;

use super::{describe, describe_case};
use crate::case::Case;
use samples::machine::{self, Machine, read, write};

#[test]
fn a_protected_nvme_drive() {
    insta::assert_snapshot!(describe(&machine::protected_nvme()), @"
    power-loss-protection-advanced (medium)
      KIOXIA KCD61LUL3T84 most likely has advanced power-loss protection (PLP), which makes flushes almost free: a commit (4 KiB write + fdatasync) takes 29 µs, less than programming flash and little more than the same write unsynced (14 µs).
      - 4 KiB write + fdatasync p50: 29.01 us
      - 4 KiB write p50: 14.01 us
      - 4 KiB write + fdatasync: flushes: 1.0 per commit
      ? Timing alone cannot distinguish a protected cache from a drive that ignores flushes.
      > Check the drive's datasheet for power-loss protection, or prove it with `flushmark verify` and a power cut.
    o-dsync-cheaper (high)
      O_DSYNC commits in 19 µs, fdatasync in 29 µs: one FUA write instead of a write and a flush of the whole cache.
      - 4 KiB write + O_DSYNC p50: 19.01 us
      - 4 KiB write + fdatasync p50: 29.01 us
      - 4 KiB write + O_DSYNC: flushes: 0.0 per commit
      - 4 KiB write + fdatasync: flushes: 1.0 per commit
      - FUA (kernel): yes
      > For logs of small single writes, try `wal_sync_method=open_datasync` in PostgreSQL or `innodb_log_file_write_through=ON` in MariaDB, and compare with `flushmark run wal /srv/db`.
    concurrent-flushes-merge (high)
      With 8 committers, one flush serves 1.67 commits: the kernel merges concurrent flushes.
      - 4 KiB write + fdatasync: flushes: 1.0 per commit
      - 4 KiB write + fdatasync, 8 jobs: flushes: 0.6 per commit
      - 4 KiB write + fdatasync rate: 34482.5 commits/s
      - 4 KiB write + fdatasync, 8 jobs rate: 156861.7 commits/s
      > Nothing to do: many independent committers on this drive benefit, a single one never does.
    Ceph OSD: excellent. 31,250 commits/s (4 KiB write + fsync, the slower of two methods); protected drives make 10,000 and more.
    ZFS SLOG: excellent. 99 % of commits take 30.4 µs or less (4 KiB write + fdatasync); good log devices take less than 0.2 ms.
    database log: excellent. One connection makes 34,483 commits/s (4 KiB write + fdatasync), p99 30.4 µs, within etcd's limit of 10 ms.
    general use: excellent. 99 % of commits take 30.4 µs or less (4 KiB write + fdatasync), 99 % of random reads take 86.1 µs or less (4 KiB read).
    like samsung-mzqlw960hmjp-960gb (cache unknown), 1.01 times apart
      - 4 KiB write + fdatasync: 29.0 here, 29.3 published, us
    like sk-hynix-hfs960gd0mee-960gb (cache default), 1.02 times apart
      - 4 KiB write + fsync: 32.0 here, 31.3 published, us
    like intel-optane-900p-480gb (cache default), 1.02 times apart
      - 4 KiB write + fsync: 32.0 here, 31.4 published, us
      ? Compared with its 8 KiB write + fsync, the most similar published test.
    ");
}

#[test]
fn a_consumer_nvme_drive() {
    insta::assert_snapshot!(describe(&machine::consumer_nvme()), @"
    no-power-loss-protection (high)
      Samsung SSD 980 1TB shows no power-loss protection (PLP): a commit (4 KiB write + fdatasync) takes 1.76 ms, the same write unsynced 21.2 µs.
      - 4 KiB write + fdatasync p50: 1757.2 us
      - 4 KiB write p50: 21.22 us
      - 4 KiB write + fdatasync: flushes: 1.0 per commit
      > Where commits matter (database log, Ceph, SLOG), use a drive whose datasheet promises power-loss protection; `flushmark catalogue --protected yes` lists such drives.
    fsync-dearer-than-fdatasync (high)
      fsync takes 2.92 ms, fdatasync 1.76 ms: ext4 also commits its journal because of a timestamp, which is another write and another flush.
      - 4 KiB write + fsync p50: 2922.5 us
      - 4 KiB write + fdatasync p50: 1757.2 us
      - fsync over fdatasync, without the write: 1.67 times
      - 4 KiB write + fsync: flushes: 2.0 per commit
      - 4 KiB write + fdatasync: flushes: 1.0 per commit
      > Let software use fdatasync: `wal_sync_method=fdatasync` in PostgreSQL, `innodb_use_fdatasync=ON` in MySQL.
    several-flushes-per-commit (medium)
      One fsync sends 2 flushes: ext4 writes its journal between the two.
      - 4 KiB write + fsync p50: 2922.5 us
      - 4 KiB write + fsync: flushes: 2.0 per commit
      ? The device's count includes flushes of other programs.
      > Compare with fdatasync on a file that does not grow, which needs one flush; a preallocated log that was written once keeps it that way.
    o-dsync-cheaper (high)
      O_DSYNC commits in 910 µs, fdatasync in 1.76 ms: one FUA write instead of a write and a flush of the whole cache.
      - 4 KiB write + O_DSYNC p50: 910.3 us
      - 4 KiB write + fdatasync p50: 1757.2 us
      - 4 KiB write + O_DSYNC: flushes: 0.0 per commit
      - 4 KiB write + fdatasync: flushes: 1.0 per commit
      - FUA (kernel): yes
      > For logs of small single writes, try `wal_sync_method=open_datasync` in PostgreSQL or `innodb_log_file_write_through=ON` in MariaDB, and compare with `flushmark run wal /srv/db`.
    commits-do-not-scale (medium)
      4 committers with fsync together make 384 commits/s, one alone 342: a device processes one flush at a time.
      - 4 KiB write + fsync rate: 342.3 commits/s
      - 4 KiB write + fsync, 4 jobs rate: 383.8 commits/s
      - 4 KiB write + fsync: flushes: 2.0 per commit
      - 4 KiB write + fsync, 4 jobs: flushes: 0.55 per commit
      > More connections will not commit faster; larger transactions will, and so will a drive with power-loss protection. Group commit (the default in PostgreSQL and InnoDB) helps only if commits wait at the same time.
    concurrent-flushes-merge (high)
      With 4 committers, one flush serves 1.82 commits: the kernel merges concurrent flushes.
      - 4 KiB write + fsync: flushes: 2.0 per commit
      - 4 KiB write + fsync, 4 jobs: flushes: 0.55 per commit
      - 4 KiB write + fsync rate: 342.3 commits/s
      - 4 KiB write + fsync, 4 jobs rate: 383.8 commits/s
      > Nothing to do: many independent committers on this drive benefit, a single one never does.
    Ceph OSD: poor. 342 commits/s (4 KiB write + fsync, the slower of two methods); protected drives make 10,000 and more, consumer drives 500 to 2,000.
    ZFS SLOG: poor. 99 % of commits take 1.84 ms or less (4 KiB write + fdatasync); at 2 ms a log device gains nothing, good ones take less than 0.2 ms.
    database log: fair. One connection makes 569 commits/s (4 KiB write + fdatasync), p99 1.84 ms, within etcd's limit of 10 ms.
    general use: good. 99 % of commits take 1.84 ms or less (4 KiB write + fdatasync), 99 % of random reads take 60.9 µs or less (4 KiB read).
    like samsung-990-pro-2tb (cache on), 1.02 times apart
      - 16 KiB write + fsync: 2974.0 here, 3039.7 published, us
    like sandisk-ultra-ii-960gb (cache unknown), 1.05 times apart
      - 4 KiB write + fdatasync: 1756.2 here, 1666.7 published, us
    like samsung-860-evo-1tb (cache unknown), 1.16 times apart
      - 4 KiB write + fdatasync: 1756.2 here, 2040.8 published, us
    ");
}

#[test]
fn a_disk_with_its_cache_on() {
    insta::assert_snapshot!(describe(&machine::disk()), @"
    rotating-disk (high)
      TOSHIBA MG07ACA14TE is a rotating disk: a commit waits 12.5 ms for the platter.
      - rotational (kernel): yes
      - 4 KiB write + fdatasync p50: 12533.8 us
      - 4 KiB read p50: 8101.9 us
      > Put what commits (database log, ZFS SLOG, Ceph block.db) on an SSD with power-loss protection, and keep the bulk of the data here.
    fsync-dearer-than-fdatasync (high)
      fsync takes 21.1 ms, fdatasync 12.5 ms: xfs also commits its journal because of a timestamp, which is another write and another flush.
      - 4 KiB write + fsync p50: 21135.4 us
      - 4 KiB write + fdatasync p50: 12533.8 us
      - fsync over fdatasync, without the write: 1.69 times
      - 4 KiB write + fsync: flushes: 2.0 per commit
      - 4 KiB write + fdatasync: flushes: 1.0 per commit
      > Let software use fdatasync: `wal_sync_method=fdatasync` in PostgreSQL, `innodb_use_fdatasync=ON` in MySQL.
    several-flushes-per-commit (medium)
      One fsync sends 2 flushes: xfs writes its journal between the two.
      - 4 KiB write + fsync p50: 21135.4 us
      - 4 KiB write + fsync: flushes: 2.0 per commit
      ? The device's count includes flushes of other programs.
      > Compare with fdatasync on a file that does not grow, which needs one flush; a preallocated log that was written once keeps it that way.
    Ceph OSD: unfit. 47.3 commits/s (4 KiB write + fsync, the slower of two methods); protected drives make 10,000 and more, consumer drives 500 to 2,000.
    ZFS SLOG: unfit. 99 % of commits take 13.1 ms or less (4 KiB write + fdatasync); at 2 ms a log device gains nothing, good ones take less than 0.2 ms.
    database log: poor. One connection makes 79.8 commits/s (4 KiB write + fdatasync), p99 13.1 ms, above etcd's limit of 10 ms.
    general use: fair. 99 % of commits take 13.1 ms or less (4 KiB write + fdatasync), 99 % of random reads take 8.5 ms or less (4 KiB read).
    like wd-wd2002fyps-2tb-x4-raid5 (cache default), 1.54 times apart
      - 4 KiB write + fsync: 21130.1 here, 32553.0 published, us
      ? Compared with its 8 KiB write + fsync, the most similar published test.
    like samsung-860-evo-2tb-x4-raid10 (cache default), 1.75 times apart
      - 4 KiB write + fsync: 21130.1 here, 12043.0 published, us
    like t-force-tm8fpl500g-500gb (cache default), 1.80 times apart
      - 4 KiB write + fdatasync: 12530.2 here, 6944.4 published, us
    ");
}

#[test]
fn a_cloud_volume_that_claims_to_rotate() {
    insta::assert_snapshot!(describe(&machine::cloud_volume()), @"
    slow-commit-behind-software (medium)
      A commit (4 KiB write + fdatasync) on /dev/vda takes 724 µs, the same write unsynced 80.1 µs; the hypervisor or the network may be the cause, not a lack of power-loss protection (PLP).
      - 4 KiB write + fdatasync p50: 724.5 us
      - 4 KiB write p50: 80.06 us
      - 4 KiB write + fdatasync: flushes: 1.0 per commit
      > Run `flushmark check` on another class of volume or a local drive of the same provider to compare.
    rotation-claim-wrong (high)
      The kernel lists /dev/vda as a rotating disk, but it answers in 160 µs, less than a quarter of a rotation: it is flash, or the memory of its host.
      - rotational (kernel): yes
      - 4 KiB read p50: 160.1 us
      - 4 KiB write + fdatasync p50: 724.5 us
      > Software tunes itself by that flag (Ceph's device class, btrfs, swap). Correct it until the next boot with `echo 0 > /sys/block/vda/queue/rotational`.
    fsync-dearer-than-fdatasync (high)
      fsync takes 1.53 ms, fdatasync 724 µs: ext4 also commits its journal because of a timestamp, which is another write and another flush.
      - 4 KiB write + fsync p50: 1535.0 us
      - 4 KiB write + fdatasync p50: 724.5 us
      - fsync over fdatasync, without the write: 2.27 times
      - 4 KiB write + fsync: flushes: 2.0 per commit
      - 4 KiB write + fdatasync: flushes: 1.0 per commit
      > Let software use fdatasync: `wal_sync_method=fdatasync` in PostgreSQL, `innodb_use_fdatasync=ON` in MySQL.
    several-flushes-per-commit (medium)
      One fsync sends 2 flushes: ext4 writes its journal between the two.
      - 4 KiB write + fsync p50: 1535.0 us
      - 4 KiB write + fsync: flushes: 2.0 per commit
      ? The device's count includes flushes of other programs.
      > Compare with fdatasync on a file that does not grow, which needs one flush; a preallocated log that was written once keeps it that way.
    Ceph OSD: poor. 652 commits/s (4 KiB write + fsync, the slower of two methods); protected drives make 10,000 and more, consumer drives 500 to 2,000.
    ZFS SLOG: poor. 99 % of commits take 760 µs or less (4 KiB write + fdatasync); at 2 ms a log device gains nothing, good ones take less than 0.2 ms.
    database log: fair. One connection makes 1,381 commits/s (4 KiB write + fdatasync), p99 760 µs, within etcd's limit of 10 ms.
    general use: good. 99 % of commits take 760 µs or less (4 KiB write + fdatasync), 99 % of random reads take 168 µs or less (4 KiB read).
    like micron-1100-256gb-x2-raid1 (cache default), 1.00 times apart
      - 4 KiB write + fsync: 1534.1 here, 1534.0 published, us
    like transcend-220s-1tb (cache unknown), 1.03 times apart
      - 4 KiB write + fdatasync: 724.0 here, 704.2 published, us
    like intel-545-512gb (cache unknown), 1.09 times apart
      - 4 KiB write + fdatasync: 724.0 here, 666.7 published, us
    ");
}

#[test]
fn a_virtual_disk_that_lies() {
    insta::assert_snapshot!(describe(&machine::lying_virtual_disk()), @"
    virtual-flush-unproven (medium)
      The virtual disk acknowledges a commit in 75 µs, and flushes faster than it writes: the host either needs no flushes or ignores them.
      - 4 KiB write + fdatasync p50: 75.01 us
      - 4 KiB write + fdatasync: flushes: 1.0 per commit
      - 4 KiB write p50: 52.03 us
      - sync alone p50: 22.02 us
      ? Timing alone cannot distinguish a protected cache from a lie; both look the same in the guest.
      > Check the host's configuration: QEMU with `cache=unsafe`, Firecracker with its default `cache_type` `Unsafe` and VirtualBox by default acknowledge flushes without doing anything. `flushmark verify` can prove it if you can cut the host's power.
    Ceph OSD: good. 12,987 commits/s (4 KiB write + fsync, the slower of two methods); protected drives make 10,000 and more; provided that its host honours flushes.
    ZFS SLOG: good. 99 % of commits take 78.7 µs or less (4 KiB write + fdatasync); good log devices take less than 0.2 ms; provided that its host honours flushes.
    database log: excellent. One connection makes 13,333 commits/s (4 KiB write + fdatasync), p99 78.7 µs, within etcd's limit of 10 ms; provided that its host honours flushes.
    general use: excellent. 99 % of commits take 78.7 µs or less (4 KiB write + fdatasync), 99 % of random reads take 50.4 µs or less (4 KiB read); provided that its host honours flushes.
    like samsung-pm1643a-960gb (cache unknown), 1.39 times apart
      - 4 KiB write + fdatasync: 75.0 here, 53.9 published, us
    like seagate-nytro-1351-3840gb (cache off), 1.49 times apart
      - 4 KiB write + fsync: 77.0 here, 55.2 published, us
      - 4 KiB write + O_DSYNC: 75.0 here, 53.5 published, us
      - 4 KiB read: 20833.2 here, 8600.0 published, iops
    like intel-dc-s3500-1600gb (cache default), 1.49 times apart
      - 4 KiB write + fsync: 77.0 here, 114.8 published, us
    ");
}

#[test]
fn a_virtual_disk_without_a_cache() {
    insta::assert_snapshot!(describe(&machine::cacheless_virtual_disk()), @"
    no-flush-sent (medium)
      The virtual disk reports no volatile cache, so the kernel sends no flush: a commit costs only its write, 82 µs.
      - volatile cache (kernel): write through
      - 4 KiB write + fdatasync p50: 82.05 us
      - 4 KiB write + fdatasync: flushes: 0.0 per commit
      ? Whether a completed write is durable depends on the host: a host that keeps writes in memory without reporting a cache looks the same.
      > Find out how the host writes. Directly to storage that needs no flush is safe; Firecracker with `cache_type` `Unsafe` (its default) writes to the host's memory, and `Writeback` makes it safe.
    Ceph OSD: good. 12,048 commits/s (4 KiB write + fsync, the slower of two methods); protected drives make 10,000 and more; whether that is durable depends on the host.
    ZFS SLOG: good. 99 % of commits take 86.1 µs or less (4 KiB write + fdatasync); good log devices take less than 0.2 ms; whether that is durable depends on the host.
    database log: excellent. One connection makes 12,195 commits/s (4 KiB write + fdatasync), p99 86.1 µs, within etcd's limit of 10 ms; whether that is durable depends on the host.
    general use: excellent. 99 % of commits take 86.1 µs or less (4 KiB write + fdatasync), 99 % of random reads take 78.7 µs or less (4 KiB read); whether that is durable depends on the host.
    like intel-dc-s3500-1600gb (cache default), 1.38 times apart
      - 4 KiB write + fsync: 83.0 here, 114.8 published, us
    like samsung-pm1643a-960gb (cache unknown), 1.52 times apart
      - 4 KiB write + fdatasync: 82.0 here, 53.9 published, us
    like seagate-nytro-1351-3840gb (cache off), 1.53 times apart
      - 4 KiB write + fsync: 83.0 here, 55.2 published, us
      - 4 KiB write + O_DSYNC: 83.0 here, 53.5 published, us
      - 4 KiB read: 13333.2 here, 8600.0 published, iops
    ");
}

#[test]
fn ext4_without_barriers() {
    insta::assert_snapshot!(describe(&machine::without_barriers()), @"
    flushes-switched-off (high)
      A power cut loses acknowledged commits: ext4 on /srv/db is mounted with `nobarrier`, so no sync flushes the drive's cache (a commit takes 63.5 µs and is not durable).
      - mount option of /srv/db (ext4): nobarrier
      - flushes counted by the device: 0.0 per commit
      - 4 KiB write + fdatasync p50: 63.52 us
      > Run `mount -o remount,barrier=1 /srv/db` now, and remove `nobarrier` from /etc/fstab; if it is not set there, run `tune2fs -o ^nobarrier /dev/sdb`.
    Ceph OSD: unfit. The filesystem is mounted with `nobarrier`, so no sync flushes the drive's cache.
    ZFS SLOG: unfit. The filesystem is mounted with `nobarrier`, so no sync flushes the drive's cache.
    database log: unfit. The filesystem is mounted with `nobarrier`, so no sync flushes the drive's cache.
    general use: unfit. The filesystem is mounted with `nobarrier`, so no sync flushes the drive's cache.
    like intel-dc-s3500-1600gb (cache default), 1.15 times apart
      - 4 KiB write + fsync: 100.0 here, 114.8 published, us
      ? These commits are not durable: only the speed is similar.
    like samsung-pm1643a-960gb (cache unknown), 1.18 times apart
      - 4 KiB write + fdatasync: 63.5 here, 53.9 published, us
      ? These commits are not durable: only the speed is similar.
    like seagate-nytro-1351-3840gb (cache off), 1.42 times apart
      - 4 KiB write + fsync: 100.0 here, 55.2 published, us
      - 4 KiB write + O_DSYNC: 64.0 here, 53.5 published, us
      - 4 KiB read: 9090.8 here, 8600.0 published, iops
      ? These commits are not durable: only the speed is similar.
    ");
}

#[test]
fn a_directory_in_memory() {
    insta::assert_snapshot!(describe(&machine::tmpfs()), @"
    target-in-memory (high)
      Nothing written to this target is durable: tmpfs keeps everything in memory.
      - storage of /srv/db: tmpfs
      > Measure a directory on a drive, for example `flushmark check ~`; these numbers show only the cost of the software.
    Ceph OSD: unfit. Tmpfs keeps everything in memory, and a power cut loses all of it.
    ZFS SLOG: unfit. Tmpfs keeps everything in memory, and a power cut loses all of it.
    database log: unfit. Tmpfs keeps everything in memory, and a power cut loses all of it.
    general use: unfit. Tmpfs keeps everything in memory, and a power cut loses all of it.
    like intel-750-400gb (cache unknown), 12.98 times apart
      - 4 KiB write + fdatasync: 1.2 here, 15.6 published, us
      ? Its figures are doubtful: an earlier version of the list has 24235 and 185440. No published drive is close. These commits are not durable: only the speed is similar.
    like samsung-pm983-kingston-dc1500m-960gb-raid1 (cache default), 20.60 times apart
      - 4 KiB write + fsync: 1.2 here, 24.7 published, us
      ? No published drive is close. These commits are not durable: only the speed is similar.
    like samsung-pm9a3-960gb (cache default), 18.73 times apart
      - 4 KiB write + fsync: 1.2 here, 22.5 published, us
      ? Compared with its 16 KiB write + fsync, the most similar published test. No published drive is close. These commits are not durable: only the speed is similar.
    ");
}

#[test]
fn a_noisy_machine() {
    insta::assert_snapshot!(describe(&machine::noisy()), @"
    no-power-loss-protection (medium)
      Samsung SSD 980 1TB shows no power-loss protection (PLP): a commit (4 KiB write + fdatasync) takes 1.76 ms, the same write unsynced 21 µs.
      - 4 KiB write + fdatasync p50: 1756.2 us
      - 4 KiB write p50: 21.01 us
      - 4 KiB write + fdatasync: flushes: 1.2 per commit
      ? The numbers are noisy: `4 KiB write + fsync` has two speeds: 70 % at about 2.9 ms, 30 % at about 18 ms.
      > Where commits matter (database log, Ceph, SLOG), use a drive whose datasheet promises power-loss protection; `flushmark catalogue --protected yes` lists such drives.
    fsync-dearer-than-fdatasync (medium)
      fsync takes 2.98 ms, fdatasync 1.76 ms: ext4 also commits its journal because of a timestamp, which is another write and another flush.
      - 4 KiB write + fsync p50: 2983.9 us
      - 4 KiB write + fdatasync p50: 1756.2 us
      - fsync over fdatasync, without the write: 1.71 times
      - 4 KiB write + fsync: flushes: 2.1 per commit
      - 4 KiB write + fdatasync: flushes: 1.2 per commit
      ? The numbers are noisy: `4 KiB write + fsync` has two speeds: 70 % at about 2.9 ms, 30 % at about 18 ms.
      > Let software use fdatasync: `wal_sync_method=fdatasync` in PostgreSQL, `innodb_use_fdatasync=ON` in MySQL.
    several-flushes-per-commit (medium)
      One fsync sends 2.1 flushes: ext4 writes its journal between the two.
      - 4 KiB write + fsync p50: 2983.9 us
      - 4 KiB write + fsync: flushes: 2.1 per commit
      ? The device's count includes flushes of other programs.
      > Compare with fdatasync on a file that does not grow, which needs one flush; a preallocated log that was written once keeps it that way.
    o-dsync-cheaper (medium)
      O_DSYNC commits in 900 µs, fdatasync in 1.76 ms: one FUA write instead of a write and a flush of the whole cache.
      - 4 KiB write + O_DSYNC p50: 900.1 us
      - 4 KiB write + fdatasync p50: 1756.2 us
      - 4 KiB write + fdatasync: flushes: 1.2 per commit
      - FUA (kernel): yes
      ? The numbers are noisy: `4 KiB write + fsync` has two speeds: 70 % at about 2.9 ms, 30 % at about 18 ms.
      > For logs of small single writes, try `wal_sync_method=open_datasync` in PostgreSQL or `innodb_log_file_write_through=ON` in MariaDB, and compare with `flushmark run wal /srv/db`.
    noisy-numbers (high)
      The numbers are noisy: `4 KiB write + fsync` has two speeds: 70 % at about 2.9 ms, 30 % at about 18 ms, and 2 more symptoms.
      - 4 KiB write + fsync: share in the slower group: 30.0 %
      - 4 KiB write + fdatasync: range over the last rounds: 80.65 % of the mean
      - 4 KiB write + O_DSYNC: p99.9 over p50: 81.4 times
      > Measure again for longer while nothing else uses the drive (check with `iostat -x 1`): `flushmark run journal --time 60s /srv/db`.
    Ceph OSD: unfit. 137 commits/s (4 KiB write + fsync, the slower of two methods): 70 % at about 2.9 ms, 30 % at about 18 ms; protected drives make 10,000 and more, consumer drives 500 to 2,000.
    ZFS SLOG: poor. 99 % of commits take 1.84 ms or less (4 KiB write + fdatasync); at 2 ms a log device gains nothing, good ones take less than 0.2 ms.
    database log: fair. One connection makes 569 commits/s (4 KiB write + fdatasync), p99 1.84 ms, within etcd's limit of 10 ms.
    general use: good. 99 % of commits take 1.84 ms or less (4 KiB write + fdatasync), 99 % of random reads take 60.9 µs or less (4 KiB read).
    like sandisk-ultra-ii-960gb (cache unknown), 1.05 times apart
      - 4 KiB write + fdatasync: 1756.0 here, 1666.7 published, us
    like samsung-860-evo-1tb (cache unknown), 1.16 times apart
      - 4 KiB write + fdatasync: 1756.0 here, 2040.8 published, us
    like samsung-950-pro-nvme (cache default), 1.19 times apart
      - 4 KiB write + fdatasync: 1756.0 here, 2090.7 published, us
    ");
}

#[test]
fn flushes_that_vanish() {
    insta::assert_snapshot!(describe(&machine::swallowed_flushes()), @"
    flush-vanished (high)
      Flushes are lost: 3,000 commits were acknowledged, not one flush reached the device, and the kernel assumes a volatile cache.
      - commits acknowledged: 3000.0
      - flushes counted by the device: 0.0
      - volatile cache (kernel): write back
      - 4 KiB write + fdatasync p50: 42.02 us
      > Find what drops the flush: mount options (`findmnt -no OPTIONS -T /srv/db`) or layers in between (`lsblk -s /dev/sdc`). Do not put a database there until you know.
    Ceph OSD: unfit. Syncs are acknowledged although no flush reaches the device, so a power cut loses commits.
    ZFS SLOG: unfit. Syncs are acknowledged although no flush reaches the device, so a power cut loses commits.
    database log: unfit. Syncs are acknowledged although no flush reaches the device, so a power cut loses commits.
    general use: unfit. Syncs are acknowledged although no flush reaches the device, so a power cut loses commits.
    like samsung-pm863-240gb (cache default), 1.12 times apart
      - 4 KiB write + fsync: 44.0 here, 39.4 published, us
      ? These commits are not durable: only the speed is similar.
    like samsung-pm1643a-960gb (cache unknown), 1.28 times apart
      - 4 KiB write + fdatasync: 42.0 here, 53.9 published, us
      ? These commits are not durable: only the speed is similar.
    like micron-5100-eco-960gb (cache off), 1.29 times apart
      - 4 KiB write + fsync: 44.0 here, 39.8 published, us
      - 4 KiB read: 14285.6 here, 6000.0 published, iops
      ? These commits are not durable: only the speed is similar.
    ");
}

#[test]
fn a_container_with_little_space() {
    insta::assert_snapshot!(describe(&machine::overlay()), @"
    no-block-device (high)
      The flushes of /srv/db could not be counted: overlay writes to /var/lib/containers/overlay/7/diff on the host.
      - underlying storage: overlay writes to /var/lib/containers/overlay/7/diff on the host
      > Run `flushmark check` on a volume of the container, or on the host in the directory named above.
    fsync-dearer-than-fdatasync (high)
      fsync takes 990 µs, fdatasync 510 µs: the filesystem also commits its journal because of a timestamp, which is another write and another flush.
      - 4 KiB write + fsync p50: 990.2 us
      - 4 KiB write + fdatasync p50: 510.2 us
      - fsync over fdatasync, without the write: 2.14 times
      > Let software use fdatasync: `wal_sync_method=fdatasync` in PostgreSQL, `innodb_use_fdatasync=ON` in MySQL.
    small-test-area (medium)
      The tests wrote to only 50 MiB, half of the free space: a drive may be faster there than on its full capacity.
      - test area: 50.0 MiB
      - free for this user: 100.0 MiB
      > Free some space and measure again, or use a larger filesystem on the same drive.
    Ceph OSD: poor. 1,010 commits/s (4 KiB write + fsync); protected drives make 10,000 and more, consumer drives 500 to 2,000.
    ZFS SLOG: poor. 99 % of commits take 535 µs or less (4 KiB write + fdatasync); at 2 ms a log device gains nothing, good ones take less than 0.2 ms.
    database log: fair. One connection makes 1,961 commits/s (4 KiB write + fdatasync), p99 535 µs, within etcd's limit of 10 ms.
    general use: good. 99 % of commits take 535 µs or less (4 KiB write + fdatasync).
    like wd-blue-wds100t2b0a-1tb (cache off), 1.12 times apart
      - 4 KiB write + fdatasync: 510.0 here, 571.1 published, us
    like tesla-2tb (cache default), 1.20 times apart
      - 4 KiB write + fdatasync: 510.0 here, 425.2 published, us
    like intel-dc-s4510-480gb (cache off), 1.23 times apart
      - 4 KiB write + fdatasync: 510.0 here, 625.0 published, us
    ");
}

/// Of an export, nothing that is known about this machine explains the numbers: the virtual machine
/// it runs in, or its settings.
fn describe_export(export: &ExportRecord, read_us: f64, commit_us: f64) -> String {
    let host = drive::HostFacts {
        virtualisation: Some(Virtualisation::Kvm),
        cpu_governor: Some("powersave".to_owned()),
        ..samples::place::host()
    };
    let machine = Machine { results: Vec::new(), place: None, host }.measure([
        read(read_us),
        write(SyncMethod::None, 40.0, 0.0),
        write(SyncMethod::Fdatasync, 40.0, commit_us),
        write(SyncMethod::ODsync, 0.6 * commit_us, 0.0),
    ]);
    let case = Case::new(&machine.results, None, &machine.host).with_export(Some(export));
    describe_case(&case)
}

#[test]
fn an_nbd_export() {
    insta::assert_snapshot!(describe_export(&samples::place::export(), 90.0, 1500.0), @"
    no-block-device (high)
      The flushes of nbd://storage.example/disk could not be counted: an NBD server sits between this machine and the drive.
      - underlying storage: known only to the server
      > Also run `flushmark check` on the server, where it stores the data: the difference is the server and the connection to it.
    o-dsync-cheaper (high)
      O_DSYNC commits in 900 µs, fdatasync in 1.54 ms: one FUA write instead of a write and a flush of the whole cache.
      - 4 KiB write + O_DSYNC p50: 900.1 us
      - 4 KiB write + fdatasync p50: 1540.1 us
      - FUA (server): yes
      > For logs of small single writes, try `wal_sync_method=open_datasync` in PostgreSQL or `innodb_log_file_write_through=ON` in MariaDB, and compare with `flushmark run wal nbd://storage.example/disk`.
    small-test-area (medium)
      The tests used 1.56 % of nbd://storage.example/disk: a drive is often faster there than on its full capacity.
      - test area: 1024.0 MiB
      - size of the target: 65536.0 MiB
      > Omit `size` to test the whole drive.
    Ceph OSD: poor. 649 commits/s (4 KiB write + fdatasync, the slower of two methods); protected drives make 10,000 and more, consumer drives 500 to 2,000.
    ZFS SLOG: poor. 99 % of commits take 1.62 ms or less (4 KiB write + fdatasync); at 2 ms a log device gains nothing, good ones take less than 0.2 ms.
    database log: fair. One connection makes 649 commits/s (4 KiB write + fdatasync), p99 1.62 ms, within etcd's limit of 10 ms.
    general use: good. 99 % of commits take 1.62 ms or less (4 KiB write + fdatasync), 99 % of random reads take 94.5 µs or less (4 KiB read).
    like sandisk-ultra-ii-960gb (cache unknown), 1.08 times apart
      - 4 KiB write + fdatasync: 1540.0 here, 1666.7 published, us
    like samsung-980-1tb (cache default), 1.13 times apart
      - 4 KiB write + fdatasync: 1540.0 here, 1742.2 published, us
    like samsung-990-pro-2tb (cache on), 1.07 times apart
      - 4 KiB write + fdatasync: 1540.0 here, 1643.0 published, us
      ? Compared with its 8 KiB write + fdatasync, the most similar published test.
    ");
}

#[test]
fn an_nbd_export_of_a_rotating_disk() {
    let export = ExportRecord { size_bytes: 1 << 30, ..samples::place::export() };
    let findings = |export: &ExportRecord, read_us| {
        let described = describe_export(export, read_us, 12_000.0);
        assert!(!described.contains("small-test-area"), "all of it was tested: {described}");
        described.split("Ceph OSD").next().unwrap().to_owned()
    };
    insta::assert_snapshot!(findings(&export, 9_000.0), @r"
    as-slow-as-a-rotating-disk (low)
      Reads and commits take as long as a rotation (8.33 ms at 7200 rpm), although the server does not report a rotating disk.
      - 4 KiB read p50: 9003.0 us
      - 4 KiB write + O_DSYNC p50: 7200.8 us
      ? A throttled volume or a slow network looks the same.
      > Check whether the volume has an IOPS limit, and what the controller or the network connects to.
    no-block-device (high)
      The flushes of nbd://storage.example/disk could not be counted: an NBD server sits between this machine and the drive.
      - underlying storage: known only to the server
      > Also run `flushmark check` on the server, where it stores the data: the difference is the server and the connection to it.
    o-dsync-cheaper (high)
      O_DSYNC commits in 7.2 ms, fdatasync in 12 ms: one FUA write instead of a write and a flush of the whole cache.
      - 4 KiB write + O_DSYNC p50: 7200.8 us
      - 4 KiB write + fdatasync p50: 12042.2 us
      - FUA (server): yes
      > For logs of small single writes, try `wal_sync_method=open_datasync` in PostgreSQL or `innodb_log_file_write_through=ON` in MariaDB, and compare with `flushmark run wal nbd://storage.example/disk`.
    ");
    let rotational = ExportRecord { rotational: true, ..export };
    insta::assert_snapshot!(findings(&rotational, 9_000.0), @r"
    rotating-disk (high)
      nbd://storage.example/disk is a rotating disk: a commit waits 7.2 ms for the platter.
      - rotational (server): yes
      - 4 KiB write + O_DSYNC p50: 7200.8 us
      - 4 KiB read p50: 9003.0 us
      > Put what commits (database log, ZFS SLOG, Ceph block.db) on an SSD with power-loss protection, and keep the bulk of the data here.
    no-block-device (high)
      The flushes of nbd://storage.example/disk could not be counted: an NBD server sits between this machine and the drive.
      - underlying storage: known only to the server
      > Also run `flushmark check` on the server, where it stores the data: the difference is the server and the connection to it.
    o-dsync-cheaper (high)
      O_DSYNC commits in 7.2 ms, fdatasync in 12 ms: one FUA write instead of a write and a flush of the whole cache.
      - 4 KiB write + O_DSYNC p50: 7200.8 us
      - 4 KiB write + fdatasync p50: 12042.2 us
      - FUA (server): yes
      > For logs of small single writes, try `wal_sync_method=open_datasync` in PostgreSQL or `innodb_log_file_write_through=ON` in MariaDB, and compare with `flushmark run wal nbd://storage.example/disk`.
    ");
    assert!(!findings(&rotational, 90.0).contains("rotat"), "the server answers from its memory");
}
