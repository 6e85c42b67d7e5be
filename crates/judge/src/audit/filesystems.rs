//! Mounted filesystems: barriers, room, discard.

use drive::HostFacts;
use drive::host::FilesystemFacts;
use measurement::AuditLine;

use super::line::{costs, dangerous, good, with_command};
use crate::wording::{flushes_again, shell_word};

/// From here on a filesystem searches for room, and flash without room of its own has to move data before it can write.
const FILL_MOST: f64 = 0.9;

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    host.filesystems.iter().flat_map(of_one).collect()
}

fn of_one(filesystem: &FilesystemFacts) -> Vec<AuditLine> {
    let place = filesystem.mount_point.display();
    // What is to be copied into a root's shell.
    let word = shell_word(&place.to_string());
    let mut lines = Vec::new();
    lines.push(match &filesystem.flushes_disabled_by {
        Some(option) => AuditLine {
            advice: format!(
                "Remove `{option}` from /etc/fstab; a drive with power-loss protection needs no such option to be fast."
            ),
            command: flushes_again(option).map(|again| format!("mount -o remount,{again} {word}")),
            ..dangerous(
                "barriers",
                format!("{place}: barriers"),
                format!("{} is mounted with `{option}`", filesystem.fs_type),
                "No sync there flushes the drive's cache: what was acknowledged is lost in a power cut, and the filesystem itself may be damaged.",
            )
        },
        None => good("barriers", format!("{place}: barriers"), format!("{} sends flushes", filesystem.fs_type), "A sync reaches the drive."),
    });
    if let Some(space) = filesystem.space.filter(|space| space.total_bytes > 0) {
        let full = 1.0 - space.free_bytes as f64 / space.total_bytes as f64;
        let found = format!("{:.0} % full", full * 100.0);
        let subject = format!("{place}: room");
        lines.push(if full > FILL_MOST {
            let why = "A full filesystem searches long for free blocks and scatters what it writes; a flash drive that is nearly full moves data about before it can write, which multiplies the latency of a commit.";
            AuditLine { advice: "Free some of it, and run fstrim afterwards, so that the drive learns what is free.".to_owned(), command: Some(format!("fstrim {word}")), ..costs("fill", subject, found, why) }
        } else {
            good("fill", subject, found, "There is room to write to.")
        });
    }
    if filesystem.discard {
        let why = "Freed blocks are discarded inside the journal's commit, which a sync waits for; some drives take milliseconds for that.";
        lines.push(with_command(
            costs("discard", format!("{place}: discard"), "mounted with `discard`", why),
            "Mount without it and trim once a week.",
            "systemctl enable --now fstrim.timer",
        ));
    }
    lines
}
