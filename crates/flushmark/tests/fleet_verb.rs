//! `flushmark fleet`: the drives of many hosts compared.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Run, flushmark};
use drive::{Backing, BlockDevice, WriteCache};
use measurement::{Agreement, GroupRecord, RunDocument};
use samples::machine::{self, write};
use store::{Location, Origin, Store};
use workload::SyncMethod::Fsync;

/// A `check` on a host's drive that needs this long for a flush, after changes to the drive.
fn checked(week: i64, flush_us: f64, change: impl Fn(&mut BlockDevice)) -> RunDocument {
    let machine = machine::consumer_nvme();
    let mut place = machine.place.unwrap();
    let Backing::BlockDevice(device) = &mut place.backing else { panic!("a drive") };
    device.firmware = Some("5B2QGXA7".to_owned());
    change(device);
    let at = jiff::Timestamp::from_second(1_790_000_000 + week * 604_800).unwrap();
    RunDocument {
        started_at: at.to_string(),
        drive: Some(place),
        host: machine.host,
        ..samples::document(vec![write(Fsync, 20.0, flush_us).result()])
    }
}

struct Fleet {
    directory: tempfile::TempDir,
}

impl Fleet {
    /// Keeps these runs, each of a host.
    fn of(runs: impl IntoIterator<Item = (String, RunDocument)>) -> Fleet {
        let fleet = Fleet { directory: tempfile::tempdir().unwrap() };
        let location = Location::Sqlite(fleet.directory.path().join("results.db"));
        let mut store = Store::open(&location).unwrap();
        for (host, mut document) in runs {
            let Some(place) = &mut document.drive else { panic!("a place") };
            let Backing::BlockDevice(device) = &mut place.backing else { panic!("a drive") };
            device.serial = Some(format!("S{host}"));
            store.insert(&document, &Origin { host: Some(host) }).unwrap();
        }
        fleet
    }

    fn run(&self, words: &[&str]) -> Run {
        let mut command = flushmark();
        command
            .arg("fleet")
            .args(words)
            .arg("--store")
            .arg(self.directory.path().join("results.db"));
        Run::of(command.env("COLUMNS", "160").output().unwrap())
    }
}

/// Within 4 % of the usual, and different for each host and week.
fn usual(host: i64, week: i64) -> f64 {
    2900.0 * (1.0 + ((host * 7 + week * 5) % 9 - 4) as f64 / 100.0)
}

