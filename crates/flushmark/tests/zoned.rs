//! Zones that a target does not have: fio's `zonemode=zbd`, end to end. Zoned drives are tested in
//! QEMU (`cargo xtask rig qemu`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::File;
use std::path::Path;

use common::{Run, flushmark};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// A file without data.
fn empty(directory: &Path, mib: u64) -> String {
    let path = directory.join("drive");
    File::create(&path).unwrap().set_len(mib * MIB).unwrap();
    path.to_string_lossy().into_owned()
}

/// Runs a job file on a target.
fn run_jobs(directory: &Path, target: &str, jobs: &str) -> Run {
    let file = directory.join("job.fio");
    std::fs::write(&file, jobs).unwrap();
    let mut words = vec!["run", file.to_str().unwrap(), "--quiet", "--format", "json"];
    words.extend(["--destroy-data", "--target", target]);
    Run::of(flushmark().args(words).output().unwrap())
}

fn results(directory: &Path, target: &str, jobs: &str) -> Vec<Value> {
    let run = run_jobs(directory, target, jobs);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.document()["results"].as_array().unwrap().clone()
}

/// The sentence that explains why a job file does not run.
fn refusal(target: &str, jobs: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let target = match target {
        "" => empty(directory.path(), 16),
        other => other.to_owned(),
    };
    let run = run_jobs(directory.path(), &target, jobs);
    let skipped = run.stderr.lines().next().unwrap_or_default();
    let place = directory.path().to_str().unwrap();
    skipped.replace(&target, "TARGET").replace(place, "DIR")
}

fn notes(result: &Value) -> String {
    result["notes"].to_string()
}

#[test]
fn sequential_writes_fill_zones_and_reset_them_on_the_second_pass() {
    let directory = tempfile::tempdir().unwrap();
    let target = empty(directory.path(), 16);
    for engine in ["psync", "libaio", "io_uring"] {
        let jobs = format!(
            "[w]\nrw=write\nbs=64k\nzonemode=zbd\nzonesize=1m\nsize=4z\noffset=2z\nloops=2\n\
             ioengine={engine}\niodepth=4\ndirect=1\nfilename={target}\n"
        );
        let [result] = &results(directory.path(), &target, &jobs)[..] else { panic!() };
        assert_eq!(result["proof"]["writes"], 128, "{engine}: {result}");
        assert!(notes(result).contains("zones that were reset: 4"), "{engine}: {}", notes(result));
        assert_eq!(result["workload"]["zoning"]["zone_bytes"], MIB);
    }
}

#[test]
fn what_one_section_wrote_the_next_one_reads_and_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let target = empty(directory.path(), 16);
    let jobs = format!(
        "[global]\nbs=64k\nzonemode=zbd\nzonesize=1m\nmax_open_zones=2\nfilename={target}\n\
         stonewall\n\
         [before]\nrw=read\nsize=16m\n[w]\nrw=randwrite\nsize=16m\nio_size=3m\n\
         [r]\nrw=read\nsize=16m\n[all]\nrw=read\nsize=16m\nread_beyond_wp=1\n\
         [reset]\nrw=trim\nbs=1m\nsize=16m\n[after]\nrw=randread\nsize=16m\n"
    );
    let results = results(directory.path(), &target, &jobs);
    let counts = |kind: &str| {
        let count = |result: &Value| result["proof"][kind].as_u64().unwrap();
        results.iter().map(count).collect::<Vec<_>>()
    };
    assert_eq!(counts("reads"), [0, 0, 48, 256, 0, 0]);
    assert_eq!(counts("writes"), [0, 48, 0, 0, 16, 0]);
    assert!(notes(&results[0]).contains("no zone held data to read"), "{}", notes(&results[0]));
    let resets = notes(&results[4]);
    assert!(resets.contains("zones that were reset: 3") || resets.contains("reset: 4"), "{resets}");
}

#[test]
fn jobs_share_zones_at_any_depth_and_their_data_is_verified() {
    let directory = tempfile::tempdir().unwrap();
    let target = empty(directory.path(), 64);
    for (engine, verify) in [("libaio", ""), ("io_uring", ""), ("libaio", "verify=crc32c\n")] {
        let jobs = format!(
            "[w]\nrw=randwrite\nbs=16k\nzonemode=zbd\nzonesize=1m\nmax_open_zones=5\nsize=64m\n\
             io_size=20m\nnumjobs=3\njob_max_open_zones=3\nioengine={engine}\niodepth=8\n\
             direct=1\n{verify}filename={target}\n"
        );
        let [result] = &results(directory.path(), &target, &jobs)[..] else { panic!() };
        assert_eq!(result["proof"]["writes"], 3 * 1280, "{result}");
        let verified = notes(result).contains("read back and verified");
        assert_eq!(verified, !verify.is_empty(), "{}", notes(result));
        assert_eq!(result["ended"]["why"], "limit", "{}", result["ended"]);
    }
}

