//! The ends of traces, and the instances and files that they leave.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::{LoopDevice, Mount, Run, entries, interrupt, kill, nobody, plan, run, system};
use crate::tracing::{
    PROGRAM, assert_adds_up, commits_by, count, instances, read_json, start, tracer, tracer_alone,
    wait_until,
};

const NOTHING: [PathBuf; 0] = [];

#[test]
fn nothing_is_left_however_it_ends() {
    let test = "nothing_is_left_however_it_ends";
    let Some(tracer) = tracer(test) else { return };
    let sleeping = || start(&tracer, &["--", "sleep", "60"]);
    let running = sleeping();
    let process = running.id();
    let ended = interrupt(running, "-INT", Duration::from_secs(20));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(instances(&tracer, process), NOTHING, "{}", ended.stdout);

    let mut killed = sleeping();
    let process = killed.id();
    kill(&["-KILL", &process.to_string()]).unwrap();
    killed.wait().unwrap();
    // Traces of other tests may have removed them already.
    assert_eq!(run(&["trace", "--", "true"]).code, Some(0));
    assert_eq!(instances(&tracer, process), NOTHING);
}

#[test]
fn a_command_that_ignores_sigterm_is_killed() {
    let test = "a_command_that_ignores_sigterm_is_killed";
    let Some(_tracer) = tracer(test) else { return };
    let begun = Instant::now();
    let deaf = "trap '' TERM; exec sleep 60";
    let ended = run(&["trace", "--for", "1s", "--", "sh", "-c", deaf]);
    assert!(begun.elapsed() < Duration::from_secs(50), "waited for the command");
    insta::assert_snapshot!(ended.stderr, @"flushmark: the command went on for 10 s after SIGTERM, and was killed");
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
}

/// A command that commits to a device for some time, after it has written its number to this file.
fn writing<'a>(number: &'a str, device: &'a str) -> [&'a str; 5] {
    let script = "echo $$ > \"$0\"; exec dd if=/dev/zero of=\"$1\" bs=4k oflag=dsync";
    ["sh", "-c", script, number, device]
}

/// Enough for some ten seconds of commits.
const DEVICE_BYTES: u64 = 256 << 20;

#[test]
fn a_full_disk_ends_the_trace_and_its_command() {
    let test = "a_full_disk_ends_the_trace_and_its_command";
    let Some(tracer) = tracer(test) else { return };
    let Some(device) = LoopDevice::new(test, DEVICE_BYTES, &[]) else { return };
    let Some(disk) = Mount::new(test, &["-t", "tmpfs", "-o", "size=64k", "tmpfs"]) else { return };
    let kept = disk.path.join("kept.trace");
    let directory = tempfile::tempdir().unwrap();
    let number = directory.path().join("number");
    let writing = writing(number.to_str().unwrap(), &device.path);
    // While the trace runs, and when it is complete.
    for command in [&writing[..], &["true"]] {
        let begins = ["--keep", kept.to_str().unwrap(), "--"];
        let running = start(&tracer, &[&begins, command].concat());
        let process = running.id();
        let ended = Run::of(running.wait_with_output().unwrap());
        insta::allow_duplicates! {
            insta::assert_snapshot!(ended.said(&disk.path, "DISK"), @"flushmark: cannot write the trace to DISK/kept.trace: No space left on device (os error 28)");
        }
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(4), ""));
        assert_eq!(instances(&tracer, process), NOTHING);
        let of_command = std::fs::read_to_string(&number).unwrap();
        assert!(!Path::new("/proc").join(of_command.trim()).exists(), "the command still runs");
        assert!(!entries(&disk.path).contains(&"kept.trace".to_owned()));
        // Fails when the disk is full.
        let _ = std::fs::write(disk.path.join("content"), vec![0; 64 << 10]);
    }
}

/// Waits until a device has completed some hundred writes more than `before`.
fn wait_for_writes(device: &LoopDevice, before: u64) {
    wait_until("waited for writes", || writes(device) > before + 500);
}

