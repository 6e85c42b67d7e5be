//! Whether the drive's cache survives a power cut, as far as the cost of a flush shows.

use catalogue::PowerLossProtection;
use drive::{BlockDevice, Transport, WriteCache};
use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::latency;

use crate::case::Case;
use crate::physics::{PROTECTED_COMMIT_US_MAX, UNPROTECTED_COMMIT_US_MIN};
use crate::wording::{flushes, measure_write_cache, median, operation_name};

/// If the flush does any work, a commit takes at least this many times as long as the same write
/// without it.
const FLUSH_WORKS_RATIO: f64 = 3.0;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    // A loop device is a file: `loop_device` names the drive to judge.
    if case.drives().is_empty() || case.loop_device().is_some() {
        return None;
    }
    if let Some([off, on]) = case.under_each_setting()
        && let (Some(off_commit), Some(on_commit)) = (flush_cost(&off), flush_cost(&on))
    {
        return by_best_setting(&on, on_commit, off_commit);
    }
    let commit = flush_cost(case)?;
    let commit_us = commit.p50_us();
    if commit_us <= PROTECTED_COMMIT_US_MAX {
        likely(case, commit)
    } else if commit_us >= UNPROTECTED_COMMIT_US_MIN {
        unlikely(case, commit, None)
    } else {
        None
    }
}

/// The test that shows the cost of a flush, without the journal that `fsync` adds and the shortcut
/// that O_DSYNC may take.
fn flush_cost<'a>(case: &Case<'a>) -> Option<&'a TestResult> {
    case.flushing_commit().or_else(|| case.cheapest_commit())
}

/// Judges by the faster of the two safe settings: some drives write their protected cache out on
/// each flush, and are fast once it is off. `case` has the results with the cache on.
fn by_best_setting(
    case: &Case<'_>,
    on_commit: &TestResult,
    off_commit: &TestResult,
) -> Option<Finding> {
    let (on_us, off_us) = (on_commit.p50_us(), off_commit.p50_us());
    if on_us <= PROTECTED_COMMIT_US_MAX {
        likely(case, on_commit)
    } else if off_us <= PROTECTED_COMMIT_US_MAX && on_us >= FLUSH_WORKS_RATIO * off_us {
        simple(case, on_commit, off_commit)
    } else if on_us.min(off_us) >= UNPROTECTED_COMMIT_US_MIN {
        unlikely(case, on_commit, Some(off_commit))
    } else {
        None
    }
}

/// The speed of a virtual disk does not characterise a drive: `virtual_flush` and `no_flush_sent`
/// handle those.
fn shows_the_drive(case: &Case<'_>) -> bool {
    !case.is_virtual() && (case.is_directly_attached() || behind_controller(case))
}

fn behind_controller(case: &Case<'_>) -> bool {
    case.raid_controller().is_some()
        || case.drives().iter().all(|drive| drive.transport == Transport::Scsi)
}

/// "Simple" protection, in the words of the Ceph performance wiki: a flush writes the cache out
/// although capacitors protect it, so the drive is slow until its cache is off.
fn simple(case: &Case<'_>, on_commit: &TestResult, off_commit: &TestResult) -> Option<Finding> {
    if !shows_the_drive(case) {
        return None;
    }
    let setting = |result: &TestResult, setting: &str| {
        let Evidence { what, value, unit } = median(result);
        Evidence { what: format!("{what}, cache {setting}"), value, unit }
    };
    Some(Finding {
        id: "power-loss-protection-simple".to_owned(),
        title: format!(
            "{} most likely has simple power-loss protection (PLP): a commit ({}) takes {} with \
             its write cache off, less than programming flash, but {} with it on, because each \
             flush writes the cache out.",
            case.drive_label(),
            operation_name(on_commit),
            latency(off_commit.p50_us()),
            latency(on_commit.p50_us())
        ),
        evidence: vec![setting(off_commit, "off"), setting(on_commit, "on")],
        confidence: if behind_controller(case) { Confidence::Low } else { Confidence::Medium },
        doubt: Some(
            "A drive that goes on caching in unprotected memory after its cache was switched off \
             is as fast; timing alone cannot distinguish the two."
                .to_owned(),
        ),
        advice: "Check the drive's datasheet for power-loss protection, or prove it with \
                 `flushmark verify` and a power cut while the cache is off."
            .to_owned(),
    })
}

