//! Kernel version, clock source, virtualisation.

use drive::{HostFacts, Virtualisation};
use measurement::AuditLine;

use super::line::{advised, costs, good, with_command};

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    let mut lines = Vec::new();
    lines.extend(host.kernel_release.as_deref().and_then(version));
    lines.extend(host.clocksource.as_deref().map(clock));
    lines.extend(host.virtualisation.map(|kind| {
        good("virtualisation", "Machine", match kind {
            Virtualisation::AmazonEc2 => "an Amazon EC2 virtual machine",
            Virtualisation::GoogleCompute => "a Google Compute Engine virtual machine",
            Virtualisation::HyperV => "a virtual machine under Hyper-V",
            Virtualisation::VmWare => "a virtual machine under VMware",
            Virtualisation::VirtualBox => "a virtual machine under VirtualBox",
            Virtualisation::Xen => "a virtual machine under Xen",
            Virtualisation::Kvm => "a virtual machine under QEMU or KVM",
            Virtualisation::Parallels => "a Parallels virtual machine",
            _ => "a virtual machine",
        }, "Interrupts and flushes pass through the hypervisor, which adds latency to each commit, \
            and more when the host is busy.")
    }));
    lines
}

fn version(release: &str) -> Option<AuditLine> {
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next()?, numbers.next().unwrap_or(0));
    let found = format!("Linux {release}");
    Some(if version < (5, 0) {
        let why = "Before 5.0, a disk may still use the single-queue block layer, which takes one \
                   lock for the requests of all CPUs.";
        advised(
            costs("kernel", "Kernel", found, why),
            "Upgrade the kernel; until then, boot with scsi_mod.use_blk_mq=1.",
        )
    } else if version < (5, 15) {
        let why = "It has the multi-queue block layer; kernels from 5.15 on spend noticeably less \
                   time on each request and have a mature io_uring.";
        good("kernel", "Kernel", found, why)
    } else {
        good("kernel", "Kernel", found, "The multi-queue block layer (blk-mq) serves every disk.")
    })
}

fn clock(source: &str) -> AuditLine {
    let found = source.to_owned();
    // Clocks that are read from a device (drivers/clocksource).
    if !matches!(source, "hpet" | "acpi_pm" | "pit" | "jiffies" | "refined-jiffies") {
        return good("clock", "Clock", found, "Reading it costs tens of nanoseconds.");
    }
    let why = "Each reading of this clock is a slow device access of up to 1 µs; databases and the \
               kernel's I/O accounting read it several times per commit.";
    with_command(
        costs("clock", "Clock", found, why),
        "If the kernel lists tsc in available_clocksource, use it; `dmesg` shows why the kernel \
         rejected it.",
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
    )
}
