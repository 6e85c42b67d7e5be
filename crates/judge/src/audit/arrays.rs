//! Software RAID: Documentation/driver-api/md/{raid5-cache,raid5-ppl}.rst (a partial parity log
//! costs 30 to 40 % of the write speed), admin-guide/md.rst.

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
                format!("{missing} members missing; remaining: {members}"),
                "Another drive failure may lose the data. Reads of the missing data are \
                 reconstructed from all other members.",
            ),
            format!(
                "Replace the failed member; `mdadm --detail /dev/{name}` shows which one it \
                     is."
            ),
        ));
    }
    match (level, policy) {
        ("raid4" | "raid5" | "raid6", "ppl" | "journal") => lines.push(good(
            "write-hole",
            format!("{name}: consistency after a power cut"),
            format!("{level} of {members}, policy {policy}"),
            "The log records which stripes were being written, and they are repaired before the \
             array is used.",
        )),
        ("raid4" | "raid5" | "raid6", "unknown") => lines.push(advised(
            line(
                "write-hole",
                format!("{name}: consistency after a power cut"),
                HostGrade::Unknown,
                format!("{level} of {members}; the kernel does not report its policy"),
                "Without a journal or a partial parity log, a power cut followed by a drive \
                 failure may corrupt data that was not being written.",
            ),
            format!("`mdadm --detail /dev/{name}` shows its consistency policy."),
        )),
        ("raid4" | "raid5" | "raid6", _) => lines.push(write_hole(array, level, policy)),
        _ => {}
    }
    // For RAID5 a partial parity log is better, and it excludes a bitmap.
    let bitmap_helps = matches!(level, "raid1" | "raid10" | "raid6") && policy != "journal";
    if bitmap_helps && array.bitmap.as_deref() == Some("none") {
        lines.push(with_command(
            costs(
                "array-bitmap",
                format!("{name}: write-intent bitmap"),
                "none".to_owned(),
                "After a power cut the whole array is compared or recomputed. That takes hours, \
                 and every commit competes with it.",
            ),
            "Add a bitmap: only the regions that were being written are then resynchronised.",
            format!("mdadm --grow --bitmap=internal /dev/{name}"),
        ));
    }
    if let Some(action) =
        array.sync_action.as_deref().filter(|action| !matches!(*action, "idle" | "frozen"))
    {
        lines.push(costs(
            "array-busy",
            format!("{name}: background work"),
            action.to_owned(),
            "The array is reading and writing all of its members; measurements are slower than \
             usual until it finishes.",
        ));
    }
    lines
}

/// Explains the write hole with the names of this array's members.
fn write_hole(array: &Array, level: &str, policy: &str) -> AuditLine {
    let name = &array.name;
    let members = &array.members;
    let (data, parity) = match members.as_slice() {
        [first, .., last] => (first.as_str(), last.as_str()),
        _ => ("one disk", "another"),
    };
    let third = members.get(1).map_or("a third", String::as_str);
    let why = format!(
        "A write to {data} also changes the parity of its stripe on {parity}, and the two cannot \
         be written atomically. If power fails between them and {third} is lost before the array \
         is resynchronised, the blocks of {third} in that stripe are reconstructed from parity \
         that does not match the data: a block that was not being written is silently wrong, even \
         one committed years ago. This is the write hole."
    );
    let hole = dangerous(
        "write-hole",
        format!("{name}: consistency after a power cut"),
        format!("{level} of {}, policy {policy}", members.join(", ")),
        &why,
    );
    if level == "raid5" && policy == "bitmap" {
        // It takes two steps, and the first alone leaves the array worse off: no command to paste.
        advised(
            hole,
            "A partial parity log closes it at a cost of up to 40 % of the write speed. It \
             replaces the bitmap, which must be removed first (mdadm(8), --consistency-policy). A \
             journal on a drive with power-loss protection also closes it.",
        )
    } else if level == "raid5" {
        with_command(
            hole,
            "A partial parity log closes it at a cost of up to 40 % of the write speed; so does a \
             journal on a drive with power-loss protection.",
            format!("mdadm --grow --consistency-policy=ppl /dev/{name}"),
        )
    } else {
        advised(
            hole,
            format!(
                "A journal on a drive with power-loss protection closes it: `mdadm /dev/{name} \
                 --add-journal DEVICE` on an array created with one. {level} does not support a \
                 partial parity log."
            ),
        )
    }
}
