//! `flushmark fleet table`: the cost of a sync after small and large writes, host by host.

use fleet::{Answer, Place};
use store::{RunFigures, StoredRun, Which};

use super::{chosen, show};
use crate::args::Format;
use crate::args::fleet::{TableArgs, TableFormat};
use crate::args::store::StoreArgs;
use crate::commands::print;
use crate::keeping::Reading;

pub fn run(args: &TableArgs, place: &StoreArgs) -> anyhow::Result<()> {
    let mut store = Reading::of(place)?.expect()?;
    let figures = chosen::figures(&mut store, &args.runs, Which::Newest)?;
    // Newest first: it counts.
    let kept = figures.runs.iter().rev().map(|run| Ok((run, store.get(run.id)?)));
    let kept: Vec<(&RunFigures, StoredRun)> = kept.collect::<anyhow::Result<_>>()?;
    let table = fleet::table(kept.iter().map(|(run, kept)| (place_of(run, kept), &kept.document)));
    match args.format {
        TableFormat::Text => show(Format::Text, Answer::Table(table)),
        TableFormat::Markdown => print(&report::fleet_table_markdown(&table)),
        TableFormat::Json => show(Format::Json, Answer::Table(table)),
    }
}

fn place_of(run: &RunFigures, kept: &StoredRun) -> Place {
    let model = run.drive.as_ref().and_then(|drive| drive.model.clone());
    let mount = kept.document.drive.as_ref().and_then(|place| place.mount.as_ref());
    Place {
        host: run.host.clone(),
        drive: model.unwrap_or_else(|| run.target.clone()),
        filesystem: mount.map(|mount| mount.fs_type.clone()),
    }
}
