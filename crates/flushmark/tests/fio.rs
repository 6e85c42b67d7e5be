//! fio's job files and command lines, end to end.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use common::{Run, entries, flushmark, run};

const MIB: usize = 1 << 20;

/// A file of ones, to see what is overwritten.
fn ones(directory: &Path, mib: usize) -> String {
    let path = directory.join("ones");
    std::fs::write(&path, vec![1u8; mib * MIB]).unwrap();
    path.to_string_lossy().into_owned()
}

/// The mebibytes of a file that are no longer all ones.
fn changed(path: &str) -> Vec<usize> {
    let bytes = std::fs::read(path).unwrap();
    let is_changed =
        |(index, piece): (usize, &[u8])| piece.iter().any(|&byte| byte != 1).then_some(index);
    bytes.chunks(MIB).enumerate().filter_map(is_changed).collect()
}

fn json(words: &[&str], fio: &[&str]) -> Run {
    let all = [&["run", "--quiet", "--format", "json"], words, &["--"], fio].concat();
    Run::of(flushmark().args(all).output().unwrap())
}

#[test]
fn a_pasted_command_line_overwrites_only_what_it_may() {
    let directory = tempfile::tempdir().unwrap();
    let file = ones(directory.path(), 4);
    let filename = format!("-filename={file}");
    let pasted = [
        "fio", "-direct=0", "-sync=1", "-bs=4k", "-rw=write", "-name=x", "-number_ios=7", &filename,
    ];
    let refused = json(&[], &[&pasted[..], &["-size=1m"]].concat());
    assert_eq!((refused.code, changed(&file)), (Some(3), vec![]), "{}", refused.stderr);
    let allowed = json(&["--destroy-data"], &[&pasted[..], &["-size=1m"]].concat());
    assert_eq!((allowed.code, changed(&file)), (Some(0), vec![0]), "{}", allowed.stderr);
    let document = allowed.document();
    let result = &document["results"][0];
    assert_eq!((&result["test"], &result["proof"]["writes"]), (&"x".into(), &7.into()));
}

#[test]
fn jobs_with_one_filename_work_on_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let file = ones(directory.path(), 8);
    let filename = format!("--filename={file}");
    let words = ["--rw=write", "--bs=4k", "--numjobs=3", "--size=1m", "--offset=2m", &filename];
    let shared = json(&["--destroy-data"], &words);
    assert_eq!((shared.code, changed(&file)), (Some(0), vec![2]), "{}", shared.stderr);
    let result = &shared.document()["results"][0];
    assert_eq!(
        (&result["proof"]["writes"], &result["workload"]["size_bytes"]),
        (&768.into(), &MIB.into())
    );
    let apart = json(&["--destroy-data"], &[&words[..], &["--offset_increment=2m"]].concat());
    assert_eq!((apart.code, changed(&file)), (Some(0), vec![2, 4, 6]), "{}", apart.stderr);
    let beyond = json(&["--destroy-data"], &[&words[..], &["--offset_increment=3m"]].concat());
    assert_eq!(beyond.code, Some(4), "{}", beyond.stderr);
    assert!(
        beyond.stderr.contains("has a size of 8.0 MiB, but this test needs at least 9 MiB"),
        "{}",
        beyond.stderr
    );
}

#[test]
fn gaps_and_sizes_are_where_the_job_has_them() {
    let directory = tempfile::tempdir().unwrap();
    let file = ones(directory.path(), 4);
    let filename = format!("--filename={file}");
    let words = ["--rw=write:1m", "--bs=1m", "--size=4m", "--number_ios=2", &filename];
    let gaps = json(&["--destroy-data"], &words);
    assert_eq!((gaps.code, changed(&file)), (Some(0), vec![0, 2]), "{}", gaps.stderr);
    let record = &gaps.document()["results"][0]["workload"];
    assert_eq!(record["order"], serde_json::json!({"skip_bytes": MIB}));

    let words = ["--rw=randread", "--bssplit=4k/50:64k/50", "--size=4m", "--loops=4", &filename];
    let varied = json(&[], &words);
    assert_eq!(varied.code, Some(0), "{}", varied.stderr);
    let result = varied.document()["results"][0].clone();
    let record = &result["workload"];
    assert_eq!(
        (&record["block_bytes"], &record["sizes"]["align_bytes"]),
        (&0.into(), &4096.into())
    );
    assert_eq!(record["sizes"]["reads"][1], serde_json::json!({"bytes": 65536, "weight": 50}));
    // Blocks of the mean size, 34 KiB, move four times 4 MiB in 480 reads; the seed chooses about
    // half of each.
    assert_eq!(result["proof"]["reads"], 480);
    let mib = result["mib_per_s"].as_f64().unwrap() * result["elapsed_s"].as_f64().unwrap();
    assert!((14.0..18.0).contains(&mib), "{mib}");
}

