//! Results of the same tests, added up.
//!
//! Counts, times and histograms are added, so rates and percentiles are those of all operations
//! together, as if one run had made them. Series are concatenated. Steady state is a property of a
//! single run: a merged result has none, and a note reports if a part had not settled.

mod documents;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::histogram::{Histogram, LatencySummary};
use crate::osd::OsdRecord;
use crate::passes::Pass;
use crate::priorities::PriorityLatency;
use crate::proof::{DeviceProof, Proof};
use crate::result::{CpuUse, Ended, Histograms, TestResult, WorkloadRecord};
use crate::series::Series;
use crate::server_activity::ServerActivity;

/// Why results cannot be merged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MergeError {
    #[error("nothing to merge: expected at least two results of the same tests")]
    TooFew,
    #[error("{run} is listed twice and would be counted twice")]
    Twice {
        /// The run, described by its start time or, if that is unknown, by its suite.
        run: String,
    },
    #[error(
        "the workloads of `{test}` differ: `{field}` is {first} in one result and {other} in \
         another"
    )]
    Workload {
        test: String,
        /// The first field of the workload that differs.
        field: String,
        /// Its value in the first result, as the document writes it.
        first: String,
        /// Its value in the other result.
        other: String,
    },
    #[error(
        "`{test}` has {operation} latency percentiles but no histogram, and percentiles cannot be \
         added up"
    )]
    NoHistogram {
        test: String,
        /// `read`, `write`, `sync` or `commit`.
        operation: &'static str,
    },
    /// Some results count an operation, others have its distribution.
    #[error(
        "one result of `{test}` only counts its {operation} operations and another times them, and \
         percentiles of some operations are not those of all"
    )]
    OnlyCounted {
        test: String,
        /// `read`, `write`, `sync` or `commit`.
        operation: &'static str,
    },
    #[error("the series of `{test}` have different intervals: {first_s} s and {other_s} s")]
    Interval {
        test: String,
        /// Interval of the first result, in seconds.
        first_s: f64,
        /// Interval of the other result, in seconds.
        other_s: f64,
    },
    #[error("`{test}` is missing from some of the results")]
    Missing { test: String },
    #[error(
        "the results are of different kinds: `{field}` is {first} in one and {other} in another"
    )]
    Run {
        /// Path of the field in the document.
        field: &'static str,
        /// Its value in the first run.
        first: String,
        /// Its value in the other run.
        other: String,
    },
}

/// One field in which two workloads differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDifference {
    /// Name of the field in the document.
    pub field: String,
    /// Its value in the first record, as the document writes it; `null` if it is left out.
    pub ours: String,
    /// Its value in the second record.
    pub theirs: String,
}

