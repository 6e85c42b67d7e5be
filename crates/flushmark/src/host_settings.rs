//! Measures what settings of the host cost: depth-1 tests that alternate between the host as it is
//! set and with one setting changed.
//!
//! C-states: a process that writes a maximum latency to `/dev/cpu_dma_latency` and keeps the file
//! open keeps every CPU out of states that take longer to leave
//! (Documentation/power/pm_qos_interface.rst). The kernel ends this when the file is closed, even by
//! `kill -9`, so nothing has to be restored.
//!
//! Governor: `performance` is written to each frequency policy of sysfs in turn with the previous
//! one, which is recorded first. What a killed run leaves is restored by the next one.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use anyhow::Context as _;
use drive::governor::{self, PERFORMANCE, Raised};
use drive::{HostFacts, SystemRoot};
use engine::{EngineError, Intent, Options, Target};
use measurement::Outcome;
use measurement::host_document::{Effect, SettingEffect};
use workload::Plan;

use crate::exit;
use crate::signals::{self, STOP};
use crate::write_cache::state_dir;

/// Rounds per setting. A depth-1 figure varies from run to run; an effect must show in all of these.
const ROUNDS: u32 = 7;

/// A commit test and a read test: each long enough for thousands of operations, and short enough
/// that the user waits for all rounds.
const PLAN: &str = r#"
[defaults]
size = "16MiB"
time = "300ms"
warm_up = "50ms"
[[test]]
name = "4 KiB write + fsync"
pattern = "randwrite"
sync = "fsync"
[[test]]
name = "4 KiB read"
pattern = "randread"
"#;

/// Keeps every CPU out of deep C-states while it lives.
struct Awake(#[expect(dead_code, reason = "held open for its effect")] File);

impl Awake {
    const DEVICE: &str = "/dev/cpu_dma_latency";

    fn hold() -> anyhow::Result<Awake> {
        let opened = OpenOptions::new().write(true).open(Self::DEVICE);
        let mut file = opened.map_err(|error| match error.kind() {
            ErrorKind::NotFound => anyhow::anyhow!(
                "this kernel has no {}, so C-states cannot be prevented and their cost cannot be \
                 measured",
                Self::DEVICE
            ),
            ErrorKind::PermissionDenied => {
                anyhow::anyhow!(
                    "only root can prevent C-states ({}): run this with sudo",
                    Self::DEVICE
                )
            }
            _ => anyhow::Error::from(error).context(format!("cannot open {}", Self::DEVICE)),
        })?;
        // A signed number of microseconds in native byte order.
        file.write_all(&0_i32.to_ne_bytes())
            .with_context(|| format!("cannot write to {}", Self::DEVICE))?;
        Ok(Awake(file))
    }
}

/// A state that takes longer to leave than this is a deep one. POLL and C1 take at most 2 µs, a
/// thousandth of what a commit without power-loss protection takes.
const SHALLOW_US_MAX: u64 = 2;

/// The effects that were measured, and why others were not.
#[derive(Debug, Default)]
pub struct Effects {
    pub c_states: Option<SettingEffect>,
    pub governor: Option<SettingEffect>,
    pub not_measured: Vec<String>,
}

/// Measures in a directory what can have an effect on this host. A signal ends it after the last
/// complete round.
pub fn effects(path: &Path, host: &HostFacts) -> anyhow::Result<Effects> {
    let mut effects = Effects::default();
    signals::listen().context("cannot handle signals")?;
    let (root, state) = (SystemRoot::default(), state_dir());
    let restored = governor::restore_left_over(&root, state.path())?;
    if restored > 0 {
        exit::complain(&format!(
            "a killed run had left the governor {PERFORMANCE} on {restored} frequency policies; \
             the previous governors were restored first"
        ));
    }
    match no_deep_states(host) {
        Some(reason) => effects.not_measured.push(reason),
        None => effects.c_states = effect(path, Awake::hold)?,
    }
    match no_other_governor(host) {
        Some(reason) => effects.not_measured.push(reason),
        None if STOP.is_requested() => {}
        None => effects.governor = effect(path, || Ok(Raised::hold(&root, state.path())?))?,
    }
    Ok(effects)
}

/// Why holding C-states off can have no effect on this host, if so.
fn no_deep_states(host: &HostFacts) -> Option<String> {
    let Some(idle) = &host.cpu.idle else {
        return Some(
            "the kernel manages no C-states here, so there are none to hold off".to_owned(),
        );
    };
    let allowed = || idle.states.iter().filter(|state| !state.disabled);
    if allowed().any(|state| state.exit_latency_us.is_none_or(|us| us > SHALLOW_US_MAX)) {
        return None;
    }
    let names: Vec<&str> = allowed().map(|state| state.name.as_str()).collect();
    Some(format!(
        "no deep C-state is allowed here ({}), so there is nothing to hold off",
        if names.is_empty() { "none at all".to_owned() } else { names.join(", ") }
    ))
}

/// Why the governor cannot be raised on this host, if so.
fn no_other_governor(host: &HostFacts) -> Option<String> {
    let mut governors = host.cpu.frequency.iter().filter_map(|policy| policy.governor.as_deref());
    if host.cpu.frequency.is_empty() {
        return Some("the kernel does not manage the frequency of these CPUs".to_owned());
    }
    governors
        .all(|governor| governor == PERFORMANCE)
        .then(|| "every CPU already has the governor performance".to_owned())
}

/// Measures in a directory with and without what `hold` changes. Returns `None` if no round was
/// complete.
fn effect<Held>(
    path: &Path,
    hold: impl Fn() -> anyhow::Result<Held>,
) -> anyhow::Result<Option<SettingEffect>> {
    // Fail before anything is measured.
    drop(hold()?);
    let plan = Plan::from_toml("host-settings", PLAN)?;
    let options = Options::default();
    let given = path.to_string_lossy();
    let target = Target::open(&options.root, &given, Intent::of(&plan, false))?;
    let mut tests: Vec<Vec<(f64, f64)>> = vec![Vec::new(); plan.tests.len()];
    let mut rounds = 0;
    'rounds: for round in 0..ROUNDS {
        let mut medians = vec![(None, None); plan.tests.len()];
        // Alternating, so that drift favours neither setting.
        for held in [round % 2 == 1, round % 2 == 0] {
            let changed = held.then(&hold).transpose()?;
            for (test, (before, after)) in plan.tests.iter().zip(&mut medians) {
                let outcomes = match engine::run(
                    std::slice::from_ref(test),
                    &target,
                    &options,
                    &STOP,
                    &mut |_| {},
                ) {
                    Err(EngineError::Interrupted) => break 'rounds,
                    outcomes => outcomes?,
                };
                if STOP.is_requested() {
                    break 'rounds;
                }
                let Some(Outcome::Measured(result)) = outcomes.into_iter().next() else { continue };
                let us = result.headline_us().map(|us| us.p50);
                if held { *after = us } else { *before = us }
            }
            drop(changed);
        }
        for (rounds, (before, after)) in tests.iter_mut().zip(medians) {
            rounds.extend(before.zip(after));
        }
        rounds = round + 1;
    }
    if rounds == 0 {
        return Ok(None);
    }
    let effects = plan.tests.iter().zip(&tests);
    let effects = effects.filter_map(|(test, rounds)| Effect::of_rounds(test.name.clone(), rounds));
    Ok(Some(SettingEffect { path: given.into_owned(), rounds, tests: effects.collect() }))
}

