//! The judgement of what another tool measured.
//!
//! A listing describes neither host nor drive, and fio times a write and its sync separately, so
//! that the latency of a commit has to be put together: see [`estimated`]. Everything that is
//! concluded from a listing is marked as imported.

use drive::HostFacts;
use measurement::{
    Confidence, Evidence, Finding, Fitness, Grade, LatencySummary, Source, TestResult, Use,
};
use workload::number::{latency, number};
use workload::{OpenFlag, Pattern, SyncMethod};

use crate::case::{Case, syncs_by_call};
use crate::judgement::{Judgement, judge};
use crate::physics::{PROTECTED_COMMIT_US_MAX, UNPROTECTED_COMMIT_US_MIN};
use crate::wording::{median, operation_name, rounded};

/// Commits that a test must have made before the counters of a device are significant.
const COMMITS_MIN: u64 = 20;
/// With at least this many further requests for each commit, the commits cause them.
const REQUESTS_PER_COMMIT_MIN: f64 = 0.5;
/// With at most this many, they do not. fio reads the counters a moment before the end.
const REQUESTS_PER_COMMIT_MAX: f64 = 0.05;

/// No system call that does something returns sooner: an fsync that finds nothing to do takes
/// 0.6 µs.
const SYNC_US_MIN: f64 = 0.3;

/// The source of the latencies of commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Basis {
    /// The tool timed commits.
    Timed,
    /// Put together from those of the write and the sync.
    Estimated,
    /// A mean is all that is known.
    Mean,
}

/// Judges the results of another tool's run.
pub fn judge_imported(results: &[TestResult], source: &Source) -> Judgement {
    let (results, rests_on): (Vec<TestResult>, Vec<Basis>) = results.iter().map(estimated).unzip();
    let basis = rests_on.into_iter().max().unwrap_or(Basis::Timed);
    let host = HostFacts::default();
    let case = Case::new(&results, None, &host);
    let Judgement { mut findings, mut fitness, mut under_each_setting } = judge(&case);
    findings.extend(results.iter().find_map(sync_not_timed));
    findings.extend(protection(&case, basis));
    findings.extend(requests(&results, source));
    for finding in &mut findings {
        finding.title = format!("Imported: {}", finding.title);
        finding.confidence = finding.confidence.min(Confidence::Medium);
        let unknown = format!("{} does not describe the drive and host.", source.tool);
        finding.doubt = Some(match finding.doubt.take() {
            Some(doubt) => format!("{doubt} {unknown}"),
            None => unknown,
        });
    }
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit());
    let settings = under_each_setting.iter_mut().flat_map(|each| [&mut each.off, &mut each.on]);
    for (used, fitness) in settings.chain([&mut fitness]).flatten() {
        *fitness = marked(*used, fitness, commit, basis, &source.tool);
    }
    Judgement { findings, fitness, under_each_setting }
}

/// The grade with its mark. The reason must not claim more of a mean than that it is one.
fn marked(
    used: Use,
    fitness: &Fitness,
    commit: Option<&TestResult>,
    basis: Basis,
    tool: &str,
) -> Fitness {
    let Fitness { grade, because } = fitness;
    // Ceph's grade rests on the rate alone.
    let by_rate = used == Use::CephOsd || *grade == Grade::Unknown;
    match (basis, commit) {
        (Basis::Mean, Some(_)) if used == Use::DatabaseLog && !by_rate => Fitness {
            grade: Grade::Unknown,
            because: format!(
                "Imported: {tool} reports only a mean, and this grade needs the 99th percentile."
            ),
        },
        (Basis::Mean, Some(commit)) if !by_rate => Fitness {
            grade: *grade,
            because: format!(
                "Imported: a {} takes {} on average; {tool} does not report more.",
                operation_name(commit),
                latency(commit.p50_us())
            ),
        },
        (Basis::Estimated, _) if !by_rate => Fitness {
            grade: *grade,
            because: format!("Imported, latency estimated from write and sync: {because}"),
        },
        _ => Fitness { grade: *grade, because: format!("Imported: {because}") },
    }
}

