//! Whether the drive rotates: the kernel's claim, weighed against what a platter can do.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::latency;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::physics::{ROTATING_US_MIN, ROTATION_7200_RPM_US};
use crate::wording::median;

/// Only a rotating disk (or an equally slow network) has both its median read and its median commit
/// above half a rotation at 7200 rpm. Flash reads in 0.1 ms and flushes in up to 3 ms.
const LOOKS_ROTATING_US: f64 = ROTATION_7200_RPM_US / 2.0;

/// Whether a test was too fast for any platter: a random read of data that is not all in the disk's
/// cache, or a commit.
pub(super) fn numbers_deny_rotation(case: &Case<'_>) -> bool {
    !denials(case).is_empty()
}

fn denials<'a>(case: &Case<'a>) -> Vec<&'a TestResult> {
    // A fast commit on a real disk is suspicious in itself (`flush_too_fast`), so only a read
    // decides; on a virtual disk the kernel's claim is unreliable, and either suffices.
    let read = case.random_read();
    let commit = case.cheapest_commit().filter(|_| read.is_none() || case.is_virtual());
    read.into_iter().chain(commit).filter(|result| result.p50_us() < ROTATING_US_MIN).collect()
}

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    // A loop device repeats the claim of the drive under its file, and is read from memory.
    let is_file = case.loop_device().is_some();
    if is_file || matches!(FlushPath::of(case), FlushPath::InMemory { .. }) {
        return None;
    }
    let denials = denials(case);
    let said = match case.export {
        // A server that answers from its memory is not wrong about its drive.
        Some(export) if export.rotational && !denials.is_empty() => return None,
        Some(export) => Some(export.rotational),
        None => case.reported_rotational(),
    };
    let confirms = |result: Option<&TestResult>| {
        result.is_some_and(|result| result.p50_us() >= LOOKS_ROTATING_US)
    };
    let looks_rotating = confirms(case.random_read()) && confirms(case.cheapest_commit());
    match said {
        Some(true) if !denials.is_empty() => Some(claim_wrong(case, &denials)),
        Some(true) => rotating(case),
        _ if looks_rotating => Some(slow_as_rotating(case)),
        _ => None,
    }
}

fn rotating(case: &Case<'_>) -> Option<Finding> {
    let commit = case.cheapest_commit();
    let read = case.random_read();
    // A hypervisor makes that claim of any disk, and a commit on unprotected flash is as slow: only
    // a read shows that its host has a platter.
    if case.is_virtual() && read.is_none() {
        return None;
    }
    let measured = read.or(commit)?;
    let confidence =
        if read.is_some_and(|read| read.p50_us() >= ROTATING_US_MIN) || !case.is_virtual() {
            Confidence::High
        } else {
            Confidence::Medium
        };
    let source = if case.export.is_some() { "rotational (server)" } else { "rotational (kernel)" };
    let mut evidence = vec![Evidence::fact(source, "yes")];
    evidence.extend(commit.into_iter().chain(read).map(median));
    Some(Finding {
        id: "rotating-disk".to_owned(),
        title: match commit.filter(|commit| commit.p50_us() >= ROTATING_US_MIN) {
            Some(commit) => format!(
                "{} is a rotating disk: a commit waits {} for the platter.",
                case.drive_label(),
                latency(commit.p50_us())
            ),
            None => format!(
                "{} is a rotating disk: a random access takes {}.",
                case.drive_label(),
                latency(measured.p50_us())
            ),
        },
        evidence,
        confidence,
        doubt: None,
        advice: "Put what commits (database log, ZFS SLOG, Ceph block.db) on an SSD with \
                 power-loss protection, and keep the bulk of the data here."
            .to_owned(),
    })
}

fn claim_wrong(case: &Case<'_>, denials: &[&TestResult]) -> Finding {
    let fastest = denials.iter().map(|result| result.p50_us()).fold(f64::INFINITY, f64::min);
    let mut evidence = vec![Evidence::fact("rotational (kernel)", "yes")];
    evidence.extend(denials.iter().map(|result| median(result)));
    let what = if case.is_virtual() { "flash, or the memory of its host" } else { "flash" };
    let disk = case.disk_path();
    let name = disk.rsplit('/').next().unwrap_or_default();
    Finding {
        id: "rotation-claim-wrong".to_owned(),
        title: format!(
            "The kernel lists {disk} as a rotating disk, but it answers in {}, less than a quarter \
             of a rotation: it is {what}.",
            latency(fastest)
        ),
        evidence,
        confidence: if denials.len() > 1 { Confidence::High } else { Confidence::Medium },
        doubt: None,
        advice: format!(
            "Software tunes itself by that flag (Ceph's device class, btrfs, swap). Correct it \
             until the next boot with `echo 0 > /sys/block/{name}/queue/rotational`."
        ),
    }
}

fn slow_as_rotating(case: &Case<'_>) -> Finding {
    let evidence: Vec<Evidence> =
        case.random_read().into_iter().chain(case.cheapest_commit()).map(median).collect();
    Finding {
        id: "as-slow-as-a-rotating-disk".to_owned(),
        title: format!(
            "Reads and commits take as long as a rotation ({} at 7200 rpm), although {} does not \
             report a rotating disk.",
            latency(ROTATION_7200_RPM_US),
            if case.export.is_some() { "the server" } else { "the kernel" }
        ),
        evidence,
        confidence: Confidence::Low,
        doubt: Some("A throttled volume or a slow network looks the same.".to_owned()),
        advice: "Check whether the volume has an IOPS limit, and what the controller or the \
                 network connects to."
            .to_owned(),
    }
}
