//! `flushmark fleet drift`: drives that became slower than they were.

use fleet::{Answer, Drifts};
use store::Which;

use super::{chosen, show};
use crate::args::fleet::ChoiceArgs;
use crate::args::store::StoreArgs;
use crate::keeping::Reading;

pub fn run(choice: &ChoiceArgs, place: &StoreArgs) -> anyhow::Result<()> {
    let mut store = Reading::of(place)?.expect()?;
    let figures = chosen::of_models(&mut store, &choice.runs, Which::All)?;
    let mut drifts = Drifts::of(&figures);
    drifts.explain(&chosen::headers(&mut store, &drifts.runs())?);
    show(choice.format, Answer::Drift(drifts))
}
