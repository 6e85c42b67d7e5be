//! `flushmark fleet outliers`: drives that are slower than others of their model.

use fleet::Specimen;
use store::{RunId, Which};

use super::chosen;
use crate::args::fleet::ChoiceArgs;
use crate::args::store::StoreArgs;
use crate::commands::{look, print};
use crate::exit::ExitStatus;
use crate::keeping::Reading;

pub fn run(choice: &ChoiceArgs, place: &StoreArgs) -> anyhow::Result<ExitStatus> {
    let mut store = Reading::of(place)?.expect()?;
    let figures = chosen::figures(&mut store, choice, Which::Newest)?;
    let ids: Vec<RunId> = figures.runs.iter().map(|run| run.id).collect();
    let headers = chosen::headers(&mut store, &ids)?;
    let specimens: Vec<Specimen> = figures
        .runs
        .iter()
        .filter_map(|run| Some(chosen::specimen(run, &figures.names, headers.get(&run.id)?)))
        .collect();
    let found = fleet::outliers(&specimens);
    print(&report::outliers_page(&specimens, &found, &look()))?;
    Ok(ExitStatus::Done)
}
