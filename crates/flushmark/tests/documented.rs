//! Runs the commands of the documentation, page by page: on models in place of drives, in a
//! separate directory and with a separate store.
//!
//! Commands that need root, a server, a cluster, a browser or a file of the reader are not run;
//! the test in `src/args/documented.rs` parses those, too. Where a page shows the output of a
//! command that is the same on every machine, each piece of it, between lines of three dots, has
//! to be printed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use rayon::prelude::*;
use testbed::Run;
use testbed::examples::{self, Example, is_ours, simple_commands};

/// Fewer mean that a rule below excludes more than it should.
const RUN_MIN: usize = 80;
const COMPARED_MIN: usize = 12;

/// The models in place of a filesystem and of a bare drive: fit for every use.
const FILESYSTEM: &str = "sim:enterprise-nvme,filesystem=ext4";
const DRIVE: &str = "sim:enterprise-nvme";

/// Places of the reader's machine.
const DIRECTORIES: [&str; 4] = ["/srv", "/mnt", "/var/lib", "/tank"];

/// Words that stand for something this machine does not have, or that would take too long.
const OBSTACLES: [(&str, &str); 23] = [
    ("postgres://", "a database server"),
    ("mysql://", "a database server"),
    ("rados:", "a Ceph cluster"),
    ("rbd:", "a Ceph cluster"),
    ("rbd/", "a Ceph cluster"),
    ("nbd://", "a server"),
    ("nbd+unix:", "a server"),
    ("--open", "a browser"),
    ("--listen", "a network"),
    ("--recorder", "a power cut"),
    ("--journal", "a power cut"),
    ("--last", "many runs"),
    ("--config", "a file of the reader"),
    ("--system-root", "a file of the reader"),
    ("SOCKET", "an emulated drive"),
    ("12", "a store with many runs"),
    ("fio", "a minute of writes"),
    ("--rw", "minutes of writes"),
    ("fsync-study", "minutes of processor time"),
    ("…", "something that is left out"),
    ("@before", "a store with many runs"),
    ("lake", "many runs"),
    ("entries", "a measured result"),
];

/// Verbs that need root, a server or a cluster.
const NOT_HERE: [&str; 7] = ["trace", "watch", "web", "emulate", "crash", "verify", "cache"];
const OF_CLUSTERS: [&str; 5] = ["check", "osds", "layout", "bench", "tell-bench"];

/// Options and operators before the name of a file that the command writes.
const WRITES: [&str; 5] = ["-o", "--output", "--metrics-file", "--keep", "--catalogue"];

/// Why an example cannot run here.
fn obstacle(example: &Example, directory: &Path) -> Option<String> {
    if example.command.contains("sudo ") {
        return Some("root".to_owned());
    }
    for words in simple_commands(&example.command) {
        if !is_ours(&words) {
            if !is_installed(&words[0]) {
                return Some(format!("the program {}", words[0]));
            }
            continue;
        }
        if words[0] == "prefixsort" {
            return Some("another program".to_owned());
        }
        let (verb, next) = (words.get(1)?.as_str(), words.get(2).map(String::as_str));
        if NOT_HERE.contains(&verb) {
            return Some(format!("root, time or a second program for `{verb}`"));
        }
        if verb == "ceph" && next.is_some_and(|next| OF_CLUSTERS.contains(&next)) {
            return Some("a Ceph cluster".to_owned());
        }
        if verb == "db" {
            return Some("a database server".to_owned());
        }
        if words.len() == 2 && verb == "check" {
            return Some("a minute of writes".to_owned());
        }
        for (at, word) in words.iter().enumerate() {
            let is = |obstacle: &str| {
                if obstacle.bytes().all(|c| c.is_ascii_alphanumeric()) {
                    word == obstacle
                } else {
                    word.starts_with(obstacle) || word.contains(obstacle) && obstacle == "…"
                }
            };
            if let Some((_, reason)) = OBSTACLES.iter().find(|(obstacle, _)| is(obstacle)) {
                return Some((*reason).to_owned());
            }
            let is_written = WRITES.contains(&words[at - usize::from(at > 0)].as_str());
            let parts = word.trim_start_matches("sim:").split(',');
            let missing = |part: &str| is_file_name(part) && !directory.join(part).exists();
            if !is_written && parts.into_iter().any(missing) {
                return Some("a file of the reader".to_owned());
            }
        }
    }
    None
}

fn is_file_name(word: &str) -> bool {
    let extensions = ["json", "toml", "txt", "db", "fio", "trace", "html"];
    word.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).exists())
        || ["for", "done", "echo", "test", "export"].contains(&program)
}

/// The command with models in place of drives and directories, and whether any was replaced.
fn on_models(example: &Example) -> (String, bool) {
    let mut replaced = 0;
    let mut text = String::new();
    for (at, piece) in example.command.split(' ').enumerate() {
        let model = if piece.starts_with("/dev/") {
            Some(DRIVE)
        } else if DIRECTORIES.iter().any(|directory| piece.starts_with(directory)) {
            Some(FILESYSTEM)
        } else {
            None
        };
        let separator = if at > 0 { " " } else { "" };
        text = text + separator + model.unwrap_or(piece);
        if model.is_some() {
            // Several drives of one command are not the same drive.
            replaced += 1;
            text = format!("{text},seed={replaced}");
        }
    }
    // Runs on models are kept only on request, and smoke runs never.
    if !text.contains("--smoke") {
        text = text.replace("flushmark check", "flushmark check --store runs.db");
        // A run whose output is not compared may as well be short.
        let short = if example.shown.is_none() { " --time 100ms" } else { "" };
        text = text.replace("flushmark run", &format!("flushmark run --store runs.db{short}"));
    }
    (text, replaced > 0)
}

