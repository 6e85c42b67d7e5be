//! `flushmark completions`: the script that a shell loads.

use super::print;
use crate::args::installation::CompletionsArgs;
use crate::completion::COMPLETIONS;
use crate::exit::ExitStatus;

pub fn run(args: &CompletionsArgs) -> anyhow::Result<ExitStatus> {
    print(&COMPLETIONS.script(args.shell))?;
    Ok(ExitStatus::Done)
}