/// A result with the latency of its commits, and what that rests on.
///
/// One job that commits one write at a time does nothing else, so its mean commit takes the time
/// per commit; that is exact. It exceeds the mean sync by what the write adds, which with an
/// asynchronous engine is only the submission, because fio's sync then waits for the write as well.
/// Each percentile is that of the sync plus this share of the same percentile of the write.
fn estimated(result: &TestResult) -> (TestResult, Basis) {
    let mut result = as_block_write(result);
    let work = &result.workload;
    let one_at_a_time = work.depth == 1 && work.rate.is_none() && work.think.is_none();
    let rate = result.commits_per_s.filter(|&rate| rate > 0.0 && one_at_a_time);
    let (None, Some(rate)) = (result.commit_us, rate) else { return (result, Basis::Timed) };
    let mean = f64::from(work.jobs) * 1e6 / rate;
    let count = result.proof.commits;
    let sync = result.sync_us.filter(|_| work.sync_every == 1);
    let Some(sync) = sync.filter(|sync| sync.mean <= mean) else {
        let [min, p50, p90, p99, p99_9, p99_99, max] = [mean; 7];
        result.commit_us =
            Some(LatencySummary { mean, min, p50, p90, p99, p99_9, p99_99, max, count });
        return (result, Basis::Mean);
    };
    let beside = mean - sync.mean;
    let write = result.write_us.filter(|write| write.mean > 0.0);
    let share = write.map_or(0.0, |write| (beside / write.mean).min(1.0));
    let constant = beside - write.map_or(0.0, |write| write.mean * share);
    let plus =
        |sync: f64, of: fn(LatencySummary) -> f64| sync + constant + share * write.map_or(0.0, of);
    result.commit_us = Some(LatencySummary {
        mean,
        min: plus(sync.min, |write| write.min),
        p50: plus(sync.p50, |write| write.p50),
        p90: plus(sync.p90, |write| write.p90),
        p99: plus(sync.p99, |write| write.p99),
        p99_9: plus(sync.p99_9, |write| write.p99_9),
        p99_99: plus(sync.p99_99, |write| write.p99_99),
        max: plus(sync.max, |write| write.max),
        count,
    });
    (result, Basis::Estimated)
}

/// A step program that writes one block and syncs it, as `pg_test_fsync` does, in the form of a
/// block test; any other result unchanged.
fn as_block_write(result: &TestResult) -> TestResult {
    let mut result = result.clone();
    let work = &mut result.workload;
    let flag = work.files.iter().find_map(|file| file.open_flag);
    let sync = match work.steps.as_slice() {
        [write] if is_one_write(write) => flag.map(|flag| match flag {
            OpenFlag::OSync => SyncMethod::OSync,
            OpenFlag::ODsync => SyncMethod::ODsync,
        }),
        [write, sync] if is_one_write(write) => called(sync),
        _ => None,
    };
    if let Some(sync) = sync.filter(|_| result.commits_per_s.is_some()) {
        work.pattern = Some(Pattern::Write);
        work.sync = Some(sync);
        work.steps.clear();
        work.files.clear();
    }
    result
}

/// `write log same 8KiB`, but not `write log seq 8KiB x2`.
fn is_one_write(step: &str) -> bool {
    let repeated = step.rsplit(' ').next().and_then(|word| word.strip_prefix('x'));
    step.starts_with("write ") && repeated.is_none_or(|count| count.parse::<u32>().is_err())
}

/// `sync log fdatasync`
fn called(step: &str) -> Option<SyncMethod> {
    let method = step.strip_prefix("sync ")?.rsplit(' ').next()?;
    SyncMethod::ALL.into_iter().find(|sync| sync.name() == method)
}

