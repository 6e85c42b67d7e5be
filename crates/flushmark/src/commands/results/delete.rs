//! `flushmark results delete`: permanent, so it asks for confirmation.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::Context as _;
use report::counted;
use store::{Filter, RunId, State, Store, Summary};

use crate::args::results::DeleteArgs;
use crate::args::store::StoreArgs;
use crate::exit::{self, ExitStatus, WrongUse};
use crate::keeping::Reading;

/// Deletes all of the runs, or none. Runs that are being measured cannot be named, and are not
/// among the matching ones.
pub fn run(args: &DeleteArgs, place: &StoreArgs) -> anyhow::Result<ExitStatus> {
    let filter = args.filter.filter();
    match (args.runs.as_slice(), filter == Filter::default()) {
        ([], true) => Err(WrongUse(
            "nothing to delete: name runs, or select them with options such as --until 104w"
                .to_owned(),
        )
        .into()),
        ([_, ..], false) => Err(WrongUse(
            "runs are named, and selected by options as well; use one of both".to_owned(),
        )
        .into()),
        (runs, true) => {
            let mut store = Reading::of(place)?.expect()?;
            if args.yes || confirmed(&named(runs), &store)? {
                store.delete(runs)?;
            }
            Ok(ExitStatus::Done)
        }
        ([], false) => matching(&filter, args.yes, &mut Reading::of(place)?.expect()?),
    }
}

fn matching(filter: &Filter, yes: bool, store: &mut Store) -> anyhow::Result<ExitStatus> {
    let mut runs = store.list(filter)?;
    runs.retain(|run| run.state != State::Running);
    if runs.is_empty() {
        exit::complain(&format!("no runs in {} match", store.location()));
    } else if yes || confirmed(&described(&runs), store)? {
        let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
        store.delete(&ids)?;
        eprintln!("Deleted {}.", described(&runs));
    }
    Ok(ExitStatus::Done)
}

fn named(runs: &[RunId]) -> String {
    let list = runs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if runs.len() == 1 { format!("run {list}") } else { format!("runs {list}") }
}

/// Such as "3 runs, from 2026-11-01 to 2026-11-20".
fn described(runs: &[Summary]) -> String {
    let days = runs.iter().map(|run| run.at.strftime("%F").to_string());
    let count = counted(runs.len() as u64, "run");
    match (days.clone().min(), days.max()) {
        (Some(first), Some(last)) if first != last => format!("{count}, from {first} to {last}"),
        (Some(day), _) => format!("{count} of {day}"),
        (None, _) => count,
    }
}

fn confirmed(what: &str, store: &Store) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(WrongUse(format!(
            "cannot ask for confirmation to delete {what}: stdin is not a terminal; use --yes to \
             delete without asking"
        ))
        .into());
    }
    let mut terminal = std::io::stderr().lock();
    write!(terminal, "Permanently delete {what} in {}? [y/N] ", store.location())
        .and_then(|()| terminal.flush())?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
