//! The latency and the rate of 4 KiB writes that a layout can be expected to reach.
//!
//! `latency = S + k·F + RTT·(1 + (size > 1))`: S is what Ceph's software takes, F a commit of the
//! drive that holds the write-ahead log, k how many of them a write waits for one after the other.
//! The client's round trip is one, and one more goes to the replicas, which commit at the same time.

use schemars::JsonSchema;
use serde::Serialize;

use super::hosts::allocation_unit_kib;
use super::plan::{Plan, PlanError, Redundancy, check_time};
use super::source::{Rule, Source};
use crate::medium::Medium;
use crate::release::{Release, Version};

/// The devices that hold data, metadata and log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Data and metadata on a disk.
    HddOnly,
    /// Data on a disk, `block.db` and the log on flash.
    HddWithFlashDb,
    AllFlash,
}

impl Layout {
    pub const fn name(self) -> &'static str {
        match self {
            Layout::HddOnly => "HDD only",
            Layout::HddWithFlashDb => "HDD + flash DB",
            Layout::AllFlash => "all flash",
        }
    }

    /// The layouts that a plan can choose from.
    pub const fn of(medium: Medium) -> &'static [Layout] {
        match medium {
            Medium::Hdd => &[Layout::HddOnly, Layout::HddWithFlashDb],
            Medium::Ssd => &[Layout::AllFlash],
        }
    }
}

/// The origin of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Stated by the user.
    Given,
    /// A 4 KiB write + fdatasync on a model, in virtual time.
    Modelled,
    /// Published, not measured by flushmark.
    Sources,
    /// Fitted to a cluster that flushmark measured.
    Fitted,
}

impl Basis {
    pub const fn name(self) -> &'static str {
        match self {
            Basis::Given => "given",
            Basis::Modelled => "modelled",
            Basis::Sources => "from sources",
            Basis::Fitted => "fitted",
        }
    }
}

/// The cost of a write, in software and in commits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// The first series that it holds for; it ends where the next one begins.
    pub since: Release,
    /// Lowest and highest S.
    pub software_us: (f64, f64),
    /// Commits of the log per write: its data, and BlueFS's own log where the file grew.
    pub log_commits: f64,
    /// Commits of the data on flash, which are written to their place before the log.
    pub data_commits: f64,
    pub origin: Origin,
}

/// The origin of a cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Origin {
    Sources,
    /// `cargo xtask fit ceph`, on this version. The error is the standard deviation of the
    /// measurements from the prediction.
    Fitted {
        version: &'static str,
        error_percent: f64,
    },
}

impl Origin {
    pub const fn basis(self) -> Basis {
        match self {
            Origin::Sources => Basis::Sources,
            Origin::Fitted { .. } => Basis::Fitted,
        }
    }
}

/// As the sources have it. The wiki counts 0.4 ms for Ceph and 0.3 ms for BlueStore on fast NVMe,
/// together 0.7 ms. Those contain some commits; 0.5 ms is inferred as the part without them. Two
/// commits of the log are the wiki's as well (tracker 38559).
const PUBLISHED: Cost = Cost {
    since: Release::Luminous,
    software_us: (500.0, 700.0),
    log_commits: 2.0,
    data_commits: 1.0,
    origin: Origin::Sources,
};

/// S and k by series, oldest first.
pub const COSTS: [Cost; 4] = [
    PUBLISHED,
    // S ± two standard errors (344 ± 6), k 2.01 ± 0.03 and 1.01 ± 0.04. What copies cost there
    // (327 ± 14 µs) is left out: all OSDs shared two processors, which those of a cluster do not.
    Cost {
        since: Release::Pacific,
        software_us: (332.0, 357.0),
        log_commits: 2.0,
        data_commits: 1.0,
        origin: Origin::Fitted { version: "16.2.15", error_percent: 3.0 },
    },
    Cost { since: Release::Quincy, ..PUBLISHED },
    // `bluefs_wal_envelope_mode`: a log that grows no longer writes BlueFS's own log as well.
    Cost { since: Release::Tentacle, log_commits: 1.0, ..PUBLISHED },
];