impl WorkloadRecord {
    /// The fields in which two records differ. The seed is ignored: it decides which offsets are
    /// drawn, not their distribution.
    ///
    /// ```
    /// # use workload::{BlockBytes, Test, Work, Workload};
    /// # let test = workload::suites::named("check").unwrap().tests[0].clone();
    /// let ours = measurement::WorkloadRecord::of(&test);
    /// let theirs = measurement::WorkloadRecord { depth: 7, seed: 7, ..ours.clone() };
    /// let differences = ours.differences(&theirs);
    /// assert_eq!(differences.len(), 1);
    /// assert_eq!(differences[0].field, "depth");
    /// ```
    pub fn differences(&self, other: &WorkloadRecord) -> Vec<FieldDifference> {
        let fields = |record: &WorkloadRecord| match serde_json::to_value(record) {
            Ok(Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let (ours, theirs) = (fields(self), fields(other));
        let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        let written = |value: Option<&Value>| value.unwrap_or(&Value::Null).to_string();
        names
            .into_iter()
            // A different interface means a different engine, which a note reports.
            .filter(|name| {
                !matches!(name.as_str(), "seed" | "submission")
                    && ours.get(*name) != theirs.get(*name)
            })
            .map(|name| FieldDifference {
                field: name.clone(),
                ours: written(ours.get(name)),
                theirs: written(theirs.get(name)),
            })
            .collect()
    }
}

impl TestResult {
    /// Merges results: percentiles are those of the pooled latencies, rates are all operations over
    /// the total time.
    ///
    /// Name and seed are taken from the first. Engines may differ, which a note reports.
    pub fn merged(parts: &[&TestResult]) -> Result<TestResult, MergeError> {
        let [first, others @ ..] = parts else { return Err(MergeError::TooFew) };
        for other in others {
            if let Some(difference) = first.workload.differences(&other.workload).into_iter().next()
            {
                let FieldDifference { field, ours, theirs } = difference;
                return Err(MergeError::Workload {
                    test: first.test.clone(),
                    field,
                    first: ours,
                    other: theirs,
                });
            }
        }
        let sum =
            |figure: fn(&TestResult) -> f64| parts.iter().map(|part| figure(part)).sum::<f64>();
        let elapsed_s = sum(|part| part.elapsed_s);
        let per_second = |count: f64| if elapsed_s > 0.0 { count / elapsed_s } else { 0.0 };
        let ops = parts.iter().map(|part| part.ops).sum::<u64>();
        let histograms = Histograms {
            read: pooled(parts, "read", |part| {
                (&part.histograms.read, part.read_us, part.proof.reads)
            })?,
            write: pooled(parts, "write", |part| {
                (&part.histograms.write, part.write_us, part.proof.writes)
            })?,
            sync: pooled(parts, "sync", |part| {
                (&part.histograms.sync, part.sync_us, part.proof.syncs)
            })?,
            commit: pooled(parts, "commit", |part| {
                (&part.histograms.commit, part.commit_us, part.proof.commits)
            })?,
        };
        let summary =
            |histogram: &Option<Histogram>| histogram.as_ref().and_then(Histogram::summary);
        Ok(TestResult {
            test: first.test.clone(),
            workload: first.workload.clone(),
            engine: engines(parts).join(", "),
            elapsed_s,
            ops,
            iops: per_second(ops as f64),
            mib_per_s: per_second(sum(|part| part.mib_per_s * part.elapsed_s)),
            in_flight: parts
                .iter()
                .map(|part| Some(part.in_flight? * part.elapsed_s))
                .sum::<Option<f64>>()
                .map(per_second),
            commits_per_s: match &histograms.commit {
                Some(commits) => Some(per_second(commits.count() as f64)),
                None => counted_commits(parts).map(per_second),
            },
            read_us: summary(&histograms.read),
            write_us: summary(&histograms.write),
            sync_us: summary(&histograms.sync),
            commit_us: summary(&histograms.commit),
            histograms,
            series: joined(parts)?,
            passes: passes(parts),
            steady_state: None,
            proof: proof(parts),
            // Otherwise the times of some sorts would pass for the times of all.
            sort: parts
                .iter()
                .map(|part| part.sort)
                .collect::<Option<Vec<_>>>()
                .and_then(crate::sorting::SortFigures::sum),
            computed_s: parts.iter().map(|part| part.computed_s).sum(),
            priorities: PriorityLatency::sum(parts.iter().flat_map(|part| &part.priorities)),
            osd: same_osd(parts),
            // Medians and drawn commits of several traces do not add up.
            trace: None,
            server: ServerActivity::sum(parts.iter().map(|part| part.server.as_ref())),
            // Rates per second of several tables do not add up.
            insert_benchmark: None,
            cpu: CpuUse {
                user_s: sum(|part| part.cpu.user_s),
                system_s: sum(|part| part.cpu.system_s),
            },
            ended: ended(parts),
            notes: notes(parts),
        })
    }
}

/// The OSD that served all parts, without what was measured of it in one of them.
fn same_osd(parts: &[&TestResult]) -> Option<OsdRecord> {
    let osd = parts.first()?.osd.as_ref()?;
    let same = parts.iter().all(|part| part.osd.as_ref().is_some_and(|other| other.id == osd.id));
    same.then(|| OsdRecord::new(osd.id, osd.host.clone(), osd.class.clone()))
}

/// The pooled distribution of one kind of operation; `None` if no part has any. `of` returns a
/// part's distribution, its percentiles and how many such operations it counted.
fn pooled(
    parts: &[&TestResult],
    operation: &'static str,
    of: impl Fn(&TestResult) -> (&Option<Histogram>, Option<LatencySummary>, u64),
) -> Result<Option<Histogram>, MergeError> {
    let mut pool: Option<Histogram> = None;
    let mut only_counted = None;
    for part in parts {
        match of(part) {
            (Some(histogram), ..) => pool.get_or_insert_default().merge(histogram),
            (None, Some(_), _) => {
                return Err(MergeError::NoHistogram { test: part.test.clone(), operation });
            }
            (None, None, count) if count > 0 => only_counted = Some(*part),
            (None, None, _) => {}
        }
    }
    match only_counted.filter(|_| pool.is_some()) {
        // Otherwise the distribution of some operations would pass for that of all.
        Some(part) => Err(MergeError::OnlyCounted { test: part.test.clone(), operation }),
        None => Ok(pool),
    }
}

/// The number of commits in all parts, if no part has timed them. A part without operations made
/// none; for a part that does not mention commits the number is unknown.
fn counted_commits(parts: &[&TestResult]) -> Option<f64> {
    if parts.iter().all(|part| part.commits_per_s.is_none()) {
        return None;
    }
    let commits = |part: &&TestResult| match part.commits_per_s {
        Some(rate) => Some(rate * part.elapsed_s),
        None => (part.ops == 0).then_some(0.0),
    };
    parts.iter().map(commits).sum()
}

fn joined(parts: &[&TestResult]) -> Result<Series, MergeError> {
    let with_series = || parts.iter().filter(|part| !part.series.iops.is_empty());
    let Some(first) = with_series().next() else { return Ok(parts[0].series.clone()) };
    let interval_s = first.series.interval_s;
    let mut joined = Series { interval_s, ..Series::new() };
    for part in with_series() {
        let series = &part.series;
        if series.interval_s.total_cmp(&interval_s).is_ne() {
            let (first_s, other_s) = (interval_s, series.interval_s);
            return Err(MergeError::Interval { test: part.test.clone(), first_s, other_s });
        }
        joined.iops.extend(&series.iops);
        let so_far = joined.iops.len();
        for (all, own) in [
            (&mut joined.commit_p50_us, &series.commit_p50_us),
            (&mut joined.commit_p99_us, &series.commit_p99_us),
        ] {
            all.extend(own);
            all.resize(so_far, None);
        }
    }
    // An interval without bins would look like one without commits, so bins are kept only if every
    // part has them.
    if with_series().all(|part| part.series.commit_bins.len() == part.series.iops.len()) {
        joined.commit_bins =
            with_series().flat_map(|part| part.series.commit_bins.clone()).collect();
    }
    Ok(joined)
}

/// The passes of all parts; none if a part was not made in passes, since the others' would pass for
/// the whole.
fn passes(parts: &[&TestResult]) -> Vec<Pass> {
    if parts.iter().any(|part| part.passes.is_empty()) {
        return Vec::new();
    }
    parts.iter().flat_map(|part| part.passes.iter().copied()).collect()
}

fn proof(parts: &[&TestResult]) -> Proof {
    let sum = |count: fn(&Proof) -> u64| parts.iter().map(|part| count(&part.proof)).sum();
    let commits = sum(|proof| proof.commits);
    // A sum with a part missing would show fewer operations arriving than were requested.
    let devices: Option<Vec<DeviceProof>> = parts.iter().map(|part| part.proof.device).collect();
    let device = devices.map(|devices| {
        let sum = |count: fn(&DeviceProof) -> u64| devices.iter().map(count).sum();
        let flushes = devices.iter().map(|device| device.flushes).sum::<Option<u64>>();
        DeviceProof {
            reads: sum(|device| device.reads),
            writes: sum(|device| device.writes),
            writes_merged: devices.iter().map(|device| device.writes_merged).sum(),
            bytes_written: sum(|device| device.bytes_written),
            flushes,
            flush_mean_us: weighted(
                devices
                    .iter()
                    .map(|device| (device.flush_mean_us, device.flushes.unwrap_or(0) as f64)),
            ),
            flushes_per_commit: flushes
                .filter(|_| commits > 0)
                .map(|flushes| flushes as f64 / commits as f64),
            bytes_per_byte: weighted(
                devices
                    .iter()
                    .zip(parts)
                    .map(|(device, part)| (device.bytes_per_byte, part.mib_per_s * part.elapsed_s)),
            ),
            medium_bytes_written: devices.iter().map(|device| device.medium_bytes_written).sum(),
        }
    });
    Proof {
        reads: sum(|proof| proof.reads),
        writes: sum(|proof| proof.writes),
        syncs: sum(|proof| proof.syncs),
        commits,
        device,
    }
}

/// The weighted mean of the known values.
fn weighted(values: impl Iterator<Item = (Option<f64>, f64)>) -> Option<f64> {
    let known = values.filter_map(|(value, weight)| value.map(|value| (value * weight, weight)));
    let (sum, weights) =
        known.fold((0.0, 0.0), |(sum, weights), (value, weight)| (sum + value, weights + weight));
    (weights > 0.0).then(|| sum / weights)
}

/// Failed before interrupted before regular ends.
fn ended(parts: &[&TestResult]) -> Ended {
    let ends = || parts.iter().map(|part| &part.ended);
    let failed = ends().find(|end| matches!(end, Ended::Failed { .. }));
    failed
        .or_else(|| ends().find(|end| **end == Ended::Interrupted))
        .unwrap_or(&Ended::Limit)
        .clone()
}

fn notes(parts: &[&TestResult]) -> Vec<String> {
    let mut notes = distinct(parts.iter().flat_map(|part| &part.notes));
    let mut remark = |note: &str| {
        if !notes.iter().any(|known| known == note) {
            notes.push(note.to_owned());
        }
    };
    if engines(parts).len() > 1 {
        remark("the merged runs used different engines");
    }
    if parts.iter().any(|part| part.steady_state.is_some_and(|steady| !steady.reached)) {
        remark("a merged run had not reached a steady state");
    }
    notes
}

fn engines(parts: &[&TestResult]) -> Vec<String> {
    distinct(parts.iter().map(|part| &part.engine))
}

/// Each text once, in order of appearance.
fn distinct<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for text in texts {
        if !distinct.contains(text) {
            distinct.push(text.clone());
        }
    }
    distinct
}

#[cfg(test)]
mod tests;
