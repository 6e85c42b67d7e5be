//! Tests that change the space of files, or create, look up and remove them, in a directory.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use workload::Plan;

use super::*;
use crate::target::Intent;

fn fio(text: &str) -> Plan {
    Plan::from_fio("job.fio", text, &|_| None).unwrap()
}

fn toml(text: &str) -> Plan {
    Plan::from_toml("plan.toml", text).unwrap()
}

fn open(path: &Path) -> Target {
    let intent = Intent { writes: true, destroy_data: true };
    Target::open(&SystemRoot::default(), path.to_str().unwrap(), intent).unwrap()
}

/// Runs each group of tests; `after` is called after each with the run's directory.
fn run_in(path: &Path, plan: &Plan, mut after: impl FnMut(&Path)) -> Vec<Outcome> {
    let target = open(path);
    let inside = std::fs::read_dir(path).into_iter().flatten();
    let mut inside = inside.map(|entry| entry.unwrap().path());
    let scratch = inside.find(|path| path.is_dir()).unwrap_or_default();
    let group = |tests: &[Test]| {
        let ran = run(tests, &target, &Options::default(), &Stop::new(), &mut |_| {}).unwrap();
        after(&scratch);
        ran
    };
    plan.groups().flat_map(group).collect()
}

fn measured(outcomes: Vec<Outcome>) -> Vec<TestResult> {
    let result = |outcome| match outcome {
        Outcome::Measured(result) => {
            assert_eq!(result.ended, Ended::Limit, "{}", result.test);
            *result
        }
        Outcome::Skipped(skipped) => panic!("{skipped:?}"),
    };
    outcomes.into_iter().map(result).collect()
}

#[test]
fn sections_with_one_filename_find_the_file_as_the_previous_ones_left_it() {
    let directory = tempfile::tempdir().unwrap();
    let plan = fio("[global]\nioengine=falloc\nfilename=x\nsize=1m\nbs=64k\nstonewall\n\
                    [reserve]\nrw=write\n[holes]\nrw=trim\n[reserve one]\nrw=write\nnumber_ios=1\n\
                    [write]\nioengine=sync\nrw=randwrite\nbs=4k\nnumber_ios=1\noffset=512k\n\
                    size=512k\n");
    let mut seen = Vec::new();
    let outcomes = run_in(directory.path(), &plan, |scratch| {
        let file = std::fs::metadata(scratch.join("kept-0")).unwrap();
        seen.push((file.len() >> 10, file.blocks() / 2));
    });
    let results = measured(outcomes);
    let writes: Vec<u64> = results.iter().map(|result| result.proof.writes).collect();
    assert_eq!(writes, [16, 16, 1, 1]);
    // KiB of length and of space.
    assert_eq!(seen, [(1024, 1024), (1024, 0), (1024, 64), (1024, 68)]);
}

#[test]
fn sections_at_the_same_time_share_one_file_that_is_only_reserved() {
    let directory = tempfile::tempdir().unwrap();
    let plan = fio("[global]\nioengine=falloc\nfilename=x\nsize=1m\nbs=64k\nnumber_ios=1\n\
                    [a]\nrw=write\n[b]\nrw=randtrim\nnumjobs=2\n");
    let mut files = Vec::new();
    measured(run_in(directory.path(), &plan, |scratch| {
        files = std::fs::read_dir(scratch).unwrap().map(|file| file.unwrap().file_name()).collect();
        let written = std::fs::read(scratch.join("kept-0")).unwrap();
        assert!(written.len() == 1 << 20 && written.iter().all(|&byte| byte == 0));
    }));
    assert_eq!(files, ["kept-0"]);
}

#[test]
fn a_file_with_holes_is_not_left_to_the_next_test_of_a_plan() {
    let directory = tempfile::tempdir().unwrap();
    let plan = toml(
        "[defaults]\nsize = \"1MiB\"\ncount = 4\nwarm_up = \"0s\"\n\
         [[test]]\npattern = \"trim\"\n[[test]]\npattern = \"truncate\"\n\
         [[test]]\npattern = \"write\"\n",
    );
    let mut seen = Vec::new();
    measured(run_in(directory.path(), &plan, |scratch| {
        let files = std::fs::read_dir(scratch).unwrap();
        seen.push(files.map(|file| file.unwrap().metadata().unwrap().blocks()).sum::<u64>() / 2);
    }));
    assert_eq!(seen, [0, 0, 1024]);
}