/// The writes that a device has completed, also with other files.
fn writes(device: &LoopDevice) -> u64 {
    let stat = std::fs::read_to_string(format!("/sys/block/{}/stat", device.name())).unwrap();
    stat.split_whitespace().nth(4).unwrap().parse().unwrap()
}

/// The events of an instance that the kernel dropped.
fn dropped(instance: &Path) -> u64 {
    let cpus = instance.join("per_cpu");
    let stats = entries(&cpus).into_iter().map(|cpu| {
        let stats = std::fs::read_to_string(cpus.join(cpu).join("stats")).unwrap();
        let overrun = stats.lines().find_map(|line| line.strip_prefix("overrun: ")).unwrap();
        overrun.parse::<u64>().unwrap()
    });
    stats.sum()
}

#[test]
fn lost_events_are_counted_and_no_commit_reaches_across_them() {
    let test = "lost_events_are_counted_and_no_commit_reaches_across_them";
    let Some(tracer) = tracer_alone(test) else { return };
    let Some(device) = LoopDevice::within(test, "/dev/shm".as_ref(), 32 << 20, &[]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (kept, shown, result) = (path("kept.trace"), path("trace.json"), path("result.json"));
    let endless = "[[test]]\npattern = \"randwrite\"\nsync = \"o_dsync\"\nsize = \"1MiB\"\n\
                time = \"5min\"\nwarm_up = \"0s\"\n";
    let plan = plan(directory.path(), endless);
    let trace = ["--output", &shown, "--keep", &kept, "--"];
    let measure = ["--quiet", "--destroy-data", "--output", &result];
    let command = [&[PROGRAM, "run", &plan, "--target", &device.path], &measure[..]].concat();
    let before = writes(&device);
    let running = start(&tracer, &[&trace[..], &command].concat());
    let process = running.id().to_string();
    let instances = instances(&tracer, running.id());
    wait_for_writes(&device, before);
    kill(&["-STOP", &process]).unwrap();
    wait_until("waited for lost events", || instances.iter().all(|one| dropped(one) > 0));
    kill(&["-CONT", &process]).unwrap();
    // Long enough for commits after the gap.
    std::thread::sleep(Duration::from_secs(1));
    let ended = interrupt(running, "-INT", Duration::from_mins(1));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);

    let measured = read_json(Path::new(&result));
    let longest_us = measured["results"][0]["commit_us"]["max"].as_f64().unwrap();
    let read = run(&["trace", "read", &kept, "--format", "json"]).document();
    for trace in [read_json(shown.as_ref()), read] {
        assert!(trace["lost"].as_u64().unwrap() > 0, "{}", trace["lost"]);
        let anatomies = trace["anatomies"].as_array().unwrap();
        assert!(!anatomies.is_empty());
        for anatomy in anatomies {
            assert_adds_up(anatomy);
            let traced_us = anatomy["longest"]["ns"].as_f64().unwrap() / 1e3;
            assert!(
                traced_us <= longest_us,
                "{traced_us} µs, measured {longest_us} µs: {anatomy:#}"
            );
        }
    }
    let page = run(&["trace", "read", &kept]).stdout;
    let counted = page.lines().find(|line| line.starts_with("Traced for")).unwrap();
    assert!(counted.contains(" lost") && !counted.contains("none lost"), "{counted}");
}

