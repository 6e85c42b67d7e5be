//! `cargo xtask versus sort`: our sort of byte strings beside every peer, on every data set, in one run.
//!
//! The measuring itself is done by the program `sortbench`, pinned to one processor: each repetition sorts a fresh copy of the same keys with every contestant
//! in turn, in another order each time, and each result is compared to the sorted keys. Medians are compared.

mod files;
mod first;
mod growth;
mod in_memory;
mod memory_traffic;
mod plot;
mod runner;
mod targets;

use anyhow::ensure;

use self::runner::Runner;

/// What does not fit a processor's cache by far, and may not fit a machine's memory.
const MANY: usize = 10_000_000;

/// How it is run.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches that a person sets one by one")]
pub struct Options {
    /// Keys of each data set
    #[arg(long, default_value_t = 1_000_000)]
    keys: usize,

    /// Only these data sets
    #[arg(long, num_args = 1..)]
    data: Vec<String>,

    /// Repetitions; medians are taken over them
    #[arg(long, default_value_t = 7)]
    repeat: usize,

    /// The processor that all are pinned to
    #[arg(long, default_value_t = 1)]
    cpu: u32,

    /// Everything that follows, too, and the data sets at ten million keys: some hours
    #[arg(long)]
    all: bool,

    /// Instead: key bytes read, instructions and cache misses of ours and of std's sort, counted by valgrind
    #[arg(long)]
    cachegrind: bool,

    /// Instead: time per key from 100 000 to 10 million keys, with a plot
    #[arg(long)]
    growth: bool,

    /// Instead: the first hundredth of ten million URLs out of the sorting iterator, beside the whole sort
    #[arg(long)]
    first: bool,

    /// Instead: `flushmark sort` beside GNU `sort` on a file
    #[arg(long)]
    files: bool,

    /// The file's size
    #[arg(long, default_value_t = 1024)]
    mib: u64,

    /// Where the file, the output and what memory does not hold go, instead of the system's temporary directory
    #[arg(long)]
    directory: Option<std::path::PathBuf>,
}

/// Prints the tables that were asked for. Fails when a contestant does not sort or a tool is missing, not when a ratio falls short.
pub fn run(options: &Options) -> anyhow::Result<()> {
    ensure!(options.repeat > 0, "a median of no repetitions is none; ask for one at least (--repeat)");
    ensure!(options.keys > 0, "there is nothing to sort; ask for one key at least (--keys)");
    let runner = Runner::built(options.cpu)?;
    let sets = runner.data_sets()?;
    let wanted = targets::NAMED.map(str::to_owned);
    for name in options.data.iter().chain(&wanted) {
        ensure!(sets.contains(name), "there is no data set {name}; there are {}", sets.join(", "));
    }
    let alone = options.cachegrind || options.growth || options.first || options.files;
    if options.all || !alone {
        let sets = if options.data.is_empty() { sets } else { options.data.clone() };
        in_memory::run(&runner, options, options.keys, &sets)?;
        if options.all {
            in_memory::run(&runner, options, MANY, &sets)?;
        }
    }
    if options.all || options.cachegrind {
        memory_traffic::run(&runner, options)?;
    }
    if options.all || options.growth {
        growth::run(&runner, options)?;
    }
    if options.all || options.first {
        first::run(&runner, options)?;
    }
    if options.all || options.files {
        files::run(&runner, options)?;
    }
    Ok(())
}