#[test]
fn a_share_of_the_target_is_gone_over_once() {
    let directory = tempfile::tempdir().unwrap();
    let filename = format!("--filename={}", ones(directory.path(), 4));
    let words = ["--rw=read", "--bs=64k", "--size=50%", "--loops=3", &filename];
    let result = json(&[], &words).document()["results"][0].clone();
    assert_eq!(result["proof"]["reads"], 96);
    let model = json(
        &["--target", "sim:consumer-nvme"],
        &["--rw=read", "--bs=64m", "--size=1%", "--direct=1"],
    );
    let reads = model.document()["results"][0]["proof"]["reads"].as_u64().unwrap();
    assert!(reads > 10, "{reads}");
}

#[test]
fn what_was_written_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().to_str().unwrap();
    for engine in ["psync", "libaio"] {
        let ioengine = format!("--ioengine={engine}");
        let words =
            ["--rw=randwrite", "--bs=8k", "--size=4m", "--iodepth=8", "--verify=crc32c", &ioengine];
        let kept = json(&["--target", target], &words);
        assert_eq!(kept.code, Some(0), "{}", kept.stderr);
        let result = kept.document()["results"][0].clone();
        assert_eq!(
            (&result["proof"]["writes"], &result["workload"]["verify"]),
            (&512.into(), &true.into())
        );
        assert!(
            result["notes"].to_string().contains("all written blocks were read back and verified"),
            "{}",
            result["notes"]
        );
    }
    // On a file or device, jobs without `filename` use the same bytes.
    let file = ones(directory.path(), 4);
    let target = ["--target", &file, "--destroy-data"];
    let words = ["--rw=randwrite", "--size=1m", "--numjobs=3", "--verify=crc32c"];
    let skipped = json(&target, &words);
    assert!(
        skipped.stderr.contains("several jobs overwrite each other's blocks"),
        "{}",
        skipped.stderr
    );
    let sections = ["--name=a", "--rw=write", "--size=1m", "--verify=md5", "--name=b"];
    let others = ["--rw=write", "--size=1m", "--offset=1020k"];
    let skipped = json(&target, &[&sections[..], &others].concat());
    assert!(
        skipped.stderr.contains("several jobs overwrite each other's blocks"),
        "{}",
        skipped.stderr
    );
    let apart = json(&target, &[&words[..], &["--offset_increment=1m"]].concat());
    assert_eq!(apart.code, Some(0), "{}", apart.stderr);
    let filename = format!("--filename={file}");
    let named = json(&["--destroy-data"], &[&words[..], &[&filename]].concat());
    assert_eq!(named.code, Some(0), "{}", named.stderr);
    for (target, wanted) in [
        ("null:", "null: does not store data"),
        ("sim:consumer-nvme", "a model does not store data"),
    ] {
        let skipped = json(&["--target", target], &["--rw=write", "--size=1m", "--verify=crc32c"]);
        assert!(
            skipped.stderr.contains(wanted) || skipped.stdout.contains(wanted),
            "{}{}",
            skipped.stderr,
            skipped.stdout
        );
    }
}

#[test]
fn a_discard_needs_leave_and_gives_space_back() {
    let directory = tempfile::tempdir().unwrap();
    let file = ones(directory.path(), 4);
    let filename = format!("--filename={file}");
    let words = ["--rw=trim", "--bs=1m", "--offset=1m", "--size=2m", "--number_ios=2", &filename];
    let refused = json(&[], &words);
    assert_eq!((refused.code, changed(&file)), (Some(3), vec![]), "{}", refused.stderr);
    let allowed = json(&["--destroy-data"], &words);
    if allowed.stdout.contains("discard at offset") {
        eprintln!(
            "skipped: a_discard_needs_leave_and_gives_space_back: this filesystem has no holes"
        );
        return;
    }
    assert_eq!(
        (allowed.code, changed(&file)),
        (Some(0), vec![1, 2]),
        "{}{}",
        allowed.stderr,
        allowed.stdout
    );
    assert!(std::fs::read(&file).unwrap()[MIB..3 * MIB].iter().all(|&byte| byte == 0));
    let skipped = json(&["--target", "sim:consumer-nvme"], &["--rw=trim", "--size=1m"]);
    assert!(skipped.stderr.contains("models do not support discards"), "{}", skipped.stderr);
    for (words, wanted) in [
        (["--ioengine=falloc", "--rw=write", "--size=1m"], "fallocate and ftruncate"),
        (["--ioengine=dirstat", "--filesize=4k", "--nrfiles=9"], "creating, looking up and"),
    ] {
        let skipped = json(&["--target", "sim:consumer-nvme"], &words);
        let wanted = format!("models do not support {wanted}");
        assert!(skipped.stderr.contains(&wanted), "{}", skipped.stderr);
    }
}

