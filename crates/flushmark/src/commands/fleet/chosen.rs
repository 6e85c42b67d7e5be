//! The runs that a fleet verb looks at.

use std::collections::BTreeMap;

use measurement::RunDocument;
use store::{Figures, RunId, Store, Which};

use crate::args::fleet::RunsArgs;

/// Figures of the runs that were chosen.
pub fn figures(store: &mut Store, choice: &RunsArgs, which: Which) -> anyhow::Result<Figures> {
    let mut figures = store.figures(which, &choice.filter.filter())?;
    choice.drives().retain(&mut figures);
    Ok(figures)
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
