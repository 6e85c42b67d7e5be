//! Arguments of `flushmark db`.

use std::time::Duration;

use clap::{Parser, Subcommand};

use super::store::KeepArgs;
use super::{DeliveryArgs, parse_time};

/// Measure or watch what commits cost on a database server
#[derive(Debug, Parser)]
pub struct DbArgs {
    #[command(subcommand)]
    pub command: DbCommand,
}

#[derive(Debug, Subcommand)]
pub enum DbCommand {
    Commits(CommitsArgs),
    Watch(WatchArgs),
}

/// Measure how many commits per second a server makes, by number of clients
///
/// Each client inserts one row per transaction, in a schema flushmark_ID that is created for the
/// run and dropped at its end. If the server runs on this host, commits of the storage under its
/// log are measured as well.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark db commits postgres://bench@db1/shop
  flushmark db commits postgres://postgres@%2Frun%2Fpostgresql/postgres --clients 1,16 --time 60s
  flushmark db commits 'mysql://bench@db2/?ssl-mode=VERIFY_CA&ssl-ca=ca.pem'

Passwords: PGPASSWORD, PGPASSFILE or ~/.pgpass; ~/.my.cnf or MYSQL_PWD; otherwise you are asked
on a terminal. The URL must not contain one.")]
pub struct CommitsArgs {
    /// The server: postgres://USER@HOST:PORT/DATABASE or mysql://USER@HOST:PORT/DATABASE; for a
    /// unix socket, its path with %2F for each / in place of HOST
    #[arg(value_name = "URL")]
    pub url: String,

    /// Numbers of clients, each a test
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2,4,8,16,32,64",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub clients: Vec<u32>,

    /// The time measured for each number of clients, such as 60s
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "20s")]
    pub time: Duration,

    /// Give up if the server does not answer for this long
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30s")]
    pub timeout: Duration,

    /// Measure although other clients use the server; it becomes slower for them meanwhile
    #[arg(long)]
    pub busy: bool,

    #[command(flatten)]
    pub delivery: DeliveryArgs,

    #[command(flatten)]
    pub keep: KeepArgs,
}

/// Watch the commits and syncs of a running server
///
/// Reads the server's own counters once a second and prints a line each time: commits, syncs by
/// what is synced, writes, and the time spent in syncs. If the server runs on this host, the
/// flushes that the device under its log counts are shown beside them. Writes nothing to the server. A
/// summary with findings follows at the end.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark db watch postgres://monitor@db1/postgres
  flushmark db watch postgres://postgres@%2Frun%2Fpostgresql/postgres --for 60s
  flushmark db watch mysql://monitor@db2/ --for 10min --format json --output watch.json

Press Ctrl-C to stop; the summary is printed then. Privileges: pg_monitor (PostgreSQL); SELECT on
performance_schema.* (MariaDB, MySQL). Passwords are found as for `flushmark db commits`.")]
pub struct WatchArgs {
    /// The server: postgres://USER@HOST:PORT/DATABASE or mysql://USER@HOST:PORT/DATABASE; for a
    /// unix socket, its path with %2F for each / in place of HOST
    #[arg(value_name = "URL")]
    pub url: String,

    /// Stop after this time [default: run until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,

    /// Give up if the server does not answer, or does not come back, for this long
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30s")]
    pub timeout: Duration,

    #[command(flatten)]
    pub delivery: DeliveryArgs,

    #[command(flatten)]
    pub keep: KeepArgs,
}
