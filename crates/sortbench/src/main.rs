//! One measurement in a separate process, which `cargo xtask versus sort` starts pinned to one
//! processor. Prints results as JSON on stdout.

use std::io::{BufWriter, Write as _};

use anyhow::{Context as _, ensure};
use clap::{Parser, Subcommand};
use serde_json::json;
use sortbench::contestants::Contestant;
use sortbench::data::{DATA_SETS, DataSet, SEED};
use sortbench::measure::{self, MeasureError};

/// Measures sorts of byte strings.
#[derive(Debug, Parser)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, clap::Args)]
struct Input {
    /// Name of the data set
    #[arg(long)]
    data: String,
    /// Number of keys
    #[arg(long, default_value_t = 1_000_000)]
    keys: usize,
    /// Seed from which the keys are generated
    #[arg(long, default_value_t = SEED)]
    seed: u64,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run every contestant in turn, this many times
    Compare {
        #[command(flatten)]
        input: Input,
        #[arg(long, default_value_t = 7)]
        repeat: usize,
        /// Run only these contestants
        contestants: Vec<String>,
    },
    /// Measure the first hundredth of the sorting iterator, and the whole sort
    First {
        #[command(flatten)]
        input: Input,
        #[arg(long, default_value_t = 7)]
        repeat: usize,
    },
    /// Run one sort and nothing else, for a tool that traces the process; prints the addresses of
    /// the keys
    Once {
        #[command(flatten)]
        input: Input,
        contestant: String,
    },
    /// Print this many bytes of keys as lines on stdout, a million keys per seed
    Lines {
        #[arg(long)]
        data: String,
        #[arg(long)]
        bytes: u64,
    },
    /// List the data sets
    Data,
}

impl Input {
    fn set(&self) -> anyhow::Result<&'static DataSet> {
        DataSet::named(&self.data).with_context(|| {
            let names: Vec<_> = DATA_SETS.iter().map(|set| set.name).collect();
            format!("unknown data set {}; expected one of {}", self.data, names.join(", "))
        })
    }
}

fn main() -> anyhow::Result<()> {
    match Args::parse().task {
        Task::Compare { input, repeat, contestants } => {
            let named: Vec<_> =
                contestants.iter().map(|name| contestant(name)).collect::<Result<_, _>>()?;
            let named = if named.is_empty() { Contestant::all().collect() } else { named };
            let outcome =
                match measure::compare(input.set()?, input.keys, input.seed, repeat, &named) {
                    Ok(measured) => json!({ "measured": measured }),
                    // Ten million of the longest keys do not fit into every machine; the other data
                    // sets are still measured.
                    Err(error @ MeasureError::TooLarge { .. }) => {
                        json!({ "left_out": error.to_string() })
                    }
                    Err(error) => return Err(error.into()),
                };
            println!("{outcome}");
        }
        Task::First { input, repeat } => {
            let measured = measure::first_rows(input.set()?, input.keys, input.seed, repeat)?;
            println!("{}", serde_json::to_string(&measured)?);
        }
        Task::Once { input, contestant: name } => {
            let keys = input.set()?.keys(input.keys, input.seed);
            let arena = keys.addresses();
            println!("{}", json!({ "start": arena.start, "end": arena.end }));
            std::hint::black_box(contestant(&name)?.sort(&keys.slices()));
        }
        Task::Lines { data, bytes } => {
            lines(&Input { data, keys: LINES_OF_ONE_SEED, seed: SEED }, bytes)?;
        }
        Task::Data => DATA_SETS.iter().for_each(|set| println!("{:<18} {}", set.name, set.what)),
    }
    Ok(())
}

const LINES_OF_ONE_SEED: usize = 1_000_000;

fn lines(input: &Input, bytes: u64) -> anyhow::Result<()> {
    let set = input.set()?;
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    let mut left = bytes;
    for seed in input.seed.. {
        let keys = set.keys(input.keys, seed);
        for key in keys.slices() {
            ensure!(
                !key.contains(&b'\n'),
                "keys of {} contain line ends, so they cannot be printed as lines",
                input.data
            );
            let Some(less) = left.checked_sub(key.len() as u64 + 1) else {
                return Ok(out.flush()?);
            };
            left = less;
            out.write_all(key)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(out.flush()?)
}

fn contestant(name: &str) -> anyhow::Result<&'static Contestant> {
    Contestant::named(name).with_context(|| {
        let names: Vec<_> = Contestant::all().map(|contestant| contestant.name).collect();
        format!(
            "unknown contestant {name}; expected one of {}, or `none`, which only copies",
            names.join(", ")
        )
    })
}
