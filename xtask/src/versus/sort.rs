//! `cargo xtask versus sort`: our sort of byte strings compared with every peer, on every data set,
//! in one run.
//!
//! The program `sortbench` does the measuring, pinned to one processor. Each repetition sorts a
//! fresh copy of the same keys with every contestant, in a different order each time, and each
//! result is compared with the sorted keys. Medians are compared.

mod builds;
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

/// Far more than fits into a processor's cache; it may not fit into a machine's memory.
const MANY: usize = 10_000_000;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub struct Options {
    /// Keys of each data set
    #[arg(long, default_value_t = 1_000_000)]
    keys: usize,

    /// Only these data sets
    #[arg(long, num_args = 1..)]
    data: Vec<String>,

    /// Repetitions, of which medians are taken
    #[arg(long, default_value_t = 7)]
    repeat: usize,

    /// The processor to which all contestants are pinned
    #[arg(long, default_value_t = 1)]
    cpu: u32,

    /// Everything below as well, and the data sets at ten million keys; takes some hours
    #[arg(long)]
    all: bool,

    /// Instead: key bytes read, instructions and cache misses of ours and of std's sort, counted by
    /// valgrind
    #[arg(long)]
    cachegrind: bool,

    /// Instead: time per key from 100 000 to 10 million keys, with a plot
    #[arg(long)]
    growth: bool,

    /// Instead: the first hundredth of ten million URLs out of the sorting iterator, and the whole
    /// sort
    #[arg(long)]
    first: bool,

    /// Instead: the command `prefixsort` and GNU `sort` on a file
    #[arg(long)]
    files: bool,

    /// Instead: the sort of another build, a `sortbench` such as that of the version before, on the
    /// same keys; can be repeated
    #[arg(long = "build", value_name = "SORTBENCH")]
    builds: Vec<std::path::PathBuf>,

    /// Size of the file, in MiB
    #[arg(long, default_value_t = 1024)]
    mib: u64,

    /// Directory for the file, the output and spilled data, instead of the system's temporary
    /// directory
    #[arg(long)]
    directory: Option<std::path::PathBuf>,
}

/// Prints the requested tables. Fails if a contestant does not sort or a tool is missing, not if a
/// ratio falls short.
pub fn run(options: &Options) -> anyhow::Result<()> {
    ensure!(options.repeat > 0, "--repeat 0 is invalid: expected at least 1");
    ensure!(options.keys > 0, "--keys 0 is invalid: expected at least 1");
    let runner = Runner::built(options.cpu)?;
    let sets = runner.data_sets()?;
    let wanted = targets::NAMED.map(str::to_owned);
    for name in options.data.iter().chain(&wanted) {
        ensure!(
            sets.contains(name),
            "unknown data set {name}; expected one of {}",
            sets.join(", ")
        );
    }
    let sets = if options.data.is_empty() { sets } else { options.data.clone() };
    if !options.builds.is_empty() {
        builds::run(&runner, options, &sets)?;
    }
    let alone = options.cachegrind
        || options.growth
        || options.first
        || options.files
        || !options.builds.is_empty();
    if options.all || !alone {
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
