//! A RAID controller acknowledges flushes in place of the drives.

use measurement::{Confidence, Evidence, Finding};

use crate::case::Case;
use crate::wording::{flushes, median};

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let controller = case.raid_controller()?;
    let driver = controller.driver.as_deref().unwrap_or("no driver");
    let ids = format!("{:04x}:{:04x}, driver {driver}", controller.vendor_id, controller.device_id);
    let mut evidence = vec![Evidence::fact(format!("PCI {}", controller.address), ids)];
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit());
    evidence.extend(commit.map(median));
    evidence.extend(commit.and_then(flushes));
    Some(Finding {
        id: "behind-raid-controller".to_owned(),
        title: format!(
            "A RAID controller hides {}: the tests measured its cache, and it decides whether \
             flushes reach the drives.",
            case.drive_label()
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: "Check with the vendor's tool (storcli, perccli, ssacli, arcconf) that its cache \
                 has a healthy battery, that it writes through without one, and that the drives' \
                 caches are off."
            .to_owned(),
    })
}
