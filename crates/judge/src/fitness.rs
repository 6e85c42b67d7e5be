//! Grades of the storage for each use.

use std::collections::BTreeMap;

use measurement::{Fitness, Grade, TestResult, Use};
use workload::number::{latency, number};
use workload::{Submission, SyncMethod};

use crate::case::{Case, summary};
use crate::findings::virtual_flush;
use crate::flush_path::FlushPath;
use crate::wording::{capitalised, operation_name};

/// A grade for every use, each with the number that decided it.
///
/// Storage that acknowledges commits and loses them is unfit for every use, however fast it is.
/// Without a measurement that decides, the grade is [`Grade::Unknown`].
pub(crate) fn fitness(case: &Case<'_>) -> BTreeMap<Use, Fitness> {
    let lost = FlushPath::of(case).not_durable_because();
    let judged = |used: Use| match &lost {
        Some(because) => Fitness { grade: Grade::Unfit, because: capitalised(because) + "." },
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
        return Fitness {
            grade: Grade::Unknown,
            because: "No small write with a sync was measured.".to_owned(),
        };
    };
    if case.is_virtual() && FlushPath::of(case) == FlushPath::NotNeeded {
        because.push_str("; whether that is durable depends on the host");
    }
    if virtual_flush::unproven(case).is_some() {
        because.push_str("; provided that its host honours flushes");
    }
    Fitness { grade, because: capitalised(&because) + "." }
}

fn graded(value: f64, marks: &[(f64, Grade)], worst: Grade, passes: fn(f64, f64) -> bool) -> Grade {
    marks.iter().find(|(mark, _)| passes(value, *mark)).map_or(worst, |(_, grade)| *grade)
}

fn at_least(value: f64, mark: f64) -> bool {
    value >= mark
}

fn at_most(value: f64, mark: f64) -> bool {
    value <= mark
}

/// Commits per second of one writer at 4 KiB, after the Ceph performance wiki: protected drives
/// make 25,000 and more; from 10,000 on, a drive does not limit the OSD; consumer drives make 500
/// to 2,000; disks without a flash log are below 200.
const CEPH_COMMITS_PER_S: &[(f64, Grade)] = &[
    (25_000.0, Grade::Excellent),
    (10_000.0, Grade::Good),
    (2_000.0, Grade::Fair),
    (200.0, Grade::Poor),
];

/// The slowest of a flushing sync and of write-through writes, because hardware sometimes ignores
/// one of them and BlueStore uses both. On a raw device, a write-through write is FUA alone if it
/// is asynchronous, and FUA and a flush if it uses `pwrite`.
fn ceph_osd<'a>(case: &Case<'a>) -> Option<(Grade, String)> {
    let rate = |result: &&TestResult| result.commits_per_s.unwrap_or(0.0);
    let slowest = |methods: &[SyncMethod], find: &dyn Fn(SyncMethod) -> Option<&'a TestResult>| {
        methods.iter().filter_map(|sync| find(*sync)).min_by(|a, b| rate(a).total_cmp(&rate(b)))
    };
    let flags = [SyncMethod::OSync, SyncMethod::ODsync, SyncMethod::RwfDsync];
    let by_flag =
        |submission| slowest(&flags, &|sync| case.small_write_submitted(sync, submission));
    let by_call =
        slowest(&[SyncMethod::Fsync, SyncMethod::Fdatasync], &|sync| case.small_write(sync));
    let methods = [by_call, by_flag(Submission::Asynchronous), by_flag(Submission::Blocking)];
    let measured: Vec<&TestResult> = methods.into_iter().flatten().collect();
    let which = match measured.len() {
        3 => ", the slowest of three methods",
        2 => ", the slower of two methods",
        _ => "",
    };
    let decides = measured.into_iter().min_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let commits_per_s = rate(&decides);
    let grade = graded(commits_per_s, CEPH_COMMITS_PER_S, Grade::Unfit, at_least);
    let marks = match grade {
        Grade::Excellent | Grade::Good => "protected drives make 10,000 and more",
        Grade::Fair => "10,000 would not limit an OSD",
        _ => "protected drives make 10,000 and more, consumer drives 500 to 2,000",
    };
    Some((
        grade,
        format!(
            "{} commits/s ({}{which}); {marks}",
            number(commits_per_s),
            operation_name(decides)
        ),
    ))
}

