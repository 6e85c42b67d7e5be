//! `cargo xtask rig fleet`: three hosts with emulated drives, measured with Ansible and collected
//! in PostgreSQL.
//!
//! | host | drives |
//! | --- | --- |
//! | `one` | four enterprise drives, their write caches off |
//! | `two` | a consumer drive, and three enterprise drives like those of `one` |
//! | `three` | one more enterprise drive, whose write cache was left on |
//!
//! All enterprise drives are of one model, which programs everything at a flush although it has
//! capacitors. With its cache off it needs no flush, and a commit is some thirty times as fast.
//! `flushmark fleet outliers` must name the drive of `three`, this cause, and no other drive.
//!
//! The hosts are network namespaces with a systemd and an sshd (`fleet/tests/hosts.sh`). A drive is
//! a filesystem on a loop device on a file that `flushmark emulate` serves on its host. The
//! documents take its model from the mount of that file, and the state of its cache from the
//! kernel, as for a real drive; nothing is written into them by the rig.
//!
//! Eight drives of a kind is the fewest that `fleet outliers` compares, because the spread of fewer
//! says little about what is usual. Three hosts with a drive each would never be enough, so `one`
//! and `two` have several, as servers do. All drives run one short plan, one host after the other:
//! side by side, the hosts would measure each other's load on this machine's processors. `check`
//! runs on one drive of each host.
//!
//! fio, with a server on each host, is the peer of a run in which the hosts begin together: both
//! run the same job file on the same drives in turns, and their totals over the hosts must agree.
//! Blocks of 256 KiB keep the time of a commit in the drive: at 4 KiB, two processors that serve
//! three drives decide the rate. The job switches off that fio touches each sector of its buffer
//! before a write, on which flushmark spends no time.
//!
//! | module | content |
//! | --- | --- |
//! | `hosts` | the hosts, their drives, and shells on them |
//! | `controller` | Ansible with the collection |
//! | `server` | the PostgreSQL server |
//! | `together` | the run in which the hosts begin together, and fio's |
//! | `faults` | hosts that cannot be reached, other versions, a network or server that fails |

mod controller;
mod faults;
mod hosts;
mod server;
mod together;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::Outcome;
use crate::command::root;
use crate::test::Tally;
use crate::{build, packages};
use controller::Controller;
use hosts::{Directory, Hosts};
use server::Server;

/// Debian packages of the hosts, the controller and the server. Debian's kubectl is too old for
/// `kubernetes.sh`, which is skipped without a newer one.
pub const PACKAGES: [&str; 16] = [
    "openssh-server", "openssh-client", "iproute2", "systemd", "dbus", "sudo", "attr",
    "util-linux", "mount", "e2fsprogs", "binutils", "python3", "python3-apt", "python3-venv",
    "postgresql-15", "fio",
];
/// Packages of PyPI.
const PYTHON: [&str; 4] = [
    "ansible-core==2.19.14",
    "ansible-lint==26.10.1",
    "yamllint==1.38.0",
    "kubernetes-validate==1.37.0",
];

/// A published drive with capacitors, whose firmware programs everything at a flush.
const ENTERPRISE: &str = "seagate-nytro-1351-3840gb";
const CONSUMER: &str = "consumer-nvme";

/// A host, with its drives in the order of their mount points: models, with their settings.
struct Layout {
    host: &'static str,
    drives: &'static [(&'static str, &'static str)],
}

/// The drive of each host that `check` and the runs in which hosts begin together use.
const FIRST: &str = "/srv/a";

const LAYOUT: [Layout; 3] = [
    Layout {
        host: "one",
        drives: &[
            (ENTERPRISE, "off"),
            (ENTERPRISE, "off"),
            (ENTERPRISE, "off"),
            (ENTERPRISE, "off"),
        ],
    },
    Layout {
        host: "two",
        drives: &[(CONSUMER, "on"), (ENTERPRISE, "off"), (ENTERPRISE, "off"), (ENTERPRISE, "off")],
    },
    Layout { host: "three", drives: &[(ENTERPRISE, "on")] },
];

