//! Arguments of `flushmark db`.

use std::time::Duration;

use clap::{Parser, Subcommand};

use super::store::KeepArgs;
use super::{DeliveryArgs, Format, parse_time};

/// Measure or watch what commits cost on a database server
#[derive(Debug, Parser)]
pub struct DbArgs {
    #[command(subcommand)]
    pub command: DbCommand,
}

#[derive(Debug, Subcommand)]
pub enum DbCommand {
    Commits(CommitsArgs),
    Bench(BenchArgs),
    Watch(WatchArgs),
    Predict(PredictArgs),
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

    /// Numbers of clients (1 to 1000), each a test
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

/// Run the Insert Benchmark on a server
///
/// Each client has a table, which is loaded in key order (l.i0), gets three secondary indexes (l.x),
/// has rows inserted and deleted in big and small transactions (l.i1, l.i2), and is then queried by
/// range (qrN) and by key (qpN) while N rows per second are inserted and deleted. All of it is in a
/// schema flushmark_ID that is created for the run and dropped at its end. If the server runs on
/// this host, its processor time and the requests to its drives are counted per row and per query.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark db bench postgres://bench@db1/shop --smoke
  flushmark db bench mysql://bench@db2/ --rows 10000000 --clients 4 --time 10min
  flushmark db bench postgres://bench@db1/shop --steps l.i0,l.x,l.i1

Passwords: PGPASSWORD, PGPASSFILE or ~/.pgpass; ~/.my.cnf or MYSQL_PWD; otherwise you are asked
on a terminal. The URL must not contain one.")]
pub struct BenchArgs {
    /// The server: postgres://USER@HOST:PORT/DATABASE or mysql://USER@HOST:PORT/DATABASE; for a
    /// unix socket, its path with %2F for each / in place of HOST
    #[arg(value_name = "URL")]
    pub url: String,

    /// Rows to load, by all clients together; as many are inserted and deleted afterwards, four
    /// fifths of them in l.i1
    #[arg(long, value_name = "N", default_value_t = 1_000_000,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    pub rows: u64,

    /// Clients (1 to 1000), each with a table of its share of the rows
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub clients: u32,

    /// The steps, in this order: l.i0, l.x, l.i1, l.i2, qrN and qpN for N rows per second of each
    /// client [default: l.i0,l.x,l.i1,l.i2,qr100,qp100,qr500,qp500,qr1000,qp1000]
    #[arg(long, value_name = "STEP,...", value_delimiter = ',')]
    pub steps: Option<Vec<String>>,

    /// The time of each step with queries, such as 10min
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    pub time: Duration,

    /// Load 5000 rows and query for 1 s in each step, to see that everything works; the numbers
    /// are meaningless
    #[arg(long, conflicts_with_all = ["rows", "time"])]
    pub smoke: bool,

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

/// Predict what a server would commit on another drive, or with other settings
///
/// Starts from a result of `db commits` or `db bench` with the server's storage measured beside it,
/// or measures a server for two minutes. The syncs of another storage, modelled or measured, then
/// take the place of those measured, in a simulation of the server's group commit.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark db predict last                          (on every drive of the catalogue)
  flushmark db predict last --on sim:consumer-nvme --on sim:samsung-pm9a3-ext4
  flushmark db predict commits.json --on new-drive.json --clients 8,32
  flushmark db predict postgres://bench@db1/shop --set wal_sync_method=open_datasync")]
pub struct PredictArgs {
    /// A result of `db commits` or `db bench` (a number from `results list`, last, last~1, a file),
    /// or a server to measure: postgres://USER@HOST:PORT/DATABASE or mysql://...
    #[arg(value_name = "RESULT|URL")]
    pub source: String,

    /// The storage to predict for: sim:MODEL, or a result with commits of one writer on it
    /// [default: all drives of the catalogue, and the storage that was measured]
    #[arg(long, value_name = "STORAGE")]
    pub on: Vec<String>,

    /// Assume another value of a setting, such as wal_sync_method=open_datasync or
    /// sync_binlog=1
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,

    /// Numbers of clients, up to the largest that was measured [default: those measured]
    #[arg(long, value_name = "N,...", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub clients: Vec<u32>,

    /// With a URL: the time measured for each of 1, 4, 16 and 64 clients
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "20s")]
    pub time: Duration,

    /// With a URL: give up if the server does not answer for this long
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30s")]
    pub timeout: Duration,

    /// With a URL: measure although other clients use the server; it becomes slower for them
    #[arg(long)]
    pub busy: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Show no progress on stderr
    #[arg(long, short)]
    pub quiet: bool,

    #[command(flatten)]
    pub keep: KeepArgs,
}