#[test]
fn outliers_are_named_with_what_differs() {
    let fleet = Fleet::of((0..30).map(|host| {
        let document = match host {
            7 => checked(0, 9_000.0, |device| device.queue.scheduler = Some("bfq".to_owned())),
            8 => checked(0, 12_000.0, |device| {
                device.queue.write_cache = Some(WriteCache::WriteThrough);
            }),
            9 => checked(0, 6_000.0, |_| ()),
            29 => checked(0, 9_000.0, |device| device.model = Some("another".to_owned())),
            _ => checked(0, usual(host, 0), |_| ()),
        };
        (format!("db{host:02}"), document)
    }));
    let found = fleet.run(&["outliers"]);
    assert_eq!((found.code, found.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(found.stdout, @"
    3 of 29 drives are slower than others of their model:

      host  drive  model                test                              p50    usual  slower  what differs
      db08  Sdb08  Samsung SSD 980 1TB  randwrite 4 KiB, fsync=1,       12 ms  2.95 ms    4.1x  write cache off (usually on)
                                        depth 1, jobs 1
      db07  Sdb07  Samsung SSD 980 1TB  randwrite 4 KiB, fsync=1,     9.03 ms  2.95 ms    3.1x  I/O scheduler bfq (usually
                                        depth 1, jobs 1                                         none)
      db09  Sdb09  Samsung SSD 980 1TB  randwrite 4 KiB, fsync=1,     6.02 ms  2.95 ms    2.0x  no known fact
                                        depth 1, jobs 1

    Compared within model, suite and filesystem: 29 figures, limit 2.9 robust deviations.
    One drive was not compared: fewer than 8 of its kind were measured.
    ");
    insta::assert_snapshot!(fleet.run(&["outliers", "--model", "other"]).stdout, @"
    Nothing to compare: `fleet outliers` needs 8 drives of one model, measured with the same suite and filesystem.
    One drive was not compared: fewer than 8 of its kind were measured.
    ");
    insta::assert_snapshot!(fleet.run(&["outliers", "--suite", "wal"]).stdout, @"Nothing to compare: `fleet outliers` needs 8 drives of one model, measured with the same suite and filesystem.");
}

#[test]
fn drift_is_dated_and_comes_with_what_changed() {
    let fleet = Fleet::of((0..20).flat_map(|host| {
        (0..10).map(move |week| {
            let slow = if week >= 6 { 2.0 } else { 1.0 };
            let document = match host {
                3 => checked(week, usual(host, week) * slow, |device| {
                    let firmware = if week >= 6 { "6B2QGXA7" } else { "5B2QGXA7" };
                    device.firmware = Some(firmware.to_owned());
                }),
                4 => checked(week, usual(host, week) * (1.0 + week as f64 * 0.2), |_| ()),
                _ => checked(week, usual(host, week), |_| ()),
            };
            (format!("db{host:02}"), document)
        })
    }));
    let found = fleet.run(&["drift"]);
    assert_eq!((found.code, found.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(found.stdout, @"
    2 of 20 drives became slower:

      host  drive  test                         since (UTC)   before    since  slower  how        what changed then
      db04  Sdb04  check: randwrite 4 KiB,      2026-10-05   3.22 ms  8.51 ms    2.6x  gradually  no known fact
                   fsync=1, depth 1, jobs 1
      db03  Sdb03  check: randwrite 4 KiB,      2026-11-02   2.91 ms  5.85 ms    2.0x  at once    firmware: 5B2QGXA7 to
                   fsync=1, depth 1, jobs 1                                                       6B2QGXA7
    ");
    // Before that time, nothing had happened, and still earlier nothing could be seen.
    insta::assert_snapshot!(fleet.run(&["drift", "--until", "2026-10-27", "--host", "db03"]).stdout, @"No drive became slower (1 with 6 runs or more).");
    insta::assert_snapshot!(fleet.run(&["drift", "--until", "2026-10-20"]).stdout, @"Nothing to compare: `fleet drift` needs 6 runs of the same test on a drive.");
}

/// The name of a pod is new with each run.
#[test]
fn a_container_has_the_name_that_it_is_given() {
    let fleet = Fleet::of([]);
    let plan = "pattern = \"write\"\nsync = \"fsync\"\ncount = 20\nsize = \"1MiB\"\n";
    let plan = common::plan(fleet.directory.path(), &format!("[[test]]\n{plan}"));
    let mut command = flushmark();
    command.args(["run", &plan, "--quiet", "--target"]).arg(fleet.directory.path());
    command.arg("--store").arg(fleet.directory.path().join("results.db"));
    let done = Run::of(command.env("FLUSHMARK_HOST", "node7").output().unwrap());
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let summary = fleet.run(&["summary", "--host", "node7"]).stdout;
    assert!(summary.starts_with("1 run of 1 host"), "{summary}");
}

#[test]
fn nothing_to_compare() {
    let nothing = Fleet::of([]);
    insta::assert_snapshot!(nothing.run(&["outliers"]).stdout, @"Nothing to compare: `fleet outliers` needs 8 drives of one model, measured with the same suite and filesystem.");
    insta::assert_snapshot!(nothing.run(&["drift"]).stdout, @"Nothing to compare: `fleet drift` needs 6 runs of the same test on a drive.");
    let mut absent = flushmark();
    absent.args(["fleet", "outliers", "--store", "/nowhere/results.db"]);
    let refused = Run::of(absent.output().unwrap());
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("does not exist"), "{}", refused.stderr);
}

#[test]
fn latencies_of_all_hosts_are_added_up() {
    let fleet = Fleet::of((0..12).map(|host| {
        let us = if host == 5 { 9_000.0 } else { usual(host, 0) };
        let document = checked(host, us, |device| {
            if host % 3 == 0 {
                device.model = Some("another".to_owned());
            }
        });
        (format!("db{host:02}"), document)
    }));
    insta::assert_snapshot!(fleet.run(&["summary"]).stdout, @"
    12 runs of 12 hosts, the newest of each suite and target (2026-09-21 to 2026-12-07, UTC)

    check
      test                                      hosts  operations      p50      p99      max  lowest p50      highest p50
      randwrite 4 KiB, fsync=1, depth 1, jobs      12      36,000  2.92 ms  9.36 ms  9.48 ms  2.81 ms (db00)  9.03 ms (db05)
      1
    ");
    insta::assert_snapshot!(fleet.run(&["summary", "--by", "model", "--since", "2026-10-01"]).stdout, @"
    10 runs of 10 hosts, the newest of each suite and target (2026-10-05 to 2026-12-07, UTC)

    Samsung SSD 980 1TB: check
      test                                      hosts  operations      p50      p99      max  lowest p50      highest p50
      randwrite 4 KiB, fsync=1, depth 1, jobs       7      21,000  2.95 ms  9.41 ms  9.48 ms  2.83 ms (db04)  9.03 ms (db05)
      1

    another: check
      test                                      hosts  operations      p50      p99      max  lowest p50      highest p50
      randwrite 4 KiB, fsync=1, depth 1, jobs       3       9,000  2.89 ms  3.12 ms  3.13 ms  2.81 ms (db09)  2.98 ms (db06)
      1
    ");
    insta::assert_snapshot!(fleet.run(&["summary", "--by", "host", "--host", "db05"]).stdout, @"
    1 run of 1 host, the newest of each suite and target (2026-10-26, UTC)

    db05: check
      test                                       operations      p50      p99      max
      randwrite 4 KiB, fsync=1, depth 1, jobs 1       3,000  9.03 ms  9.47 ms  9.48 ms
    ");
    insta::assert_snapshot!(fleet.run(&["summary", "--firmware", "none such"]).stdout, @"No complete run of a known host. Runs on models belong to no host.");
}

#[test]
fn the_cost_of_a_sync_host_by_host() {
    let fleet = Fleet::of(["ext4", "xfs"].into_iter().zip([740.0, 640.0]).map(|(fs, us)| {
        let mut document = checked(0, 0.0, |_| ());
        document.suite = "fsync-study".to_owned();
        document.target.given = format!("/{fs}");
        document.results = samples::suite("fsync-study", 15.0, us);
        let place = document.drive.as_mut().unwrap();
        place.path = format!("/{fs}").into();
        place.mount.as_mut().unwrap().fs_type = fs.to_owned();
        ("db1".to_owned(), document)
    }));
    insta::assert_snapshot!(fleet.run(&["table"]).stdout, @"
    mean sync latency, one job                  db1                  db1
    drive                       Samsung SSD 980 1TB  Samsung SSD 980 1TB
    filesystem                                 ext4                  xfs
    fsync after 16 KiB                       890 µs               770 µs
    fdatasync after 16 KiB                   742 µs               641 µs
    fsync after 2 MiB                        890 µs               770 µs
    fdatasync after 2 MiB                    742 µs               641 µs
    ");
    insta::assert_snapshot!(fleet.run(&["table", "--format", "markdown"]).stdout, @"
    | mean sync latency, one job |                 db1 |                 db1 |
    |----------------------------|--------------------:|--------------------:|
    | drive                      | Samsung SSD 980 1TB | Samsung SSD 980 1TB |
    | filesystem                 |                ext4 |                 xfs |
    | fsync after 16 KiB         |              890 µs |              770 µs |
    | fdatasync after 16 KiB     |              742 µs |              641 µs |
    | fsync after 2 MiB          |              890 µs |              770 µs |
    | fdatasync after 2 MiB      |              742 µs |              641 µs |
    ");
    insta::assert_snapshot!(Fleet::of([]).run(&["table"]).stdout, @"No run has a test with one job that syncs after each write of 16 KiB or 2 MiB; `flushmark run fsync-study` has.");
}

#[test]
fn groups_of_different_sizes_show_where_more_hosts_add_nothing() {
    let sizes = [(1, 400.0), (2, 480.0), (4, 2_000.0)];
    let fleet = Fleet::of(sizes.into_iter().flat_map(|(hosts, us)| {
        (0..hosts).map(move |host| {
            let mut document = checked(hosts, us, |_| ());
            document.group = Some(GroupRecord {
                id: format!("group of {hosts}"),
                name: Some("nfs".to_owned()),
                member: format!("db{host}"),
                agreement: Agreement::Store,
                expected: Some(hosts as u32),
                clock_error_us: None,
                starts: Vec::new(),
                notes: Vec::new(),
            });
            (format!("db{host}"), document)
        })
    }));
    insta::assert_snapshot!(fleet.run(&["scaling"]).stdout, @"
    nfs, check: randwrite 4 KiB, fsync=1, depth 1, jobs 1
      hosts  per second  MiB/s  each host  of the fewest      p50      p99  began (UTC)
          1       2,381   9.30      2,381          100 %   420 µs   441 µs  2026-09-28 14:13
          2       4,000   15.6      2,000           84 %   500 µs   525 µs  2026-10-05 14:13
          4       1,980   7.74        495           21 %  2.02 ms  2.12 ms  2026-10-19 14:13
    More than 2 hosts add less than a tenth to the rate.
    ");
    insta::assert_snapshot!(fleet.run(&["scaling", "--suite", "wal"]).stdout, @"No complete runs of a group of hosts (`flushmark run --group`).");
}

#[test]
fn json_follows_its_schema() {
    let schema = serde_json::from_str(include_str!("../../../schemas/fleet-1.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let fleet = Fleet::of((0..12).flat_map(|host| {
        (0..8).map(move |week| {
            let slow = if host == 3 && week > 3 { 4.0 } else { 1.0 };
            let scheduler = if slow > 1.0 { "bfq" } else { "none" };
            let document = checked(week, usual(host, week) * slow, |device| {
                device.queue.scheduler = Some(scheduler.to_owned());
            });
            (format!("db{host:02}"), document)
        })
    }));
    for verb in ["summary", "outliers", "drift", "table", "scaling"] {
        let said = fleet.run(&[verb, "--format", "json"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{verb}");
        let document: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        assert!(schema.is_valid(&document), "{verb}: {document}");
        if let Some(found) = document[verb].get("found") {
            assert_eq!(found.as_array().unwrap().len(), 1, "{verb}: {found}");
            assert_eq!(found[0]["host"], "db03", "{verb}");
            let said = found.to_string();
            assert!(said.contains("scheduler") && said.contains("bfq"), "{verb}: {said}");
        }
    }
}

#[test]
fn all_answers_are_one_page() {
    let fleet = Fleet::of((0..12).map(|host| {
        let us = if host == 3 { 9_000.0 } else { usual(host, 0) };
        (format!("db{host:02}<b>"), checked(0, us, |_| ()))
    }));
    let page = fleet.directory.path().join("fleet.html");
    let made = fleet.run(&["report", "-o", page.to_str().unwrap()]);
    assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""));
    assert!(made.stdout.contains("fleet.html: 12 hosts, 12 runs, "), "{}", made.stdout);
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(pages::is_report(&text));
    for part in ["Fleet of 12 hosts", "Slower than others of their model", "db03&lt;b&gt;", "3.1×"]
    {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("db03<b>"), "names are text");
    std::fs::write(&page, "something else").unwrap();
    let refused = fleet.run(&["report", "-o", page.to_str().unwrap()]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "something else");
}
