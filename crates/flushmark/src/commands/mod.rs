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
pub mod sort;
pub mod suites;
pub mod verify;
pub mod web;

use std::io::Write as _;
use std::path::Path;

use ::report::{Glyphs, Look, Palette};
use anyhow::Context as _;
use measurement::RunDocument;

use crate::args::CommonArgs;
use crate::exit::{WrongUse, is_broken_pipe};
use crate::export;
use crate::whole_file;

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

/// Notices before minutes of measuring that a file which results are to be written to has no directory to lie in.
pub fn expect_output(common: &CommonArgs) -> Result<(), WrongUse> {
    for (option, file) in [("--output", &common.output), ("--metrics-file", &common.metrics_file)] {
        let parent = file.as_deref().and_then(Path::parent).filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
            let parent = parent.display();
            return Err(WrongUse(format!("{parent} is no directory, so {option} cannot make a file there")));
        }
    }
    Ok(())
}

/// Keeps the document in the files that `--output` and `--metrics-file` name, and prints it as programs read it or as the `page` for people. No failure keeps
/// the others from being tried: what took minutes to measure must not be lost. A reader that went away has seen what it wanted.
pub fn deliver(
    document: &RunDocument,
    common: &CommonArgs,
    page: impl FnOnce(&RunDocument) -> String,
) -> anyhow::Result<()> {
    let kept = common.output.as_deref().map_or(Ok(()), |path| {
        let json = ::report::json(document);
        whole_file::replace(path, json.as_bytes(), None)
            .with_context(|| format!("cannot write the result to {}", path.display()))
    });
    let counted = common.metrics_file.as_deref().map_or(Ok(()), |path| export::write_metrics(document, path));
    let printed = match common.format.exported() {
        Some(format) => {
            export::text(std::slice::from_ref(document), format).map_err(Into::into).and_then(|text| print(&text))
        }
        None if document.results.is_empty() => Ok(()),
        None => print(&page(document)),
    };
    kept.and(counted).and(printed.or_else(|error| if is_broken_pipe(&error) { Ok(()) } else { Err(error) }))
}
