//! The load step of `db bench` beside the method of the published client, which is written in
//! Python, with one client each: rows per second, and the client's processor time for a row.

use std::path::Path;

use anyhow::Context as _;
use measurement::RunDocument;

use super::super::{Compared, Wanted, in_turns};
use super::{Bench, Contestant, Product};
use crate::command::output;

pub const ROW: &str = "load";
const PEER: &str = include_str!("insert_load.py");
/// Debian's own Python, which has the packages.
const PYTHON: &str = "/usr/bin/python3";

/// A loaded row.
#[derive(Debug, Clone, Copy)]
struct Load {
    rows_per_s: f64,
    cpu_us: f64,
}

pub fn compare(bench: &mut Bench<'_>) -> anyhow::Result<Vec<Compared>> {
    if bench.product == Product::Mariadb {
        bench.server.execute("create database if not exists peer;")?;
    }
    let rate: fn(&Load) -> f64 = |load| load.rows_per_s;
    let cpu: fn(&Load) -> f64 = |load| load.cpu_us;
    let rows = bench.load_rows.to_string();
    let samples =
        in_turns(bench.rounds, &bench.contestants(), rate, |contestant| match contestant {
            Contestant::Flushmark(program) => flushmark(bench, program, &rows),
            Contestant::Peer => python(bench, &rows),
        })?;
    let figures = [
        ("rows a second", rate, Wanted::AtLeast(2.0)),
        ("client's CPU us a row", cpu, Wanted::AtMost(1.0)),
    ];
    Ok(bench.rows(ROW, &samples, &figures))
}

fn flushmark(bench: &Bench<'_>, program: &Path, rows: &str) -> anyhow::Result<Load> {
    let text = output(
        &program.to_string_lossy(),
        &[
            "db", "bench", &bench.server.url, "--rows", rows, "--steps", "l.i0", "--busy",
            "--quiet", "--store", "none", "--format", "json",
        ],
    )?;
    let document = RunDocument::from_json(&text)?;
    let result = document.results.first().context("flushmark measured nothing")?;
    let inserts = result.insert_benchmark.as_ref().and_then(|step| step.inserts.as_ref());
    let inserts = inserts.context("flushmark inserted nothing")?;
    let cpu_s = result.cpu.user_s + result.cpu.system_s;
    Ok(Load { rows_per_s: inserts.rows_per_s, cpu_us: cpu_s * 1e6 / inserts.rows as f64 })
}

fn python(bench: &Bench<'_>, rows: &str) -> anyhow::Result<Load> {
    let product = match bench.product {
        Product::Postgres => "postgres",
        Product::Mariadb => "mysql",
    };
    let socket = bench.server.socket.display().to_string();
    let text = output(PYTHON, &["-c", PEER, product, &socket, rows])?;
    let figures: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let &[rows_per_s, cpu_us] = figures.as_slice() else {
        anyhow::bail!("the client in Python printed {text}");
    };
    Ok(Load { rows_per_s, cpu_us })
}
