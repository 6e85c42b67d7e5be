//! `flushmark sort`: sorts files by their bytes.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use indicatif::{BinaryBytes, ProgressBar, ProgressStyle};
use prefixsort::ExternalOptions;
use sortfile::{Done, Order, SortError, Sorter, Ties, Unit, first_disorder};

use crate::args::sort::{CheckAs, Memory, SortArgs};
use crate::exit::{ExitStatus, WrongUse, complain};
use crate::whole_file::Replacement;
use crate::writing_out::WritingOut;

/// Shorter work is done before anyone could read a bar.
const SHORT: Duration = Duration::from_secs(1);

/// More threads would only wait for one another.
const THREADS_MAX: usize = 1024;

/// Memory to use if the system does not report how much it has.
const MEMORY_DEFAULT: u64 = 256 << 20;

/// Sorts or checks.
///
/// # Errors
/// If an input cannot be read, or the output or a temporary file cannot be written.
pub fn run(args: &SortArgs) -> anyhow::Result<ExitStatus> {
    // A signal ends the program at once: unfinished output has no name and vanishes.
    match args.check_as() {
        Some(check_as) => check(args, check_as),
        None => sort(args),
    }
}

fn order(args: &SortArgs) -> Order {
    let end = if args.zero_terminated { 0 } else { b'\n' };
    Order {
        unit: args.record_size.map_or(Unit::Lines { end }, |size| Unit::Records(size as usize)),
        keys: args.key.clone(),
        separator: args.field_separator,
        skip_blanks: args.ignore_leading_blanks,
        reverse: args.reverse,
        ties: match (args.unique, args.stable) {
            (true, _) => Ties::FirstOnly,
            (false, true) => Ties::AsTheyCame,
            (false, false) => Ties::WholeRecord,
        },
    }
}

fn sort(args: &SortArgs) -> anyhow::Result<ExitStatus> {
    let begun = Instant::now();
    // Fail now, and not after hours, if a file cannot be read or written.
    let inputs = inputs(args);
    inputs.iter().try_for_each(|input| expect_readable(input))?;
    args.temporary_directory.iter().try_for_each(|directory| expect_room(directory))?;
    let output = match &args.output {
        Some(path) => Some((path, Replacement::begin(path, None).with_context(|| cannot_write(path))?)),
        None => None,
    };
    let expected = expected(&inputs);
    let threads =
        args.parallel.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).min(THREADS_MAX);
    let options = ExternalOptions {
        memory: usize::try_from(memory(args.buffer_size)).unwrap_or(usize::MAX),
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
    let mut sorter = Sorter::new(&order(args), options)?.watched(bar.of_spilled());
    for input in &inputs {
        sorter.take(open(input)?, |read| bar.advance("reading", read)).map_err(|error| of_input(error, input))?;
    }
    let read = begun.elapsed();
    bar.begin_again();
    let done = match output {
        Some((path, output)) => to_file(sorter, output, path, &bar)?,
        None => to_stdout(sorter, &bar)?,
    };
    if args.figures {
        complain(&figures(&done, read, begun.elapsed()));
    }
    Ok(ExitStatus::Done)
}

