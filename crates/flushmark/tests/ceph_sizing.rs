//! `flushmark ceph sizing`, from arguments to page, JSON and exit code.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::run;
use serde_json::Value;

const HDD: [&str; 8] = ["ceph", "sizing", "--osds", "24", "--hdd", "16TB", "--workload", "rbd"];
const SSD: [&str; 8] = ["ceph", "sizing", "--osds", "12", "--ssd", "3.84TB", "--workload", "rbd"];

fn with<'a>(base: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [base, more].concat()
}

fn document(base: &[&str], more: &[&str]) -> Value {
    let run = run(&with(&with(base, &["--format", "json"]), more));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&run.stdout).unwrap()
}

fn refused(base: &[&str], more: &[&str]) -> String {
    let run = run(&with(base, more));
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{more:?}");
    run.stderr.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn the_page_and_the_document_say_the_same() {
    let page = run(&HDD);
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""));
    for part in ["320 GB per OSD, 2 %", "HDD + flash DB  enterprise-nvme", "Tentacle 20"] {
        assert!(page.stdout.contains(part), "{part}: {}", page.stdout);
    }
    let document = document(&HDD, &[]);
    assert_eq!(document["schema"], "flushmark/ceph-sizing/1");
    assert_eq!(document["block_db"]["bytes"], 320_000_000_000_u64);
    assert_eq!(document["plan"]["release"], "Tentacle 20");
    let drives: Vec<_> =
        document["predictions"].as_array().unwrap().iter().map(|row| &row["drive"]).collect();
    assert_eq!(drives, ["disk-7200rpm-cache-off", "enterprise-nvme", "consumer-nvme"]);
    let schema = serde_json::from_str(include_str!("../../../schemas/ceph-sizing-1.json")).unwrap();
    assert!(jsonschema::is_valid(&schema, &document));
}

#[test]
fn a_commit_is_given_modelled_or_published() {
    let row = |more: &[&str]| document(&SSD, more)["predictions"][0].clone();
    let given = row(&["--commit-us", "100", "--release", "squid"]);
    // 500 + 3 x 100 + 2 x 50 µs.
    assert_eq!((&given["commits"], &given["latency_us"]["low"]), (&3.0.into(), &900.0.into()));
    assert_eq!(given["commit_basis"], "given");
    // The drive's published figure, not its class's.
    let modelled = row(&["--drive", "micron-5100-eco-960gb"]);
    assert_eq!(modelled["drive"], "micron-5100-eco-960gb");
    let run = run(&[
        "run",
        "check",
        "--quiet",
        "--format",
        "json",
        "--target",
        "sim:micron-5100-eco-960gb",
    ]);
    let results = run.document()["results"].clone();
    let test = results
        .as_array()
        .unwrap()
        .iter()
        .find(|result| result["test"] == "write + fdatasync")
        .unwrap();
    assert_eq!(modelled["commit_us"], test["commit_us"]["mean"]);
    assert_eq!(
        document(&SSD, &["--drive", "intel-535-240gb"])["predictions"][0]["commit_basis"],
        "modelled"
    );
}

#[test]
fn a_protected_drive_is_also_shown_with_the_write_cache_off_that_makes_it_fast() {
    let drives = |drive: &str| -> Vec<(String, f64)> {
        let document = document(&SSD, &["--drive", drive]);
        let rows = document["predictions"].as_array().unwrap().iter();
        rows.map(|row| {
            (row["drive"].as_str().unwrap().to_owned(), row["commit_us"].as_f64().unwrap())
        })
        .collect()
    };
    let both = drives("micron-5100-eco-960gb");
    let off = "micron-5100-eco-960gb,write-cache=off";
    assert!(both.len() == 2 && both[1].0 == off && both[1].1 < both[0].1 / 30.0, "{both:?}");
    assert_eq!(drives(off), both[1..]);
    assert_eq!(drives(&format!("sim:{off}")), both[1..]);
    // Faster as well, by programming each small write: no reason to wear it.
    assert_eq!(drives("samsung-980-1tb").len(), 1);
}

#[test]
fn old_releases_waste_space() {
    let wasted = |release| {
        document(&HDD, &["--release", release, "--db-size", "60GB"])["block_db"]["given"]["wasted_bytes"].clone()
    };
    // 60 GB less 29,440 MiB.
    assert_eq!(wasted("14.2.11"), 60_000_000_000_u64 - (29_440 << 20));
    assert_eq!(wasted("19"), Value::Null);
    assert_eq!(document(&SSD, &[])["block_db"], Value::Null);
}

