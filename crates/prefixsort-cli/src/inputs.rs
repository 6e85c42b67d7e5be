//! The files to read.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clierror::WrongUse;
use sortfile::SortError;

/// The files to read; stdin if none is given.
pub fn or_stdin(files: &[PathBuf]) -> Vec<PathBuf> {
    if files.is_empty() { vec![PathBuf::from("-")] } else { files.to_vec() }
}

pub fn name(input: &Path) -> String {
    if is_stdin(input) { "stdin".to_owned() } else { input.display().to_string() }
}

fn is_stdin(input: &Path) -> bool {
    input == Path::new("-")
}

pub fn open(input: &Path) -> anyhow::Result<Box<dyn Read>> {
    if is_stdin(input) {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    Ok(Box::new(File::open(input).with_context(|| format!("cannot open {}", input.display()))?))
}

/// Finds out before the work begins whether an input can be read.
pub fn expect_readable(input: &Path) -> anyhow::Result<()> {
    if is_stdin(input) {
        return Ok(());
    }
    let facts =
        std::fs::metadata(input).with_context(|| format!("cannot open {}", input.display()))?;
    if facts.is_dir() {
        return Err(WrongUse(format!("{} is a directory; name files", input.display())).into());
    }
    // Not opened if it is a pipe: its writer would fail when the first reader closes it.
    if facts.is_file() {
        open(input)?;
    }
    Ok(())
}

/// The total size of the inputs, if all are files.
pub fn expected(inputs: &[PathBuf]) -> Option<u64> {
    let length = |input: &PathBuf| {
        let facts =
            std::fs::metadata(input).ok().filter(|facts| facts.is_file() && !is_stdin(input))?;
        Some(facts.len())
    };
    inputs.iter().map(length).sum()
}

/// Adds the input's name to errors about it.
pub fn of_input(error: SortError, input: &Path) -> anyhow::Error {
    match error {
        SortError::Read(_) | SortError::Rest { .. } => {
            anyhow::Error::new(error).context(name(input))
        }
        other => other.into(),
    }
}
