//! Runs on a real Ceph cluster: objects of a pool, and images.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::cluster::{Pool, Running, until, while_running};
use common::{interrupt, plan};
use serde_json::Value;

const WRITES: &str = "[defaults]\nsize = \"16MiB\"\ncount = 60\nwarm_up = \"0s\"\n[[test]]\npattern \
                      = \"randwrite\"\n[[test]]\npattern = \"randwrite\"\ndepth = \
                      8\n[[test]]\npattern = \"randwrite\"\nsync = \"fsync\"\n[[test]]\npattern \
                      = \"randread\"\ndepth = 4\n[[test]]\npattern = \"randwrite\"\njobs = \
                      2\n";

/// Each result's commits, writes and reads.
fn counts(document: &Value) -> Vec<[u64; 3]> {
    let proof = |result: &Value, key: &str| result["proof"][key].as_u64().unwrap();
    let results = document["results"].as_array().unwrap();
    let counts = |result| ["commits", "writes", "reads"].map(|key| proof(result, key));
    results.iter().map(counts).collect()
}

#[test]
fn objects_are_created_measured_and_removed() {
    let Some(pool) = Pool::new("objects_are_created_measured_and_removed", 2) else { return };
    let document = pool.measure(WRITES, &pool.target(), &[]);
    let expected = [[60, 60, 0], [60, 60, 0], [60, 60, 0], [0, 0, 60], [120, 120, 0]];
    assert_eq!(counts(&document), expected);
    let target = &document["target"];
    assert_eq!(target["kind"], "rados");
    assert_eq!(target["ceph"]["pool"], pool.name());
    assert_eq!(target["ceph"]["replicas"], 2);
    assert_eq!(document["results"][0]["engine"], "librados");
    assert_eq!(pool.objects(), "", "objects are left");
}