#[test]
fn options_stand_among_our_own_and_a_new_file_is_gone_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().to_str().unwrap();
    let words = [
        "--rw", "randwrite", "--bs", "4k", "--fsync", "1", "--number_ios", "20", "--size=1m",
        "--end_fsync=1",
    ];
    let own =
        run(&[&["run", "--quiet", "--format", "json", "--target", target], &words[..]].concat());
    assert_eq!(own.code, Some(0), "{}", own.stderr);
    let result = &own.document()["results"][0];
    assert_eq!((&result["proof"]["writes"], &result["proof"]["syncs"]), (&20.into(), &21.into()));
    assert_eq!(result["workload"]["layout"], "preallocated-once");
    assert!(entries(directory.path()).is_empty());

    let job = directory.path().join("two.fio");
    let text = "[global]\nfilename=${PLACE}/new\nsize=1m\nnumjobs=2\n[a]\nrw=write\n[b]\nstonewall\nrw=randread\n";
    std::fs::write(&job, text).unwrap();
    let args = ["run", "--quiet", "--format", "json", "--", "fio", job.to_str().unwrap()];
    let both = Run::of(flushmark().args(args).env("PLACE", target).output().unwrap());
    assert_eq!(both.code, Some(0), "{}", both.stderr);
    let document = both.document();
    let figures = |index: usize| document["results"][index]["workload"]["size_bytes"].as_u64();
    assert_eq!((figures(0), figures(1)), (Some(1 << 20), Some(1 << 20)));
    assert_eq!(entries(directory.path()), ["two.fio"]);
}

