//! The files that packages install beside the program: its manual pages, and completions for
//! shells.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::{PROGRAM, needs_program, run};
use rayon::prelude::*;
use testbed::Run;

fn shown(args: &[&str]) -> String {
    let run = run(args);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{args:?}");
    run.stdout
}

/// The pages, written to a directory that does not exist before.
fn pages(directory: &Path) -> BTreeSet<String> {
    assert_eq!(shown(&["manual", directory.to_str().unwrap()]), "");
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A page as `man` shows it on a terminal of 80 columns.
fn rendered(page: &Path) -> String {
    let mut man = Command::new("man");
    man.args(["--local-file", "--warnings=w"]).arg(page);
    let run = Run::of(man.env("MANWIDTH", "80").env("LC_ALL", "C.UTF-8").output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", page.display());
    run.stdout
}

#[test]
fn every_verb_has_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let pages = pages(&directory.path().join("share/man/man1"));
    for page in ["flushmark.1", "flushmark-check.1", "flushmark-results-list.1"] {
        assert!(pages.contains(page), "{page} of {pages:?}");
    }
    // One is hidden, and the other is not a verb to read about.
    assert!(!pages.contains("flushmark-reference.1") && !pages.contains("flushmark-help.1"));
}

#[test]
fn man_shows_every_page_without_a_warning() {
    if !needs_program("man_shows_every_page_without_a_warning", "man", "man-db") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    pages(directory.path()).par_iter().for_each(|page| {
        let shown = rendered(&directory.path().join(page));
        for section in ["NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS"] {
            assert!(shown.contains(section), "{page} has no {section}: {shown}");
        }
    });
}

#[test]
fn a_page_has_what_concerns_its_verb() {
    if !needs_program("a_page_has_what_concerns_its_verb", "man", "man-db") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    pages(directory.path());
    let shown = |page: &str| rendered(&directory.path().join(page));
    let sections = |page: &str| -> Vec<String> {
        // The first line and the last one have the name of the page, with the number of its part.
        let is_heading = |line: &&str| line.starts_with(char::is_alphabetic) && !line.contains('(');
        shown(page).lines().filter(is_heading).map(str::to_owned).collect()
    };
    assert_eq!(
        sections("flushmark-check.1"),
        [
            "NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "FILES", "ENVIRONMENT",
            "EXAMPLES", "SEE ALSO",
        ]
    );
    let program = shown("flushmark.1");
    for expected in ["Measure\n", "flushmark-check(1)", "/var/lib/flushmark", "BROWSER", "fio(1)"] {
        assert!(program.contains(expected), "{expected}: {program}");
    }
    let drives = shown("flushmark-drives.1");
    assert!(!drives.contains("FLUSHMARK_STORE") && drives.contains("NO_COLOR"), "{drives}");
}

/// The completions that bash offers for a line, whose words are as it breaks them; before them, the
/// options that it gets for this completion. `compopt` works only in a completion that a user asked
/// for.
fn completed(line: &str, words: &str) -> Vec<String> {
    let test = format!(
        "PATH=${{0%/*}}:$PATH\ncompopt() {{ echo \"$*\"; }}\n{}\nCOMP_LINE='{line}' COMP_WORDS=({words})\n\
         COMP_POINT=${{#COMP_LINE}} COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
         _flushmark flushmark; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        shown(&["completions", "bash"]),
    );
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("data")).unwrap();
    fs::write(directory.path().join("plan.toml"), "").unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-c", &test, PROGRAM]).current_dir(directory.path());
    let run = Run::of(bash.output().unwrap());
    assert_eq!(run.stderr, "", "{line}");
    run.stdout.lines().map(str::to_owned).collect()
}

/// As most users type: words that bash breaks at spaces only.
fn completed_words(line: &str) -> Vec<String> {
    completed(line, line)
}

#[test]
fn bash_completes_verbs_and_options() {
    assert_eq!(completed_words("flushmark exp"), ["explain"]);
    assert_eq!(completed_words("flushmark results comp"), ["compare"]);
    assert_eq!(completed_words("flushmark run --as"), ["--as-published"]);
    let verbs = completed("flushmark ", "flushmark ''");
    assert!(verbs.contains(&"completions".to_owned()), "{verbs:?}");
    assert!(!verbs.contains(&"reference".to_owned()), "hidden: {verbs:?}");
}

#[test]
fn bash_completes_values() {
    assert_eq!(completed_words("flushmark run write-c"), ["write-cache"]);
    assert_eq!(completed_words("flushmark run pl"), ["plan.toml"]);
    assert_eq!(completed_words("flushmark check da"), ["-o nospace", "data/"]);
    assert_eq!(completed_words("flushmark check --fail-on zfs"), ["zfs-slog"]);
    assert_eq!(
        completed("flushmark check --fail-on zfs-slog=g", "flushmark check --fail-on zfs-slog = g"),
        ["good"]
    );
    assert_eq!(
        completed("flushmark check sim:consumer-sa", "flushmark check sim : consumer-sa"),
        ["consumer-sata"]
    );
    assert_eq!(completed_words("flushmark results show la"), ["last"]);
}

#[test]
fn each_shell_has_a_script() {
    for shell in ["bash", "zsh", "fish"] {
        let script = shown(&["completions", shell]);
        assert!(script.contains("_FLUSHMARK_COMPLETE"), "{shell}: {script}");
    }
    let unknown = run(&["completions", "csh"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(2), ""));
    assert!(unknown.stderr.contains("[possible values: bash, zsh, fish]"), "{}", unknown.stderr);
}

#[test]
fn pages_that_cannot_be_written_are_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().join("man1");
    let run = run(&["manual", path.to_str().unwrap()]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(4), ""));
    assert!(run.stderr.contains(&format!("cannot create {}", path.display())), "{}", run.stderr);
}

#[test]
fn the_version_in_one_line_and_with_what_it_was_built_from() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(shown(&["-V"]), format!("flushmark {version}\n"));
    let long = shown(&["--version"]);
    let lines: Vec<&str> = long.lines().collect();
    let names: Vec<&str> = lines[1..].iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(
        (lines[0], names),
        (&*format!("flushmark {version}"), vec!["commit", "target", "compiler"])
    );
    assert!(long.contains("\ntarget: ") && long.contains("\ncompiler: rustc "), "{long}");
}