#[test]
fn a_device_that_vanishes_ends_its_commits() {
    let test = "a_device_that_vanishes_ends_its_commits";
    let Some(tracer) = tracer(test) else { return };
    let Some(device) = LoopDevice::new(test, DEVICE_BYTES, &[]) else { return };
    let of_device = ["--device", &device.path, "--for", "3s", "--format", "json"];
    let of_device = start(&tracer, &of_device);
    let before = writes(&device);
    let output = format!("of={}", device.path);
    let command = ["dd", "if=/dev/zero", &output, "bs=4k", "oflag=dsync"];
    let of_command = start(&tracer, &[&["--format", "json", "--"], &command[..]].concat());
    let processes = [of_device.id(), of_command.id()];
    wait_for_writes(&device, before);
    device.lose_size();
    system("losetup", &["--detach", &device.path]).unwrap();

    let ended = Run::of(of_command.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("the command failed (exit status: 1)"), "{}", ended.stderr);
    let records = ended.stderr.lines().find_map(|line| line.strip_suffix("+0 records out"));
    let records: u64 = records.unwrap_or_else(|| panic!("{}", ended.stderr)).parse().unwrap();
    let trace = ended.document();
    let anatomy = commits_by(&trace, "write with O_DSYNC", device.name());
    assert_adds_up(anatomy);
    // One more may have been at the device.
    assert!((records..=records + 1).contains(&count(anatomy)), "{records} written: {anatomy:#}");

    let ended = Run::of(of_device.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(processes.iter().all(|&process| instances(&tracer, process).is_empty()));
}

#[test]
fn refusals() {
    let said = |args: &[&str]| run(&[&["trace"], args].concat()).said("", "");
    let first = |run: &str| run.lines().next().unwrap_or_default().to_owned();
    insta::assert_snapshot!(first(&said(&[])), @"error: the following required arguments were not provided:");
    insta::assert_snapshot!(first(&said(&["--pid", "0"])), @"error: invalid value '0' for '--pid <PID>': 0 is not in 1..=4294967295");
    insta::assert_snapshot!(first(&said(&["--pid", "1", "--", "true"])), @"error: the argument '--pid <PID>' cannot be used with '[COMMAND]...'");
    let check = |target: &str| run(&["check", target, "--trace"]).said("", "");
    insta::assert_snapshot!(check("sim:consumer-nvme"), @"flushmark: --trace has no effect on sim:consumer-nvme, which is not reached through the kernel's block layer; leave it out");
    insta::assert_snapshot!(check("null:"), @"flushmark: --trace has no effect on null:, which is not reached through the kernel's block layer; leave it out");
    insta::assert_snapshot!(check("/dev/shm"), @"flushmark: /dev/shm is not on a block device, so the kernel's block layer does not see its writes");
    let test = "refusals";
    let Some(_tracer) = tracer(test) else { return };
    insta::assert_snapshot!(said(&["--", "no-such-command"]), @"flushmark: cannot run `no-such-command`: there is no such command");
    insta::assert_snapshot!(said(&["--pid", "4194303"]), @"flushmark: no process 4194303 is running");
    insta::assert_snapshot!(said(&["--path", "/proc/version"]), @"flushmark: /proc/version is not on a block device, so the kernel's block layer does not see its writes");
    insta::assert_snapshot!(said(&["--path", "/no/such/path"]), @"flushmark: /no/such/path does not exist: name an existing directory, regular file or block device");
    insta::assert_snapshot!(said(&["--device", "/dev/null"]), @"flushmark: /dev/null is not a block device");
    insta::assert_snapshot!(said(&["--output", "/no/such/directory/file", "--", "true"]), @"flushmark: /no/such/directory is not a directory, so --output cannot create a file there");
    insta::assert_snapshot!(said(&["--", "false"]), @"flushmark: the command failed (exit status: 1)");
    let mut contained = std::process::Command::new("unshare");
    contained.args(["--pid", "--fork", "--mount-proc", PROGRAM, "trace", "--", "true"]);
    insta::assert_snapshot!(Run::of(contained.output().unwrap()).said("", ""), @"flushmark: the kernel's tracer numbers threads as the host does, and this container has numbers of its own (a PID namespace), so its threads would not be found; run flushmark on the host, or in a container with the host's processes (`podman run --pid=host`)");
    let Some(nobody) = nobody(test) else { return };
    let Run { code, stderr, .. } = nobody.run(&["trace", "--", "true"]);
    insta::assert_snapshot!(stderr.trim_end(), @"flushmark: the kernel's tracer may be used by root only; run it with sudo");
    assert_eq!(code, Some(2));
}
