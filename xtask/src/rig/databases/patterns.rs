//! The calls of real servers, traced with strace, compared with the suite `commits`, which imitates
//! them.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};
use workload::{Placement, Step, SyncCall, Work, suites};

use super::drive::EmulatedDrive;
use super::session::{Client, Session};
use super::{Database, Durability, PATIENCE, Place, trial};

const SUITE: &str = "commits";
const CALLS: &str = "trace=pwrite64,pwritev,fdatasync,fsync";
/// Calls that do not alternate: a page that ends, a process that writes for others.
const EXCEPTIONS_MAX: f64 = 0.05;
/// Largest relative error of the bytes that a commit adds to the log. They depend on its row, and
/// the suite's had another.
const GROWTH_ERROR_MAX: f64 = 0.2;
/// Pages of InnoDB.
const PAGE: u64 = 16 << 10;
/// Pages of one batch, as in the suite.
const BATCH: u64 = 128;

const KEEP_DIRTY: &str = "set global innodb_max_dirty_pages_pct_lwm=90; set global \
                          innodb_max_dirty_pages_pct=99;";
const FLUSH_DIRTY: &str = "set global innodb_max_dirty_pages_pct_lwm=0; set global \
                           innodb_max_dirty_pages_pct=0;";

/// The name of a server's log, and the suite's test of it.
pub struct LogPattern {
    /// A part of the path of its files.
    pub files: &'static str,
    pub test: &'static str,
    /// Arguments of the server: system calls instead of asynchronous I/O.
    pub arguments: &'static [&'static str],
}

/// A call on a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    path: String,
    what: What,
}

impl Call {
    fn is_of_table(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "ibd")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Write { bytes: u64, at: u64 },
    Sync(SyncCall),
}

/// Compares the commits of one client, and batches of pages of InnoDB.
pub fn run(
    database: &'static dyn Database,
    template: &Path,
    binary: &Path,
    seed: u64,
) -> anyhow::Result<String> {
    let pattern = database.log_pattern().context("the suite has no test of its log")?;
    let directory = super::directory()?;
    let drive = EmulatedDrive::start(binary, directory.path(), None, seed)?;
    let place = trial::lay_out(database, template, &drive, directory.path())?;
    let session = Session::open_with(database, &place, Durability::On, pattern.arguments)?;
    let url = database.url(&place).context("the database has no server")?;
    let calls = traced(&session, directory.path(), || {
        let mut command = Command::new(binary);
        command.args(["db", "commits", &url, "--clients", "1", "--time", "2s", "--busy"]);
        let output = command.args(["--store", "none", "--quiet"]).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    })?;
    let mut observed = commits(&pattern, &calls).context("the log of one client")?;
    drop(session);
    for (method, is_synced) in database.page_flushing() {
        let arguments = [pattern.arguments, &[*method]].concat();
        let batches = pages(database, &place, &arguments, directory.path(), *is_synced);
        observed += &format!("; {}", batches.with_context(|| (*method).to_owned())?);
    }
    Ok(observed)
}

