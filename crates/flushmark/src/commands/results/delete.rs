//! `flushmark results delete`: for good, and therefore asked for twice.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::Context as _;
use store::RunId;

use crate::args::results::DeleteArgs;
use crate::args::store::StoreArgs;
use crate::exit::{Verdict, WrongUse};
use crate::keeping::Reading;

/// Deletes the runs, all or none.
///
/// # Errors
/// When one is not there or still being measured, nobody can be asked, or the store cannot be written.
pub fn run(args: &DeleteArgs, place: &StoreArgs) -> anyhow::Result<Verdict> {
    let mut store = Reading::of(place)?.expect()?;
    if args.yes || confirmed(&args.runs, &store.location().to_string())? {
        store.delete(&args.runs)?;
    }
    Ok(Verdict::Done)
}

fn confirmed(runs: &[RunId], store: &str) -> anyhow::Result<bool> {
    let list = runs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let what = if runs.len() == 1 { format!("run {list}") } else { format!("runs {list}") };
    if !std::io::stdin().is_terminal() {
        return Err(WrongUse(format!("{what}: nobody is there to be asked; --yes deletes without asking")).into());
    }
    let mut terminal = std::io::stderr().lock();
    write!(terminal, "Delete {what} in {store} for good? [y/N] ").and_then(|()| terminal.flush())?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
