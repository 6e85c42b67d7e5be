//! Grades of the storage for each use.

use std::collections::BTreeMap;

use measurement::{Fitness, Grade, TestResult, Use};
use workload::number::{latency, number};
use workload::{Submission, SyncMethod};

use crate::case::{Case, summary};
use crate::findings::virtual_flush;
use crate::flush_path::FlushPath;
use crate::noise;
use crate::wording::{capitalised, operation_name};

/// A grade for every use that the storage could have, each with the number that decided it.
///
/// Claims about throughput are graded on the rate, claims about latency on the 99th percentile. A
/// test that did not settle gets no grade if its seconds alone would differ in it.
///
/// Storage that acknowledges commits and loses them is unfit for every use, however fast it is.
/// Without a measurement that decides, the grade is [`Grade::Unknown`].
pub(crate) fn fitness(case: &Case<'_>) -> BTreeMap<Use, Fitness> {
    let lost = FlushPath::of(case).not_durable_because();
    let judged = |used: Use| match &lost {
        Some(because) => Fitness { grade: Grade::Unfit, because: capitalised(because) + "." },
        None => judge(case, used),
    };
    // A cluster is not a drive for an OSD or a SLOG.
    let in_ceph = case.in_ceph().is_some();
    let fits = |used: &Use| !in_ceph || matches!(used, Use::DatabaseLog | Use::General);
    Use::ALL.into_iter().filter(fits).map(|used| (used, judged(used))).collect()
}

fn judge(case: &Case<'_>, used: Use) -> Fitness {
    let judged = match used {
        Use::CephOsd => ceph_osd(case),
        Use::ZfsSlog => zfs_slog(case),
        Use::DatabaseLog => database_log(case),
        Use::General => general(case),
    };
    let Some(Judged { claims, mut because }) = judged else {
        return Fitness { grade: Grade::Unknown, because: not_measured(case).to_owned() };
    };
    if let Some(swing) = undecided(&claims) {
        return Fitness { grade: Grade::Unknown, because: swing };
    }
    if case.is_virtual() && FlushPath::of(case) == FlushPath::NotNeeded {
        because.push_str("; whether that is durable depends on the host");
    }
    if virtual_flush::unproven(case).is_some() {
        because.push_str("; provided that its host honours flushes");
    }
    Fitness { grade: decisive(&claims, |claim| claim.grade), because: capitalised(&because) + "." }
}

/// The reason why there is no grade.
fn not_measured(case: &Case<'_>) -> &'static str {
    if case.results.iter().any(|result| !result.workload.steps.is_empty()) {
        "Tests that replay the calls of a program are not graded."
    } else if case.results.iter().any(|result| result.commits_per_s.is_some()) {
        "No test is a single small write with its sync."
    } else {
        "No small write with a sync was measured."
    }
}

/// A grade before it is weighed against the noise.
struct Judged<'a> {
    claims: Vec<Claim<'a>>,
    /// The figures behind the grade, as a clause.
    because: String,
}

/// One measured figure and its grade. A claim about throughput is graded on the rate, one about
/// latency on the 99th percentile: a median hides the slower of two speeds.
#[derive(Clone, Copy)]
struct Claim<'a> {
    result: &'a TestResult,
    of: Figure,
    grade: Grade,
    /// The lower and the upper quartile of the test's seconds, with their grades.
    seconds: [(f64, Grade); 2],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Figure {
    /// Commits per second.
    Rate,
    /// 99th percentile of the latency, in microseconds.
    P99,
}

/// Marks from best to worst, each with the grade that a figure at least that good gets.
type Marks = &'static [(f64, Grade)];

/// Seconds that quartiles need.
const SECONDS_MIN: usize = 5;

