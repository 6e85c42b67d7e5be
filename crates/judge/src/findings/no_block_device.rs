//! No block device is visible under the target.

use drive::NoBlockDevice;
use measurement::{Confidence, Evidence, ExportRecord, Finding};

use crate::case::Case;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    if let Some(export) = case.export {
        return Some(served(export));
    }
    let because = case.place?.no_block_device()?;
    let advice = match because {
        // `in_memory` reports it more precisely.
        NoBlockDevice::Memory { .. } => return None,
        NoBlockDevice::Overlay { .. } => {
            "Run `flushmark check` on a volume of the container, or on the host in the directory \
             named above."
        }
        NoBlockDevice::Network { .. } => {
            "Also run `flushmark check` on the server: the difference is the network."
        }
        NoBlockDevice::Served { .. } => {
            "Run `flushmark check` where that program stores its files."
        }
        NoBlockDevice::Pool { .. } => {
            "`zpool status -v` lists the devices; run `flushmark run slog DEVICE` on a \
             spare one to see the cost of a log on it."
        }
        NoBlockDevice::NotInSysfs { .. } => {
            "Mount the host's /sys into the container, read-only, and measure again."
        }
        NoBlockDevice::Unresolved { .. } => {
            "Run `flushmark check` on the device itself if you can find it."
        }
    };
    Some(Finding {
        id: "no-block-device".to_owned(),
        title: format!("The flushes of {} could not be counted: {because}.", case.path()),
        evidence: vec![Evidence::fact("underlying storage", because.to_string())],
        confidence: Confidence::High,
        doubt: None,
        advice: advice.to_owned(),
    })
}

/// The numbers are those of a server, its transport and whatever drive it uses.
fn served(export: &ExportRecord) -> Finding {
    Finding {
        id: "no-block-device".to_owned(),
        title: format!(
            "The flushes of {} could not be counted: an NBD server sits between this machine and \
             the drive.",
            export.uri
        ),
        evidence: vec![Evidence::fact("underlying storage", "known only to the server")],
        confidence: Confidence::High,
        doubt: None,
        advice: "Also run `flushmark check` on the server, where it stores the data: the \
                 difference is the server and the connection to it."
            .to_owned(),
    }
}
