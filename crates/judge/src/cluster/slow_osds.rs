//! OSDs that are slower than their peers.

use std::collections::BTreeMap;

use ceph::latency::Cause;
use measurement::{Confidence, Evidence, Finding, OsdRecord, TestResult};
use workload::number::{latency, number};

use super::write_time::{MAJORITY, advice, foreign_transactions};
use crate::wording::rounded;

/// Fewer OSDs of a class say nothing about what is usual.
const PEERS_MIN: usize = 3;
/// The usual limit for outliers by the modified z-score (Iglewicz and Hoaglin, 1993).
const Z_MIN: f64 = 3.5;
/// A smaller difference is not worth a look, however well the others agree.
const RATIO_MIN: f64 = 1.5;
/// This many of its passes may be as fast as those of its peers: a moment's disturbance on either
/// side is neither its fault nor its merit.
const EXCEPTIONS_MAX: usize = 1;
/// The median absolute deviation of a normal distribution, as a share of its standard deviation.
const MAD_TO_SIGMA: f64 = 1.4826;
/// The deviation of OSDs that agree better than they can be measured, as a share of the median.
const SIGMA_MIN: f64 = 0.05;

/// An OSD among those of its device class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    pub osd: u32,
    /// The median latency of its writes.
    pub p50_us: f64,
    /// 1 is the fastest of its class.
    pub rank: usize,
    pub peers: usize,
    /// Latency as a multiple of the median of the class.
    pub ratio: f64,
    /// Distance from the median of the class in robust standard deviations; `None` with fewer than
    /// three OSDs.
    pub z: Option<f64>,
}

impl Standing {
    /// Returns whether half of its class is faster.
    pub fn is_median(&self) -> bool {
        self.rank == self.peers.div_ceil(2)
    }

    fn is_slow(&self) -> bool {
        self.ratio >= RATIO_MIN && self.z.is_some_and(|z| z >= Z_MIN)
    }
}

/// The rank of each OSD in its device class, by its writes at depth 1.
pub fn standings(results: &[TestResult]) -> Vec<Standing> {
    let mut classes: BTreeMap<Option<&str>, Vec<(u32, f64)>> = BTreeMap::new();
    for (osd, result) in writes(results) {
        if let Some(summary) = &result.commit_us {
            classes.entry(osd.class.as_deref()).or_default().push((osd.id, summary.p50));
        }
    }
    let mut standings: Vec<Standing> = classes.into_values().flat_map(of_class).collect();
    standings.sort_by_key(|standing| standing.osd);
    standings
}

pub(super) fn writes(results: &[TestResult]) -> impl Iterator<Item = (&OsdRecord, &TestResult)> {
    let at_depth_1 = |result: &&TestResult| result.workload.depth == 1 && result.write_us.is_some();
    results.iter().filter(at_depth_1).filter_map(|result| Some((result.osd.as_ref()?, result)))
}

fn of_class(mut osds: Vec<(u32, f64)>) -> Vec<Standing> {
    osds.sort_by(|a, b| a.1.total_cmp(&b.1));
    let sorted: Vec<f64> = osds.iter().map(|osd| osd.1).collect();
    let middle = median(&sorted);
    let mut deviations: Vec<f64> = sorted.iter().map(|us| (us - middle).abs()).collect();
    deviations.sort_by(f64::total_cmp);
    let sigma = (MAD_TO_SIGMA * median(&deviations)).max(SIGMA_MIN * middle);
    let peers = osds.len();
    let standing = |(index, (osd, p50_us)): (usize, (u32, f64))| Standing {
        osd,
        p50_us,
        rank: index + 1,
        peers,
        ratio: if middle > 0.0 { p50_us / middle } else { 1.0 },
        z: (peers >= PEERS_MIN && sigma > 0.0).then(|| (p50_us - middle) / sigma),
    };
    osds.into_iter().enumerate().map(standing).collect()
}

/// The median of sorted values; 0 without any.
fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

/// The OSDs that are slower than their peers, slowest first, each with what takes its time.
pub(super) fn slow_osds(results: &[TestResult]) -> Vec<Finding> {
    let mut slow: Vec<Standing> =
        standings(results).into_iter().filter(Standing::is_slow).collect();
    slow.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    slow.iter()
        .filter(|standing| is_slow_in_each_pass(standing.osd, results))
        .filter_map(|standing| finding(standing, results))
        .collect()
}

