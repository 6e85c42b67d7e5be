//! Sorting files.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clierror::WrongUse;
use prefixsort::ExternalOptions;
use sortfile::{Done, SortError, Sorter};
use wholefile::{Replacement, WritingOut};

use crate::PROGRAM;
use crate::args::Args;
use crate::progress::Bar;
use crate::{inputs, memory};

/// More threads would only wait for one another.
const THREADS_MAX: usize = 1024;

/// Sorts the inputs, and makes the output durable.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let begun = Instant::now();
    // Fail now, and not after hours, if a file cannot be read or written.
    let inputs = inputs::or_stdin(&args.files);
    inputs.iter().try_for_each(|input| inputs::expect_readable(input))?;
    args.temporary_directory.iter().try_for_each(|directory| expect_room(directory))?;
    let output = match &args.output {
        Some(path) => {
            Some((path, Replacement::begin(path, None).with_context(|| cannot_write(path))?))
        }
        None => None,
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
    let mut sorter = Sorter::new(&args.order(), options)?.watched(bar.of_spilled());
    for input in &inputs {
        sorter
            .take(inputs::open(input)?, |read| bar.advance("reading", read))
            .map_err(|error| inputs::of_input(error, input))?;
    }
    let read = begun.elapsed();
    bar.begin_again();
    let done = match output {
        Some((path, output)) => to_file(sorter, output, path, &bar)?,
        None => to_stdout(sorter, &bar)?,
    };
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
    let out = File::from(
        std::io::stdout().as_fd().try_clone_to_owned().context("cannot write to stdout")?,
    );
    let done = sorter.finish(WritingOut::of(&out), |written| bar.advance("writing", written))?;
    // A pipe or a terminal has nothing to make durable.
    if out.metadata().is_ok_and(|facts| facts.is_file()) {
        out.sync_all().context("cannot make stdout durable")?;
    }
    Ok(done)
}

fn figures(done: &Done, read: Duration, whole: Duration) -> String {
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
    format!(
        "{} records of {:.0} MiB, {} written, in {:.2} s: {:.2} s until all were read; threads \
         sorted for {:.2} s; {spilled}",
        figures.records,
        mib(figures.bytes),
        done.written,
        whole.as_secs_f64(),
        read.as_secs_f64(),
        figures.sorting.as_secs_f64(),
    )
}
