//! `flushmark report` on the command line: what it writes and refuses.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::{Path, PathBuf};

use common::{Run, flushmark, run};

/// A result of `check` on a modelled drive.
fn result(directory: &Path, name: &str) -> String {
    let path = directory.join(name).to_string_lossy().into_owned();
    let made = run(&["check", "sim:samsung-980-1tb,filesystem=ext4", "--quiet", "--output", &path]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    path
}

#[test]
fn one_file_is_made_and_may_be_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let json = result(directory.path(), "check.json");
    let page = directory.path().join("page.html");
    let page_text = page.to_str().unwrap();
    let made = run(&["report", &json, "-o", page_text]);
    let said = made.stdout.replace(page_text, "page.html");
    insta::assert_snapshot!(said.rsplit_once(',').unwrap().0, @"page.html: 1 run, 8 tests");
    let first = std::fs::read_to_string(&page).unwrap();
    assert_eq!(run(&["report", &json, "-o", page_text]).code, Some(0));
    assert_eq!(
        std::fs::read_to_string(&page).unwrap(),
        first,
        "the same result makes the same page"
    );
    assert_eq!(run(&["report", &json, "-o", "-"]).stdout, first);
}

#[test]
fn without_a_name_the_page_is_report_html() {
    let directory = tempfile::tempdir().unwrap();
    result(directory.path(), "check.json");
    let status =
        flushmark().args(["report", "check.json"]).current_dir(directory.path()).status().unwrap();
    assert!(status.success() && directory.path().join("report.html").is_file());
}

#[test]
fn the_browser_is_opened_at_the_page_and_where_there_is_none_that_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let json = result(directory.path(), "check.json");
    let page = directory.path().join("a page.html");
    let page_text = page.to_str().unwrap();
    let script = directory.path().join("browser");
    std::fs::write(&script, "printf %s \"$2\" > \"$1\"").unwrap();
    let opened = directory.path().join("opened");
    let browser = format!("false:sh {} {}", script.display(), opened.display());
    let report = |environment: &[(&str, &str)]| {
        let mut command = flushmark();
        command.args(["report", &json, "--open", "-o", page_text]).env_remove("BROWSER");
        Run::of(command.envs(environment.iter().copied()).output().unwrap())
    };
    let shown = report(&[("BROWSER", &browser)]);
    assert_eq!((shown.code, shown.words().as_str()), (Some(0), ""), "the second works");
    let address = format!("file://{}/a%20page.html", directory.path().display());
    assert_eq!(std::fs::read_to_string(&opened).unwrap(), address);
    let none = report(&[("PATH", "")]);
    assert_eq!(none.code, Some(0), "the page is made all the same");
    insta::assert_snapshot!(none.said(directory.path(), "/DIR"), @"flushmark: no browser could be opened: `xdg-open` is not installed; open file:///DIR/a%20page.html yourself, or set BROWSER");
    let failed = report(&[("BROWSER", "false:no-such-browser %s")]);
    insta::assert_snapshot!(failed.said(directory.path(), "/DIR"), @"flushmark: no browser could be opened: `false` failed (exit status: 1), `no-such-browser %s` is not installed; open file:///DIR/a%20page.html yourself, or set BROWSER");
    let nothing = run(&["report", &json, "--open", "-o", "-"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(nothing.words(), @"flushmark: --open needs a file, but --output - writes to stdout; name a file or leave out --open");
}

#[test]
fn what_is_no_report_is_not_written_over() {
    let directory = tempfile::tempdir().unwrap();
    let json = result(directory.path(), "check.json");
    let other = directory.path().join("thesis.html");
    std::fs::write(&other, "<!DOCTYPE html><title>Thesis</title>").unwrap();
    let other_text = other.to_str().unwrap();
    let refused = run(&["report", &json, "-o", other_text]);
    assert_eq!(refused.code, Some(3));
    insta::assert_snapshot!(refused.said(&other, "thesis.html"), @"flushmark: thesis.html exists and is not a flushmark report, so it is not overwritten; name another file or use --force");
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "<!DOCTYPE html><title>Thesis</title>");
    assert_eq!(run(&["report", &json, "-o", other_text, "--force"]).code, Some(0));
    assert!(std::fs::read_to_string(&other).unwrap().contains("flushmark report"));
}

#[test]
fn what_cannot_be_written_or_read_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let json = result(directory.path(), "check.json");
    let said = |args: &[&str]| {
        let run = run(args);
        (run.code.unwrap(), run.said(directory.path(), "DIR"))
    };
    let to_directory = said(&["report", &json, "-o", directory.path().to_str().unwrap()]);
    insta::assert_snapshot!(to_directory.1, @"flushmark: DIR is a directory; name a file in it");
    assert_eq!(to_directory.0, 2);
    let nowhere = directory.path().join("none/page.html");
    let to_nowhere = said(&["report", &json, "-o", nowhere.to_str().unwrap()]);
    insta::assert_snapshot!(to_nowhere.1, @"flushmark: cannot write the report to DIR/none/page.html: No such file or directory (os error 2)");
    assert_eq!(to_nowhere.0, 4);
    let missing = said(&["report", "no-such.json", "-o", "-"]);
    insta::assert_snapshot!(missing.1, @"flushmark: `no-such.json` not found: it is neither a file nor a kept run (a number, last, last~1 or @TAG)");
    assert_eq!(missing.0, 2);
}

