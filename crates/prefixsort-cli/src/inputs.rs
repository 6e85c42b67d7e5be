//! The files to read.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clierror::{WrongUse, expect_open};
use sortfile::{Input, SortError};

use crate::args::Args;

/// The files to read; stdin if none is given.
pub fn of(args: &Args) -> anyhow::Result<Vec<PathBuf>> {
    let Some(list) = &args.files0_from else {
        let files = args.files.clone();
        return Ok(if files.is_empty() { vec![PathBuf::from("-")] } else { files });
    };
    expect_readable(list)?;
    let mut bytes = Vec::new();
    let read = open(list).and_then(|mut file| file.read_to_end(&mut bytes));
    read.with_context(|| format!("cannot read {}", name(list)))?;
    Ok(listed(&bytes, list)?)
}

/// The files in a list of names that end with a zero byte; the last one may lack it.
fn listed(bytes: &[u8], list: &Path) -> Result<Vec<PathBuf>, WrongUse> {
    let wrong = |what: String| Err(WrongUse(what));
    if bytes.is_empty() {
        return wrong(format!("{} contains no file name", name(list)));
    }
    let names = bytes.strip_suffix(&[0]).unwrap_or(bytes).split(|&byte| byte == 0);
    let mut files = Vec::new();
    for (number, file) in (1..).zip(names) {
        if file.is_empty() {
            return wrong(format!("{}:{number}: the file name is empty", name(list)));
        }
        if file == b"-" && is_stdin(list) {
            return wrong(format!(
                "stdin:{number}: stdin cannot be both the list of files and one of them; write ./- \
                 for a file of this name"
            ));
        }
        files.push(PathBuf::from(OsStr::from_bytes(file)));
    }
    Ok(files)
}

pub fn name(input: &Path) -> String {
    if is_stdin(input) { "stdin".to_owned() } else { input.display().to_string() }
}

fn is_stdin(input: &Path) -> bool {
    input == Path::new("-")
}

pub fn open(input: &Path) -> io::Result<File> {
    if is_stdin(input) {
        Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
    } else {
        File::open(input)
    }
}

/// A sorted input. It is opened when its turn comes to be merged, since there may be more of them
/// than a process may have open files.
pub fn sorted(input: &Path) -> Input {
    let path = input.to_owned();
    let size = length(input).unwrap_or(0);
    let mut opened = false;
    let open = move || -> io::Result<Box<dyn Read + Send>> {
        let file = open(&path)?;
        if std::mem::replace(&mut opened, true) && !file.metadata()?.is_file() {
            return Err(io::Error::other(
                "it is not a file, so the merge cannot be restarted after a directory for \
                 temporary files has failed",
            ));
        }
        Ok(Box::new(file))
    };
    Input { open: Box::new(open), size }
}

/// Refuses stdin as more than one of the inputs of a merge.
pub fn expect_stdin_once(inputs: &[PathBuf]) -> Result<(), WrongUse> {
    if inputs.iter().filter(|input| is_stdin(input)).count() < 2 {
        return Ok(());
    }
    Err(WrongUse("stdin is given twice, but can be merged only once".to_owned()))
}

/// Finds out before the work begins whether an input can be read.
pub fn expect_readable(input: &Path) -> anyhow::Result<()> {
    if is_stdin(input) {
        return expect_open(&io::stdin()).context("cannot read stdin");
    }
    let cannot_open = || format!("cannot open {}", input.display());
    let facts = std::fs::metadata(input).with_context(cannot_open)?;
    if facts.is_dir() {
        return Err(WrongUse(format!("{} is a directory; name files", input.display())).into());
    }
    // Not opened if it is a pipe: its writer would fail when the first reader closes it.
    if facts.is_file() {
        open(input).with_context(cannot_open)?;
    }
    Ok(())
}

/// The total size of the inputs, if all are files.
pub fn expected(inputs: &[PathBuf]) -> Option<u64> {
    inputs.iter().map(|input| length(input)).sum()
}

/// The size of an input, if it is a file.
fn length(input: &Path) -> Option<u64> {
    let facts = std::fs::metadata(input).ok()?;
    (facts.is_file() && !is_stdin(input)).then_some(facts.len())
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

/// Adds the input's name to errors about an input of a merge.
pub fn of_inputs(error: SortError, inputs: &[PathBuf]) -> anyhow::Error {
    match error {
        SortError::Input { number, error } => of_input(*error, &inputs[number]),
        SortError::Disorder { number, record } => WrongUse(format!(
            "{}:{record}: out of order; --merge expects files that were sorted with the same options",
            name(&inputs[number])
        ))
        .into(),
        other => other.into(),
    }
}
