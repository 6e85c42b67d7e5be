//! Whole pages.

use ceph::Medium;
use ceph::release::Version;
use ceph::sizing::{Basis, Candidate, Capacity, Plan, Redundancy, Workload, size};

use super::*;

fn candidate(layout: Layout, drive: &str, commit_us: f64) -> Candidate {
    Candidate { layout, drive: drive.to_owned(), commit_us, basis: Basis::Modelled }
}

fn plan(workload: Workload, release: &str) -> Plan {
    Plan {
        osds: 24,
        medium: Medium::Hdd,
        data: Capacity(16_000_000_000_000),
        workload,
        version: release.parse::<Version>().unwrap(),
        hosts: Some(4),
        redundancy: Redundancy::Replicated { size: 3 },
        db: None,
        db_device: None,
        osds_per_db_device: None,
        rtt_us: 50.0,
    }
}

fn page(plan: &Plan) -> String {
    let candidates = match plan.medium {
        Medium::Hdd => vec![
            candidate(Layout::HddOnly, "disk-7200rpm-cache-off", 11_000.0),
            candidate(Layout::HddWithFlashDb, "enterprise-nvme", 22.0),
            candidate(Layout::HddWithFlashDb, "consumer-nvme", 1_600.0),
        ],
        Medium::Ssd => vec![
            candidate(Layout::AllFlash, "enterprise-nvme", 22.0),
            candidate(Layout::AllFlash, "consumer-nvme", 1_600.0),
        ],
    };
    ceph_sizing_page(&size(plan, &candidates, "0").unwrap(), &Look::plain())
}