/// Of `nightly`: large enough that a drive whose server had to share a processor is not taken for a
/// slow one, and small enough that a commit with the write cache on is thirty times as slow.
const NIGHTLY_BLOCK: &str = "32k";

/// A job of one writer for flushmark and fio, which syncs each write. `overwrite` lays the file out
/// before, so ext4 has no extents to convert. Without `cpus_allowed`, each flushmark would keep its
/// job on the first processor, which hosts on different machines do not share.
fn job(block: &str, seconds: u32) -> anyhow::Result<String> {
    let processors = std::thread::available_parallelism()?.get();
    Ok(format!(
        "[commits]\nrw=randwrite\nbs={block}\nfdatasync=1\ndirect=1\nioengine=psync\nsize=64m\n\
         overwrite=1\ntime_based\nruntime={seconds}\nscramble_buffers=0\n\
         cpus_allowed=0-{}\n",
        processors - 1
    ))
}

/// Longer than any program of the rig takes.
const PATIENCE: Duration = Duration::from_mins(3);
/// Above that of other programs (`nice`).
const PRIORITY: i32 = -10;

#[derive(Debug, clap::Args)]
pub struct Options {
    /// The flushmark to install on the hosts [default: as tests build it]
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,

    /// Measurements by each of fio and flushmark, whose medians are compared
    #[arg(long, value_name = "N", default_value_t = ROUNDS)]
    pub rounds: NonZeroU32,
}

const ROUNDS: NonZeroU32 = NonZeroU32::new(5).unwrap();

impl Default for Options {
    fn default() -> Options {
        Options { program: None, rounds: ROUNDS }
    }
}

/// Set by Ctrl-C and SIGTERM.
#[derive(Debug, Clone)]
struct Interruption(Arc<AtomicBool>);

