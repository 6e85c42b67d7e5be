//! Somebody told the kernel that the drive has no volatile cache.

use measurement::{Confidence, Evidence, Finding};

use crate::case::Case;
use crate::flush_path::FlushPath;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let FlushPath::SwitchedOffByQueue { drive_says } = FlushPath::of(case) else { return None };
    let disk = case.disk_path();
    let name = disk.rsplit('/').next().unwrap_or_default().to_owned();
    Some(Finding {
        id: "cache-belief-overridden".to_owned(),
        title: format!(
            "The kernel has been told to send no flushes to {}, which itself says that it has a volatile cache.",
            case.drive_label()
        ),
        evidence: vec![
            Evidence::fact(format!("{name}: what the drive says of its cache"), drive_says),
            Evidence::fact(format!("{name}: queue/write_cache"), "write through"),
        ],
        confidence: Confidence::High,
        doubt: Some("A drive with power-loss protection loses nothing by that; only its datasheet tells.".to_owned()),
        advice: format!(
            "`echo 'write back' > /sys/block/{name}/queue/write_cache` sends flushes again. If flushes are to be saved, switch off the cache itself: `flushmark cache off {disk}`."
        ),
    })
}
