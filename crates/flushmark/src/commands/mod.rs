//! One file a verb.

pub mod cache;
pub mod catalogue;
pub mod check;
pub mod crash;
pub mod drives;
pub mod emulate;
pub mod explain;
pub mod fit;
pub mod host;
pub mod models;
pub mod report;
pub mod results;
pub mod run;
pub mod suites;
pub mod verify;
pub mod web;

use std::io::Write as _;
use std::path::Path;

use ::report::{Glyphs, Look, Palette};
use anyhow::Context as _;
use measurement::RunDocument;

use crate::args::{CommonArgs, Format};
use crate::exit::{WrongUse, is_broken_pipe};

/// Prints on stdout; a reader that went away comes back as an error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot print on stdout")
}

/// Below and above this, tables are hard to read.
const COLUMNS: std::ops::RangeInclusive<usize> = 72..=120;

/// How text looks on this stdout: colour on a terminal that wants it, as wide as the terminal is.
pub fn look() -> Look {
    let coloured = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    let terminal = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    let ascii = utf8.is_some_and(|locale| !locale.to_ascii_lowercase().replace('-', "").contains("utf8"));
    Look {
        palette: if coloured { Palette::coloured() } else { Palette::plain() },
        glyphs: if ascii { Glyphs::Ascii } else { Glyphs::Unicode },
        columns: terminal.unwrap_or(Look::COLUMNS).clamp(*COLUMNS.start(), *COLUMNS.end()),
    }
}

/// Notices before minutes of measuring that the file of `--output` has no directory to lie in.
pub fn expect_output(common: &CommonArgs) -> Result<(), WrongUse> {
    let parent = common.output.as_deref().and_then(Path::parent).filter(|parent| !parent.as_os_str().is_empty());
    match parent {
        Some(parent) if !parent.is_dir() => {
            Err(WrongUse(format!("{} is no directory, so --output cannot make a file there", parent.display())))
        }
        _ => Ok(()),
    }
}

/// Keeps the document in the file that `--output` names, and prints it as JSON or as the `page` for people. Neither failure keeps the other from being
/// tried: what took minutes to measure must not be lost. A reader that went away has seen what it wanted.
pub fn deliver(
    document: &RunDocument,
    common: &CommonArgs,
    page: impl FnOnce(&RunDocument) -> String,
) -> anyhow::Result<()> {
    let json = ::report::json(document);
    let kept = common.output.as_deref().map_or(Ok(()), |path| {
        std::fs::write(path, &json).with_context(|| format!("cannot write the result to {}", path.display()))
    });
    let printed = match common.format {
        Format::Json => print(&json),
        Format::Text if document.results.is_empty() => Ok(()),
        Format::Text => print(&page(document)),
    };
    kept.and(printed.or_else(|error| if is_broken_pipe(&error) { Ok(()) } else { Err(error) }))
}
