//! What the storage is good for.

use std::collections::BTreeMap;

use measurement::{Fitness, Grade, TestResult, Use};
use workload::number::{latency, number};
use workload::{Submission, SyncMethod};

use crate::case::{Case, summary};
use crate::findings::virtual_flush;
use crate::flush_path::FlushPath;
use crate::wording::did;

/// A grade for every use, each with the number that decided it.
///
/// Storage that confirms commits and loses them is unfit for all, however fast; what nothing measured decides is
/// [`Grade::Unknown`].
pub(crate) fn fitness(case: &Case<'_>) -> BTreeMap<Use, Fitness> {
    let lost = FlushPath::of(case).not_durable_because();
    let judged = |used: Use| match &lost {
        Some(because) => Fitness { grade: Grade::Unfit, because: sentence(because) },
        None => judge(case, used),
    };
    Use::ALL.into_iter().map(|used| (used, judged(used))).collect()
}

fn judge(case: &Case<'_>, used: Use) -> Fitness {
    let judged = match used {
        Use::CephOsd => ceph_osd(case),
        Use::ZfsSlog => zfs_slog(case),
        Use::DatabaseLog => database_log(case),
        Use::General => general(case),
    };
    let Some((grade, mut because)) = judged else {
        return Fitness { grade: Grade::Unknown, because: "No small write with a sync was measured.".to_owned() };
    };
    if case.is_virtual() && FlushPath::of(case) == FlushPath::NotNeeded {
        because.push_str("; whether that is durable is the host's affair");
    }
    if virtual_flush::unproven(case).is_some() {
        because.push_str("; if its host heeds flushes");
    }
    Fitness { grade, because: sentence(&because) }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// The first mark that a value does not pass decides.
fn graded(value: f64, marks: &[(f64, Grade)], worst: Grade, passes: fn(f64, f64) -> bool) -> Grade {
    marks.iter().find(|(mark, _)| passes(value, *mark)).map_or(worst, |(_, grade)| *grade)
}

fn at_least(value: f64, mark: f64) -> bool {
    value >= mark
}

fn at_most(value: f64, mark: f64) -> bool {
    value <= mark
}

/// Commits each second of one writer at 4 KiB, after the Ceph performance wiki: 25,000 and more is what protected drives make, from
/// 10,000 on a drive does not hold the OSD back, 500 to 2,000 is what consumer drives make; below 200 lie disks without a flash log.
const CEPH_COMMITS_PER_S: &[(f64, Grade)] =
    &[(25_000.0, Grade::Excellent), (10_000.0, Grade::Good), (2_000.0, Grade::Fair), (200.0, Grade::Poor)];

/// The worst of a flushing sync and of write-through ones, because hardware sometimes ignores one of them, and BlueStore waits
/// for both kinds in its life. On a raw device a write-through write is FUA alone where it is asynchronous, and FUA and a flush by `pwrite`.
fn ceph_osd<'a>(case: &Case<'a>) -> Option<(Grade, String)> {
    let rate = |result: &&TestResult| result.commits_per_s.unwrap_or(0.0);
    let slowest = |ways: &[SyncMethod], find: &dyn Fn(SyncMethod) -> Option<&'a TestResult>| {
        ways.iter().filter_map(|sync| find(*sync)).min_by(|a, b| rate(a).total_cmp(&rate(b)))
    };
    let flags = [SyncMethod::OSync, SyncMethod::ODsync, SyncMethod::RwfDsync];
    let by_flag = |submission| slowest(&flags, &|sync| case.small_write_submitted(sync, submission));
    let by_call = slowest(&[SyncMethod::Fsync, SyncMethod::Fdatasync], &|sync| case.small_write(sync));
    let ways = [by_call, by_flag(Submission::Asynchronous), by_flag(Submission::Blocking)];
    let measured: Vec<&TestResult> = ways.into_iter().flatten().collect();
    let which = match measured.len() {
        3 => ", the slowest of three ways",
        2 => ", the slower of two ways",
        _ => "",
    };
    let decides = measured.into_iter().min_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let commits_per_s = rate(&decides);
    let grade = graded(commits_per_s, CEPH_COMMITS_PER_S, Grade::Unfit, at_least);
    let marks = match grade {
        Grade::Excellent | Grade::Good => "protected drives make 10,000 and more",
        Grade::Fair => "10,000 would not hold an OSD back",
        _ => "protected drives make 10,000 and more, consumer drives 500 to 2,000",
    };
    Some((grade, format!("{} commits/s ({}{which}); {marks}", number(commits_per_s), did(decides))))
}