#[test]
fn an_image_is_measured_if_it_may_be_overwritten() {
    let Some(pool) = Pool::new("an_image_is_measured_if_it_may_be_overwritten", 1) else { return };
    let image = pool.image("disk");
    let target = format!("rbd:{image}");
    let text = WRITES;
    let plan = plan(pool.place(), text);
    let refused = pool.run(&["run", &plan, "--target", &target, "--quiet"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("would be overwritten"), "{}", refused.stderr);

    let document = pool.measure(text, &target, &["--destroy-data"]);
    let expected = [[60, 60, 0], [60, 60, 0], [60, 60, 0], [0, 0, 60], [120, 120, 0]];
    assert_eq!(counts(&document), expected);
    assert_eq!(document["target"]["kind"], "rbd");
    assert_eq!(document["target"]["ceph"]["size_bytes"], 64 << 20);
    assert_eq!(document["results"][0]["engine"], "librbd");
    // With librbd's cache, a write is a commit only once it has been flushed.
    let cached = pool.measure(text, &format!("{target}:cache=on"), &["--destroy-data"]);
    let commits: Vec<u64> = counts(&cached).into_iter().map(|[commits, ..]| commits).collect();
    assert_eq!(commits, [0, 0, 60, 0, 0]);
    assert_eq!(cached["target"]["ceph"]["cached"], true);
    let flagged = "[[test]]\npattern = \"randwrite\"\nsync = \"o_dsync\"\ncount = 5\n";
    let flagged = common::plan(pool.place(), flagged);
    let target = format!("{target}:cache=on");
    let skipped = pool.run(&["run", &flagged, "--target", &target, "--quiet", "--destroy-data"]);
    assert!(skipped.stderr.contains("which librbd's cache does not"), "{}", skipped.stderr);
}

/// The same job file runs with fio and with flushmark, and each reads what the other wrote.
#[test]
fn a_job_file_of_fio_s_rbd_engine_runs_on_the_same_image() {
    const TEST: &str = "a_job_file_of_fio_s_rbd_engine_runs_on_the_same_image";
    let Some(pool) = Pool::new(TEST, 1) else { return };
    let help = Command::new("fio").arg("--enghelp=rbd").output();
    if !help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("rbdname")) {
        eprintln!("skipped: {TEST}: fio with its rbd engine is not installed");
        return;
    }
    pool.image("disk");
    let job = pool.place().join("rbd.fio");
    let text = format!(
        "[journal]\nioengine=rbd\npool={}\nrbdname=disk\nclientname=admin\nrw=randwrite\nbs=4k\n\
         fsync=1\nsize=16m\nnumber_ios=50\n",
        pool.name()
    );
    std::fs::write(&job, text).unwrap();
    let job = job.display().to_string();
    let refused = pool.run(&["run", &job, "--quiet"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let run = ["run", &job, "--quiet", "--destroy-data", "--format"];
    let run = |format| pool.run(&[&run[..], &[format]].concat());
    let document = run("json").document();
    assert_eq!(counts(&document), [[50, 50, 0]]);
    let target = format!("rbd:{}/disk:id=admin", pool.name());
    assert_eq!(document["target"]["given"], target.as_str());

    let exported = run("fio").document();
    let options = &exported["jobs"][0]["job options"];
    let names = ["ioengine", "pool", "rbdname", "clientname", "fsync"];
    let options = names.map(|name| options[name].as_str().unwrap());
    assert_eq!(options, ["rbd", pool.name(), "disk", "admin", "1"]);
    pool.tool("fio", &["--output-format=json", "--output=fio.json", &job]);
    let store = pool.place().join("results.db").display().to_string();
    let imported = pool.run(&["results", "import", "fio.json", "--store", &store]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    let listed = pool.run(&["results", "list", "--store", &store]);
    assert!(listed.stdout.contains(&format!("rbd:{}/disk", pool.name())), "{}", listed.stdout);
}

#[test]
fn an_image_that_somebody_has_open_is_not_overwritten() {
    const TEST: &str = "an_image_that_somebody_has_open_is_not_overwritten";
    let Some(pool) = Pool::new(TEST, 1) else { return };
    let image = pool.image("disk");
    let bench = ["bench", &image, "--io-type", "write", "--io-size", "4096", "--io-total", "8G"];
    let writer = pool.command("rbd").args(bench).stdout(Stdio::null()).spawn();
    let writer = Running(writer.unwrap());
    until(|| pool.tool("rbd", &["status", &image]).contains("watcher="));
    let plan = plan(pool.place(), "[[test]]\npattern = \"randwrite\"\ncount = 5\n");
    let target = format!("rbd:{image}");
    let run = ["run", &plan, "--target", &target, "--quiet", "--destroy-data"];
    let refused = pool.run(&run);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("is in use and will not be overwritten: 127.0.0.1"));
    // Reading disturbs nobody.
    let reads = pool.measure("[[test]]\npattern = \"randread\"\ncount = 5\n", &target, &[]);
    assert_eq!(counts(&reads)[0][2], 5);
    drop(writer);
    // The cluster notices after 30 s.
    until(|| pool.run(&run).code == Some(0));
}

#[test]
fn an_interrupted_run_leaves_no_objects() {
    let Some(pool) = Pool::new("an_interrupted_run_leaves_no_objects", 1) else { return };
    let text = "[[test]]\npattern = \"randwrite\"\nsize = \"16MiB\"\ntime = \"60s\"\n";
    let plan = plan(pool.place(), text);
    let mut command = pool.flushmark(&["run", &plan, "--target", &pool.target(), "--quiet"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let child = while_running(child, || pool.objects().lines().count() == 4);
    std::thread::sleep(Duration::from_secs(2));
    let run = interrupt(child, "-INT", Duration::from_secs(20));
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    assert_eq!(pool.objects(), "", "objects are left");
}

#[test]
fn what_is_not_there_is_named() {
    let Some(pool) = Pool::new("what_is_not_there_is_named", 1) else { return };
    let refused = |target: &str| {
        let run = pool.run(&["check", target]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        run.stderr.trim_end().replace(pool.name(), "POOL")
    };
    insta::assert_snapshot!(refused("rados:no-such"), @"flushmark: cannot use rados:no-such: the cluster has no pool `no-such`: `ceph osd pool ls` lists them");
    insta::assert_snapshot!(refused("rbd:no-such/disk"), @"flushmark: cannot use rbd:no-such/disk: the cluster has no pool `no-such`: `ceph osd pool ls` lists them");
    insta::assert_snapshot!(refused(&format!("rbd:{}/no-such", pool.name())), @"flushmark: cannot use rbd:POOL/no-such: the pool has no image `no-such`: `rbd ls POOL` lists them");
    insta::assert_snapshot!(refused("rados:p:conf=/no/such.conf"), @"flushmark: cannot use rados:p:conf=/no/such.conf: cannot read the Ceph configuration file /no/such.conf: no such file or directory");
}

#[test]
fn the_osds_own_benchmark_stands_beside_a_commit() {
    const TEST: &str = "the_osds_own_benchmark_stands_beside_a_commit";
    let Some(pool) = Pool::new(TEST, 1) else { return };
    // Without a terminal nobody can be asked.
    let refused = pool.run(&["ceph", "tell-bench", "--osd", "0"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let sentence = refused.stderr.lines().last().unwrap();
    insta::assert_snapshot!(sentence, @"flushmark: tell-bench slows the OSDs down for their clients and must be confirmed; add --yes in a script");

    let measured = pool.place().join("osds.json").display().to_string();
    let osds = ["ceph", "osds", "--pool", pool.name(), "--osd", "0", "--time", "1s", "--quiet"];
    let run = pool.run(&[&osds[..], &["--output", &measured]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let bench = ["ceph", "tell-bench", "--yes", "--osd", "0,1", "--compare", &measured];
    let run = pool.run(&[&bench[..], &["--format", "json"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.document();
    let schema = include_str!("../../../schemas/ceph-tell-bench-1.json");
    assert!(jsonschema::is_valid(&serde_json::from_str(schema).unwrap(), &document), "{document}");
    let benched = document["osds"].as_array().unwrap();
    assert_eq!(benched.len(), 2);
    for osd in benched {
        assert_eq!(osd["small"]["bytes_written"], 12_288_000);
        assert_eq!(osd["large"]["bytes_written"], 1 << 30);
    }
    // A deep queue without network, against one write at a time.
    let deep = benched[0]["small"]["iops"].as_f64().unwrap();
    assert!(deep > benched[0]["depth_1"]["commits_per_s"].as_f64().unwrap(), "{document}");
    assert!(benched[1]["depth_1"].is_null(), "osd.1 was not measured");

    let other = pool.place().join("other.json").display().to_string();
    let plan = plan(pool.place(), "[[test]]\npattern = \"randwrite\"\ncount = 5\n");
    let run = ["run", &plan, "--target", "null:", "--quiet", "--output", &other];
    assert_eq!(pool.run(&run).code, Some(0));
    let refused = pool.run(&["ceph", "tell-bench", "--yes", "--compare", &other]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("expected a result of `flushmark ceph osds`"),
        "{}",
        refused.stderr
    );
}

/// A refusal of the OSD is foreseen, before anything is written.
#[test]
fn a_benchmark_beyond_the_limits_of_an_osd_is_not_sent() {
    const TEST: &str = "a_benchmark_beyond_the_limits_of_an_osd_is_not_sent";
    let Some(pool) = Pool::new(TEST, 1) else { return };
    let setting = "osd_bench_large_size_max_throughput";
    pool.tool("ceph", &["config", "set", "osd.2", setting, "1048576"]);
    let running = || pool.tool("ceph", &["tell", "osd.2", "config", "get", setting]);
    until(|| running().contains("1048576"));
    let refused = pool.run(&["ceph", "tell-bench", "--yes", "--osd", "2"]);
    pool.tool("ceph", &["config", "rm", "osd.2", setting]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    insta::assert_snapshot!(refused.stderr.trim_end(), @"flushmark: osd.2 refuses `bench 1073741824 4194304`: osd_bench_large_size_max_throughput is 1048576, expected at least 35791395; `ceph config set osd.2 osd_bench_large_size_max_throughput 35791395` allows it");
}

#[test]
fn an_image_is_measured_with_and_without_the_cache() {
    const TEST: &str = "an_image_is_measured_with_and_without_the_cache";
    let Some(pool) = Pool::new(TEST, 1) else { return };
    let image = pool.image("disk");
    let text = "[defaults]\ncount = 200\nwarm_up = \"0s\"\n[[test]]\nname = \"plain\"\npattern = \
                \"randwrite\"\n[[test]]\nname = \"synced\"\npattern = \"randwrite\"\nsync = \
                \"fsync\"\n";
    let plan = plan(pool.place(), text);
    let bench = ["ceph", "bench", &plan, "--image", &image, "--quiet"];
    let refused = pool.run(&bench);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("would be overwritten"), "{}", refused.stderr);
    let of_two = [&bench[..], &["--destroy-data", "--format", "json"]].concat();
    let refused = pool.run(&of_two);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    insta::assert_snapshot!(refused.stderr.trim_end(), @"flushmark: --format takes the result of one run; add --cache off or --cache on (runs with both are kept, and `flushmark results export` writes them)");

    let store = pool.place().join("results.db").display().to_string();
    let run = pool
        .run(&[&bench[..], &["--destroy-data", "--label", "first", "--store", &store]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for expected in ["librbd's cache on", "librbd's cache off", "with librbd's cache"] {
        assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
    }
    // The image was filled, so neither run created its objects: 64 MiB in objects of 4 MiB.
    let data = pool.objects().lines().filter(|line| line.contains("rbd_data.")).count();
    assert_eq!(data, 16);
    let listed = pool.run(&["results", "list", "--store", &store, "--format", "json"]).document();
    let labels: Vec<&Value> =
        listed["runs"].as_array().unwrap().iter().map(|run| &run["label"]).collect();
    assert_eq!(labels, ["first"; 2], "{listed}");
    let run = pool.run(&[&of_two[..], &["--cache", "on"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.document()["target"]["ceph"]["cached"], true);
}

#[test]
fn a_pool_is_measured_by_a_suite() {
    let Some(pool) = Pool::new("a_pool_is_measured_by_a_suite", 1) else { return };
    let conf = pool.conf().display().to_string();
    let bench = ["ceph", "bench", "--pool", pool.name(), "--smoke", "--quiet", "--conf", &conf];
    let run = pool.run(&[&bench[..], &["--format", "json"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.document();
    assert_eq!(document["suite"], "ceph-disk");
    assert_eq!(document["target"]["given"], format!("rados:{}:conf={conf}", pool.name()));
    assert_eq!(pool.objects(), "", "objects are left");
}

#[test]
fn an_interface_of_the_kernel_cannot_be_chosen() {
    for target in ["rbd:pool/disk", "rados:pool"] {
        let run = common::run(&["run", "journal", "--target", target, "--engine", "psync"]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        insta::allow_duplicates! {
            insta::assert_snapshot!(run.stderr.trim_end(), @"flushmark: --engine has no effect on a Ceph cluster, which is reached through its client library and not through the kernel's block layer; leave it out");
        }
    }
}

#[test]
fn missing_libraries_are_named_with_their_package() {
    if Path::new("/usr/lib/x86_64-linux-gnu/librados.so.2").exists() {
        eprintln!("skipped: missing_libraries_are_named_with_their_package: librados is installed");
        return;
    }
    let run = common::run(&["check", "rados:pool"]);
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(run.stderr.contains("librados2"), "{}", run.stderr);
}
