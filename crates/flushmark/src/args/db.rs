//! Arguments of `flushmark db`.

use std::time::Duration;

use clap::{Parser, Subcommand};

use super::store::KeepArgs;
use super::{DeliveryArgs, parse_time};

/// Measure what commits cost on a database server
#[derive(Debug, Parser)]
pub struct DbArgs {
    #[command(subcommand)]
    pub command: DbCommand,
}

#[derive(Debug, Subcommand)]
pub enum DbCommand {
    Commits(CommitsArgs),
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
