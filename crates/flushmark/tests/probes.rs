//! Each probe measures, from outside, a parameter of the model.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use catalogue::model::{Parameters, SolidState};
use common::run;

/// The number with this name in the finding with this name.
fn found(suite: &str, target: &str, id: &str, what: &str) -> Option<f64> {
    let run =
        run(&["run", suite, "--quiet", "--format", "json", "--target", &format!("sim:{target}")]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.document();
    let findings = document["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["id"] == id)?;
    let evidence = finding["evidence"].as_array().unwrap();
    evidence
        .iter()
        .find(|evidence| evidence["what"] == what)
        .and_then(|evidence| evidence["value"].as_f64())
}

fn solid_state(model: &str) -> SolidState {
    match &catalogue::find_model(model).unwrap().drive {
        Parameters::SolidState(drive) => drive.clone(),
        other => panic!("{other:?}"),
    }
}

fn near(found: Option<f64>, parameter: f64, percent: f64) {
    let found = found.unwrap_or_else(|| panic!("nothing found instead of {parameter}"));
    assert!(
        (found / parameter - 1.0).abs() * 100.0 <= percent,
        "found {found} instead of {parameter}"
    );
}

/// The built-in stick with other parameters.
fn stick(directory: &std::path::Path, open_blocks: u32, block: &str) -> String {
    let text = run(&["models", "usb-stick"]).stdout;
    let text = text.replace("open_blocks = 4", &format!("open_blocks = {open_blocks}"));
    let text = text.replace("block = \"8 MiB\"", &format!("block = \"{block}\""));
    let path = directory.join(format!("{open_blocks}-{}.toml", block.replace(' ', "")));
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn open_blocks() {
    let directory = tempfile::tempdir().unwrap();
    for open_blocks in [1, 3, 4, 6, 10] {
        let stick = stick(directory.path(), open_blocks, "8 MiB");
        near(
            found("open-blocks", &stick, "open-blocks", "open blocks"),
            f64::from(open_blocks),
            0.0,
        );
    }
    assert_eq!(found("open-blocks", "consumer-sata", "open-blocks", "open blocks"), None);
    assert!(found("open-blocks", "consumer-sata", "open-blocks", "at 1 location").is_some());
}

#[test]
fn erase_block() {
    let directory = tempfile::tempdir().unwrap();
    for (block, bytes) in [("512 KiB", 512.0 * 1024.0), ("2 MiB", 2097152.0), ("4 MiB", 4194304.0)]
    {
        let stick = stick(directory.path(), 4, block);
        near(found("erase-block", &stick, "erase-block", "erase block"), bytes, 0.0);
    }
    for pages in ["enterprise-nvme", "consumer-sata", "disk-7200rpm-cache-off"] {
        assert_eq!(found("erase-block", pages, "erase-block", "erase block"), None, "{pages}");
        assert!(found("erase-block", pages, "erase-block", "random 32 MiB").is_some(), "{pages}");
    }
}

#[test]
fn cache_size() {
    for model in ["consumer-nvme", "samsung-990-pro-ext4"] {
        let parameter = solid_state(model).cache.size.0 as f64;
        near(found("cache-size", model, "cache-size", "cache size"), parameter, 25.0);
    }
    let slc = solid_state("consumer-nvme").flash.slc.unwrap();
    near(
        found("cache-size", "consumer-nvme", "one-bit-cache", "written until then"),
        slc.free.0 as f64,
        2.0,
    );
}

#[test]
fn flush_cost() {
    for model in ["consumer-nvme", "samsung-980-1tb", "micron-5100-eco-960gb"] {
        let SolidState { flush, flash, .. } = solid_state(model);
        let (program, program_us) = flash
            .slc
            .map_or((flash.program, flash.program_us), |slc| (slc.program, slc.program_us));
        // Cached data goes to the flash over a channel, and then its mapping into the journal.
        let to_die_us = program.0 as f64 / flash.channel_mb_per_s;
        let fixed_us = flush.command_us + flush.journal_us + program_us + to_die_us;
        near(
            found("flush-cost", model, "flush-cost", "flush after one write of 4 KiB"),
            fixed_us,
            10.0,
        );
    }
    for model in ["consumer-nvme", "micron-5100-eco-960gb"] {
        let page_us = solid_state(model).flush.map_page_us;
        near(found("flush-cost", model, "flush-cost", "each scattered write adds"), page_us, 25.0);
    }
    let protected = solid_state("enterprise-sata").flush.command_us;
    near(
        found("flush-cost", "enterprise-sata", "flush-cost", "flush after 1024 scattered writes"),
        protected,
        10.0,
    );
}

#[test]
fn fill() {
    for (model, capacity) in [("enterprise-sata", "8GiB"), ("consumer-nvme", "8GiB")] {
        let spare = solid_state(model).flash.spare_percent;
        near(
            found("fill", &format!("{model},capacity={capacity}"), "fill", "spare flash"),
            spare,
            15.0,
        );
    }
}

#[test]
fn a_probe_s_table() {
    let table = |suite, target| {
        let text = run(&["run", suite, "--quiet", "--target", target]).stdout;
        text.split("\n\n").nth(1).unwrap().to_owned()
    };
    insta::assert_snapshot!(table("erase-block", "sim:usb-stick"), @"
       size  IOPS  MiB/s                               p50     p99
     16 KiB  2.47   0.04  █                         419 ms  639 ms
     32 KiB  2.47   0.08  █                         419 ms  639 ms
     64 KiB  2.47   0.15  █                         421 ms  640 ms
    128 KiB  2.46   0.31  █                         423 ms  642 ms
    256 KiB  2.44   0.61  █                         426 ms  638 ms
    512 KiB  2.41   1.20  ██                        432 ms  644 ms
      1 MiB   2.3   2.30  ████                      443 ms  655 ms
      2 MiB  2.29   4.58  ████████                  467 ms  574 ms
      4 MiB  2.25   8.98  ████████████████          514 ms  726 ms
      8 MiB  1.64   13.1  ████████████████████████  610 ms  610 ms
     16 MiB  0.82   13.1  ████████████████████████  1.22 s  1.22 s
     32 MiB  0.41   13.1  ████████████████████████  2.44 s  2.44 s
    ");
    insta::assert_snapshot!(table("flush-cost", "sim:consumer-nvme"), @"
    pattern    writes a sync    IOPS  MiB/s                            sync p50  sync p99
    write                  1     685   2.68  █                          1.44 ms   1.44 ms
    write                  2   1,354   5.29  █                          1.44 ms   1.44 ms
    write                  4   2,643   10.3  █                          1.44 ms   1.44 ms
    write                  8   5,091   19.9  ██                         1.43 ms   1.43 ms
    write                 16   9,321   36.4  ████                       1.43 ms   1.43 ms
    write                 32  15,948   62.3  ███████                    1.43 ms   1.43 ms
    write                 64  24,741   96.6  ████████████               1.43 ms   1.43 ms
    write                128  33,978    133  ████████████████           1.43 ms   1.43 ms
    write                256  42,138    165  ████████████████████       1.43 ms   1.43 ms
    write                512  47,803    187  ██████████████████████     1.43 ms   1.43 ms
    write               1024  51,158    200  ████████████████████████   1.43 ms   1.44 ms
    randwrite              1     685   2.68  █                          1.44 ms   1.44 ms
    randwrite              2   1,352   5.28  █                          1.44 ms   1.44 ms
    randwrite              4   2,632   10.3  █                          1.45 ms   1.45 ms
    randwrite              8   5,046   19.7  ██                         1.44 ms   1.44 ms
    randwrite             16   9,161   35.8  ████                       1.46 ms   1.46 ms
    randwrite             32  15,476   60.5  ███████                    1.49 ms   1.49 ms
    randwrite             64  23,591   92.2  ███████████                1.55 ms   1.55 ms
    randwrite            128  31,991    125  ███████████████            1.68 ms   1.68 ms
    randwrite            256  38,924    152  ██████████████████         1.94 ms   1.94 ms
    randwrite            512  43,667    171  ████████████████████       2.45 ms   2.45 ms
    randwrite           1024  46,454    181  ██████████████████████     3.47 ms   3.47 ms
    ");
}
