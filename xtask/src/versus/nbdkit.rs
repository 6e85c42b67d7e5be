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
//! client's processor as well. Rounds alternate in which side goes first, and medians are compared.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{Compared, Options, Wanted, median, print};
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

/// Runs the rows and prints the table. Fails if a program is missing or a measurement fails, not if
/// a ratio falls short.
pub fn run(options: &Options) -> anyhow::Result<()> {
    for (program, package) in [("fio", "fio"), ("nbdkit", "nbdkit"), ("sqlite3", "sqlite3")] {
        if !is_there(program, &["--version"]) {
            bail!("{program} is missing; install it (apt-get install {package})");
        }
    }
    build::flushmark()?;
    let wanted = |name: &str| {
        options.rows.is_empty() || options.rows.iter().any(|part| name.contains(part.as_str()))
    };
    let place = tempfile::tempdir()?;
    let mut table = Vec::new();
    let ours = ["emulate", &format!("ideal,capacity={BYTES}"), "--quiet"];
    let theirs = ["memory", "1G"];
    if ROWS.iter().any(|row| wanted(row.name)) {
        let pair = Pair::serve(place.path(), &ours, &theirs)?;
        // Both sides have allocated their memory by then.
        for side in [Side::Ours, Side::Theirs] {
            pair.fio(side, &["--rw=write", "--bs=1m", "--iodepth=4"], 2, options.cpu)?;
        }
        for row in ROWS.iter().filter(|row| wanted(row.name)) {
            eprintln!("{}", row.name);
            let pattern = [
                format!("--rw={}", row.pattern),
                format!("--bs={}", row.block),
                format!("--iodepth={}", row.depth),
            ];
            let pattern: Vec<&str> = pattern.iter().map(String::as_str).collect();
            pair.run_on(row.together.then_some(options.cpu))?;
            let figures = alternate(options, |side| {
                Ok(pair.fio(side, &pattern, options.seconds, options.cpu)?.iops)
            })?;
            table.push(line(row.name, "IOPS", figures, Wanted::AtLeast(1.0)));
        }
    }
    for (name, pattern) in
        [("delay randread depth 1", "--rw=randread"), ("delay randwrite depth 1", "--rw=randwrite")]
    {
        if !wanted(name) {
            continue;
        }
        eprintln!("{name}");
        let model = place.path().join("delay.toml");
        std::fs::write(&model, delayed_model())?;
        let ours = ["emulate", &model.to_string_lossy(), "--quiet"];
        let pair = Pair::serve(
            place.path(),
            &ours,
            &["--filter=delay", "memory", "1G", "rdelay=1ms", "wdelay=1ms"],
        )?;
        let figures = alternate(options, |side| {
            let sample =
                pair.fio(side, &[pattern, "--bs=4k", "--iodepth=1"], options.seconds, options.cpu)?;
            Ok((sample.p50_us - DELAY_US).abs())
        })?;
        table.push(line(name, "error of p50, µs", figures, Wanted::AtMost(1.0)));
    }
    if wanted("crash states") {
        table.push(crash(place.path())?);
    }
    print(&table);
    Ok(())
}

fn line(
    row: &'static str,
    what: &'static str,
    (ours, theirs): (Vec<f64>, Vec<f64>),
    wanted: Wanted,
) -> Compared {
    Compared {
        row,
        what: what.to_owned(),
        ours: median(ours.into_iter()),
        theirs: median(theirs.into_iter()),
        wanted,
    }
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Ours,
    Theirs,
}

struct Pair {
    servers: [Server; 2],
}

