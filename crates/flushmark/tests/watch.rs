//! Watches of real devices, of processes that commit, and of machines whose devices vanish.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use captures::Machine;
use common::{LoopDevice, Mount, Run, flushmark, interrupt, kill, memory, needs_root, nobody, run};
use serde_json::Value;

const SYNCS: u64 = 57;

fn begin(args: &[&str]) -> Child {
    let mut command = flushmark();
    command.arg("watch").args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Writes to a device and syncs it, that many times.
fn sync(device: &str) {
    let file = File::options().write(true).open(device).unwrap();
    for turn in 0..SYNCS {
        file.write_all_at(&[turn as u8 + 1; 4096], turn * 4096).unwrap();
        file.sync_all().unwrap();
    }
}

/// The kernel's tracer; `None`, with a message, where it may not be used.
fn tracer(test: &str) -> Option<Mount> {
    if !needs_root(test) {
        return None;
    }
    let mount = Mount::new(test, &["-t", "tracefs", "tracefs"])?;
    if !mount.path.join("events/syscalls/sys_enter_fsync/format").exists() {
        eprintln!("skipped: {test}: the kernel does not trace system calls");
        return None;
    }
    Some(mount)
}

fn instances(tracer: &Mount, process: u32) -> usize {
    let instances = common::entries(&tracer.path.join("instances"));
    instances.iter().filter(|name| name.starts_with(&format!("flushmark-{process}-"))).count()
}

/// The lines of a JSON watch.
fn intervals(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Adds a rate up over all intervals in which it is known.
fn total(intervals: &[Value], rate: impl Fn(&Value) -> Option<f64>) -> u64 {
    let each = intervals
        .iter()
        .filter_map(|interval| Some(rate(interval)? * interval["seconds"].as_f64().unwrap()));
    each.sum::<f64>().round() as u64
}

#[test]
fn the_flushes_and_syncs_that_were_done_are_counted() {
    let test = "the_flushes_and_syncs_that_were_done_are_counted";
    if !needs_root(test) {
        return;
    }
    let Some(device) = LoopDevice::new(test, 32 << 20, &[]) else { return };
    let Some(idle) = LoopDevice::new(test, 32 << 20, &[]) else { return };
    let mut watch = begin(&[
        &device.path, &idle.path, &device.path, "--interval", "250ms", "--for", "4s", "--format",
        "json",
    ]);
    let mut out = BufReader::new(watch.stdout.take().unwrap());
    let mut printed = String::new();
    out.read_line(&mut printed).unwrap();
    sync(&device.path);
    out.read_to_string(&mut printed).unwrap();
    let ended = Run::of(watch.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let intervals = intervals(&printed);
    // A machine that is busy with other tests skips some.
    assert!((8..=16).contains(&intervals.len()), "{}", intervals.len());
    let names: Vec<&Value> =
        intervals[0]["devices"].as_array().unwrap().iter().map(|one| &one["device"]).collect();
    assert_eq!(names, [device.name(), idle.name()]);
    let of = |index: usize, rate: &'static str| {
        total(&intervals, move |interval| interval["devices"][index][rate].as_f64())
    };
    assert_eq!((of(0, "flushes_per_s"), of(1, "flushes_per_s")), (SYNCS, 0));
    assert!(of(0, "writes_per_s") >= SYNCS && of(1, "writes_per_s") == 0, "{printed}");
    if tracer(test).is_none() {
        return;
    }
    assert_eq!(ended.stderr, "");
    let of_test = |interval: &Value| {
        let processes = interval["processes"].as_array().unwrap();
        let this = processes.iter().find(|one| one["pid"] == std::process::id());
        this.and_then(|this| this["syncs_per_s"].as_f64())
    };
    assert_eq!(total(&intervals, of_test), SYNCS);
}

#[test]
fn commits_are_traced_in_a_sample() {
    let test = "commits_are_traced_in_a_sample";
    if tracer(test).is_none() {
        return;
    }
    let Some(device) = LoopDevice::new(test, 32 << 20, &[]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let metrics = directory.path().join("flushmark.prom");
    let watch = begin(&[
        &device.path,
        "--interval",
        "500ms",
        "--for",
        "3s",
        "--format",
        "json",
        "--openmetrics",
        metrics.to_str().unwrap(),
    ]);
    let file = File::options().write(true).open(&device.path).unwrap();
    let mut times = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(3500) {
        file.write_all_at(&[7; 4096], 0).unwrap();
        let one = Instant::now();
        file.sync_all().unwrap();
        times.push(one.elapsed().as_secs_f64() * 1e6);
        std::thread::sleep(Duration::from_millis(1));
    }
    let ended = Run::of(watch.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    times.sort_by(f64::total_cmp);
    let intervals = intervals(&ended.stdout);
    let sampled = intervals.iter().map(|interval| &interval["devices"][0]["commits"]);
    let sampled: Vec<&Value> = sampled.filter(|commits| !commits.is_null()).collect();
    assert!(!sampled.is_empty(), "{}", ended.stdout);
    for commits in &sampled {
        assert!(commits["sampled"].as_u64().unwrap() >= 1);
        let median = commits["p50_us"].as_f64().unwrap();
        assert!(median <= times[times.len() - 1], "{commits:#}");
        let layers = commits["layers"].as_object().unwrap();
        let sum: f64 = layers.values().map(|layer| layer["mean_us"].as_f64().unwrap()).sum();
        let mean = commits["mean_us"].as_f64().unwrap();
        assert!((sum / mean - 1.0).abs() < 0.01, "{commits:#}");
        assert!(layers["drive"]["p50_us"].as_f64().unwrap() > 0.0, "{commits:#}");
    }
    let counted: u64 = sampled.iter().map(|commits| commits["sampled"].as_u64().unwrap()).sum();
    let metrics = std::fs::read_to_string(&metrics).unwrap();
    let count = format!("flushmark_commit_seconds_count{{device=\"{}\"}} {counted}", device.name());
    assert!(metrics.lines().any(|line| line == count), "no {count} in {metrics}");
}

#[test]
fn nothing_is_left_however_it_ends() {
    let test = "nothing_is_left_however_it_ends";
    let Some(tracer) = tracer(test) else { return };
    let Some(device) = LoopDevice::new(test, 1 << 20, &[]) else { return };
    let watching = || {
        let running = begin(&[&device.path, "--interval", "100ms"]);
        let begun = Instant::now();
        while instances(&tracer, running.id()) < 3 {
            assert!(begun.elapsed() < Duration::from_secs(30), "no instances");
            std::thread::sleep(Duration::from_millis(10));
        }
        // The signals are listened for before the first line.
        std::thread::sleep(Duration::from_millis(1200));
        running
    };
    let running = watching();
    let process = running.id();
    let ended = interrupt(running, "-INT", Duration::from_secs(20));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains(device.name()), "{}", ended.stdout);
    assert_eq!(instances(&tracer, process), 0);

    let mut killed = watching();
    let process = killed.id();
    kill(&["-KILL", &process.to_string()]).unwrap();
    killed.wait().unwrap();
    assert_eq!(run(&["watch", &device.path, "--for", "100ms"]).code, Some(0));
    // Watches of other tests may be removing them at this moment.
    let begun = Instant::now();
    while instances(&tracer, process) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "instances of {process} are left");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The counters of a disk: writes, their time, flushes, their time.
fn stat(writes: u64, write_ms: u64, flushes: u64, flush_ms: u64) -> String {
    format!("0 0 0 0 {writes} 0 {} {write_ms} 0 0 0 0 0 0 0 {flushes} {flush_ms}", writes * 8)
}

#[test]
fn a_device_that_vanishes_or_counts_again_and_one_without_flushes() {
    let machine = Machine::new();
    let size = ("size", "2048");
    machine.disk("pci0000:00/ata1/sda", "8:0", &[size, ("stat", &stat(100, 50, 10, 80))]);
    machine.disk("pci0000:00/ata2/sdb", "8:16", &[size, ("stat", &stat(900, 450, 90, 800))]);
    machine.disk("virtual/block/zram0", "253:0", &[size, ("stat", &stat(5, 5, 0, 0))]);
    let root = machine.path().to_str().unwrap();
    let mut watch = begin(&[
        "--system-root", root, "--interval", "500ms", "--for", "2500ms", "--format", "json",
    ]);
    let mut out = BufReader::new(watch.stdout.take().unwrap());
    let mut text = String::new();
    out.read_line(&mut text).unwrap();
    // One comes back as another drive with the same name, one is pulled out.
    machine.set("sys/devices/pci0000:00/ata1/sda/stat", &stat(3, 1, 1, 1));
    std::fs::remove_file(machine.path().join("sys/dev/block/8:16")).unwrap();
    out.read_to_string(&mut text).unwrap();
    let ended = Run::of(watch.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    insta::assert_snapshot!(ended.stderr.trim_end(), @"
    flushmark: zram0 does not count its flushes, so `-` stands for the rate and the time of them
    flushmark: sdb has vanished and is no longer watched
    ");
    let intervals = intervals(&text);
    let devices = |interval: &Value| -> Vec<(String, Option<f64>)> {
        let devices = interval["devices"].as_array().unwrap().iter();
        devices.map(|one| (one["device"].to_string(), one["writes_per_s"].as_f64())).collect()
    };
    let (sda, sdb, zram) = ("\"sda\"", "\"sdb\"", "\"zram0\"");
    let idle = |name: &str| (name.to_owned(), Some(0.0));
    assert_eq!(devices(&intervals[0]), [idle(zram), idle(sda), idle(sdb)]);
    assert!(intervals.iter().any(|interval| devices(interval)[1] == (sda.to_owned(), None)));
    assert_eq!(devices(intervals.last().unwrap()), [idle(zram), idle(sda)]);
    assert!(intervals.iter().all(|one| one["processes"].is_null()));
    assert!(intervals[0]["devices"][0]["flushes_per_s"].is_null());

    std::fs::remove_file(machine.path().join("sys/dev/block/8:0")).unwrap();
    std::fs::remove_file(machine.path().join("sys/dev/block/253:0")).unwrap();
    let none = run(&["watch", "--system-root", root, "--for", "1s"]);
    assert_eq!(none.code, Some(2));
    insta::assert_snapshot!(none.stderr.trim_end(), @"flushmark: no drive was found under /sys/block; name a device or a path to watch");
}

/// The answer to a request for this path.
fn answer(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn metrics_in_a_file_and_over_http() {
    let machine = Machine::new();
    let attributes = [("size", "2048"), ("stat", &*stat(100, 50, 10, 80))];
    machine.disk("pci0000:00/ata1/sda", "8:0", &attributes);
    let root = machine.path().to_str().unwrap();
    let file = machine.path().join("flushmark.prom");
    let to_file = ["--openmetrics", file.to_str().unwrap(), "--for", "200ms"];
    let watch = ["watch", "--system-root", root, "--interval", "100ms"];
    assert_eq!(run(&[&watch[..], &to_file].concat()).code, Some(0));
    let text = std::fs::read_to_string(&file).unwrap();
    insta::assert_snapshot!(text, @r#"
    # HELP flushmark_device_writes Writes that the device completed; merged writes count as one.
    # TYPE flushmark_device_writes counter
    flushmark_device_writes_total{device="sda"} 100
    # HELP flushmark_device_flushes Flushes that the device completed; no sample where it does not count them.
    # TYPE flushmark_device_flushes counter
    flushmark_device_flushes_total{device="sda"} 10
    # HELP flushmark_device_write_seconds Time that writes took, added up.
    # TYPE flushmark_device_write_seconds counter
    flushmark_device_write_seconds_total{device="sda"} 0.05
    # HELP flushmark_device_flush_seconds Time that flushes took, added up.
    # TYPE flushmark_device_flush_seconds counter
    flushmark_device_flush_seconds_total{device="sda"} 0.08
    # EOF
    "#);

    let mut served = begin(&[&watch[1..], &["--openmetrics", ":0"]].concat());
    let mut said = String::new();
    let mut messages = BufReader::new(served.stderr.take().unwrap());
    messages.read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("flushmark: the metrics are at http://").unwrap();
    let address = address.strip_suffix("/metrics").unwrap();
    let mut lines = BufReader::new(served.stdout.take().unwrap()).lines();
    // The header, and two intervals.
    (0..3).for_each(|_| drop(lines.next().unwrap().unwrap()));
    let answered = answer(address, "/metrics");
    let (head, body) = answered.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("application/openmetrics-text; version=1.0.0"), "{head}");
    assert_eq!(body, text);
    assert!(answer(address, "/").starts_with("HTTP/1.1 404"));
    kill(&["-INT", &served.id().to_string()]).unwrap();
    assert_eq!(served.wait().unwrap().code(), Some(0));
}

#[test]
fn refusals() {
    let test = "refusals";
    let said = |args: &[&str]| {
        let run = run(&[&["watch", "--for", "100ms"], args].concat());
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.stderr);
        run.said("", "").lines().next().unwrap_or_default().to_owned()
    };
    insta::assert_snapshot!(said(&["/no/such/path"]), @"flushmark: /no/such/path does not exist: name an existing directory, regular file or block device");
    insta::assert_snapshot!(said(&["/proc"]), @"flushmark: /proc is not on a block device (its filesystem is proc), so the kernel counts no writes and flushes for it; name a device, or a path on a drive");
    insta::assert_snapshot!(said(&["/dev/null"]), @"flushmark: /dev/null is a character device: name a directory, a regular file or a block device");
    if let Some(memory) = memory(test) {
        let path = memory.path().to_str().unwrap();
        insta::assert_snapshot!(said(&[path]).replace(path, "MEMORY"), @"flushmark: MEMORY is not on a block device (its filesystem is tmpfs), so the kernel counts no writes and flushes for it; name a device, or a path on a drive");
    }
    insta::assert_snapshot!(said(&["--interval", "0"]), @"error: invalid value '0' for '--interval <TIME>': expected a time above zero");
    insta::assert_snapshot!(said(&["--interval", "1ms"]), @"error: invalid value '1ms' for '--interval <TIME>': expected at least 100 ms");
    insta::assert_snapshot!(said(&["--openmetrics", "localhost:9187"]), @"error: invalid value 'localhost:9187' for '--openmetrics <FILE|ADDRESS>': expected a file, PORT, :PORT or ADDRESS:PORT with a numeric address, such as 127.0.0.1:9187 or [::1]:9187");
    insta::assert_snapshot!(said(&["--openmetrics", "/no/such/directory/file"]), @"flushmark: /no/such/directory is not a directory, so --openmetrics cannot create a file there");
    let machine = captures::built::laptop();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let root = machine.path().to_str().unwrap();
    let in_use = said(&["--system-root", root, "--openmetrics", &format!(":{port}")]);
    let in_use = in_use.replace(&(port.wrapping_add(1)).to_string(), "NEXT");
    insta::assert_snapshot!(in_use.replace(&port.to_string(), "PORT"), @"flushmark: 127.0.0.1:PORT is in use, perhaps by another `flushmark watch`; use another port, such as --openmetrics NEXT, or --openmetrics 0 for a free one");
}

#[test]
fn without_root_the_drives_are_watched_all_the_same() {
    let Some(nobody) = nobody("without_root_the_drives_are_watched_all_the_same") else { return };
    let Run { code, stdout, stderr } = nobody.run(&["watch", "--for", "100ms"]);
    if stderr.contains("no drive was found") {
        return;
    }
    assert_eq!(code, Some(0), "{stderr}");
    insta::assert_snapshot!(stderr.lines().next().unwrap_or_default(), @"flushmark: the processes that commit are not shown, because that needs root");
    let header: Vec<&str> = stdout.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(header, ["time", "device", "writes/s", "flushes/s", "write", "flush"]);
}
