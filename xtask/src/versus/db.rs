//! `cargo xtask versus db`: what flushmark costs a database server, on real PostgreSQL and MariaDB
//! servers whose files are in memory. They commit as fast as their processor allows, so whatever is
//! taken from it shows.
//!
//! | rows | ours | compared with |
//! | --- | --- | --- |
//! | watch at 1 Hz | commits of a server under `db watch` | the same server alone |

mod watch;

use anyhow::Context as _;

use super::{Compared, Shared, print};
use crate::build;
use crate::packages;
use crate::rig::databases::PACKAGES;
use crate::rig::databases::running::RunningServer;

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    #[command(flatten)]
    shared: Shared,
}

/// A row that compares something on each server.
struct Row {
    name: &'static str,
    compare: fn(&Bench<'_>) -> anyhow::Result<Vec<Compared>>,
}

const ROWS: [Row; 1] = [Row { name: watch::ROW, compare: watch::compare }];

type Start = fn() -> anyhow::Result<RunningServer>;

const SERVERS: [(&str, Start); 2] =
    [("PostgreSQL", RunningServer::postgres), ("MariaDB", RunningServer::mariadb)];

/// One server under comparison.
struct Bench<'a> {
    /// Its product, as rows name it.
    product: &'static str,
    url: &'a str,
    flushmark: &'a std::path::Path,
    rounds: u32,
    seconds: u32,
}

/// Starts each server, runs the rows and prints the table. Fails if a measurement fails, not if a
/// ratio falls short.
pub fn run(options: &Options) -> anyhow::Result<()> {
    packages::install(&PACKAGES)?;
    let flushmark = build::flushmark()?;
    let mut table = Vec::new();
    for (product, start) in SERVERS {
        let wanted = |row: &&Row| options.shared.wants(&format!("{}, {product}", row.name));
        let rows: Vec<&Row> = ROWS.iter().filter(wanted).collect();
        if rows.is_empty() {
            continue;
        }
        let server = start().with_context(|| format!("cannot start {product}"))?;
        let Shared { rounds, seconds, .. } = options.shared;
        let bench = Bench { product, url: &server.url, flushmark, rounds, seconds };
        for row in rows {
            eprintln!("{}, {product}", row.name);
            table.extend((row.compare)(&bench)?);
        }
    }
    print(&table);
    Ok(())
}