#[test]
fn refusals() {
    let none = ["ceph", "sizing", "--osds", "0", "--hdd", "16TB", "--workload", "rbd"];
    insta::assert_snapshot!(refused(&none, &[]), @"flushmark: a cluster needs at least one OSD: expected 1 to 1,000,000 with --osds, got 0");
    insta::assert_snapshot!(refused(&HDD, &["--hosts", "25"]), @"flushmark: 25 hosts cannot share 24 OSDs: expected 1 to 24 with --hosts");
    insta::assert_snapshot!(refused(&HDD, &["--replicas", "0"]), @"flushmark: invalid number of replicas 0: expected 1 to 10");
    insta::assert_snapshot!(refused(&HDD, &["--ec", "4"]), @"error: invalid value '4' for '--ec <K+M>': invalid erasure code `4`; expected K+M with at least two data and one coding chunk, such as 4+2");
    insta::assert_snapshot!(refused(&HDD, &["--ec", "20+6"]), @"flushmark: too few OSDs for erasure code 20+6: expected at least 26, got 24");
    insta::assert_snapshot!(refused(&HDD, &["--ec", "4+2", "--replicas", "3"]), @"error: the argument '--ec <K+M>' cannot be used with '--replicas <N>'");
    insta::assert_snapshot!(refused(&HDD, &["--ssd", "3.84TB"]), @"error: the argument '--hdd <SIZE>' cannot be used with '--ssd <SIZE>'");
    insta::assert_snapshot!(refused(&HDD, &["--release", "jewel"]), @"error: invalid value 'jewel' for '--release <RELEASE>': release `jewel` is too old: the rules begin with Luminous 12, the first series in which BlueStore is the default");
    insta::assert_snapshot!(refused(&HDD, &["--release", "squidd"]), @"error: invalid value 'squidd' for '--release <RELEASE>': unknown release `squidd`; expected a name, a number or a version (Luminous 12, Mimic 13, Nautilus 14, Octopus 15, Pacific 16, Quincy 17, Reef 18, Squid 19, Tentacle 20), such as squid, 19 or 19.2.1");
    insta::assert_snapshot!(refused(&HDD, &["--db-size", "60"]), @"error: invalid value '60' for '--db-size <SIZE>': invalid size `60`; expected a number with MB, GB, TB or PB (powers of 1000: 16TB), or with MiB, GiB or TiB (powers of 1024)");
    insta::assert_snapshot!(refused(&HDD, &["--db-size", "60TB"]), @"flushmark: block.db (60 TB) is larger than the OSD's data device (16 TB): check the units");
    insta::assert_snapshot!(refused(&SSD, &["--db-size", "60GB"]), @"error: the argument '--ssd <SIZE>' cannot be used with '--db-size <SIZE>'");
    insta::assert_snapshot!(refused(&HDD, &["--drive", "micron-5100-eco-960g"]), @"flushmark: unknown model `micron-5100-eco-960g` (did you mean `micron-5100-eco-960gb`?); run `flushmark models` for a list");
    insta::assert_snapshot!(refused(&HDD, &["--drive", "intel-535-240g"]), @"flushmark: unknown drive `intel-535-240g` (did you mean `intel-535-240gb`?); run `flushmark catalogue` for a list");
    insta::assert_snapshot!(refused(&HDD, &["--drive", "floppy"]), @"flushmark: unknown model `floppy`; run `flushmark models` for a list");
    insta::assert_snapshot!(refused(&SSD, &["--drive", "enterprise-sata,write-cache=maybe"]), @"flushmark: invalid value `write-cache=maybe`; expected on or off");
    insta::assert_snapshot!(refused(&HDD, &["--commit-us=-1"]), @"flushmark: invalid commit -1 µs: expected a number from 0 to 10,000,000");
    insta::assert_snapshot!(refused(&HDD, &["--commit-us=nan"]), @"flushmark: invalid commit NaN µs: expected a number from 0 to 10,000,000");
    let neither = ["ceph", "sizing", "--osds", "24", "--workload", "rbd"];
    insta::assert_snapshot!(refused(&neither, &[]), @"error: the following required arguments were not provided:");
    insta::assert_snapshot!(refused(&neither, &["--hdd", "big"]), @"error: invalid value 'big' for '--hdd <SIZE>': invalid size `big`; expected a number with MB, GB, TB or PB (powers of 1000: 16TB), or with MiB, GiB or TiB (powers of 1024)");
}

#[test]
fn the_examples_of_the_help_run() {
    let help = run(&["ceph", "sizing", "--help"]);
    let examples = help.stdout.lines().filter_map(|line| line.trim().strip_prefix("flushmark "));
    let mut count = 0;
    for example in examples {
        let run = run(&example.split_whitespace().collect::<Vec<_>>());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{example}");
        count += 1;
    }
    assert_eq!(count, 4);
}

/// Every piece of an example in `docs/ceph.md`, between lines of three dots, is what the program
/// prints.
#[test]
fn the_page_about_ceph_shows_real_output() {
    let docs = include_str!("../../../docs/ceph.md");
    let mut shown = 0;
    for block in docs.split("```\n$ flushmark ceph sizing").skip(1) {
        let block = block.split("\n```").next().unwrap();
        let (command, output) = block.split_once('\n').unwrap();
        let args = ["ceph", "sizing"].into_iter().chain(command.split_whitespace());
        let run = run(&args.collect::<Vec<_>>());
        let mut rest = run.stdout.as_str();
        let lines: Vec<&str> = output.lines().collect();
        for piece in lines.split(|line| *line == "...") {
            let piece = piece.join("\n");
            let at = rest.find(&piece);
            let at = at.unwrap_or_else(|| panic!("`{command}` does not print this:\n{piece}"));
            rest = &rest[at..];
        }
        shown += 1;
    }
    assert!(shown > 0);
}
