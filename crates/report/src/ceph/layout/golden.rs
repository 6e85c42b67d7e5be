//! Golden tests of the page of `flushmark ceph layout`.

use ceph::{Answers, Missing, Question};

use super::*;

const TROUBLED: &str = include_str!("../../../../ceph/tests/captures/18.2.4/troubled.json");
const HEALTHY: &str = include_str!("../../../../ceph/tests/captures/20.2.0/all-flash.json");
const NAUTILUS: &str = include_str!("../../../../ceph/tests/captures/14.2.22/answers.json");

fn answers(document: &str) -> Answers {
    Answers::from_document(document).unwrap_or_default()
}

fn page(answers: &Answers, look: &Look) -> String {
    let facts = ClusterFacts::from_answers(answers);
    layout(&facts, &judge::cluster(&facts), look)
}

#[test]
fn a_healthy_cluster() {
    insta::assert_snapshot!(page(&answers(HEALTHY), &Look::plain()), @"
    cluster      a3f5c2d0-1111-4222-8333-944444444444
    health       HEALTH_OK
    version      20.2.0 tentacle
    PGs          129 active+clean

    OSDs
      id  host   class  drive                       media     size   use  memory  shards   unit
       0  node1  nvme   SAMSUNG MZQL23T8HCLS-00A07  flash  3.84 TB  20 %   4 GiB   8 × 2  4 KiB
       1  node2  nvme   SAMSUNG MZQL23T8HCLS-00A07  flash  3.84 TB  21 %   4 GiB   8 × 2  4 KiB
       2  node3  nvme   SAMSUNG MZQL23T8HCLS-00A07  flash  3.84 TB  22 %   4 GiB   8 × 2  4 KiB

    Pools
      pool  kind        size  min_size  PGs  autoscaler  rule             classes  application
      .mgr  replicated     3         2    1  on          replicated_rule  nvme     mgr
      vms   replicated     3         2  128  on          replicated_rule  nvme     rbd

    Settings
      operation queue   mclock_scheduler, profile balanced
      mClock capacity   41,230 IOPS: osd.0; 39,877 IOPS: osd.1; 40,513 IOPS: osd.2
      deferred up to    never
      RocksDB sharding  m(3) p(3,0-12) O(3,0-13)=block_cache={type=binned_lru}
                        L=min_write_buffer_number_to_merge=32 P=min_write_buffer_number_to_merge=32
      DB space policy   use_some_extra
      WAL envelope      true
    ");
}

#[test]
fn a_cluster_with_problems() {
    let facts = ClusterFacts::from_answers(&answers(TROUBLED));
    let first = &judge::cluster(&facts)[..1];
    insta::assert_snapshot!(layout(&facts, first, &Look::plain()), @"
    cluster      3f1c2a52-55f0-4b0e-9d0c-7c1d8f0d2a11
    health       HEALTH_WARN
                 BLUEFS_SPILLOVER: 1 OSD(s) experiencing BlueFS spillover
                 OSDMAP_FLAGS: noout,norebalance flag(s) set (muted)
                 OSD_DOWN: 1 osds down
                 OSD_NEARFULL: 1 nearfull osd(s)
    version      18.2.4 reef (10), 17.2.7 quincy (1)
    PGs          301 active+clean, 13 active+undersized+degraded+remapped+backfill_wait, 5
                 active+remapped+backfilling, 2 active+clean+scrubbing+deep

    OSDs
      id  state  host   class  drive                  media        size     use   memory  shards    unit
       0  up     node1  hdd    ST16000NM001G-2KK103   rotating    16 TB  61.2 %  1.5 GiB   5 × 1  64 KiB
       1  up     node1  hdd    ST16000NM001G-2KK103   rotating    16 TB  63.9 %  1.5 GiB   5 × 1   4 KiB
       2  up     node2  hdd    ST16000NM001G-2KK103   rotating    16 TB  86.4 %  1.5 GiB   5 × 1   4 KiB
       3  up     node2  hdd    Samsung SSD 883 DCT    rotating  1.92 TB  12.5 %  1.5 GiB   5 × 1   4 KiB
                               1.92TB
       4  up     node1  ssd    SAMSUNG                flash     1.92 TB  40.1 %  1.5 GiB   8 × 2   4 KiB
                               MZQL21T9HCJR-00A07
       5  up     node2  ssd    Micron 7450            flash     1.92 TB  38.8 %  1.5 GiB   8 × 2   4 KiB
                               MTFDKCC1T9TFR
       6  down   node2  ssd    -                      -               -       -  1.5 GiB       -       -

    Separate DB and WAL
      id  part      drive                 media       size    used  spilled
       0  block.db  INTEL SSDPE2KX040T8   flash     30 GiB  28 GiB   12 GiB
       1  block.db  INTEL SSDPE2KX040T8   flash     30 GiB  17 GiB      0 B
       2  block.db  WDC WD10EZEX-08WN4A0  rotating  60 GiB  21 GiB      0 B

    Pools
      pool     kind         size  min_size  PGs  autoscaler  rule             classes   application
      .mgr     replicated      3         2    1  on          replicated_rule  hdd, ssd  mgr
      vms      replicated      2         1  128  warn        on-ssd           ssd       rbd
      archive  erasure 4+2     6         5  128  on          archive          hdd       rgw
      mixed    replicated      3         2   64  on          replicated_rule  hdd, ssd  rbd

    Settings
      operation queue   mclock_scheduler, profile balanced
      mClock capacity   1,843 IOPS: osd.0; 315 IOPS (default): osd.1, osd.2, osd.3; 33,000 IOPS: osd.4,
                        osd.5
      deferred up to    64 KiB: rotating OSDs; never: osd.4, osd.5
      RocksDB sharding  m(3) p(3,0-12) O(3,0-13)=block_cache={type=binned_lru}
                        L=min_write_buffer_number_to_merge=32 P=min_write_buffer_number_to_merge=32
      DB space policy   use_some_extra

    Findings
     1. 1 of 7 OSDs is down: osd.6.
        because: down osd.6
        confidence: high
        to do: The other OSDs do the work of these, so a measurement shows less than the whole cluster.
               `ceph crash ls` and the log of each OSD show why it stopped; `ceph osd in ID` places data
               on an OSD again.
    ");
}

#[test]
fn findings_about_the_state() {
    insta::assert_snapshot!(some_findings(0..7), @"
    Findings
     1. 1 of 7 OSDs is down: osd.6.
        because: down osd.6
        confidence: high
        to do: The other OSDs do the work of these, so a measurement shows less than the whole cluster.
               `ceph crash ls` and the log of each OSD show why it stopped; `ceph osd in ID` places data
               on an OSD again.
     2. The cluster moves data: 18 of 321 placement groups are being copied or wait for it.
        because: recovering, backfilling, peering or waiting for it 18 of 321; degraded 13
        confidence: high
        to do: Measure when all placement groups are active+clean: copies compete with every commit. The
               flag norebalance holds it up. `ceph status` shows the progress.
     3. 2 of 321 placement groups are being scrubbed, which occupies their drives.
        because: scrubbing 2 placement groups
        confidence: high
        to do: Measure between scrubs, or pause them: `ceph osd set noscrub` and `ceph osd set
               nodeep-scrub`, and afterwards `ceph osd unset noscrub` and `ceph osd unset nodeep-scrub`.
               Scrubs that are running finish first.
     4. osd.2 is 86.4 % full; the cluster warns at 85 %, stops backfills at 90 % and writes at 95 %.
        because: osd.2 86.4 % full; OSD_NEARFULL 1 nearfull osd(s)
        confidence: high
        to do: Add OSDs or delete data before you write a benchmark's objects. If other OSDs of the same
               class have space, `ceph balancer status` shows why it is not used. A drive that is nearly
               full is slower than it was.
     5. Maintenance flags are set in the OSD map: noout, norebalance.
        because: flags noout, norebalance
        confidence: high
        to do: If the maintenance is over, remove them: `ceph osd unset noout` and `ceph osd unset
               norebalance`. What a flag holds up is done afterwards, so figures with and without it
               differ.
     6. Daemons run different versions: 18.2.4 reef (10), 17.2.7 quincy (1).
        because: mgr 2 × 18.2.4 reef; mon 3 × 18.2.4 reef; osd 1 × 17.2.7 quincy, 5 × 18.2.4 reef
        confidence: high
        to do: Finish the upgrade (`ceph orch upgrade status`, or restart the daemons that still run the
               old version) before you compare OSDs: releases differ in latency and in their defaults.
     7. Pool vms keeps too few copies: a write may be acknowledged with a single copy, and the failure
        of that drive loses it.
        because: vms size 2, min_size 1
        confidence: high
        to do: Unless the data can be made again: `ceph osd pool set vms size 3` and `ceph osd pool set
               vms min_size 2`. It takes a third failure domain and the space for another copy, and the
               cluster copies data until it is done.
    ");
}

#[test]
fn findings_about_the_layout() {
    insta::assert_snapshot!(some_findings(7..16), @"
    Findings
     1. mClock assumes that osd.0 can do 1,843 IOPS; a hard disk can do 50 to 500.
        because: osd.0 osd_mclock_max_capacity_iops_hdd 1843.21 IOPS (plausible: 50 to 500)
        confidence: medium: With block.db on flash, short bursts of small writes go to that flash first,
                    and the OSD measured those.
        to do: Too high a value leaves recovery and clients unregulated, too low a value throttles both.
               Measure the IOPS of the OSD at a deep queue and set that; until then Ceph's default:
               `ceph config set osd.0 osd_mclock_max_capacity_iops_hdd 315`. The OSD does not measure
               again by itself while the value differs from the default.
     2. mClock assumes exactly 33,000 IOPS for osd.4 and osd.5, although their drives differ (Micron
        7450 MTFDKCC1T9TFR and SAMSUNG MZQL21T9HCJR-00A07).
        because: the same capacity 33000 IOPS; osd.4 SAMSUNG MZQL21T9HCJR-00A07; osd.5 Micron 7450
                 MTFDKCC1T9TFR
        confidence: low: Somebody may have set the value of the slowest drive for all.
        to do: Measure each model and set its own value: `ceph config set osd.4
               osd_mclock_max_capacity_iops_ssd IOPS` and `ceph config set osd.5
               osd_mclock_max_capacity_iops_ssd IOPS`.
     3. Metadata of osd.0 has spilled over from the DB device to the slow device and is looked up there.
        because: osd.0 12 GiB on the slow device; DB device: 28 GiB of 30 GiB used; BLUEFS_SPILLOVER 1
                 OSD(s) experiencing BlueFS spillover
        confidence: high
        to do: Compact first: `ceph tell osd.0 compact`. If it spills over again, the device is too
               small: enlarge the volume, stop the OSD, run `ceph-bluestore-tool bluefs-bdev-expand` and
               bring back what is on the slow device with `ceph-bluestore-tool bluefs-bdev-migrate`.
     4. RocksDB of osd.2 is on a separate hard disk: every commit waits for its rotation.
        because: osd.2 block.db WDC WD10EZEX-08WN4A0
        confidence: medium: The OSD repeats what the kernel reports; a controller or a virtual disk may
                    report flash as rotating.
        to do: Move it to flash with power-loss protection: `ceph-volume lvm new-db` and `ceph-volume
               lvm migrate` with the OSD stopped. A second hard disk gains little over none, and its
               failure takes the OSD down.
     5. osd.3 takes its flash drive for a hard disk, and uses the settings for one.
        because: osd.3 Samsung SSD 883 DCT 1.92TB; rotational 1, class hdd
        confidence: high
        to do: Shards, threads, deferred writes and mClock's capacity depend on it. Check
               `/sys/block/NAME/queue/rotational` on the host: RAID controllers and virtual disks often
               report 1. Correct it with a udev rule, and restart the OSD. The device class does not
               follow by itself: `ceph osd crush rm-device-class osd.3` and `ceph osd crush
               set-device-class ssd osd.3`.
     6. Pool mixed keeps its data on different kinds of drives: a write takes as long as on the slowest.
        because: mixed hdd and ssd by rule replicated_rule
        confidence: high
        to do: Make a rule for one class, `ceph osd crush rule create-replicated on-ssd default host
               ssd`, and use it: `ceph osd pool set mixed crush_rule on-ssd`. That moves data; check the
               space of that class first.
     7. osd.0, osd.1 and osd.2 divide the operations of a hard disk into 5 queues, of which mClock
        schedules each by itself.
        because: queues of osd.0 5; threads per queue 1
        confidence: medium: It costs most during recovery with several clients; a single client at depth
                    1 uses one queue at a time.
        to do: Use one queue with five threads, the default since 18.2.5 (Reef) and 19.2.1 (Squid):
               `ceph config set osd osd_op_num_shards_hdd 1` and `ceph config set osd
               osd_op_num_threads_per_shard_hdd 5`, then restart the OSDs one failure domain at a time.
     8. osd.0, osd.1, osd.2, osd.3, osd.4 and 2 more have a memory target of 1.5 GiB; below 2 GiB,
        metadata does not stay cached.
        because: osd.0 1.5 GiB; osd.1 1.5 GiB; osd.2 1.5 GiB; osd.3 1.5 GiB; osd.4 1.5 GiB; osd.5
                 1.5 GiB; osd.6 1.5 GiB
        confidence: high
        to do: Raise it to the default: `ceph config set osd osd_memory_target 4294967296`, if the host
               has that much for each OSD and a fifth to spare.
     9. osd.0 allocates space in units of 64 KiB: a smaller object occupies as much.
        because: osd.0 64 KiB, made by 13.2.10 mimic
        confidence: high
        to do: It matters where objects are small (RGW, CephFS, erasure-coded pools). The unit is fixed
               when an OSD is made: recreate such OSDs one after the other, unless their drives have
               units as large (QLC flash). Do not compare their latency with that of OSDs with 4 KiB,
               because different writes are deferred.
    ");
}

fn some_findings(which: std::ops::Range<usize>) -> String {
    let facts = ClusterFacts::from_answers(&answers(TROUBLED));
    findings_list(&judge::cluster(&facts)[which], &Look::plain())
}

#[test]
fn an_old_release_that_answers_less() {
    let mut answers = answers(NAUTILUS);
    answers.insert(Question::ConfigOfOsd(0), Err(Missing::from_errno(-22, "command not known")));
    answers.insert(Question::PerfDump(1), Err(Missing::from_errno(-13, "access denied")));
    insta::assert_snapshot!(page(&answers, &Look::plain()), @"
    cluster      b0000000-0000-4000-8000-000000000000
    health       HEALTH_WARN
                 POOL_APP_NOT_ENABLED: application not enabled on 1 pool(s)
    version      14.2.22 nautilus
    PGs          64 active+clean

    OSDs
      id  host   class  drive                 media     size  use  memory  shards  unit
       0  node1  hdd    HGST HUS728T8TAL5204  rotating  8 TB    -   2 GiB       -     -
       1  node1  hdd    HGST HUS728T8TAL5204  rotating  8 TB    -   2 GiB       -     -

    Separate DB and WAL
      id  part      drive                media    size  used  spilled
       0  block.db  INTEL SSDPED1D280GA  flash  30 GiB     -        -
       1  block.db  INTEL SSDPED1D280GA  flash  30 GiB     -        -

    Pools
      pool  kind        size  min_size  PGs  autoscaler  rule             classes  application
      rbd   replicated     2         1   64  warn        replicated_rule  hdd      -

    Not known
      health detail: not asked
      osd df: not asked
      osd.0 config show-with-defaults: this release does not know the command
      osd.1 perf dump: not permitted: access denied

    Findings
     1. Pool rbd keeps too few copies: a write may be acknowledged with a single copy, and the failure
        of that drive loses it.
        because: rbd size 2, min_size 1
        confidence: high
        to do: Unless the data can be made again: `ceph osd pool set rbd size 3` and `ceph osd pool set
               rbd min_size 2`. It takes a third failure domain and the space for another copy, and the
               cluster copies data until it is done.
    ");
}

#[test]
fn without_any_answer() {
    insta::assert_snapshot!(page(&Answers::default(), &Look::plain()), @"
    cluster      fsid not known
    health       not known

    Not known
      status: not asked
      health detail: not asked
      versions: not asked
      osd dump: not asked
      osd tree: not asked
      osd df: not asked
      osd metadata: not asked
      config dump: not asked
      osd pool ls detail: not asked
      osd crush dump: not asked
    ");
}

#[test]
fn no_line_is_wider_than_the_page() {
    for columns in [Look::COLUMNS_MIN, 80, 100, 140] {
        let page = page(&answers(TROUBLED), &Look { columns, ..Look::plain() });
        // A state of placement groups is one long word.
        for line in page.lines().filter(|line| line.split_whitespace().count() > 1) {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }
}