/// Runs something while the server's calls are traced.
fn traced(
    session: &Session,
    directory: &Path,
    run: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Call>> {
    let log = directory.join("calls");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-s", "0", "-e", CALLS, "-p", &session.server_pid()?.to_string()]);
    command.arg("-o").arg(&log).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start strace")?;
    let mut said = BufReader::new(child.stderr.take().context("strace has no stderr")?);
    let mut line = String::new();
    said.read_line(&mut line)?;
    ensure!(line.contains("attached"), "strace: {line}");
    // Its later output must not block it.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    let ran = run();
    end(&mut child)?;
    ran?;
    let text = std::fs::read_to_string(&log)?;
    Ok(text.lines().filter_map(call).collect())
}

fn end(child: &mut Child) -> anyhow::Result<()> {
    let pid = Pid::from_raw(child.id() as i32).context("strace has no process")?;
    kill_process(pid, Signal::INT)?;
    child.wait()?;
    Ok(())
}

/// Parses a line such as `17 pwrite64(12</data/ib_logfile0>, ""..., 512, 3584000) = 512`. A call
/// that was interrupted by others counts where it began.
fn call(line: &str) -> Option<Call> {
    let (name, rest) = line.split_once(' ')?.1.trim_start().split_once('(')?;
    let (_, path) = rest.split_once('<')?;
    let (path, arguments) = path.split_once('>')?;
    let arguments = arguments.split([')', '<']).next()?;
    let mut numbers = arguments.rsplit(", ").map(|word| word.trim().parse::<u64>().ok());
    let what = match name {
        "pwrite64" => What::Write { at: numbers.next()??, bytes: numbers.next()?? },
        "fdatasync" => What::Sync(SyncCall::Fdatasync),
        "fsync" => What::Sync(SyncCall::Fsync),
        _ => return None,
    };
    Some(Call { path: path.to_owned(), what })
}

/// Each commit is one write to the log and one sync of it, and the log grows as in the suite.
fn commits(pattern: &LogPattern, calls: &[Call]) -> anyhow::Result<String> {
    let (grows, block, wanted) = suite(pattern.test)?;
    let log: Vec<&Call> = calls.iter().filter(|call| call.path.contains(pattern.files)).collect();
    let mut syncs = 0.0;
    let mut exceptions = 0.0;
    let mut added = 0;
    let mut last = None;
    for pair in log.windows(2) {
        match (pair[0].what, pair[1].what) {
            (What::Write { .. }, What::Sync(call)) => {
                ensure!(call == wanted, "the log is synced with {call:?}, not {wanted:?}");
                syncs += 1.0;
            }
            (What::Sync(_), What::Write { .. }) => {}
            _ => exceptions += 1.0,
        }
        if let What::Write { at, bytes } = pair[0].what {
            // The block that a write ends in is written again by the next one.
            let ends = at + bytes;
            // The creation of the table writes many blocks at once.
            if bytes <= 2 * u64::from(block) {
                added += last.map_or(0, |before| ends.saturating_sub(before));
            }
            last = Some(ends);
        }
    }
    ensure!(syncs > 100.0, "{syncs} syncs of the log in {} calls", calls.len());
    ensure!(exceptions <= syncs * EXCEPTIONS_MAX, "{exceptions} of {syncs} do not alternate");
    let each = added as f64 / syncs;
    let error = (each / f64::from(grows) - 1.0).abs();
    ensure!(error <= GROWTH_ERROR_MAX, "a commit adds {each:.0} bytes to the log, not {grows}");
    Ok(format!("{each:.0} bytes of log and one {} per commit", wanted.name()))
}

/// The bytes that a turn of the suite's test adds to the log, those of the log's blocks, and the
/// sync call.
fn suite(test: &str) -> anyhow::Result<(u32, u32, SyncCall)> {
    let suite = suites::named(SUITE).with_context(|| format!("no suite {SUITE}"))?;
    let test = suite.tests.iter().find(|candidate| candidate.name == test);
    let Work::Steps(program) = &test.context("no such test")?.work else {
        anyhow::bail!("the test has no steps");
    };
    match program.steps[..] {
        [
            Step::Write { placement: Placement::Tail { block_bytes }, bytes, .. },
            Step::Sync { call, .. },
        ] => Ok((bytes, block_bytes, call)),
        _ => anyhow::bail!("the test is not a write to a log's tail and a sync"),
    }
}

/// Two tables whose pages are flushed in batches: copies and their sync, the pages, and one sync of
/// each file that was written.
fn pages(
    database: &'static dyn Database,
    place: &Place,
    arguments: &[&str],
    directory: &Path,
    is_synced: bool,
) -> anyhow::Result<String> {
    let mut session = Session::open_with(database, place, Durability::On, arguments)?;
    session.ask("drop database if exists pages; create database pages; use pages;")?;
    session.ask(KEEP_DIRTY)?;
    for table in ["one", "two"] {
        session.ask(&format!(
            "create table {table} (id int primary key, turn int, content varchar(500)) \
             engine=innodb; insert into {table} select seq, 0, repeat('x', 400) from \
             seq_1_to_12000;"
        ))?;
    }
    // Pages that were never written need no copies: InnoDB writes them at once.
    flush_pages(database, place)?;
    session.ask(KEEP_DIRTY)?;
    for table in ["one", "two"] {
        session.ask(&format!("update {table} set turn = 1;"))?;
    }
    let calls = traced(&session, directory, || flush_pages(database, place))?;
    let batches = batches(&calls, is_synced)?;
    Ok(format!("{batches} batches of pages"))
}

/// Lets the server write its dirty pages, and waits until it has.
fn flush_pages(database: &'static dyn Database, place: &Place) -> anyhow::Result<()> {
    let (_shell, mut client) = Client::connect(database, place, Durability::On)?;
    client.ask(FLUSH_DIRTY)?;
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let dirty = client.ask("show global status like 'Innodb_buffer_pool_pages_dirty';")?;
        if dirty.first().is_some_and(|line| line.ends_with("\t0")) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    anyhow::bail!("the pages are not flushed")
}

/// Counts the batches, and checks what follows each.
fn batches(calls: &[Call], is_synced: bool) -> anyhow::Result<usize> {
    let is_copy = |call: &Call| {
        let many = matches!(call.what, What::Write { bytes, .. } if bytes > PAGE);
        many && call.path.ends_with("ibdata1")
    };
    let starts: Vec<usize> = (0..calls.len()).filter(|&at| is_copy(&calls[at])).collect();
    let mut whole = 0;
    for (number, &start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(calls.len());
        let batch = &calls[start + 1..end];
        let What::Write { bytes, .. } = calls[start].what else { continue };
        let tables = || batch.iter().filter(|call| call.is_of_table());
        let pages = tables().filter(|call| matches!(call.what, What::Write { .. })).count();
        let synced = |path: &str| {
            batch
                .iter()
                .filter(|call| call.path == path && matches!(call.what, What::Sync(_)))
                .count()
        };
        let written: BTreeSet<&str> = tables()
            .filter(|call| matches!(call.what, What::Write { .. }))
            .map(|call| call.path.as_str())
            .collect();
        let of_copies = synced(&calls[start].path);
        if is_synced {
            let first = batch.iter().position(Call::is_of_table);
            let sync_of_copies = batch.iter().position(|call| {
                call.path == calls[start].path && matches!(call.what, What::Sync(_))
            });
            ensure!(
                sync_of_copies < first.or(Some(usize::MAX)),
                "pages before their copies: {:?}",
                &batch[..batch.len().min(8)]
            );
            for path in written {
                ensure!(synced(path) == 1, "{path} is synced {} times in a batch", synced(path));
            }
        } else {
            let data = tables().filter(|call| matches!(call.what, What::Sync(_))).count();
            ensure!((data, of_copies) == (0, 0), "{data} and {of_copies} syncs without fsync");
        }
        whole += usize::from(bytes == BATCH * PAGE && pages > 0);
    }
    ensure!(whole > 0, "no batch of {BATCH} pages in {} calls", calls.len());
    Ok(starts.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_strace() {
        let write = "29291 pwrite64(12</m/ib_logfile0>, \"\"..., 4096, 3584000) = 4096";
        let what = What::Write { bytes: 4096, at: 3_584_000 };
        assert_eq!(call(write), Some(Call { path: "/m/ib_logfile0".to_owned(), what }));
        let begun = "29291 fdatasync(12</m/ib_logfile0> <unfinished ...>";
        assert_eq!(call(begun).unwrap().what, What::Sync(SyncCall::Fdatasync));
        let cut = "17 pwrite64(4</m/t.ibd>, \"\"..., 16384, 32768 <unfinished ...>";
        assert_eq!(call(cut).unwrap().what, What::Write { bytes: 16384, at: 32768 });
        assert_eq!(call("29291 <... fdatasync resumed>) = 0"), None);
        assert_eq!(call("29291 +++ exited with 0 +++"), None);
    }

    fn of(path: &str, what: What) -> Call {
        Call { path: path.to_owned(), what }
    }

    #[test]
    fn batches_are_copies_pages_and_one_sync_of_each_file() {
        let write = |path: &str, pages: u64| of(path, What::Write { bytes: pages * PAGE, at: 0 });
        let sync = |path: &str| of(path, What::Sync(SyncCall::Fdatasync));
        let good = [
            write("/m/ibdata1", BATCH),
            sync("/m/ibdata1"),
            write("/m/a.ibd", 1),
            write("/m/b.ibd", 1),
            sync("/m/a.ibd"),
            sync("/m/b.ibd"),
        ];
        assert_eq!(batches(&good, true).unwrap(), 1);
        assert!(batches(&good, false).is_err());
        assert!(batches(&good[..5], true).is_err(), "b is not synced");
        let without = [write("/m/ibdata1", BATCH), write("/m/a.ibd", 1)];
        assert_eq!(batches(&without, false).unwrap(), 1);
        assert!(batches(&without[1..], false).is_err(), "no batch");
    }
}
