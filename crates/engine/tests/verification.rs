//! Verification end to end, on real files: damage between writing and reading is found.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use drive::SystemRoot;
use engine::{Intent, Options, Stop, Target, run};
use measurement::{Ended, Outcome, TestResult};
use workload::{Plan, Test};

const BYTES: u64 = 4 << 20;

/// A file of zeros, and a plan of fio sections on it.
fn plan(directory: &Path, global: &str, sections: &str) -> (File, Target, Plan) {
    let path = directory.join("file");
    let file =
        File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    file.set_len(BYTES).unwrap();
    let text = format!("[global]\nfilename={}\n{global}\n{sections}\n", path.display());
    let plan = Plan::from_fio("job.fio", &text, &|_| None).unwrap();
    let intent = Intent { writes: true, destroy_data: true };
    let target = Target::open(&SystemRoot::default(), path.to_str().unwrap(), intent).unwrap();
    (file, target, plan)
}

fn result(target: &Target, test: &Test) -> TestResult {
    let tests = std::slice::from_ref(test);
    let outcomes = run(tests, target, &Options::default(), &Stop::new(), &mut |_| {}).unwrap();
    match outcomes.into_iter().next().unwrap() {
        Outcome::Measured(result) => *result,
        Outcome::Skipped(skipped) => panic!("{skipped:?}"),
    }
}

/// The error of a section that reads after `damage` was done to what the other one wrote.
fn error_after(global: &str, reads: &str, damage: impl Fn(&File)) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let sections =
        format!("[w]\nrw=write\ndo_verify=0\n[r]\nstonewall\nrw=read\ndo_verify=1\n{reads}\n");
    let (file, target, plan) = plan(directory.path(), global, &sections);
    let written = result(&target, &plan.tests[0]);
    assert_eq!((written.ended, written.proof.writes), (Ended::Limit, BYTES >> 16));
    damage(&file);
    let read = result(&target, &plan.tests[1]);
    if let Ended::Failed { error } = read.ended {
        return Some(error);
    }
    assert_eq!(read.proof.reads, BYTES >> 16);
    None
}

fn flip(offset: u64) -> impl Fn(&File) {
    move |file| {
        let mut byte = [0];
        file.read_exact_at(&mut byte, offset).unwrap();
        file.write_all_at(&[byte[0] ^ 1], offset).unwrap();
    }
}

#[test]
fn a_section_that_reads_finds_a_wrong_byte() {
    let global = "bs=64k\nverify=meta\nverify_pattern=0xaa555aa5\nverify_interval=512";
    for reads in ["ioengine=sync", "ioengine=libaio\niodepth=4"] {
        assert_eq!(error_after(global, reads, |_| ()), None);
        let error = error_after(global, reads, flip(1_000_000)).unwrap();
        assert_eq!(
            error,
            "the block at offset 999936 differs from what was written there: pattern mismatch"
        );
        let error = error_after(global, reads, flip(512 * 100 + 3)).unwrap();
        assert!(error.ends_with("checksum mismatch"), "{error}");
    }
}

#[test]
fn a_block_at_the_wrong_place_is_found_and_mismatches_can_be_ignored() {
    let move_block = |file: &File| {
        let mut block = vec![0; 65536];
        file.read_exact_at(&mut block, 65536).unwrap();
        file.write_all_at(&block, 0).unwrap();
    };
    let error = error_after("bs=64k\nverify=sha256", "", move_block).unwrap();
    assert!(error.contains("misdirected write"), "{error}");
    assert_eq!(error_after("bs=64k\nverify=sha256", "continue_on_error=verify", move_block), None);
}

#[test]
fn a_section_that_did_not_run_leaves_nothing_to_check() {
    let directory = tempfile::tempdir().unwrap();
    let sections = "[w]\nrw=write\ndo_verify=0\n[r]\nstonewall\nrw=read\n";
    let (_, target, plan) = plan(directory.path(), "verify=md5", sections);
    let tests = &plan.tests[1..];
    let outcomes = run(tests, &target, &Options::default(), &Stop::new(), &mut |_| {}).unwrap();
    let Outcome::Skipped(skipped) = &outcomes[0] else { panic!("{outcomes:?}") };
    assert_eq!(
        skipped.because,
        "it checks what an earlier section wrote, but that section did not run"
    );
}

#[test]
fn a_backlog_checks_while_it_writes() {
    for text in [
        "rw=write:112k\nbs=16k\noffset=120k\nsize=1m\nio_size=512k\nloops=2\nverify_backlog=1",
        "rw=randrw\nbs=4k\nsize=1m\nioengine=libaio\niodepth=16\nverify_backlog=64",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let sections = format!("[t]\nverify=crc32c\n{text}\n");
        let (_, target, plan) = plan(directory.path(), "", &sections);
        let result = result(&target, &plan.tests[0]);
        assert_eq!(result.ended, Ended::Limit);
        assert!(result.notes.iter().any(|note| note.contains("verify_backlog")), "{result:?}");
    }
}
