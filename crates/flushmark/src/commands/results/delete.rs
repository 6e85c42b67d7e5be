//! `flushmark results delete`: permanent, so it asks for confirmation.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::Context as _;
use store::RunId;

use crate::args::results::DeleteArgs;
use crate::args::store::StoreArgs;
use crate::exit::{ExitStatus, WrongUse};
use crate::keeping::Reading;

/// Deletes all of the runs, or none.
pub fn run(args: &DeleteArgs, place: &StoreArgs) -> anyhow::Result<ExitStatus> {
    let mut store = Reading::of(place)?.expect()?;
    if args.yes || confirmed(&args.runs, &store.location().to_string())? {
        store.delete(&args.runs)?;
    }
    Ok(ExitStatus::Done)
}

fn confirmed(runs: &[RunId], store: &str) -> anyhow::Result<bool> {
    let list = runs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let what = if runs.len() == 1 { format!("run {list}") } else { format!("runs {list}") };
    if !std::io::stdin().is_terminal() {
        return Err(WrongUse(format!(
            "cannot ask for confirmation to delete {what}: stdin is not a terminal; use --yes to \
             delete without asking"
        ))
        .into());
    }
    let mut terminal = std::io::stderr().lock();
    write!(terminal, "Permanently delete {what} in {store}? [y/N] ")
        .and_then(|()| terminal.flush())?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
