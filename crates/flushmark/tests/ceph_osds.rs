//! `ceph osds`, `ceph check` and `ceph layout` on a real cluster whose drives are known.
//!
//! Of the cluster's OSDs, one is on a drive without power-loss protection; the others have equal
//! ones with it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::cluster::{Pool, Running, while_running};
use common::{Run, interrupt};
use serde_json::{Value, json};

/// The number of the OSD on a drive without power-loss protection.
const SLOW_OSD_VARIABLE: &str = "FLUSHMARK_TEST_CEPH_SLOW_OSD";

/// A cluster with a known slow OSD.
struct Known {
    pool: Pool,
    slow: String,
    /// The OSDs on equal drives.
    equal: String,
}

impl Known {
    fn new(test: &str, replicas: u32) -> Option<Known> {
        let pool = Pool::alone(test, replicas)?;
        let Ok(slow) = std::env::var(SLOW_OSD_VARIABLE) else {
            eprintln!("skipped: {test}: nothing is known about the cluster's drives");
            return None;
        };
        let listed = pool.monitor(&json!({"prefix": "osd ls", "format": "json"}));
        let ids: Vec<u32> = serde_json::from_slice(&listed).unwrap();
        let ids = ids.iter().map(u32::to_string).filter(|id| *id != slow);
        let equal = ids.collect::<Vec<_>>().join(",");
        Some(Known { pool, slow, equal })
    }

