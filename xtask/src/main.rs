//! What a developer of flushmark types. `cargo xtask` alone lists it.

mod bench;
mod command;
mod docs;
mod fit;
mod mutants;
mod reproduce;
mod rig;
mod test;
mod versus;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

/// Developer commands of flushmark.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Formatting, lints, documentation, every test; needs the toolchain and Linux
    Test {
        /// As root: run the tests on a bare root, install the Debian packages that tests with real components need, and run those too
        #[arg(long)]
        rigs: bool,
        /// What the whole may take: real components that would begin in its last third are left out, and said to be
        #[arg(long, requires = "rigs")]
        minutes: Option<u64>,
    },
    /// Run a command with no programs but the toolchain's and a small system's; `test --rigs` calls it
    #[command(hide = true)]
    BareRoot {
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Write the generated files anew: docs/plan.md, docs/models.md, schemas/*.json
    Docs,
    /// Fit a model to the published rows of its drive, and say how well it does
    Fit(fit::Options),
    /// Every published table out of the models: published figure, modelled figure, error; the page docs/models.md
    Reproduce,
    /// Change the code of crates in many small ways, and count how many changes their tests notice
    Mutants(mutants::Options),
    /// Real components above drives that this machine does not have
    Rig {
        #[command(subcommand)]
        rig: rig::Rig,
    },
    /// How long something takes on this machine, and how large it gets
    Bench {
        #[command(subcommand)]
        what: Bench,
    },
    /// The engine beside a peer on this machine: both sides and the ratio of one run
    Versus {
        #[command(subcommand)]
        peer: Peer,
    },
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// `results import` of a directory of fio JSON+ files
    Import(bench::import::Options),
    /// A report of a real fsync-study: made by flushmark, opened in Chromium
    Report(bench::report::Options),
    /// A store filled with runs of fsync-study: keeping one more, and finding some
    Store(bench::store::Options),
    /// The pages of `flushmark web` over that many runs: lists, filters, one run, two compared
    Web(bench::web::Options),
}

#[derive(Debug, Subcommand)]
enum Peer {
    /// fio from the system's packages; as root, on zram and on a loop device in memory
    Fio(versus::Options),
    /// nbdkit from the system's packages: served drives, and crash states beside copied images
    Nbdkit(versus::Options),
    /// The sort of byte strings beside std, published crates, Arrow and references of the literature
    Sort(versus::sort::Options),
    /// `flushmark verify write` beside fio's verification (crc32c, fsync=1), on a file in memory
    Verify(versus::Options),
}

fn main() -> ExitCode {
    match run(Args::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        // Returned from `main`, an error would bring a backtrace with it where RUST_BACKTRACE is set.
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Test { rigs, minutes } => test::run(rigs, minutes.map(Duration::from_mins)),
        Task::BareRoot { command } => test::enter_bare_root(&command),
        Task::Docs => docs::write(),
        Task::Fit(options) => fit::run(&options),
        Task::Mutants(options) => mutants::run(&options),
        Task::Reproduce => reproduce::run(),
        Task::Rig { rig } => {
            let outcome = rig.run()?;
            anyhow::ensure!(outcome.failed == 0, "{} of the rig's tests failed", outcome.failed);
            Ok(())
        }
        Task::Bench { what: Bench::Import(options) } => bench::import::run(&options),
        Task::Bench { what: Bench::Report(options) } => bench::report::run(&options),
        Task::Bench { what: Bench::Store(options) } => bench::store::run(&options),
        Task::Bench { what: Bench::Web(options) } => bench::web::run(&options),
        Task::Versus { peer: Peer::Fio(options) } => versus::run(&options),
        Task::Versus { peer: Peer::Nbdkit(options) } => versus::nbdkit::run(&options),
        Task::Versus { peer: Peer::Sort(options) } => versus::sort::run(&options),
        Task::Versus { peer: Peer::Verify(options) } => versus::verify::run(&options),
    }
}
