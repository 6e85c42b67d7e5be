//! `flushmark results show`: prints runs as they were printed when measured.

use anyhow::Context as _;

use crate::args::Format;
use crate::args::results::ShowArgs;
use crate::args::store::StoreArgs;
use crate::commands::{look_of, print};
use crate::exit::ExitStatus;
use crate::keeping::Reading;
use crate::selection;

/// Prints the pages or the documents.
pub fn run(args: &ShowArgs, place: &StoreArgs) -> anyhow::Result<ExitStatus> {
    let mut store = Reading::of(place)?.expect()?;
    let runs = selection::runs(&args.runs, &mut store)?;
    let kept = runs.into_iter().map(|run| store.get(run)).collect::<Result<Vec<_>, _>>()?;
    let text = match (args.format, &kept[..]) {
        (Format::Json, [one]) => report::json(&one.document),
        (Format::Json, several) => {
            let documents: Vec<_> = several.iter().map(|kept| &kept.document).collect();
            serde_json::to_string_pretty(&documents).context("cannot write documents as JSON")?
                + "\n"
        }
        (Format::Text, several) => {
            let look = look_of(args.detail);
            several.iter().map(|kept| report::kept_page(kept, &look)).collect::<Vec<_>>().join("\n")
        }
    };
    print(&text)?;
    Ok(ExitStatus::Done)
}