    fn osds(&self, more: &[&str]) -> Value {
        let osds = ["ceph", "osds", "--pool", self.pool.name(), "--quiet", "--format", "json"];
        let run = self.pool.run(&[&osds[..], more].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.document()
    }
}

/// The titles of the findings about slow OSDs.
fn slow_osds(document: &Value) -> Vec<String> {
    let findings = document["findings"].as_array().unwrap().iter();
    let slow = findings.filter(|finding| finding["id"] == "ceph-slow-osd");
    slow.map(|finding| finding["title"].as_str().unwrap().to_owned()).collect()
}

/// The writes at depth 1, one for each OSD.
fn writes(document: &Value) -> Vec<&Value> {
    let results = document["results"].as_array().unwrap().iter();
    results.filter(|result| !result["write_us"].is_null()).collect()
}

#[test]
fn the_osd_on_a_drive_without_power_loss_protection_is_named() {
    const TEST: &str = "the_osd_on_a_drive_without_power_loss_protection_is_named";
    let Some(known) = Known::new(TEST, 1) else { return };
    let document = known.osds(&["--time", "2s"]);
    let slow = slow_osds(&document);
    assert_eq!(slow.len(), 1, "{slow:?}");
    assert!(slow[0].starts_with(&format!("osd.{} ", known.slow)), "{slow:?}");
    assert!(slow[0].contains("device flush"), "{slow:?}");
    // The parts add up to the latency of the client.
    for result in writes(&document) {
        let parts = result["osd"]["write_time"]["parts"].as_array().unwrap().iter();
        let sum: f64 = parts.map(|part| part["us"].as_f64().unwrap()).sum();
        let mean = result["write_us"]["mean"].as_f64().unwrap();
        assert!((sum - mean).abs() < 0.01 * mean, "{sum} {mean}");
    }
    // The drive under it takes as long as its model.
    let model = known.pool.run(&["check", "sim:consumer-nvme", "--format", "json"]).document();
    let fsync = |result: &&Value| result["test"] == "write + fsync";
    let commit = model["results"].as_array().unwrap().iter().find(fsync).unwrap();
    let commit_us = commit["commit_us"]["mean"].as_f64().unwrap();
    let id: Value = known.slow.parse::<u32>().unwrap().into();
    let writes = writes(&document);
    let own = writes.iter().find(|result| result["osd"]["id"] == id).unwrap();
    let drive_us = own["osd"]["drive"]["us"].as_f64().unwrap();
    assert!((drive_us / commit_us - 1.0).abs() < 0.15, "{drive_us} µs, the model {commit_us} µs");
    assert_eq!(known.pool.objects(), "", "objects are left");
}

#[test]
fn healthy_osds_are_not_named() {
    let Some(known) = Known::new("healthy_osds_are_not_named", 1) else { return };
    for _ in 0..10 {
        let found = slow_osds(&known.osds(&["--osd", &known.equal, "--time", "300ms"]));
        assert_eq!(found, [""; 0]);
    }
}

#[test]
fn copies_are_measured_and_said() {
    let Some(pool) = Pool::new("copies_are_measured_and_said", 3) else { return };
    let run = pool.run(&["ceph", "osds", "--pool", pool.name(), "--time", "1s", "--quiet"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("size=3: writes include the copies"), "{}", run.stdout);
}

/// A busy process that shares a small part of a CPU with an OSD, in a control group: a host that is
/// too busy, without being too busy for the other OSDs.
struct Hog {
    group: PathBuf,
    processes: PathBuf,
    osd: String,
    busy: Running,
}

impl Hog {
    /// 1 of each 5 ms, which is less than a write and the busy process take together: every write
    /// has to wait for the next period.
    const QUOTA_US: u32 = 1_000;
    const PERIOD_US: u32 = 5_000;

    fn beside(osd: String) -> Hog {
        let (first, second) = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup");
        let is_first = Path::new(first).exists();
        let processes = PathBuf::from(if is_first { first } else { second });
        let group = processes.join(format!("flushmark-test-{}", std::process::id()));
        std::fs::create_dir(&group).unwrap();
        let (quota, period) = (Hog::QUOTA_US, Hog::PERIOD_US);
        if is_first {
            std::fs::write(group.join("cpu.cfs_period_us"), period.to_string()).unwrap();
            std::fs::write(group.join("cpu.cfs_quota_us"), quota.to_string()).unwrap();
        } else {
            std::fs::write(group.join("cpu.max"), format!("{quota} {period}")).unwrap();
        }
        let busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        for process in [osd.clone(), busy.id().to_string()] {
            std::fs::write(group.join("cgroup.procs"), process).unwrap();
        }
        let processes = processes.join("cgroup.procs");
        Hog { group, processes, osd, busy: Running(busy) }
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.processes, &self.osd);
        let _ = std::fs::write(&self.processes, self.busy.0.id().to_string());
        let _ = std::fs::remove_dir(&self.group);
    }
}

#[test]
fn a_busy_host_is_blamed_on_the_cpu() {
    let Some(known) = Known::new("a_busy_host_is_blamed_on_the_cpu", 1) else { return };
    let _hog = Hog::beside(known.pool.osd_process(1));
    let found = slow_osds(&known.osds(&["--osd", &known.equal, "--time", "1500ms"]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("osd.1 "), "{found:?}");
    assert!(found[0].contains("is OSD and BlueStore CPU"), "{found:?}");
}

/// A longer way to the port of an OSD: what is sent there goes through a proxy that holds it back.
struct Detour;

impl Detour {
    /// The proxy's own connections come from this address and take the short way.
    const SHORT_WAY: &str = "127.0.0.77";
    const DELAY: Duration = Duration::from_millis(2);

    fn to(port: u16) -> Detour {
        let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = proxy.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for client in proxy.incoming() {
                let client = client.unwrap();
                let server = from_short_way(port);
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || hold_back(from, to));
                }
            }
        });
        let rule = format!(
            "add table ip flushmark_test; add chain ip flushmark_test detour {{ type nat hook \
             output priority -100; }}; add rule ip flushmark_test detour ip saddr != {} ip daddr \
             127.0.0.1 tcp dport {port} redirect to :{own}",
            Detour::SHORT_WAY
        );
        assert!(Command::new("nft").arg(rule).status().unwrap().success());
        Detour
    }
}

impl Drop for Detour {
    fn drop(&mut self) {
        let _ = Command::new("nft").args(["delete", "table", "ip", "flushmark_test"]).status();
    }
}

/// A connection to this port from [`Detour::SHORT_WAY`].
fn from_short_way(port: u16) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let address = |ip: &str, port| std::net::SocketAddrV4::new(ip.parse().unwrap(), port);
    let raw = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&raw, &address(Detour::SHORT_WAY, 0)).unwrap();
    connect(&raw, &address("127.0.0.1", port)).unwrap();
    raw.into()
}

