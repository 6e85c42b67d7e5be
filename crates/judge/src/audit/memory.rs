//! Write-back and memory: Documentation/admin-guide/sysctl/vm.rst, laptops/laptop-mode.rst,
//! mm/transhuge.rst.

use drive::HostFacts;
use measurement::{AuditLine, HostGrade};
use workload::number::about_bytes;

use super::line::{costs, dangerous, good, line, with_command};

/// A SATA SSD (500 MB/s) needs more than two seconds to write more dirty memory than this, and an
/// fsync on the same filesystem may have to wait for it.
const DIRTY_BYTES_MAX: u64 = 1 << 30;

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    let memory = &host.memory;
    let mut lines = Vec::new();
    lines.extend(dirty(host));
    if memory.dirty_writeback_ms == Some(0) {
        let why = "The kernel does not write back on its own: unsynced data stays in memory until \
                   it is full, and a power cut loses all of it.";
        lines.push(with_command(
            dangerous(
                "dirty-writeback",
                "Periodic write-back",
                "off (vm.dirty_writeback_centisecs is 0)",
                why,
            ),
            "Switch it on again.",
            "sysctl vm.dirty_writeback_centisecs=500",
        ));
    }
    if let Some(mode) = memory.laptop_mode {
        lines.push(if mode == 0 {
            good("laptop-mode", "Laptop mode", "off", "Dirty data is written on schedule.")
        } else {
            let why = "The kernel delays writes until a disk is awake. They then arrive in bursts \
                       that commits wait behind, and a power cut loses more.";
            with_command(
                costs("laptop-mode", "Laptop mode", format!("on (vm.laptop_mode is {mode})"), why),
                "Switch it off on a machine where commits matter.",
                "sysctl vm.laptop_mode=0",
            )
        });
    }
    if let Some(pages) = &memory.transparent_huge_pages {
        let found = format!("transparent huge pages: {pages}");
        lines.push(if pages == "always" {
            let why = "The kernel may stall a process for milliseconds while it assembles a huge \
                       page; a database sees that as a slow commit. Most databases recommend \
                       madvise or never.";
            with_command(
                costs("huge-pages", "Huge pages", found, why),
                "Limit them to programs that request them.",
                "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
            )
        } else {
            good(
                "huge-pages",
                "Huge pages",
                found,
                "No program is stalled for a huge page that it \
                                                     did not request.",
            )
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
    let size = about_bytes(allowed);
    let found = format!("up to {size} of dirty memory ({setting})");
    let subject = "Dirty memory";
    Some(if allowed <= DIRTY_BYTES_MAX {
        good("dirty-memory", subject, found, "Little dirty data can accumulate ahead of a sync.")
    } else if host.filesystems.is_empty() && host.disks.is_empty() {
        line(
            "dirty-memory",
            subject,
            HostGrade::Unknown,
            found,
            "No drive is known, so the effect cannot be estimated.",
        )
    } else {
        let why = format!(
            "A program that writes without syncing may accumulate {size}. A drive that \
             writes 500 MB/s needs {:.0} s for that, and an fsync on the same filesystem waits for \
             it.",
            allowed as f64 / 5e8
        );
        with_command(
            costs("dirty-memory", subject, found, &why),
            "Start write-back early and keep little dirty data.",
            "sysctl vm.dirty_background_bytes=67108864 vm.dirty_bytes=268435456",
        )
    })
}
