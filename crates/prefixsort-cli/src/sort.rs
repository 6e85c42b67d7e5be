//! Sorting files.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clierror::{WrongUse, expect_open};
use prefixsort::ExternalOptions;
use sortfile::{Done, SortError, Sorter};
use wholefile::{Replacement, WritingOut};

use crate::PROGRAM;
use crate::args::Args;
use crate::progress::Bar;
use crate::{inputs, memory};

/// The attempt that fails if stdout is closed.
const STDOUT: &str = "cannot write to stdout";

/// More threads would only wait for one another.
const THREADS_MAX: usize = 1024;

/// Sorts the inputs, and makes the output durable.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let begun = Instant::now();
    // Fail now, and not after hours, if a file cannot be read or written.
    let inputs = inputs::of(args)?;
    if args.merge {
        inputs::expect_stdin_once(&inputs)?;
    }
    inputs.iter().try_for_each(|input| inputs::expect_readable(input))?;
    args.temporary_directory.iter().try_for_each(|directory| expect_room(directory))?;
    let output = if let Some(path) = args.output() {
        Some((path, Replacement::begin(path, None).with_context(|| cannot_write(path))?))
    } else {
        expect_open(&std::io::stdout()).context(STDOUT)?;
        None
    };
    let expected = inputs::expected(&inputs);
    let threads = args
        .parallel
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
        .min(THREADS_MAX);
    let options = ExternalOptions {
        memory: usize::try_from(memory::bytes(args.buffer_size)).unwrap_or(usize::MAX),
        directories: if args.temporary_directory.is_empty() {
            vec![std::env::temp_dir()]
        } else {
            args.temporary_directory.clone()
        },
        // One thread reads and writes; with a single thread, it also sorts.
        threads: if threads == 1 { 0 } else { threads },
        expected,
        ..ExternalOptions::default()
    };
    let bar = Bar::new(args.quiet, expected);
    let order = args.order();
    let (sorter, read) = if args.merge {
        let sorted = inputs.iter().map(|input| inputs::sorted(input)).collect();
        (Sorter::merging(&order, options, sorted)?.watched(bar.of_spilled()), None)
    } else {
        let mut sorter = Sorter::new(&order, options)?.watched(bar.of_spilled());
        for input in &inputs {
            let file = inputs::open(input)
                .with_context(|| format!("cannot open {}", inputs::name(input)))?;
            sorter
                .take(file, |read| bar.advance("reading", read))
                .map_err(|error| inputs::of_input(error, input))?;
        }
        bar.begin_again();
        (sorter, Some(begun.elapsed()))
    };
    let done = match output {
        Some((path, output)) => to_file(sorter, output, path, &bar),
        None => to_stdout(sorter, &bar),
    };
    let done = done.map_err(|error| match error.downcast() {
        Ok(error) => inputs::of_inputs(error, &inputs),
        Err(other) => other,
    })?;
    if args.figures {
        PROGRAM.complain(&figures(&done, read, begun.elapsed()));
    }
    Ok(())
}

fn to_file(
    sorter: Sorter,
    mut output: Replacement,
    path: &Path,
    bar: &Bar,
) -> anyhow::Result<Done> {
    let written =
        sorter.finish(WritingOut::of(&mut output), |written| bar.advance("writing", written));
    let done = written.map_err(|error| match error {
        SortError::Write(error) => anyhow::Error::new(error).context(cannot_write(path)),
        other => other.into(),
    })?;
    output.finish().with_context(|| cannot_write(path))?;
    Ok(done)
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

fn expect_room(directory: &Path) -> Result<(), WrongUse> {
    if directory.is_dir() {
        return Ok(());
    }
    Err(WrongUse(format!(
        "{} is not a directory, so --temporary-directory cannot use it",
        directory.display()
    )))
}

fn to_stdout(sorter: Sorter, bar: &Bar) -> anyhow::Result<Done> {
    // Blocks are already a megabyte; `Stdout`'s buffer would search them for newlines.
    let out = File::from(std::io::stdout().as_fd().try_clone_to_owned().context(STDOUT)?);
    let done = sorter.finish(WritingOut::of(&out), |written| bar.advance("writing", written))?;
    // A pipe or a terminal has nothing to make durable.
    if out.metadata().is_ok_and(|facts| facts.is_file()) {
        out.sync_all().context("cannot make stdout durable")?;
    }
    Ok(done)
}

/// `read` is when all inputs were read; a merge reads until the end.
fn figures(done: &Done, read: Option<Duration>, whole: Duration) -> String {
    let figures = &done.figures;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let spilled = match figures.runs {
        0 => "nothing was spilled".to_owned(),
        runs => format!(
            "{runs} runs of {:.0} MiB in total were written in {:.2} s and {:.0} MiB read back in \
             {:.2} s",
            mib(figures.written),
            figures.writing.as_secs_f64(),
            mib(figures.read),
            figures.reading.as_secs_f64()
        ),
    };
    let work = match read {
        Some(read) => format!(
            "{:.2} s until all were read; threads sorted for {:.2} s",
            read.as_secs_f64(),
            figures.sorting.as_secs_f64()
        ),
        None => "merged".to_owned(),
    };
    format!(
        "{} records of {:.0} MiB, {} written, in {:.2} s: {work}; {spilled}",
        figures.records,
        mib(figures.bytes),
        done.written,
        whole.as_secs_f64(),
    )
}
