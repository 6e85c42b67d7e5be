//! The runs that a fleet verb looks at.

use std::collections::BTreeMap;

use measurement::RunDocument;
use store::{DriveName, Figures, RunId, Store, Which};

use crate::args::fleet::RunsArgs;

/// Figures of the runs that were chosen.
pub fn figures(store: &mut Store, choice: &RunsArgs, which: Which) -> anyhow::Result<Figures> {
    let mut figures = store.figures(which, &choice.filter.filter())?;
    figures.runs.retain(|run| is_chosen(choice, run.drive.as_ref()));
    Ok(figures)
}

/// Whether a drive has the model and firmware that were asked for.
pub fn is_chosen(choice: &RunsArgs, drive: Option<&DriveName>) -> bool {
    let contains = |own: Option<&String>, part: &str| {
        own.is_some_and(|own| own.to_lowercase().contains(&part.to_lowercase()))
    };
    let model = drive.and_then(|drive| drive.model.as_ref());
    let firmware = drive.and_then(|drive| drive.firmware.as_ref());
    choice.model.as_ref().is_none_or(|part| contains(model, part))
        && choice.firmware.as_ref().is_none_or(|wanted| firmware == Some(wanted))
}

/// Figures of runs on drives with a model: nothing else has peers.
pub fn of_models(store: &mut Store, choice: &RunsArgs, which: Which) -> anyhow::Result<Figures> {
    let mut figures = figures(store, choice, which)?;
    figures.runs.retain(|run| run.drive.as_ref().is_some_and(|drive| drive.model.is_some()));
    Ok(figures)
}

/// The documents of these runs without their tests.
pub fn headers(store: &mut Store, runs: &[RunId]) -> anyhow::Result<BTreeMap<RunId, RunDocument>> {
    Ok(store.headers(runs)?.into_iter().collect())
}
