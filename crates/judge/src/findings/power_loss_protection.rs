//! Whether the drive's cache survives a power cut, as far as the cost of a flush shows.

use drive::{Transport, WriteCache};
use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::latency;

use crate::case::Case;
use crate::physics::{PROTECTED_COMMIT_US_MAX, UNPROTECTED_COMMIT_US_MIN};
use crate::wording::{flushes, median, operation_name, switch_cache};

/// If the flush does any work, a commit takes at least this many times as long as the same write
/// without it.
const FLUSH_WORKS_RATIO: f64 = 3.0;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    if case.drives().is_empty() {
        return None;
    }
    // The cost of a flush, without the journal that `fsync` adds and the shortcut that O_DSYNC may
    // take.
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit())?;
    let commit_us = commit.p50_us();
    if commit_us <= PROTECTED_COMMIT_US_MAX {
        likely(case, commit)
    } else if commit_us >= UNPROTECTED_COMMIT_US_MIN {
        unlikely(case, commit)
    } else {
        None
    }
}

fn likely(case: &Case<'_>, commit: &TestResult) -> Option<Finding> {
    // The speed of a virtual disk does not characterise a drive: `virtual_flush` and
    // `no_flush_sent` handle those.
    let behind_raid = case.raid_controller().is_some();
    let behind_controller =
        behind_raid || case.drives().iter().all(|drive| drive.transport == Transport::Scsi);
    if case.is_virtual() || !(case.is_directly_attached() || behind_controller) {
        return None;
    }
    let mut evidence = vec![median(commit)];
    evidence.extend(case.control().map(median));
    evidence.extend(flushes(commit));
    if case.cache_belief() == Some(WriteCache::WriteThrough) {
        evidence.push(Evidence::fact("volatile cache (drive)", "none"));
    }
    Some(Finding {
        id: "power-loss-protection-likely".to_owned(),
        title: format!(
            "{} most likely has power-loss protection (PLP): a commit ({}) takes {}, less than \
             programming flash.",
            case.drive_label(),
            operation_name(commit),
            latency(commit.p50_us())
        ),
        evidence,
        confidence: if behind_controller { Confidence::Low } else { Confidence::Medium },
        doubt: Some(if behind_raid {
            "A RAID controller answers for the drive: its cache is fast, and only its battery \
             decides whether that is protected."
                .to_owned()
        } else {
            "Timing alone cannot distinguish a protected cache from a drive that ignores \
             flushes."
                .to_owned()
        }),
        advice: "Check the drive's datasheet for power-loss protection, or prove it with \
                 `flushmark verify` and a power cut."
            .to_owned(),
    })
}

fn unlikely(case: &Case<'_>, commit: &TestResult) -> Option<Finding> {
    if case.reported_rotational() == Some(true)
        && !super::rotating_disk::numbers_deny_rotation(case)
    {
        return None;
    }
    let control = case.control();
    if control.is_some_and(|control| commit.p50_us() < FLUSH_WORKS_RATIO * control.p50_us()) {
        // Everything is slow, not only the flush: a network or a busy drive, which shows nothing
        // about a cache.
        return None;
    }
    let mut evidence = vec![median(commit)];
    evidence.extend(control.map(median));
    evidence.extend(flushes(commit));
    let beside = control.map_or(String::new(), |control| {
        format!(", the same write unsynced {}", latency(control.p50_us()))
    });
    let sata = case
        .drives()
        .iter()
        .any(|drive| matches!(drive.transport, Transport::Sata | Transport::Sas));
    let switch_off = switch_cache("off", &case.disk_path());
    let (confidence, doubt, advice) = if case.raid_controller().is_some() {
        let doubt = "A RAID controller sits in between: without a healthy battery it writes \
                     through and hides what the drive could do.";
        let advice = "Check with the vendor's tool that the controller's cache is on and its \
                      battery healthy, or measure the drive on a plain adapter."
            .to_owned();
        (Confidence::Low, Some(doubt), advice)
    } else if case.is_virtual() || !case.is_directly_attached() {
        let doubt = "Third-party software sits between this host and the drive, and may be what \
                     takes the time.";
        let advice =
            "Run `flushmark check` on another class of volume or a local drive of the same \
             provider to compare."
                .to_owned();
        (Confidence::Low, Some(doubt), advice)
    } else if sata {
        let doubt = "Some protected SATA drives still write their cache out on each flush while it \
                     is on (Micron 5100: 671 commits/s, and 25,100 with the cache off).";
        let advice = format!(
            "If the datasheet promises power-loss protection, switch the cache off with \
             {switch_off} and measure again; otherwise use a drive that has it where commits \
             matter."
        );
        (Confidence::Medium, Some(doubt), advice)
    } else {
        let advice =
            "Where commits matter (database log, Ceph, SLOG), use a drive whose datasheet \
                      promises power-loss protection; `flushmark catalogue` shows the \
                      difference."
                .to_owned();
        (if control.is_some() { Confidence::High } else { Confidence::Medium }, None, advice)
    };
    Some(Finding {
        id: "no-power-loss-protection".to_owned(),
        title: format!(
            "{} shows no power-loss protection (PLP): a commit ({}) takes {}{beside}.",
            case.drive_label(),
            operation_name(commit),
            latency(commit.p50_us())
        ),
        evidence,
        confidence,
        doubt: doubt.map(str::to_owned),
        advice,
    })
}
