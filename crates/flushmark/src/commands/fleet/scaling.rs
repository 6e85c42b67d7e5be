//! `flushmark fleet scaling`: what each test made with different numbers of hosts at once.

use std::collections::BTreeSet;

use fleet::{Answer, Together};
use store::{RunId, Store, StoredRun};

use super::show;
use crate::args::fleet::ChoiceArgs;
use crate::args::store::StoreArgs;
use crate::keeping::Reading;

pub fn run(choice: &ChoiceArgs, place: &StoreArgs) -> anyhow::Result<()> {
    let mut store = Reading::of(place)?.expect()?;
    let mut groups = Vec::new();
    for runs in store.groups(&choice.runs.filter.filter())? {
        groups.extend(together(&mut store, &runs, choice)?);
    }
    show(choice.format, Answer::Scaling(fleet::scaling(&groups)))
}

/// The runs of a group of hosts; `None` if they were targets of one host, which have no name
/// together, or are on other drives than were asked for.
fn together(
    store: &mut Store,
    runs: &[RunId],
    choice: &ChoiceArgs,
) -> anyhow::Result<Option<Together>> {
    let kept = runs.iter().map(|&run| store.get(run)).collect::<Result<Vec<StoredRun>, _>>()?;
    let is_chosen = |kept: &StoredRun| match &kept.summary.drives[..] {
        [drive] => choice.runs.drives().has(Some(drive)),
        _ => choice.runs.drives().has(None),
    };
    let Some(first) = kept.first().filter(|_| kept.iter().all(is_chosen)) else { return Ok(None) };
    let name = first.document.group.as_ref().and_then(|group| group.name.clone());
    let Some(name) = name else { return Ok(None) };
    let hosts: BTreeSet<Option<&str>> =
        kept.iter().map(|kept| kept.summary.host.as_deref()).collect();
    Ok(Some(Together {
        name,
        hosts: hosts.len(),
        at: first.summary.at,
        suite: first.summary.suite.clone(),
        documents: kept.into_iter().map(|kept| kept.document).collect(),
    }))
}
