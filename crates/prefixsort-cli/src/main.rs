//! `prefixsort`: sorts files by their bytes, with the output of `LC_ALL=C sort`.
//!
//! The crate `sortfile` sorts, and `wholefile` replaces the output; this program parses arguments,
//! connects the two and prints.

mod args;
mod check;
mod inputs;
mod memory;
mod progress;
mod sort;

use std::process::ExitCode;

use clap::Parser as _;
use clierror::Program;
use wholefile::ReplaceError;

use crate::args::Args;

const PROGRAM: Program = Program::named("prefixsort");

/// Exit code of a check of unsorted input.
const UNSORTED: u8 = 1;

fn main() -> ExitCode {
    let args = Args::try_parse_from(args::with_separators(std::env::args_os()))
        .unwrap_or_else(|error| clierror::exit_as_parsed(&error));
    // A signal ends the program at once: unfinished output has no name and vanishes.
    let outcome = match args.check_as() {
        Some(check_as) => check::run(&args, check_as)
            .map(|sorted| if sorted { ExitCode::SUCCESS } else { ExitCode::from(UNSORTED) }),
        None => sort::run(&args).map(|()| ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(|error| {
        PROGRAM.failed(&error, |error| error.downcast_ref().map(ReplaceError::blame))
    })
}
