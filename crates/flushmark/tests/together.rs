//! Runs that begin together: several targets of one command, several hosts in a PostgreSQL store,
//! a time of the day.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Run, flushmark, needs_root, plan, run};
use postgresql::Server;
use serde_json::Value;

/// Two short tests.
const PLAN: &str = "\
[defaults]
size = \"1MiB\"
block = \"4KiB\"
time = \"300ms\"
[[test]]
name = \"commits\"
pattern = \"write\"
sync = \"fdatasync\"
[[test]]
name = \"reads\"
pattern = \"randread\"
";

fn documents(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn several_targets_are_measured_at_once() {
    let place = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| {
        let path = place.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    });
    let plan = plan(place.path(), PLAN);
    let words = ["run", &plan, "--target", text(&one), "--target", text(&other), "--quiet"];
    let json = run(&[&words[..], &["--store", "none", "--format", "json"]].concat());
    assert_eq!((json.code, json.stderr.as_str()), (Some(0), ""));
    let documents = documents(&json.stdout);
    let groups: Vec<&Value> = documents.iter().map(|document| &document["group"]).collect();
    assert_eq!(groups.len(), 2);
    assert_eq!(groups[0]["id"], groups[1]["id"]);
    assert_eq!((&groups[0]["agreement"], &groups[0]["expected"]), (&"process".into(), &2.into()));
    assert_eq!((groups[1]["member"].as_str(), groups[1].get("name")), (other.to_str(), None));
    for start in groups.iter().flat_map(|group| group["starts"].as_array().unwrap()) {
        assert_eq!(start["present"], 2, "{start}");
        assert!(start["skew_us"].as_f64().unwrap() < 50_000.0, "{start}");
    }
    // The table of all targets adds up.
    let page = run(&[&words[..], &["--store", "none"]].concat());
    assert_eq!(page.code, Some(0), "{}", page.stderr);
    let shown = page.stdout.replace(text(place.path()), "PLACE");
    for words in ["== PLACE/one\n", "== PLACE/other\n", "== all 2 targets\n", "slowest"] {
        assert!(shown.contains(words), "no {words} in {shown}");
    }
    assert!(shown.contains("One of 2 targets that were measured at once; "), "{shown}");
    // Nothing is left in them.
    assert!(std::fs::read_dir(&one).unwrap().next().is_none());
}

#[test]
fn targets_that_cannot_be_measured_at_once() {
    let refused = |words: &[&str]| {
        let run = run(&[&["run", "check", "--smoke"], words].concat());
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        run.stderr
    };
    insta::assert_snapshot!(refused(&["--target", "null:", "--target", "null:"]), @"flushmark: the target null: was given twice");
    insta::assert_snapshot!(refused(&["-t", "null:", "-t", ".", "--format", "fio"]), @"flushmark: fio's JSON holds a single run, but 2 targets were given; choose another --format");
    insta::assert_snapshot!(refused(&["-t", "null:", "--group", "x", "--hosts", "2", "--store", "none"]), @"flushmark: hosts of a group meet in a PostgreSQL store: name it with --store postgres://..., or give each host the same --start-at instead of --group");
    insta::assert_snapshot!(refused(&["-t", "null:", "--start-at", "2020-01-01T00:00:00Z"]), @"flushmark: --start-at 2020-01-01T00:00:00Z is past; give a time to come");
    let unknown = refused(&["-t", "null:", "--start-at", "tomorrow"]);
    assert!(unknown.contains("expected a date and time with its offset from UTC"), "{unknown}");
}

#[test]
fn models_are_measured_one_beside_the_other() {
    let targets = ["-t", "sim:consumer-nvme", "-t", "sim:enterprise-nvme"];
    let page = run(&[&["run", "check", "--quiet"], &targets[..]].concat());
    assert_eq!(page.code, Some(0), "{}", page.stderr);
    assert!(page.stdout.contains("== all 2 targets\n"), "{}", page.stdout);
    let group = ["--group", "x", "--hosts", "2", "--store", "postgres://nobody@127.0.0.1:1/x"];
    let refused = run(&[&["run", "check"], &targets[..2], &group[..]].concat());
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("which takes no real time"), "{}", refused.stderr);
}

