//! The kernel's setting denies a volatile cache that the drive reports.

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
            "The kernel is configured not to flush {}, although the drive reports a volatile \
             cache.",
            case.drive_label()
        ),
        evidence: vec![
            Evidence::fact(format!("{name}: cache as the drive reports it"), drive_says),
            Evidence::fact(format!("{name}: queue/write_cache"), "write through"),
        ],
        confidence: Confidence::High,
        doubt: Some(
            "A drive with power-loss protection loses nothing because of this; check its \
             datasheet."
                .to_owned(),
        ),
        advice: format!(
            "Re-enable flushes with `echo 'write back' > /sys/block/{name}/queue/write_cache`. To \
             avoid flushes, switch the cache off instead: `flushmark cache off {disk}`."
        ),
    })
}
