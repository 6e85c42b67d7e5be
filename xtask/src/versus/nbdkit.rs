//! `cargo xtask versus nbdkit`: served drives compared with nbdkit, crash states compared with
//! copies of the image.
//!
//! | rows | ours | compared with |
//! | --- | --- | --- |
//! | throughput | `flushmark emulate ideal` | `nbdkit memory` |
//! | added latency | a model that takes a millisecond for everything | `nbdkit --filter=delay` set to a millisecond |
//! | crash states | `flushmark crash` | a copy of the image, a loop device, a mount and the same check for each state |
//!
//! The client is fio's NBD engine, pinned to one processor. Servers run where the scheduler puts
//! them; at depth 1, where that changes the figure by a factor of two, they are measured on the
//! client's processor as well.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{Compared, Shared, Wanted, and_build, in_turns, print};
use crate::build;
use crate::command::{command, is_there, output};

/// Size of what both sides serve.
const BYTES: &str = "1GiB";
/// The delay that both sides are set to.
const DELAY_US: f64 = 1000.0;
/// Transactions of the recorded example.
const TRANSACTIONS: u32 = 1000;
/// Number of states made by copying: one takes long enough.
const COPIES: u32 = 12;

struct Row {
    name: &'static str,
    pattern: &'static str,
    block: &'static str,
    depth: &'static str,
    /// The servers run on the client's processor, too.
    together: bool,
}

impl Row {
    const fn new(
        name: &'static str,
        pattern: &'static str,
        block: &'static str,
        depth: &'static str,
    ) -> Row {
        Row { name, pattern, block, depth, together: false }
    }

    const fn together(name: &'static str, pattern: &'static str) -> Row {
        Row { name, pattern, block: "4k", depth: "1", together: true }
    }
}

const ROWS: [Row; 8] = [
    Row::new("nbd randread 4k depth 1", "randread", "4k", "1"),
    Row::new("nbd randwrite 4k depth 1", "randwrite", "4k", "1"),
    Row::together("nbd randread 4k, one cpu", "randread"),
    Row::together("nbd randwrite 4k, one cpu", "randwrite"),
    Row::new("nbd randread 4k depth 32", "randread", "4k", "32"),
    Row::new("nbd randwrite 4k depth 32", "randwrite", "4k", "32"),
    Row::new("nbd read 1m", "read", "1m", "1"),
    Row::new("nbd write 1m", "write", "1m", "1"),
];

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    #[command(flatten)]
    shared: Shared,

    /// The processor to which the client is pinned
    #[arg(long, default_value_t = 1)]
    cpu: u32,
}

/// The program that serves a drive.
#[derive(Debug, Clone, Copy)]
pub(super) enum Program<'a> {
    Flushmark(&'a Path),
    Nbdkit,
}

/// Runs the rows and prints the table.
pub fn run(options: &Options) -> anyhow::Result<()> {
    for (program, package) in [("fio", "fio"), ("nbdkit", "nbdkit"), ("sqlite3", "sqlite3")] {
        if !is_there(program, &["--version"]) {
            bail!("{program} is missing; install it (apt-get install {package})");
        }
    }
    let mut programs = vec![Program::Flushmark(build::flushmark()?), Program::Nbdkit];
    programs.extend(options.shared.builds.iter().map(|build| Program::Flushmark(build)));
    let place = tempfile::tempdir()?;
    let mut table = throughput(&programs, place.path(), options)?;
    table.extend(added_latency(&programs, place.path(), options)?);
    if options.shared.wants("crash states") {
        table.extend(crash_states(&programs, place.path())?);
    }
    print(&table);
    Ok(())
}

