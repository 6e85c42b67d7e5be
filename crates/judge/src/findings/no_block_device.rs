//! No block device can be seen beneath the target.

use drive::NoBlockDevice;
use measurement::{Confidence, Evidence, Finding};

use crate::case::Case;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let because = case.place?.no_block_device()?;
    let advice = match because {
        // `in_memory` says it with more right.
        NoBlockDevice::Memory { .. } => return None,
        NoBlockDevice::Overlay { .. } => {
            "Run `flushmark check` on a volume of the container, or on the host in the directory named above."
        }
        NoBlockDevice::Network { .. } => {
            "Run `flushmark check` on the server as well: the difference is the network's."
        }
        NoBlockDevice::Served { .. } => "Run `flushmark check` where that program keeps its files.",
        NoBlockDevice::Pool { .. } => {
            "`zpool status -v` names the devices; run `flushmark run slog --target DEVICE` on a spare one to see what its log would cost."
        }
        NoBlockDevice::NotInSysfs { .. } => "Mount the host's /sys into the container, read-only, and measure again.",
        NoBlockDevice::Unresolved { .. } => "Run `flushmark check` on the device itself, if it can be found.",
    };
    Some(Finding {
        id: "no-block-device".to_owned(),
        title: format!("No device can be seen beneath {}, so that nobody counted its flushes: {because}.", case.path()),
        evidence: vec![Evidence::fact("what lies beneath", because.to_string())],
        confidence: Confidence::High,
        doubt: None,
        advice: advice.to_owned(),
    })
}
