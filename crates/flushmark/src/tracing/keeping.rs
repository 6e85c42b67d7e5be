//! The file in which a trace is kept.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use trace::{Event, Header, Keeper, Trailer};
use wholefile::Replacement;

/// A trace that is being written. The file gets its name when the trace is complete.
pub struct Keeping {
    path: PathBuf,
    keeper: Keeper<BufWriter<Replacement>>,
}

impl Keeping {
    pub fn begin(path: &Path, header: &Header) -> anyhow::Result<Keeping> {
        let file = Replacement::begin(path, None).with_context(|| failed(path))?;
        let keeper = Keeper::begin(BufWriter::new(file), header).with_context(|| failed(path))?;
        Ok(Keeping { path: path.to_owned(), keeper })
    }

    pub fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        self.keeper.event(event).with_context(|| failed(&self.path))
    }

    pub fn finish(self, trailer: &Trailer) -> anyhow::Result<()> {
        let Keeping { path, keeper } = self;
        let written = keeper.finish(trailer).and_then(|file| {
            file.into_inner().map_err(std::io::IntoInnerError::into_error)?.finish()
        });
        written.with_context(|| failed(&path))
    }
}

fn failed(path: &Path) -> String {
    format!("cannot write the trace to {}", path.display())
}