#[test]
fn what_is_said_twice_or_not_at_all_is_wrong_use() {
    for (args, wanted) in [
        (&["run"][..], "name a suite"),
        (&["run", "slog", "--rw=read"], "both `slog` and fio options say what to run"),
        (&["run", "--rw=read", "--", "--rw=read"], "either before or after `--`, not both"),
        (
            &["run", "--", "-rw=write", "-iodepht=4"],
            "unsupported option `iodepht` (did you mean `iodepth`?)",
        ),
        (
            &["run", "--", "-rw=read", "-size=1m", "-filename=/dev/no-such-drive"],
            "/dev/no-such-drive",
        ),
    ] {
        let run = run(args);
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(wanted), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn models_run_what_fio_s_jobs_ask_for() {
    let target = "sim:consumer-nvme,filesystem=ext4";
    let on = |target, words: &[&str]| json(&["--target", target], words);
    let common = ["-rw=randwrite", "-bs=4k", "-size=16m", "-number_ios=50", "-direct=1"];
    let result = |run: Run| {
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.document()["results"][0].clone()
    };
    // Commits cost more in a file whose space is only reserved than in one that was written: its
    // extents change.
    let commits =
        |more: &[&str]| result(on(target, &[&common[..], &["-fdatasync=1"], more].concat()));
    let (fresh, written) = (commits(&[]), commits(&["-overwrite=1"]));
    let p50 = |result: &serde_json::Value| result["commit_us"]["p50"].as_f64().unwrap();
    assert!(p50(&fresh) > p50(&written), "{} and {}", p50(&fresh), p50(&written));
    let ended =
        result(on(target, &[&common[..], &["-end_fsync=1", "-numjobs=2", "-filename=f"]].concat()));
    assert_eq!(
        (&ended["proof"]["syncs"], &ended["workload"]["size_bytes"]),
        (&2.into(), &(16 << 20).into())
    );
    let skipped = on(target, &[&common[..], &["-fallocate=none"]].concat());
    assert!(
        skipped.stderr.contains("models do not allocate space at random offsets"),
        "{}",
        skipped.stderr
    );
}

#[test]
fn the_null_engine_is_the_null_target() {
    let null = json(
        &[],
        &["-ioengine=null", "-size=100g", "-rw=randread", "-number_ios=1000", "-write_bw_log=x"],
    );
    assert_eq!(
        (null.code, null.document()["target"]["kind"].clone()),
        (Some(0), "null".into()),
        "{}",
        null.stderr
    );
    let told = run(&["run", "--", "-ioengine=null", "-size=1m", "-write_bw_log=x"]);
    assert!(told.stderr.contains("write_bw_log: no log is written"), "{}", told.stderr);
}

#[test]
fn asynchronous_engines_take_a_sync_beside_the_writes() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().to_str().unwrap();
    for engine in ["libaio", "io_uring"] {
        let ioengine = format!("-ioengine={engine}");
        let words =
            [&ioengine, "-rw=randwrite", "-bs=4k", "-fsync=2", "-number_ios=40", "-size=1m"];
        let at_depth =
            |depth: &str| json(&["--target", target], &[&words[..], &["-iodepth", depth]].concat());
        let deep = at_depth("4");
        if deep.stderr.contains("is not available") || deep.stderr.contains("setting up") {
            println!(
                "skipped: asynchronous_engines_take_a_sync_beside_the_writes: {}",
                deep.stderr.trim()
            );
            continue;
        }
        assert_eq!(deep.code, Some(0), "{}", deep.stderr);
        let result = &deep.document()["results"][0];
        assert_eq!(
            (&result["proof"]["writes"], &result["proof"]["syncs"]),
            (&40.into(), &20.into()),
            "{engine}"
        );
        assert_eq!(
            (&result["engine"], &result["commit_us"]),
            (&engine.into(), &serde_json::Value::Null)
        );
        assert_eq!(result["workload"]["sync_queued"], true);
        // At depth 1 nothing is in flight when a sync is due, so it makes a commit.
        let result = &at_depth("1").document()["results"][0];
        assert_eq!(
            (&result["proof"]["syncs"], &result["proof"]["commits"]),
            (&20.into(), &20.into()),
            "{engine}"
        );
        assert_eq!(
            (&result["engine"], &result["workload"]["drain"]),
            (&engine.into(), &serde_json::Value::Null)
        );
    }
}

#[test]
fn sections_run_at_the_same_time() {
    let directory = tempfile::tempdir().unwrap();
    let job = directory.path().join("two.fio");
    let text = "[global]\nsize=4m\nruntime=2\ntime_based\n[log]\nrw=write\nfsync=1\n[pages]\nrw=randread\nnumjobs=2\n";
    std::fs::write(&job, text).unwrap();
    let (job, target) = (job.to_str().unwrap(), directory.path().to_str().unwrap());
    let begun = std::time::Instant::now();
    let both = run(&["run", job, "--target", target, "--store", "none", "--format", "json"]);
    let passed_s = begun.elapsed().as_secs_f64();
    assert_eq!(both.code, Some(0), "{}", both.stderr);
    assert!(both.stderr.contains("[1-2/2] log"), "{}", both.stderr);
    let document = both.document();
    let [log, pages] = [0, 1].map(|index| document["results"][index].clone());
    let elapsed_s = |result: &serde_json::Value| result["elapsed_s"].as_f64().unwrap();
    assert!(elapsed_s(&log) + elapsed_s(&pages) > passed_s, "{passed_s}");
    assert_eq!(log["workload"]["beside"], serde_json::json!(["pages"]));
    assert_eq!(pages["workload"]["beside"], serde_json::json!(["log"]));
    let count = |result: &serde_json::Value, what: &str| result["proof"][what].as_u64().unwrap();
    assert_eq!((count(&log, "reads"), count(&log, "syncs")), (0, count(&log, "writes")));
    assert_eq!((count(&pages, "writes"), count(&pages, "reads") > 0), (0, true));
    // The device's counters cannot be attributed, so nothing is judged by them.
    assert_eq!(
        (&log["proof"]["device"], &pages["proof"]["device"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert_eq!(document["fitness"]["database-log"]["grade"], "unknown");
    assert!(log["notes"].to_string().contains("ran at the same time as pages"), "{}", log["notes"]);
    assert_eq!(entries(directory.path()), ["two.fio"]);

    let target = "sim:consumer-nvme,filesystem=ext4";
    let model =
        run(&["run", job, "--target", target, "--store", "none", "--quiet", "--format", "json"]);
    assert_eq!(model.code, Some(0), "{}", model.stderr);
    assert_eq!(model.document()["results"][1]["workload"]["beside"], serde_json::json!(["log"]));
}

#[test]
fn sections_share_a_file_at_the_same_time() {
    let directory = tempfile::tempdir().unwrap();
    let file = ones(directory.path(), 4);
    let (first, second) = (format!("--filename={file}"), "--name=b");
    let words = [
        "--rw=write", "--bs=64k", "--size=1m", &first, "--name=a", "--offset=3m", second,
        "--offset=1m",
    ];
    let both = json(&["--destroy-data"], &words);
    assert_eq!((both.code, changed(&file)), (Some(0), vec![1, 3]), "{}", both.stderr);
    let results = both.document()["results"].clone();
    assert_eq!(
        (&results[0]["proof"]["writes"], &results[1]["proof"]["writes"]),
        (&16.into(), &16.into())
    );
    // In a directory the file is created once, for both.
    let words =
        ["--filename=own", "--bs=64k", "--size=1m", "--name=a", "--rw=write", second, "--rw=read"];
    let made = Run::of(
        flushmark()
            .current_dir(directory.path())
            .args(["run", "--quiet", "--format", "json", "--target", ".", "--"])
            .args(words)
            .output()
            .unwrap(),
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(made.document()["results"][1]["proof"]["reads"], 16);
}

#[test]
fn the_files_of_a_job_are_there_while_it_runs_and_gone_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().to_str().unwrap();
    let words =
        ["--rw=randwrite", "--bs=4k", "--size=96k", "--nrfiles=3", "--numjobs=2", "--offset=8k"];
    let endless = ["--runtime=60", "--time_based"];
    let args =
        [&["run", "--quiet", "--target", target, "--", "fio"], &words[..], &endless].concat();
    let mut running = flushmark().args(args).stdout(std::process::Stdio::null()).spawn().unwrap();
    let sizes = || -> Vec<u64> {
        let own =
            std::fs::read_dir(directory.path()).unwrap().flatten().next().map(|entry| entry.path());
        let files = own.and_then(|own| std::fs::read_dir(own).ok()).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|facts| facts.len()).collect()
    };
    let wait_for = |reached: &dyn Fn() -> bool| {
        let begun = std::time::Instant::now();
        while !reached() {
            assert!(begun.elapsed().as_secs() < 30, "{:?}", sizes());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    // A third of `size` each, after the offset.
    wait_for(&|| sizes() == [(8 << 10) + (32 << 10); 6]);
    running.kill().unwrap();
    running.wait().unwrap();
    wait_for(&|| entries(directory.path()).is_empty());
}

#[test]
fn every_engine_writes_and_reads_the_files_of_a_job_in_turn() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().to_str().unwrap();
    for engine in ["psync", "libaio", "io_uring"] {
        for (pattern, service) in
            [("write", "roundrobin"), ("randwrite", "random:2"), ("randrw", "sequential")]
        {
            let (ioengine, rw) = (format!("--ioengine={engine}"), format!("--rw={pattern}"));
            let service = format!("--file_service_type={service}");
            let words = [
                &ioengine, &rw, &service, "--nrfiles=3", "--iodepth=4", "--verify=crc32c",
                "--fsync=2",
            ];
            let size = ["--bs=4k", "--size=96k", "--numjobs=2", "--end_fsync=1"];
            let run = json(&["--target", target], &[&words[..], &size].concat());
            if run.stderr.contains("is not available") || run.stderr.contains("setting up") {
                eprintln!(
                    "skipped: every_engine_writes_and_reads_the_files_of_a_job_in_turn: {}",
                    run.stderr.trim()
                );
                continue;
            }
            // Each block names its place, so one in the wrong file would be noticed.
            assert_eq!(run.code, Some(0), "{engine} {pattern}: {}{}", run.stderr, run.stdout);
            let result = &run.document()["results"][0];
            let count = |what: &str| result["proof"][what].as_u64().unwrap();
            assert_eq!(count("reads") + count("writes"), 2 * 24, "{engine} {pattern}");
            if pattern != "randrw" {
                // Each job syncs every other write, and each of its files at the end.
                assert_eq!(
                    (count("syncs"), count("commits")),
                    (2 * 12 + 2 * 3, 0),
                    "{engine} {pattern}"
                );
            }
            let record = &result["workload"];
            assert_eq!(
                (&record["job_files"]["per_job"], &record["size_bytes"]),
                (&3.into(), &(192 << 10).into())
            );
            assert_eq!(record["job_files"]["synced"], "next");
        }
    }
    assert!(entries(directory.path()).is_empty());
}

#[test]
fn a_file_that_exists_is_the_only_one_of_a_job() {
    let directory = tempfile::tempdir().unwrap();
    let file = ones(directory.path(), 4);
    let words = ["--rw=write", "--bs=64k", "--size=2m", "--nrfiles=4"];
    let run = json(&["--destroy-data", "--target", &file], &words);
    assert_eq!((run.code, changed(&file)), (Some(0), vec![0, 1]), "{}", run.stderr);
    let record = run.document()["results"][0]["workload"].clone();
    assert_eq!(
        (&record["job_files"], &record["size_bytes"]),
        (&serde_json::Value::Null, &(2 * MIB).into())
    );
}

#[test]
fn a_plan_commits_to_several_files() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[defaults]\nfiles_per_job = 4\nsize = \"64KiB\"\ncount = 40\nwarm_up \
                = \"0s\"\nsync = \"fsync\"\n\
                [[test]]\nname = \"log\"\npattern = \"write\"\nlayout = \"append\"\n\
                [[test]]\nname = \"pages\"\npattern = \"randwrite\"\nfile_order \
                = \"random\"\ndepth = 4\nengine = \"libaio\"\n\
                [[test]]\nname = \"linked\"\npattern = \"write\"\nsync = \"linked_fsync\"\ndepth = \
                2\n";
    let path = common::plan(directory.path(), text);
    let target = directory.path().to_str().unwrap();
    for target in [target, "sim:consumer-nvme,filesystem=ext4", "null:"] {
        let run = run(&["run", &path, "--target", target, "--quiet", "--format", "json"]);
        let document = run.document();
        // Without io_uring, a linked sync is skipped.
        let results = document["results"].as_array().unwrap();
        assert!(results.len() >= 2, "{}", run.stderr);
        for result in results {
            assert_eq!(
                (&result["proof"]["writes"], &result["proof"]["commits"]),
                (&40.into(), &40.into()),
                "{result}"
            );
            assert_eq!(result["workload"]["job_files"]["synced"], "written");
        }
    }
    assert_eq!(entries(directory.path()), ["plan.toml"]);
}

#[test]
fn a_model_has_the_files_of_a_job() {
    let words = [
        "--rw=write", "--bs=4k", "--size=384k", "--nrfiles=3", "--direct=1", "--fsync=1",
        "--end_fsync=1",
    ];
    let result = |target: &str| {
        let run = json(&["--target", target], &words);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.document()["results"][0].clone()
    };
    let files = result("sim:consumer-nvme,filesystem=ext4");
    assert_eq!(
        (&files["proof"]["writes"], &files["proof"]["syncs"]),
        (&96.into(), &(96 + 3).into())
    );
    assert_eq!(
        (&files["proof"]["commits"], &files["workload"]["job_files"]["per_job"]),
        (&0.into(), &3.into())
    );
    // A drive without a filesystem is one file, and each sync covers the write before it.
    let device = result("sim:consumer-nvme");
    assert_eq!((&device["proof"]["syncs"], &device["proof"]["commits"]), (&97.into(), &96.into()));
}

/// A job file in a directory, and the options to run it on a target.
fn job_file(directory: &Path, text: &str, target: &str) -> Run {
    let path = directory.join("job.fio");
    std::fs::write(&path, text).unwrap();
    run(&[
        "run",
        path.to_str().unwrap(),
        "--target",
        target,
        "--store",
        "none",
        "--quiet",
        "--format",
        "json",
    ])
}

#[test]
fn a_section_starts_late_and_ends_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[global]\nsize=4m\nrw=randread\nruntime=60\ntime_based\nexitall\n[a]\nrw=write\n[b]\nstartdelay=1\nruntime=1\n";
    for target in [directory.path().to_str().unwrap(), "sim:consumer-nvme,filesystem=ext4"] {
        let both = job_file(directory.path(), text, target);
        assert_eq!(both.code, Some(0), "{}", both.stderr);
        let results = both.document()["results"].clone();
        let elapsed_s = |index: usize| results[index]["elapsed_s"].as_f64().unwrap();
        // One second of waiting and one of measurement, which ends the minute of the other section.
        assert!((1.9..20.0).contains(&elapsed_s(0)), "{target}: {}", elapsed_s(0));
        assert!(
            (0.9..19.0).contains(&elapsed_s(1)) && elapsed_s(1) < elapsed_s(0) - 0.5,
            "{target}: {}",
            elapsed_s(1)
        );
        let record = &results[1]["workload"];
        assert_eq!((&record["start_delay_s"], &record["ends_others"]), (&1.0.into(), &true.into()));
        assert_eq!(results[0]["ended"]["why"], "limit");
    }
}

#[test]
fn a_section_ends_its_group_or_the_whole_run() {
    let directory = tempfile::tempdir().unwrap();
    // `a` ends only its own group, `c` all sections, and `d` never starts.
    let text = "[global]\nsize=1m\nrw=write\nexitall\n[a]\nnumber_ios=10\n\
                [b]\nnew_group\nruntime=1\ntime_based\n\
                [c]\nnew_group\nruntime=2\ntime_based\nexit_what=all\n\
                [e]\nnew_group\nruntime=60\ntime_based\n[d]\nstonewall\n";
    for target in [directory.path().to_str().unwrap(), "sim:consumer-nvme,filesystem=ext4"] {
        let run = job_file(directory.path(), text, target);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let document = run.document();
        let elapsed_s = |index: usize| document["results"][index]["elapsed_s"].as_f64().unwrap();
        assert!((0.9..1.9).contains(&elapsed_s(1)), "{target}: {}", elapsed_s(1));
        assert!((1.9..20.0).contains(&elapsed_s(3)), "{target}: {}", elapsed_s(3));
        let skipped = serde_json::json!([{"test": "d", "because": "c has ended the run"}]);
        assert_eq!(document["skipped"], skipped, "{target}");
        assert_eq!(document["results"][0]["workload"]["ends"], "group");
        assert_eq!(document["results"][2]["workload"]["ends"], "run");
        assert_eq!(document["results"][2]["workload"]["group"], 2);
    }
}

#[test]
fn reads_and_writes_of_a_mix_have_one_rate_each() {
    let directory = tempfile::tempdir().unwrap();
    for (engine, target) in [
        ("psync", directory.path().to_str().unwrap()),
        ("libaio", directory.path().to_str().unwrap()),
        ("libaio", "sim:consumer-nvme"),
    ] {
        let text = format!(
            "[a]\nioengine={engine}\niodepth=8\nsize=1m\nrw=randrw\nrate_iops=50,200\n\
             runtime=2\ntime_based\n"
        );
        let run = job_file(directory.path(), &text, target);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let result = run.document()["results"][0].clone();
        let count = |what: &str| result["proof"][what].as_f64().unwrap();
        // Two seconds, and the operations that are due at the start.
        assert!((95.0..103.0).contains(&count("reads")), "{engine} {target}: {}", count("reads"));
        assert!((390.0..404.0).contains(&count("writes")), "{engine} {target}");
        let rate = &result["workload"]["rate"];
        assert_eq!((&rate["per_second"], &rate["reads_per_second"]), (&250.0.into(), &50.0.into()));
    }
}

#[test]
fn operations_with_a_priority_are_reported_separately() {
    let directory = tempfile::tempdir().unwrap();
    // Class idle needs no privilege.
    for engine in ["libaio", "io_uring"] {
        let text = format!(
            "[a]\nioengine={engine}\niodepth=4\nsize=4m\nrw=randread\nnumber_ios=1000\n\
             direct=1\nprioclass=2\nprio=6\ncmdprio_percentage=20\ncmdprio_class=3\n"
        );
        let run = job_file(directory.path(), &text, directory.path().to_str().unwrap());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let result = run.document()["results"][0].clone();
        let [idle, usual] = [0, 1].map(|index| result["priorities"][index].clone());
        assert_eq!(idle["priority"], serde_json::json!({"class": "idle", "level": 0}));
        assert_eq!(usual["priority"], serde_json::Value::Null);
        let count = |of: &serde_json::Value| of["latency_us"]["count"].as_u64().unwrap();
        assert_eq!(count(&idle) + count(&usual), 1000, "{engine}");
        // Four standard deviations are 51.
        assert!(count(&idle).abs_diff(200) < 51, "{engine}: {}", count(&idle));
        let notes = result["notes"].to_string();
        assert!(notes.contains("reads with priority idle 0: "), "{notes}");
        assert_eq!(result["workload"]["priorities"]["thread"]["level"], 6);
    }
    let text = "[a]\nsize=4m\nprioclass=3\n";
    let modelled = job_file(directory.path(), text, "sim:consumer-nvme");
    let skipped = modelled.document()["skipped"].to_string();
    assert!(skipped.contains("models do not schedule I/Os by priority"), "{skipped}");
}

#[test]
fn a_job_thinks_between_its_operations() {
    let directory = tempfile::tempdir().unwrap();
    let words = [
        "--rw=read", "--size=1m", "--number_ios=24", "--thinktime=20ms", "--thinktime_blocks=8",
        "--direct=1",
    ];
    for target in [directory.path().to_str().unwrap(), "sim:consumer-nvme", "null:"] {
        let run = json(&["--target", target], &words);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let result = run.document()["results"][0].clone();
        // Two pauses; the third would come after the last operation.
        let elapsed_s = result["elapsed_s"].as_f64().unwrap();
        assert!((0.04..5.0).contains(&elapsed_s), "{target}: {elapsed_s}");
        assert_eq!(result["workload"]["think"], serde_json::json!({"time_us": 20_000, "every": 8}));
        if target.starts_with("sim:") {
            // A pause is not part of any latency.
            assert!(
                elapsed_s < 0.06 && result["read_us"]["max"].as_f64().unwrap() < 15_000.0,
                "{result}"
            );
        }
    }
}

#[test]
fn a_job_that_is_too_slow_fails_and_the_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[global]\nsize=1m\nrw=read\nrate_iops=10\ntime_based\nrate_cycle=500\n\
                [slow]\nruntime=20\nrate_min=20k\nrw=read\n[good]\nruntime=5\nrate_min=10k\n";
    // Ten blocks of 4 KiB per second are 40 KiB; with the pauses, one and a half are 6 KiB.
    let text = text.replace("[slow]", "[slow]\nthinktime=600ms");
    for target in [directory.path().to_str().unwrap(), "sim:consumer-nvme,filesystem=ext4"] {
        let both = job_file(directory.path(), &text, target);
        let results = both.document()["results"].clone();
        let error = results[0]["ended"]["error"].as_str().unwrap_or_default();
        assert!(
            error.starts_with("a job read ") && error.ends_with("less than the required 20480 B/s"),
            "{target}: {error}"
        );
        assert!(
            (2.0..10.0).contains(&results[0]["elapsed_s"].as_f64().unwrap()),
            "{target}: {}",
            results[0]["elapsed_s"]
        );
        assert_eq!(results[1]["ended"]["why"], "limit", "{target}");
        assert!(results[1]["elapsed_s"].as_f64().unwrap() >= 4.9, "{target}");
        assert_ne!(both.code, Some(0));
    }
}

#[test]
fn sections_share_operations_by_weight() {
    let directory = tempfile::tempdir().unwrap();
    for (engine, more) in
        [("psync", ""), ("libaio", "iodepth=8\n"), ("libaio", "iodepth=8\nflow_sleep=500\n")]
    {
        let text = format!(
            "[global]\nioengine={engine}\n{more}size=4m\nruntime=2\ntime_based\n[one]\nflow=1\nrw=write\n[four]\nflow=4\nrw=randread\n"
        );
        for target in [directory.path().to_str().unwrap(), "sim:consumer-nvme,filesystem=ext4"] {
            let both = job_file(directory.path(), &text, target);
            assert_eq!(both.code, Some(0), "{}", both.stderr);
            let results = both.document()["results"].clone();
            let count = |index: usize, what: &str| results[index]["proof"][what].as_f64().unwrap();
            let (writes, reads) = (count(0, "writes"), count(1, "reads"));
            assert!(
                writes > 10.0 && (3.6..4.4).contains(&(reads / writes)),
                "{engine} {more}{target}: {reads}/{writes}"
            );
            assert_eq!(results[0]["workload"]["flow"]["weight"], 1);
        }
    }
}

#[test]
fn a_section_ends_in_its_steady_state_and_the_next_one_keeps_a_latency() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[global]\nsize=4m\nruntime=60\ntime_based\n[a]\nrw=write\nrate_iops=200\n\
                ss=iops:50%\nss_dur=2\n[b]\nstonewall\nioengine=libaio\niodepth=4\n\
                latency_target=10s\nlatency_window=100ms\n";
    let both = job_file(directory.path(), text, directory.path().to_str().unwrap());
    assert_eq!(both.code, Some(0), "{}", both.stderr);
    let results = both.document()["results"].clone();
    let elapsed_s = |index: usize| results[index]["elapsed_s"].as_f64().unwrap();
    assert!((2.0..30.0).contains(&elapsed_s(0)), "{}", elapsed_s(0));
    assert!((0.1..30.0).contains(&elapsed_s(1)), "{}", elapsed_s(1));
    let notes = |index: usize| results[index]["notes"].to_string();
    assert!(notes(0).contains("steady state reached: deviation of the IOPS"), "{}", notes(0));
    assert!(notes(1).contains("depth 4 keeps 100 % of I/Os within 10000000 µs"), "{}", notes(1));
}

