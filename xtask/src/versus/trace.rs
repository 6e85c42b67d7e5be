//! `cargo xtask versus trace`: what tracing costs a loop of commits, beside `trace-cmd record` with
//! the same events and bpftrace's `biosnoop`; how many events a second are kept; and the time and
//! the memory that the analysis of a kept trace takes.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::loop_device::LoopDevice;
use super::{Compared, Shared, Wanted, in_turns, print};
use crate::build;
use crate::command::{is_there, output, peak_output};

const SLOWDOWN: &str = "a traced commit";
const KEPT: &str = "events kept";
const ANALYSIS: &str = "analysis of a kept trace";
const MEMORY: &str = "memory of the analysis";
/// Larger than what the tests write.
const DEVICE_BYTES: u64 = 256 << 20;
/// The slowest that a traced loop may be, in times of an untraced one.
const SLOWDOWN_MOST: f64 = 1.10;
const KEPT_PER_SECOND: f64 = 500_000.0;
const ANALYSED_PER_SECOND: f64 = 5_000_000.0;
/// The flood lasts until about this many events were kept. Their analysis may need
/// [`MEMORY_MIB`].
const FLOOD_EVENTS: f64 = 10e6;
const FLOOD_SECONDS: u32 = 20;
const MEMORY_MIB: f64 = 64.0;

/// One thread on one CPU, so a commit does not depend on where the scheduler places it.
const COMMITS: &str =
    "[[test]]\npattern = \"write\"\nsync = \"fdatasync\"\nsize = \"16MiB\"\nwarm_up = \"0s\"\n";
const TRACE_CMD: &str = include_str!("trace_cmd.sh");
const BIOSNOOP: &str = include_str!("biosnoop.bt");
/// bpftrace knows tracefs in its usual place only.
const WITH_TRACEFS: &str = "cd /sys/kernel/tracing && { test -d events || mount -t tracefs tracefs .; } \
                            && exec \"$0\" \"$@\"";

/// Somewhat more events than are to be kept: two writers with many requests in flight, each of which
/// makes six or seven events.
const FLOOD: &str = "[[test]]\npattern = \"randwrite\"\nsize = \"64MiB\"\ndepth = 64\njobs = 2\n\
                     rate = 45000\nwarm_up = \"0s\"\n";

/// The events that `flushmark trace` records of a command.
const EVENTS: [&str; 17] = [
    "block:block_bio_queue",
    "block:block_bio_backmerge",
    "block:block_bio_frontmerge",
    "block:block_split",
    "block:block_rq_insert",
    "block:block_rq_issue",
    "block:block_rq_complete",
    "syscalls:sys_enter_fsync",
    "syscalls:sys_exit_fsync",
    "syscalls:sys_enter_fdatasync",
    "syscalls:sys_exit_fdatasync",
    "syscalls:sys_enter_pwrite64",
    "syscalls:sys_exit_pwrite64",
    "syscalls:sys_enter_write",
    "syscalls:sys_exit_write",
    "syscalls:sys_enter_openat",
    "sched:sched_switch",
];

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    #[command(flatten)]
    shared: Shared,
}

/// The observer of a loop of commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Observer {
    Nobody,
    Flushmark,
    TraceCmd,
    Biosnoop,
}

/// Runs all rows, and prints the table.
pub fn run(options: &Options) -> anyhow::Result<()> {
    for program in ["trace-cmd", "bpftrace"] {
        // trace-cmd has no option with which it only starts and succeeds.
        if !is_there("which", &[program]) {
            bail!("{program} is missing; install it (apt-get install {program})");
        }
    }
    let place = tempfile::tempdir_in("/dev/shm").context("cannot make a directory in memory")?;
    let bench = Bench {
        flushmark: build::flushmark()?,
        place: place.path(),
        device: LoopDevice::make(DEVICE_BYTES)?,
        seconds: options.shared.seconds,
    };
    let mut table = Vec::new();
    if options.shared.wants(SLOWDOWN) {
        table.extend(bench.slowdown(options.shared.rounds)?);
    }
    if [KEPT, ANALYSIS, MEMORY].into_iter().any(|row| options.shared.wants(row)) {
        table.extend(bench.kept_and_analysed()?);
    }
    print(&table);
    Ok(())
}

struct Bench<'a> {
    flushmark: &'a Path,
    place: &'a Path,
    /// In memory, without a filesystem.
    device: LoopDevice,
    seconds: u32,
}

