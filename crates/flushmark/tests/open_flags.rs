//! The flags of an open test file, read back from the kernel while the program runs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{LoopDevice, Mount, flushmark, needs_rigs, plan, run, system};

/// `__O_SYNC | O_DSYNC` (`include/uapi/asm-generic/fcntl.h`); `O_SYNC` is both.
const SYNC_BITS: u32 = 0x10_1000;
const O_DSYNC: u32 = 0x1000;

/// The sync bits of the files below `directory` that a process's threads have open, most bits
/// first.
fn sync_bits(pid: u32, directory: &Path) -> Option<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let of_task = |task: std::fs::DirEntry| {
        let descriptors = std::fs::read_dir(task.path().join("fd")).ok()?;
        let bits = descriptors.filter_map(|descriptor| {
            let descriptor = descriptor.ok()?;
            let file = std::fs::read_link(descriptor.path()).ok()?;
            if !file.starts_with(directory) || file.is_dir() {
                return None;
            }
            let info = task.path().join("fdinfo").join(descriptor.file_name());
            let info = std::fs::read_to_string(info).ok()?;
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?.trim();
            Some(u32::from_str_radix(flags, 8).unwrap() & SYNC_BITS)
        });
        bits.max()
    };
    tasks.filter_map(|task| of_task(task.ok()?)).max()
}

/// The sync bits with which `flushmark run` opens the test file of this plan.
fn bits_of_run(text: &str) -> u32 {
    let directory = tempfile::tempdir().unwrap();
    let place = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), text);
    let mut child = flushmark()
        .args(["run", &plan, "--quiet", "--target"])
        .arg(place.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let (mut most, mut seen) = (0, false);
    // The preparation opens the file without flags; the job opens it again.
    while child.try_wait().unwrap().is_none() {
        if let Some(bits) = sync_bits(child.id(), place.path()) {
            (most, seen) = (most.max(bits), true);
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "the run does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success() && seen, "no test file was seen open");
    most
}

#[test]
fn a_test_file_is_open_with_its_method_s_flags_and_no_others() {
    let wanted =
        [("none", 0), ("fsync", 0), ("rwf_dsync", 0), ("o_dsync", O_DSYNC), ("o_sync", SYNC_BITS)];
    for (sync, bits) in wanted {
        for engine in ["psync", "io_uring", "libaio"] {
            let text = format!(
                "[[test]]\npattern = \"randwrite\"\nsync = \"{sync}\"\nengine = \"{engine}\"\n\
                 size = \"1MiB\"\ntime = \"300ms\"\nwarm_up = \"0s\"\n"
            );
            assert_eq!(bits_of_run(&text), bits, "{sync}, {engine}");
        }
    }
}

#[test]
fn a_step_program_s_file_is_open_with_its_flag() {
    for (open, bits) in [("o_dsync", O_DSYNC), ("o_sync", SYNC_BITS)] {
        let text = format!(
            "[[test]]\nsteps = [\"write log seq 4KiB\"]\ntime = \"300ms\"\n\
             files.log = {{ size = \"1MiB\", open = \"{open}\" }}\n"
        );
        assert_eq!(bits_of_run(&text), bits, "{open}");
    }
}

/// Journal transactions of the ext4 filesystem on a device so far.
fn transactions(device: &LoopDevice) -> u64 {
    let info = std::fs::read_to_string(format!("/proc/fs/jbd2/{}-8/info", device.name())).unwrap();
    info.split_whitespace().next().unwrap().parse().unwrap()
}

/// ext4 overwrites without a transaction if only the data must be durable (`ext4_sync_file`);
/// `O_SYNC` commits one for the time stamp, which changes once per tick of the kernel's clock.
#[test]
fn o_dsync_overwrites_commit_no_journal_transactions_on_ext4() {
    const TEST: &str = "o_dsync_overwrites_commit_no_journal_transactions_on_ext4";
    if !needs_rigs(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 256 << 20, &["--direct-io=on"]) else { return };
    system("mkfs.ext4", &["-q", &device.path]).unwrap();
    let Some(mount) = Mount::new(TEST, &["-o", "commit=600", &device.path]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let measured = |sync: &str, engine: &str| {
        let text = format!(
            "[[test]]\npattern = \"randwrite\"\nsync = \"{sync}\"\nengine = \"{engine}\"\n\
             size = \"16MiB\"\ntime = \"1s\"\nwarm_up = \"0s\"\n"
        );
        let plan = plan(directory.path(), &text);
        let before = transactions(&device);
        let args = ["run", &plan, "--quiet", "--format", "json", "--target", mount.text()];
        let document = run(&args).document();
        let writes = document["results"][0]["proof"]["writes"].as_u64().unwrap();
        (writes, transactions(&device) - before)
    };
    for engine in ["psync", "libaio"] {
        let (writes, transactions) = measured("o_dsync", engine);
        // Those of creating and removing the test file.
        assert!(
            transactions <= 10,
            "{engine}: {transactions} transactions for {writes} O_DSYNC writes"
        );
        let (writes, transactions) = measured("o_sync", engine);
        assert!(
            transactions >= 50,
            "{engine}: {transactions} transactions for {writes} O_SYNC writes"
        );
    }
}