/// A command whose output depends on nothing but its arguments.
fn is_same_everywhere(example: &Example, is_replaced: bool) -> bool {
    let text = &example.command;
    !is_replaced
        && (text.contains(" sim:") || text.contains(" catalogue") || text.contains("ceph sizing"))
}

/// The outcome of a page's examples.
#[derive(Default)]
struct Outcome {
    ran: usize,
    compared: usize,
    obstacles: BTreeMap<String, usize>,
    failures: Vec<String>,
}

/// A store with two runs, which `last~1` and `last` name.
fn store() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    for seed in ["1", "2"] {
        let command = format!(
            "flushmark run check --store runs.db --quiet --time 100ms --target {DRIVE},seed={seed}"
        );
        let run = Run::of(shell(&command, directory.path()).output().unwrap());
        assert_eq!(run.code, Some(0), "{command}: {}", run.stderr);
    }
    std::fs::read(directory.path().join("runs.db")).unwrap()
}

fn run_page(examples: &[Example], store: &[u8]) -> Outcome {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("runs.db"), store).unwrap();
    let mut outcome = Outcome::default();
    for example in examples {
        if let Some(reason) = obstacle(example, here) {
            *outcome.obstacles.entry(reason).or_default() += 1;
            continue;
        }
        let (command, is_replaced) = on_models(example);
        let run = Run::of(shell(&command, here).output().unwrap());
        outcome.ran += 1;
        if run.code != Some(0) {
            outcome.failures.push(format!(
                "{}: exit code {:?} of {command}\n{}",
                example.place(),
                run.code,
                run.stderr
            ));
        }
        if let Some(shown) = &example.shown
            && is_same_everywhere(example, is_replaced)
        {
            outcome.compared += 1;
            if let Some(piece) = not_printed(shown, &run.stdout) {
                outcome.failures.push(format!(
                    "{}: {command} does not print this:\n{piece}\nbut:\n{}",
                    example.place(),
                    run.stdout
                ));
            }
        }
    }
    outcome
}

/// The shell with this program in its path, and the variables that examples use.
fn shell(command: &str, directory: &Path) -> Command {
    let program = Path::new(common::PROGRAM).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = [program.to_owned()].into_iter().chain(std::env::split_paths(&path));
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .current_dir(directory)
        .env("PATH", std::env::join_paths(path).unwrap())
        .env("FLUSHMARK_STORE", directory.join("runs.db"))
        .env("FLUSHMARK_CATALOGUE", directory.join("catalogue"))
        .env("DATA", FILESYSTEM)
        .env("GITHUB_STEP_SUMMARY", directory.join("summary.md"));
    shell
}

/// The first piece that is not printed after the ones before it.
fn not_printed<'a>(shown: &'a str, printed: &str) -> Option<String> {
    let lines: Vec<&'a str> = shown.trim_end().lines().map(str::trim_end).collect();
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let printed = printed.join("\n");
    let mut rest = printed.as_str();
    for piece in lines.split(|line| ["...", "…"].contains(&line.trim())) {
        let piece = piece.join("\n");
        match rest.find(&piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return Some(piece),
        }
    }
    None
}

#[test]
fn the_commands_of_the_documentation_run() {
    let examples = examples::examples();
    let store = store();
    let pages: Vec<&[Example]> = examples.chunk_by(|a, b| a.page == b.page).collect();
    let outcomes: Vec<Outcome> = pages.par_iter().map(|page| run_page(page, &store)).collect();
    let mut all = Outcome::default();
    for outcome in outcomes {
        all.ran += outcome.ran;
        all.compared += outcome.compared;
        all.failures.extend(outcome.failures);
        for (reason, count) in outcome.obstacles {
            *all.obstacles.entry(reason).or_default() += count;
        }
    }
    eprintln!("{} of {} commands ran, {} compared", all.ran, examples.len(), all.compared);
    for (reason, count) in &all.obstacles {
        eprintln!("  {count:3} need {reason}");
    }
    assert!(all.failures.is_empty(), "{}", all.failures.join("\n\n"));
    assert!(all.ran >= RUN_MIN, "only {} commands ran", all.ran);
    assert!(all.compared >= COMPARED_MIN, "only {} outputs were compared", all.compared);
}

#[test]
fn a_wrong_output_is_noticed() {
    let printed = "head\n  a  1\n  b  2\ntail\n";
    assert_eq!(not_printed("head\n...\n  b  2\ntail\n", printed), None);
    assert_eq!(not_printed("...\n  b  2\n...\n  a  1\n", printed), Some("  a  1".to_owned()));
    assert_eq!(not_printed("head\n  b  2\n", printed), Some("head\n  b  2".to_owned()));
}