fn hold_back(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = vec![0; 1 << 20];
    to.set_nodelay(true).unwrap();
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        std::thread::sleep(Detour::DELAY);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_longer_way_is_blamed_on_the_network() {
    let Some(known) = Known::new("a_longer_way_is_blamed_on_the_network", 1) else { return };
    let layout = known.pool.run(&["ceph", "layout", "--format", "json"]).document();
    let osd = &layout["facts"]["osds"][0];
    let address = osd["front_address"].as_str().unwrap();
    let port = address.split(['/', ',']).next().unwrap().rsplit(':').next().unwrap();
    let _detour = Detour::to(port.parse().unwrap());
    let found = slow_osds(&known.osds(&["--osd", &known.equal, "--time", "1s"]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("osd.0 ") && found[0].contains("is network"), "{found:?}");
}

#[test]
fn one_page_about_the_cluster() {
    let Some(known) = Known::new("one_page_about_the_cluster", 1) else { return };
    let begun = std::time::Instant::now();
    let run = known.pool.run(&["ceph", "check", "--pool", known.pool.name(), "--quiet"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(begun.elapsed() < Duration::from_mins(2));
    for part in ["health", "Settings", "Where the time of a write goes", "is slow", "memory target"]
    {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert_eq!(known.pool.objects(), "", "objects are left");
    let unmeasured = known.pool.run(&["ceph", "check", "--format", "json"]).document();
    assert_eq!(unmeasured["schema"], "flushmark/ceph-check/1");
    assert!(unmeasured["run"].is_null());
}

#[test]
fn a_pool_is_made_for_the_measurement_and_deleted() {
    let Some(pool) = Pool::new("a_pool_is_made_for_the_measurement_and_deleted", 1) else { return };
    let _making = making();
    // Without a terminal nobody can be asked.
    let refused = pool.run(&["ceph", "osds", "--make-pool"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let made = ["ceph", "osds", "--make-pool", "--yes", "--osd", "1", "--time", "1s", "--quiet"];
    let run = pool.run(&made);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("osd.1") && !run.stdout.contains("osd.0"), "{}", run.stdout);
    assert!(!is_made(&pool));
}

/// A setting of the monitor that is off, as it is by default, until this is dropped.
struct Off<'a> {
    pool: &'a Pool,
    setting: &'static str,
}

impl<'a> Off<'a> {
    fn new(pool: &'a Pool, setting: &'static str) -> Off<'a> {
        let off = Off { pool, setting };
        off.set("false");
        off
    }

    fn set(&self, value: &str) {
        self.pool.tool("ceph", &["tell", "mon.*", "config", "set", self.setting, value]);
    }
}

impl Drop for Off<'_> {
    fn drop(&mut self) {
        self.set("true");
    }
}

#[test]
fn no_pool_is_made_that_the_monitors_would_refuse() {
    let Some(pool) = Pool::alone("no_pool_is_made_that_the_monitors_would_refuse", 1) else {
        return;
    };
    let refused = || {
        let run = pool.run(&["ceph", "osds", "--make-pool", "--yes", "--time", "1s", "--quiet"]);
        assert!(!is_made(&pool));
        format!("{}: {}", run.code.unwrap(), run.stderr)
    };
    let _deletion = Off::new(&pool, "mon_allow_pool_delete");
    insta::assert_snapshot!(refused(), @"2: flushmark: the monitors would refuse to create or delete the pool of --make-pool, because mon_allow_pool_delete is off, which is Ceph's default; allow it with `ceph config set mon mon_allow_pool_delete true`, and take that back afterwards with `ceph config rm mon mon_allow_pool_delete`; or measure in an existing pool with --pool");
    let _size = Off::new(&pool, "mon_allow_pool_size_one");
    insta::assert_snapshot!(refused(), @"2: flushmark: the monitors would refuse to create or delete the pool of --make-pool, because mon_allow_pool_size_one and mon_allow_pool_delete are off, which is Ceph's default; allow it with `ceph config set mon mon_allow_pool_size_one true` and `ceph config set mon mon_allow_pool_delete true`, and take that back afterwards with `ceph config rm mon mon_allow_pool_size_one` and `ceph config rm mon mon_allow_pool_delete`; or measure in an existing pool with --pool");
}

/// Returns `true` if the pool of --make-pool exists.
fn is_made(pool: &Pool) -> bool {
    pool.pools().iter().any(|name| name == "flushmark-bench")
}

/// Tests that make this pool take turns.
static MADE_POOL: Mutex<()> = Mutex::new(());

fn making() -> MutexGuard<'static, ()> {
    MADE_POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn osds_that_are_not_there_are_named() {
    let Some(pool) = Pool::new("osds_that_are_not_there_are_named", 1) else { return };
    let refused = |arguments: &[&str]| {
        let run = pool.run(&[&["ceph", "osds", "--quiet"], arguments].concat());
        format!("{}: {}", run.code.unwrap(), run.stderr.trim_end().replace(pool.name(), "POOL"))
    };
    let here = ["--pool", pool.name()];
    insta::assert_snapshot!(refused(&[&here[..], &["--osd", "77"]].concat()), @"2: flushmark: the cluster has no osd.77; it has osd.0, osd.1, osd.2, osd.3");
    insta::assert_snapshot!(refused(&[&here[..], &["--host", "elsewhere"]].concat()), @"2: flushmark: no OSD that is up matches; `flushmark ceph layout` lists them");
    insta::assert_snapshot!(refused(&["--pool", "no-such"]), @"2: flushmark: the cluster has no pool `no-such`: `ceph osd pool ls` lists them");
    // One placement group has one primary.
    let one = "flushmark-test-one";
    pool.monitor(&json!({"prefix": "osd pool create", "pool": one, "pg_num": 1, "pgp_num": 1}));
    pool.monitor(&json!({"prefix": "osd pool set", "pool": one, "var": "size", "val": "1",
        "yes_i_really_mean_it": true}));
    let one = refused(&["--pool", one]);
    pool.monitor(&json!({"prefix": "osd pool delete", "pool": "flushmark-test-one",
        "pool2": "flushmark-test-one", "yes_i_really_really_mean_it": true}));
    assert!(one.starts_with("4: flushmark: no placement group of the pool"), "{one}");
    assert!(one.contains("use a pool with more placement groups, or --make-pool"), "{one}");
}

/// `ceph osds` in a separate pool, until its objects are there.
fn measuring(pool: &Pool, osd: &str) -> Child {
    measuring_in(pool, "flushmark-bench", &["--make-pool", "--yes", "--osd", osd])
}

/// `ceph osds` until its objects are in this pool.
fn measuring_in(pool: &Pool, name: &str, more: &[&str]) -> Child {
    let osds = ["ceph", "osds", "--time", "60s", "--quiet"];
    let mut command = pool.flushmark(&[&osds[..], more].concat());
    command.env("FLUSHMARK_STATE_DIR", pool.place());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let child = while_running(child, || {
        let list = ["--pool", name, "ls", "--all"];
        let listed = pool.command("rados").args(list).output().unwrap();
        listed.stdout.iter().filter(|byte| **byte == b'\n').count() == 16
    });
    std::thread::sleep(Duration::from_secs(1));
    child
}

#[test]
fn an_interrupted_measurement_leaves_no_pool() {
    let Some(pool) = Pool::new("an_interrupted_measurement_leaves_no_pool", 1) else { return };
    let _making = making();
    let run = interrupt(measuring(&pool, "1"), "-INT", Duration::from_secs(20));
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    assert!(!is_made(&pool));
    assert!(run.stdout.contains("osd.1"), "what was measured is shown: {}", run.stdout);
}

#[test]
fn what_a_killed_measurement_leaves_is_removed_by_the_next_one() {
    const TEST: &str = "what_a_killed_measurement_leaves_is_removed_by_the_next_one";
    let Some(pool) = Pool::new(TEST, 1) else { return };
    let _making = making();
    let mut child = measuring(&pool, "1");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_made(&pool));
    // Records of write caches are kept in the same directory.
    let mut restore = pool.flushmark(&["cache", "restore"]);
    let restored = Run::of(restore.env("FLUSHMARK_STATE_DIR", pool.place()).output().unwrap());
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    insta::assert_snapshot!(restored.stdout.trim_end(), @"Nothing to restore: no write cache was left switched.");
    // Another user's pool of that name is not the one that was left.
    let record = pool.place().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let record = record.into_iter().find(|path| path.to_string_lossy().contains("pool-")).unwrap();
    let own = std::fs::read_to_string(&record).unwrap();
    let mut foreign: Value = serde_json::from_str(&own).unwrap();
    assert!(foreign["part"]["whole"].is_i64(), "{own}");
    foreign["part"]["whole"] = 1.into();
    std::fs::write(&record, foreign.to_string()).unwrap();
    let other = ["ceph", "osds", "--pool", pool.name(), "--osd", "0", "--time", "200ms", "--quiet"];
    let mut other = pool.flushmark(&other);
    let other = Run::of(other.env("FLUSHMARK_STATE_DIR", pool.place()).output().unwrap());
    assert_eq!(other.code, Some(0), "{}", other.stderr);
    assert!(is_made(&pool));
    std::fs::write(&record, own).unwrap();
    let next = ["ceph", "osds", "--pool", pool.name(), "--osd", "0", "--time", "200ms"];
    let run =
        Run::of(pool.flushmark(&next).env("FLUSHMARK_STATE_DIR", pool.place()).output().unwrap());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stderr.contains("the pool flushmark-bench, which a killed run had left, was deleted")
    );
    assert!(!is_made(&pool));
}

#[test]
fn an_osd_that_stops_meanwhile_ends_the_measurement() {
    let Some(pool) = Pool::alone("an_osd_that_stops_meanwhile_ends_the_measurement", 1) else {
        return;
    };
    let osd = pool.osd_process(1);
    let conf = pool.with_options("rados osd op timeout = 5");
    let child = measuring_in(
        &pool,
        "flushmark-bench",
        &["--make-pool", "--yes", "--osd", "1", "--conf", &conf],
    );
    testbed::kill(&["-STOP", &osd]).unwrap();
    let ended = Run::of(child.wait_with_output().unwrap());
    testbed::kill(&["-CONT", &osd]).unwrap();
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(!is_made(&pool), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("flushmark: osd.1: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("no OSD has answered within the time limit"), "{}", ended.stderr);
}

#[test]
fn a_pool_that_becomes_full_ends_the_measurement() {
    const TEST: &str = "a_pool_that_becomes_full_ends_the_measurement";
    let Some(pool) = Pool::new(TEST, 1) else { return };
    let conf = pool.with_options("rados osd op timeout = 5");
    let here = ["--pool", pool.name(), "--osd", "1", "--conf", &conf];
    let child = measuring_in(&pool, pool.name(), &here);
    pool.tool("ceph", &["osd", "pool", "set-quota", pool.name(), "max_bytes", "4096"]);
    let ended = Run::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains("full"), "{}", ended.stderr);
    assert_eq!(pool.objects(), "", "objects are left");
}

#[test]
fn a_cluster_that_cannot_be_reached_is_an_error_of_one_sentence() {
    const TEST: &str = "a_cluster_that_cannot_be_reached_is_an_error_of_one_sentence";
    let Some(pool) = Pool::new(TEST, 1) else { return };
    let conf = pool.place().join("other.conf");
    let file = conf.display().to_string();
    let with = |text: &str| {
        std::fs::write(&conf, text).unwrap();
        let mut sentences = Vec::new();
        for command in [&["layout"][..], &["check"], &["osds", "--pool", "rbd"]] {
            let run = pool.run(&[&["ceph"], command, &["--conf", &file]].concat());
            let sentence = run.stderr.trim_end().replace(&file, "FILE");
            sentences.push(format!("{}: {sentence}", run.code.unwrap()));
        }
        sentences.dedup();
        sentences.join("\n")
    };
    insta::assert_snapshot!(with("[global]\n"), @"2: flushmark: the Ceph configuration FILE names no monitor: expected `mon host = ADDRESS` in its section [global]");
    let unreachable = "[global]\nmon host = 127.0.0.1:1\nclient mount timeout = 2\n";
    insta::assert_snapshot!(with(unreachable), @"4: flushmark: the monitors 127.0.0.1:1 do not respond within 2 s: check that they are up and that this host reaches them");
    insta::assert_snapshot!(with("nothing"), @"2: flushmark: the Ceph configuration file FILE is invalid: expected sections such as [global], and lines `name = value`");
}

#[test]
fn an_osd_that_restarts_meanwhile_is_said() {
    let Some(pool) = Pool::new("an_osd_that_restarts_meanwhile_is_said", 1) else { return };
    let _making = making();
    let child = measuring(&pool, "3");
    pool.tool("ceph", &["tell", "osd.3", "perf", "reset", "all"]);
    let run = interrupt(child, "-INT", Duration::from_secs(20));
    assert!(run.stdout.contains("the OSD was restarted during the measurement"), "{}", run.stdout);
}

#[test]
fn the_layout_of_a_cluster_is_shown() {
    let Some(pool) = Pool::new("the_layout_of_a_cluster_is_shown", 2) else { return };
    let run = pool.run(&["ceph", "layout"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("OSDs") && run.stdout.contains("Settings"), "{}", run.stdout);
    let document = pool.run(&["ceph", "layout", "--format", "json"]).document();
    assert!(document["facts"]["osds"].as_array().unwrap().len() >= 3);
    assert_eq!(document["schema"], "flushmark/ceph-layout/1");
}
