//! Mounted filesystems: barriers, free space, discard.

use drive::HostFacts;
use drive::host::FilesystemFacts;
use measurement::AuditLine;

use super::line::{costs, dangerous, good, with_command};
use crate::wording::{option_restoring_flushes, shell_word};

/// Above this share a filesystem searches long for free blocks, and flash without over-provisioning
/// must move data before it can write.
const FILL_MAX: f64 = 0.9;

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    host.filesystems.iter().flat_map(of_one).collect()
}

fn of_one(filesystem: &FilesystemFacts) -> Vec<AuditLine> {
    let place = filesystem.mount_point.display();
    // For commands that the user pastes into a root shell.
    let word = shell_word(&place.to_string());
    let mut lines = Vec::new();
    lines.push(match &filesystem.flushes_disabled_by {
        Some(option) => AuditLine {
            advice: format!(
                "Remove `{option}` from /etc/fstab; a drive with power-loss protection is fast \
                 without it."
            ),
            command: option_restoring_flushes(option).map(|again| {
                format!(
                    "mount -o \
                remount,{again} {word}"
                )
            }),
            ..dangerous(
                "barriers",
                format!("{place}: barriers"),
                format!("{} is mounted with `{option}`", filesystem.fs_type),
                "No sync flushes the drive's cache: a power cut loses acknowledged commits and may \
                 damage the filesystem itself.",
            )
        },
        None => good(
            "barriers",
            format!("{place}: barriers"),
            format!("{} sends flushes", filesystem.fs_type),
            "A sync reaches the drive.",
        ),
    });
    if let Some(space) = filesystem.space.filter(|space| space.total_bytes > 0) {
        let full = 1.0 - space.free_bytes as f64 / space.total_bytes as f64;
        let found = format!("{:.0} % full", full * 100.0);
        let subject = format!("{place}: free space");
        lines.push(if full > FILL_MAX {
            let why = "A full filesystem searches long for free blocks and scatters its writes. A \
                       flash drive that is nearly full must move data before it can write, which \
                       multiplies the latency of a commit.";
            AuditLine {
                advice: "Free some space, then run fstrim so that the drive learns which \
                                 blocks are free."
                    .to_owned(),
                command: Some(format!("fstrim {word}")),
                ..costs("fill", subject, found, why)
            }
        } else {
            good("fill", subject, found, "Enough free space.")
        });
    }
    if filesystem.discard {
        let why = "Freed blocks are discarded during the journal's commit, and a sync waits for \
                   that; on some drives it takes milliseconds.";
        lines.push(with_command(
            costs("discard", format!("{place}: discard"), "mounted with `discard`", why),
            "Mount without `discard` and trim once a week.",
            "systemctl enable --now fstrim.timer",
        ));
    }
    lines
}