impl Bench<'_> {
    fn plan(&self, text: &str) -> anyhow::Result<String> {
        let path = self.place.join("plan.toml");
        std::fs::write(&path, text)?;
        Ok(path.to_string_lossy().into_owned())
    }

    fn file(&self, name: &str) -> String {
        self.place.join(name).to_string_lossy().into_owned()
    }

    /// The loop as a command: its result goes to a file.
    fn command(&self, plan: &str, seconds: u32, pinned: bool) -> anyhow::Result<Vec<String>> {
        let (plan, time) = (self.plan(plan)?, format!("{seconds}s"));
        let binary = self.flushmark.to_string_lossy();
        let pin: &[&str] = if pinned { &["taskset", "--cpu-list", "0"] } else { &[] };
        let run = [
            &binary, "run", &plan, "--time", &time, "--target", &self.device.path,
            "--destroy-data", "--quiet", "--store", "none", "--output",
        ];
        let result = self.file("result.json");
        Ok([pin, &run[..], &[&result]].concat().into_iter().map(str::to_owned).collect())
    }

    fn commits_per_second(&self) -> anyhow::Result<f64> {
        let text = std::fs::read_to_string(self.file("result.json"))?;
        let document: Value = serde_json::from_str(&text)?;
        let rate = &document["results"][0]["commits_per_s"];
        rate.as_f64().with_context(|| format!("no rate of commits in {}", document["results"][0]))
    }

    fn slowdown(&self, rounds: u32) -> anyhow::Result<Vec<Compared>> {
        eprintln!("{SLOWDOWN}");
        let observers =
            [Observer::Nobody, Observer::Flushmark, Observer::TraceCmd, Observer::Biosnoop];
        let rate: fn(&f64) -> f64 = |rate| *rate;
        let samples = in_turns(rounds, &observers, rate, |&observer| self.observed(observer))?;
        let time: fn(&f64) -> f64 = |rate| 1e6 / rate;
        let others = observers.iter().zip(&samples).filter(|(one, _)| **one != Observer::Flushmark);
        Ok(others
            .map(|(observer, theirs)| {
                let (what, wanted) = match observer {
                    Observer::Nobody => ("µs, untraced", Wanted::AtMost(SLOWDOWN_MOST)),
                    Observer::TraceCmd => ("µs, trace-cmd record", Wanted::AtMost(1.0)),
                    _ => ("µs, bpftrace's biosnoop", Wanted::AtMost(1.0)),
                };
                Compared::medians(SLOWDOWN, what, [&samples[1], theirs], time, wanted)
            })
            .collect())
    }

    /// Commits per second of the loop while it is observed.
    fn observed(&self, observer: Observer) -> anyhow::Result<f64> {
        let command = self.command(COMMITS, self.seconds, true)?;
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        match observer {
            Observer::Nobody => drop(output(command[0], &command[1..])?),
            Observer::Flushmark => {
                let document = self.traced(&[], &command)?;
                ensure!(document["lost"] == 0, "lost events: {}", document["lost"]);
            }
            Observer::TraceCmd => {
                let data = self.file("trace.dat");
                let events: Vec<&str> = EVENTS.iter().flat_map(|event| ["-e", event]).collect();
                let place = self.place.to_string_lossy();
                std::fs::write(self.file("one"), "1")?;
                std::fs::write(self.file("empty"), "")?;
                let record =
                    ["--mount", "sh", "-c", TRACE_CMD, &place, "record", "-q", "-o", &data];
                output("unshare", &[&record[..], &events, &command].concat())?;
                std::fs::remove_file(&data)?;
            }
            Observer::Biosnoop => {
                let mut snoop = biosnoop()?;
                let ran = output(command[0], &command[1..]);
                snoop.kill()?;
                snoop.wait()?;
                ran?;
            }
        }
        self.commits_per_second()
    }

    /// Traces a command. Its own output is in the way of the document on stdout.
    fn traced(&self, options: &[&str], command: &[&str]) -> anyhow::Result<Value> {
        let document = self.file("trace.json");
        let trace = [&["trace", "--output", &document], options, &["--"], command].concat();
        output(&self.flushmark.to_string_lossy(), &trace)?;
        Ok(serde_json::from_str(&std::fs::read_to_string(&document)?)?)
    }

    /// A flood of events: kept, and analysed.
    fn kept_and_analysed(&self) -> anyhow::Result<Vec<Compared>> {
        eprintln!("{KEPT}, {ANALYSIS}");
        let command = self.command(FLOOD, FLOOD_SECONDS, false)?;
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let kept = self.file("kept.trace");
        let document = self.traced(&["--keep", &kept], &command)?;
        let figure = |name: &str| document[name].as_f64().unwrap_or(0.0);
        let (events, lost, seconds) = (figure("events"), figure("lost"), f64::from(FLOOD_SECONDS));
        eprintln!("  {events} events in {seconds} s, {lost} lost and counted");
        if events < FLOOD_EVENTS {
            eprintln!("  fewer than the {FLOOD_EVENTS} events of which the memory is wanted");
        }

        let begun = Instant::now();
        let (read, peak) = peak_output(
            &self.flushmark.to_string_lossy(),
            &["trace", "read", "--format", "json", &kept],
        )?;
        let analysed = events / begun.elapsed().as_secs_f64();
        let read: Value = serde_json::from_str(&read)?;
        let mib = peak as f64 / f64::from(1 << 20);
        ensure!(read["events"] == document["events"], "{} events read", read["events"]);
        std::fs::remove_file(&kept)?;
        let line = |row: &str, what: &str, ours: f64, theirs: f64, wanted| Compared {
            row: row.to_owned(),
            what: what.to_owned(),
            ours,
            theirs,
            wanted,
        };
        Ok(vec![
            line(KEPT, "events/s", events / seconds, KEPT_PER_SECOND, Wanted::AtLeast(1.0)),
            line(KEPT, "lost, of all", lost, events, Wanted::Below(1.0)),
            line(ANALYSIS, "events/s", analysed, ANALYSED_PER_SECOND, Wanted::AtLeast(1.0)),
            line(MEMORY, "MiB", mib, MEMORY_MIB, Wanted::AtMost(1.0)),
        ])
    }
}

/// bpftrace with its script, attached.
fn biosnoop() -> anyhow::Result<Child> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", WITH_TRACEFS, "bpftrace", "-e", BIOSNOOP]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
    let mut snoop = command.spawn().context("cannot start bpftrace")?;
    // It compiles its script first.
    std::thread::sleep(Duration::from_secs(4));
    ensure!(snoop.try_wait()?.is_none(), "bpftrace cannot run its script");
    Ok(snoop)
}