fn throughput(
    programs: &[Program<'_>],
    place: &Path,
    options: &Options,
) -> anyhow::Result<Vec<Compared>> {
    let rows: Vec<&Row> = ROWS.iter().filter(|row| options.shared.wants(row.name)).collect();
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let ours = ["emulate", &format!("ideal,capacity={BYTES}"), "--quiet"];
    let servers = serve(programs, place, &ours, &["memory", "1G"])?;
    // Every side has allocated its memory by then.
    for server in &servers {
        server.fio(&["--rw=write", "--bs=1m", "--iodepth=4"], 2, options.cpu)?;
    }
    let mut table = Vec::new();
    for row in rows {
        eprintln!("{}", row.name);
        let pattern = [
            format!("--rw={}", row.pattern),
            format!("--bs={}", row.block),
            format!("--iodepth={}", row.depth),
        ];
        let pattern: Vec<&str> = pattern.iter().map(String::as_str).collect();
        for server in &servers {
            server.run_on(row.together.then_some(options.cpu))?;
        }
        let iops: fn(&Sample) -> f64 = |sample| sample.iops;
        let samples = in_turns(options.shared.rounds, &servers, iops, |server| {
            server.fio(&pattern, options.shared.seconds, options.cpu)
        })?;
        for (program, theirs) in programs.iter().zip(&samples).skip(1) {
            let (what, wanted) = match program {
                Program::Nbdkit => ("IOPS".to_owned(), Wanted::AtLeast(1.0)),
                Program::Flushmark(build) => (and_build("IOPS", build), Wanted::BUILD_RATE),
            };
            table.push(Compared::medians(row.name, what, [&samples[0], theirs], iops, wanted));
        }
    }
    Ok(table)
}

fn added_latency(
    programs: &[Program<'_>],
    place: &Path,
    options: &Options,
) -> anyhow::Result<Vec<Compared>> {
    let mut table = Vec::new();
    for (name, pattern) in
        [("delay randread depth 1", "--rw=randread"), ("delay randwrite depth 1", "--rw=randwrite")]
    {
        if !options.shared.wants(name) {
            continue;
        }
        eprintln!("{name}");
        let model = place.join("delay.toml");
        std::fs::write(&model, delayed_model())?;
        let ours = ["emulate", &model.to_string_lossy(), "--quiet"];
        let theirs = ["--filter=delay", "memory", "1G", "rdelay=1ms", "wdelay=1ms"];
        let servers = serve(programs, place, &ours, &theirs)?;
        let error: fn(&Sample) -> f64 = |sample| (sample.p50_us - DELAY_US).abs();
        let samples = in_turns(options.shared.rounds, &servers, error, |server| {
            server.fio(&[pattern, "--bs=4k", "--iodepth=1"], options.shared.seconds, options.cpu)
        })?;
        for (program, theirs) in programs.iter().zip(&samples).skip(1) {
            let what = "error of p50, µs";
            let (what, wanted) = match program {
                Program::Nbdkit => (what.to_owned(), Wanted::AtMost(1.0)),
                Program::Flushmark(build) => (and_build("error of p50", build), Wanted::BUILD_TIME),
            };
            table.push(Compared::medians(name, what, [&samples[0], theirs], error, wanted));
        }
    }
    Ok(table)
}

/// A volume on which every command takes [`DELAY_US`], and nothing else takes any time.
fn delayed_model() -> String {
    format!(
        "model = \"delay\"\nlabel = \"A millisecond for everything\"\nclass \
         = \"cloud-volume\"\nbasis = \"invented, for the comparison with a delay filter\"\n\n\
         [drive]\nkind = \"volume\"\ncapacity_gb = 1.08\nqueue_depth = 128\nfua = false\nwrite_us \
         = {DELAY_US:?}\nread_us = {DELAY_US:?}\nflush_us = 0.0\n\
         unit = \"1 MiB\"\nunit_mb_per_s = 1e9\nlink_mb_per_s = 1e9\nsustained_mb_per_s = \
         1e9\nburst = \"1 GiB\"\niops_most = 1e9\n"
    )
}

pub(super) struct Server {
    child: Child,
    socket: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = output("kill", &["-TERM", &self.child.id().to_string()]);
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Results of fio.
struct Sample {
    iops: f64,
    p50_us: f64,
}

/// Starts a server per program, with the arguments of its kind, and waits until all of them serve.
pub(super) fn serve(
    programs: &[Program<'_>],
    place: &Path,
    ours: &[&str],
    theirs: &[&str],
) -> anyhow::Result<Vec<Server>> {
    let mut servers = Vec::new();
    for (index, program) in programs.iter().enumerate() {
        let path = |what: &str| place.join(format!("{what}{index}")).to_string_lossy().into_owned();
        let (socket, control) = (path("socket"), path("control"));
        let (mut server, name) = match program {
            Program::Flushmark(binary) => {
                let mut server = command(&binary.to_string_lossy(), ours);
                server.args(["--nbd", &socket, "--control", &control]);
                (server, "flushmark")
            }
            Program::Nbdkit => {
                let mut server = command("nbdkit", &["--foreground", "--unix", &socket]);
                server.args(theirs);
                (server, "nbdkit")
            }
        };
        let child = server.stdout(Stdio::null()).spawn();
        let child = child.with_context(|| format!("cannot start {name}"))?;
        servers.push(Server { child, socket });
        let server = &servers[index];
        let begun = Instant::now();
        // Ours measures its transport first, and accepts connections after that.
        while !Path::new(&server.socket).exists()
            || matches!(program, Program::Flushmark(binary)
                if !is_there(&binary.to_string_lossy(), &["emulate", "ctl", &control, "status"]))
        {
            if begun.elapsed() > Duration::from_secs(20) {
                bail!("{name} did not start to serve within 20 s");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    std::thread::sleep(Duration::from_secs(1));
    Ok(servers)
}

impl Server {
    /// The path of its socket.
    pub(super) fn socket(&self) -> &str {
        &self.socket
    }

    /// Confines it to this processor, or to none.
    pub(super) fn run_on(&self, cpu: Option<u32>) -> anyhow::Result<()> {
        let cpus = cpu.map_or_else(allowed_cpus, |cpu| Ok(cpu.to_string()))?;
        let child = self.child.id().to_string();
        output("taskset", &["--all-tasks", "--cpu-list", "--pid", &cpus, &child]).map(drop)
    }

    fn fio(&self, pattern: &[&str], seconds: u32, cpu: u32) -> anyhow::Result<Sample> {
        let socket = &self.socket;
        let (uri, runtime, cpus) = (
            format!("--uri=nbd+unix:///?socket={socket}"),
            format!("--runtime={seconds}"),
            cpu.to_string(),
        );
        let fixed = [
            "-c", &cpus, "fio", "--name=x", "--ioengine=nbd", &uri, "--size=1g", "--time_based",
            &runtime,
        ];
        let text = output("taskset", &[&fixed[..], &["--output-format=json"], pattern].concat())?;
        let start = text.find('{').context("fio printed no JSON")?;
        let document: Value =
            serde_json::from_str(&text[start..]).context("fio printed no JSON")?;
        let job = &document["jobs"][0];
        let direction =
            if job["read"]["iops"].as_f64() > Some(0.0) { &job["read"] } else { &job["write"] };
        let iops = direction["iops"].as_f64().context("fio printed no rate")?;
        let p50_ns = direction["clat_ns"]["percentile"]["50.000000"].as_f64().unwrap_or(0.0);
        // fio's NBD engine sends within the submission, so the way to the drive is part of the
        // submission latency.
        let submit_ns = direction["slat_ns"]["mean"].as_f64().unwrap_or(0.0);
        Ok(Sample { iops, p50_us: (p50_ns + submit_ns) / 1e3 })
    }
}

/// The processors of this process, in the kernel's notation.
fn allowed_cpus() -> anyhow::Result<String> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    Ok(allowed
        .context("the kernel does not report the processors of this process")?
        .trim()
        .to_owned())
}

/// States per second of every build, compared with those of copied images.
fn crash_states(programs: &[Program<'_>], place: &Path) -> anyhow::Result<Vec<Compared>> {
    eprintln!("crash states");
    let check = "test \"$(sqlite3 db 'pragma integrity_check')\" = ok";
    let builds: Vec<&Path> = programs
        .iter()
        .filter_map(|program| match program {
            Program::Flushmark(binary) => Some(*binary),
            Program::Nbdkit => None,
        })
        .collect();
    let mut rates = Vec::new();
    for (index, binary) in builds.iter().enumerate() {
        let session = place.join(format!("session{index}"));
        rates.push(recorded(binary, &session, check)?);
    }
    let copies = copied(place, &place.join("session0/base.img"), check)?;
    let line = |what: String, theirs: f64, wanted: Wanted| Compared {
        row: "crash states".to_owned(),
        what,
        ours: rates[0],
        theirs,
        wanted,
    };
    let mut lines = vec![line("states a second".to_owned(), copies, Wanted::AtLeast(20.0))];
    lines.extend(
        builds.iter().zip(&rates).skip(1).map(|(build, rate)| {
            line(and_build("states a second", build), *rate, Wanted::BUILD_RATE)
        }),
    );
    Ok(lines)
}

/// States per second that a build tries.
fn recorded(binary: &Path, session: &Path, check: &str) -> anyhow::Result<f64> {
    let script = format!(
        "for n in $(seq {TRANSACTIONS}); do echo \"insert into t values($n); select $n;\"; done | \
         sqlite3 -cmd 'pragma synchronous=extra' db"
    );
    let sampled = ["--size", BYTES, "--samples", "2"];
    let prepared = ["--prepare", "sqlite3 db 'create table t(n)'"];
    let json = ["crash", "--format", "json", "--quiet"];
    let mut ours =
        command(&binary.to_string_lossy(), &[&json[..], &sampled[..], &prepared[..]].concat());
    ours.arg("--session").arg(session).args(["--check", check, "--", "sh", "-c", &script]);
    let output = ours.output().context("cannot start flushmark")?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let tried = report["tried"].as_f64().context("no states")?;
    let per_second = tried / report["elapsed_s"].as_f64().context("no time")?;
    eprintln!("  {tried} states, {per_second:.1} a second");
    Ok(per_second)
}

/// States per second by copying the image. The device is copied completely, because a block device
/// has no holes to leave out. The writes since then are not even applied to the copy.
fn copied(place: &Path, base: &Path, check: &str) -> anyhow::Result<f64> {
    let copy = place.join("copy.img");
    let mounted = place.join("mounted");
    std::fs::create_dir_all(&mounted)?;
    let begun = Instant::now();
    for _ in 0..COPIES {
        shown_quietly("cp", &["--sparse=never", &base.to_string_lossy(), &copy.to_string_lossy()])?;
        let device = output("losetup", &["--find", "--show", &copy.to_string_lossy()])?;
        let device = device.trim();
        shown_quietly("mount", &[device, &mounted.to_string_lossy()])?;
        let checked = command("sh", &["-c", check]).current_dir(&mounted).status();
        shown_quietly("umount", &[&mounted.to_string_lossy()])?;
        shown_quietly("losetup", &["--detach", device])?;
        std::fs::remove_file(&copy)?;
        if !checked?.success() {
            bail!("the check failed on the copy");
        }
    }
    let per_second = f64::from(COPIES) / begun.elapsed().as_secs_f64();
    eprintln!("  {per_second:.2} copies a second");
    Ok(per_second)
}

fn shown_quietly(program: &str, args: &[&str]) -> anyhow::Result<()> {
    output(program, args).map(drop)
}
