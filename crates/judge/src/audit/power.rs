//! What saves power at the cost of waking up: Documentation/power/pci.rst, admin-guide/kernel-parameters.txt (`nvme_core.default_ps_max_latency_us`,
//! `pcie_aspm.policy`), Documentation/scsi/link_power_management_policy.rst.

use drive::HostFacts;
use measurement::AuditLine;

use super::line::{advised, costs, good, with_command};

/// From such a sleep a drive takes longer to wake than a commit on protected flash takes.
const NVME_WAKE_MOST_US: u64 = 100;

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    let power = &host.power;
    let mut lines = Vec::new();
    if let Some(on_battery) = power.on_battery {
        lines.push(if on_battery {
            let why = "On battery, firmware and kernel lower frequencies and put links to sleep: what is measured now is not what the machine can do.";
            advised(costs("power-supply", "Power supply", "battery", why), "Plug it in before measuring.")
        } else {
            good("power-supply", "Power supply", "mains", "Nothing saves power for want of it.")
        });
    }
    if let Some(policy) = &power.pcie_aspm_policy {
        let found = format!("policy {policy}");
        let subject = "PCIe link power (ASPM)";
        lines.push(if policy.starts_with("powersave") || policy.starts_with("powersupersave") {
            let why = "An idle link sleeps and takes 2 to 100 µs to wake, before a write and again before its flush.";
            with_command(
                costs("pcie-aspm", subject, found, why),
                "Keep links awake where commits matter.",
                "echo performance > /sys/module/pcie_aspm/parameters/policy",
            )
        } else {
            good("pcie-aspm", subject, found, "Links are not put to sleep beyond what the firmware set.")
        });
    }
    let nvme = host.disks.iter().find(|disk| disk.transport == drive::Transport::Nvme);
    if let (Some(longest_us), Some(nvme)) = (power.nvme_ps_max_latency_us, nvme) {
        let subject = "NVMe power states (APST)";
        let found = format!("states that take up to {longest_us} µs to enter and leave are allowed");
        lines.push(if longest_us <= NVME_WAKE_MOST_US {
            good("nvme-power-states", subject, found, "No drive sleeps deeper than a commit can bear.")
        } else {
            let why = "A drive that has been idle for some time sleeps; the first commit after a pause waits for it to wake, up to that long.";
            with_command(
                costs("nvme-power-states", subject, found, why),
                "Forbid deep states with the kernel parameter nvme_core.default_ps_max_latency_us=0, or for one drive at once.",
                format!("echo 0 > /sys/class/nvme/{}/power/pm_qos_latency_tolerance_us", controller(&nvme.name)),
            )
        });
    }
    let sleepy: Vec<&str> = power
        .sata_links
        .iter()
        .filter(|link| !matches!(link.policy.as_str(), "max_performance" | "keep_firmware_settings"))
        .map(|link| link.host.as_str())
        .collect();
    if !power.sata_links.is_empty() {
        let subject = "SATA link power";
        lines.push(if sleepy.is_empty() {
            good("sata-link-power", subject, "links stay awake", "No commit waits for a link.")
        } else {
            let why = "An idle SATA link sleeps; waking it takes up to 10 µs from partial sleep, and 10 ms from slumber (Serial ATA specification).";
            let policies: std::collections::BTreeSet<&str> =
                power.sata_links.iter().map(|link| link.policy.as_str()).collect();
            let policies = policies.into_iter().collect::<Vec<_>>().join(", ");
            with_command(
                costs("sata-link-power", subject, format!("{policies} on {}", sleepy.join(", ")), why),
                "Keep the links of drives that commit awake.",
                format!("echo max_performance > /sys/class/scsi_host/{}/link_power_management_policy", sleepy[0]),
            )
        });
    }
    lines
}

/// `nvme0` of `nvme0n1`.
fn controller(namespace: &str) -> &str {
    namespace.rsplit_once('n').map_or(namespace, |(controller, _)| controller)
}
