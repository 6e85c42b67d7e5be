//! The size of `block.db` on a separate flash device.

use schemars::JsonSchema;
use serde::Serialize;
use workload::number::{about_bytes, capacity};

use super::capacity::Capacity;
use super::levels::{self, Levels, UsefulSize};
use super::plan::{Plan, Workload};
use super::source::{Rule, Source};
use crate::release::{Release, Version};

/// What `block.db` should be, and what becomes of a size that the user has in mind.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BlockDb {
    /// The range of the rule, in percent of the data device; without an upper end for `rgw`.
    pub percent_min: f64,
    pub percent_max: Option<f64>,
    /// Recommended size per OSD, in bytes.
    pub bytes: u64,
    /// The recommended size in percent of the data device.
    pub percent: f64,
    /// OSDs that share a flash device.
    pub osds_per_device: Option<u32>,
    /// Flash that these OSDs need together, in bytes.
    pub bytes_per_device: Option<u64>,
    /// The size under examination.
    pub given: Option<GivenSize>,
    /// The rules behind the recommendation; the first one decides.
    pub rules: Vec<Rule>,
}

/// A size that the user stated, or that follows from the flash device.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GivenSize {
    pub bytes: u64,
    pub percent: f64,
    /// Bytes that never hold metadata; `null` for OSDs with sharded metadata, which use the whole
    /// device.
    pub wasted_bytes: Option<u64>,
    /// Consequences of this size, in sentences.
    pub notes: Vec<String>,
}

/// The percentages of the rule: from, to, and the one to take.
const fn percent(workload: Workload) -> (f64, Option<f64>, f64) {
    match workload {
        Workload::Rbd => (1.0, Some(2.0), 2.0),
        Workload::Rgw => (4.0, None, 4.0),
        Workload::Mixed => (1.0, Some(4.0), 4.0),
    }
}

/// The recommended size in bytes. Where RocksDB uses only certain sizes, the largest of them within
/// the rule.
pub fn recommended(version: Version, data: Capacity, workload: Workload) -> u64 {
    let (_, _, take) = percent(workload);
    let bytes = (data.0 as f64 * take / 100.0) as u64;
    if levels::uses_extra(version) {
        return bytes;
    }
    let useful = Levels::of(version).useful_sizes();
    // One level alone is smaller than any useful partition: the wiki's table begins with two.
    let smallest =
        useful.iter().find(|size| size.levels == FIRST_LEVELS).map_or(0, |size| size.bytes);
    Levels::of(version).useful_part(bytes).map_or(smallest, |size| size.bytes.max(smallest))
}

/// Levels of the smallest size in the wiki's table, and of the largest.
const FIRST_LEVELS: u32 = 2;
const LAST_LEVELS: u32 = 4;

pub(super) fn size(plan: &Plan) -> BlockDb {
    let (percent_min, percent_max, _) = percent(plan.workload);
    let bytes = recommended(plan.version, plan.data, plan.workload);
    let osds = plan.osds_per_db_device.or_else(|| {
        let fits = plan.db_device?.0 / plan.db.map_or(bytes, |db| db.0).max(1);
        Some(u32::try_from(fits).unwrap_or(u32::MAX).clamp(1, plan.osds))
    });
    let share = plan.db_device.zip(osds).map(|(device, osds)| Capacity(device.0 / u64::from(osds)));
    let given = plan.db.or(share).map(|given| examine(plan, given, bytes));
    BlockDb {
        percent_min,
        percent_max,
        bytes,
        percent: of_data(plan, bytes),
        osds_per_device: osds,
        bytes_per_device: osds.map(|osds| bytes.saturating_mul(u64::from(osds))),
        given,
        rules: rules(plan),
    }
}

fn of_data(plan: &Plan, bytes: u64) -> f64 {
    bytes as f64 / plan.data.0 as f64 * 100.0
}

