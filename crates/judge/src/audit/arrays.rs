//! Software RAID: Documentation/driver-api/md/{raid5-cache,raid5-ppl}.rst (a partial parity log costs 30 to 40 % of the write speed), admin-guide/md.rst.

use drive::HostFacts;
use drive::host::Array;
use measurement::{AuditLine, HostGrade};

use super::line::{advised, costs, dangerous, good, line, with_command};

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    host.arrays.iter().flat_map(of_array).collect()
}

fn of_array(array: &Array) -> Vec<AuditLine> {
    let mut lines = Vec::new();
    let level = array.level.as_deref().unwrap_or("array");
    let members = array.members.join(", ");
    let policy = array.consistency_policy.as_deref().unwrap_or("unknown");
    let name = &array.name;
    if let Some(missing) = array.degraded.filter(|missing| *missing > 0) {
        lines.push(advised(
            dangerous(
                "array-degraded",
                format!("{name}: members"),
                format!("{missing} of its members missing; left: {members}"),
                "The next drive that fails may take the data with it, and reads of what is missing are computed from all others.",
            ),
            format!("Replace what has failed: `mdadm --detail /dev/{name}` names it."),
        ));
    }
    match (level, policy) {
        ("raid4" | "raid5" | "raid6", "ppl" | "journal") => lines.push(good(
            "write-hole",
            format!("{name}: consistency after a power cut"),
            format!("{level} of {members}, policy {policy}"),
            "What a cut leaves half written is known from the log, and made whole before the array is used.",
        )),
        ("raid4" | "raid5" | "raid6", "unknown") => lines.push(advised(
            line(
                "write-hole",
                format!("{name}: consistency after a power cut"),
                HostGrade::Unknown,
                format!("{level} of {members}; the kernel does not tell its policy"),
                "Without a journal or a partial parity log, a power cut and a lost disk together may corrupt what nobody wrote.",
            ),
            format!("`mdadm --detail /dev/{name}` shows its consistency policy."),
        )),
        ("raid4" | "raid5" | "raid6", _) => lines.push(write_hole(array, level, policy)),
        _ => {}
    }
    // RAID5 is better served by a partial parity log, which excludes a bitmap.
    let bitmap_helps = matches!(level, "raid1" | "raid10" | "raid6") && policy != "journal";
    if bitmap_helps && array.bitmap.as_deref() == Some("none") {
        lines.push(with_command(
            costs(
                "array-bitmap",
                format!("{name}: write-intent bitmap"),
                "none".to_owned(),
                "After a power cut the whole array is compared or computed anew, for hours, and every commit waits behind that.",
            ),
            "Keep a bitmap, so that only what was being written is resynchronised.",
            format!("mdadm --grow --bitmap=internal /dev/{name}"),
        ));
    }
    if let Some(action) = array.sync_action.as_deref().filter(|action| !matches!(*action, "idle" | "frozen")) {
        lines.push(costs(
            "array-busy",
            format!("{name}: background work"),
            action.to_owned(),
            "The array reads and writes all of itself at this moment: what is measured now is slower than usual.",
        ));
    }
    lines
}

/// Told on this very array.
fn write_hole(array: &Array, level: &str, policy: &str) -> AuditLine {
    let name = &array.name;
    let members = &array.members;
    let (data, parity) = match members.as_slice() {
        [first, .., last] => (first.as_str(), last.as_str()),
        _ => ("one disk", "another"),
    };
    let third = members.get(1).map_or("a third", String::as_str);
    let why = format!(
        "A write to {data} changes the parity of its stripe on {parity} as well, and the two cannot be written at one moment. If power goes between them and {third} is lost before the array is made whole, what {third} held in that stripe is computed from a parity that fits no data: a block that nobody wrote is silently wrong, also one that was committed years ago. This is the write hole."
    );
    let hole = dangerous(
        "write-hole",
        format!("{name}: consistency after a power cut"),
        format!("{level} of {}, policy {policy}", members.join(", ")),
        &why,
    );
    if level == "raid5" && policy == "bitmap" {
        // Two steps, the first of which alone leaves the array worse off: nothing to be pasted.
        advised(
            hole,
            "A partial parity log closes it, for up to 40 % of the write speed. It takes the place of the bitmap, which has to be removed first (mdadm(8), --consistency-policy). A journal on a drive with power-loss protection closes it, too.",
        )
    } else if level == "raid5" {
        with_command(
            hole,
            "A partial parity log closes it, for up to 40 % of the write speed; so does a journal on a drive with power-loss protection.",
            format!("mdadm --grow --consistency-policy=ppl /dev/{name}"),
        )
    } else {
        advised(
            hole,
            format!(
                "A journal on a drive with power-loss protection closes it: `mdadm /dev/{name} --add-journal DEVICE` on an array made for one. {level} has no partial parity log."
            ),
        )
    }
}
