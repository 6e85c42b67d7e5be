//! More committers do not make more commits.

use measurement::{Confidence, Finding};
use workload::number::number;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::physics::PROTECTED_COMMIT_US_MAX;
use crate::wording::{commit_rate, flushes, sync_name};

/// Below this gain, concurrent committers are hardly better than queued ones.
const GAIN_MIN: f64 = 1.5;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let (one, many) = case.one_and_many_jobs()?;
    let (one_rate, many_rate) = (one.commits_per_s?, many.commits_per_s?);
    if one_rate <= 0.0 || many_rate >= GAIN_MIN * one_rate {
        return None;
    }
    let jobs = many.workload.jobs;
    let call = many.workload.sync.map_or("sync", sync_name);
    let mut evidence = vec![commit_rate(one), commit_rate(many)];
    evidence.extend([one, many].into_iter().filter_map(flushes));
    // A commit this short is mostly CPU time.
    let cpu_bound = one.p50_us() <= PROTECTED_COMMIT_US_MAX
        && case.host.logical_cpus.is_some_and(|cpus| cpus < jobs);
    let doubt = cpu_bound
        .then(|| "There are more committers than CPUs, which may be the limit.".to_owned());
    let why = if matches!(FlushPath::of(case), FlushPath::Counted { .. }) {
        "a device processes one flush at a time"
    } else {
        "they wait for each other"
    };
    Some(Finding {
        id: "commits-do-not-scale".to_owned(),
        title: format!(
            "{jobs} committers with {call} together make {} commits/s, one alone {}: {why}.",
            number(many_rate),
            number(one_rate)
        ),
        evidence,
        confidence: Confidence::Medium,
        doubt,
        advice: "More connections will not commit faster; larger transactions will, and so will a \
                 drive with power-loss protection. Group commit (the default in PostgreSQL and \
                 InnoDB) helps only if commits wait at the same time."
            .to_owned(),
    })
}
