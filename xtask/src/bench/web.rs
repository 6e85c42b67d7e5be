//! `cargo xtask bench web`: response times of `flushmark web` over very many runs, from the request
//! to the last byte.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use store::{Filter, Location, Origin, Store};

pub use super::store::Options;
use super::store::{figure, fill, sample};
use crate::build;

/// As many runs as a page of the list shows.
const RUNS_PER_PAGE: u32 = 50;
/// Limit on a list of runs: a click must feel instant.
const LIST_MAX: Duration = Duration::from_millis(200);
/// Limit on a page with the charts of all tests of one or two runs.
const CHARTS_MAX: Duration = Duration::from_secs(1);

/// Fills a store, serves it, and prints the time and size of each page with its limit. Fails if a
/// page cannot be fetched, not if it is late.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let place = options.at.clone().unwrap_or_else(std::env::temp_dir);
    let directory = tempfile::tempdir_in(&place)
        .with_context(|| format!("cannot make a directory in {}", place.display()))?;
    let path = directory.path().join("results.db");
    let program = match &options.program {
        Some(program) => program,
        None => build::flushmark()?,
    };
    let document = sample(&program.to_string_lossy())?;
    let mut store = Store::open(&Location::Sqlite(path.clone()))?;
    store.insert(&document, &Origin { host: Some("db0".to_owned()) })?;
    fill(&path, options.runs)?;
    let middle =
        store.ids(&Filter { limit: Some(2), skip: options.runs / 2, ..Filter::default() })?;
    let [one, other] = middle[..] else {
        anyhow::bail!("--runs {} is too few to compare two", options.runs)
    };
    drop(store);
    let server = Server::start(program, &path)?;
    println!("{} runs of {} tests each", options.runs, document.results.len());
    let last_page = format!("/?page={}", options.runs / RUNS_PER_PAGE);
    for (name, path, most) in [
        ("the list", "/".to_owned(), LIST_MAX),
        ("its last page", last_page, LIST_MAX),
        ("by host, one in a hundred", "/?host=db7".to_owned(), LIST_MAX),
        ("by host, none", "/?host=nobody".to_owned(), LIST_MAX),
        ("by drive, one serial number", "/?drive=SN000777".to_owned(), LIST_MAX),
        ("by tag, one in a thousand", "/?tag=fleet".to_owned(), LIST_MAX),
        ("by day", "/?since=2026-01-01".to_owned(), LIST_MAX),
        ("by note, none", "/?note=nothing".to_owned(), LIST_MAX),
        ("one run", format!("/run/{one}"), CHARTS_MAX),
        ("two compared", format!("/compare?run={one}&run={other}"), CHARTS_MAX),
        ("a run's report as a file", format!("/run/{one}/report.html"), CHARTS_MAX),
        ("running tests", "/live".to_owned(), LIST_MAX),
    ] {
        let mut bytes = 0;
        let median = figure(name, || server.get(&path).map(|got| bytes = got))?;
        let share = median.as_secs_f64() / most.as_secs_f64() * 100.0;
        println!("{:<44} {share:>7.0} % of {most:?}, {} KiB", "", bytes >> 10);
    }
    Ok(())
}

/// A `flushmark web` process that ends when this is dropped.
pub(super) struct Server {
    process: Child,
    host: String,
}

impl Server {
    pub(super) fn start(program: &Path, store: impl AsRef<OsStr>) -> anyhow::Result<Server> {
        let mut command = Command::new(program);
        command
            .args(["web", "--listen", "0", "--store"])
            .arg(store)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let process =
            command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        // Owned from here on, so any failure ends it.
        let mut server = Server { process, host: String::new() };
        let mut url = String::new();
        let stdout = server.process.stdout.take().context("no stdout to read its address from")?;
        BufReader::new(stdout).read_line(&mut url)?;
        url.trim().trim_start_matches("http://").trim_end_matches('/').clone_into(&mut server.host);
        anyhow::ensure!(!server.host.is_empty(), "{} web printed no address", program.display());
        Ok(server)
    }

    /// Size of a page in bytes.
    pub(super) fn get(&self, path: &str) -> anyhow::Result<usize> {
        let mut stream = TcpStream::connect(&self.host)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.host)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let status = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
        anyhow::ensure!(
            status == b"HTTP/1.1 200 OK",
            "{path}: {}",
            String::from_utf8_lossy(status)
        );
        Ok(answer.len())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
