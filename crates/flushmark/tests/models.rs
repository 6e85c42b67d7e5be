//! Modelled drives as targets: every suite on them, identical documents, refusals.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::run;

/// One drive of each kind: flash without and with protection, single-level flash, a disk, a stick,
/// a volume, an array.
const EACH_KIND: [&str; 6] = [
    "sim:seagate-nytro-1351-3840gb",
    "sim:consumer-nvme,filesystem=ext4,seed=3",
    "sim:disk-7200rpm-cache-on",
    "sim:usb-stick",
    "sim:cloud-volume",
    "sim:enterprise-sata,raid=5,members=3,journal=on,capacity=64GiB",
];

#[test]
fn two_runs_of_any_suite_give_the_same_bytes() {
    for target in EACH_KIND {
        // Sorts do not run in virtual time; `sort_spill` tests them.
        for suite in workload::suites::all().into_iter().filter(|suite| suite.name != "sort-spill")
        {
            let args = [
                "run", &suite.name, "--time", "1s", "--quiet", "--format", "json", "--target",
                target,
            ];
            let (one, other) = (run(&args), run(&args));
            assert_eq!(one.code, Some(0), "{} on {target}: {}", suite.name, one.stderr);
            assert_eq!(one.stdout, other.stdout, "{} on {target}", suite.name);
            assert_eq!(one.document()["target"]["kind"], "model");
        }
        let args = ["check", "--quiet", "--format", "json", target];
        assert_eq!(run(&args).stdout, run(&args).stdout, "{target}");
    }
}

#[test]
fn another_seed_gives_other_offsets_and_nearly_the_same_figures() {
    let of = |target| {
        let run = run(&["run", "journal", "--quiet", "--format", "json", "--target", target]);
        run.document()["results"][0].clone()
    };
    let (one, other) = (of("sim:disk-7200rpm-cache-off"), of("sim:disk-7200rpm-cache-off,seed=1"));
    let iops = |result: &serde_json::Value| result["iops"].as_f64().unwrap();
    assert_ne!(one["histograms"], other["histograms"]);
    assert!((iops(&one) / iops(&other) - 1.0).abs() < 0.1, "{} {}", iops(&one), iops(&other));
}

#[test]
fn a_model_of_one_s_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    std::fs::write(&path, run(&["models", "kioxia-cd6-3840gb"]).stdout).unwrap();
    let target = |path: &std::path::Path| format!("sim:{}", path.display());
    let mine = run(&["run", "journal", "--quiet", "--format", "json", "--target", &target(&path)]);
    let built_in = run(&[
        "run", "journal", "--quiet", "--format", "json", "--target", "sim:kioxia-cd6-3840gb",
    ]);
    assert_eq!(mine.document()["results"], built_in.document()["results"]);

    let model = std::fs::read_to_string(&path).unwrap();
    let refused = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let refused = run(&["check", &target(&path)]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
        refused.said(&path, "FILE")
    };
    insta::assert_snapshot!(refused(&model.replace("mb_per_s = 5000.0", "mb_per_s = 0.0")), @"flushmark: the model `kioxia-cd6-3840gb` is impossible: link.mb_per_s must be above zero, not 0");
    insta::assert_snapshot!(refused(&model.replace("dies = 32", "dice = 32")), @"
    flushmark: FILE is not a valid model: TOML parse error at line 13, column 1
       |
    13 | [drive]
       | ^^^^^^^
    unknown field `dice`, expected one of `dies`, `channels`, `channel_mb_per_s`, `program`, `program_us`, `read_us`, `read_spread`, `erase_us`, `programs_per_block`, `spare_percent`, `slc`
    ");
}

#[test]
fn refusals() {
    let refused = |args: &[&str]| {
        let run = run(args);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{}", run.stderr);
        run.stderr.trim_end().to_owned()
    };
    insta::assert_snapshot!(refused(&["check", "sim:samsung-908-1tb"]), @"flushmark: unknown model `samsung-908-1tb` (did you mean `samsung-980-1tb`?); run `flushmark models` for a list");
    insta::assert_snapshot!(refused(&["models", "enterprise"]), @"flushmark: unknown model `enterprise` (did you mean `enterprise-nvme` or `enterprise-sata`?); run `flushmark models` for a list");
    insta::assert_snapshot!(refused(&["check", "sim:usb-stick,raid=1,members=1"]), @"flushmark: the model `usb-stick` is impossible: RAID 1 needs at least 2 drives, not 1");
    insta::assert_snapshot!(refused(&["check", "sim:enterprise-nvme,write-cache=on"]), @"flushmark: `sim:enterprise-nvme,write-cache=on`: this drive reports no volatile write cache, so there is none to switch");
    insta::assert_snapshot!(refused(&["check", "sim:usb-stick", "--engine", "psync"]), @"flushmark: --engine has no effect on a model, which does not use this machine's kernel; leave it out");
}

