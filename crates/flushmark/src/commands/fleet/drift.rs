//! `flushmark fleet drift`: drives that became slower than they were.

use fleet::{Answer, Drifts};
use store::{Store, Which};

use super::{chosen, show};
use crate::args::fleet::{ChoiceArgs, RunsArgs};
use crate::args::store::StoreArgs;
use crate::keeping::Reading;

pub fn run(choice: &ChoiceArgs, place: &StoreArgs) -> anyhow::Result<()> {
    let mut store = Reading::of(place)?.expect()?;
    show(choice.format, Answer::Drift(of(&mut store, &choice.runs)?))
}

pub fn of(store: &mut Store, choice: &RunsArgs) -> anyhow::Result<Drifts> {
    let mut drifts = Drifts::of(&chosen::of_models(store, choice, Which::All)?);
    drifts.explain(&chosen::headers(store, &drifts.runs())?);
    Ok(drifts)
}
