//! C-states: Documentation/admin-guide/pm/cpuidle.rst, Documentation/power/pm_qos_interface.rst.

use drive::HostFacts;
use drive::host::IdleState;
use measurement::AuditLine;

use super::line::{costs, good, with_command};

/// A commit on protected flash takes 20 to 100 µs, and its thread sleeps meanwhile; waking from a
/// state deeper than this adds a noticeable part of that.
const EXIT_LATENCY_US_MAX: u64 = 20;

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    let Some(idle) = &host.cpu.idle else { return Vec::new() };
    let allowed: Vec<&IdleState> = idle.states.iter().filter(|state| !state.disabled).collect();
    let Some(deepest) = allowed.iter().max_by_key(|state| state.exit_latency_us) else {
        return Vec::new();
    };
    let exit_us = deepest.exit_latency_us.unwrap_or(0);
    let names: Vec<String> = allowed
        .iter()
        .map(|state| match state.exit_latency_us {
            Some(us) => format!("{} {us} µs", state.name),
            None => state.name.clone(),
        })
        .collect();
    let driver = idle.driver.as_deref().unwrap_or("unknown driver");
    let found = format!("allowed by {driver}: {}", names.join(", "));
    vec![if exit_us <= EXIT_LATENCY_US_MAX {
        good(
            "c-states",
            "C-states",
            found,
            "The CPU wakes from the deepest state within a fraction of a commit.",
        )
    } else {
        let why = format!(
            "The CPU sleeps during each commit while the drive works. Waking from {} takes \
             {exit_us} µs; a whole commit on protected flash takes 20 to 100 µs.",
            deepest.name
        );
        with_command(
            costs("c-states", "C-states", found, &why),
            "Measure the effect with `flushmark host --measure`, then disable the deep states \
             while the database runs.",
            // The option disables states "with this latency or more": cpupower-idle-set(1).
            format!("cpupower idle-set --disable-by-latency {}", EXIT_LATENCY_US_MAX + 1),
        )
    }]
}