/// Infers from the time of a commit alone whether the cache of an unknown drive is protected.
fn protection(case: &Case<'_>, basis: Basis) -> Option<Finding> {
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit())?;
    let time = latency(commit.p50_us());
    let name = operation_name(commit);
    let (id, title, doubt, advice) = if commit.p50_us() <= PROTECTED_COMMIT_US_MAX {
        (
            "power-loss-protection-likely",
            format!(
                "a commit ({name}) takes {time}, less than programming flash: the drive has \
                 power-loss protection (PLP), or its cache was not flushed."
            ),
            "Timing alone cannot distinguish a protected cache from one that is not flushed.",
            "Check the drive's datasheet for power-loss protection.",
        )
    } else if commit.p50_us() >= UNPROTECTED_COMMIT_US_MIN {
        (
            "no-power-loss-protection",
            format!(
                "the storage commits like a drive without power-loss protection (PLP): a commit \
                 ({name}) takes {time}."
            ),
            "A rotating disk, an array or a network volume is as slow, and some protected drives \
             write their cache out on each flush while it is on.",
            "If the datasheet promises power-loss protection, measure again with the write cache \
             switched off.",
        )
    } else {
        return None;
    };
    Some(Finding {
        id: id.to_owned(),
        title,
        evidence: vec![match basis {
            Basis::Timed => median(commit),
            Basis::Estimated => {
                Evidence::number(format!("{name} p50, estimated"), rounded(commit.p50_us()), "us")
            }
            Basis::Mean => Evidence::number(format!("{name} mean"), rounded(commit.p50_us()), "us"),
        }],
        confidence: Confidence::Low,
        doubt: Some(doubt.to_owned()),
        advice: advice.to_owned(),
    })
}

/// Syncs that took less time than a system call.
fn sync_not_timed(result: &TestResult) -> Option<Finding> {
    let sync = result.sync_us.filter(|sync| sync.count > 0 && sync.mean < SYNC_US_MIN)?;
    let name = operation_name(result);
    Some(Finding {
        id: "sync-not-timed".to_owned(),
        title: format!(
            "a sync ({name}) takes {}, less than a system call: its time is not that of the sync.",
            latency(sync.mean)
        ),
        evidence: vec![Evidence::number("sync mean", sync.mean, "us")],
        confidence: Confidence::High,
        doubt: Some("The rate of commits is not affected.".to_owned()),
        advice: "Use the rate of commits, or repeat the test with `ioengine=psync`.".to_owned(),
    })
}