/// Returns whether it was slow in nearly every pass, compared with the same pass over its peers.
fn is_slow_in_each_pass(id: u32, results: &[TestResult]) -> bool {
    let Some((own, write)) = writes(results).find(|(osd, _)| osd.id == id) else { return false };
    let p50_us = |result: &TestResult, pass: usize| result.passes.get(pass)?.p50_us;
    let is_slow = |pass: usize| {
        let mut peers: Vec<f64> = writes(results)
            .filter(|(osd, _)| osd.class == own.class)
            .filter_map(|(_, result)| p50_us(result, pass))
            .collect();
        peers.sort_by(f64::total_cmp);
        p50_us(write, pass).is_some_and(|us| us >= RATIO_MIN * median(&peers))
    };
    let exceptions = (0..write.passes.len()).filter(|pass| !is_slow(*pass)).count();
    exceptions <= EXCEPTIONS_MAX
}

/// A cause on which an OSD spends more time than its peers do.
struct Excess {
    cause: Cause,
    us: f64,
    /// The fraction of the time that it takes longer.
    fraction: f64,
}

impl Excess {
    /// The largest one. The largest share of an OSD's own time need not be it: on healthy OSDs,
    /// too, something takes most of the time.
    fn of(own: &OsdRecord, results: &[TestResult]) -> Option<Excess> {
        let share = |osd: &OsdRecord, cause| {
            let shares = osd.write_time.as_ref()?.shares();
            Some(shares.into_iter().find(|share| share.cause == cause).map_or(0.0, |one| one.us))
        };
        let peers: Vec<&OsdRecord> = writes(results)
            .map(|(osd, _)| osd)
            .filter(|osd| osd.class == own.class && osd.id != own.id)
            .collect();
        let excess = |cause| {
            let mut usual: Vec<f64> = peers.iter().filter_map(|osd| share(osd, cause)).collect();
            if usual.is_empty() {
                return None;
            }
            usual.sort_by(f64::total_cmp);
            Some((cause, (share(own, cause)? - median(&usual)).max(0.0)))
        };
        let all: Vec<(Cause, f64)> = Cause::ALL.into_iter().filter_map(excess).collect();
        let total: f64 = all.iter().map(|(_, us)| us).sum();
        let (cause, us) = all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (us > 0.0).then(|| Excess { cause, us, fraction: us / total })
    }
}

fn finding(standing: &Standing, results: &[TestResult]) -> Option<Finding> {
    let (osd, result) = writes(results).find(|(osd, _)| osd.id == standing.osd)?;
    let name = osd.name();
    let class = osd.class.as_deref().map_or(String::new(), |class| format!(" {class}"));
    let host = osd.host.as_deref().map_or(String::new(), |host| format!(" on {host}"));
    let excess = Excess::of(osd, results);
    let where_it_goes = excess.as_ref().map(|excess| {
        format!(
            "; {} % of the time that it takes longer is {}",
            number((excess.fraction * 100.0).round()),
            excess.cause.label()
        )
    });
    let mut evidence = vec![
        Evidence::number(format!("{name}: write p50"), rounded(standing.p50_us), "us"),
        Evidence::number("median of its class", rounded(standing.p50_us / standing.ratio), "us"),
        Evidence::number("robust z-score", rounded(standing.z.unwrap_or_default()), ""),
        Evidence::number("commits/s", rounded(result.commits_per_s.unwrap_or(result.iops)), ""),
    ];
    evidence.extend(excess.iter().map(|excess| {
        Evidence::number(format!("more {}", excess.cause.label()), rounded(excess.us), "us")
    }));
    evidence.extend(
        osd.drive
            .iter()
            .map(|drive| Evidence::number("a commit of its drive alone", rounded(drive.us), "us")),
    );
    let foreign = osd.write_time.as_ref().and_then(foreign_transactions);
    Some(Finding {
        id: "ceph-slow-osd".to_owned(),
        title: format!(
            "{name}{host} is slow: its writes take {} (p50), {} times the median of the{class} OSDs{}.",
            latency(standing.p50_us),
            number(standing.ratio),
            where_it_goes.unwrap_or_default()
        ),
        evidence,
        confidence: match &excess {
            Some(excess) if excess.cause == Cause::Rest => Confidence::Low,
            Some(excess) if excess.fraction >= MAJORITY && foreign.is_none() => Confidence::High,
            _ => Confidence::Medium,
        },
        doubt: foreign,
        advice: excess.map_or_else(
            || {
                "Its counters do not say where the time goes. Measure its drive with `flushmark \
                 check` on its host, and the network's round trip to it."
                    .to_owned()
            },
            |excess| advice(excess.cause, &name),
        ),
    })
}

