//! A trace compared with what others know: other tracers, and the drive's model.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::served::Served;
use crate::common::{LoopDevice, kill, needs_mkfs, needs_mounts, needs_program, system};
use crate::tracing::{
    PROGRAM, assert_explained, commits_by, count, histogram, on_demand, read_json, trace_of,
    traced, tracer, wait_until, write_back,
};

/// The kernel's number of a device.
fn kernel_number(device: &LoopDevice) -> u64 {
    let number = std::fs::read_to_string(format!("/sys/block/{}/dev", device.name())).unwrap();
    let (major, minor) = number.trim().split_once(':').unwrap();
    major.parse::<u64>().unwrap() << 20 | minor.parse::<u64>().unwrap()
}

#[test]
fn bpftrace_counts_the_same_requests() {
    let test = "bpftrace_counts_the_same_requests";
    let Some(_tracer) = tracer(test) else { return };
    if !needs_mkfs(test, "ext4") || !needs_program(test, "bpftrace", "bpftrace") {
        return;
    }
    let Some(device) = LoopDevice::new(test, 64 << 20, &[]) else { return };
    system("mkfs.ext4", &["-q", "-F", &device.path]).unwrap();
    let Some(mount) = on_demand(test, &device) else { return };
    // The first commit of a journal also writes its superblock, before its thread begins with it.
    std::fs::write(mount.path.join("first"), "x").unwrap();
    write_back(&mount);
    let program = format!(
        "tracepoint:block:block_rq_issue /args->dev == {}/ {{ @[args->rwbs] = count(); }}",
        kernel_number(&device)
    );
    // It knows tracefs in its usual place only.
    let with_tracefs = "cd /sys/kernel/tracing && { test -d events || mount -t tracefs tracefs .; } \
                        && exec bpftrace \"$@\"";
    let mut bpftrace = Command::new("unshare");
    bpftrace.args(["--mount", "sh", "-c", with_tracefs, "sh", "-f", "json", "-e", &program]);
    bpftrace.stdout(Stdio::piped());
    let mut bpftrace = bpftrace.spawn().unwrap();
    let mut lines = BufReader::new(bpftrace.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.contains("attached_probes")));
    let output = format!("of={}", mount.path.join("grows").display());
    let trace = trace_of(&["dd", "if=/dev/zero", &output, "bs=4k", "count=100", "oflag=dsync"]);
    assert!(interrupted(&mut bpftrace).success());
    let counts = lines.filter_map(|line| {
        let line: Value = serde_json::from_str(&line).ok()?;
        line["data"].get("@").cloned()
    });
    let counts = counts.last().unwrap();

    let anatomy = commits_by(&trace, "write with O_DSYNC", device.name());
    assert_explained(&trace, anatomy);
    let counted = |is_it: fn(&str) -> bool| -> u64 {
        let kinds = counts.as_object().unwrap().iter().filter(|(kind, _)| is_it(kind));
        kinds.map(|(_, count)| count.as_u64().unwrap()).sum()
    };
    let reached = |what: &[&str]| -> u64 {
        what.iter().map(|what| anatomy["reached"][what].as_u64().unwrap()).sum()
    };
    let flushes = reached(&["bare_flushes", "flushes_before", "flushes_after"]);
    assert_eq!(counted(|kind| kind.starts_with("FF")), flushes, "{counts} {anatomy:#}");
    let writes = reached(&["data_writes", "journal_writes"]) - reached(&["merged"]);
    assert_eq!(counted(|kind| kind.starts_with('W')), writes, "{counts}");
}

/// Interrupts bpftrace and waits for its end. It forgets a signal that arrives between two of its
/// waits for events, and is killed by one that arrives while it prints.
fn interrupted(bpftrace: &mut Child) -> ExitStatus {
    const TO_PRINT: Duration = Duration::from_secs(5);
    let mut last = None::<Instant>;
    let mut status = None;
    wait_until("interrupted bpftrace", || {
        if last.is_none_or(|last| last.elapsed() > TO_PRINT) {
            kill(&["-INT", &bpftrace.id().to_string()]).unwrap();
            last = Some(Instant::now());
        }
        status = bpftrace.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

#[test]
fn two_tracers_see_the_same_commits() {
    let test = "two_tracers_see_the_same_commits";
    let Some(_tracer) = tracer(test) else { return };
    let Some(device) = LoopDevice::new(test, 32 << 20, &[]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner.json");
    let output = format!("of={}", device.path);
    let trace = ["trace", "--output", inner.to_str().unwrap(), "--"];
    let commits = ["dd", "if=/dev/zero", &output, "bs=4k", "count=1000", "oflag=dsync"];
    let outer = trace_of(&[&[PROGRAM], &trace[..], &commits].concat());
    let inner = read_json(&inner);
    let [inner, outer] = [&inner, &outer].map(|trace| {
        let anatomy = commits_by(trace, "write with O_DSYNC", device.name());
        assert_explained(trace, anatomy);
        assert_eq!(count(anatomy), 1000);
        anatomy
    });
    assert_eq!(inner["reached"], outer["reached"]);
}

/// Allowed deviation from a model, besides the cost of the way to the drive.
const ERROR_MAX: f64 = 0.10;
/// A busy machine delays most commands: those that are not delayed show the model, and there are
/// some of them in one of these attempts.
const PUNCTUAL: f64 = 0.10;
const ATTEMPTS: usize = 5;
/// Until whatever kept the machine busy may be over.
const PAUSE: Duration = Duration::from_secs(2);

#[test]
fn emulated_drives_take_as_long_as_their_models() {
    let test = "emulated_drives_take_as_long_as_their_models";
    let Some(_tracer) = tracer(test) else { return };
    if !needs_mounts(test) {
        return;
    }
    // Flushes of 0.07 ms and of more than 1 ms.
    for model in ["intel-710-sata", "consumer-nvme"] {
        let mut deviations = Vec::new();
        while let Some(deviation) = deviation(model) {
            deviations.push(deviation);
            assert!(deviations.len() < ATTEMPTS, "{model}: {deviations:#?}");
            std::thread::sleep(PAUSE);
        }
    }
}

/// The first of a model's commands whose time in a trace deviates too much.
fn deviation(model: &str) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let mount = directory.path().to_str().unwrap();
    let served = Served::start(&format!("{model},capacity=2GiB"), &["--fuse", mount, "--loop"]);
    let device = served.fact("device");
    let deviates = |sync: &str, call: &str, stage: &str, command: &str| {
        let (trace, _) = traced(device, sync);
        let anatomy = commits_by(&trace, call, device.trim_start_matches("/dev/"));
        assert_explained(&trace, anatomy);
        let traced = histogram(&anatomy["stages"][stage]["times"]).quantile_ns(PUNCTUAL) as f64;
        let modelled = served.facts["nominal"][command].as_f64().unwrap();
        let transport = served.facts["file_floor"][command].as_f64().unwrap();
        let is_near = (traced - modelled).abs() <= modelled * ERROR_MAX + transport;
        let words = format!("{stage} {traced} ns, model {modelled} ns, transport {transport} ns");
        (!is_near).then_some(words)
    };
    // The loop device has no FUA: a write with O_DSYNC is followed by two flushes, so the time of one
    // is that of `fdatasync`.
    let found = deviates("o_dsync", "pwrite64 with O_DSYNC", "data-write", "write_ns")
        .or_else(|| deviates("fdatasync", "fdatasync", "flush", "flush_ns"));
    assert_eq!(served.stop().code, Some(0));
    found
}
