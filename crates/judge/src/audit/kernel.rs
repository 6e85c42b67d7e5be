//! Kernel, clock, virtualisation.

use drive::{HostFacts, Virtualisation};
use measurement::AuditLine;

use super::line::{advised, costs, good, with_command};

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    let mut lines = Vec::new();
    lines.extend(host.kernel_release.as_deref().and_then(version));
    lines.extend(host.clocksource.as_deref().map(clock));
    lines.extend(host.virtualisation.map(|kind| {
        good("virtualisation", "Machine", match kind {
            Virtualisation::AmazonEc2 => "a virtual machine of Amazon EC2",
            Virtualisation::GoogleCompute => "a virtual machine of Google Compute Engine",
            Virtualisation::HyperV => "a virtual machine under Hyper-V",
            Virtualisation::VmWare => "a virtual machine under VMware",
            Virtualisation::VirtualBox => "a virtual machine under VirtualBox",
            Virtualisation::Xen => "a virtual machine under Xen",
            Virtualisation::Kvm => "a virtual machine under QEMU or KVM",
            Virtualisation::Parallels => "a virtual machine on a Mac",
            _ => "a virtual machine",
        }, "Interrupts and flushes pass through the hypervisor, which adds to each commit and may add more when the host is busy.")
    }));
    lines
}

fn version(release: &str) -> Option<AuditLine> {
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next()?, numbers.next().unwrap_or(0));
    let found = format!("Linux {release}");
    Some(if version < (5, 0) {
        let why = "Before 5.0 a disk may still be served by the single-queue block layer, which takes a lock for each request of all CPUs.";
        advised(
            costs("kernel", "Kernel", found, why),
            "Use a kernel of this decade; until then, scsi_mod.use_blk_mq=1.",
        )
    } else if version < (5, 15) {
        let why = "The multi-queue block layer is in place; kernels from 5.15 on spend noticeably less time on each request, and have io_uring as it is today.";
        good("kernel", "Kernel", found, why)
    } else {
        good("kernel", "Kernel", found, "The multi-queue block layer (blk-mq) serves every disk.")
    })
}

fn clock(source: &str) -> AuditLine {
    let found = source.to_owned();
    // Clocks that are read from a device: drivers/clocksource.
    if !matches!(source, "hpet" | "acpi_pm" | "pit" | "jiffies" | "refined-jiffies") {
        return good("clock", "Clock", found, "Reading it costs tens of nanoseconds.");
    }
    let why = "Each reading of this clock is a slow access to a device, up to 1 µs; databases and the kernel's own I/O accounting read it several times a commit.";
    with_command(
        costs("clock", "Clock", found, why),
        "If the kernel lists tsc as available (available_clocksource), use it; `dmesg` says why it was given up.",
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
    )
}
