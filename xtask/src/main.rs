//! The commands for developers of flushmark. `cargo xtask` without arguments lists them.

mod bench;
mod build;
mod command;
mod docs;
mod fit;
mod kernel_workers;
mod mutants;
mod packages;
mod release;
mod reproduce;
mod rig;
mod served;
mod site;
mod test;
mod versus;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

/// Commands for developers of flushmark.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Check formatting, lints and documentation, and run every test; needs the toolchain and Linux
    Test {
        /// As root: run the tests on a bare root, install the Debian packages that tests with real
        /// components need, and run those too
        #[arg(long)]
        rigs: bool,
        /// Time limit: steps with real components that would start in its last third are skipped,
        /// and listed
        #[arg(long, requires = "rigs")]
        minutes: Option<u64>,
    },
    /// Build the programs for old distributions, and pack them: .deb, .rpm, archive, checksums, and
    /// the list of crates for scanners
    Package,
    /// Run a command with no programs but those of the toolchain and of a small system; used by
    /// `test --rigs`
    #[command(hide = true)]
    BareRoot {
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Regenerate docs/plan.md, docs/fio.md, docs/models.md and schemas/*.json
    Docs,
    /// Build the documentation as a website in target/site, and check its links
    Site,
    /// Fit a model to the published rows of its drive, and report how well it fits
    Fit(fit::Options),
    /// Print every published table as the models reproduce it (the page docs/models.md)
    Reproduce,
    /// Make many small changes to the code of crates, and count how many of them their tests notice
    Mutants(mutants::Options),
    /// Test real components on drives that this machine does not have
    Rig {
        #[command(subcommand)]
        rig: rig::Rig,
    },
    /// Measure how long something takes on this machine, and how large it gets
    Bench {
        #[command(subcommand)]
        what: Bench,
    },
    /// Compare flushmark with a peer on this machine: both sides and the ratio, in one run
    Versus {
        #[command(subcommand)]
        peer: Peer,
    },
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Time of answers over a fleet of very many hosts, and rate at which its runs are kept
    Fleet(bench::fleet::Options),
    /// Time of `results import` for a directory of fio JSON+ files
    Import(bench::import::Options),
    /// Time to make a report of a real fsync-study and to open it in Chromium
    Report(bench::report::Options),
    /// Time to keep and to find runs in a store filled with runs of fsync-study
    Store(bench::store::Options),
    /// Response times of `flushmark web` over many runs: lists, filters, one run, two compared
    Web(bench::web::Options),
}

#[derive(Debug, Subcommand)]
enum Peer {
    /// ceph-gobench's method and fio's rbd engine, on a real cluster whose OSDs are in memory
    Ceph(versus::ceph::Options),
    /// What flushmark costs PostgreSQL and MariaDB servers whose files are in memory, and how it
    /// compares with pgbench, sysbench and the published client of the Insert Benchmark
    Db(versus::db::Options),
    /// fio from the system's packages; as root, on zram and on a loop device in memory
    Fio(versus::fio::Options),
    /// fio as a client of NBD servers
    Nbd(versus::nbd::Options),
    /// nbdkit from the system's packages: served drives, and crash states compared with copied
    /// images
    Nbdkit(versus::nbdkit::Options),
    /// The byte-string sort, with std, published crates, Arrow and reference algorithms
    Sort(versus::sort::Options),
    /// trace-cmd and bpftrace's biosnoop, on a loop device in memory
    Trace(versus::trace::Options),
    /// `flushmark verify write` and fio's verification (crc32c, fsync=1), on a file in memory
    Verify(versus::verify::Options),
}

fn main() -> ExitCode {
    match run(Args::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        // Returned from `main`, an error would print a backtrace if RUST_BACKTRACE is set.
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
        Task::Package => release::run(),
        Task::Site => {
            println!("{}", site::build()?.display());
            Ok(())
        }
        Task::Fit(options) => fit::run(&options),
        Task::Mutants(options) => mutants::run(&options),
        Task::Reproduce => reproduce::run(),
        Task::Rig { rig } => {
            let mut tally = test::Tally::default();
            let outcome = rig.run(&mut tally)?;
            anyhow::ensure!(outcome.failed == 0, "{} of the rig's tests failed", outcome.failed);
            Ok(())
        }
        Task::Bench { what: Bench::Fleet(options) } => bench::fleet::run(&options),
        Task::Bench { what: Bench::Import(options) } => bench::import::run(&options),
        Task::Bench { what: Bench::Report(options) } => bench::report::run(&options),
        Task::Bench { what: Bench::Store(options) } => bench::store::run(&options),
        Task::Bench { what: Bench::Web(options) } => bench::web::run(&options),
        Task::Versus { peer: Peer::Ceph(options) } => versus::ceph::run(&options),
        Task::Versus { peer: Peer::Db(options) } => versus::db::run(&options),
        Task::Versus { peer: Peer::Fio(options) } => versus::fio::run(&options),
        Task::Versus { peer: Peer::Nbd(options) } => versus::nbd::run(&options),
        Task::Versus { peer: Peer::Nbdkit(options) } => versus::nbdkit::run(&options),
        Task::Versus { peer: Peer::Sort(options) } => versus::sort::run(&options),
        Task::Versus { peer: Peer::Trace(options) } => versus::trace::run(&options),
        Task::Versus { peer: Peer::Verify(options) } => versus::verify::run(&options),
    }
}