fn to_file(sorter: Sorter, mut output: Replacement, path: &Path, bar: &Bar) -> anyhow::Result<Done> {
    let written = sorter.finish(WritingOut::of(&mut output), |written| bar.advance("writing", written));
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

/// Adds the input's name to errors about it.
fn of_input(error: SortError, input: &Path) -> anyhow::Error {
    match error {
        SortError::Read(_) | SortError::Rest { .. } => anyhow::Error::new(error).context(name(input)),
        other => other.into(),
    }
}

fn expect_room(directory: &Path) -> Result<(), WrongUse> {
    if directory.is_dir() {
        return Ok(());
    }
    Err(WrongUse(format!("{} is not a directory, so --temporary-directory cannot use it", directory.display())))
}

fn to_stdout(sorter: Sorter, bar: &Bar) -> anyhow::Result<Done> {
    // Blocks are already a megabyte; `Stdout`'s buffer would search them for newlines.
    let out = File::from(std::io::stdout().as_fd().try_clone_to_owned().context("cannot write to stdout")?);
    let done = sorter.finish(WritingOut::of(&out), |written| bar.advance("writing", written))?;
    // A pipe or a terminal has nothing to make durable.
    if out.metadata().is_ok_and(|facts| facts.is_file()) {
        out.sync_all().context("cannot make stdout durable")?;
    }
    Ok(done)
}

fn check(args: &SortArgs, check_as: CheckAs) -> anyhow::Result<ExitStatus> {
    let order = order(args);
    let inputs = inputs(args);
    let bar = Bar::new(args.quiet, expected(&inputs));
    let [input] = &inputs[..] else {
        return Err(WrongUse("--check takes exactly one file".to_owned()).into());
    };
    expect_readable(input)?;
    let disorder = first_disorder(&order, open(input)?, |read| bar.advance("checking", read));
    let Some(disorder) = disorder.map_err(|error| of_input(error, input))? else { return Ok(ExitStatus::Done) };
    if check_as == CheckAs::DiagnoseFirst {
        let what = if args.unique { "out of order or duplicate" } else { "out of order" };
        complain(&format!("{}:{}: {what}: {}", name(input), disorder.number, shown(&disorder.record)));
    }
    Ok(ExitStatus::Unfit)
}

/// The beginning of a record, escaped so that a terminal does not interpret it.
fn shown(record: &[u8]) -> String {
    const CHARACTERS_MAX: usize = 80;
    let text: String =
        String::from_utf8_lossy(&record[..record.len().min(4 * CHARACTERS_MAX)]).chars().take(CHARACTERS_MAX).collect();
    let more = if record.len() > text.len() { "…" } else { "" };
    format!("{}{more}", text.escape_debug())
}

fn inputs(args: &SortArgs) -> Vec<PathBuf> {
    if args.files.is_empty() { vec![PathBuf::from("-")] } else { args.files.clone() }
}

fn name(input: &Path) -> String {
    if is_stdin(input) { "stdin".to_owned() } else { input.display().to_string() }
}

fn is_stdin(input: &Path) -> bool {
    input == Path::new("-")
}

fn open(input: &Path) -> anyhow::Result<Box<dyn Read>> {
    if is_stdin(input) {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    Ok(Box::new(File::open(input).with_context(|| format!("cannot open {}", input.display()))?))
}

fn expect_readable(input: &Path) -> anyhow::Result<()> {
    if is_stdin(input) {
        return Ok(());
    }
    let facts = std::fs::metadata(input).with_context(|| format!("cannot open {}", input.display()))?;
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
fn expected(inputs: &[PathBuf]) -> Option<u64> {
    let length = |input: &PathBuf| {
        let facts = std::fs::metadata(input).ok().filter(|facts| facts.is_file() && !is_stdin(input))?;
        Some(facts.len())
    };
    inputs.iter().map(length).sum()
}

/// Bytes of memory to use.
fn memory(wanted: Option<Memory>) -> u64 {
    let amount = |name: &str| {
        let facts = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = facts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
    };
    // A container may have less than its machine.
    let allowed = || std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?.trim().parse::<u64>().ok();
    match wanted {
        Some(Memory::Bytes(bytes)) => bytes,
        Some(Memory::Percent(percent)) => {
            amount("MemTotal").map_or(MEMORY_DEFAULT, |total| total.min(allowed().unwrap_or(u64::MAX)) / 100 * percent)
        }
        None => amount("MemAvailable").map_or(MEMORY_DEFAULT, |free| free.min(allowed().unwrap_or(u64::MAX)) / 2),
    }
}

fn figures(done: &Done, read: Duration, whole: Duration) -> String {
    let figures = &done.figures;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let spilled = match figures.runs {
        0 => "nothing was spilled".to_owned(),
        runs => format!(
            "{runs} runs of {:.0} MiB in total were written in {:.2} s and {:.0} MiB read back in {:.2} s",
            mib(figures.written),
            figures.writing.as_secs_f64(),
            mib(figures.read),
            figures.reading.as_secs_f64()
        ),
    };
    format!(
        "{} records of {:.0} MiB, {} written, in {:.2} s: {:.2} s until all were read; threads sorted for {:.2} s; {spilled}",
        figures.records,
        mib(figures.bytes),
        done.written,
        whole.as_secs_f64(),
        read.as_secs_f64(),
        figures.sorting.as_secs_f64(),
    )
}

/// A progress bar on a terminal, for work that takes long enough to watch.
struct Bar {
    begun: Instant,
    bar: ProgressBar,
}

impl Bar {
    fn new(quiet: bool, expected: Option<u64>) -> Self {
        // Draws nothing if stderr is not a terminal.
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(expected.unwrap_or(0)) };
        let form = if expected.is_some() {
            "{msg} {bar:30} {bytes}/{total_bytes} {binary_bytes_per_sec}, {eta} left{prefix}"
        } else {
            "{msg} {bytes} {binary_bytes_per_sec}{prefix}"
        };
        bar.set_style(ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { begun: Instant::now(), bar }
    }

    /// Restarts the bar after reading: runs may have to be merged before the first byte is written.
    fn begin_again(&self) {
        self.bar.reset();
        self.bar.set_message("merging");
    }

    fn of_spilled(&self) -> impl Fn(u64) + Send + 'static {
        let bar = self.bar.clone();
        move |bytes| bar.set_prefix(format!(", {} spilled", BinaryBytes(bytes)))
    }

    /// Advances by this many bytes.
    fn advance(&self, what: &'static str, bytes: u64) {
        if self.begun.elapsed() > SHORT {
            self.bar.set_message(what);
            self.bar.inc(bytes);
        } else {
            self.bar.update(|state| state.set_pos(state.pos() + bytes));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
