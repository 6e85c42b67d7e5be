//! The everyday use: targets by position, labels, brief and full text, colours, and the
//! configuration file.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Run, flushmark, plan, run};

/// A test of a moment.
const SHORT: &str = "[[test]]\nname = \"commits\"\npattern = \"randwrite\"\nsync = \"fsync\"\nsize = \
                     \"1MiB\"\nwarm_up = \"0s\"\ncount = 20\n";

/// The program with a configuration file, without a store in the environment.
fn configured(directory: &Path, text: &str) -> Command {
    let place = directory.join("flushmark");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("config.toml"), text).unwrap();
    let mut command = flushmark();
    command.env_remove("FLUSHMARK_STORE").env("XDG_CONFIG_HOME", directory);
    command
}

fn ran(command: &mut Command, words: &[&str]) -> Run {
    Run::of(command.args(words).output().unwrap())
}

#[test]
fn targets_are_named_by_position_or_option() {
    let given = |words: &[&str]| {
        let words = [&["run", "check", "--time", "100ms", "--quiet", "--format", "json"], words];
        let run = run(&words.concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stdout.matches("\"given\": \"sim:").count()
    };
    assert_eq!(given(&["sim:consumer-nvme"]), 1);
    assert_eq!(given(&["--target", "sim:consumer-nvme"]), 1);
    let two = run(&["check", "sim:consumer-nvme", "--smoke", "-t", "sim:usb-stick", "-q"]);
    assert_eq!(two.code, Some(0), "{}", two.stderr);
    assert!(two.stdout.contains("== sim:consumer-nvme\n"), "{}", two.stdout);
    assert!(two.stdout.contains("== sim:usb-stick\n"), "{}", two.stdout);
    // fio's options replace the suite, so the word is the target.
    let fio = run(&[
        "run", "--rw", "randwrite", "--bs", "4k", "--io_size", "4m", "--size", "4m",
        "sim:consumer-nvme", "--quiet", "--format", "json",
    ]);
    assert_eq!(fio.code, Some(0), "{}", fio.stderr);
    assert_eq!(fio.document()["target"]["given"], "sim:consumer-nvme");
    let both = run(&["run", "wal", "--rw", "randwrite"]);
    assert_eq!(both.code, Some(2));
    insta::assert_snapshot!(both.words(), @"flushmark: both `wal` and fio options say what to run; give one of the two");
}

#[test]
fn a_relative_target_is_recorded_with_its_whole_path() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), SHORT);
    fs::create_dir(directory.path().join("data")).unwrap();
    let run = ran(
        flushmark().current_dir(directory.path()),
        &["run", &plan, "data", "--format", "json", "--quiet"],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let whole = fs::canonicalize(directory.path().join("data")).unwrap();
    assert_eq!(run.document()["target"]["given"], whole.to_str().unwrap());
}

#[test]
fn a_smoke_run_of_check_is_quick_and_says_that_it_means_nothing() {
    let run = run(&["check", "--smoke", "--quiet", "null:"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.ends_with("its numbers are meaningless.\n"), "{}", run.stdout);
    for absent in ["Fit for", "Next:", "Findings"] {
        assert!(!run.stdout.contains(absent), "{}", run.stdout);
    }
}

#[test]
fn text_is_brief_unless_everything_is_wanted() {
    let page =
        |words: &[&str]| run(&[&["check", "sim:consumer-nvme", "-q"], words].concat()).stdout;
    let (brief, full) = (page(&[]), page(&["--verbose"]));
    assert!(brief.lines().count() <= 32, "{brief}");
    for detail in ["because:", "confidence:", "Latency distribution", "write cache  "] {
        assert!(!brief.contains(detail) && full.contains(detail), "{detail}");
    }
}

#[test]
fn a_page_is_as_wide_as_the_variable_says_within_limits() {
    let widest = |columns: &str| {
        let mut command = flushmark();
        command.env("COLUMNS", columns);
        let run = ran(&mut command, &["check", "sim:consumer-nvme", "-q", "-v"]);
        run.stdout.lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!(widest("60") <= 60);
    assert!(widest("10") <= 60, "narrower pages would be unreadable");
    assert!((101..=120).contains(&widest("200")));
    assert!(widest("many") <= 100, "anything but a number is ignored");
}

#[test]
fn colours_are_chosen_by_option_then_by_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let coloured = |text: &str, words: &[&str]| {
        let run = ran(
            &mut configured(directory.path(), text),
            &[&["check", "sim:consumer-nvme", "-q"], words].concat(),
        );
        run.stdout.contains("\u{1b}[")
    };
    assert!(!coloured("", &[]), "not a terminal");
    assert!(coloured("", &["--color", "always"]));
    assert!(coloured("color = \"always\"", &[]));
    assert!(!coloured("color = \"always\"", &["--color=never"]));
}

#[test]
fn the_configuration_names_store_and_host() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), SHORT);
    let store = directory.path().join("mine.db");
    let text = format!("store = \"{}\"\nhost = \"db7\"\n", store.display());
    let measured = ["run", &plan, directory.path().to_str().unwrap(), "--quiet"];
    let kept = ran(
        &mut configured(directory.path(), &text),
        &[&measured[..], &["--label", "new rack"]].concat(),
    );
    assert_eq!(kept.code, Some(0), "{}", kept.stderr);
    let list =
        ran(&mut configured(directory.path(), &text), &["results", "list", "--format", "json"]);
    let run = &list.document()["runs"][0];
    assert_eq!((&run["host"], &run["label"]), (&"db7".into(), &"new rack".into()));
    let shown = ran(&mut configured(directory.path(), &text), &["results", "show", "last"]);
    assert!(shown.stdout.contains("\nLabel: new rack\n"), "{}", shown.stdout);
    let list = ran(&mut configured(directory.path(), &text), &["results", "list"]);
    assert!(list.stdout.contains("new rack"), "{}", list.stdout);
    // The variable wins over the file, and the option over both.
    let none = ran(configured(directory.path(), &text).env("FLUSHMARK_STORE", "none"), &measured);
    assert_eq!(none.code, Some(0), "{}", none.stderr);
    let none = ran(
        &mut configured(directory.path(), &text),
        &[&measured[..], &["--store", "none"]].concat(),
    );
    assert_eq!(none.code, Some(0), "{}", none.stderr);
    let list =
        ran(&mut configured(directory.path(), &text), &["results", "list", "--format", "json"]);
    assert_eq!(list.document()["runs"].as_array().unwrap().len(), 1);
    let nothing = ran(&mut configured(directory.path(), "store = \"none\""), &["results", "list"]);
    assert_eq!(nothing.code, Some(2));
    insta::assert_snapshot!(nothing.words(), @"flushmark: the store is `none`, which keeps nothing; name a store with --store");
}

#[test]
fn a_mistake_in_the_configuration_is_an_error_of_use() {
    let directory = tempfile::tempdir().unwrap();
    let run = ran(&mut configured(directory.path(), "\nstor = \"x\"\n"), &["suites"]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.said(directory.path(), "CONFIG"), @"flushmark: CONFIG/flushmark/config.toml: line 2: unknown field `stor`, expected one of `store`, `host`, `color`");
    // Help is shown whatever the file says.
    let help = ran(&mut configured(directory.path(), "stor = 1"), &["check", "--help"]);
    assert_eq!(help.code, Some(0));
}

#[test]
fn a_label_fits_into_a_table() {
    let run = run(&["check", "null:", "--label", ""]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("expected 1 to 60 characters"), "{}", run.stderr);
}
