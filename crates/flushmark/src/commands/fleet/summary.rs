//! `flushmark fleet summary`: percentiles of each test over all hosts.

use fleet::{Answer, By, Summary, Summing};
use store::{Figures, Store, Which};

use super::{chosen, show};
use crate::args::fleet::SummaryArgs;
use crate::args::store::StoreArgs;
use crate::keeping::Reading;

pub fn run(args: &SummaryArgs, place: &StoreArgs) -> anyhow::Result<()> {
    let mut store = Reading::of(place)?.expect()?;
    let figures = chosen::figures(&mut store, &args.choice.runs, Which::Newest)?;
    show(args.choice.format, Answer::Summary(of(&mut store, &figures, args.by.into())?))
}

pub fn of(store: &mut Store, figures: &Figures, by: By) -> anyhow::Result<Summary> {
    let mut summing = Summing::new(figures, by);
    store.latencies(&summing.runs(), |run, test, histogram| summing.add(run, test, histogram))?;
    Ok(summing.finish())
}
