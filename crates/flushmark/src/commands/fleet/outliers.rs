//! `flushmark fleet outliers`: drives that are slower than others of their model.

use fleet::{Answer, Outliers};
use store::{RunId, Store, Which};

use super::{chosen, show};
use crate::args::fleet::{ChoiceArgs, RunsArgs};
use crate::args::store::StoreArgs;
use crate::keeping::Reading;

pub fn run(choice: &ChoiceArgs, place: &StoreArgs) -> anyhow::Result<()> {
    let mut store = Reading::of(place)?.expect()?;
    show(choice.format, Answer::Outliers(of(&mut store, &choice.runs)?))
}

pub fn of(store: &mut Store, choice: &RunsArgs) -> anyhow::Result<Outliers> {
    let figures = chosen::of_models(store, choice, Which::Newest)?;
    let ids: Vec<RunId> = figures.runs.iter().map(|run| run.id).collect();
    Ok(fleet::outliers(&fleet::specimens(&figures, &chosen::headers(store, &ids)?)))
}