/// A command on a host of this name.
fn on_host(name: &str, words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    let script = "echo \"$0\" > /proc/sys/kernel/hostname && exec \"$@\"";
    command.args(["--uts", "--", "sh", "-c", script, name]);
    command.arg(flushmark().get_program()).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn hosts_meet_in_the_store() {
    const TEST: &str = "hosts_meet_in_the_store";
    let Some(server) = Server::start(TEST) else { return };
    if !needs_root(TEST) {
        return;
    }
    let store = server.database("fleet");
    let place = tempfile::tempdir().unwrap();
    let plan = plan(place.path(), PLAN);
    let words = |hosts: &'static str| {
        ["run", &plan, "-t", "null:", "--group", "disks", "--hosts", hosts]
            .into_iter()
            .chain(["--store", &store, "--format", "json", "--quiet"])
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    let start = |name: &str, hosts: &'static str, more: &[&str]| {
        let words = words(hosts);
        let words: Vec<&str> =
            words.iter().map(String::as_str).chain(more.iter().copied()).collect();
        on_host(name, &words).spawn().unwrap()
    };
    let hosts = ["db1", "db2", "db3"].map(|name| start(name, "3", &[]));
    let runs = hosts.map(|host| Run::of(host.wait_with_output().unwrap()));
    let documents: Vec<Value> = runs.iter().map(Run::document).collect();
    for (document, name) in documents.iter().zip(["db1", "db2", "db3"]) {
        let group = &document["group"];
        assert_eq!((&group["name"], &group["agreement"]), (&"disks".into(), &"store".into()));
        assert_eq!((&group["member"], &group["expected"]), (&name.into(), &3.into()));
        assert_eq!(group["id"], documents[0]["group"]["id"]);
        for start in group["starts"].as_array().unwrap() {
            assert_eq!((&start["present"], start.get("absent")), (&3.into(), None), "{group}");
            assert!(start["skew_us"].as_f64().unwrap() < 50_000.0, "{group}");
        }
    }
    // One is missing: the others go on without it, and say so.
    let hosts = ["db1", "db2"].map(|name| start(name, "3", &["--group-wait", "1s"]));
    for host in hosts {
        let run = Run::of(host.wait_with_output().unwrap());
        let group = run.document()["group"].clone();
        assert_eq!((&group["starts"][0]["present"], &group["expected"]), (&2.into(), &3.into()));
    }
    // They do not agree on how many they are, or two have one name.
    let first = start("db1", "2", &[]);
    let joined =
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1179407431";
    let begun = Instant::now();
    while server.sql("fleet", joined) == "0" {
        assert!(begun.elapsed() < Duration::from_mins(1), "the first host does not join");
        std::thread::sleep(Duration::from_millis(50));
    }
    let refused = |name: &str, hosts: &'static str| {
        let refused = Run::of(start(name, hosts, &[]).wait_with_output().unwrap());
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        refused.stderr
    };
    insta::assert_snapshot!(refused("db2", "3"), @"flushmark: the group `disks` is of 2 hosts, and this one expects 3: give the same --hosts on all of them");
    insta::assert_snapshot!(refused("db1", "2"), @"flushmark: the group `disks` already has a host `db1`: give each host its own name, or end the other run");
    let second = Run::of(start("db2", "2", &[]).wait_with_output().unwrap());
    assert_eq!(second.document()["group"]["starts"][0]["present"], 2);
    assert_eq!(first.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
fn a_time_of_the_day_is_a_start_too() {
    let place = tempfile::tempdir().unwrap();
    let plan = plan(place.path(), PLAN);
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(2);
    let soon = jiff::Timestamp::from_second(soon.as_second()).unwrap().to_string();
    let words = ["run", &plan, "-t", "null:", "--start-at", &soon, "--quiet", "--format", "json"];
    let run = run(&words);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let group = run.document()["group"].clone();
    assert_eq!((&group["agreement"], &group["id"]), (&"clock".into(), &soon.as_str().into()));
    for start in group["starts"].as_array().unwrap() {
        assert!(start["late_us"].as_f64().unwrap() < 50_000.0, "{group}");
    }
}