#[test]
fn an_ftruncate_sets_the_length_to_the_offset_of_its_block() {
    let directory = tempfile::tempdir().unwrap();
    let plan = fio("[t]\nioengine=ftruncate\nfilename=x\nrw=write\nsize=1m\nbs=4k\nnumber_ios=6\n");
    let mut length = 0;
    let results = measured(run_in(directory.path(), &plan, |scratch| {
        length = std::fs::metadata(scratch.join("kept-0")).unwrap().len();
    }));
    assert_eq!((results[0].proof.writes, length), (6, 5 * 4096));
    // A length is not an amount of data.
    assert!(
        results[0].mib_per_s == 0.0
            && results[0].proof.device.is_none_or(|of| of.bytes_per_byte.is_none())
    );
}

#[test]
fn each_file_or_directory_has_its_turn_once_and_is_gone_afterwards() {
    for (engine, reads, writes) in [
        ("filecreate", 0, 40),
        ("filestat", 40, 0),
        ("filedelete", 0, 40),
        ("dircreate", 0, 40),
        ("dirstat", 40, 0),
        ("dirdelete", 0, 40),
    ] {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("mine"), "x").unwrap();
        let plan = fio(&format!(
            "[global]\nioengine={engine}\nfilesize=4k\nnrfiles=20\nnumjobs=2\n[a]\n[b]\n"
        ));
        let mut after = 0;
        let results = measured(run_in(directory.path(), &plan, |scratch| {
            after = std::fs::read_dir(scratch).unwrap().count();
        }));
        for result in &results {
            let proof = (result.proof.reads, result.proof.writes);
            assert_eq!(proof, (reads, writes), "{engine}");
            assert_eq!(result.workload.size_bytes, 2 * 20 * 4096, "{engine}");
            assert!(result.mib_per_s == 0.0 && !result.workload.direct, "{engine}");
        }
        assert_eq!((results.len(), after), (2, 0), "{engine}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "{engine}");
    }
}

#[test]
fn what_must_be_a_new_file_or_a_directory_does_not_touch_an_existing_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine");
    std::fs::write(&path, vec![1; 1 << 20]).unwrap();
    let skipped = |plan: Plan| match run_in(&path, &plan, |_| {}).remove(0) {
        Outcome::Skipped(skipped) => skipped.because,
        Outcome::Measured(result) => panic!("{}", result.test),
    };
    let truncate = toml("[[test]]\npattern = \"truncate\"\nsize = \"1MiB\"\n");
    assert_eq!(
        skipped(truncate),
        "it truncates a file, so its target must be a directory, where it creates one"
    );
    let remove = toml("[[test]]\npattern = \"remove\"\n");
    assert_eq!(
        skipped(remove),
        "it creates, looks up or removes files or directories, which requires a directory as the \
         target"
    );
    assert_eq!(std::fs::read(&path).unwrap(), vec![1; 1 << 20]);
    // Reserving space that the file already has changes nothing.
    let reserve = toml("[[test]]\npattern = \"allocate\"\nsize = \"1MiB\"\ncount = 4\n");
    measured(run_in(&path, &reserve, |_| {}));
    assert_eq!(std::fs::read(&path).unwrap(), vec![1; 1 << 20]);
}

#[test]
fn more_files_than_half_of_the_free_space_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let target = open(directory.path());
    let plan =
        toml("[[test]]\npattern = \"stat\"\nentries = 16777216\njobs = 2\nblock = \"64MiB\"\n");
    let refused = run(&plan.tests, &target, &Options::default(), &Stop::new(), &mut |_| {});
    assert!(
        matches!(refused, Err(EngineError::NoSpace { needed_bytes: 0x8_0000_0000_0000, .. })),
        "{refused:?}"
    );
}

#[test]
fn half_of_the_free_inodes_remain() {
    let directory = tempfile::tempdir().unwrap();
    let volume = rustix::fs::statvfs(directory.path()).unwrap();
    if volume.f_files == 0 {
        eprintln!("skipped: half_of_the_free_inodes_remain: inodes are not limited here");
        return;
    }
    let plan =
        toml("[[test]]\npattern = \"create\"\nentries = 16777216\njobs = 256\ntime = \"1ms\"\n");
    let outcome = run_in(directory.path(), &plan, |_| {}).remove(0);
    let Outcome::Skipped(skipped) = outcome else { panic!("{outcome:?}") };
    let because = skipped.because;
    assert!(because.starts_with("it needs 4294967296 files or directories, but"), "{because}");
}
