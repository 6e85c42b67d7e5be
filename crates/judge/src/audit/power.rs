//! Power saving that delays commits by wake-up times: Documentation/power/pci.rst,
//! admin-guide/kernel-parameters.txt (`nvme_core.default_ps_max_latency_us`, `pcie_aspm.policy`),
//! Documentation/scsi/link_power_management_policy.rst.

use std::collections::BTreeSet;

use drive::HostFacts;
use drive::host::PowerFacts;
use measurement::AuditLine;

use super::line::{advised, costs, good, with_command};

/// A drive that takes longer than this to wake takes longer than a commit on protected flash.
const NVME_WAKE_US_MAX: u64 = 100;

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    let power = &host.power;
    [supply(power), pcie_links(power), nvme_states(host), sata_links(power)]
        .into_iter()
        .flatten()
        .collect()
}

fn supply(power: &PowerFacts) -> Option<AuditLine> {
    Some(if power.on_battery? {
        let why = "On battery, firmware and kernel lower frequencies and put links to sleep: \
                   measurements do not show what the machine can do.";
        advised(
            costs("power-supply", "Power supply", "battery", why),
            "Plug it in before measuring.",
        )
    } else {
        good("power-supply", "Power supply", "mains", "No power saving because of a battery.")
    })
}

fn pcie_links(power: &PowerFacts) -> Option<AuditLine> {
    let policy = power.pcie_aspm_policy.as_ref()?;
    let found = format!("policy {policy}");
    let subject = "PCIe link power (ASPM)";
    Some(if policy.starts_with("powersave") || policy.starts_with("powersupersave") {
        let why = "An idle link sleeps and takes 2 to 100 µs to wake, before a write and again \
                   before its flush.";
        with_command(
            costs("pcie-aspm", subject, found, why),
            "Keep links awake if commits matter.",
            "echo performance > /sys/module/pcie_aspm/parameters/policy",
        )
    } else {
        good("pcie-aspm", subject, found, "Links sleep only as configured by the firmware.")
    })
}

fn nvme_states(host: &HostFacts) -> Option<AuditLine> {
    let nvme = host.disks.iter().find(|disk| disk.transport == drive::Transport::Nvme)?;
    let longest_us = host.power.nvme_ps_max_latency_us?;
    let subject = "NVMe power states (APST)";
    let found = format!("states that take up to {longest_us} µs to enter and leave are allowed");
    Some(if longest_us <= NVME_WAKE_US_MAX {
        let why = "No drive sleeps so deeply that a commit notices.";
        good("nvme-power-states", subject, found, why)
    } else {
        let why = "An idle drive goes to sleep, and the first commit after a pause waits up to \
                   that long for it to wake.";
        with_command(
            costs("nvme-power-states", subject, found, why),
            "Disable deep states with the kernel parameter \
             nvme_core.default_ps_max_latency_us=0, or immediately for one drive.",
            format!(
                "echo 0 > /sys/class/nvme/{}/power/pm_qos_latency_tolerance_us",
                controller(&nvme.name)
            ),
        )
    })
}

fn sata_links(power: &PowerFacts) -> Option<AuditLine> {
    if power.sata_links.is_empty() {
        return None;
    }
    let sleepy: Vec<&str> = power
        .sata_links
        .iter()
        .filter(|link| {
            !matches!(link.policy.as_str(), "max_performance" | "keep_firmware_settings")
        })
        .map(|link| link.host.as_str())
        .collect();
    let subject = "SATA link power";
    let Some(first) = sleepy.first() else {
        return Some(good(
            "sata-link-power",
            subject,
            "links stay awake",
            "No commit waits for a link.",
        ));
    };
    let why = "An idle SATA link sleeps; it takes up to 10 µs to wake from partial, and 10 ms from \
               slumber (Serial ATA specification).";
    let policies: BTreeSet<&str> =
        power.sata_links.iter().map(|link| link.policy.as_str()).collect();
    let policies = policies.into_iter().collect::<Vec<_>>().join(", ");
    Some(with_command(
        costs("sata-link-power", subject, format!("{policies} on {}", sleepy.join(", ")), why),
        "Keep the links of drives that take commits awake.",
        format!("echo max_performance > /sys/class/scsi_host/{first}/link_power_management_policy"),
    ))
}

/// `nvme0` of `nvme0n1`.
fn controller(namespace: &str) -> &str {
    namespace.rsplit_once('n').map_or(namespace, |(controller, _)| controller)
}
