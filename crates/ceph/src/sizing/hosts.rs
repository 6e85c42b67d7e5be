//! Memory, processors, network and the defaults that depend on the release.

use workload::number::{capacity, number};

use super::plan::Plan;
use super::source::{Advice, Rule, Source};
use crate::medium::Medium;
use crate::release::{Release, Version};

const TB: f64 = 1e12;

/// `osd_memory_target`.
const MEMORY_TARGET_GIB: f64 = 4.0;
/// Headroom above the target, which the OSD does not always keep.
const MEMORY_MARGIN: f64 = 0.2;
/// Memory to provision per OSD according to the documentation, in GB.
const MEMORY_ADVISED_GB: f64 = 8.0;
/// The wiki's rule: a GB per TB, and no less than this.
const MEMORY_MIN_GB: f64 = 2.0;

/// Memory per OSD in bytes.
pub fn memory_per_osd(plan: &Plan) -> u64 {
    let gb = if has_memory_target(plan.version) { MEMORY_ADVISED_GB } else { gb_by_size(plan) };
    (gb * 1e9) as u64
}

fn has_memory_target(version: Version) -> bool {
    version.release() >= Release::Nautilus
}

fn gb_by_size(plan: &Plan) -> f64 {
    (plan.data.0 as f64 / TB).max(MEMORY_MIN_GB)
}

/// Threads per OSD: at least, and to take.
pub fn threads_per_osd(plan: &Plan) -> (u32, u32) {
    match plan.medium {
        Medium::Ssd => (4, 6),
        Medium::Hdd => (1, 2),
    }
}

/// `, 48 GB on a host with 6 OSDs`, where the number of hosts is known.
fn on_a_host(plan: &Plan, words: impl Fn(u32) -> String) -> String {
    plan.osds_per_host().map_or(String::new(), |osds| {
        format!("; {} on a host with {osds} OSD{}", words(osds), if osds == 1 { "" } else { "s" })
    })
}

pub(super) fn wal(plan: &Plan) -> Advice {
    let take = match plan.medium {
        Medium::Hdd => "no separate device: the log is part of block.db",
        Medium::Ssd => "no separate device: the log is on the data device",
    };
    Advice {
        subject: "WAL",
        take: take.to_owned(),
        rules: vec![Rule::new(
            Source::Bluestore,
            "all with BlueStore",
            "A DB device holds the log as well. With less than about 1 GB of flash, use that for \
             the log alone (block.wal)",
        )],
    }
}

pub(super) fn memory(plan: &Plan) -> Advice {
    let per_osd = memory_per_osd(plan);
    let host = on_a_host(plan, |osds| capacity(per_osd.saturating_mul(u64::from(osds))));
    let mut rules = Vec::new();
    if has_memory_target(plan.version) {
        rules.push(Rule::new(
            Source::Hardware,
            "Nautilus and later",
            "osd_memory_target is 4 GiB by default, less than 2 GiB is not recommended; provision \
             about 8 GB per OSD for peaks and recovery",
        ));
        let lowest = MEMORY_TARGET_GIB * (1.0 + MEMORY_MARGIN);
        rules.push(Rule::new(
            Source::Hardware,
            "Nautilus and later",
            format!(
                "The target is not a limit: 20 % more at least, {} GiB per OSD{}",
                number(lowest),
                on_a_host(plan, |osds| format!("{} GiB", number(lowest * f64::from(osds)))),
            ),
        ));
    }
    let by_size = gb_by_size(plan);
    rules.push(Rule::new(
        Source::Wiki,
        "Luminous to Nautilus",
        format!(
            "1 GB per TB of data and at least 2 GB: {} GB per OSD here{}",
            number(by_size),
            if has_memory_target(plan.version) {
                ". Since the memory target, the size of the OSD no longer decides"
            } else {
                ""
            }
        ),
    ));
    Advice { subject: "RAM", take: format!("{} per OSD{host}", capacity(per_osd)), rules }
}