#[cfg(test)]
mod tests {
    use ceph::latency::{Decomposition, Part};
    use measurement::Pass;
    use samples::machine::write;
    use workload::SyncMethod;

    use super::*;

    fn cluster(latencies: &[f64]) -> Vec<TestResult> {
        let of_osd = |(id, &us): (u32, &f64)| {
            let osd = OsdRecord::new(id, Some("node1".to_owned()), Some("ssd".to_owned()));
            TestResult { osd: Some(osd), ..write(SyncMethod::ODsync, us, 0.0).result() }
        };
        (0..).zip(latencies).map(of_osd).collect()
    }

    #[test]
    fn one_osd_is_slow() {
        let found = slow_osds(&cluster(&[800.0, 3100.0, 850.0, 780.0]));
        assert_eq!(found.len(), 1);
        insta::assert_snapshot!(found[0].title, @"osd.1 on node1 is slow: its writes take 3.1 ms (p50), 3.76 times the median of the ssd OSDs.");
        insta::assert_snapshot!(found[0].advice, @"Its counters do not say where the time goes. Measure its drive with `flushmark check` on its host, and the network's round trip to it.");
    }

    #[test]
    fn equal_osds_are_not_named() {
        for latencies in
            [&[800.0, 800.0, 800.0][..], &[700.0, 800.0, 1000.0], &[800.0, 4000.0], &[800.0], &[]]
        {
            assert_eq!(slow_osds(&cluster(latencies)), [], "{latencies:?}");
        }
        // Disks beside flash are another class, not slow.
        let mut results = cluster(&[800.0, 820.0, 790.0, 9000.0]);
        if let Some(osd) = &mut results[3].osd {
            osd.class = Some("hdd".to_owned());
        }
        assert_eq!(slow_osds(&results), []);
    }

    #[test]
    fn a_moment_of_disturbance_does_not_make_an_osd_slow() {
        let with_passes = |passes: [[f64; 4]; 4]| {
            let mut results = cluster(&[800.0, 820.0, 2500.0, 790.0]);
            for (result, passes) in results.iter_mut().zip(passes) {
                let pass = |us| Pass { iops: 1e6 / us, p50_us: Some(us), p99_us: Some(us) };
                result.passes = passes.map(pass).to_vec();
            }
            slow_osds(&results).len()
        };
        let peer = [800.0; 4];
        assert_eq!(with_passes([peer, peer, [2500.0, 2400.0, 800.0, 2600.0], peer]), 1);
        assert_eq!(with_passes([peer, peer, [2500.0, 5000.0, 800.0, 820.0], peer]), 0);
    }

    #[test]
    fn what_it_takes_longer_for_is_blamed_even_if_it_is_not_most_of_its_time() {
        let mut results = cluster(&[800.0, 2000.0, 800.0, 790.0]);
        for result in &mut results {
            let Some(osd) = &mut result.osd else { continue };
            let cpu = if osd.id == 1 { 900.0 } else { 100.0 };
            let part = |cause, us| Part { cause, what: String::new(), us, from: String::new() };
            osd.write_time = Some(Decomposition {
                latency_us: cpu + 1000.0,
                parts: vec![part(Cause::Flush, 1000.0), part(Cause::Cpu, cpu)],
                foreign_transactions: None,
                missing: Vec::new(),
            });
        }
        let found = slow_osds(&results);
        insta::assert_snapshot!(found[0].title, @"osd.1 on node1 is slow: its writes take 2 ms (p50), 2.5 times the median of the ssd OSDs; 100 % of the time that it takes longer is OSD and BlueStore CPU.");
        assert_eq!(found[0].confidence, Confidence::High);
    }

    #[test]
    fn ranks_are_within_the_class() {
        let standings = standings(&cluster(&[900.0, 700.0, 800.0]));
        let ranks: Vec<(u32, usize)> = standings.iter().map(|one| (one.osd, one.rank)).collect();
        assert_eq!(ranks, [(0, 3), (1, 1), (2, 2)]);
        assert!(standings.iter().all(|one| one.peers == 3 && one.z.is_some()));
    }
}
