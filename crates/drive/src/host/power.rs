//! Power-saving settings: Documentation/ABI/testing/sysfs-class-power,
//! Documentation/ABI/testing/sysfs-class-scsi_host.

use std::path::Path;

use super::facts::{PowerFacts, SataLink};
use crate::SystemRoot;
use crate::block::chosen;
use crate::system_root::Attributes;
use crate::usage::natural;

impl PowerFacts {
    pub(super) fn read(root: &SystemRoot) -> Self {
        let modules = root.attributes("sys/module");
        PowerFacts {
            on_battery: on_battery(&root.attributes("sys/class/power_supply")),
            pcie_aspm_policy: modules
                .text("pcie_aspm/parameters/policy")
                .and_then(|text| chosen(&text)),
            nvme_ps_max_latency_us: modules
                .parsed("nvme_core/parameters/default_ps_max_latency_us"),
            sata_links: sata_links(&root.attributes("sys/class/scsi_host")),
        }
    }
}

fn on_battery(supplies: &Attributes) -> Option<bool> {
    let mut mains_offline = false;
    let mut charged = None;
    for name in supplies.entries("") {
        let text = |file: &str| supplies.text(format!("{name}/{file}"));
        // A mouse's battery does not power the machine.
        if text("scope").as_deref() == Some("Device") {
            continue;
        }
        match (text("type").as_deref(), supplies.flag(format!("{name}/online"))) {
            (Some("Mains" | "USB"), Some(true)) => return Some(false),
            (Some("Mains"), Some(false)) => mains_offline = true,
            (Some("Battery" | "UPS"), _) => match text("status").as_deref() {
                Some("Discharging") => charged = Some(false),
                Some("Charging" | "Full" | "Not charging") => charged = charged.or(Some(true)),
                _ => {}
            },
            _ => {}
        }
    }
    charged.map(|charged| !charged).or(mains_offline.then_some(true))
}

fn sata_links(hosts: &Attributes) -> Vec<SataLink> {
    let mut names = hosts.entries("");
    names.sort_by_key(|name| natural(Path::new(name)));
    let links = names.into_iter().filter_map(|host| {
        let policy = hosts.text(format!("{host}/link_power_management_policy"))?;
        Some(SataLink { host, policy })
    });
    links.collect()
}

#[cfg(test)]
mod tests {
    use captures::Machine;

    use super::*;

    #[test]
    fn batteries_and_mains_are_weighed() {
        let mains = |online| vec![("AC/type", "Mains"), ("AC/online", online)];
        let battery = |status| vec![("BAT0/type", "Battery"), ("BAT0/status", status)];
        for (supplies, expected) in [
            (vec![], None),
            (mains("1"), Some(false)),
            (mains("0"), Some(true)),
            (mains("?"), None),
            ([mains("0"), battery("Discharging")].concat(), Some(true)),
            // A weak charger: the battery assists, but the machine is plugged in.
            ([mains("1"), battery("Discharging")].concat(), Some(false)),
            (battery("Full"), Some(false)),
            ([battery("Discharging"), vec![("BAT0/scope", "Device")]].concat(), None),
            (vec![("ups/type", "UPS"), ("ups/status", "Discharging")], Some(true)),
        ] {
            let machine = Machine::new();
            for (file, value) in &supplies {
                machine.file(&format!("sys/class/power_supply/{file}"), value);
            }
            let found =
                on_battery(&SystemRoot::new(machine.path()).attributes("sys/class/power_supply"));
            assert_eq!(found, expected, "{supplies:?}");
        }
    }
}