fn rules(plan: &Plan) -> Vec<Rule> {
    let all = "all with BlueStore";
    let mut rules = vec![match plan.workload {
        Workload::Rbd => Rule::new(
            Source::Bluestore,
            all,
            "As large as possible; for RBD usually no more than 1-2 % of the data device",
        ),
        Workload::Rgw => Rule::new(
            Source::Bluestore,
            all,
            "As large as possible; for RGW at least 4 % of the data device (omap keys)",
        ),
        Workload::Mixed => Rule::new(
            Source::Bluestore,
            all,
            "As large as possible; generally 1-4 % of the data device",
        ),
    }];
    rules.push(Rule::new(
        Source::Ibm,
        all,
        "4 % for object, file and mixed workloads, 1 % for block devices",
    ));
    rules.push(Rule::new(Source::Wiki, "Luminous to 14.2.11 and 15.2.5", table_of_useful_sizes()));
    if levels::uses_extra(plan.version) {
        rules.push(Rule::new(
            Source::Bluestore,
            "14.2.12, 15.2.6 and later",
            "The sizes of that table no longer matter: BlueStore makes use of a DB device of any \
             size",
        ));
        rules.push(selector_rule(plan.version));
    } else {
        let (_, _, take) = percent(plan.workload);
        rules.push(Rule::new(
            Source::Arithmetic,
            "Luminous to 14.2.11 and 15.2.5",
            format!(
                "{take} % would be {}; {} is the size of that table to take",
                capacity((plan.data.0 as f64 * take / 100.0) as u64),
                capacity(recommended(plan.version, plan.data, plan.workload))
            ),
        ));
        rules.push(Rule::new(
            Source::Bluestore,
            "Luminous to 14.2.11 and 15.2.5",
            "Useful are roughly 3, 30 and 300 GB; twice as much helps compaction, and L3 and above \
             rarely help. A larger device pays off after an upgrade to 14.2.12 or 15.2.6",
        ));
    }
    if levels::shards_metadata(plan.version) {
        rules.push(Rule::new(
            Source::Bluestore,
            "Pacific and later, OSDs created there",
            "Metadata is divided into column families, each with its own levels. OSDs created \
             earlier need `ceph-bluestore-tool reshard`",
        ));
    }
    if plan.version.release() >= Release::Reef {
        rules.push(Rule::new(
            Source::RocksdbTuning,
            "Reef and later; doubt: 19.2.1 prints it, for Reef it is inferred from the pull request",
            "RocksDB's level 1 is 1 GiB and the multiplier 8 (before: 256 MiB and 10)",
        ));
    }
    if plan.version.release() >= Release::Squid {
        rules.push(Rule::new(
            Source::Squid19_2_0,
            "Squid and later",
            "RocksDB compresses with LZ4 by default; the pull request (ceph#53343) reports a DB 2.2 \
             to 4 times smaller with RGW",
        ));
    }
    rules
}

/// The wiki's table, from base and multiplier.
fn table_of_useful_sizes() -> String {
    let levels = Levels::UNTIL_QUINCY;
    let mib = |bytes: u64| bytes >> 20;
    let sizes: Vec<String> = levels
        .useful_sizes()
        .into_iter()
        .filter(|size| (FIRST_LEVELS..=LAST_LEVELS).contains(&size.levels))
        .map(|size| format!("{} MiB ({})", mib(size.bytes), capacity(size.bytes)))
        .collect();
    let rounded: Vec<String> = levels
        .useful_sizes()
        .iter()
        .filter(|size| (FIRST_LEVELS..=LAST_LEVELS).contains(&size.levels))
        .map(|size| mib(size.bytes).div_ceil(1000).to_string())
        .collect();
    format!(
        "RocksDB puts a level on flash only if it fits completely. With a log of {} MiB, a level 1 \
         of {} MiB and a multiplier of {}, only {} are used (the wiki's {} GB are thousands of MiB)",
        mib(levels.wal),
        mib(levels.base),
        levels.multiplier,
        sizes.join(", "),
        rounded.join("/")
    )
}

fn selector_rule(version: Version) -> Rule {
    let levels = Levels::of(version);
    let thresholds: Vec<String> = levels
        .thresholds()
        .into_iter()
        .take(3)
        .map(|threshold| workload::number::number(threshold as f64 / f64::from(1 << 30)))
        .collect();
    Rule::new(
        Source::Selector,
        "14.2.12, 15.2.6 and later (use_some_extra)",
        format!(
            "Levels that do not fit may use what is left of the DB (95 % of the device) above \
             1 GiB + L1 + ... + L(n-1) + 2 x L(n), that is above {} GiB",
            thresholds.join(", ")
        ),
    )
}

