//! `flushmark fleet summary`: percentiles of each test over all hosts.

use fleet::{Answer, Summing};
use store::Which;

use super::{chosen, show};
use crate::args::fleet::SummaryArgs;
use crate::args::store::StoreArgs;
use crate::keeping::Reading;

pub fn run(args: &SummaryArgs, place: &StoreArgs) -> anyhow::Result<()> {
    let mut store = Reading::of(place)?.expect()?;
    let figures = chosen::figures(&mut store, &args.choice.runs, Which::Newest)?;
    let mut summing = Summing::new(&figures, args.by.into());
    store.latencies(&summing.runs(), |run, test, histogram| summing.add(run, test, histogram))?;
    show(args.choice.format, Answer::Summary(summing.finish()))
}