impl Cost {
    pub fn of(version: Version) -> Cost {
        let holds = |cost: &&Cost| cost.since <= version.release();
        *COSTS.iter().rev().find(holds).unwrap_or(&COSTS[0])
    }

    pub const fn software(&self) -> Span {
        Span::new(self.software_us.0, self.software_us.1)
    }
}

/// A drive that could hold the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub layout: Layout,
    pub drive: String,
    /// A 4 KiB write together with its flush.
    pub commit_us: f64,
    pub basis: Basis,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Span {
    pub low: f64,
    pub high: f64,
}

impl Span {
    pub const fn new(low: f64, high: f64) -> Span {
        Span { low, high }
    }

    fn map(self, change: impl Fn(f64) -> f64) -> Span {
        let (one, other) = (change(self.low), change(self.high));
        Span { low: one.min(other), high: one.max(other) }
    }

    /// Half of the width in percent of the middle.
    pub fn error_percent(self) -> f64 {
        (self.high - self.low) / (self.high + self.low) * 100.0
    }
}

/// The latency and rate to expect of a layout with a drive.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Prediction {
    pub layout: Layout,
    /// The drive that holds the log.
    pub drive: String,
    /// A commit of that drive (F), in microseconds.
    pub commit_us: f64,
    pub commit_basis: Basis,
    /// Commits that a write waits for (k); not a whole number if it was fitted.
    pub commits: f64,
    /// Latency of a 4 KiB overwrite, one at a time, in microseconds.
    pub latency_us: Span,
    /// How far off the latency is likely to be on machines like those that S comes from: the range
    /// of S, or the deviation of a fit from its measurements.
    pub error_percent: f64,
    /// Such writes per second of one client with one in flight.
    pub depth_1_per_s: Span,
    /// Writes per second of the whole cluster with many in flight; `null` if no source has a figure.
    pub total_per_s: Option<Span>,
    /// The rule behind the rate of one OSD in the total.
    pub total_rule: Option<Rule>,
}

/// Commits per second from which a drive counts as protected against power loss, in the sources.
const PROTECTED_COMMITS_PER_S: f64 = 10_000.0;
const SECOND_US: f64 = 1e6;
/// The writes that are predicted.
const WRITE_KIB: u32 = 4;

/// A write of less than an allocation unit of flash is deferred: it goes into the log, and to its
/// place later.
fn writes_in_place(version: Version) -> bool {
    allocation_unit_kib(version, Medium::Ssd) <= WRITE_KIB
}

pub(super) fn predict(plan: &Plan, candidate: &Candidate) -> Result<Prediction, PlanError> {
    check_time("commit", candidate.commit_us)?;
    let cost = Cost::of(plan.version);
    let data_first = candidate.layout == Layout::AllFlash && writes_in_place(plan.version);
    let commits = cost.log_commits + if data_first { cost.data_commits } else { 0.0 };
    let round_trips = if plan.redundancy.osds() > 1 { 2.0 } else { 1.0 };
    let fixed = commits * candidate.commit_us + plan.rtt_us * round_trips;
    let latency_us = cost.software().map(|s| s + fixed);
    let error_percent = match cost.origin {
        Origin::Sources => latency_us.error_percent(),
        Origin::Fitted { error_percent, .. } => error_percent,
    };
    let (per_osd, total_rule) = match per_osd(candidate) {
        Some((span, rule)) => (Some(span), Some(rule)),
        None => (None, None),
    };
    let copies = f64::from(plan.redundancy.osds());
    Ok(Prediction {
        layout: candidate.layout,
        drive: candidate.drive.clone(),
        commit_us: candidate.commit_us,
        commit_basis: candidate.basis,
        commits,
        latency_us,
        error_percent,
        depth_1_per_s: latency_us.map(|us| SECOND_US / us),
        total_per_s: per_osd.map(|span| span.map(|rate| rate * f64::from(plan.osds) / copies)),
        total_rule,
    })
}