#[test]
fn verified_writes_end_when_all_zones_are_full() {
    let directory = tempfile::tempdir().unwrap();
    let target = empty(directory.path(), 8);
    let jobs = format!(
        "[w]\nrw=write\nbs=64k\nzonemode=zbd\nzonesize=1m\nsize=8m\nio_size=16m\nverify=md5\n\
         filename={target}\n"
    );
    let [result] = &results(directory.path(), &target, &jobs)[..] else { panic!() };
    assert_eq!(result["proof"]["writes"], 128, "{result}");
    assert!(notes(result).contains("all zones were full"), "{}", notes(result));
}

#[test]
fn resets_that_imitate_garbage_collection_keep_the_writes_going() {
    let directory = tempfile::tempdir().unwrap();
    let target = empty(directory.path(), 64);
    let jobs = format!(
        "[global]\nzonemode=zbd\nzonesize=1m\ntime_based\nruntime=1\ndirect=1\nfilename={target}\n\
         [warmup]\nrw=randwrite\nbs=64k\nsize=8z\nioengine=libaio\nruntime=200ms\n\
         [wjob]\nwait_for=warmup\nrw=randwrite\nbs=64k\nsize=8z\nioengine=libaio\nflow=16\n\
         [trimjob]\nwait_for=warmup\nrw=randtrim\nbs=1m\nsize=8z\nioengine=psync\nflow=1\n"
    );
    let results = results(directory.path(), &target, &jobs);
    assert_eq!(results.len(), 3);
    let count = |index: usize| results[index]["proof"]["writes"].as_u64().unwrap();
    let (writes, trims) = (count(1), count(2));
    assert!(trims > 5 && (10..20).contains(&(writes / trims)), "{writes} {trims}");
    let jobs = format!(
        "[w]\nrw=randwrite\nbs=64k\nzonemode=zbd\nzonesize=1m\nsize=8z\nio_size=32m\n\
         zone_reset_threshold=0.7\nzone_reset_frequency=0.125\nfilename={target}\n"
    );
    let [result] = &self::results(directory.path(), &target, &jobs)[..] else { panic!() };
    assert_eq!(result["proof"]["writes"], 512, "{result}");
    assert!(notes(result).contains("zones that were reset"), "{}", notes(result));
}

#[test]
fn new_files_have_zones_too() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().to_str().unwrap();
    let jobs = "[w]\nrw=randwrite\nbs=4k\nzonemode=zbd\nzonesize=256k\nsize=2m\nnumjobs=2\n";
    let [result] = &results(directory.path(), target, jobs)[..] else { panic!() };
    assert_eq!(result["proof"]["writes"], 1024, "{result}");
}

#[test]
fn what_does_not_fit_zones_is_refused() {
    let zoned = "[t]\nzonemode=zbd\nrw=randwrite\nsize=4m\n";
    let refused = |more: &str| refusal("", &format!("{zoned}{more}"));
    insta::assert_snapshot!(refused(""), @"flushmark: t: TARGET has no zones, so zonemode=zbd requires a zonesize");
    insta::assert_snapshot!(refused("zonesize=8m\n"), @"flushmark: t: its part of TARGET has no whole zone of 8 MiB; use a larger size");
    insta::assert_snapshot!(refused("zonesize=1m\nrw=trim\nbs=64k\n"), @"flushmark: t: a trim resets a whole zone: set bs to the size of the zones, 1 MiB");
    insta::assert_snapshot!(refused("zonesize=1m\njob_max_open_zones=1\n"), @"flushmark: t: job_max_open_zones requires max_open_zones, because the target has no limit");
    insta::assert_snapshot!(refused("zonesize=1m\nbs=768k\nverify=crc32c\n"), @"flushmark: t: verify requires a bs that divides the size of the zones, 1 MiB");
    let zoned = format!("{zoned}zonesize=1m\n");
    insta::assert_snapshot!(refusal("null:", &zoned), @"flushmark: t: it writes zones, but TARGET has none");
    insta::assert_snapshot!(refusal("sim:consumer-nvme", &zoned), @"flushmark: t: models have no zones; run it on a zoned device, or on any target with zonesize");
    let directory = tempfile::tempdir().unwrap();
    let target = empty(directory.path(), 16);
    let two = format!(
        "[global]\nstonewall\n{zoned}max_open_zones=2\n{}max_open_zones=3\n",
        zoned.replace("[t]", "[u]")
    );
    let run = run_jobs(directory.path(), &target, &two);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let skipped = &run.document()["skipped"];
    assert_eq!(skipped.as_array().map(Vec::len), Some(1));
    insta::assert_snapshot!(skipped[0]["because"].as_str().unwrap(), @"max_open_zones differs from that of an earlier section; use the same in all");
}
