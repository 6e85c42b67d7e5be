//! The commands, one file per verb.

pub mod cache;
pub mod catalogue;
pub mod ceph;
pub mod check;
pub mod completions;
pub mod crash;
pub mod db;
pub mod drives;
pub mod emulate;
pub mod explain;
pub mod fit;
pub mod fleet;
pub mod host;
pub mod manual;
mod measure;
pub mod models;
pub mod reference;
pub mod report;
pub mod results;
pub mod run;
pub mod suites;
pub mod trace;
pub mod verify;
pub mod watch;
pub mod web;

use std::io::Write as _;

use ::report::{Detail, Glyphs, Look, Palette};
use anyhow::Context as _;

use crate::args::DetailArgs;

/// Prints on stdout. A broken pipe is returned as an error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to stdout")
}

/// Narrower or wider tables are hard to read.
const COLUMNS: std::ops::RangeInclusive<usize> = Look::COLUMNS_MIN..=120;

/// The same as [`look`], brief unless the user wants everything.
pub fn look_of(wanted: DetailArgs) -> Look {
    Look { detail: if wanted.verbose { Detail::Full } else { Detail::Brief }, ..look() }
}

/// The format of text for this stdout: colours, glyphs and width of the terminal.
pub fn look() -> Look {
    let coloured = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    // As in other programs, the variable overrides the terminal.
    let given = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || console::Term::stdout().size_checked().map(|(_, columns)| columns.into());
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    let ascii =
        utf8.is_some_and(|locale| !locale.to_ascii_lowercase().replace('-', "").contains("utf8"));
    Look {
        palette: if coloured { Palette::coloured() } else { Palette::plain() },
        glyphs: if ascii { Glyphs::Ascii } else { Glyphs::Unicode },
        columns: given.or_else(terminal).map_or(Look::COLUMNS, |columns: usize| {
            columns.clamp(*COLUMNS.start(), *COLUMNS.end())
        }),
        detail: Detail::Full,
    }
}
