//! The runs that a fleet verb looks at, and the drives they were made on.

use std::collections::BTreeMap;

use fleet::{Kind, Specimen};
use jiff::Timestamp;
use measurement::RunDocument;
use store::{Figures, RunFigures, RunId, Store, Which};

use crate::args::fleet::ChoiceArgs;

/// Figures of the runs that were chosen, and of drives with a model: nothing else has peers.
pub fn figures(store: &mut Store, choice: &ChoiceArgs, which: Which) -> anyhow::Result<Figures> {
    let since = choice.since.unwrap_or(Timestamp::UNIX_EPOCH);
    let until = choice.until.unwrap_or(Timestamp::MAX);
    let mut figures = store.figures(which, &(since..until))?;
    let contains = |model: &str, part: &str| model.to_lowercase().contains(&part.to_lowercase());
    figures.runs.retain(|run| {
        let Some(own) = model(run) else { return false };
        choice.model.as_ref().is_none_or(|part| contains(own, part))
            && choice.suite.as_ref().is_none_or(|suite| run.suite.eq_ignore_ascii_case(suite))
    });
    Ok(figures)
}

fn model(run: &RunFigures) -> Option<&str> {
    run.drive.as_ref()?.model.as_deref()
}

/// The drive's serial number or, without one, the target; unique on its host.
pub fn name(run: &RunFigures) -> &str {
    run.drive.as_ref().and_then(|drive| drive.serial.as_deref()).unwrap_or(&run.target)
}

/// The facts of runs, and on what filesystem they were made.
pub fn headers(store: &mut Store, runs: &[RunId]) -> anyhow::Result<BTreeMap<RunId, RunDocument>> {
    Ok(store.headers(runs)?.into_iter().collect())
}

/// A run as a specimen.
pub fn specimen(run: &RunFigures, names: &[String], header: &RunDocument) -> Specimen {
    let mount = header.drive.as_ref().and_then(|place| place.mount.as_ref());
    let filesystem = mount.map_or("no filesystem", |mount| mount.fs_type.as_str());
    Specimen {
        host: run.host.clone(),
        name: name(run).to_owned(),
        kind: Kind {
            model: model(run).unwrap_or_default().to_owned(),
            usage: format!("{} on {filesystem}", run.suite),
        },
        p50_us: run.tests.iter().map(|&(name, p50_us)| (names[name].clone(), p50_us)).collect(),
        facts: fleet::facts(header),
    }
}
