//! Bad input and faults: one clear message, the right exit code, nothing lost, nothing left behind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{
    LoopDevice, Mount, Run, entries, flushmark, install_program, is_root, kill, needs_root, plan,
    run, system,
};

const SMOKE: [&str; 3] = ["--smoke", "--quiet", "--target"];

fn smoke(suite: &str, target: &str, more: &[&str]) -> Run {
    run(&[&["run", suite], &SMOKE[..], &[target], more].concat())
}

/// A run that lasts until it is stopped.
fn long_run(target: &Path) -> Child {
    let mut command = flushmark();
    command.args(["run", "journal", "--quiet", "--format", "json", "--target"]).arg(target);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn no_such_path() {
    let run = smoke("journal", "/no/such/path", &[]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.stderr.trim_end(), @"flushmark: /no/such/path does not exist: name an existing directory, regular file or block device");
}

#[test]
fn no_such_suite_plan_or_engine() {
    let run = smoke("journl", ".", &[]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.stderr.trim_end(), @"flushmark: unknown suite or file `journl`; suites are check, journal, ceph-disk, slog, wal, commits, fsync-study, write-cache, read-scaling, open-blocks, erase-block, cache-size, flush-cost, fill, sort-spill");
    assert_eq!(smoke("journal", ".", &["--engine", "spdk"]).code, Some(2));
    let directory = tempfile::tempdir().unwrap();
    let bad = plan(directory.path(), "[[test]]\npattern = \"randwrite\"\nsync = \"fsnyc\"\n");
    let run = smoke(&bad, ".", &[]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.said(directory.path(), "DIR"), @r#"flushmark: DIR/plan.toml:3: sync: "fsnyc" is invalid: expected one of none, fsync, fdatasync, o_sync, o_dsync, rwf_dsync, linked_fsync, linked_fdatasync"#);
    let job = directory.path().join("job.fio");
    fs::write(&job, "[a]\nrw=write\nsize=1m\nverify=md55\n").unwrap();
    let run = smoke(job.to_str().unwrap(), ".", &[]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("job.fio:4: verify: \"md55\" is invalid: expected md5, crc64, "),
        "{}",
        run.stderr
    );
}

#[test]
fn a_run_needs_a_target() {
    let run = run(&["run", "journal"]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.stderr.trim_end(), @"flushmark: missing target: after the suite, give a directory, a file, /dev/..., sim:MODEL, nbd://HOST/EXPORT, rbd:POOL/IMAGE, rados:POOL or null:");
}

#[test]
fn an_unknown_argument_hides_nothing() {
    let run = run(&["check", "--\u{202e}tsoh"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.starts_with(r"error: unexpected argument '--\u{202e}tsoh' found"),
        "{}",
        run.stderr
    );
}

/// Runs a smoke test as an unprivileged user; root switches to one.
fn as_nobody(suite: &str, target: &str, more: &[&str]) -> Run {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = std::process::Command::new(install_program(place.path()));
    command.args(["run", suite]).args(SMOKE).arg(target).args(more);
    if is_root() {
        command.uid(65534).gid(65534);
    }
    Run::of(command.output().unwrap())
}

#[test]
fn a_directory_without_write_permission() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let run = as_nobody("journal", directory.path().to_str().unwrap(), &[]);
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    insta::assert_snapshot!(run.said(directory.path(), "DIR"), @"flushmark: no permission to write to DIR; use a directory that you own");
}

#[test]
fn an_ordinary_user_is_served() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let run = as_nobody("check", directory.path().to_str().unwrap(), &["--format", "json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let drive = &run.document()["drive"];
    assert!(drive["backing"].is_object() || drive.is_null(), "{drive}");
}

#[test]
fn a_full_disk() {
    if !needs_root("a_full_disk") {
        return;
    }
    let Some(mount) = Mount::new("a_full_disk", &["-t", "tmpfs", "-o", "size=2m", "tmpfs"]) else {
        return;
    };
    fs::write(mount.path.join("filler"), vec![1u8; (2 << 20) - 65536]).unwrap();
    let run = smoke("journal", mount.text(), &[]);
    assert_eq!(run.code, Some(4));
    insta::assert_snapshot!(run.said(&mount.path, "DIR"), @"flushmark: DIR has 64.0 KiB free, of which flushmark uses at most half, but this test needs 1 MiB; free some space or use a smaller size");
    assert_eq!(entries(&mount.path), ["filler"]);
}

#[test]
fn a_full_disk_is_ignored_or_the_end_where_the_job_file_says_so() {
    const TEST: &str = "a_full_disk_is_ignored_or_the_end_where_the_job_file_says_so";
    let options = ["-t", "tmpfs", "-o", "size=8m", "tmpfs"];
    let Some(mount) = Mount::new(TEST, &options) else { return };
    let run = |words: &[&str], fio: &[&str]| {
        let all = [&["run", "--quiet", "--format", "json", "--target", mount.text()], words];
        let command = [&all.concat()[..], &["--"], fio].concat();
        Run::of(flushmark().args(command).output().unwrap())
    };
    let ignoring = [
        "--rw=randrw", "--bs=64k", "--size=32m", "--create_on_open=1", "--verify=crc32c",
        "--verify_backlog=16", "--ignore_error=,ENOSPC",
    ];
    let full = run(&["--destroy-data"], &ignoring);
    assert_eq!(full.code, Some(0), "{}", full.stderr);
    let result = full.document()["results"][0].clone();
    let notes = result["notes"].to_string();
    assert!(notes.contains("the disk is full (ENOSPC)"), "{notes}");
    let proof = &result["proof"];
    let operations = proof["reads"].as_u64().unwrap() + proof["writes"].as_u64().unwrap();
    let ignored = format!("ignored: {};", 512 - operations);
    assert!(operations < 512 && notes.contains(&ignored), "{proof} {notes}");
    // Half of the free space is never full.
    let half = run(&[], &ignoring).document()["results"][0].clone();
    assert!(!half["notes"].to_string().contains("ignored"), "{half}");

    let filling = ["--rw=write", "--bs=64k", "--fill_device=1", "--verify=meta"];
    let filled = run(&["--destroy-data"], &filling);
    assert_eq!(filled.code, Some(0), "{}", filled.stderr);
    let result = filled.document()["results"][0].clone();
    assert!(result["notes"].to_string().contains("ended when the disk was full"), "{result}");
    assert!(result["proof"]["writes"].as_u64().unwrap() > 100, "{result}");
    let half = run(&[], &filling).document()["results"][0].clone();
    assert!(half["notes"].to_string().contains("at most half of the free space"), "{half}");
    assert_eq!(entries(&mount.path), [""; 0]);
}

#[test]
fn atomic_writes_are_skipped_where_there_are_none() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().to_str().unwrap();
    let words = ["run", "--quiet", "--target", target, "--", "--rw=write", "--size=1m"];
    let all = [&words[..], &["--direct=1", "--atomic=1", "--verify=crc64"]].concat();
    let run = Run::of(flushmark().args(all).output().unwrap());
    if run.code == Some(0) {
        eprintln!(
            "skipped: atomic_writes_are_skipped_where_there_are_none: this drive has atomic writes"
        );
        return;
    }
    assert!(run.stderr.contains("cannot write 4 KiB atomically"), "{}", run.stderr);
}

/// A filesystem of 64 MiB with room for one run and the files that fill it.
struct Small {
    mount: Mount,
    _device: Option<LoopDevice>,
}

impl Small {
    fn each(test: &str) -> Vec<Small> {
        let memory = Mount::new(test, &["-t", "tmpfs", "-o", "size=64m", "tmpfs"]);
        let memory = memory.map(|mount| Small { mount, _device: None });
        let ext4 = LoopDevice::new(test, 64 << 20, &[]).and_then(|device| {
            if let Err(reason) = system("mkfs.ext4", &["-q", "-m", "0", &device.path]) {
                eprintln!("skipped: {test} (ext4): {reason}");
                return None;
            }
            Mount::new(test, &[&device.path]).map(|mount| Small { mount, _device: Some(device) })
        });
        [memory, ext4].into_iter().flatten().collect()
    }
}

#[test]
fn a_disk_that_fills_during_the_run() {
    const TEST: &str = "a_disk_that_fills_during_the_run";
    const BLOCKS: &str = "pattern = \"write\"\nlayout = \"append\"\nsize = \"24MiB\"\nsync \
                          = \"fsync\"\nrate = 500\n";
    // Small writes: if the log ended before the disk is full, it would start over in its own space.
    // In memory, a write takes a microsecond, so there have to be a million of them.
    const STEPS: &str = "files = { log = { size = \"24MiB\", layout = \"append\" } }\nsteps = \
                         [\"write log append 16B\", \"sync log fdatasync\"]\n";
    if !needs_root(TEST) {
        return;
    }
    let plan_directory = tempfile::tempdir().unwrap();
    for work in [BLOCKS, STEPS] {
        let text = format!("[[test]]\n{work}warm_up = \"0s\"\ntime = \"20s\"\n");
        let plan = plan(plan_directory.path(), &text);
        for small in Small::each(TEST) {
            let mount = &small.mount;
            let child = flushmark()
                .args(["run", &plan, "--quiet", "--format", "json", "--target", mount.text()])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            wait_until("the first file", || {
                entries(&mount.path).iter().any(|name| name.starts_with(".flushmark-"))
            });
            std::thread::sleep(Duration::from_millis(500));
            // Another writer takes all the space.
            let mut filler = fs::File::create(mount.path.join("filler")).unwrap();
            let _ = std::io::copy(&mut std::io::repeat(1), &mut filler);
            let run = Run::of(child.wait_with_output().unwrap());
            assert_eq!(run.code, Some(4), "{}", run.stderr);
            assert!(run.stderr.contains("the disk is full"), "{}", run.stderr);
            assert!(run.stderr.ends_with("; the run ends here\n"), "{}", run.stderr);
            let result = &run.document()["results"][0];
            assert_eq!(result["ended"]["why"], "failed");
            assert!(result["ops"].as_u64().unwrap() > 50, "what was measured is kept");
            assert!(
                !entries(&mount.path).iter().any(|name| name.starts_with(".flushmark")),
                "the file is removed"
            );
        }
    }
}

#[test]
fn a_read_only_filesystem() {
    const TEST: &str = "a_read_only_filesystem";
    if !needs_root(TEST) {
        return;
    }
    let Some(mount) = Mount::new(TEST, &["-t", "tmpfs", "-o", "ro", "tmpfs"]) else { return };
    let run = smoke("journal", mount.text(), &[]);
    assert_eq!(run.code, Some(4));
    insta::assert_snapshot!(run.said(&mount.path, "DIR"), @"flushmark: DIR is on a read-only filesystem; use a writable directory");
}

#[test]
fn memory_and_layers_are_measured_and_called_what_they_are() {
    const TEST: &str = "memory_and_layers_are_measured_and_called_what_they_are";
    if !needs_root(TEST) {
        return;
    }
    let Some(memory) = Mount::new(TEST, &["-t", "tmpfs", "tmpfs"]) else { return };
    let layers = ["lower", "upper", "work"].map(|name| {
        let layer = memory.path.join(name);
        fs::create_dir(&layer).unwrap();
        layer.to_string_lossy().into_owned()
    });
    let options = format!("lowerdir={},upperdir={},workdir={}", layers[0], layers[1], layers[2]);
    let overlay = Mount::new(TEST, &["-t", "overlay", "-o", &options, "overlay"]);
    for place in [Some(&memory), overlay.as_ref()].into_iter().flatten() {
        let run = smoke("check", place.text(), &["--format", "json"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let document = run.document();
        assert!(
            document["drive"]["backing"]["no_block_device"].is_object(),
            "{}",
            document["drive"]
        );
        assert_eq!(document["results"][0]["proof"]["device"], serde_json::Value::Null);
    }
}

#[test]
fn a_filesystem_without_direct_io_is_measured_through_the_page_cache_and_that_is_said() {
    const TEST: &str =
        "a_filesystem_without_direct_io_is_measured_through_the_page_cache_and_that_is_said";
    if !needs_root(TEST) {
        return;
    }
    // ramfs has no O_DIRECT on any kernel.
    let Some(mount) = Mount::new(TEST, &["-t", "ramfs", "ramfs"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(
        directory.path(),
        "[[test]]\npattern = \"randwrite\"\nsize = \"1MiB\"\ncount = 10\nwarm_up = \"0s\"\n",
    );
    let run = run(&["run", &plan, "--quiet", "--format", "json", "--target", mount.text()]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let result = &run.document()["results"][0];
    assert_eq!(result["workload"]["direct"], false, "{}", run.stderr);
    assert!(result["notes"][0].as_str().unwrap().contains("O_DIRECT"), "{}", result["notes"]);
}

#[test]
fn a_device_with_a_filesystem_or_in_use_is_refused() {
    const TEST: &str = "a_device_with_a_filesystem_or_in_use_is_refused";
    if !needs_root(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 64 << 20, &[]) else { return };
    let run = smoke("journal", &device.path, &[]);
    assert_eq!(run.code, Some(3));
    insta::assert_snapshot!(run.said(&device.path, "DEV"), @"flushmark: DEV would be overwritten; to allow this, add --destroy-data, or use a directory, where flushmark creates temporary files");

    if let Err(reason) = system("mkfs.ext4", &["-q", &device.path]) {
        eprintln!("skipped: {TEST}: {reason}");
        return;
    }
    let run = smoke("journal", &device.path, &[]);
    assert_eq!(run.code, Some(3));
    assert!(run.stderr.contains("and holds an ext4 filesystem"), "{}", run.stderr);

    let mount = Mount::new(TEST, &[&device.path]).unwrap();
    let run = smoke("journal", &device.path, &["--destroy-data"]);
    assert_eq!(run.code, Some(3));
    insta::assert_snapshot!(run.said(&device.path, "DEV").replace(mount.text(), "DIR"), @"flushmark: DEV is in use and will not be overwritten: DEV is mounted on DIR; use another target");
    drop(mount);

    system("mkswap", &[&device.path]).unwrap();
    if system("swapon", &[&device.path]).is_ok() {
        let run = smoke("journal", &device.path, &["--destroy-data"]);
        system("swapoff", &[&device.path]).unwrap();
        assert_eq!(run.code, Some(3));
        assert!(run.stderr.contains("is in use as swap"), "{}", run.stderr);
    } else {
        eprintln!("skipped: {TEST} (swap): swapon is not allowed here");
    }

    // Held: another loop device shows it as a disk.
    let holder = system("losetup", &["--find", "--show", &device.path]).unwrap();
    let run = smoke("journal", &device.path, &["--destroy-data"]);
    system("losetup", &["--detach", &holder]).unwrap();
    assert_eq!(run.code, Some(3), "{}", run.stderr);
}

#[test]
fn a_block_size_that_the_device_cannot_do() {
    const TEST: &str = "a_block_size_that_the_device_cannot_do";
    if !needs_root(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 64 << 20, &["--sector-size", "4096"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(
        directory.path(),
        "[[test]]\nname = \"small\"\npattern = \"randwrite\"\nblock = \"512B\"\n",
    );
    let run_small = run(&["run", &plan, "--target", &device.path, "--destroy-data", "--quiet"]);
    assert_eq!(run_small.code, Some(2));
    insta::assert_snapshot!(run_small.said(&device.path, "DEV"), @"flushmark: small: 512 B is not a multiple of the logical block size of DEV, 4 KiB, as direct I/O requires");
    let slog = smoke("slog", &device.path, &["--destroy-data"]);
    assert_eq!(slog.code, Some(0), "{}", slog.stderr);
    assert!(
        slog.stdout.contains(
            "randwrite 2 KiB, fsync=1, depth 1, jobs 1: skipped, 2 KiB is not a multiple"
        ),
        "{}",
        slog.stdout
    );
    assert!(slog.stdout.contains("\t   4 kbytes:"), "{}", slog.stdout);
}

#[test]
fn an_io_error_in_the_middle() {
    const TEST: &str = "an_io_error_in_the_middle";
    if !needs_root(TEST) {
        return;
    }
    // A sparse image larger than its memory filesystem: after some megabytes the loop device cannot
    // store more and returns EIO.
    let Some(small) = Mount::new(TEST, &["-t", "tmpfs", "-o", "size=8m", "tmpfs"]) else { return };
    let Some(device) = LoopDevice::within(TEST, &small.path, 64 << 20, &[]) else { return };
    let directory = tempfile::tempdir().unwrap();
    for (depth, engine) in [(1, "psync"), (16, "io_uring"), (16, "libaio")] {
        let text = format!(
            "[[test]]\nname = \"fails\"\npattern = \"write\"\ndepth = {depth}\nengine \
             = \"{engine}\"\nsize = \"64MiB\"\nwarm_up = \"0s\"\ntime = \"20s\"\n\
             [[test]]\nname = \"never runs\"\npattern = \"write\"\n"
        );
        let plan = plan(directory.path(), &text);
        let run = run(&[
            "run", &plan, "--quiet", "--format", "json", "--destroy-data", "--target", &device.path,
        ]);
        assert_eq!(run.code, Some(4), "{engine}: {}", run.stderr);
        let document = run.document();
        let results = document["results"].as_array().unwrap();
        assert_eq!((results.len(), &results[0]["ended"]["why"]), (1, &"failed".into()), "{engine}");
        assert!(
            run.stderr.contains("reported an I/O error (EIO); the run ends here")
                || run.stderr.contains("ENOSPC"),
            "{}",
            run.stderr
        );
        if engine == "psync" {
            assert!(results[0]["ops"].as_u64().unwrap() > 100, "what was measured is kept");
        }
    }
}

#[test]
fn signals_end_a_run_cleanly_at_any_time() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        for after_ms in [1, 60, 300, 1200] {
            let directory = tempfile::tempdir().unwrap();
            let child = long_run(directory.path());
            std::thread::sleep(Duration::from_millis(after_ms));
            kill(&[&format!("-{signal}"), &child.id().to_string()]).unwrap();
            let begun = Instant::now();
            let run = Run::of(child.wait_with_output().unwrap());
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "{signal} after {after_ms} ms took {:?}",
                begun.elapsed()
            );
            assert!(
                entries(directory.path()).is_empty(),
                "{signal} after {after_ms} ms left {:?}",
                entries(directory.path())
            );
            // Before the handlers are installed, the signal kills the program: then there is no
            // exit code and nothing to print.
            if after_ms >= 300 {
                assert_eq!(run.code, Some(code), "{signal} after {after_ms} ms: {}", run.stderr);
            }
            if after_ms >= 1200 && run.document()["results"][0].is_object() {
                assert_eq!(run.document()["results"][0]["ended"]["why"], "interrupted");
            }
        }
    }
}

#[test]
fn a_killed_run_leaves_no_file() {
    for whole_group in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let mut command = flushmark();
        command
            .args(["run", "journal", "--quiet", "--target"])
            .arg(directory.path())
            .process_group(0);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("the test file", || !entries(directory.path()).is_empty());
        std::thread::sleep(Duration::from_millis(200));
        let victim = if whole_group { format!("-{}", child.id()) } else { child.id().to_string() };
        kill(&["-s", "KILL", "--", &victim]).unwrap();
        child.wait().unwrap();
        wait_until("the removal", || entries(directory.path()).is_empty());
    }
}

#[test]
fn what_an_earlier_run_left_is_removed_and_that_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let left = directory.path().join(".flushmark-1-0123456789abcdef");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("overwrite-0"), "x").unwrap();
    let run = run(&["run", "journal", "--smoke", "--target", directory.path().to_str().unwrap()]);
    assert_eq!(run.code, Some(0));
    assert!(run.stderr.contains("removed leftover test files of earlier runs"), "{}", run.stderr);
    assert!(entries(directory.path()).is_empty());
}

#[test]
fn two_runs_on_one_directory_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = long_run(directory.path());
    wait_until("the first run's files", || !entries(directory.path()).is_empty());
    let second = smoke("journal", directory.path().to_str().unwrap(), &[]);
    kill(&["-INT", &first.id().to_string()]).unwrap();
    first.wait().unwrap();
    assert_eq!(second.code, Some(3));
    insta::assert_snapshot!(second.said(directory.path(), "DIR"), @"flushmark: another flushmark run is using DIR; concurrent runs would distort each other's results, so wait until it ends");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let listing = format!("{} suites | head -1", env!("CARGO_BIN_EXE_flushmark"));
    let run = Run::of(
        std::process::Command::new("bash")
            .args(["-o", "pipefail", "-c", &listing])
            .output()
            .unwrap(),
    );
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}
