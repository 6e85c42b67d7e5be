//! `flushmark results tag` and `note`: annotations of runs.

use crate::args::results::{NoteArgs, TagArgs};
use crate::args::store::StoreArgs;
use crate::exit::ExitStatus;
use crate::keeping::Reading;
use crate::selection;

/// Adds tags to runs, or removes them.
pub fn tag(args: &TagArgs, place: &StoreArgs) -> anyhow::Result<ExitStatus> {
    let mut store = Reading::of(place)?.expect()?;
    for run in selection::runs(std::slice::from_ref(&args.run), &mut store)? {
        if args.remove {
            store.untag(run, &args.tags)?;
        } else {
            store.tag(run, &args.tags)?;
        }
    }
    Ok(ExitStatus::Done)
}

/// Replaces the note of runs.
pub fn note(args: &NoteArgs, place: &StoreArgs) -> anyhow::Result<ExitStatus> {
    let mut store = Reading::of(place)?.expect()?;
    for run in selection::runs(std::slice::from_ref(&args.run), &mut store)? {
        store.note(run, args.text.trim())?;
    }
    Ok(ExitStatus::Done)
}
