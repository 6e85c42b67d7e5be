//! `flushmark fleet outliers`: drives that are slower than others of their model.

use fleet::Answer;
use store::{RunId, Which};

use super::{chosen, show};
use crate::args::fleet::ChoiceArgs;
use crate::args::store::StoreArgs;
use crate::keeping::Reading;

pub fn run(choice: &ChoiceArgs, place: &StoreArgs) -> anyhow::Result<()> {
    let mut store = Reading::of(place)?.expect()?;
    let figures = chosen::of_models(&mut store, &choice.runs, Which::Newest)?;
    let ids: Vec<RunId> = figures.runs.iter().map(|run| run.id).collect();
    let specimens = fleet::specimens(&figures, &chosen::headers(&mut store, &ids)?);
    show(choice.format, Answer::Outliers(fleet::outliers(&specimens)))
}