pub(super) fn processors(plan: &Plan) -> Advice {
    let (at_least, take) = threads_per_osd(plan);
    let threads = |count: u32| format!("{count} thread{}", if count == 1 { "" } else { "s" });
    let range = format!("{at_least}-{}", threads(take));
    let host = on_a_host(plan, |osds| threads(take.saturating_mul(osds)));
    let mut rules = Vec::new();
    if plan.medium == Medium::Ssd {
        rules.push(Rule::new(
            Source::Wiki,
            "Luminous to Nautilus measured",
            "Not fewer than 4 cores per OSD, it uses up to 6. Clock before cores: one thread \
             (kv_sync_thread) commits for the whole OSD",
        ));
        rules.push(Rule::new(Source::Proxmox, "current manual", "4-6 threads per NVMe OSD"));
    }
    rules.push(Rule::new(
        Source::Hardware,
        "all",
        "At least 1 core per OSD, and 2 for heavy use such as RBD; 1 core per \
         1,000-3,000 IOPS or 200-500 MB/s, before replication",
    ));
    rules.push(Rule::new(
        Source::Wiki,
        "all",
        "C-states off and the governor `performance` give 2-3 times the IOPS at depth 1 (`flushmark \
         host` checks both)",
    ));
    Advice { subject: "CPU", take: format!("{range} per OSD{host}"), rules }
}

/// Sequential throughput of a drive, in MB/s: the outer tracks of a 7200 rpm disk, and SATA.
const DRIVE_MB_PER_S: [(Medium, f64); 2] = [(Medium::Hdd, 250.0), (Medium::Ssd, 550.0)];
/// Network rates that are sold, in Gb/s.
const RATES_GBIT_PER_S: [f64; 6] = [10.0, 25.0, 40.0, 50.0, 100.0, 200.0];

pub(super) fn network(plan: &Plan) -> Advice {
    let drive_mb_per_s = DRIVE_MB_PER_S
        .iter()
        .find(|(medium, _)| *medium == plan.medium)
        .map_or(0.0, |(_, mb_per_s)| *mb_per_s);
    let least = match plan.medium {
        Medium::Hdd => 10.0,
        Medium::Ssd => 25.0,
    };
    let drives = plan.osds_per_host().map(|osds| f64::from(osds) * drive_mb_per_s * 8.0 / 1000.0);
    let rate = drives.map_or(least, |drives| {
        let enough = RATES_GBIT_PER_S.into_iter().find(|&rate| rate >= drives.max(least));
        enough.unwrap_or(RATES_GBIT_PER_S[RATES_GBIT_PER_S.len() - 1])
    });
    let mut rules = vec![
        Rule::new(Source::Hardware, "all", "At least 10 Gb/s between hosts"),
        Rule::new(
            Source::Proxmox,
            "current manual",
            "10 Gb/s or more for Ceph alone, 25 Gb/s or more with NVMe",
        ),
    ];
    if let (Some(osds), Some(drives)) = (plan.osds_per_host(), drives) {
        rules.push(Rule::new(
            Source::Hardware,
            "all",
            format!(
                "The drives of a host should not exceed its network: {osds} x {} MB/s ({}) = {} Gb/s",
                number(drive_mb_per_s),
                match plan.medium {
                    Medium::Hdd => "a disk's outer tracks",
                    Medium::Ssd => "SATA",
                },
                number(drives)
            ),
        ));
    }
    let hours = plan.data.0 as f64 * 8.0 / (rate * 1e9) / 3600.0;
    rules.push(Rule::new(
        Source::Arithmetic,
        "all",
        format!(
            "Refilling a lost OSD of {} takes {} h at the full {} Gb/s of one host",
            plan.data,
            number(hours),
            number(rate)
        ),
    ));
    rules.push(Rule::new(
        Source::Wiki,
        "all",
        "A round trip of 30-50 µs is good; each 100 µs cost 10-15 % of a write of 0.7 ms",
    ));
    Advice { subject: "network", take: format!("{} Gb/s per host", number(rate)), rules }
}

/// `bluestore_min_alloc_size`, in KiB.
pub fn allocation_unit_kib(version: Version, medium: Medium) -> u32 {
    match medium {
        Medium::Hdd if version.release() >= Release::Pacific => 4,
        Medium::Hdd => 64,
        Medium::Ssd if version.is_at_least(14, 2, 8) => 4,
        Medium::Ssd => 16,
    }
}

pub(super) fn allocation(plan: &Plan) -> Advice {
    let unit = allocation_unit_kib(plan.version, plan.medium);
    let mut rules = vec![match plan.medium {
        Medium::Hdd => Rule::new(
            Source::Bluestore,
            "all with BlueStore",
            "HDD: 64 KiB until Octopus, 4 KiB since Pacific. It is fixed when the OSD is created",
        ),
        Medium::Ssd => Rule::new(
            Source::Nautilus14_2_8,
            "14.2.8 and later",
            "SSD: 16 KiB until 14.2.7, 4 KiB since (Ceph's BlueStore page says Octopus). It is fixed \
             when the OSD is created",
        ),
    }];
    if plan.medium == Medium::Ssd && plan.version.release() >= Release::Quincy {
        rules.push(Rule::new(
            Source::Bluestore,
            "Quincy and later",
            "QLC drives with large internal pages may need 8-64 KiB: \
             bluestore_use_optimal_io_size_for_min_alloc_size",
        ));
    }
    Advice { subject: "min_alloc_size", take: format!("{unit} KiB (default)"), rules }
}

