//! One file a verb.

pub mod catalogue;
pub mod check;
pub mod run;
pub mod suites;

use std::io::Write as _;

use anyhow::Context as _;
use measurement::RunDocument;
use report::Look;

use crate::args::{CommonArgs, Format};

/// Prints on stdout; a reader that went away comes back as an error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// How text looks on this stdout.
pub fn look() -> Look {
    let colour = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    let width = indicatif::TermLike::width(&console_width()) as usize;
    Look { width: width.clamp(72, 110), colour, ..Look::default() }
}

/// Keeps the document in the file that `--output` names, and prints it when JSON is asked for.
pub fn deliver(document: &RunDocument, common: &CommonArgs) -> anyhow::Result<()> {
    let json = report::json(document);
    if let Some(path) = &common.output {
        std::fs::write(path, &json).with_context(|| format!("cannot write the result to {}", path.display()))?;
    }
    if common.format == Format::Json { print(&json) } else { Ok(()) }
}
