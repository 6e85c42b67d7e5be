//! Measures what deep C-states cost: depth-1 tests that alternate between allowing and preventing
//! them.
//!
//! A process that writes a maximum latency to `/dev/cpu_dma_latency` and keeps the file open keeps
//! every CPU out of states that take longer to leave (Documentation/power/pm_qos_interface.rst).
//! The kernel ends this when the file is closed, even by `kill -9`, so nothing has to be restored.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use anyhow::Context as _;
use engine::{EngineError, Intent, Options, Target};
use measurement::Outcome;
use measurement::host_document::{CStateEffect, Effect};
use workload::Plan;

use crate::signals::{self, STOP};

/// Rounds per setting. A depth-1 figure varies from run to run; the median of this many is stable.
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

/// Measures in a directory. A signal ends it after the last complete round; returns `None` if no
/// round was complete.
pub fn effect(path: &Path) -> anyhow::Result<Option<CStateEffect>> {
    // Fail before anything is measured.
    drop(Awake::hold()?);
    signals::listen().context("cannot handle signals")?;
    let plan = Plan::from_toml("c-states", PLAN)?;
    let options = Options::default();
    let given = path.to_string_lossy();
    let target = Target::open(&options.root, &given, Intent::of(&plan, false))?;
    let mut tests: Vec<(Vec<f64>, Vec<f64>)> = vec![(Vec::new(), Vec::new()); plan.tests.len()];
    let mut rounds = 0;
    'rounds: for round in 0..ROUNDS {
        // Alternating, so that drift favours neither setting.
        for held in [round % 2 == 1, round % 2 == 0] {
            let awake = held.then(Awake::hold).transpose()?;
            for (test, (before, after)) in plan.tests.iter().zip(&mut tests) {
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
                let Some(us) = result.headline_us() else { continue };
                if held { after.push(us.p50) } else { before.push(us.p50) }
            }
            drop(awake);
        }
        rounds = round + 1;
    }
    if rounds == 0 {
        return Ok(None);
    }
    let effects = plan.tests.iter().zip(&mut tests).filter_map(|(test, (before, after))| {
        Some(Effect {
            test: test.name.clone(),
            before_us: median(before)?,
            after_us: median(after)?,
        })
    });
    Ok(Some(CStateEffect { path: given.into_owned(), rounds, tests: effects.collect() }))
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_parses_and_medians_are_right() {
        let plan = Plan::from_toml("c-states", PLAN).unwrap();
        assert_eq!(plan.tests.len(), 2);
        assert_eq!(median(&mut [3.0, 1.0, 9.0]), Some(3.0));
        assert_eq!(median(&mut []), None);
    }
}
