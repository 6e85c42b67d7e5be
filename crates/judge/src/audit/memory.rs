//! Writing back: Documentation/admin-guide/sysctl/vm.rst, laptops/laptop-mode.rst, mm/transhuge.rst.

use drive::HostFacts;
use measurement::{AuditLine, HostGrade};

use super::line::{costs, dangerous, good, line, with_command};

/// More dirty memory than this takes a SATA SSD (500 MB/s) more than two seconds to write, and an fsync of the same filesystem may have to wait for it.
const DIRTY_MOST_BYTES: u64 = 1 << 30;

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    let memory = &host.memory;
    let mut lines = Vec::new();
    lines.extend(dirty(host));
    if memory.dirty_writeback_ms == Some(0) {
        let why = "The kernel writes nothing back by itself: what no program syncs stays in memory until that runs full, and a power cut takes all of it.";
        lines.push(with_command(
            dangerous("dirty-writeback", "Periodic write-back", "off (vm.dirty_writeback_centisecs is 0)", why),
            "Switch it on again.",
            "sysctl vm.dirty_writeback_centisecs=500",
        ));
    }
    if let Some(mode) = memory.laptop_mode {
        lines.push(if mode == 0 {
            good("laptop-mode", "Laptop mode", "off", "Dirty data is written when it is due.")
        } else {
            let why = "The kernel gathers writes until a disk is awake anyway: they come in bursts that a commit then waits behind, and more is lost in a power cut.";
            with_command(
                costs("laptop-mode", "Laptop mode", format!("on (vm.laptop_mode is {mode})"), why),
                "Switch it off on a machine that commits.",
                "sysctl vm.laptop_mode=0",
            )
        });
    }
    if let Some(pages) = &memory.transparent_huge_pages {
        let found = format!("transparent huge pages: {pages}");
        lines.push(if pages == "always" {
            let why = "The kernel may stop a process for milliseconds while it gathers a huge page; databases see that as a late commit. Most of them ask for madvise or never.";
            with_command(
                costs("huge-pages", "Huge pages", found, why),
                "Leave it to programs that ask for it.",
                "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
            )
        } else {
            good("huge-pages", "Huge pages", found, "No program is stopped for a huge page that it did not ask for.")
        });
    }
    lines
}

fn dirty(host: &HostFacts) -> Option<AuditLine> {
    let memory = &host.memory;
    let bytes = memory.dirty_bytes.filter(|bytes| *bytes > 0);
    let of_memory = |percent: u64| Some(host.memory_bytes? / 100 * percent);
    let allowed = bytes.or_else(|| of_memory(memory.dirty_percent?))?;
    let setting = match bytes {
        Some(_) => "vm.dirty_bytes".to_owned(),
        None => format!("vm.dirty_ratio is {} %", memory.dirty_percent?),
    };
    let gib = allowed as f64 / f64::from(1 << 30);
    let found = format!("up to {gib:.1} GiB of dirty memory ({setting})");
    let subject = "Dirty memory";
    Some(if allowed <= DIRTY_MOST_BYTES {
        good("dirty-memory", subject, found, "Little can pile up that a sync would have to wait behind.")
    } else if host.filesystems.is_empty() && host.disks.is_empty() {
        line("dirty-memory", subject, HostGrade::Unknown, found, "No drive is known that it could pile up before.")
    } else {
        let why = format!(
            "A program that writes much without syncing may pile up {gib:.0} GiB; a drive that writes 500 MB/s works on that for {:.0} s, and an fsync of the same filesystem waits behind it.",
            allowed as f64 / 5e8
        );
        with_command(
            costs("dirty-memory", subject, found, &why),
            "Begin to write back early, and let little pile up.",
            "sysctl vm.dirty_background_bytes=67108864 vm.dirty_bytes=268435456",
        )
    })
}