fn examine(plan: &Plan, given: Capacity, recommended: u64) -> GivenSize {
    let levels = Levels::of(plan.version);
    let mut notes = Vec::new();
    if given.0 < 1 << 30 {
        notes.push(
            "This is less than 1 GiB: use it for the log (block.wal) instead of a DB.".to_owned(),
        );
    }
    if given.0 < recommended {
        notes.push(format!(
            "It is smaller than recommended ({}): metadata may spill over to the data device \
             (BLUEFS_SPILLOVER).",
            capacity(recommended)
        ));
    }
    let wasted_bytes = if !levels::uses_extra(plan.version) {
        let useful = levels.useful_part(given.0);
        notes.push(match useful {
            Some(UsefulSize { levels, bytes }) => format!(
                "RocksDB uses {} of it (the log and {levels} level{}); {} are wasted ({:.0} %).",
                capacity(bytes),
                if levels == 1 { "" } else { "s" },
                capacity(given.0 - bytes),
                (given.0 - bytes) as f64 / given.0 as f64 * 100.0
            ),
            None => "Not even level 1 fits: it holds only the log.".to_owned(),
        });
        Some(given.0 - useful.map_or(0, |useful| useful.bytes))
    } else {
        let offered = levels::offered(given.0);
        let holds = levels.holds(offered);
        let sharded = levels::shards_metadata(plan.version);
        if sharded {
            notes.push(format!(
                "New OSDs fill it completely: {} for RocksDB (95 %).",
                about_bytes(offered)
            ));
        }
        notes.push(format!(
            "{}RocksDB keeps up to {} of metadata on it ({} lent to levels that do not fit).",
            if sharded { "Without sharding, as on OSDs from before Pacific, " } else { "" },
            about_bytes(holds),
            about_bytes(levels.extra(offered)),
        ));
        if let Some(dip) = levels.dip(given.0) {
            notes.push(format!(
                "A DB of {} would hold {} without sharding: more than this one, because above that \
                 size BlueStore reserves space to compact another level. From {} it holds as much \
                 again. Doubt: inferred from BlueStore.h and not tested; \
                 bluestore_volume_selection_reserved overrides the reserve.",
                about_bytes(dip.after),
                about_bytes(dip.holds_before),
                about_bytes(dip.until),
            ));
        }
        (!sharded).then_some(offered - holds)
    };
    GivenSize { bytes: given.0, percent: of_data(plan, given.0), wasted_bytes, notes }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::plan;
    use super::*;

    const TB: u64 = 1_000_000_000_000;

    fn bytes(release: &str, tb: u64, workload: Workload) -> u64 {
        recommended(release.parse().unwrap(), Capacity(tb * TB), workload)
    }

    #[test]
    fn one_to_four_percent() {
        assert_eq!(bytes("squid", 1, Workload::Rgw), 40_000_000_000, "the documentation's example");
        assert_eq!(bytes("squid", 16, Workload::Rbd), 320_000_000_000);
        assert_eq!(bytes("squid", 16, Workload::Mixed), 640_000_000_000);
    }

    #[test]
    fn old_releases_get_a_size_of_the_table() {
        let shown = |release, tb, workload| capacity(bytes(release, tb, workload));
        assert_eq!(shown("14.2.11", 16, Workload::Rbd), "299 GB");
        assert_eq!(shown("15.2.5", 4, Workload::Rbd), "30.9 GB");
        assert_eq!(shown("mimic", 16, Workload::Rgw), "299 GB");
        assert_eq!(shown("luminous", 0, Workload::Rbd), "4.03 GB", "the smallest of the table");
    }

    fn notes(release: &str, db: &str) -> String {
        let db = Some(db.parse().unwrap());
        let plan = Plan { version: release.parse().unwrap(), db, ..plan() };
        let given = size(&plan).given.unwrap();
        format!("{:?} bytes wasted. {}", given.wasted_bytes, given.notes.join(" "))
    }

    #[test]
    fn a_size_in_mind() {
        insta::assert_snapshot!(notes("14.2.11", "60GB"), @"Some(29129922560) bytes wasted. It is smaller than recommended (299 GB): metadata may spill over to the data device (BLUEFS_SPILLOVER). RocksDB uses 30.9 GB of it (the log and 3 levels); 29.1 GB are wasted (49 %).");
        insta::assert_snapshot!(notes("14.2.12", "60GiB"), @"Some(27648851968) bytes wasted. It is smaller than recommended (320 GB): metadata may spill over to the data device (BLUEFS_SPILLOVER). RocksDB keeps up to 31.2 GiB of metadata on it (3.25 GiB lent to levels that do not fit). A DB of 56.6 GiB would hold 53.8 GiB without sharding: more than this one, because above that size BlueStore reserves space to compact another level. From 83.7 GiB it holds as much again. Doubt: inferred from BlueStore.h and not tested; bluestore_volume_selection_reserved overrides the reserve.");
        insta::assert_snapshot!(notes("squid", "168GiB"), @"None bytes wasted. It is smaller than recommended (320 GB): metadata may spill over to the data device (BLUEFS_SPILLOVER). New OSDs fill it completely: 160 GiB for RocksDB (95 %). Without sharding, as on OSDs from before Pacific, RocksDB keeps up to 95.6 GiB of metadata on it (21.6 GiB lent to levels that do not fit). A DB of 145 GiB would hold 138 GiB without sharding: more than this one, because above that size BlueStore reserves space to compact another level. From 213 GiB it holds as much again. Doubt: inferred from BlueStore.h and not tested; bluestore_volume_selection_reserved overrides the reserve.");
        insta::assert_snapshot!(notes("squid", "400GB"), @"None bytes wasted. New OSDs fill it completely: 354 GiB for RocksDB (95 %). Without sharding, as on OSDs from before Pacific, RocksDB keeps up to 290 GiB of metadata on it (216 GiB lent to levels that do not fit).");
        insta::assert_snapshot!(notes("mimic", "512MiB"), @"Some(536870912) bytes wasted. This is less than 1 GiB: use it for the log (block.wal) instead of a DB. It is smaller than recommended (299 GB): metadata may spill over to the data device (BLUEFS_SPILLOVER). Not even level 1 fits: it holds only the log.");
    }

    #[test]
    fn a_device_is_shared() {
        let device = Some(Capacity(1_920_000_000_000));
        let shared = |osds_per_db_device| {
            let db = size(&Plan { db_device: device, osds_per_db_device, ..plan() });
            (db.osds_per_device, db.bytes_per_device, db.given.map(|given| given.bytes))
        };
        // 320 GB each.
        assert_eq!(shared(None), (Some(6), Some(1_920_000_000_000), Some(320_000_000_000)));
        assert_eq!(shared(Some(12)), (Some(12), Some(3_840_000_000_000), Some(160_000_000_000)));
    }

    proptest! {
        #[test]
        fn a_larger_osd_never_gets_less(
            one in 1..Capacity::MAX.0,
            other in 1..Capacity::MAX.0,
            release in proptest::sample::select(vec!["luminous", "15.2.5", "15.2.6", "reef", "25"]),
        ) {
            let version = release.parse().unwrap();
            for workload in [Workload::Rbd, Workload::Rgw, Workload::Mixed] {
                let of = |bytes| recommended(version, Capacity(bytes), workload);
                prop_assert!(of(one.min(other)) <= of(one.max(other)));
            }
        }

        #[test]
        fn any_size_can_be_examined(
            data in 1..Capacity::MAX.0,
            db in 1..Capacity::MAX.0,
            osds in 1_u32..1000,
            release in proptest::sample::select(vec!["luminous", "15.2.5", "15.2.6", "reef", "25"]),
        ) {
            let plan = Plan {
                data: Capacity(data),
                db: Some(Capacity(db)),
                db_device: Some(Capacity(db)),
                osds_per_db_device: Some(osds),
                version: release.parse().unwrap(),
                ..plan()
            };
            let db = size(&plan);
            prop_assert!(db.given.is_some_and(|given| given.wasted_bytes <= Some(given.bytes)));
        }
    }
}