/// Median of a write with its flush. A log device is useful only if it is faster than the pool:
/// FreeBSD's commit r320683 shows an Intel 710 with 158 µs as a good one and calls a Samsung 950
/// PRO with 2.1 ms almost useless.
const SLOG_P50_US: &[(f64, Grade)] =
    &[(50.0, Grade::Excellent), (200.0, Grade::Good), (500.0, Grade::Fair), (2_000.0, Grade::Poor)];

fn zfs_slog(case: &Case<'_>) -> Option<(Grade, String)> {
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit())?;
    let grade = graded(commit.p50_us(), SLOG_P50_US, Grade::Unfit, at_most);
    let marks = match grade {
        Grade::Unfit | Grade::Poor => {
            "at 2 ms a log device gains nothing, good ones take less than 0.2 ms"
        }
        _ => "good log devices take less than 0.2 ms",
    };
    Some((grade, format!("{} for a {}; {marks}", latency(commit.p50_us()), operation_name(commit))))
}

/// 99th percentile of a commit: etcd requires at most 10 ms (and 25 ms for its backend commits),
/// OpenShift 2 ms for heavily loaded clusters.
const DATABASE_P99_US: &[(f64, Grade)] = &[
    (200.0, Grade::Excellent),
    (2_000.0, Grade::Good),
    (10_000.0, Grade::Fair),
    (25_000.0, Grade::Poor),
];
/// A log with a good tail is still limited by its median: one connection makes at most `1e6 / p50`
/// commits per second.
const DATABASE_P50_US: &[(f64, Grade)] = &[
    (100.0, Grade::Excellent),
    (500.0, Grade::Good),
    (5_000.0, Grade::Fair),
    (15_000.0, Grade::Poor),
];

fn database_log(case: &Case<'_>) -> Option<(Grade, String)> {
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit())?;
    let figures = summary(commit)?;
    let by_tail = graded(figures.p99, DATABASE_P99_US, Grade::Unfit, at_most);
    let by_median = graded(figures.p50, DATABASE_P50_US, Grade::Unfit, at_most);
    let etcd = if figures.p99 <= 10_000.0 { "within" } else { "above" };
    let because = format!(
        "one connection commits every {} ({}), p99 {}, {etcd} etcd's limit of 10 ms",
        latency(figures.p50),
        operation_name(commit),
        latency(figures.p99)
    );
    Some((by_tail.min(by_median), because))
}

/// General software commits occasionally and reads all the time: a commit should be imperceptible,
/// a read should come from flash.
const GENERAL_COMMIT_P50_US: &[(f64, Grade)] =
    &[(200.0, Grade::Excellent), (5_000.0, Grade::Good), (15_000.0, Grade::Fair)];
const GENERAL_READ_P50_US: &[(f64, Grade)] =
    &[(150.0, Grade::Excellent), (1_000.0, Grade::Good), (15_000.0, Grade::Fair)];

fn general(case: &Case<'_>) -> Option<(Grade, String)> {
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit())?;
    let by_commit = graded(commit.p50_us(), GENERAL_COMMIT_P50_US, Grade::Poor, at_most);
    let Some(read) = case.random_read() else {
        return Some((
            by_commit,
            format!("a {} takes {}", operation_name(commit), latency(commit.p50_us())),
        ));
    };
    let by_read = graded(read.p50_us(), GENERAL_READ_P50_US, Grade::Poor, at_most);
    let because = format!(
        "a {} takes {}, a random {} {}",
        operation_name(commit),
        latency(commit.p50_us()),
        operation_name(read),
        latency(read.p50_us())
    );
    Some((by_commit.min(by_read), because))
}
