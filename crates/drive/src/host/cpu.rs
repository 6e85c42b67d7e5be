//! The processors: frequency, idle states, threads, mitigations.
//! Documentation/ABI/testing/sysfs-devices-system-cpu, Documentation/admin-guide/pm.

use std::collections::BTreeSet;
use std::path::Path;

use super::cpu_list;
use super::facts::{CpuFacts, FrequencyPolicy, IdleFacts, IdleState, Mitigation, NumaNode};
use crate::SystemRoot;
use crate::system_root::Attributes;
use crate::usage::natural;

impl CpuFacts {
    pub(super) fn read(root: &SystemRoot) -> Self {
        let cpus = root.attributes("sys/devices/system/cpu");
        // intel_pstate has a separate switch with the opposite meaning, and does not offer the
        // common one.
        let turbo = cpus
            .flag("intel_pstate/no_turbo")
            .map(|off| !off)
            .or_else(|| cpus.flag("cpufreq/boost"));
        CpuFacts {
            frequency: frequency(&cpus),
            idle: idle(&cpus),
            smt_active: cpus.flag("smt/active"),
            turbo,
            mitigations: mitigations(&cpus),
        }
    }
}

/// The nodes that have a list of processors, even an empty one.
pub(super) fn numa_nodes(root: &SystemRoot) -> Vec<NumaNode> {
    let nodes = root.attributes("sys/devices/system/node");
    numbered(&nodes, "", "node")
        .into_iter()
        .filter_map(|name| {
            let node = name.strip_prefix("node")?.parse().ok()?;
            let cpus = String::from_utf8(nodes.bytes(format!("{name}/cpulist"))?).ok()?;
            Some(NumaNode { node, cpus: cpus.trim().to_owned() })
        })
        .collect()
}

/// Servers have one policy for each of hundreds of processors, nearly always the same.
fn frequency(cpus: &Attributes) -> Vec<FrequencyPolicy> {
    let mut groups: Vec<(BTreeSet<u32>, FrequencyPolicy)> = Vec::new();
    for name in numbered(cpus, "cpufreq", "policy") {
        let text = |file: &str| cpus.text(format!("cpufreq/{name}/{file}"));
        let Some(members) = text("affected_cpus").as_deref().and_then(cpu_list::parse) else {
            continue;
        };
        let policy = FrequencyPolicy {
            cpus: String::new(),
            driver: text("scaling_driver"),
            governor: text("scaling_governor"),
            preference: text("energy_performance_preference"),
            max_mhz: cpus
                .parsed(format!("cpufreq/{name}/cpuinfo_max_freq"))
                .map(|khz: u64| khz / 1000),
        };
        match groups.iter_mut().find(|(_, known)| *known == policy) {
            Some((known, _)) => known.extend(members),
            None => groups.push((members, policy)),
        }
    }
    groups
        .into_iter()
        .map(|(members, policy)| FrequencyPolicy { cpus: cpu_list::format(&members), ..policy })
        .collect()
}

/// All processors of the supported machines have the same states, but an offline one may lack a
/// state.
fn idle(cpus: &Attributes) -> Option<IdleFacts> {
    // `none`: no driver has registered, and the processor uses its architecture's default halt.
    let driver = cpus.text("cpuidle/current_driver").filter(|driver| driver != "none");
    let states = numbered(cpus, "", "cpu")
        .into_iter()
        .map(|cpu| idle_states(cpus, &cpu))
        .find(|found| !found.is_empty());
    if driver.is_none() && states.is_none() {
        return None;
    }
    let governor = ["current_governor", "current_governor_ro"]
        .iter()
        .find_map(|file| cpus.text(format!("cpuidle/{file}")));
    Some(IdleFacts { driver, governor, states: states.unwrap_or_default() })
}

fn idle_states(cpus: &Attributes, cpu: &str) -> Vec<IdleState> {
    let directory = format!("{cpu}/cpuidle");
    let states = numbered(cpus, &directory, "state").into_iter().filter_map(|state| {
        Some(IdleState {
            name: cpus.text(format!("{directory}/{state}/name"))?,
            exit_latency_us: cpus.parsed(format!("{directory}/{state}/latency")),
            disabled: cpus.flag(format!("{directory}/{state}/disable")).unwrap_or(false),
        })
    });
    states.collect()
}

fn mitigations(cpus: &Attributes) -> Vec<Mitigation> {
    let names = cpus.entries("vulnerabilities").into_iter();
    let affecting = names.filter_map(|name| {
        let state = cpus.text(format!("vulnerabilities/{name}"))?;
        (!state.starts_with("Not affected")).then_some(Mitigation { name, state })
    });
    affecting.collect()
}

/// The entries that consist of `word` and a number (`cpu0`, but not `cpuidle`), in numerical order.
fn numbered(directory: &Attributes, below: &str, word: &str) -> Vec<String> {
    let mut names = directory.entries(below);
    names
        .retain(|name| name.strip_prefix(word).is_some_and(|number| number.parse::<u32>().is_ok()));
    names.sort_by_key(|name| natural(Path::new(name)));
    names
}
