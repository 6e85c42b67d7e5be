//! Commits of `db commits` beside those of each product's usual tool, with the same statement in the
//! same form: prepared, one row, a transaction by itself. The server does not sync, so the clients'
//! share of a commit is as large as it can be.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use measurement::RunDocument;

use super::super::{Compared, Wanted, in_turns};
use super::{Bench, Contestant, Product};
use crate::command::{output, watched_output};

pub const ROW: &str = "commits";
const CLIENTS: [u32; 2] = [1, 16];
/// From its start until a peer commits at its full rate.
const STARTED: Duration = Duration::from_millis(800);
const PGBENCH: &str = "/usr/lib/postgresql/15/bin/pgbench";
/// The statement and the table of `db commits`, for both peers.
const FILLER: usize = 84;

#[derive(Debug, Clone, Copy)]
struct Sample {
    per_s: f64,
    /// The client's processor time of one commit.
    cpu_us: f64,
}

pub fn compare(bench: &mut Bench<'_>) -> anyhow::Result<Vec<Compared>> {
    let directory = tempfile::tempdir()?;
    let script = directory.path().join("commit");
    let filler = "x".repeat(FILLER);
    let (tables, text) = match bench.product {
        Product::Postgres => (
            "create schema peer; create table peer.commits (client bigint not null, turn bigint \
             not null, filler text not null, primary key (client, turn));",
            format!(
                "\\set turn :turn + 1\ninsert into peer.commits (client, turn, filler) values \
                 (:client_id, :turn, '{filler}');\n"
            ),
        ),
        Product::Mariadb => (
            "create database peer; create table peer.commits (client bigint not null, turn bigint \
             not null, filler varchar(100) not null, primary key (client, turn)) engine=innodb;",
            format!(
                "function thread_init()\n  connection = sysbench.sql.driver():connect()\n  insert = \
                 connection:prepare(\"INSERT INTO commits (client, turn, filler) VALUES (?, ?, \
                 '{filler}')\")\n  client = insert:bind_create(sysbench.sql.type.BIGINT)\n  turn = \
                 insert:bind_create(sysbench.sql.type.BIGINT)\n  insert:bind_param(client, turn)\n  \
                 number = 0\nend\n\nfunction event()\n  number = number + 1\n  \
                 client:set(sysbench.tid)\n  turn:set(number)\n  insert:execute()\nend\n"
            ),
        ),
    };
    std::fs::write(&script, text)?;
    let script = script.display().to_string();
    let mut table = Vec::new();
    for clients in CLIENTS {
        let rate: fn(&Sample) -> f64 = |sample| sample.per_s;
        let cpu: fn(&Sample) -> f64 = |sample| sample.cpu_us;
        let (rounds, all) = (bench.rounds, bench.contestants());
        let samples = in_turns(rounds, &all, rate, |contestant| match contestant {
            Contestant::Flushmark(program) => flushmark(bench, program, clients),
            Contestant::Peer => {
                let drop = match bench.product {
                    Product::Postgres => "drop schema if exists peer cascade;",
                    Product::Mariadb => "drop database if exists peer;",
                };
                bench.server.execute(&format!("{drop} {tables}"))?;
                match bench.product {
                    Product::Postgres => pgbench(bench, clients, &script),
                    Product::Mariadb => sysbench(bench, clients, &script),
                }
            }
        })?;
        let figures = [
            ("commits/s", rate, Wanted::AtLeast(1.0)),
            ("client's CPU us a commit", cpu, Wanted::AtMost(1.0)),
        ];
        table.extend(bench.rows(&format!("{ROW} of {clients}"), &samples, &figures));
    }
    Ok(table)
}

fn flushmark(bench: &Bench<'_>, program: &Path, clients: u32) -> anyhow::Result<Sample> {
    let (clients, time) = (clients.to_string(), format!("{}s", bench.seconds));
    let text = output(
        &program.to_string_lossy(),
        &[
            "db", "commits", &bench.server.url, "--busy", "--store", "none", "--quiet", "--format",
            "json", "--clients", &clients, "--time", &time,
        ],
    )?;
    let document = RunDocument::from_json(&text)?;
    let result = document.results.iter().find(|result| result.workload.pattern.is_none());
    let result = result.context("no commits were measured")?;
    let per_s = result.commits_per_s.context("no commits were measured")?;
    // The processor time includes the warm-up, and so does the time of the server's counters.
    let server = result.server.as_ref().context("the server's counters were not read")?;
    let cpu_s = result.cpu.user_s + result.cpu.system_s;
    Ok(Sample { per_s, cpu_us: cpu_s * 1e6 / (per_s * server.elapsed_s) })
}

fn pgbench(bench: &Bench<'_>, clients: u32, script: &str) -> anyhow::Result<Sample> {
    let (clients, time) = (clients.to_string(), bench.seconds.to_string());
    let socket = bench.server.socket.display().to_string();
    let words = [
        "--no-vacuum", "--protocol=prepared", "--define=turn=0", "--file", script, "--client",
        &clients, "--time", &time, "--host", &socket, "--username=postgres", "postgres",
    ];
    peer(bench, PGBENCH, &words, |text| {
        let line = text.lines().find_map(|line| line.strip_prefix("tps = "))?;
        line.split_whitespace().next()?.parse().ok()
    })
}

fn sysbench(bench: &Bench<'_>, clients: u32, script: &str) -> anyhow::Result<Sample> {
    let (threads, time) = (format!("--threads={clients}"), format!("--time={}", bench.seconds));
    let socket = format!("--mysql-socket={}", bench.server.socket.display());
    let words = [
        "--db-driver=mysql", &socket, "--mysql-user=root", "--mysql-db=peer", &threads, &time,
        script, "run",
    ];
    let seconds = f64::from(bench.seconds);
    peer(bench, "sysbench", &words, |text| {
        let events =
            text.lines().find_map(|line| line.trim().strip_prefix("total number of events:"));
        Some(events?.trim().parse::<f64>().ok()? / seconds)
    })
}

fn peer(
    bench: &Bench<'_>,
    program: &str,
    words: &[&str],
    rate: impl Fn(&str) -> Option<f64>,
) -> anyhow::Result<Sample> {
    let window = STARTED..Duration::from_secs(bench.seconds.into());
    let (text, processors) = watched_output(program, words, window)?;
    let per_s = rate(&text).with_context(|| format!("{program} printed no rate: {text}"))?;
    Ok(Sample { per_s, cpu_us: processors * 1e6 / per_s })
}
