//! The filesystem is mounted with `sync`, so even the test without a sync has one.

use measurement::{Confidence, Evidence, Finding};

use crate::case::Case;
use crate::wording::median;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let mount = case.place?.mount.as_ref().filter(|mount| mount.synchronous())?;
    let mount_point = mount.mount_point.display();
    let mut evidence = vec![Evidence::fact(format!("mount option of {mount_point}"), "sync")];
    evidence.extend(case.control().map(median));
    Some(Finding {
        id: "synchronous-mount".to_owned(),
        title: format!(
            "{mount_point} is mounted with `sync`: every write waits for durability, even unsynced \
             ones."
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: format!(
            "Run `mount -o remount,async {mount_point}`: software that needs durability requests \
             it, and other writes need not wait."
        ),
    })
}
