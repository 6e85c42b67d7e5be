//! FUA that was asked for, but became a flush.

use drive::Transport;
use measurement::{Confidence, Evidence, Finding, Stage};

use super::{NOTABLE, Traced};

pub(super) fn emulated(traced: &Traced<'_>) -> Option<Finding> {
    let reached = &traced.anatomy.reached;
    // A commit of the journal now and then does not decide what the others cost.
    (traced.each(reached.flushes_after) >= NOTABLE).then(|| Finding {
        id: "fua-emulated".to_owned(),
        title: format!(
            "FUA did not reach {}: the kernel sent a write and then a flush of the whole cache.",
            traced.devices()
        ),
        evidence: vec![
            Evidence::number("writes that asked for FUA", traced.each(reached.fua_asked), ""),
            Evidence::number("writes sent with FUA", traced.each(reached.fua_sent), ""),
            Evidence::number(
                "flushes after a write, per commit",
                traced.each(reached.flushes_after),
                "",
            ),
            Evidence::number("flush, mean per commit", traced.anatomy.mean_us(Stage::Flush), "us"),
        ],
        confidence: Confidence::High,
        doubt: None,
        advice: if traced.drives.iter().any(|drive| drive.transport == Transport::Sata) {
            "The kernel sends FUA to SATA drives only with `libata.fua=1` on its command line, and \
             many of them do not support it. Compare with the cache switched off (`flushmark \
             cache off DEV`): then a commit is one write."
                .to_owned()
        } else {
            "`queue/fua` in sysfs is 0 for this device: its driver does not accept FUA, so each such \
             write costs a flush of everything in the cache."
                .to_owned()
        },
    })
}
