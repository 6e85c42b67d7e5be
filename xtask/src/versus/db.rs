//! `cargo xtask versus db`: what flushmark costs a database server as its client, on real PostgreSQL
//! and MariaDB servers whose files are in memory. They work as fast as their processors allow, so
//! whatever is taken from them shows.
//!
//! | rows | ours | compared with | server |
//! | --- | --- | --- | --- |
//! | watch at 1 Hz | commits of a server under `db watch` | the same server alone | syncs |
//! | commits | `db commits` | `pgbench -M prepared`, sysbench with a prepared statement | does not sync |
//! | load | the load step of `db bench` | the method of the published client, in Python | does not sync |

mod commits;
mod load;
mod watch;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::{Compared, Shared, Wanted, and_build, print};
use crate::build;
use crate::packages;
use crate::rig::databases::running::RunningServer;
use crate::rig::databases::{Durability, PACKAGES};

/// Packages that are needed here but not by the rig.
const MORE_PACKAGES: [&str; 3] = ["sysbench", "python3-psycopg2", "python3-mysqldb"];

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    #[command(flatten)]
    shared: Shared,

    /// Rows that each contestant loads
    #[arg(long, default_value_t = 200_000)]
    load_rows: u64,
}

/// A row that compares something on each server.
struct Row {
    name: &'static str,
    durability: Durability,
    compare: fn(&mut Bench<'_>) -> anyhow::Result<Vec<Compared>>,
}

const ROWS: [Row; 3] = [
    Row { name: watch::ROW, durability: Durability::On, compare: watch::compare },
    Row { name: commits::ROW, durability: Durability::Off, compare: commits::compare },
    Row { name: load::ROW, durability: Durability::Off, compare: load::compare },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Product {
    Postgres,
    Mariadb,
}

impl Product {
    const ALL: [Product; 2] = [Product::Postgres, Product::Mariadb];

    /// The name in rows.
    const fn name(self) -> &'static str {
        match self {
            Product::Postgres => "PostgreSQL",
            Product::Mariadb => "MariaDB",
        }
    }

    fn start(self, durability: Durability) -> anyhow::Result<RunningServer> {
        let server = match self {
            Product::Postgres => RunningServer::postgres(durability),
            Product::Mariadb => RunningServer::mariadb(durability),
        };
        server.with_context(|| format!("cannot start {}", self.name()))
    }
}

/// One server under comparison.
struct Bench<'a> {
    product: Product,
    server: RunningServer,
    flushmark: &'a Path,
    builds: &'a [PathBuf],
    rounds: u32,
    seconds: u32,
    load_rows: u64,
}

/// The program that is measured.
#[derive(Debug, Clone, Copy)]
enum Contestant<'a> {
    Flushmark(&'a Path),
    Peer,
}

/// A figure of a sample, its name, and what is wanted of its ratio.
type Figure<S> = (&'static str, fn(&S) -> f64, Wanted);

impl<'a> Bench<'a> {
    /// flushmark, what it is compared with, and other builds of it.
    fn contestants(&self) -> Vec<Contestant<'a>> {
        let builds = self.builds.iter().map(|build| Contestant::Flushmark(build));
        [Contestant::Flushmark(self.flushmark), Contestant::Peer]
            .into_iter()
            .chain(builds)
            .collect()
    }

    /// The rows of the samples of all contestants: each figure beside the peer's, and the first one
    /// beside that of each other build.
    fn rows<S>(&self, row: &str, samples: &[Vec<S>], figures: &[Figure<S>]) -> Vec<Compared> {
        let row = format!("{row}, {}", self.product.name());
        let sides = |other: usize| [samples[0].as_slice(), samples[other].as_slice()];
        let beside_peer = figures
            .iter()
            .map(|&(name, figure, wanted)| Compared::medians(&row, name, sides(1), figure, wanted));
        let (name, first, _) = figures[0];
        let beside_builds = self.builds.iter().enumerate().map(|(at, build)| {
            let name = and_build(name, build);
            Compared::medians(&row, name, sides(2 + at), first, Wanted::BUILD_RATE)
        });
        beside_peer.chain(beside_builds).collect()
    }
}

/// Starts each server, runs the rows and prints the table. Fails if a measurement fails, not if a
/// ratio falls short.
pub fn run(options: &Options) -> anyhow::Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "the servers run as their own users; run this as root"
    );
    packages::install(&PACKAGES)?;
    packages::install(&MORE_PACKAGES)?;
    let flushmark = build::flushmark()?;
    let Shared { rounds, seconds, .. } = options.shared;
    let mut table = Vec::new();
    for product in Product::ALL {
        for row in ROWS {
            let name = format!("{}, {}", row.name, product.name());
            if !options.shared.wants(&name) {
                continue;
            }
            eprintln!("{name}");
            let server = product.start(row.durability)?;
            let load_rows = options.load_rows;
            let builds = &options.shared.builds;
            let mut bench =
                Bench { product, server, flushmark, builds, rounds, seconds, load_rows };
            table.extend((row.compare)(&mut bench)?);
        }
    }
    print(&table);
    Ok(())
}
