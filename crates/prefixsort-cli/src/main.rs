//! `prefixsort`: sorts files by their bytes, with the output of `LC_ALL=C sort`.
//!
//! The crate `sortfile` sorts, and `wholefile` replaces the output; this program parses arguments,
//! connects the two and prints.

mod args;
mod check;
mod generate;
mod inputs;
mod memory;
mod progress;
mod sort;
mod unsupported;

use std::process::ExitCode;

use clap::CommandFactory as _;
use clierror::Program;

use crate::args::{Args, Unread};

const PROGRAM: Program = Program::named("prefixsort");

/// Exit code of a check of unsorted input.
const UNSORTED: u8 = 1;

/// Exit code of every error, as of GNU `sort`: scripts take 1 for an answer of `--check`.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    generate::COMPLETIONS.answer(Args::command);
    let args = match Args::read(std::env::args_os()) {
        Ok(args) => args,
        Err(Unread::Clap(said)) => PROGRAM.exit_as_parsed(&said, FAILED),
        Err(Unread::Wrong(error)) => return PROGRAM.failed_with(&error.into(), FAILED).into(),
    };
    // A signal ends the program at once: unfinished output has no name and vanishes.
    let outcome = match (args.generate, args.check_as()) {
        (Some(what), _) => generate::run(what).map(|()| 0),
        (None, Some(check_as)) => {
            check::run(&args, check_as).map(|sorted| if sorted { 0 } else { UNSORTED })
        }
        (None, None) => sort::run(&args).map(|()| 0),
    };
    outcome.unwrap_or_else(|error| PROGRAM.failed_with(&error, FAILED)).into()
}
