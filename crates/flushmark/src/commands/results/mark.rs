//! `flushmark results tag` and `note`: what people write on runs.

use crate::args::results::{NoteArgs, TagArgs};
use crate::args::store::StoreArgs;
use crate::exit::Verdict;
use crate::keeping::Reading;
use crate::selection;

/// Puts tags on runs, or takes them off.
///
/// # Errors
/// When the word names no run, or the store cannot be written.
pub fn tag(args: &TagArgs, place: &StoreArgs) -> anyhow::Result<Verdict> {
    let mut store = Reading::of(place)?.expect()?;
    for run in selection::runs(std::slice::from_ref(&args.run), &mut store)? {
        if args.remove {
            store.untag(run, &args.tags)?;
        } else {
            store.tag(run, &args.tags)?;
        }
    }
    Ok(Verdict::Done)
}

/// Replaces the note of runs.
///
/// # Errors
/// When the word names no run, or the store cannot be written.
pub fn note(args: &NoteArgs, place: &StoreArgs) -> anyhow::Result<Verdict> {
    let mut store = Reading::of(place)?.expect()?;
    for run in selection::runs(std::slice::from_ref(&args.run), &mut store)? {
        store.note(run, args.text.trim())?;
    }
    Ok(Verdict::Done)
}
