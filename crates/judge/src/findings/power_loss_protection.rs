//! Whether the drive's cache survives a power cut, as far as the price of a flush tells.

use drive::{Transport, WriteCache};
use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::latency;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::physics::{PROTECTED_COMMIT_MOST_US, UNPROTECTED_COMMIT_LEAST_US};
use crate::wording::{did, flushes, median, switch_cache};

/// A flush that did any work makes a commit at least this many times as dear as the same write without it.
const FLUSH_WORKS_RATIO: f64 = 3.0;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    if FlushPath::of(case).not_durable_because().is_some() || case.drives().is_empty() {
        return None;
    }
    // What a flush costs, without the journal that `fsync` adds and the shortcut that O_DSYNC may take.
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit())?;
    let commit_us = commit.p50_us();
    if commit_us <= PROTECTED_COMMIT_MOST_US {
        likely(case, commit)
    } else if commit_us >= UNPROTECTED_COMMIT_LEAST_US {
        unlikely(case, commit)
    } else {
        None
    }
}

fn likely(case: &Case<'_>, commit: &TestResult) -> Option<Finding> {
    // Of a virtual disk the speed says nothing about a drive: `virtual_flush` and `no_flush_sent` speak of those.
    let behind_raid = case.raid_controller().is_some();
    let behind_controller = behind_raid || case.drives().iter().all(|drive| drive.transport == Transport::Scsi);
    if case.is_virtual() || !(case.is_directly_attached() || behind_controller) {
        return None;
    }
    let mut evidence = vec![median(commit)];
    evidence.extend(case.control().map(median));
    evidence.extend(flushes(commit));
    if case.cache_belief() == Some(WriteCache::WriteThrough) {
        evidence.push(Evidence::fact("volatile cache, as the drive declares", "none"));
    }
    Some(Finding {
        id: "power-loss-protection-likely".to_owned(),
        title: format!(
            "{} most likely has power-loss protection: a commit ({}) takes {}, less than programming flash does.",
            case.drive_label(),
            did(commit),
            latency(commit.p50_us())
        ),
        evidence,
        confidence: if behind_controller { Confidence::Low } else { Confidence::Medium },
        doubt: Some(if behind_raid {
            "A RAID controller answers for the drive: what is fast is its cache, and whether that is protected only its battery tells.".to_owned()
        } else {
            "Timing alone cannot tell a protected cache from a drive that lies about its flush.".to_owned()
        }),
        advice: "Look for power-loss protection in the drive's datasheet, or prove it with `flushmark verify` and a power cut."
            .to_owned(),
    })
}

fn unlikely(case: &Case<'_>, commit: &TestResult) -> Option<Finding> {
    if case.said_to_rotate() == Some(true) && !super::rotating_disk::numbers_deny_rotation(case) {
        return None;
    }
    let control = case.control();
    if control.is_some_and(|control| commit.p50_us() < FLUSH_WORKS_RATIO * control.p50_us()) {
        // Everything is slow here, not the flush: a network or a busy drive, which says nothing of a cache.
        return None;
    }
    let mut evidence = vec![median(commit)];
    evidence.extend(control.map(median));
    evidence.extend(flushes(commit));
    let beside = control
        .map_or(String::new(), |control| format!(", the same write without waiting {}", latency(control.p50_us())));
    let sata = case.drives().iter().any(|drive| matches!(drive.transport, Transport::Sata | Transport::Sas));
    let switch_off = switch_cache("off", &case.disk_path());
    let (confidence, doubt, advice) = if case.raid_controller().is_some() {
        let doubt = "A RAID controller stands between: without a healthy battery it writes through, and so hides what the drive could do.";
        let advice = "See with the maker's tool that the controller's cache is on and its battery healthy, or measure the drive on a plain adapter.".to_owned();
        (Confidence::Low, Some(doubt), advice)
    } else if case.is_virtual() || !case.is_directly_attached() {
        let doubt = "Between here and the drive stands software of another, which may be what costs the time.";
        let advice =
            "Compare with another class of volume or a local drive of the same provider: `flushmark check` there."
                .to_owned();
        (Confidence::Low, Some(doubt), advice)
    } else if sata {
        let doubt = "Some protected SATA drives write out their cache on each flush all the same, as long as it is on (Micron 5100: 671 commits/s, and 25,100 with the cache off).";
        let advice = format!(
            "If the datasheet promises power-loss protection, switch the cache off with {switch_off} and measure again; else use a drive that has it where commits matter."
        );
        (Confidence::Medium, Some(doubt), advice)
    } else {
        let advice = "Where commits matter (database log, Ceph, SLOG) use a drive whose datasheet promises power-loss protection; `flushmark catalogue` shows what that changes.".to_owned();
        (if control.is_some() { Confidence::High } else { Confidence::Medium }, None, advice)
    };
    Some(Finding {
        id: "no-power-loss-protection".to_owned(),
        title: format!(
            "{} shows no power-loss protection: a commit ({}) takes {}{beside}.",
            case.drive_label(),
            did(commit),
            latency(commit.p50_us())
        ),
        evidence,
        confidence,
        doubt: doubt.map(str::to_owned),
        advice,
    })
}