fn likely(case: &Case<'_>, commit: &TestResult) -> Option<Finding> {
    if !shows_the_drive(case) {
        return None;
    }
    let behind_raid = case.raid_controller().is_some();
    let mut evidence = vec![median(commit)];
    evidence.extend(case.control().map(median));
    evidence.extend(flushes(commit));
    let flushed = case.cache_belief() != Some(WriteCache::WriteThrough);
    if !flushed {
        evidence.push(Evidence::fact("volatile cache (drive)", "none"));
    }
    // "Advanced" protection, in the words of the Ceph performance wiki. Without flushes, without
    // the same write unsynced or behind a controller, nothing shows what a flush costs the drive.
    let control = case.control().filter(|control| {
        flushed
            && !behind_controller(case)
            && commit.p50_us() < FLUSH_WORKS_RATIO * control.p50_us()
    });
    let (id, kind, beside) = match control {
        Some(control) => (
            "power-loss-protection-advanced",
            "advanced power-loss protection (PLP), which makes flushes almost free:",
            format!(
                " and little more than the same write unsynced ({})",
                latency(control.p50_us())
            ),
        ),
        None => ("power-loss-protection-likely", "power-loss protection (PLP):", String::new()),
    };
    Some(Finding {
        id: id.to_owned(),
        title: format!(
            "{} most likely has {kind} a commit ({}) takes {}, less than programming \
             flash{beside}.",
            case.drive_label(),
            operation_name(commit),
            latency(commit.p50_us())
        ),
        evidence,
        confidence: if behind_controller(case) { Confidence::Low } else { Confidence::Medium },
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

/// `cache_off` is the same commit with the cache off, if that was measured too.
fn unlikely(
    case: &Case<'_>,
    commit: &TestResult,
    cache_off: Option<&TestResult>,
) -> Option<Finding> {
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
    let mut beside = control.map_or(String::new(), |control| {
        format!(", the same write unsynced {}", latency(control.p50_us()))
    });
    if let Some(off) = cache_off {
        beside += &format!(", and {} with the write cache off", latency(off.p50_us()));
    }
    if is_served_by_software(case) {
        return Some(behind_software(case, commit, &beside, evidence));
    }
    let drive = case.drive_label();
    let takes = format!("({}) takes {}", operation_name(commit), latency(commit.p50_us()));
    let drives = case.drives();
    let of_sata =
        |drive: &&BlockDevice| matches!(drive.transport, Transport::Sata | Transport::Sas);
    let unprotected = "a drive without power-loss protection (PLP)";
    let (title, confidence, doubt, advice) = if case.raid_controller().is_some() {
        let title = format!("{drive} commits like {unprotected}: a commit {takes}{beside}.");
        let doubt = "A RAID controller sits in between: without a healthy battery it writes \
                     through and hides what the drive could do.";
        let advice = "Check with the vendor's tool that the controller's cache is on and its \
                      battery healthy, or measure the drive on a plain adapter."
            .to_owned();
        (title, Confidence::Low, Some(doubt), advice)
    } else if !case.is_directly_attached() {
        let title = format!("{drive} commits like {unprotected}: a commit {takes}{beside}.");
        let doubt = "An adapter sits in between, and may be what takes the time.";
        (title, Confidence::Low, Some(doubt), USE_A_PROTECTED_DRIVE.to_owned())
    } else if cache_off.is_none()
        && case.cache_belief() != Some(WriteCache::WriteThrough)
        && drives.iter().any(of_sata)
    {
        let title = format!(
            "{drive} commits like {unprotected} while its write cache is on: a commit \
             {takes}{beside}."
        );
        let doubt = "Some protected SATA drives still write their cache out on each flush while it \
                     is on (Micron 5100: 671 commits/s, and 25,100 with the cache off).";
        let shows =
            format!("{} shows whether it is fast with its cache off", measure_write_cache(case));
        let advice = if is_published_as_protected(case) {
            evidence.push(Evidence::fact("power-loss protection (catalogue)", "yes"));
            format!("The catalogue lists it as protected: {shows}.")
        } else {
            format!(
                "If its datasheet promises power-loss protection, {shows}; otherwise use a drive \
                 that has it where commits matter."
            )
        };
        (title, Confidence::Medium, Some(doubt), advice)
    } else {
        let title =
            format!("{drive} shows no power-loss protection (PLP): a commit {takes}{beside}.");
        let confidence = if control.is_some() { Confidence::High } else { Confidence::Medium };
        (title, confidence, None, USE_A_PROTECTED_DRIVE.to_owned())
    };
    Some(Finding {
        id: "no-power-loss-protection".to_owned(),
        title,
        evidence,
        confidence,
        doubt: doubt.map(str::to_owned),
        advice,
    })
}

const USE_A_PROTECTED_DRIVE: &str = "Where commits matter (database log, Ceph, SLOG), use a drive \
                                     whose datasheet promises power-loss protection; `flushmark \
                                     catalogue --protected yes` lists such drives.";

/// Returns whether a hypervisor, a server or another driver answers, instead of a drive on a bus.
fn is_served_by_software(case: &Case<'_>) -> bool {
    let on_a_bus = |drive: &&BlockDevice| {
        use Transport::{Mmc, Nvme, Pmem, Sas, Sata, Usb};
        matches!(drive.transport, Nvme | Sata | Sas | Usb | Mmc | Pmem)
    };
    case.raid_controller().is_none() && (case.is_virtual() || !case.drives().iter().all(on_a_bus))
}

/// A slow commit shows nothing about the cache of a drive if other software or a network is in
/// between.
fn behind_software(
    case: &Case<'_>,
    commit: &TestResult,
    beside: &str,
    evidence: Vec<Evidence>,
) -> Finding {
    Finding {
        id: "slow-commit-behind-software".to_owned(),
        title: format!(
            "A commit ({}) on {} takes {}{beside}; the hypervisor or the network may be the cause, \
             not a lack of power-loss protection (PLP).",
            operation_name(commit),
            case.drive_label(),
            latency(commit.p50_us()),
        ),
        evidence,
        confidence: Confidence::Medium,
        doubt: None,
        advice: "Run `flushmark check` on another class of volume or a local drive of the same \
                 provider to compare."
            .to_owned(),
    }
}

/// Returns whether the catalogue lists this drive, with power-loss protection.
fn is_published_as_protected(case: &Case<'_>) -> bool {
    let drives = case.drives();
    let [drive] = drives.as_slice() else { return false };
    let published = drive.label().map(|label| catalogue::reported_as(&label)).unwrap_or_default();
    !published.is_empty()
        && published
            .iter()
            .all(|drive| matches!(drive.power_loss_protection, PowerLossProtection::Yes { .. }))
}