#[test]
fn a_workload_larger_than_the_model() {
    let directory = tempfile::tempdir().unwrap();
    let plan = common::plan(
        directory.path(),
        "[[test]]\nname = \"much\"\npattern = \"randwrite\"\nblock = \"4KiB\"\nsize = \"2TiB\"\n",
    );
    let run = run(&["run", &plan, "--quiet", "--target", "sim:micron-5100-eco-960gb"]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.stderr.trim_end(), @"flushmark: much: it uses 2 TiB, but sim:micron-5100-eco-960gb has only 960 GB");
}

#[test]
fn what_a_model_is_stands_above_its_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my stick.toml");
    std::fs::write(&path, run(&["models", "usb-stick"]).stdout).unwrap();
    let header = |target: &str| {
        let shown =
            run(&["run", "check", "--time", "100ms", "-v", "--quiet", "--target", target]).stdout;
        shown.split("\n\n").next().unwrap().replace(&path.display().to_string(), "FILE")
    };
    insta::assert_snapshot!(header("sim:enterprise-sata,raid=5"), @"
    target       sim:enterprise-sata,raid=5, a modelled drive, in virtual time
    tested       all of it
    device       sim:enterprise-sata,raid=5 (raid5) on member, member, member
    drives       3 × Generic enterprise SATA drive, SATA
    write cache  write back: the kernel assumes a volatile cache and sends flushes; no FUA writes
    ");
    insta::assert_snapshot!(header(&format!("sim:{},filesystem=ext4", path.display())), @"
    target       sim:FILE,filesystem=ext4, a modelled drive, in virtual time
    filesystem   ext4 mounted on /model, relatime
    device       sim:FILE,filesystem=ext4
    drive        Generic USB stick, USB, 32 GB
    write cache  write through: the kernel assumes no volatile cache and sends no flushes
    ");
}

#[test]
fn all_of_a_device_is_tested() {
    const READS: &str = "[[test]]\nname = \"reads\"\npattern = \"randread\"\ntime = \"20s\"\n";
    const DISK: &str = "sim:disk-7200rpm-cache-off";

    let directory = tempfile::tempdir().unwrap();
    let measured = |plan: &str, target: &str| {
        let shown = run(&[
            "run",
            &common::plan(directory.path(), plan),
            "-v",
            "--quiet",
            "--target",
            target,
        ])
        .stdout;
        let tested = shown.lines().find(|line| line.starts_with("tested")).map(str::to_owned);
        let json = run(&[
            "run",
            &common::plan(directory.path(), plan),
            "--quiet",
            "--format",
            "json",
            "--target",
            target,
        ]);
        let document = json.document();
        let result = &document["results"][0];
        let small = document["findings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|finding| finding["id"] == "small-test-area");
        (
            tested,
            result["workload"]["size_bytes"].as_u64().unwrap(),
            result["iops"].as_f64().unwrap(),
            small,
        )
    };
    // Heads that seek over a whole disk of 7,200 rpm read 70 to 85 blocks per second.
    let (tested, size_bytes, iops, small) = measured(READS, DISK);
    assert_eq!(tested.as_deref(), Some("tested       all of it"));
    assert!(
        size_bytes > 1_000_000_000_000 && (70.0..85.0).contains(&iops) && !small,
        "{size_bytes} {iops} {small}"
    );

    let (tested, size_bytes, iops, small) = measured(&format!("{READS}size = \"1GiB\"\n"), DISK);
    assert!(tested.unwrap().starts_with("tested       1 GiB, 0."), "a part");
    assert!(size_bytes == 1 << 30 && iops > 140.0 && small, "{size_bytes} {iops} {small}");

    // On a filesystem, the test creates a file of the requested size.
    let (tested, size_bytes, _, small) =
        measured(&format!("{READS}file_size = \"64MiB\"\n"), &format!("{DISK},filesystem=ext4"));
    assert_eq!((tested, size_bytes, small), (None, 64 << 20, false));
}