/// Infers from the counters of a device whether syncs became requests to it. The kernel counts a
/// flush as a write of no bytes.
fn requests(results: &[TestResult], source: &Source) -> Option<Finding> {
    // Counters of a run belong to a test only if it was the only one, and on one device.
    let ([result], [disk]) = (results, source.disks.as_slice()) else { return None };
    let commits = result.proof.commits;
    if commits < COMMITS_MIN || !syncs_by_call(result) {
        return None;
    }
    let further = disk.writes.saturating_sub(result.proof.writes);
    let per_commit = further as f64 / commits as f64;
    let evidence = vec![
        Evidence::number(
            format!("{}: write requests", disk.device),
            disk.writes as f64,
            "counted by the kernel",
        ),
        Evidence::number("writes", result.proof.writes as f64, "of fio"),
        Evidence::number("further requests", rounded(per_commit), "per commit"),
    ];
    let figures = format!(
        "{} requests for {} writes and {} syncs",
        number(disk.writes as f64),
        number(result.proof.writes as f64),
        number(commits as f64)
    );
    let (id, title, doubt, advice) = if per_commit >= REQUESTS_PER_COMMIT_MIN {
        (
            "syncs-reach-the-device",
            format!("the syncs reached {} as flushes: {figures}.", disk.device),
            "Writes of a filesystem's journal are counted as well.",
            "Nothing to do: the time of a commit includes the device's flush.",
        )
    } else if per_commit <= REQUESTS_PER_COMMIT_MAX {
        (
            "no-flush-sent",
            format!("the syncs caused no requests to {}: {figures}.", disk.device),
            "fio reads the counters at intervals.",
            "This is right for a drive whose cache is protected, and the kernel then sends no \
             flushes (`write through` in queue/write_cache). Otherwise syncs do not reach the \
             medium.",
        )
    } else {
        return None;
    };
    Some(Finding {
        id: id.to_owned(),
        title,
        evidence,
        confidence: Confidence::Medium,
        doubt: Some(doubt.to_owned()),
        advice: advice.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use measurement::DiskCounters;
    use samples::machine::{Run, write};

    use super::*;

    /// A result as fio reports it: commits are counted, and the write and the sync are timed.
    fn listed(write_us: f64, sync_us: f64) -> TestResult {
        let mut result = write(SyncMethod::Fsync, write_us, sync_us).result();
        result.workload.layout = None;
        (result.commit_us, result.histograms.commit) = (None, None);
        result.proof.device = None;
        result
    }

    fn fio(disks: Vec<DiskCounters>) -> Source {
        Source { tool: "fio".to_owned(), disks, ..Source::default() }
    }

    fn ids(judgement: &Judgement) -> Vec<&str> {
        judgement.findings.iter().map(|finding| finding.id.as_str()).collect()
    }

    fn counted(writes: u64) -> Vec<DiskCounters> {
        vec![DiskCounters { device: "sda".to_owned(), writes, ..DiskCounters::default() }]
    }

    #[test]
    fn the_mean_of_a_commit_is_the_time_for_each() {
        let mut result = listed(20.0, 1700.0);
        result.commits_per_s = Some(500.0);
        let (estimated, basis) = estimated(&result);
        let (commit, sync) = (estimated.commit_us.unwrap(), result.sync_us.unwrap());
        assert_eq!(basis, Basis::Estimated);
        assert!((commit.mean - 2000.0).abs() < 1e-9, "{commit:?}");
        // 2000 µs less the mean sync, of which the write explains its own part.
        let beside = 2000.0 - sync.mean;
        assert!(commit.p50 > sync.p50 && commit.p50 < sync.p50 + 1.5 * beside, "{commit:?}");
        assert!(commit.p50 <= commit.p99 && commit.p99 <= commit.max, "{commit:?}");
    }

    #[test]
    fn without_a_timed_sync_a_mean_is_all_that_is_known() {
        let mut result = listed(20.0, 1700.0);
        (result.sync_us, result.commits_per_s) = (None, Some(5000.0));
        let (estimated_result, basis) = estimated(&result);
        let commit = estimated_result.commit_us.unwrap();
        assert_eq!((basis, commit.mean, commit.p99), (Basis::Mean, 200.0, 200.0));
        let judged = judge_imported(&[result.clone()], &fio(Vec::new()));
        let slog = &judged.fitness[&Use::ZfsSlog];
        assert_eq!(slog.grade, Grade::Good);
        insta::assert_snapshot!(slog.because, @"Imported: a 4 KiB write + fsync takes 200 µs on average; fio does not report more.");
        assert!(judged.fitness[&Use::CephOsd].because.starts_with("Imported: 5,000 commits/s"));
        let log = &judged.fitness[&Use::DatabaseLog];
        assert_eq!(log.grade, Grade::Unknown);
        insta::assert_snapshot!(log.because, @"Imported: fio reports only a mean, and this grade needs the 99th percentile.");
        // Several writes in flight: the rate shows no latency.
        result.workload.depth = 4;
        assert_eq!(estimated(&result).0.commit_us, None);
        result.workload.depth = 0;
        assert_eq!(estimated(&result).0.commit_us, None, "an unknown depth is not 1");
    }

    #[test]
    fn everything_concluded_from_a_listing_is_marked() {
        let judged = judge_imported(&[listed(20.0, 1700.0)], &fio(Vec::new()));
        assert!(!judged.findings.is_empty());
        for finding in &judged.findings {
            assert!(finding.title.starts_with("Imported: "), "{}", finding.title);
            assert!(finding.confidence <= Confidence::Medium);
            assert!(finding.doubt.as_ref().unwrap().contains("does not describe the drive"));
        }
        assert!(judged.fitness.values().all(|fitness| fitness.because.starts_with("Imported")));
        let nothing = judge_imported(&[], &fio(Vec::new()));
        assert!(nothing.findings.is_empty());
        assert!(nothing.fitness.values().all(|fitness| fitness.grade == Grade::Unknown));
    }

    #[test]
    fn the_time_of_a_commit_shows_protection_or_none() {
        let of = |sync_us| judge_imported(&[listed(20.0, sync_us)], &fio(Vec::new()));
        assert!(ids(&of(50.0)).contains(&"power-loss-protection-likely"));
        assert!(ids(&of(1700.0)).contains(&"no-power-loss-protection"));
        let between = of(250.0);
        assert!(!ids(&between).iter().any(|id| id.contains("protection")), "{between:?}");
    }

    #[test]
    fn a_sync_faster_than_a_system_call_was_not_timed() {
        let mut result = listed(20.0, 1700.0);
        let sync = result.sync_us.as_mut().unwrap();
        sync.mean = 0.07;
        assert!(ids(&judge_imported(&[result], &fio(Vec::new()))).contains(&"sync-not-timed"));
        let judged = judge_imported(&[listed(20.0, 1700.0)], &fio(Vec::new()));
        assert!(!ids(&judged).contains(&"sync-not-timed"));
    }

    #[test]
    fn counters_show_whether_syncs_became_requests() {
        let result = listed(20.0, 50.0);
        let (writes, commits) = (result.proof.writes, result.proof.commits);
        let found = |disks, results: &[TestResult]| {
            let judged = judge_imported(results, &fio(disks));
            let mut ids = judged.findings.into_iter().map(|finding| finding.id);
            ids.find(|id| id == "syncs-reach-the-device" || id == "no-flush-sent")
        };
        let one = [result.clone()];
        let reach = Some("syncs-reach-the-device".to_owned());
        assert_eq!(found(counted(writes + commits), &one), reach);
        assert_eq!(found(counted(writes), &one), Some("no-flush-sent".to_owned()));
        assert_eq!(found(counted(writes - 5), &one), Some("no-flush-sent".to_owned()));
        assert_eq!(found(counted(writes + commits / 4), &one), None);
        assert_eq!(found(Vec::new(), &one), None);
        // Counters of a run belong to no test if there were several.
        assert_eq!(found(counted(writes + commits), &[result.clone(), result]), None);
    }

    #[test]
    fn a_program_of_one_write_and_one_sync_is_judged_like_a_test_of_blocks() {
        let suite = workload::suites::named("wal").unwrap();
        let result = |name: &str| {
            let test = suite.tests.iter().find(|test| test.name == name).unwrap();
            let mut result = listed(20.0, 50.0);
            result.workload = measurement::WorkloadRecord::of(test);
            as_block_write(&result).workload
        };
        let sync = |name| (result(name).pattern, result(name).sync);
        let write = Some(Pattern::Write);
        assert_eq!(sync("one 8 KiB write: fsync"), (write, Some(SyncMethod::Fsync)));
        assert_eq!(sync("one 8 KiB write: open_datasync"), (write, Some(SyncMethod::ODsync)));
        assert_eq!(sync("two 8 KiB writes: fsync"), (None, None));
    }

    #[test]
    fn a_run_of_samples_is_estimated_near_what_was_timed() {
        let timed = write(SyncMethod::Fsync, 20.0, 1700.0);
        let truth = Run::result(timed).commit_us.unwrap();
        let (estimated, _) = estimated(&listed(20.0, 1700.0));
        let commit = estimated.commit_us.unwrap();
        assert!((commit.p50 / truth.p50 - 1.0).abs() < 0.05, "{commit:?} {truth:?}");
        assert!((commit.p99 / truth.p99 - 1.0).abs() < 0.05, "{commit:?} {truth:?}");
    }
}