struct Server {
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

impl Pair {
    fn serve(place: &Path, ours: &[&str], theirs: &[&str]) -> anyhow::Result<Pair> {
        let path = |name: &str| place.join(name).to_string_lossy().into_owned();
        let (our_socket, control, their_socket) = (path("ours"), path("control"), path("theirs"));
        let program = build::flushmark()?;
        let mut server = command(&program.to_string_lossy(), ours);
        server.args(["--nbd", &our_socket, "--control", &control]).stdout(Stdio::null());
        let ours =
            Server { child: server.spawn().context("cannot start flushmark")?, socket: our_socket };
        let mut server = command("nbdkit", &["--foreground", "--unix", &their_socket]);
        server.args(theirs).stdout(Stdio::null());
        let theirs =
            Server { child: server.spawn().context("cannot start nbdkit")?, socket: their_socket };
        let begun = Instant::now();
        // Ours measures its transport first, and accepts connections after that.
        while [&ours, &theirs].iter().any(|server| !Path::new(&server.socket).exists())
            || !is_there(&program.to_string_lossy(), &["emulate", "ctl", &control, "status"])
        {
            if begun.elapsed() > Duration::from_secs(20) {
                bail!("the servers did not start");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        std::thread::sleep(Duration::from_secs(1));
        Ok(Pair { servers: [ours, theirs] })
    }

    /// Confines both servers to this processor, or to none.
    fn run_on(&self, cpu: Option<u32>) -> anyhow::Result<()> {
        let cpus = cpu.map_or_else(allowed_cpus, |cpu| Ok(cpu.to_string()))?;
        for server in &self.servers {
            output(
                "taskset",
                &["--all-tasks", "--cpu-list", "--pid", &cpus, &server.child.id().to_string()],
            )?;
        }
        Ok(())
    }

    fn fio(&self, side: Side, pattern: &[&str], seconds: u32, cpu: u32) -> anyhow::Result<Sample> {
        let socket = &self.servers[usize::from(side == Side::Theirs)].socket;
        let (uri, runtime, cpus) = (
            format!("--uri=nbd+unix:///?socket={socket}"),
            format!("--runtime={seconds}"),
            cpu.to_string(),
        );
        let fixed = [
            "-c",
            &cpus,
            "fio",
            "--name=x",
            "--ioengine=nbd",
            &uri,
            "--size=1g",
            "--time_based",
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

/// Measures both sides in turn.
fn alternate(
    options: &Options,
    mut measure: impl FnMut(Side) -> anyhow::Result<f64>,
) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        let order =
            if round % 2 == 0 { [Side::Ours, Side::Theirs] } else { [Side::Theirs, Side::Ours] };
        for side in order {
            let figure = measure(side)?;
            if side == Side::Ours { ours.push(figure) } else { theirs.push(figure) }
        }
        if let (Some(ours), Some(theirs)) = (ours.last(), theirs.last()) {
            eprintln!("  round {}: {ours:.1} and {theirs:.1}", round + 1);
        }
    }
    Ok((ours, theirs))
}

/// States per second of both methods.
fn crash(place: &Path) -> anyhow::Result<Compared> {
    eprintln!("crash states");
    let session = place.join("session");
    let program = build::flushmark()?;
    let script = format!(
        "for n in $(seq {TRANSACTIONS}); do echo \"insert into t values($n); select $n;\"; done | \
         sqlite3 -cmd 'pragma synchronous=extra' db"
    );
    let check = "test \"$(sqlite3 db 'pragma integrity_check')\" = ok";
    let args = [
        "crash",
        "--format",
        "json",
        "--quiet",
        "--size",
        BYTES,
        "--samples",
        "2",
        "--prepare",
        "sqlite3 db 'create table t(n)'",
    ];
    let mut ours = command(&program.to_string_lossy(), &args);
    ours.arg("--session").arg(&session).args(["--check", check, "--", "sh", "-c", &script]);
    let output_of = ours.output().context("cannot start flushmark")?;
    let report: Value = serde_json::from_slice(&output_of.stdout)
        .with_context(|| String::from_utf8_lossy(&output_of.stderr).into_owned())?;
    let tried = report["tried"].as_f64().context("no states")?;
    let ours_per_s = tried / report["elapsed_s"].as_f64().context("no time")?;
    eprintln!("  {tried} states, {ours_per_s:.1} a second");
    // The device is copied completely, because a block device has no holes to leave out. The writes
    // since then are not even applied to the copy.
    let base = session.join("base.img");
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
    let theirs_per_s = f64::from(COPIES) / begun.elapsed().as_secs_f64();
    eprintln!("  {theirs_per_s:.2} copies a second");
    Ok(Compared {
        row: "crash states",
        what: "states a second".to_owned(),
        ours: ours_per_s,
        theirs: theirs_per_s,
        wanted: Wanted::AtLeast(20.0),
    })
}

fn shown_quietly(program: &str, args: &[&str]) -> anyhow::Result<()> {
    output(program, args).map(drop)
}
