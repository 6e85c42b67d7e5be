//! The filesystem is mounted with an option that disables flushes.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::latency;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::wording::{capitalised, median, rounded};

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let FlushPath::SwitchedOffByMount { option } = FlushPath::of(case) else { return None };
    let mount = case.place?.mount.as_ref()?;
    let mount_point = mount.mount_point.display();
    let mut evidence = vec![Evidence::fact(
        format!("mount option of {mount_point} ({})", mount.fs_type),
        option.as_str(),
    )];
    let commit = case.flushing_commit();
    if let Some(per_commit) = commit.and_then(TestResult::flushes_per_commit) {
        evidence.push(Evidence::number(
            "flushes counted by the device",
            rounded(per_commit),
            "per commit",
        ));
    }
    evidence.extend(commit.map(median));
    let price = commit.map_or(String::new(), |commit| {
        format!(" (a commit takes {} and is not durable)", latency(commit.p50_us()))
    });
    Some(Finding {
        id: "flushes-switched-off".to_owned(),
        title: format!(
            "A power cut loses acknowledged commits: {} on {mount_point} is mounted with \
             `{option}`, so no sync flushes the drive's cache{price}.",
            mount.fs_type
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: remedy(
            &mount.fs_type,
            &option,
            &mount_point.to_string(),
            &mount.source.display().to_string(),
        ),
    })
}

/// How to re-enable flushes. Each filesystem has its own spelling, and only ext3 and ext4 also keep
/// the option in the superblock.
fn remedy(fs_type: &str, option: &str, mount_point: &str, source: &str) -> String {
    let fstab = format!("remove `{option}` from /etc/fstab");
    match fs_type {
        "ext3" | "ext4" => format!(
            "Run `mount -o remount,barrier=1 {mount_point}` now, and {fstab}; if it is not set \
             there, run `tune2fs -o ^nobarrier {source}`."
        ),
        "btrfs" => format!("Run `mount -o remount,barrier {mount_point}` now, and {fstab}."),
        "f2fs" => format!(
            "Run `mount -o remount,fsync_mode=posix {mount_point}` now, and \
                           {fstab}."
        ),
        "overlay" => {
            "Start the container without the `volatile` option, or give the database a separate \
             volume."
                .to_owned()
        }
        _ => format!("{} and remount {mount_point}.", capitalised(&fstab)),
    }
}