#[cfg(test)]
mod tests {
    use drive::host::{FrequencyPolicy, IdleFacts, IdleState};

    use super::*;

    #[test]
    fn the_plan_parses() {
        assert_eq!(Plan::from_toml("host-settings", PLAN).unwrap().tests.len(), 2);
    }

    fn with_states(states: &[(&str, u64, bool)]) -> HostFacts {
        let states = states.iter().map(|&(name, us, disabled)| IdleState {
            name: name.to_owned(),
            exit_latency_us: Some(us),
            disabled,
        });
        let mut host = HostFacts::default();
        host.cpu.idle = Some(IdleFacts { driver: None, governor: None, states: states.collect() });
        host
    }

    #[test]
    fn shallow_states_are_not_measured() {
        insta::assert_snapshot!(no_deep_states(&HostFacts::default()).unwrap(), @"the kernel manages no C-states here, so there are none to hold off");
        let shallow = with_states(&[("POLL", 0, false), ("C1", 1, false), ("C6", 133, true)]);
        insta::assert_snapshot!(no_deep_states(&shallow).unwrap(), @"no deep C-state is allowed here (POLL, C1), so there is nothing to hold off");
        let deep = with_states(&[("POLL", 0, false), ("C6", 133, false)]);
        assert_eq!(no_deep_states(&deep), None);
    }

    #[test]
    fn only_a_governor_that_can_be_raised_is_measured() {
        let with = |governors: &[&str]| {
            let policy = |governor: &&str| FrequencyPolicy {
                cpus: "0".to_owned(),
                driver: None,
                governor: Some((*governor).to_owned()),
                preference: None,
                max_mhz: None,
            };
            let mut host = HostFacts::default();
            host.cpu.frequency = governors.iter().map(policy).collect();
            no_other_governor(&host)
        };
        insta::assert_snapshot!(with(&[]).unwrap(), @"the kernel does not manage the frequency of these CPUs");
        insta::assert_snapshot!(with(&["performance"]).unwrap(), @"every CPU already has the governor performance");
        assert_eq!(with(&["performance", "schedutil"]), None);
    }
}