/// Writes per second of one OSD with many in flight.
fn per_osd(candidate: &Candidate) -> Option<(Span, Rule)> {
    let drive_per_s = SECOND_US / candidate.commit_us.max(1.0);
    match candidate.layout {
        Layout::HddOnly => {
            let rule = "BlueStore reaches about 100 % of the disk's own rate";
            let rule = Rule::new(Source::Wiki, "Luminous to Nautilus measured", rule);
            Some((Span::new(drive_per_s, drive_per_s), rule))
        }
        Layout::HddWithFlashDb if drive_per_s >= PROTECTED_COMMITS_PER_S => {
            let rule =
                "100 to 300 writes/s per OSD, stable: 64 deferred writes go to the disk together";
            Some((
                Span::new(100.0, 300.0),
                Rule::new(Source::Wiki, "Luminous to Nautilus measured", rule),
            ))
        }
        Layout::AllFlash if drive_per_s >= PROTECTED_COMMITS_PER_S => {
            let rule = "10,000 to 20,000 writes/s per OSD at depth 128, with power-loss protection";
            Some((
                Span::new(10_000.0, 20_000.0),
                Rule::new(Source::Wiki, "Luminous to Nautilus measured", rule),
            ))
        }
        Layout::HddWithFlashDb | Layout::AllFlash => None,
    }
}

/// The rules behind S and k, and what they leave out.
pub(super) fn latency_rules(plan: &Plan) -> Vec<Rule> {
    let cost = Cost::of(plan.version);
    let data_first = plan.medium == Medium::Ssd && writes_in_place(plan.version);
    let mut rules = match cost.origin {
        Origin::Sources => published_rules(&cost, data_first),
        Origin::Fitted { version, .. } => fitted_rules(&cost, version, data_first),
    };
    if let Redundancy::ErasureCoded { .. } = plan.redundancy {
        rules.push(Rule::new(
            Source::ErasureCode,
            "Luminous and later",
            "Not counted: with an erasure code, an overwrite smaller than a stripe first reads the \
             rest of the stripe from other OSDs; add at least a read and a round trip",
        ));
    }
    rules
}

const PUBLISHED_SOFTWARE: &str = "0.4 ms for Ceph and 0.3 ms for BlueStore on fast NVMe. That \
                                  contains some commits; 0.5 ms without them is inferred";

fn published_rules(cost: &Cost, data_first: bool) -> Vec<Rule> {
    let measured = "Luminous to Nautilus measured";
    let mut rules = vec![
        Rule::new(Source::Wiki, measured, format!("S: {PUBLISHED_SOFTWARE}")),
        if cost.since >= Release::Tentacle {
            Rule::new(
                Source::Tentacle20_2_0,
                "Tentacle and later (bluefs_wal_envelope_mode)",
                "k: one commit of the log; its growth no longer needs a second one",
            )
        } else {
            Rule::new(
                Source::Wiki,
                "Luminous to Squid",
                "k: two commits, of the log and of BlueFS's own log (tracker 38559)",
            )
        },
    ];
    if data_first {
        rules.push(Rule::new(
            Source::Nautilus14_2_8,
            "14.2.8 and later; doubt: inferred from the allocation unit and \
             bluestore_prefer_deferred_size_ssd = 0",
            "k: one more on flash, where data are written and flushed before the log",
        ));
    }
    rules
}

fn fitted_rules(cost: &Cost, version: &str, data_first: bool) -> Vec<Rule> {
    let measured = "Pacific; 16.2.15 measured";
    let (low, high) = cost.software_us;
    let mut rules = vec![
        Rule::new(
            Source::Fit,
            measured,
            format!(
                "S: {low:.0}-{high:.0} µs, fitted to {version} with one copy. One host with 2 \
                 processors ran all daemons, their emulated drives and the client. Copies took \
                 0.33 ms more there, because they shared those processors; that is left out. S \
                 depends on the processor: measure yours with `flushmark ceph osds`"
            ),
        ),
        Rule::new(
            Source::Wiki,
            "Luminous to Nautilus measured",
            format!("S elsewhere, not used here: {PUBLISHED_SOFTWARE}"),
        ),
        Rule::new(
            Source::Fit,
            measured,
            format!(
                "k: {} commits of the log of an OSD that is new; the wiki counts {}",
                cost.log_commits, PUBLISHED.log_commits
            ),
        ),
    ];
    if data_first {
        rules.push(Rule::new(
            Source::Fit,
            measured,
            format!(
                "k: {} more on flash, where data are written and flushed before the log; {} is \
                 inferred from the notes of 14.2.8",
                cost.data_commits, PUBLISHED.data_commits
            ),
        ));
    }
    rules
}

