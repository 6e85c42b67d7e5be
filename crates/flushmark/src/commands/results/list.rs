//! `flushmark results list`: lists kept runs, newest first.

use store::Filter;

use crate::args::Format;
use crate::args::results::ListArgs;
use crate::args::store::StoreArgs;
use crate::commands::{look, print};
use crate::exit::{self, ExitStatus};
use crate::keeping::Reading;

pub fn run(args: &ListArgs, place: &StoreArgs) -> anyhow::Result<ExitStatus> {
    let (mut runs, location) = match Reading::of(place)? {
        Reading::NeverKept(location) => (Vec::new(), location),
        Reading::Open(mut store) => {
            // One extra, to know whether there are more.
            let limit =
                Some(args.limit).filter(|&limit| limit > 0).map(|limit| limit.saturating_add(1));
            (store.list(&Filter { limit, ..args.filter.filter() })?, store.location().clone())
        }
    };
    let more = args.limit > 0 && runs.len() > args.limit as usize;
    if more {
        runs.truncate(args.limit as usize);
    }
    match args.format {
        Format::Json => print(&report::run_list_json(&runs))?,
        Format::Text if !runs.is_empty() => print(&report::run_list(&runs, more, &look()))?,
        Format::Text if args.filter.filter() == Filter::default() => {
            exit::complain(&format!(
                "no runs in {location}; `flushmark check` and `flushmark run` keep their results \
                 there"
            ));
        }
        Format::Text => exit::complain(&format!("no runs in {location} match")),
    }
    Ok(ExitStatus::Done)
}
