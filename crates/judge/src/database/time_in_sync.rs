//! A server spends most of its time in syncs of its log.

use measurement::{Confidence, Evidence, Finding, ServerActivity, ServerFile, TestResult};
use workload::number::{latency, number};

use super::watched;
use crate::case::Case;
use crate::wording::rounded;

/// From this share on, syncs and not the server's own work decide the rate of commits.
const SHARE_MIN: f64 = 0.5;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let (result, activity) = watched(case)?;
    let Time { share, mean_us, from } = time(result, activity)?;
    if share < SHARE_MIN {
        return None;
    }
    let commits_per_s = activity.commits_per_s()?;
    let percent = (share * 100.0).min(100.0);
    let mut evidence = vec![
        Evidence::number(format!("time in syncs of the log ({from})"), rounded(percent), "%"),
        Evidence::number(format!("mean sync ({from})"), rounded(mean_us), "us"),
        Evidence::number("commits", rounded(commits_per_s), "per second"),
    ];
    evidence.extend(
        activity.group_size().map(|size| Evidence::number("commits per sync", rounded(size), "")),
    );
    Some(Finding {
        id: "database-waits-for-syncs".to_owned(),
        title: format!(
            "Syncs limit the commits: {percent:.0} % of the time goes to syncs of the log, {} each, \
             at {} commits/s.",
            latency(mean_us),
            number(commits_per_s)
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice:
            "Commit more rows per transaction, let more clients commit at the same time, or put \
                 the log on a drive with power-loss protection. `flushmark check` in the directory \
                 of the log shows what the drive can do."
                .to_owned(),
    })
}

struct Time {
    share: f64,
    mean_us: f64,
    from: &'static str,
}

/// As the server measured it, or else the device's flushes, which other files and programs share.
fn time(result: &TestResult, activity: &ServerActivity) -> Option<Time> {
    let by_server = || {
        let share = activity.share_in_sync(ServerFile::Log)?;
        let mean_us = activity.syncs(ServerFile::Log)?.mean_us()?;
        Some(Time { share, mean_us, from: "server" })
    };
    let by_device = || {
        let log_syncs = activity.syncs(ServerFile::Log)?.number.count;
        let device = result.proof.device?;
        let (flushes, mean_us) = (device.flushes? as f64, device.flush_mean_us?);
        // Not more of them than the log had.
        let share = flushes.min(log_syncs) * mean_us / 1e6 / activity.elapsed_s;
        Some(Time { share, mean_us, from: "flushes of the device" })
    };
    by_server().or_else(by_device)
}