impl Interruption {
    fn watch() -> anyhow::Result<Interruption> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        Ok(Interruption(stop))
    }

    fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Runs a program to its end, which an interruption brings about.
    fn output(&self, command: &mut Command) -> anyhow::Result<Output> {
        Running::start(command)?.wait(self)
    }

    /// Runs a program that must succeed, and returns its stdout.
    fn text(&self, command: &mut Command) -> anyhow::Result<String> {
        let output = self.output(command)?;
        ensure!(
            output.status.success(),
            "`{command:?}` ended with {}: {}",
            output.status,
            said(&output)
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// A program that runs, in a process group that the terminal does not interrupt.
struct Running {
    child: std::process::Child,
    name: String,
    // Files: nothing has to be read while it runs.
    stdout: std::fs::File,
    stderr: std::fs::File,
}

impl Running {
    fn start(command: &mut Command) -> anyhow::Result<Running> {
        use std::os::unix::process::CommandExt as _;
        let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let name = format!("{command:?}");
        let child = command
            .stdin(Stdio::null())
            .stdout(stdout.try_clone()?)
            .stderr(stderr.try_clone()?)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start `{name}`"))?;
        Ok(Running { child, name, stdout, stderr })
    }

    fn wait(mut self, interruption: &Interruption) -> anyhow::Result<Output> {
        use std::io::{Read as _, Seek as _};
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            ensure!(!interruption.came(), "interrupted");
            ensure!(begun.elapsed() < PATIENCE, "`{}` did not end in {PATIENCE:?}", self.name);
            std::thread::sleep(Duration::from_millis(20));
        };
        let read = |mut file: &std::fs::File| -> std::io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            file.rewind()?;
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        Ok(Output { status, stdout: read(&self.stdout)?, stderr: read(&self.stderr)? })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let group = rustix::process::Pid::from_child(&self.child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

/// Everything that a program printed, stderr last.
fn said(output: &Output) -> String {
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    text.concat().trim().to_owned()
}

/// The parts of the rig, while it runs. They are taken down in this order.
struct Fleet {
    server: Server,
    hosts: Hosts,
    controller: Controller,
    /// flushmark on this machine, the controller.
    program: PathBuf,
    interruption: Interruption,
    rounds: u32,
    _directory: Directory,
}

/// A part of the rig; returns what was observed, in words.
type Step = fn(&mut Fleet) -> anyhow::Result<String>;

/// The steps, each of which builds on those before it.
const STEPS: [(&str, Step); 7] = [
    ("install", install),
    ("drives", drives),
    ("check", check),
    ("nightly", nightly),
    ("collect", collect),
    ("outliers", outliers),
    ("together", together::measure),
];
const FAULTS: [(&str, Step); 3] = [
    ("bad hosts", faults::hosts),
    ("network lost", faults::network),
    ("server lost", faults::server),
];

pub fn run(options: &Options, tally: &mut Tally) -> anyhow::Result<Outcome> {
    ensure!(rustix::process::geteuid().is_root(), "network namespaces need root; run it as root");
    let begun = Instant::now();
    let interruption = Interruption::watch()?;
    let program = match &options.program {
        Some(program) => program.canonicalize()?,
        None => build::flushmark_of_tests()?,
    };
    let python = packages::python("fleet", &PYTHON)?;
    let mut outcome = Outcome::default();
    let mut fleet = note("hosts", &mut outcome, || {
        let fleet = Fleet::start(&program, &python, &interruption, options.rounds.get())?;
        let observed = format!("{} hosts with sshd, PostgreSQL", LAYOUT.len());
        Ok((fleet, observed))
    })?;
    for (name, step) in STEPS {
        note(name, &mut outcome, || step(&mut fleet).map(|observed| ((), observed)))?;
    }
    // Beside what measures nothing.
    let lint = Running::start(&mut fleet.controller.collection("lint"))?;
    for (name, step) in FAULTS {
        note(name, &mut outcome, || step(&mut fleet).map(|observed| ((), observed)))?;
    }
    files(&fleet, lint, &mut outcome, tally)?;
    drop(fleet);
    println!("\nrig: {} passed, {:.0} s", outcome.passed, begun.elapsed().as_secs_f64());
    Ok(outcome)
}

/// Prints and counts what a step observed. The first failure ends the rig, since the steps build on
/// each other.
fn note<T>(
    name: &str,
    outcome: &mut Outcome,
    work: impl FnOnce() -> anyhow::Result<(T, String)>,
) -> anyhow::Result<T> {
    let begun = Instant::now();
    let worked = work();
    let time = begun.elapsed().as_secs_f64();
    match worked {
        Ok((value, observed)) => {
            outcome.passed += 1;
            println!("rig fleet, {name} ... ok: {observed} ({time:.1} s)");
            Ok(value)
        }
        Err(error) => {
            println!("rig fleet, {name} ... FAILED ({time:.1} s)");
            Err(error.context(format!("step `{name}` of the fleet rig")))
        }
    }
}

impl Fleet {
    fn start(
        program: &Path,
        python: &Path,
        interruption: &Interruption,
        rounds: u32,
    ) -> anyhow::Result<Fleet> {
        // For this thread and what it starts. An emulated drive without a processor is a slow one.
        let _ = rustix::process::setpriority_process(None, PRIORITY);
        let directory = Directory::create()?;
        let hosts = Hosts::start(directory.path(), interruption)?;
        let copy = directory.path().join("flushmark");
        // The symbols of a build for tests are most of its size, and every host gets a copy.
        let strip = |command: &mut Command| interruption.text(command).map(drop);
        strip(Command::new("strip").arg("-o").args([&copy, &program.to_owned()]))?;
        let server = Server::start(directory.path(), interruption)?;
        let controller = Controller::start(directory.path(), python, &copy, interruption)?;
        Ok(Fleet {
            server,
            hosts,
            controller,
            program: copy,
            interruption: interruption.clone(),
            rounds,
            _directory: directory,
        })
    }

    /// Runs flushmark on the controller, which must succeed.
    fn flushmark(&self, args: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new(&self.program);
        command.args(args).env("PGPASSWORD", server::PASSWORD);
        self.interruption.text(&mut command)
    }

    /// The complete runs of a suite in the store, newest first.
    fn runs_of(&self, suite: &str) -> anyhow::Result<Vec<Value>> {
        let list = ["results", "list", "--store", server::URL, "--format", "json"];
        let text = self.flushmark(&list)?;
        let listed: Value = serde_json::from_str(&text)?;
        let runs = listed["runs"].as_array().context("the list has no runs")?;
        let is_wanted = |run: &&Value| run["suite"] == suite && run["state"] == "complete";
        Ok(runs.iter().filter(is_wanted).cloned().collect())
    }
}

/// Writes the same file on the controller for every host.
fn plan(fleet: &Fleet, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let path = fleet.controller.directory().join(name);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn install(fleet: &mut Fleet) -> anyhow::Result<String> {
    let printed = fleet.controller.play("install", 0, &[])?;
    for Layout { host, .. } in LAYOUT {
        ensure!(
            printed.lines().any(|line| line.starts_with(host) && line.contains("failed=0")),
            "nothing was installed on {host}:\n{printed}"
        );
    }
    let version = fleet.hosts.on("one", ".local/bin/flushmark -V")?;
    Ok(format!("{} on {}", version.trim(), hosts::names().join(", ")))
}

fn drives(fleet: &mut Fleet) -> anyhow::Result<String> {
    let mut count = 0;
    // One after the other: each begins by measuring what its transport costs.
    for Layout { host, drives } in LAYOUT {
        for (letter, (model, cache)) in ('a'..).zip(drives) {
            fleet.hosts.serve(host, letter, model, cache)?;
            count += 1;
        }
    }
    Ok(format!("{count} emulated drives"))
}

fn check(fleet: &mut Fleet) -> anyhow::Result<String> {
    let targets = format!("{{\"flushmark_targets\": [\"{FIRST}\"]}}");
    let printed = fleet.controller.play("check", 0, &["-e", &targets])?;
    ensure!(
        printed.contains("Completed: one, two, three. Failed: no host"),
        "not every host was checked:\n{printed}"
    );
    Ok("one drive of each host".to_owned())
}

fn nightly(fleet: &mut Fleet) -> anyhow::Result<String> {
    let plan = plan(fleet, "nightly.fio", &job(NIGHTLY_BLOCK, 2)?)?;
    let plan = format!("flushmark_plan={}", plan.display());
    let printed = fleet.controller.play("run", 0, &["-e", &plan, "--forks", "1"])?;
    ensure!(
        printed.contains("Completed: one, two, three. Failed: no host"),
        "not every host was measured:\n{printed}"
    );
    Ok("every drive".to_owned())
}

/// Collects the documents twice: the second time must change nothing.
fn collect(fleet: &mut Fleet) -> anyhow::Result<String> {
    fleet.controller.play("collect", 0, &[])?;
    let again = fleet.controller.play("collect", 0, &[])?;
    let changed = |line: &&str| line.contains("changed=") && !line.contains("changed=0");
    if let Some(line) = again.lines().find(changed) {
        anyhow::bail!("collecting again changed something: {line}");
    }
    let (checks, nightly) = (fleet.runs_of("check")?, fleet.runs_of("nightly")?);
    let count = |runs: &[Value], host: &str| runs.iter().filter(|run| run["host"] == host).count();
    for Layout { host, drives } in LAYOUT {
        let kept = (count(&checks, host), count(&nightly, host));
        ensure!(
            kept == (1, drives.len()),
            "the store has {kept:?} runs of {host}, not 1 check and {} others",
            drives.len()
        );
    }
    Ok(format!("{} runs into PostgreSQL, none twice", checks.len() + nightly.len()))
}

/// `fleet outliers` must name the drive whose cache was left on, this cause, and nothing else.
fn outliers(fleet: &mut Fleet) -> anyhow::Result<String> {
    let page = fleet.flushmark(&["fleet", "outliers", "--store", server::URL])?;
    let found = Named::all(&page).with_context(|| format!("a page of another kind:\n{page}"))?;
    // On a machine that is not quiet, this shows which drives had no processor.
    let medians: Vec<String> = fleet
        .runs_of("nightly")?
        .iter()
        .map(|run| format!("{} {}: {} µs", run["host"], run["target"], run["headline"]["p50_us"]))
        .collect();
    ensure!(
        found.len() == 1 && found[0].host == "three" && found[0].drive == FIRST,
        "expected the drive of `three` and no other; medians: {}\n{page}",
        medians.join(", ")
    );
    let cause = "write cache on (usually off)";
    ensure!(found[0].differs.starts_with(cause), "expected the cause `{cause}`:\n{page}");
    let Named { host, drive, slower, differs, .. } = &found[0];
    Ok(format!("{drive} of {host} is {slower} slower, because of {differs}; no other"))
}

/// A row of the table of `fleet outliers`.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    host: String,
    drive: String,
    slower: String,
    differs: String,
}

impl Named {
    /// The rows of the page; `None` if it has another table.
    fn all(page: &str) -> Option<Vec<Named>> {
        let Some(heading) = page.lines().position(|line| line.contains("what differs")) else {
            return page.starts_with("No drive").then(Vec::new);
        };
        let mut lines = page.lines().skip(heading);
        let titles: Vec<char> = lines.next()?.chars().collect();
        let text: String = titles.iter().collect();
        // Character positions: `µ` has two bytes.
        let column = |title: &str| Some(text[..text.find(title)?].chars().count());
        let (host, drive, differs) = (column("host")?, column("drive")?, column("what differs")?);
        let mut found: Vec<Named> = Vec::new();
        for line in lines.take_while(|line| !line.trim().is_empty()) {
            let line: Vec<char> = line.chars().collect();
            let from = |at: usize| line.iter().skip(at).collect::<String>();
            let word =
                |at: usize| from(at).split("  ").next().unwrap_or_default().trim().to_owned();
            let rest = from(differs).trim().to_owned();
            // A cell that is too long continues on lines without a host.
            if line.get(host).is_some_and(|letter| !letter.is_whitespace()) {
                let slower = from(drive);
                let slower = slower.split_whitespace().find(|word| {
                    word.strip_suffix('x').is_some_and(|times| times.parse::<f64>().is_ok())
                })?;
                found.push(Named {
                    host: word(host),
                    drive: word(drive),
                    slower: slower.to_owned(),
                    differs: rest,
                });
            } else if !rest.is_empty() {
                let last = found.last_mut()?;
                last.differs = format!("{} {rest}", last.differs);
            }
        }
        Some(found)
    }
}

/// The tests of `fleet/tests` that need no hosts.
fn files(
    fleet: &Fleet,
    lint: Running,
    outcome: &mut Outcome,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let script = |name: &str| -> anyhow::Result<Output> {
        let script = root().join("fleet/tests").join(name);
        fleet.interruption.output(fleet.controller.environment(&mut Command::new(script)))
    };
    note("collection", outcome, || {
        let output = lint.wait(&fleet.interruption)?;
        ensure!(output.status.success(), "{}", said(&output));
        Ok(((), "clean for yamllint and ansible-lint".to_owned()))
    })?;
    note("systemd units", outcome, || {
        let output = script("systemd.sh")?;
        ensure!(output.status.success(), "{}", said(&output));
        Ok(((), "as systemd-analyze expects them".to_owned()))
    })?;
    let output = script("kubernetes.sh")?;
    if output.status.code() == Some(2) {
        let reason = said(&output);
        println!("rig fleet, Kubernetes ... skipped: {reason}");
        tally.skip(format!("fleet rig, Kubernetes: {reason}"));
        return Ok(());
    }
    note("Kubernetes", outcome, || {
        ensure!(output.status.success(), "{}", said(&output));
        Ok(((), "valid by the schemas".to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_from_the_page_of_outliers() {
        let page = "1 of 8 drives is slower than others of its model:\n\n\
                    \x20 host   drive   test                p50   usual  slower  what differs\n\
                    \x20 three  /srv/a  randwrite 4 KiB  3.5 ms  104 µs   33.7x  write cache on\n\
                    \x20                depth 1                                  (usually off)\n\
                    \n3 drives were not compared.\n";
        let found = Named::all(page).unwrap();
        let expected = Named {
            host: "three".to_owned(),
            drive: "/srv/a".to_owned(),
            slower: "33.7x".to_owned(),
            differs: "write cache on (usually off)".to_owned(),
        };
        assert_eq!(found, [expected]);
        assert_eq!(Named::all("No drive is slower.\n").unwrap(), []);
        assert_eq!(Named::all("error: no store\n"), None);
    }
}