#[test]
fn several_runs_stand_side_by_side_under_names_that_tell_them_apart() {
    let directory = tempfile::tempdir().unwrap();
    let places: Vec<PathBuf> = ["before", "after"].map(|name| directory.path().join(name)).into();
    let files: Vec<String> = places
        .iter()
        .map(|place| {
            std::fs::create_dir(place).unwrap();
            result(place, "check.json")
        })
        .collect();
    let page = run(&["report", &files.join(","), "-o", "-"]).stdout;
    assert!(page.contains("Side by side"));
    for file in &files {
        assert!(page.contains(&format!(">{file}<")), "{file} is not named");
    }
}

#[test]
fn a_card_is_one_result_as_an_svg() {
    let directory = tempfile::tempdir().unwrap();
    let json = result(directory.path(), "check.json");
    let path = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    let card = path("drive.svg");
    let made = run(&["report", &json, "--card", &card]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let text = std::fs::read_to_string(&card).unwrap();
    assert!(text.starts_with("<svg xmlns=") && text.contains("Samsung 980 1 TB"), "{text}");
    assert_eq!(run(&["report", &json, "--card", "-"]).stdout, text, "it may be made again");
    assert_eq!(run(&["report", &json, "--card", &card]).code, Some(0));
    let said = |args: &[&str]| {
        let run = run(args);
        assert_eq!(
            run.code,
            Some(if run.stderr.contains("exists") { 3 } else { 2 }),
            "{}",
            run.stderr
        );
        run.said(directory.path(), "DIR")
    };
    insta::assert_snapshot!(said(&["report", &json, "--card", &path("drive.png")]), @"flushmark: a card is an SVG file, and DIR/drive.png does not end in .svg; where only PNG is accepted, convert the card, for example with `rsvg-convert` or a browser");
    insta::assert_snapshot!(said(&["report", &json, &json, "--card", &card]), @"flushmark: a card shows one result, and 2 are named; leave out --card to compare them on a page");
    let other = path("other.svg");
    std::fs::write(&other, "<svg></svg>").unwrap();
    insta::assert_snapshot!(said(&["report", &json, "--card", &other]), @"flushmark: DIR/other.svg exists and is not a flushmark card, so it is not overwritten; name another file or use --force");
    assert_eq!(run(&["report", &json, "--card", &other, "--force"]).code, Some(0));
    assert_eq!(run(&["report", &json, "--card", &card, "--open"]).code, Some(2));
    let trace = path("trace.json");
    let output = path("blk.txt");
    std::fs::write(&output, BLKPARSE).unwrap();
    assert_eq!(run(&["trace", "read", &output, "--output", &trace]).code, Some(0));
    insta::assert_snapshot!(said(&["report", &trace, "--card", &card]), @"flushmark: a card shows the result of a run, not a trace; leave out --card for a page of the trace");
}

/// The output of `blkparse` for a write and its flush.
const BLKPARSE: &str = "\
  8,16   0      101     5.100000000  5130  Q  WS 1048576 + 8 [fio]
  8,16   0      102     5.100002000  5130  D  WS 1048576 + 8 [fio]
  8,16   0      103     5.100344000     0  C  WS 1048576 + 8 [0]
  8,16   0      104     5.100359000  5130  Q FWS [fio]
  8,16   0      105     5.100360000   311  D  FN [kworker/0:1H]
  8,16   0      106     5.108678000     0  C  FN 0 [0]
  8,16   0      107     5.108678000     0  C FWS 0 [0]
";

#[test]
fn a_trace_has_its_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    let (text, json, page) = (path("sdb.txt"), path("trace.json"), path("page.html"));
    std::fs::write(&text, BLKPARSE).unwrap();
    let read = run(&["trace", "read", &text, "--output", &json]);
    assert_eq!(read.code, Some(0), "{}", read.stderr);
    let made = run(&["report", &json, "-o", &page]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let said = made.stdout.replace(&page, "page.html");
    insta::assert_snapshot!(said.rsplit_once(',').unwrap().0, @"page.html: 1 trace, 1 kind of commits");
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("The median commit, 8.68 ms to scale"));
    let result = result(directory.path(), "check.json");
    let refused = |words: &[&str]| {
        let run = run(&[&["report", "-o", "-"], words].concat());
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        run.said(directory.path(), "DIR")
    };
    insta::assert_snapshot!(refused(&[&json, &result]), @"flushmark: `DIR/check.json` is not a trace, but DIR/trace.json is; a page shows either traces or the results of runs");
    insta::assert_snapshot!(refused(&[&result, &json]), @"flushmark: DIR/trace.json: document `flushmark/trace/1` is not a result document of `check` or `run` (`flushmark/run/1`)");
    let damaged = std::fs::read_to_string(&json).unwrap().replace("\"seconds\"", "\"minutes\"");
    std::fs::write(&json, damaged).unwrap();
    insta::assert_snapshot!(refused(&[&json]), @"flushmark: cannot read DIR/trace.json: invalid `flushmark/trace/1` document: missing field `seconds` at line 219 column 1");
}