/// Published figures to compare with.
pub(super) fn references(plan: &Plan, disk_commit_us: Option<f64>) -> Vec<Rule> {
    let measured = "Luminous to Nautilus measured";
    let filestore = "Luminous to Quincy; not supported since Reef";
    let wiki = |releases, says: String| Rule::new(Source::Wiki, releases, says);
    let has_filestore = plan.version.release() < Release::Reef;
    let mut rules = Vec::new();
    match plan.medium {
        Medium::Hdd => {
            rules.push(wiki(
                measured,
                "A 4 KiB write to a disk is deferred: it waits for the log, not for the data, until \
                 about 64 wait on one OSD. Sustained, no client gets more than the parallel rate"
                    .to_owned(),
            ));
            let share = |percent: f64| {
                disk_commit_us.map_or(String::new(), |us| {
                    let rate = SECOND_US / us.max(1.0) * percent / 100.0;
                    format!(" ({} writes/s)", workload::number::number(rate))
                })
            };
            rules.push(wiki(
                measured,
                format!(
                    "HDD only, BlueStore: 33 % of the disk's rate{} with one writer, 66 %{} with \
                     bluefs_preextend_wal_files (ceph#26909), about 100 %{} in parallel",
                    share(33.0),
                    share(66.0),
                    share(100.0)
                ),
            ));
            rules.push(wiki(
                "Mimic",
                "One OSD with block.db on flash: 135-273 writes/s with the disk's write cache on, \
                 185-386 with it off; 75-80 without flash"
                    .to_owned(),
            ));
            if has_filestore {
                rules.push(wiki(
                    filestore,
                    "HDD + SSD journal, Filestore: 1,000-2,000 writes/s until the journal is full, \
                     then the disk's rate"
                        .to_owned(),
                ));
            }
        }
        Medium::Ssd => {
            rules.push(wiki(
                measured,
                "Hard to beat at depth 1: 0.5 ms a read (2,000/s) and 1 ms a write (1,000/s); 0.7 \
                 ms (1,500/s) is the best seen"
                    .to_owned(),
            ));
            if has_filestore {
                rules.push(wiki(
                    filestore,
                    "Filestore on flash: latency about 0.1 ms lower than BlueStore's, throughput \
                     5-10 % lower, linear writes half as fast (it writes data twice)"
                        .to_owned(),
                ));
            }
        }
    }
    if plan.workload != super::plan::Workload::Rgw {
        rules.push(wiki(
            measured,
            "One RBD client reaches at most about 15,000 writes/s and 30,000 reads/s, however large \
             the cluster is"
                .to_owned(),
        ));
    }
    if let Redundancy::ErasureCoded { k, m } = plan.redundancy {
        rules.push(Rule::new(
            Source::Arithmetic,
            "all; Tentacle's FastEC writes fewer chunks",
            format!(
                "Erasure code {k}+{m}: the parallel rate counts a small overwrite as one write on each of \
                 {} OSDs. The reads before it are not counted, so it is an upper bound",
                k + m
            ),
        ));
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;

    fn candidate(layout: Layout, commit_us: f64) -> Candidate {
        Candidate { layout, drive: "any".to_owned(), commit_us, basis: Basis::Given }
    }

    fn with(release: &str, medium: Medium, size: u32) -> Plan {
        let redundancy = Redundancy::Replicated { size };
        Plan { version: release.parse().unwrap(), medium, redundancy, ..plan() }
    }

    /// S + k·F + RTT·(1 + (size > 1)), with S from 500 to 700 µs and a round trip of 50 µs.
    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn the_formula() {
        for (release, layout, size, commits) in [
            ("nautilus", Layout::HddOnly, 3, 2.0),
            ("nautilus", Layout::AllFlash, 3, 3.0),
            ("14.2.7", Layout::AllFlash, 3, 2.0),
            ("quincy", Layout::AllFlash, 3, 3.0),
            ("squid", Layout::HddWithFlashDb, 1, 2.0),
            ("tentacle", Layout::HddWithFlashDb, 1, 1.0),
            ("tentacle", Layout::AllFlash, 3, 2.0),
            ("30", Layout::AllFlash, 3, 2.0),
        ] {
            let plan = with(release, Medium::Ssd, size);
            let prediction = predict(&plan, &candidate(layout, 100.0)).unwrap();
            let fixed = commits * 100.0 + if size > 1 { 100.0 } else { 50.0 };
            assert!(near(prediction.commits, commits), "{release} {layout:?}");
            assert_eq!(prediction.latency_us, Span::new(500.0 + fixed, 700.0 + fixed));
            let per_s = Span::new(1e6 / (700.0 + fixed), 1e6 / (500.0 + fixed));
            assert_eq!(prediction.depth_1_per_s, per_s);
            assert!(near(prediction.error_percent, prediction.latency_us.error_percent()));
        }
    }

    #[test]
    fn a_fitted_release_has_its_own_error() {
        let cost = Cost::of("16.2.4".parse().unwrap());
        let Origin::Fitted { error_percent, .. } = cost.origin else { panic!("{cost:?}") };
        let plan = with("pacific", Medium::Ssd, 3);
        for (layout, commits) in [
            (Layout::HddWithFlashDb, cost.log_commits),
            (Layout::AllFlash, cost.log_commits + cost.data_commits),
        ] {
            let prediction = predict(&plan, &candidate(layout, 1000.0)).unwrap();
            let low = cost.software_us.0 + commits * 1000.0 + 100.0;
            assert!((prediction.latency_us.low - low).abs() < 1e-6, "{prediction:?}");
            assert!(near(prediction.error_percent, error_percent));
        }
        assert_eq!(Cost::of("quincy".parse().unwrap()).origin, Origin::Sources);
    }

    #[test]
    fn totals_divide_by_the_copies() {
        let plan = Plan { osds: 24, ..with("squid", Medium::Hdd, 3) };
        let total = |layout, us| predict(&plan, &candidate(layout, us)).unwrap().total_per_s;
        assert_eq!(total(Layout::HddOnly, 10_000.0), Some(Span::new(800.0, 800.0)));
        assert_eq!(total(Layout::HddWithFlashDb, 30.0), Some(Span::new(800.0, 2_400.0)));
        assert_eq!(total(Layout::AllFlash, 30.0), Some(Span::new(80_000.0, 160_000.0)));
        for layout in [Layout::HddWithFlashDb, Layout::AllFlash] {
            assert_eq!(total(layout, 1_500.0), None, "no source has a figure");
        }
    }

    #[test]
    fn a_commit_that_is_no_time() {
        let error = predict(&plan(), &candidate(Layout::AllFlash, -1.0)).unwrap_err();
        insta::assert_snapshot!(error, @"invalid commit -1 µs: expected a number from 0 to 10,000,000");
    }

    #[test]
    fn costs_are_in_order_and_cover_all_series() {
        assert!(COSTS.is_sorted_by_key(|cost| cost.since));
        assert_eq!(COSTS[0].since, Release::OLDEST);
    }

    proptest::proptest! {
        #[test]
        fn a_slower_drive_never_predicts_more(one in 1.0_f64..1e5, other in 1.0_f64..1e5) {
            let (fast, slow) = (one.min(other), one.max(other));
            for layout in [Layout::HddOnly, Layout::HddWithFlashDb, Layout::AllFlash] {
                let of = |us| predict(&plan(), &candidate(layout, us)).unwrap();
                proptest::prop_assert!(of(slow).latency_us.low >= of(fast).latency_us.low);
                let total = |us| of(us).total_per_s.map_or(0.0, |span| span.high);
                proptest::prop_assert!(total(slow) <= total(fast));
            }
        }
    }
}