/// `osd_op_num_shards` and `osd_op_num_threads_per_shard`.
pub fn shards(version: Version, medium: Medium) -> (u32, u32) {
    match medium {
        Medium::Hdd if has_one_shard(version) => (1, 5),
        Medium::Hdd => (5, 1),
        Medium::Ssd => (8, 2),
    }
}

fn has_one_shard(version: Version) -> bool {
    match version.release() {
        Release::Reef => version.is_at_least(18, 2, 5),
        _ => version.is_at_least(19, 2, 1),
    }
}

pub(super) fn op_shards(plan: &Plan) -> Advice {
    let (shards, threads) = shards(plan.version, plan.medium);
    let mut rules = vec![Rule::new(
        Source::Shards,
        "Luminous and later",
        "By default 5 shards of 1 thread for HDD, 8 of 2 for SSD",
    )];
    if plan.medium == Medium::Hdd {
        rules.push(Rule::new(
            Source::Squid19_2_1,
            "19.2.1 and later; 18.2.5 and later in Reef (ceph#59972)",
            "HDD: 1 shard of 5 threads, because mClock schedules better with one queue",
        ));
    }
    rules.push(Rule::new(
        Source::Wiki,
        "Luminous to Nautilus",
        "The defaults are right: 1 thread x 5 shards for HDD, 2 x 8 for SSD",
    ));
    Advice {
        subject: "op shards",
        take: format!(
            "{shards} x {threads} thread{} (default)",
            if threads == 1 { "" } else { "s" }
        ),
        rules,
    }
}

/// Drives that may share a DB device.
pub(super) fn sharing(plan: &Plan) -> Option<Advice> {
    (plan.medium == Medium::Hdd).then(|| Advice {
        subject: "DB devices",
        take: "4-5 OSDs per SATA SSD, up to 10 per NVMe SSD".to_owned(),
        rules: vec![
            Rule::new(
                Source::Hardware,
                "all; current editions of the page say up to 15 per NVMe SSD",
                "4-5 HDD OSDs per SATA SSD, no more than 10 per NVMe SSD",
            ),
            Rule::new(
                Source::Proxmox,
                "current manual",
                "If the flash device is slower than its disks together, it becomes their \
                 bottleneck",
            ),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::super::capacity::Capacity;
    use super::super::tests::plan;
    use super::*;

    #[test]
    fn defaults_by_release() {
        let unit = |text: &str, medium| allocation_unit_kib(text.parse().unwrap(), medium);
        let units = ["mimic", "14.2.7", "14.2.8", "octopus", "pacific", "30"]
            .map(|release| (unit(release, Medium::Hdd), unit(release, Medium::Ssd)));
        assert_eq!(units, [(64, 16), (64, 16), (64, 4), (64, 4), (4, 4), (4, 4)]);
        let of = |text: &str, medium| shards(text.parse().unwrap(), medium);
        assert_eq!(of("18.2.4", Medium::Hdd), (5, 1));
        assert_eq!(of("18.2.5", Medium::Hdd), (1, 5));
        assert_eq!(of("19.2.0", Medium::Hdd), (5, 1));
        assert_eq!(of("19.2.1", Medium::Hdd), (1, 5));
        assert_eq!(of("squid", Medium::Ssd), (8, 2));
    }

    #[test]
    fn memory_by_rule() {
        let gb = |release: &str, tb: u64| {
            let data = Capacity(tb * 1_000_000_000_000);
            memory_per_osd(&Plan { version: release.parse().unwrap(), data, ..plan() })
                / 1_000_000_000
        };
        assert_eq!(
            [gb("mimic", 1), gb("mimic", 16), gb("squid", 1), gb("squid", 16)],
            [2, 16, 8, 8]
        );
    }

    #[test]
    fn a_host_s_network_carries_its_drives() {
        let take = |hosts, medium| network(&Plan { medium, hosts, ..plan() }).take;
        assert_eq!(take(None, Medium::Hdd), "10 Gb/s per host");
        // 6 x 250 MB/s = 12 Gb/s.
        assert_eq!(take(Some(4), Medium::Hdd), "25 Gb/s per host");
        assert_eq!(take(Some(4), Medium::Ssd), "40 Gb/s per host");
        assert_eq!(take(Some(1), Medium::Ssd), "200 Gb/s per host");
    }
}
