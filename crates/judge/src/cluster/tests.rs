use ceph::{Answers, ClusterFacts, PoolKind};

use super::*;

const TROUBLED: &str = include_str!("../../../ceph/tests/captures/18.2.4/troubled.json");
const HEALTHY: &str = include_str!("../../../ceph/tests/captures/20.2.0/all-flash.json");
const NAUTILUS: &str = include_str!("../../../ceph/tests/captures/14.2.22/answers.json");

fn facts(document: &str) -> ClusterFacts {
    ClusterFacts::from_answers(&Answers::from_document(document).unwrap_or_default())
}

fn ids(facts: &ClusterFacts) -> Vec<String> {
    cluster(facts).into_iter().map(|finding| finding.id).collect()
}

fn finding(facts: &ClusterFacts, id: &str) -> Option<Finding> {
    cluster(facts).into_iter().find(|finding| finding.id == id)
}

#[test]
fn a_healthy_cluster_has_no_findings() {
    assert_eq!(ids(&facts(HEALTHY)), Vec::<String>::new());
}

#[test]
fn each_problem_is_found() {
    let found = cluster(&facts(TROUBLED));
    let titles: Vec<String> =
        found.iter().map(|finding| format!("{}: {}", finding.id, finding.title)).collect();
    insta::assert_snapshot!(titles.join("\n"), @"
    ceph-osds-down: 1 of 7 OSDs is down: osd.6.
    ceph-recovery-running: The cluster moves data: 18 of 321 placement groups are being copied or wait for it.
    ceph-scrub-running: 2 of 321 placement groups are being scrubbed, which occupies their drives.
    ceph-full: osd.2 is 86.4 % full; the cluster warns at 85 %, stops backfills at 90 % and writes at 95 %.
    ceph-flags-set: Maintenance flags are set in the OSD map: noout, norebalance.
    ceph-mixed-versions: Daemons run different versions: 18.2.4 reef (10), 17.2.7 quincy (1).
    ceph-pool-copies: Pool vms keeps too few copies: a write may be acknowledged with a single copy, and the failure of that drive loses it.
    ceph-mclock-capacity: mClock assumes that osd.0 can do 1,843 IOPS; a hard disk can do 50 to 500.
    ceph-mclock-capacity-copied: mClock assumes exactly 33,000 IOPS for osd.4 and osd.5, although their drives differ (Micron 7450 MTFDKCC1T9TFR and SAMSUNG MZQL21T9HCJR-00A07).
    ceph-bluefs-spillover: Metadata of osd.0 has spilled over from the DB device to the slow device and is looked up there.
    ceph-db-on-hard-disk: RocksDB of osd.2 is on a separate hard disk: every commit waits for its rotation.
    ceph-flash-as-hard-disk: osd.3 takes its flash drive for a hard disk, and uses the settings for one.
    ceph-mixed-classes: Pool mixed keeps its data on different kinds of drives: a write takes as long as on the slowest.
    ceph-hdd-shards: osd.0, osd.1 and osd.2 divide the operations of a hard disk into 5 queues, of which mClock schedules each by itself.
    ceph-memory-target: osd.0, osd.1, osd.2, osd.3, osd.4 and 2 more have a memory target of 1.5 GiB; below 2 GiB, metadata does not stay cached.
    ceph-min-alloc-size: osd.0 allocates space in units of 64 KiB: a smaller object occupies as much.
    ");
    let advice: Vec<String> =
        found.iter().map(|finding| format!("{}: {}", finding.id, finding.advice)).collect();
    insta::assert_snapshot!(advice.join("\n"), @"
    ceph-osds-down: The other OSDs do the work of these, so a measurement shows less than the whole cluster. `ceph crash ls` and the log of each OSD show why it stopped; `ceph osd in ID` places data on an OSD again.
    ceph-recovery-running: Measure when all placement groups are active+clean: copies compete with every commit. The flag norebalance holds it up. `ceph status` shows the progress.
    ceph-scrub-running: Measure between scrubs, or pause them: `ceph osd set noscrub` and `ceph osd set nodeep-scrub`, and afterwards `ceph osd unset noscrub` and `ceph osd unset nodeep-scrub`. Scrubs that are running finish first.
    ceph-full: Add OSDs or delete data before you write a benchmark's objects. If other OSDs of the same class have space, `ceph balancer status` shows why it is not used. A drive that is nearly full is slower than it was.
    ceph-flags-set: If the maintenance is over, remove them: `ceph osd unset noout` and `ceph osd unset norebalance`. What a flag holds up is done afterwards, so figures with and without it differ.
    ceph-mixed-versions: Finish the upgrade (`ceph orch upgrade status`, or restart the daemons that still run the old version) before you compare OSDs: releases differ in latency and in their defaults.
    ceph-pool-copies: Unless the data can be made again: `ceph osd pool set vms size 3` and `ceph osd pool set vms min_size 2`. It takes a third failure domain and the space for another copy, and the cluster copies data until it is done.
    ceph-mclock-capacity: Too high a value leaves recovery and clients unregulated, too low a value throttles both. Measure the IOPS of the OSD at a deep queue and set that; until then Ceph's default: `ceph config set osd.0 osd_mclock_max_capacity_iops_hdd 315`. The OSD does not measure again by itself while the value differs from the default.
    ceph-mclock-capacity-copied: Measure each model and set its own value: `ceph config set osd.4 osd_mclock_max_capacity_iops_ssd IOPS` and `ceph config set osd.5 osd_mclock_max_capacity_iops_ssd IOPS`.
    ceph-bluefs-spillover: Compact first: `ceph tell osd.0 compact`. If it spills over again, the device is too small: enlarge the volume, stop the OSD, run `ceph-bluestore-tool bluefs-bdev-expand` and bring back what is on the slow device with `ceph-bluestore-tool bluefs-bdev-migrate`.
    ceph-db-on-hard-disk: Move it to flash with power-loss protection: `ceph-volume lvm new-db` and `ceph-volume lvm migrate` with the OSD stopped. A second hard disk gains little over none, and its failure takes the OSD down.
    ceph-flash-as-hard-disk: Shards, threads, deferred writes and mClock's capacity depend on it. Check `/sys/block/NAME/queue/rotational` on the host: RAID controllers and virtual disks often report 1. Correct it with a udev rule, and restart the OSD. The device class does not follow by itself: `ceph osd crush rm-device-class osd.3` and `ceph osd crush set-device-class ssd osd.3`.
    ceph-mixed-classes: Make a rule for one class, `ceph osd crush rule create-replicated on-ssd default host ssd`, and use it: `ceph osd pool set mixed crush_rule on-ssd`. That moves data; check the space of that class first.
    ceph-hdd-shards: Use one queue with five threads, the default since 18.2.5 (Reef) and 19.2.1 (Squid): `ceph config set osd osd_op_num_shards_hdd 1` and `ceph config set osd osd_op_num_threads_per_shard_hdd 5`, then restart the OSDs one failure domain at a time.
    ceph-memory-target: Raise it to the default: `ceph config set osd osd_memory_target 4294967296`, if the host has that much for each OSD and a fifth to spare.
    ceph-min-alloc-size: It matters where objects are small (RGW, CephFS, erasure-coded pools). The unit is fixed when an OSD is made: recreate such OSDs one after the other, unless their drives have units as large (QLC flash). Do not compare their latency with that of OSDs with 4 KiB, because different writes are deferred.
    ");
    assert!(found.iter().all(|finding| !finding.evidence.is_empty()));
    let falsifying = found.iter().filter(|finding| falsifies_measurement(finding));
    assert_eq!(falsifying.count(), 4);
}

#[test]
fn what_nautilus_does_not_report_is_not_judged() {
    assert_eq!(ids(&facts(NAUTILUS)), ["ceph-pool-copies"]);
}

#[test]
fn capacities_matter_only_to_mclock() {
    let mut wpq = facts(TROUBLED);
    for osd in &mut wpq.osds {
        if let Some(queue) = osd.settings.0.get_mut("osd_op_queue") {
            queue.value = "wpq".to_owned();
        }
    }
    let found = ids(&wpq);
    for id in ["ceph-mclock-capacity", "ceph-mclock-capacity-copied", "ceph-hdd-shards"] {
        assert!(!found.iter().any(|found| found == id), "{id}");
    }
}

#[test]
fn the_limits_of_mclock_capacities() {
    for (iops, expected) in
        [("49.9", true), ("50", false), ("315", false), ("500", false), ("500.1", true)]
    {
        let mut changed = facts(TROUBLED);
        if let Some(value) = changed.osds[0].settings.0.get_mut("osd_mclock_max_capacity_iops_hdd")
        {
            value.value = iops.to_owned();
        }
        assert_eq!(finding(&changed, "ceph-mclock-capacity").is_some(), expected, "{iops}");
    }
}

#[test]
fn a_pool_for_measurements_may_have_one_copy() {
    let mut bench = facts(NAUTILUS);
    bench.pools[0].name = "flushmark-bench".to_owned();
    assert_eq!(ids(&bench), Vec::<String>::new());
    bench.pools[0].name = "data".to_owned();
    (bench.pools[0].size, bench.pools[0].min_size) = (Some(1), Some(1));
    let found = finding(&bench, "ceph-pool-copies");
    assert!(found.is_some_and(|found| found.title.contains("failure of one drive loses data")));
}

#[test]
fn inactive_groups_paused_clients_and_out_osds() {
    let mut changed = facts(HEALTHY);
    if let Some(pgs) = &mut changed.pgs {
        pgs.0.insert("undersized+peered".to_owned(), 2);
        pgs.0.insert("active+clean+snaptrim".to_owned(), 1);
    }
    changed.flags.extend(["pauserd".to_owned(), "pausewr".to_owned()]);
    changed.osds[1].is_in = Some(false);
    let titles: Vec<String> =
        cluster(&changed).iter().map(|found| format!("{} {}", found.title, found.advice)).collect();
    insta::assert_snapshot!(titles.join("\n"), @"
    2 of 132 placement groups serve no I/O: operations on their objects wait. `ceph health detail` names them, and `ceph pg PGID query` shows what each waits for. Do not measure before they are active.
    1 of 3 OSDs is out: CRUSH places no data on osd.1. The other OSDs do the work of these, so a measurement shows less than the whole cluster. `ceph crash ls` and the log of each OSD show why it stopped; `ceph osd in ID` places data on an OSD again.
    1 of 132 placement groups is trimming snapshots, which occupies their drives. Measure when the snapshots are trimmed; `ceph status` shows the placement groups.
    Client I/O is paused by a flag of the OSD map. If the maintenance is over, remove it: `ceph osd unset pause`. What a flag holds up is done afterwards, so figures with and without it differ.
    ");
}

#[test]
fn an_erasure_coded_pool_needs_a_chunk_in_reserve() {
    let mut changed = facts(TROUBLED);
    changed.pools[2].min_size = Some(4);
    let found = finding(&changed, "ceph-pool-chunks");
    assert!(
        found.is_some_and(|found| found.advice.contains("`ceph osd pool set archive min_size 5`"))
    );
}

#[test]
fn the_risk_of_too_few_copies_depends_on_both_sizes() {
    let with = |size, min_size| {
        let mut changed = facts(NAUTILUS);
        changed.pools[0].name = "data".to_owned();
        (changed.pools[0].size, changed.pools[0].min_size) = (Some(size), Some(min_size));
        let found = finding(&changed, "ceph-pool-copies");
        found.map(|found| format!("{} {}", found.title, found.advice)).unwrap_or_default()
    };
    insta::assert_snapshot!([with(2, 2), with(3, 1), with(3, 2)].join("\n"), @"
    Pool data keeps too few copies: after one failure a single copy is left, and writes stop. Unless the data can be made again: `ceph osd pool set data size 3`. It takes a third failure domain and the space for another copy, and the cluster copies data until it is done.
    Pool data accepts writes with too few copies: a write may be acknowledged with a single copy, and the failure of that drive loses it. Unless the data can be made again: `ceph osd pool set data min_size 2`. No data are moved.
    ");
}

#[test]
fn one_coding_chunk_leaves_no_reserve() {
    let mut changed = facts(TROUBLED);
    let PoolKind::Erasure { chunks: Some(chunks), .. } = &mut changed.pools[2].kind else {
        panic!("{:?}", changed.pools[2].kind)
    };
    chunks.1 = 1;
    changed.pools[2].min_size = Some(4);
    let advice = finding(&changed, "ceph-pool-chunks").map(|found| found.advice);
    insta::assert_snapshot!(advice.unwrap_or_default(), @"Keep one chunk in reserve: `ceph osd pool set archive min_size 5`. A pool with one coding chunk then stops at the first failure; a new pool with two or more of them avoids both.");
}

#[test]
fn an_erasure_coded_pool_gets_a_rule_of_its_kind() {
    let mut changed = facts(HEALTHY);
    let kind = facts(TROUBLED).pools[2].kind.clone();
    changed.pools.truncate(1);
    let pool = &mut changed.pools[0];
    pool.kind = kind;
    pool.name = "archive".to_owned();
    pool.applications.clear();
    pool.device_classes = ["hdd", "ssd"].map(str::to_owned).into();
    let advice = finding(&changed, "ceph-mixed-classes").map(|found| found.advice);
    insta::assert_snapshot!(advice.unwrap_or_default(), @"Make an erasure-code profile with crush-device-class=ssd and a rule from it, `ceph osd crush rule create-erasure on-ssd PROFILE`, and use it: `ceph osd pool set archive crush_rule on-ssd`. That moves data; check the space of that class first.");
}

#[test]
fn a_log_on_flash_spares_commits_the_disk_with_rocksdb() {
    let mut changed = facts(TROUBLED);
    let osd = &mut changed.osds[2];
    osd.wal = osd.db.clone();
    if let Some(wal) = &mut osd.wal {
        wal.rotational = Some(false);
    }
    let title = finding(&changed, "ceph-db-on-hard-disk").map(|found| found.title);
    insta::assert_snapshot!(title.unwrap_or_default(), @"RocksDB of osd.2 is on a separate hard disk: lookups and compaction wait for it.");
}
