//! `flushmark fleet report`: all answers as one HTML page.

use fleet::map::Map;
use pages::fleet::FleetReport;
use store::Which;

use super::{drift, outliers, summary};
use crate::args::fleet::FleetReportArgs;
use crate::args::store::StoreArgs;
use crate::commands::report::{Rendered, write};
use crate::exit::ExitStatus;
use crate::keeping::Reading;

pub fn run(args: &FleetReportArgs, place: &StoreArgs) -> anyhow::Result<ExitStatus> {
    write(&args.page, || {
        let mut store = Reading::of(place)?.expect()?;
        let newest = super::chosen::figures(&mut store, &args.runs, Which::Newest)?;
        let report = FleetReport {
            summary: summary::of(&mut store, &newest, fleet::By::All)?,
            outliers: outliers::of(&mut store, &args.runs)?,
            drifts: drift::of(&mut store, &args.runs)?,
            maps: Map::all(&newest),
        };
        let contents = format!("{} hosts, {} runs", report.summary.hosts, report.summary.runs);
        Ok(Rendered { page: pages::fleet::fleet_report(&report), contents })
    })
}