impl<'a> Claim<'a> {
    fn rate(result: &'a TestResult, marks: Marks, worst: Grade) -> Option<Claim<'a>> {
        let rate = result.commits_per_s?;
        Some(Claim::new(result, Figure::Rate, rate, marks, worst))
    }

    fn p99(result: &'a TestResult, marks: Marks, worst: Grade) -> Option<Claim<'a>> {
        Some(Claim::new(result, Figure::P99, summary(result)?.p99, marks, worst))
    }

    fn new(
        result: &'a TestResult,
        of: Figure,
        value: f64,
        marks: Marks,
        worst: Grade,
    ) -> Claim<'a> {
        let reached = |value: f64, mark: f64| match of {
            Figure::Rate => value >= mark,
            Figure::P99 => value <= mark,
        };
        let grade = |value: f64| {
            let mark = marks.iter().find(|(mark, _)| reached(value, *mark));
            mark.map_or(worst, |(_, grade)| *grade)
        };
        let seconds = quartiles(result, of).unwrap_or([value; 2]);
        Claim {
            result,
            of,
            grade: grade(value),
            seconds: seconds.map(|value| (value, grade(value))),
        }
    }

    /// The grades of the whole test and of the quartiles of its seconds, worst first.
    fn grades(&self) -> [Grade; 3] {
        let mut grades = [self.grade, self.seconds[0].1, self.seconds[1].1];
        grades.sort();
        grades
    }

    /// A clause such as `4 KiB write + fsync swings between 180 and 2,400 per second`.
    fn swing(&self) -> String {
        let [low, high] = self.seconds.map(|(value, _)| value);
        let name = operation_name(self.result);
        match self.of {
            Figure::Rate => {
                format!("{name} swings between {} and {} per second", number(low), number(high))
            }
            Figure::P99 => {
                format!("the p99 of {name} swings between {} and {}", latency(low), latency(high))
            }
        }
    }
}

/// The quartiles of the figure over the seconds of a test that did not settle; `None` if it settled
/// or was too short.
fn quartiles(result: &TestResult, of: Figure) -> Option<[f64; 2]> {
    result.steady_state.filter(|steady| !steady.reached)?;
    let series = &result.series;
    let mut seconds: Vec<f64> = match of {
        Figure::Rate => series.iops.clone(),
        Figure::P99 => series.commit_p99_us.iter().copied().flatten().collect(),
    };
    if seconds.len() < SECONDS_MIN {
        return None;
    }
    seconds.sort_by(f64::total_cmp);
    let at = |share: f64| seconds[((seconds.len() - 1) as f64 * share).round() as usize];
    Some([at(0.25), at(0.75)])
}

/// The grade of the claims together, which is that of the worst.
fn decisive<'a>(claims: &[Claim<'a>], grade: impl Fn(&Claim<'a>) -> Grade) -> Grade {
    claims.iter().map(grade).min().unwrap_or(Grade::Unknown)
}

/// Why the grade is withheld: the test did not settle, and half of its seconds alone would get
/// another grade. `None` if the grade stands.
fn undecided(claims: &[Claim<'_>]) -> Option<String> {
    let worst = decisive(claims, |claim| claim.grades()[0]);
    let best = decisive(claims, |claim| claim.grades()[2]);
    if worst == best {
        return None;
    }
    let swinging = claims.iter().find(|claim| claim.grades()[0] != claim.grades()[2])?;
    Some(format!(
        "Inconclusive: {}, {} to {}; run it longer.",
        swinging.swing(),
        worst.name(),
        best.name()
    ))
}

/// Commits per second of one writer at 4 KiB, after the Ceph performance wiki: protected drives
/// make 25,000 and more; from 10,000 on, a drive does not limit the OSD; consumer drives make 500
/// to 2,000; disks without a flash log are below 200.
const CEPH_COMMITS_PER_S: Marks = &[
    (25_000.0, Grade::Excellent),
    (10_000.0, Grade::Good),
    (2_000.0, Grade::Fair),
    (200.0, Grade::Poor),
];

/// The slowest of a flushing sync and of write-through writes, because hardware sometimes ignores
/// one of them and BlueStore uses both. On a raw device, a write-through write is FUA alone if it
/// is asynchronous, and FUA and a flush if it uses `pwrite`.
fn ceph_osd<'a>(case: &Case<'a>) -> Option<Judged<'a>> {
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
    let claim = Claim::rate(decides, CEPH_COMMITS_PER_S, Grade::Unfit)?;
    let marks = match claim.grade {
        Grade::Excellent | Grade::Good => "protected drives make 10,000 and more",
        Grade::Fair => "10,000 would not limit an OSD",
        _ => "protected drives make 10,000 and more, consumer drives 500 to 2,000",
    };
    let because = format!(
        "{} commits/s ({}{which}){}; {marks}",
        number(rate(&decides)),
        operation_name(decides),
        two_speeds(decides)
    );
    Some(Judged { claims: vec![claim], because })
}

/// `: 66 % at about 90 µs, 34 % at about 4 ms` for a test with two speeds; empty for any other.
fn two_speeds(result: &TestResult) -> String {
    let modes = noise::modes(result);
    modes.map_or(String::new(), |modes| format!(": {}", modes.describe()))
}