/// Median of a write with its flush. A log device earns its place by being faster than the pool: FreeBSD's commit r320683 shows an
/// Intel 710 with 158 µs as a good one and calls a Samsung 950 PRO with 2.1 ms almost useless.
const SLOG_P50_US: &[(f64, Grade)] =
    &[(50.0, Grade::Excellent), (200.0, Grade::Good), (500.0, Grade::Fair), (2_000.0, Grade::Poor)];

fn zfs_slog(case: &Case<'_>) -> Option<(Grade, String)> {
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit())?;
    let grade = graded(commit.p50_us(), SLOG_P50_US, Grade::Unfit, at_most);
    let marks = match grade {
        Grade::Unfit | Grade::Poor => "at 2 ms a log device speeds nothing up, good ones need less than 0.2 ms",
        _ => "good log devices need less than 0.2 ms",
    };
    Some((grade, format!("{} for a {}; {marks}", latency(commit.p50_us()), did(commit))))
}

/// 99th percentile of a commit: etcd asks for 10 ms at most (and 25 ms for its own commits), OpenShift's heavy clusters for 2 ms.
const DATABASE_P99_US: &[(f64, Grade)] =
    &[(200.0, Grade::Excellent), (2_000.0, Grade::Good), (10_000.0, Grade::Fair), (25_000.0, Grade::Poor)];
/// A log that is often fast enough and seldom slow is still limited by its median: one connection makes at most `1e6 / p50` commits.
const DATABASE_P50_US: &[(f64, Grade)] =
    &[(100.0, Grade::Excellent), (500.0, Grade::Good), (5_000.0, Grade::Fair), (15_000.0, Grade::Poor)];

fn database_log(case: &Case<'_>) -> Option<(Grade, String)> {
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit())?;
    let figures = summary(commit)?;
    let by_tail = graded(figures.p99, DATABASE_P99_US, Grade::Unfit, at_most);
    let by_median = graded(figures.p50, DATABASE_P50_US, Grade::Unfit, at_most);
    let etcd = if figures.p99 <= 10_000.0 { "within" } else { "above" };
    let because = format!(
        "one connection commits every {} ({}), p99 {}, {etcd} etcd's limit of 10 ms",
        latency(figures.p50),
        did(commit),
        latency(figures.p99)
    );
    Some((by_tail.min(by_median), because))
}

/// Everyday software commits now and then and reads all the time: a commit should pass unnoticed, a read should come from flash.
const GENERAL_COMMIT_P50_US: &[(f64, Grade)] =
    &[(200.0, Grade::Excellent), (5_000.0, Grade::Good), (15_000.0, Grade::Fair)];
const GENERAL_READ_P50_US: &[(f64, Grade)] =
    &[(150.0, Grade::Excellent), (1_000.0, Grade::Good), (15_000.0, Grade::Fair)];

fn general(case: &Case<'_>) -> Option<(Grade, String)> {
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit())?;
    let by_commit = graded(commit.p50_us(), GENERAL_COMMIT_P50_US, Grade::Poor, at_most);
    let Some(read) = case.random_read() else {
        return Some((by_commit, format!("a {} takes {}", did(commit), latency(commit.p50_us()))));
    };
    let by_read = graded(read.p50_us(), GENERAL_READ_P50_US, Grade::Poor, at_most);
    let because = format!(
        "a {} takes {}, a random {} {}",
        did(commit),
        latency(commit.p50_us()),
        did(read),
        latency(read.p50_us())
    );
    Some((by_commit.min(by_read), because))
}
