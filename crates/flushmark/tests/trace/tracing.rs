//! The common parts of these tests: the tracer, and the parts of a trace.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::RwLock;
use std::time::{Duration, Instant};

use measurement::Histogram;
use serde_json::Value;

use crate::common::turn::Turn;
use crate::common::{LoopDevice, Mount, entries, flushmark, needs_root, plan, run, system};

pub const COMMITS: u64 = 200;
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_flushmark");

/// A test that lets a tracer lose events needs all tracers for itself: when the numbers of threads
/// begin again, each records the calls of all threads.
static TRACERS: RwLock<()> = RwLock::new(());

/// The kernel's tracer.
pub struct Tracer {
    mount: Mount,
    _turn: Turn,
}

/// The tracer, for a test that may run beside others; `None`, with a message, where it may not be
/// used.
pub fn tracer(test: &str) -> Option<Tracer> {
    tracer_during(test, Turn::shared)
}

/// The tracer, for a test that makes more events than a tracer can hold.
pub fn tracer_alone(test: &str) -> Option<Tracer> {
    tracer_during(test, Turn::alone)
}

fn tracer_during(test: &str, turn: fn(&'static RwLock<()>) -> Turn) -> Option<Tracer> {
    if !needs_root(test) {
        return None;
    }
    let mount = Mount::new(test, &["-t", "tracefs", "tracefs"])?;
    if !mount.path.join("events/block/block_rq_issue/format").exists() {
        eprintln!("skipped: {test}: the kernel does not trace its block layer");
        return None;
    }
    Some(Tracer { mount, _turn: turn(&TRACERS) })
}

/// Mounts an ext4 that writes only if a call asks for it. Its journal's commits, every five seconds,
/// and its inode tables, in the background, would belong to no call.
pub fn on_demand(test: &str, device: &LoopDevice) -> Option<Mount> {
    Mount::new(test, &["-o", "commit=300,noinit_itable", &device.path])
}

/// Writes back what one filesystem holds: writing back all of them would send flushes to drives that
/// other tests are tracing.
pub fn write_back(mount: &Mount) {
    system("sync", &["--file-system", mount.path.to_str().unwrap()]).unwrap();
}

/// The directories of a running flushmark's instances of the tracer.
pub fn instances(tracer: &Tracer, process: u32) -> Vec<PathBuf> {
    let directory = tracer.mount.path.join("instances");
    let own = format!("flushmark-{process}-");
    let names = entries(&directory).into_iter().filter(|name| name.starts_with(&own));
    names.map(|name| directory.join(name)).collect()
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(1), "{what} in vain");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts `flushmark trace`, and waits until its tracer is there.
pub fn start(tracer: &Tracer, args: &[&str]) -> Child {
    let mut command = flushmark();
    command.arg("trace").args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    wait_until("waited for instances", || instances(tracer, running.id()).len() == 2);
    running
}

/// The trace of a command, which may print, too.
pub fn trace_of(command: &[&str]) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("trace.json");
    let run = run(&[&["trace", "--output", output.to_str().unwrap(), "--"], command].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    read_json(&output)
}

pub fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The trace of flushmark's own commits by this sync method, and the result of that run.
pub fn traced(target: &str, sync: &str) -> (Value, Value) {
    let directory = tempfile::tempdir().unwrap();
    let text = format!(
        "[[test]]\npattern = \"randwrite\"\nsync = \"{sync}\"\nsize = \"1MiB\"\ncount = {COMMITS}\n\
         warm_up = \"0s\"\n"
    );
    let plan = plan(directory.path(), &text);
    let result = directory.path().join("result.json");
    let trace = trace_of(&[
        PROGRAM,
        "run",
        &plan,
        "--quiet",
        "--target",
        target,
        "--destroy-data",
        "--format",
        "json",
        "--output",
        result.to_str().unwrap(),
    ]);
    (trace, read_json(&result))
}

/// The commits by this call on this device; there must be one kind of them.
pub fn commits_by<'a>(trace: &'a Value, call: &str, device: &str) -> &'a Value {
    let is_there = |anatomy: &&Value| {
        anatomy["call"] == call && anatomy["devices"].as_array().unwrap().contains(&device.into())
    };
    let mut found = trace["anatomies"].as_array().unwrap().iter().filter(is_there);
    let one = found.next().unwrap_or_else(|| panic!("no {call} in {trace:#}"));
    let other = found.next();
    assert!(other.is_none(), "two kinds: {one:#} and {other:#?}");
    one
}

pub fn histogram(text: &Value) -> Histogram {
    Histogram::from_text(text.as_str().unwrap()).unwrap()
}

pub fn count(anatomy: &Value) -> u64 {
    histogram(&anatomy["commits"]).count()
}

/// The time of all commits in this stage.
pub fn total_ns(anatomy: &Value, stage: &str) -> f64 {
    anatomy["stages"][stage]["total_ns"].as_f64().unwrap_or(0.0)
}

/// Checks what holds for every kind of commit, and returns its stages' shares.
pub fn share(anatomy: &Value, stage: &str) -> f64 {
    let stages = anatomy["stages"].as_object().unwrap();
    let all: f64 = stages.values().map(|stage| stage["total_ns"].as_f64().unwrap()).sum();
    total_ns(anatomy, stage) / all
}

/// The share of a stage in the median commit, which the few that wait for the journal do not change.
/// The time in which it waits for a busy processor is left out.
pub fn share_of_median(anatomy: &Value, stage: &str) -> f64 {
    let ns = |is_it: &dyn Fn(&Value) -> bool| -> f64 {
        let stages = anatomy["median"]["stages"].as_array().unwrap().iter();
        let of_stage = stages.filter(|one| is_it(&one["stage"]));
        of_stage.map(|one| one["to_ns"].as_f64().unwrap() - one["from_ns"].as_f64().unwrap()).sum()
    };
    ns(&|name| name == stage) / ns(&|name| name != "wake-up")
}

pub fn each(anatomy: &Value, what: &str) -> f64 {
    anatomy["reached"][what].as_f64().unwrap() / count(anatomy) as f64
}

pub fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 0.1
}

pub fn assert_explained(trace: &Value, anatomy: &Value) {
    assert_eq!(trace["lost"], 0);
    assert!(share(anatomy, "unexplained") <= 0.05, "{anatomy:#}");
    assert_adds_up(anatomy);
}

/// Each moment of the commits that are drawn is in exactly one stage.
pub fn assert_adds_up(anatomy: &Value) {
    for drawn in [&anatomy["median"], &anatomy["longest"]] {
        let stages = drawn["stages"].as_array().unwrap();
        assert_eq!(stages.first().unwrap()["from_ns"], 0);
        assert_eq!(stages.last().unwrap()["to_ns"], drawn["ns"]);
        assert!(stages.windows(2).all(|two| two[0]["to_ns"] == two[1]["from_ns"]));
    }
}

/// Every flush that the device counted during the run was seen. Preparation is traced too, so there
/// may be more.
pub fn assert_flushes(trace: &Value, result: &Value) {
    let counted = result["results"][0]["proof"]["device"]["flushes"].as_f64();
    let counted = counted.unwrap_or_else(|| panic!("{:#}", result["results"][0]["proof"]));
    let kinds = ["bare_flushes", "flushes_before", "flushes_after"];
    let all = trace["anatomies"].as_array().unwrap().iter();
    let seen: f64 = all
        .map(|one| kinds.iter().map(|kind| one["reached"][kind].as_f64().unwrap()).sum::<f64>())
        .sum();
    assert!(seen >= counted && seen <= counted + 20.0, "{seen} seen, {counted} counted");
}
