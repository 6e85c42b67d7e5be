//! A rotating disk that commits faster than it turns.

use measurement::{Confidence, Evidence, Finding};
use workload::number::latency;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::physics::{ROTATING_LEAST_US, TURN_7200_RPM_US};
use crate::wording::{flushes, median};

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    if FlushPath::of(case).not_durable_because().is_some() || case.said_to_rotate() != Some(true) || case.is_virtual() {
        return None;
    }
    // That it does rotate must be seen, not only said: a read that waits for the platter.
    let read = case.random_read().filter(|read| read.p50_us() >= ROTATING_LEAST_US)?;
    let commit = case.flushing_commit().filter(|commit| commit.p50_us() < ROTATING_LEAST_US)?;
    let mut evidence = vec![Evidence::fact("rotational, as the kernel says", "yes"), median(read), median(commit)];
    evidence.extend(flushes(commit));
    let (confidence, doubt) = if case.is_directly_attached() {
        let hybrid = "Disks with flash or a reserved band of the platter as cache are that fast and honest, until that cache is full.";
        (Confidence::Medium, hybrid)
    } else {
        (Confidence::Low, "A RAID controller with a battery or flash behind its cache is that fast and honest.")
    };
    Some(Finding {
        id: "flush-too-fast".to_owned(),
        title: format!(
            "A commit takes {}, and the disk needs {} for a turn: the flush did not wait for the platter.",
            latency(commit.p50_us()),
            latency(TURN_7200_RPM_US)
        ),
        evidence,
        confidence,
        doubt: Some(format!("{doubt} Timing alone cannot tell it from a lie.")),
        advice:
            "Prove it with `flushmark verify` and a power cut; until then, trust it with nothing that must survive one."
                .to_owned(),
    })
}
