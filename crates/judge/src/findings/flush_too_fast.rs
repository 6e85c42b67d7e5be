//! A rotating disk commits faster than it rotates.

use measurement::{Confidence, Evidence, Finding};
use workload::number::latency;

use crate::case::Case;
use crate::physics::{ROTATING_US_MIN, ROTATION_7200_RPM_US};
use crate::wording::{flushes, median};

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    if case.reported_rotational() != Some(true) || case.is_virtual() || case.loop_device().is_some()
    {
        return None;
    }
    // The kernel's claim is not enough: a read that waits for the platter shows that it rotates.
    let read = case.random_read().filter(|read| read.p50_us() >= ROTATING_US_MIN)?;
    let commit = case.flushing_commit().filter(|commit| commit.p50_us() < ROTATING_US_MIN)?;
    let mut evidence =
        vec![Evidence::fact("rotational (kernel)", "yes"), median(read), median(commit)];
    evidence.extend(flushes(commit));
    let (confidence, doubt) = if case.is_directly_attached() {
        let hybrid = "A disk that caches in flash or in a reserved band of the platter is that \
                      fast without lying, until that cache is full.";
        (Confidence::Medium, hybrid)
    } else {
        (
            Confidence::Low,
            "A RAID controller whose cache is backed by a battery or flash is that fast without \
             lying.",
        )
    };
    Some(Finding {
        id: "flush-too-fast".to_owned(),
        title: format!(
            "A commit takes {}, less than the {} of one rotation: the flush did not wait for the \
             platter.",
            latency(commit.p50_us()),
            latency(ROTATION_7200_RPM_US)
        ),
        evidence,
        confidence,
        doubt: Some(format!("{doubt} Timing alone cannot distinguish that from a lie.")),
        advice: "Run `flushmark verify` with a power cut to find out; until then, do not store \
             anything on it that must survive one."
            .to_owned(),
    })
}
