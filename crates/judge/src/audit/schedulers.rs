//! I/O schedulers by medium: Documentation/block/{bfq-iosched,deadline-iosched,kyber-iosched}.rst.

use drive::HostFacts;
use drive::host::DiskSettings;
use measurement::AuditLine;

use super::line::{costs, good, with_command};

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    host.disks.iter().filter_map(of_disk).collect()
}

fn of_disk(disk: &DiskSettings) -> Option<AuditLine> {
    let scheduler = disk.scheduler.as_deref()?;
    let subject = format!("{}: I/O scheduler", disk.name);
    let rotating = disk.rotational == Some(true) && disk.virtual_disk.is_none();
    let (medium, best) = match (disk.virtual_disk, rotating) {
        (Some(_), _) => ("a virtual disk", "none"),
        (None, true) => ("a rotating disk", "mq-deadline"),
        (None, false) => ("flash", "none"),
    };
    let found = format!("{scheduler} on {medium}");
    let command = format!("echo {best} > /sys/block/{}/queue/scheduler", disk.name);
    Some(match (scheduler, rotating) {
        ("bfq", false) => {
            let why = "bfq holds requests back to share a slow disk fairly; on flash its \
                       bookkeeping costs several microseconds per request, and a commit may wait \
                       for other processes.";
            with_command(
                costs("scheduler", subject, found, why),
                "Let the drive order the requests.",
                command,
            )
        }
        ("none", true) => {
            let why = "Without a scheduler a rotating disk serves requests in order of arrival: a \
                       commit waits behind long sequential writes.";
            with_command(
                costs("scheduler", subject, found, why),
                "mq-deadline sorts requests and gives reads and commits priority.",
                command,
            )
        }
        ("mq-deadline" | "kyber", false) => good(
            "scheduler",
            subject,
            found,
            "It costs a microsecond or two more than none, which matters only for commits below 20 \
             µs.",
        ),
        _ => good("scheduler", subject, found, "It suits the medium."),
    })
}