#[test]
fn duplicates_reach_the_target() {
    let directory = tempfile::tempdir().unwrap();
    let path = ones(directory.path(), 4);
    let text = "[a]\nrw=write\nsize=4m\ndedupe_percentage=50\nbuffer_compress_percentage=50\n";
    let written = job_file(directory.path(), text, &path);
    assert_ne!(written.code, Some(0), "overwrites without leave");
    let job = directory.path().join("job.fio");
    let words =
        ["run", job.to_str().unwrap(), "--target", &path, "--store", "none", "--destroy-data"];
    let written = run(&words);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let content = std::fs::read(&path).unwrap();
    let distinct: std::collections::HashSet<&[u8]> = content.chunks(4096).collect();
    assert!(distinct.len().abs_diff(512) < 80, "{}", distinct.len());
    assert!(content.chunks(4096).all(|block| block[2048..].iter().all(|&byte| byte == 0)));
}

#[test]
fn a_file_that_must_exist_is_not_created() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[a]\nsize=1m\nallow_file_create=0\n";
    let skipped = job_file(directory.path(), text, directory.path().to_str().unwrap());
    let outcome = skipped.document()["skipped"].to_string();
    assert!(outcome.contains("must not create a file"), "{outcome}");
    let path = ones(directory.path(), 4);
    assert_eq!(job_file(directory.path(), text, &path).code, Some(0));
}