#[test]
fn rbd_on_a_new_release() {
    let plan = Plan { hosts: None, ..plan(Workload::Rbd, "19.2.3") };
    insta::assert_snapshot!(page(&plan), @r#"
    cluster           24 OSDs of 16 TB (HDD), 3 replicas, workload rbd, Squid 19.2.3
    capacity          384 TB raw, 128 TB for data if filled completely; keep room for a lost host

    What to provide
      block.db        320 GB per OSD, 2 % of it
        - As large as possible; for RBD usually no more than 1-2 % of the data device [Ceph BlueStore
          page: all with BlueStore]
        - 4 % for object, file and mixed workloads, 1 % for block devices [IBM: all with BlueStore]
        - RocksDB puts a level on flash only if it fits completely. With a log of 1024 MiB, a level 1 of
          256 MiB and a multiplier of 10, only 3840 MiB (4.03 GB), 29440 MiB (30.9 GB), 285440 MiB
          (299 GB) are used (the wiki's 4/30/286 GB are thousands of MiB) [wiki: Luminous to 14.2.11 and
          15.2.5]
        - The sizes of that table no longer matter: BlueStore makes use of a DB device of any size [Ceph
          BlueStore page: 14.2.12, 15.2.6 and later]
        - Levels that do not fit may use what is left of the DB (95 % of the device) above 1 GiB + L1 +
          ... + L(n-1) + 2 x L(n), that is above 18, 138, 1,098 GiB [BlueStore.h: 14.2.12, 15.2.6 and
          later (use_some_extra)]
        - Metadata is divided into column families, each with its own levels. OSDs created earlier need
          `ceph-bluestore-tool reshard` [Ceph BlueStore page: Pacific and later, OSDs created there]
        - RocksDB's level 1 is 1 GiB and the multiplier 8 (before: 256 MiB and 10) [ceph#51821: Reef and
          later; doubt: 19.2.1 prints it, for Reef it is inferred from the pull request]
        - RocksDB compresses with LZ4 by default; the pull request (ceph#53343) reports a DB 2.2 to 4
          times smaller with RGW [notes of 19.2.0: Squid and later]
      WAL             no separate device: the log is part of block.db
        - A DB device holds the log as well. With less than about 1 GB of flash, use that for the log
          alone (block.wal) [Ceph BlueStore page: all with BlueStore]
      DB devices      4-5 OSDs per SATA SSD, up to 10 per NVMe SSD
        - 4-5 HDD OSDs per SATA SSD, no more than 10 per NVMe SSD [Ceph hardware page: all; current
          editions of the page say up to 15 per NVMe SSD]
        - If the flash device is slower than its disks together, it becomes their bottleneck [Proxmox:
          current manual]
      RAM             8 GB per OSD
        - osd_memory_target is 4 GiB by default, less than 2 GiB is not recommended; provision about
          8 GB per OSD for peaks and recovery [Ceph hardware page: Nautilus and later]
        - The target is not a limit: 20 % more at least, 4.8 GiB per OSD [Ceph hardware page: Nautilus
          and later]
        - 1 GB per TB of data and at least 2 GB: 16 GB per OSD here. Since the memory target, the size
          of the OSD no longer decides [wiki: Luminous to Nautilus]
      CPU             1-2 threads per OSD
        - At least 1 core per OSD, and 2 for heavy use such as RBD; 1 core per 1,000-3,000 IOPS or
          200-500 MB/s, before replication [Ceph hardware page: all]
        - C-states off and the governor `performance` give 2-3 times the IOPS at depth 1 (`flushmark
          host` checks both) [wiki: all]
      network         10 Gb/s per host
        - At least 10 Gb/s between hosts [Ceph hardware page: all]
        - 10 Gb/s or more for Ceph alone, 25 Gb/s or more with NVMe [Proxmox: current manual]
        - Refilling a lost OSD of 16 TB takes 3.56 h at the full 10 Gb/s of one host [arithmetic: all]
        - A round trip of 30-50 µs is good; each 100 µs cost 10-15 % of a write of 0.7 ms [wiki: all]
      min_alloc_size  4 KiB (default)
        - HDD: 64 KiB until Octopus, 4 KiB since Pacific. It is fixed when the OSD is created [Ceph
          BlueStore page: all with BlueStore]
      op shards       1 x 5 threads (default)
        - By default 5 shards of 1 thread for HDD, 8 of 2 for SSD [ceph#15422: Luminous and later]
        - HDD: 1 shard of 5 threads, because mClock schedules better with one queue [notes of 19.2.1:
          19.2.1 and later; 18.2.5 and later in Reef (ceph#59972)]
        - The defaults are right: 1 thread x 5 shards for HDD, 2 x 8 for SSD [wiki: Luminous to
          Nautilus]

    What to expect of 4 KiB overwrites, one at a time and in parallel
      layout          log on                  commit            k       latency   per second  parallel/s
      HDD only        disk-7200rpm-cache-off   11 ms  modelled  2  22.6-22.8 ms    43.9-44.2         727
      HDD + flash DB  enterprise-nvme          22 µs  modelled  2    644-844 µs  1,185-1,553   800-2,400
      HDD + flash DB  consumer-nvme           1.6 ms  modelled  2      3.8-4 ms      250-263           -
    Latency is S + k x commit + 2 x round trip. S, Ceph's own time, is 500-700 µs; the round trip is
    50 µs. The range of S alone is an error of up to ±13.4 %, and neither S nor k of this release is
    fitted to a cluster. One at a time, the number of OSDs does not matter.
      - S: 0.4 ms for Ceph and 0.3 ms for BlueStore on fast NVMe. That contains some commits; 0.5 ms
        without them is inferred [wiki: Luminous to Nautilus measured]
      - k: two commits, of the log and of BlueFS's own log (tracker 38559) [wiki: Luminous to Squid]
      - In parallel, HDD only: BlueStore reaches about 100 % of the disk's own rate; times 24 OSDs,
        divided by 3 [wiki: Luminous to Nautilus measured]
      - In parallel, HDD + flash DB: 100 to 300 writes/s per OSD, stable: 64 deferred writes go to the
        disk together; times 24 OSDs, divided by 3 [wiki: Luminous to Nautilus measured]
    No source has a parallel rate with flash of fewer than 10,000 commits/s.

    Published figures to compare with
      - A 4 KiB write to a disk is deferred: it waits for the log, not for the data, until about 64 wait
        on one OSD. Sustained, no client gets more than the parallel rate [wiki: Luminous to Nautilus
        measured]
      - HDD only, BlueStore: 33 % of the disk's rate (30 writes/s) with one writer, 66 % (60 writes/s)
        with bluefs_preextend_wal_files (ceph#26909), about 100 % (90.9 writes/s) in parallel [wiki:
        Luminous to Nautilus measured]
      - One OSD with block.db on flash: 135-273 writes/s with the disk's write cache on, 185-386 with it
        off; 75-80 without flash [wiki: Mimic]
      - One RBD client reaches at most about 15,000 writes/s and 30,000 reads/s, however large the
        cluster is [wiki: Luminous to Nautilus measured]

    Sources
      Ceph BlueStore page  docs.ceph.com: doc/rados/configuration/bluestore-config-ref.rst
      IBM                  ibm.com/docs: IBM Storage Ceph, Sizing considerations (Red Hat's text says
                           the same)
      wiki                 yourcmc.ru/wiki, "Ceph performance", around 2019 (Mimic and Nautilus)
      BlueStore.h          github.com/ceph/ceph: src/os/bluestore/BlueStore.h,
                           RocksDBBlueFSVolumeSelector (ceph#29687; the default since ceph#36750)
      ceph#51821           github.com/ceph/ceph: pull requests 47221 and 51821 (RocksDB options of Reef)
      notes of 19.2.0      docs.ceph.com: doc/releases/squid.rst, v19.2.0
      Ceph hardware page   docs.ceph.com: doc/start/hardware-recommendations.rst
      Proxmox              Proxmox VE Administration Guide, pveceph.adoc
      arithmetic           follows from the figures above and from nothing else
      ceph#15422           github.com/ceph/ceph: pull request 15422 (2017)
      notes of 19.2.1      docs.ceph.com: doc/releases/squid.rst, v19.2.1 (tracker 66289, ceph#58509)
    "#);
}

#[test]
fn rgw_on_an_old_release() {
    let plan =
        Plan { db: Some(Capacity(400_000_000_000)), hosts: None, ..plan(Workload::Rgw, "14.2.11") };
    insta::assert_snapshot!(page(&plan), @r#"
    cluster           24 OSDs of 16 TB (HDD), 3 replicas, workload rgw, Nautilus 14.2.11
    capacity          384 TB raw, 128 TB for data if filled completely; keep room for a lost host

    What to provide
      block.db        299 GB per OSD, 1.87 % of it
        yours: 400 GB, 2.5 %. RocksDB uses 299 GB of it (the log and 4 levels); 101 GB are wasted (25
               %).
        - As large as possible; for RGW at least 4 % of the data device (omap keys) [Ceph BlueStore
          page: all with BlueStore]
        - 4 % for object, file and mixed workloads, 1 % for block devices [IBM: all with BlueStore]
        - RocksDB puts a level on flash only if it fits completely. With a log of 1024 MiB, a level 1 of
          256 MiB and a multiplier of 10, only 3840 MiB (4.03 GB), 29440 MiB (30.9 GB), 285440 MiB
          (299 GB) are used (the wiki's 4/30/286 GB are thousands of MiB) [wiki: Luminous to 14.2.11 and
          15.2.5]
        - 4 % would be 640 GB; 299 GB is the size of that table to take [arithmetic: Luminous to 14.2.11
          and 15.2.5]
        - Useful are roughly 3, 30 and 300 GB; twice as much helps compaction, and L3 and above rarely
          help. A larger device pays off after an upgrade to 14.2.12 or 15.2.6 [Ceph BlueStore page:
          Luminous to 14.2.11 and 15.2.5]
      WAL             no separate device: the log is part of block.db
        - A DB device holds the log as well. With less than about 1 GB of flash, use that for the log
          alone (block.wal) [Ceph BlueStore page: all with BlueStore]
      DB devices      4-5 OSDs per SATA SSD, up to 10 per NVMe SSD
        - 4-5 HDD OSDs per SATA SSD, no more than 10 per NVMe SSD [Ceph hardware page: all; current
          editions of the page say up to 15 per NVMe SSD]
        - If the flash device is slower than its disks together, it becomes their bottleneck [Proxmox:
          current manual]
      RAM             8 GB per OSD
        - osd_memory_target is 4 GiB by default, less than 2 GiB is not recommended; provision about
          8 GB per OSD for peaks and recovery [Ceph hardware page: Nautilus and later]
        - The target is not a limit: 20 % more at least, 4.8 GiB per OSD [Ceph hardware page: Nautilus
          and later]
        - 1 GB per TB of data and at least 2 GB: 16 GB per OSD here. Since the memory target, the size
          of the OSD no longer decides [wiki: Luminous to Nautilus]
      CPU             1-2 threads per OSD
        - At least 1 core per OSD, and 2 for heavy use such as RBD; 1 core per 1,000-3,000 IOPS or
          200-500 MB/s, before replication [Ceph hardware page: all]
        - C-states off and the governor `performance` give 2-3 times the IOPS at depth 1 (`flushmark
          host` checks both) [wiki: all]
      network         10 Gb/s per host
        - At least 10 Gb/s between hosts [Ceph hardware page: all]
        - 10 Gb/s or more for Ceph alone, 25 Gb/s or more with NVMe [Proxmox: current manual]
        - Refilling a lost OSD of 16 TB takes 3.56 h at the full 10 Gb/s of one host [arithmetic: all]
        - A round trip of 30-50 µs is good; each 100 µs cost 10-15 % of a write of 0.7 ms [wiki: all]
      min_alloc_size  64 KiB (default)
        - HDD: 64 KiB until Octopus, 4 KiB since Pacific. It is fixed when the OSD is created [Ceph
          BlueStore page: all with BlueStore]
      op shards       5 x 1 thread (default)
        - By default 5 shards of 1 thread for HDD, 8 of 2 for SSD [ceph#15422: Luminous and later]
        - HDD: 1 shard of 5 threads, because mClock schedules better with one queue [notes of 19.2.1:
          19.2.1 and later; 18.2.5 and later in Reef (ceph#59972)]
        - The defaults are right: 1 thread x 5 shards for HDD, 2 x 8 for SSD [wiki: Luminous to
          Nautilus]

    What to expect of 4 KiB overwrites, one at a time and in parallel
      layout          log on                  commit            k       latency   per second  parallel/s
      HDD only        disk-7200rpm-cache-off   11 ms  modelled  2  22.6-22.8 ms    43.9-44.2         727
      HDD + flash DB  enterprise-nvme          22 µs  modelled  2    644-844 µs  1,185-1,553   800-2,400
      HDD + flash DB  consumer-nvme           1.6 ms  modelled  2      3.8-4 ms      250-263           -
    Latency is S + k x commit + 2 x round trip. S, Ceph's own time, is 500-700 µs; the round trip is
    50 µs. The range of S alone is an error of up to ±13.4 %, and neither S nor k of this release is
    fitted to a cluster. One at a time, the number of OSDs does not matter.
      - S: 0.4 ms for Ceph and 0.3 ms for BlueStore on fast NVMe. That contains some commits; 0.5 ms
        without them is inferred [wiki: Luminous to Nautilus measured]
      - k: two commits, of the log and of BlueFS's own log (tracker 38559) [wiki: Luminous to Squid]
      - In parallel, HDD only: BlueStore reaches about 100 % of the disk's own rate; times 24 OSDs,
        divided by 3 [wiki: Luminous to Nautilus measured]
      - In parallel, HDD + flash DB: 100 to 300 writes/s per OSD, stable: 64 deferred writes go to the
        disk together; times 24 OSDs, divided by 3 [wiki: Luminous to Nautilus measured]
    No source has a parallel rate with flash of fewer than 10,000 commits/s.

    Published figures to compare with
      - A 4 KiB write to a disk is deferred: it waits for the log, not for the data, until about 64 wait
        on one OSD. Sustained, no client gets more than the parallel rate [wiki: Luminous to Nautilus
        measured]
      - HDD only, BlueStore: 33 % of the disk's rate (30 writes/s) with one writer, 66 % (60 writes/s)
        with bluefs_preextend_wal_files (ceph#26909), about 100 % (90.9 writes/s) in parallel [wiki:
        Luminous to Nautilus measured]
      - One OSD with block.db on flash: 135-273 writes/s with the disk's write cache on, 185-386 with it
        off; 75-80 without flash [wiki: Mimic]
      - HDD + SSD journal, Filestore: 1,000-2,000 writes/s until the journal is full, then the disk's
        rate [wiki: Luminous to Quincy; not supported since Reef]

    Sources
      Ceph BlueStore page  docs.ceph.com: doc/rados/configuration/bluestore-config-ref.rst
      IBM                  ibm.com/docs: IBM Storage Ceph, Sizing considerations (Red Hat's text says
                           the same)
      wiki                 yourcmc.ru/wiki, "Ceph performance", around 2019 (Mimic and Nautilus)
      arithmetic           follows from the figures above and from nothing else
      Ceph hardware page   docs.ceph.com: doc/start/hardware-recommendations.rst
      Proxmox              Proxmox VE Administration Guide, pveceph.adoc
      ceph#15422           github.com/ceph/ceph: pull request 15422 (2017)
      notes of 19.2.1      docs.ceph.com: doc/releases/squid.rst, v19.2.1 (tracker 66289, ceph#58509)
    "#);
}

#[test]
fn rgw_on_flash_on_the_newest_release() {
    let plan = Plan {
        medium: Medium::Ssd,
        data: Capacity(3_840_000_000_000),
        redundancy: Redundancy::ErasureCoded { k: 4, m: 2 },
        ..plan(Workload::Rgw, "tentacle")
    };
    insta::assert_snapshot!(page(&plan), @r#"
    cluster           24 OSDs of 3.84 TB (SSD) on 4 hosts, erasure code 4+2, workload rgw, Tentacle 20
    capacity          92.2 TB raw, 61.4 TB for data if filled completely; keep room for a lost host
    note              Assumes the latest point release of Tentacle 20; state yours with --release, such
                      as 20.2.0.
    note              erasure code 4+2 on 4 hosts: with hosts as failure domain (the default) placement
                      groups never become clean; 6 hosts are needed.

    What to provide
      WAL             no separate device: the log is on the data device
        - A DB device holds the log as well. With less than about 1 GB of flash, use that for the log
          alone (block.wal) [Ceph BlueStore page: all with BlueStore]
      RAM             8 GB per OSD; 48 GB on a host with 6 OSDs
        - osd_memory_target is 4 GiB by default, less than 2 GiB is not recommended; provision about
          8 GB per OSD for peaks and recovery [Ceph hardware page: Nautilus and later]
        - The target is not a limit: 20 % more at least, 4.8 GiB per OSD; 28.8 GiB on a host with 6 OSDs
          [Ceph hardware page: Nautilus and later]
        - 1 GB per TB of data and at least 2 GB: 3.84 GB per OSD here. Since the memory target, the size
          of the OSD no longer decides [wiki: Luminous to Nautilus]
      CPU             4-6 threads per OSD; 36 threads on a host with 6 OSDs
        - Not fewer than 4 cores per OSD, it uses up to 6. Clock before cores: one thread
          (kv_sync_thread) commits for the whole OSD [wiki: Luminous to Nautilus measured]
        - 4-6 threads per NVMe OSD [Proxmox: current manual]
        - At least 1 core per OSD, and 2 for heavy use such as RBD; 1 core per 1,000-3,000 IOPS or
          200-500 MB/s, before replication [Ceph hardware page: all]
        - C-states off and the governor `performance` give 2-3 times the IOPS at depth 1 (`flushmark
          host` checks both) [wiki: all]
      network         40 Gb/s per host
        - At least 10 Gb/s between hosts [Ceph hardware page: all]
        - 10 Gb/s or more for Ceph alone, 25 Gb/s or more with NVMe [Proxmox: current manual]
        - The drives of a host should not exceed its network: 6 x 550 MB/s (SATA) = 26.4 Gb/s [Ceph
          hardware page: all]
        - Refilling a lost OSD of 3.84 TB takes 0.21 h at the full 40 Gb/s of one host [arithmetic: all]
        - A round trip of 30-50 µs is good; each 100 µs cost 10-15 % of a write of 0.7 ms [wiki: all]
      min_alloc_size  4 KiB (default)
        - SSD: 16 KiB until 14.2.7, 4 KiB since (Ceph's BlueStore page says Octopus). It is fixed when
          the OSD is created [notes of 14.2.8: 14.2.8 and later]
        - QLC drives with large internal pages may need 8-64 KiB:
          bluestore_use_optimal_io_size_for_min_alloc_size [Ceph BlueStore page: Quincy and later]
      op shards       8 x 2 threads (default)
        - By default 5 shards of 1 thread for HDD, 8 of 2 for SSD [ceph#15422: Luminous and later]
        - The defaults are right: 1 thread x 5 shards for HDD, 2 x 8 for SSD [wiki: Luminous to
          Nautilus]

    What to expect of 4 KiB overwrites, one at a time and in parallel
      layout     log on           commit            k     latency   per second     parallel/s
      all flash  enterprise-nvme   22 µs  modelled  2  644-844 µs  1,185-1,553  40,000-80,000
      all flash  consumer-nvme    1.6 ms  modelled  2    3.8-4 ms      250-263              -
    Latency is S + k x commit + 2 x round trip. S, Ceph's own time, is 500-700 µs; the round trip is
    50 µs. The range of S alone is an error of up to ±13.4 %, and neither S nor k of this release is
    fitted to a cluster. One at a time, the number of OSDs does not matter.
      - S: 0.4 ms for Ceph and 0.3 ms for BlueStore on fast NVMe. That contains some commits; 0.5 ms
        without them is inferred [wiki: Luminous to Nautilus measured]
      - k: one commit of the log; its growth no longer needs a second one [notes of 20.2.0: Tentacle and
        later (bluefs_wal_envelope_mode)]
      - k: one more on flash, where data are written and flushed before the log [notes of 14.2.8: 14.2.8
        and later; doubt: inferred from the allocation unit and bluestore_prefer_deferred_size_ssd = 0]
      - Not counted: with an erasure code, an overwrite smaller than a stripe first reads the rest of
        the stripe from other OSDs; add at least a read and a round trip [Ceph ECBackend page: Luminous
        and later]
      - In parallel, all flash: 10,000 to 20,000 writes/s per OSD at depth 128, with power-loss
        protection; times 24 OSDs, divided by 6 [wiki: Luminous to Nautilus measured]
    No source has a parallel rate with flash of fewer than 10,000 commits/s.

    Published figures to compare with
      - Hard to beat at depth 1: 0.5 ms a read (2,000/s) and 1 ms a write (1,000/s); 0.7 ms (1,500/s) is
        the best seen [wiki: Luminous to Nautilus measured]
      - Erasure code 4+2: the parallel rate counts a small overwrite as one write on each of 6 OSDs. The
        reads before it are not counted, so it is an upper bound [arithmetic: all; Tentacle's FastEC
        writes fewer chunks]

    Sources
      Ceph BlueStore page  docs.ceph.com: doc/rados/configuration/bluestore-config-ref.rst
      Ceph hardware page   docs.ceph.com: doc/start/hardware-recommendations.rst
      wiki                 yourcmc.ru/wiki, "Ceph performance", around 2019 (Mimic and Nautilus)
      Proxmox              Proxmox VE Administration Guide, pveceph.adoc
      arithmetic           follows from the figures above and from nothing else
      notes of 14.2.8      docs.ceph.com: doc/releases/nautilus.rst, v14.2.8
      ceph#15422           github.com/ceph/ceph: pull request 15422 (2017)
      notes of 20.2.0      docs.ceph.com: doc/releases/tentacle.rst, v20.2.0 (ceph#62224)
      Ceph ECBackend page  docs.ceph.com: doc/dev/osd_internals/erasure_coding/ecbackend.rst
    "#);
}

#[test]
fn a_shared_device_on_a_release_without_sharding() {
    let plan = Plan {
        data: Capacity(4_000_000_000_000),
        db_device: Some(Capacity(960_000_000_000)),
        osds_per_db_device: Some(15),
        ..plan(Workload::Mixed, "15.2.6")
    };
    let page = page(&plan);
    insta::assert_snapshot!(page.lines().skip_while(|line| !line.contains("block.db")).take(12).collect::<Vec<_>>().join("\n"), @"
    block.db        160 GB per OSD, 4 % of it; 2.4 TB for 15 OSDs that share a device
      yours: 64 GB, 1.6 %. It is smaller than recommended (160 GB): metadata may spill over to the
             data device (BLUEFS_SPILLOVER). RocksDB keeps up to 30.9 GiB of metadata on it (2.87 GiB
             lent to levels that do not fit). A DB of 56.6 GiB would hold 53.8 GiB without sharding:
             more than this one, because above that size BlueStore reserves space to compact another
             level. From 83.7 GiB it holds as much again. Doubt: inferred from BlueStore.h and not
             tested; bluestore_volume_selection_reserved overrides the reserve.
      - As large as possible; generally 1-4 % of the data device [Ceph BlueStore page: all with
        BlueStore]
      - 4 % for object, file and mixed workloads, 1 % for block devices [IBM: all with BlueStore]
      - RocksDB puts a level on flash only if it fits completely. With a log of 1024 MiB, a level 1 of
        256 MiB and a multiplier of 10, only 3840 MiB (4.03 GB), 29440 MiB (30.9 GB), 285440 MiB
    ");
}

#[test]
fn no_page_is_wider_than_the_terminal() {
    for release in ["14.2.11", "squid"] {
        for (medium, columns) in [(Medium::Hdd, 72), (Medium::Ssd, 100), (Medium::Hdd, 120)] {
            let plan = Plan { medium, ..plan(Workload::Mixed, release) };
            let candidates = [candidate(Layout::HddOnly, "disk-7200rpm-cache-off", 11_000.0)];
            let document = size(&plan, &candidates, "0").unwrap();
            let page = ceph_sizing_page(&document, &Look { columns, ..Look::plain() });
            for line in page.lines() {
                assert!(line.chars().count() <= columns.max(100), "{line}");
            }
        }
    }
}

#[test]
fn spans_share_their_unit() {
    assert_eq!(between(Span::new(1_100.0, 1_300.0), latency), "1.1-1.3 ms");
    assert_eq!(between(Span::new(900.0, 1_100.0), latency), "900 µs-1.1 ms");
    assert_eq!(between(Span::new(800.0, 800.2), number), "800");
}

#[test]
fn a_release_that_was_fitted() {
    let plan = Plan { medium: Medium::Ssd, ..plan(Workload::Rbd, "16.2.15") };
    let page = page(&plan);
    let expected = page.lines().skip_while(|line| !line.starts_with("What to expect"));
    let expected: Vec<&str> = expected.take_while(|line| !line.is_empty()).collect();
    insta::assert_snapshot!(expected.join("\n"), @"
    What to expect of 4 KiB overwrites, one at a time and in parallel
      layout     log on           commit            k       latency   per second      parallel/s
      all flash  enterprise-nvme   22 µs  modelled  3    498-523 µs  1,912-2,008  80,000-160,000
      all flash  consumer-nvme    1.6 ms  modelled  3  5.23-5.26 ms      190-191               -
    Latency is S + k x commit + 2 x round trip. S, Ceph's own time, is 332-357 µs; the round trip is
    50 µs. S and k are fitted to a cluster, whose measurements deviate from the prediction by 3 %
    (standard deviation). S is different on your hosts. One at a time, the number of OSDs does not
    matter.
      - S: 332-357 µs, fitted to 16.2.15 with one copy. One host with 2 processors ran all daemons,
        their emulated drives and the client. Copies took 0.33 ms more there, because they shared those
        processors; that is left out. S depends on the processor: measure yours with `flushmark ceph
        osds` [fit: Pacific; 16.2.15 measured]
      - S elsewhere, not used here: 0.4 ms for Ceph and 0.3 ms for BlueStore on fast NVMe. That contains
        some commits; 0.5 ms without them is inferred [wiki: Luminous to Nautilus measured]
      - k: 2 commits of the log of an OSD that is new; the wiki counts 2 [fit: Pacific; 16.2.15
        measured]
      - k: 1 more on flash, where data are written and flushed before the log; 1 is inferred from the
        notes of 14.2.8 [fit: Pacific; 16.2.15 measured]
      - In parallel, all flash: 10,000 to 20,000 writes/s per OSD at depth 128, with power-loss
        protection; times 24 OSDs, divided by 3 [wiki: Luminous to Nautilus measured]
    No source has a parallel rate with flash of fewer than 10,000 commits/s.
    ");
}