/// `99 % of commits take 1.8 ms or less (4 KiB write + fsync)`, with the two speeds if there are.
fn within(result: &TestResult, operations: &str) -> Option<String> {
    Some(format!(
        "99 % of {operations} take {} or less ({}){}",
        latency(summary(result)?.p99),
        operation_name(result),
        two_speeds(result)
    ))
}

/// 99th percentile of a write with its flush. A log device is useful only if it is faster than the
/// pool: FreeBSD's commit r320683 shows an Intel 710 with 158 µs as a good one and calls a Samsung
/// 950 PRO with 2.1 ms almost useless.
const SLOG_P99_US: Marks =
    &[(50.0, Grade::Excellent), (200.0, Grade::Good), (500.0, Grade::Fair), (2_000.0, Grade::Poor)];

fn zfs_slog<'a>(case: &Case<'a>) -> Option<Judged<'a>> {
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit())?;
    let claim = Claim::p99(commit, SLOG_P99_US, Grade::Unfit)?;
    let marks = match claim.grade {
        Grade::Unfit | Grade::Poor => {
            "at 2 ms a log device gains nothing, good ones take less than 0.2 ms"
        }
        _ => "good log devices take less than 0.2 ms",
    };
    let because = format!("{}; {marks}", within(commit, "commits")?);
    Some(Judged { claims: vec![claim], because })
}

/// The 99th percentile of a sync of its log that etcd asks of a disk, in microseconds (etcd.io,
/// Hardware recommendations; FAQ, `wal_fsync_duration_seconds`).
pub const ETCD_P99_US: f64 = 10_000.0;

/// 99th percentile of a commit: etcd's limit (and 25 ms for its backend commits), OpenShift 2 ms for
/// heavily loaded clusters.
const DATABASE_P99_US: Marks = &[
    (200.0, Grade::Excellent),
    (2_000.0, Grade::Good),
    (ETCD_P99_US, Grade::Fair),
    (25_000.0, Grade::Poor),
];
/// A log with a good tail is still limited by the rate of one connection.
const DATABASE_COMMITS_PER_S: Marks = &[
    (10_000.0, Grade::Excellent),
    (2_000.0, Grade::Good),
    (200.0, Grade::Fair),
    (66.0, Grade::Poor),
];

fn database_log<'a>(case: &Case<'a>) -> Option<Judged<'a>> {
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit())?;
    let p99 = summary(commit)?.p99;
    let claims = [
        Claim::rate(commit, DATABASE_COMMITS_PER_S, Grade::Unfit),
        Claim::p99(commit, DATABASE_P99_US, Grade::Unfit),
    ];
    let etcd = if p99 <= ETCD_P99_US { "within" } else { "above" };
    let because = format!(
        "one connection makes {} commits/s ({}{}), p99 {}, {etcd} etcd's limit of {}",
        number(commit.commits_per_s.unwrap_or(0.0)),
        operation_name(commit),
        two_speeds(commit),
        latency(p99),
        latency(ETCD_P99_US)
    );
    Some(Judged { claims: claims.into_iter().flatten().collect(), because })
}

/// General software commits occasionally and reads all the time: a commit should be imperceptible,
/// a read should come from flash. The p99 of a protected drive is below 0.5 ms, of an unprotected
/// flush below 10 ms, and a rotating disk needs a long seek and two rotations (30 ms).
const GENERAL_COMMIT_P99_US: Marks =
    &[(500.0, Grade::Excellent), (10_000.0, Grade::Good), (30_000.0, Grade::Fair)];
const GENERAL_READ_P99_US: Marks =
    &[(300.0, Grade::Excellent), (2_000.0, Grade::Good), (30_000.0, Grade::Fair)];

fn general<'a>(case: &Case<'a>) -> Option<Judged<'a>> {
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit())?;
    let read = case.random_read();
    let mut claims = vec![Claim::p99(commit, GENERAL_COMMIT_P99_US, Grade::Poor)?];
    claims.extend(read.and_then(|read| Claim::p99(read, GENERAL_READ_P99_US, Grade::Poor)));
    let clauses = [within(commit, "commits"), read.and_then(|read| within(read, "random reads"))];
    let because = clauses.into_iter().flatten().collect::<Vec<_>>().join(", ");
    Some(Judged { claims, because })
}
