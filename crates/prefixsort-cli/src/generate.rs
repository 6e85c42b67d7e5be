//! `prefixsort --generate`: the manual page, and completions for shells.

use std::io::{self, Write as _};

use anyhow::Context as _;
use clap::{CommandFactory as _, ValueEnum};
use clidocs::completions::{Completions, Shell};
use clidocs::manual::{Entry, Manual};

use crate::args::Args;

/// The program's name, and the variable by which a shell asks it for completions.
pub const COMPLETIONS: Completions =
    Completions { program: "prefixsort", variable: "_PREFIXSORT_COMPLETE" };

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Generated {
    Manual,
    Bash,
    Zsh,
    Fish,
}

const MANUAL: Manual<'_> = Manual {
    source: concat!("prefixsort ", env!("CARGO_PKG_VERSION")),
    date: "",
    groups: &[],
    files: &[],
    environment: &[Entry {
        name: "TMPDIR",
        meaning: "the directory for temporary files if `-T` is not given",
        option: None,
    }],
    see_also: &["sort", "flushmark"],
};

pub fn run(what: Generated) -> anyhow::Result<()> {
    let text = match what {
        Generated::Manual => {
            MANUAL.pages(Args::command()).into_iter().map(|page| page.roff).collect()
        }
        Generated::Bash => COMPLETIONS.script(Shell::Bash),
        Generated::Zsh => COMPLETIONS.script(Shell::Zsh),
        Generated::Fish => COMPLETIONS.script(Shell::Fish),
    };
    let mut stdout = io::stdout().lock();
    let printed = clierror::expect_open(&stdout)
        .and_then(|()| stdout.write_all(text.as_bytes()))
        .and_then(|()| stdout.flush());
    printed.context("cannot write to stdout")
}
