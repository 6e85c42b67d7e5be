//! `flushmark results tag` and `note`: what people write on runs.

use crate::args::results::{NoteArgs, TagArgs};
use crate::args::store::StoreArgs;
use crate::exit::Verdict;
use crate::keeping::Reading;

/// Puts tags on a run, or takes them off.
///
/// # Errors
/// When there is no such run, or the store cannot be written.
pub fn tag(args: &TagArgs, place: &StoreArgs) -> anyhow::Result<Verdict> {
    let mut store = Reading::of(place)?.expect()?;
    if args.remove {
        store.untag(args.run, &args.tags)?;
    } else {
        store.tag(args.run, &args.tags)?;
    }
    Ok(Verdict::Done)
}

/// Replaces a run's note.
///
/// # Errors
/// When there is no such run, or the store cannot be written.
pub fn note(args: &NoteArgs, place: &StoreArgs) -> anyhow::Result<Verdict> {
    Reading::of(place)?.expect()?.note(args.run, args.text.trim())?;
    Ok(Verdict::Done)
}
