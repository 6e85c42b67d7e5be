//! Runs are kept while they are measured, and found again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Mount, Run, flushmark, needs_root, nobody, plan, system};
use postgresql::Server;
use serde_json::Value;

/// Two short tests.
const TWO: &str = "[defaults]\npattern = \"randwrite\"\nsync = \"fsync\"\nsize = \"1MiB\"\nwarm_up \
                   = \"0s\"\ncount = 20\n\
                   [[test]]\nname = \"first\"\n[[test]]\nname = \"second\"\n";
/// A short one and one that only a signal ends.
const LONG: &str = "[defaults]\npattern = \"randwrite\"\nsync = \"fsync\"\nsize \
                    = \"1MiB\"\nwarm_up = \"0s\"\n\
                    [[test]]\nname = \"first\"\ncount = 20\n[[test]]\nname = \"second\"\ntime \
                    = \"60s\"\n";

/// A directory for a plan, a target and a store.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        for name in ["target", "state"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        Place { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_string_lossy().into_owned()
    }

    /// The program without anything of this user in its environment.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = flushmark();
        command.args(words).env_remove("FLUSHMARK_STORE").env("XDG_DATA_HOME", self.path("data"));
        command
            .env("XDG_STATE_HOME", self.path("state"))
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Run {
        Run::of(self.command(words).output().unwrap())
    }

    /// `run` of a plan on the target, with additional arguments.
    fn measuring(&self, text: &str, words: &[&str]) -> Command {
        let plan = plan(self.directory.path(), text);
        let target = self.text("target");
        self.command(&[&["run", &plan, "--target", &target, "--format", "json"], words].concat())
    }

    fn measure(&self, text: &str, words: &[&str]) -> Run {
        Run::of(self.measuring(text, words).output().unwrap())
    }

    fn listed(&self, words: &[&str]) -> Vec<Value> {
        let list = self.run(&[&["results", "list", "--format", "json"], words].concat());
        assert_eq!(list.code, Some(0), "{}", list.stderr);
        let schema = serde_json::from_str(include_str!("../../../schemas/results-1.json")).unwrap();
        assert!(jsonschema::is_valid(&schema, &list.document()), "{}", list.stdout);
        list.document()["runs"].as_array().unwrap().clone()
    }
}

#[test]
fn a_run_is_kept_listed_shown_marked_and_deleted() {
    let place = Place::new();
    let run = place.measure(TWO, &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.words().lines().last(), Some("kept as run 1 (`flushmark results show 1`)"));
    assert!(place.path("data/flushmark/results.db").is_file());

    let runs = place.listed(&[]);
    let [kept] = &runs[..] else { panic!("{runs:?}") };
    assert_eq!(
        (&kept["id"], &kept["state"], &kept["tests"]),
        (&1.into(), &"complete".into(), &2.into())
    );
    assert_eq!(kept["target"], place.text("target"));
    assert_eq!(kept["headline"]["test"], "first");
    assert_eq!(kept["host"], fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim());

    // The document is what was printed, byte for byte, and so is the text.
    assert_eq!(place.run(&["results", "show", "1", "--format", "json"]).stdout, run.stdout);
    let text = place.run(&["results", "show", "last"]).stdout;
    assert!(
        text.starts_with("Run 1: plan, ")
            && text.contains("\ntarget ")
            && text.contains("  second "),
        "{text}"
    );

    assert_eq!(place.run(&["results", "tag", "1", "before", "fleet"]).code, Some(0));
    assert_eq!(place.run(&["results", "tag", "1", "fleet", "--remove"]).code, Some(0));
    assert_eq!(place.run(&["results", "note", "1", "old firmware"]).code, Some(0));
    let runs = place.listed(&[
        "--tag", "before", "--note", "FIRM", "--since", "1h", "--suite", "plan", "--test", "sec",
    ]);
    assert_eq!(
        (&runs[0]["tags"], &runs[0]["note"]),
        (&vec!["before"].into(), &"old firmware".into())
    );
    let nothing = place.run(&["results", "list", "--until", "2020-01-01"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(0), ""));
    let path = place.text("data/flushmark/results.db");
    insta::assert_snapshot!(nothing.said(&path, "RESULTS.DB"), @"flushmark: no runs in RESULTS.DB match");

    for words in
        [["tag", "7", "x"], ["note", "7", "x"], ["tag", "7.json", "x"], ["note", "@x", "x"]]
    {
        assert_eq!(place.run(&[&["results"][..], &words].concat()).code, Some(2), "{words:?}");
    }
    // Permanent deletion takes numbers only.
    assert_eq!(place.run(&["results", "delete", "last", "--yes"]).code, Some(2));
    // There is no terminal to ask for confirmation.
    let refused = place.run(&["results", "delete", "1"]);
    assert_eq!(refused.code, Some(2));
    insta::assert_snapshot!(refused.said(&path, "RESULTS.DB"), @"flushmark: cannot ask for confirmation to delete run 1: stdin is not a terminal; use --yes to delete without asking");
    let both = place.run(&["results", "delete", "1", "--tag", "before", "--yes"]);
    assert_eq!(both.code, Some(2));
    insta::assert_snapshot!(both.stderr, @"flushmark: runs are named, and selected by options as well; use one of both");
    let all = place.run(&["results", "delete", "--yes"]);
    assert_eq!(all.code, Some(2));
    insta::assert_snapshot!(all.stderr, @"flushmark: nothing to delete: name runs, or select them with options such as --until 104w");
    let old = place.run(&["results", "delete", "--until", "2020-01-01", "--yes"]);
    assert_eq!(old.code, Some(0));
    insta::assert_snapshot!(old.said(&path, "RESULTS.DB"), @"flushmark: no runs in RESULTS.DB match");
    let deleted = place.run(&["results", "delete", "--tag", "before", "--yes"]);
    assert_eq!(deleted.code, Some(0), "{}", deleted.stderr);
    assert!(deleted.stderr.starts_with("Deleted 1 run of 20"), "{}", deleted.stderr);
    let empty = place.run(&["results", "list"]);
    insta::assert_snapshot!(empty.said(&path, "RESULTS.DB"), @"flushmark: no runs in RESULTS.DB; `flushmark check` and `flushmark run` keep their results there");
    let gone = place.run(&["results", "show", "1"]);
    assert_eq!(gone.code, Some(2));
    insta::assert_snapshot!(gone.said(&path, "RESULTS.DB"), @"flushmark: the store RESULTS.DB has no run 1; `flushmark results list` lists its runs");
}

#[test]
fn words_name_kept_runs() {
    let place = Place::new();
    for text in [TWO, &TWO.replace("first", "third"), &TWO.replace("first", "fourth")] {
        assert_eq!(place.measure(text, &["--quiet"]).code, Some(0));
    }
    for run in ["1", "last"] {
        assert_eq!(place.run(&["results", "tag", run, "x"]).code, Some(0));
    }
    assert_eq!(place.run(&["results", "note", "@x", "noted"]).code, Some(0));
    assert_eq!(place.listed(&["--note", "noted"]).len(), 2);
    let tests = |word: &str| -> Vec<String> {
        let shown = place.run(&["results", "show", word, "--format", "json"]);
        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
        let documents = shown.document();
        let documents = documents.as_array().cloned().unwrap_or_else(|| vec![documents]);
        documents
            .iter()
            .map(|document| document["results"][0]["test"].as_str().unwrap().to_owned())
            .collect()
    };
    // Within a second, the higher number is the later run.
    assert_eq!(tests("last"), ["fourth"]);
    assert_eq!(tests("last~2"), ["first"]);
    assert_eq!(tests("@x"), ["first", "fourth"]);
    assert_eq!(tests("2,last~2"), ["third", "first"]);
    let said = |word: &str| {
        let run = place.run(&["results", "show", word]);
        assert_eq!(run.code, Some(2));
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let said = run.said(place.path("data/flushmark/results.db"), "RESULTS.DB");
        said.replace(&format!("of {},", host.trim()), "of HOST,")
    };
    insta::assert_snapshot!(said("last~3"), @"flushmark: no run matches `last~3`: RESULTS.DB has fewer of HOST, this machine; use last@all for all machines");
    insta::assert_snapshot!(said("last@db7"), @"flushmark: no run matches `last@db7`: RESULTS.DB has none of db7");
    insta::assert_snapshot!(said("last~3@all"), @"flushmark: no run matches `last~3@all`: RESULTS.DB has fewer");
    insta::assert_snapshot!(said("last@"), @"flushmark: invalid `last@`: expected a machine's name, or all for all machines: last@all");
    insta::assert_snapshot!(said("@y"), @"flushmark: no run matches `@y`: RESULTS.DB has none with this tag");
    insta::assert_snapshot!(said("latest"), @"flushmark: `latest` is not a kept run; expected a number from `flushmark results list`, last, last~1 or @TAG");
    insta::assert_snapshot!(said("0"), @"flushmark: invalid run number `0`; `flushmark results list` shows the numbers");
}

/// In a store of many machines, `last` means the last run of this machine.
#[test]
fn the_last_run_is_this_machines() {
    let place = Place::new();
    let measured = place.measure(TWO, &["--quiet"]);
    let document = measurement::RunDocument::from_json(&measured.stdout).unwrap();
    let location = store::Location::Sqlite(place.path("data/flushmark/results.db"));
    let mut kept = store::Store::open(&location).unwrap();
    for year in [2030, 2031] {
        let theirs = measurement::RunDocument {
            started_at: format!("{year}-01-01T00:00:00Z"),
            ..document.clone()
        };
        kept.insert(&theirs, &store::Origin { host: Some("db7".to_owned()) }).unwrap();
    }
    let started_at = |word: &str| {
        let shown = place.run(&["results", "show", word, "--format", "json"]);
        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
        shown.document()["started_at"].as_str().unwrap()[..4].to_owned()
    };
    assert_eq!(started_at("last"), document.started_at[..4]);
    assert_eq!(started_at("last@db7"), "2031");
    assert_eq!(started_at("last~1@DB7"), "2030");
    assert_eq!(started_at("last@all"), "2031");
    assert_eq!(started_at("last~2@all"), document.started_at[..4]);
    // A comparison with earlier runs stays on the machine of the given run.
    let compared =
        place.run(&["results", "compare", "last@db7", "--last", "10", "--format", "json"]);
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    let refused = place.run(&["results", "compare", "last", "--last", "10"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("has no earlier run of plan"), "{}", refused.stderr);
}

/// The documents that earlier versions have left, from the directory of kept ones.
#[test]
fn documents_of_every_version_are_imported() {
    let place = Place::new();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../measurement/tests/documents");
    let files = fs::read_dir(&directory).unwrap().count();
    let imported = place.run(&["results", "import", &directory.to_string_lossy()]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    let listed = place.listed(&[]);
    assert_eq!(listed.len(), files);
    for run in &listed {
        let id = run["id"].to_string();
        let shown = place.run(&["results", "show", &id, "--format", "json"]);
        let tests = shown.document()["results"].as_array().unwrap().len();
        assert_eq!((shown.code, tests as u64), (Some(0), run["tests"].as_u64().unwrap()));
        assert_eq!(place.run(&["results", "show", &id]).code, Some(0));
    }
}

#[test]
fn what_is_kept_and_what_is_not() {
    let place = Place::new();
    let store = place.text("named.db");
    let plan = plan(place.directory.path(), TWO);
    let target = place.text("target");
    for option in [&["--store", "none"][..], &["--smoke"]] {
        let run = place.run(&[&["run", &plan, "--target", &target], option].concat());
        assert_eq!(run.code, Some(0), "{option:?}: {}", run.stderr);
        assert!(!run.stderr.contains("kept"), "{option:?}: {}", run.stderr);
    }
    for (target, because) in [
        ("null:", "null: has no figures of a drive"),
        ("sim:consumer-nvme", "a model always gives the same figures"),
    ] {
        let run = place.run(&["run", &plan, "--target", target]);
        assert_eq!(run.code, Some(0), "{target}: {}", run.stderr);
        let said = format!("not kept, because {because} (`--store PLACE` keeps it all the same)");
        assert_eq!(run.stderr.lines().last(), Some(said.as_str()));
        let quiet = place.run(&["run", &plan, "--target", target, "--quiet"]);
        assert_eq!(quiet.stderr, "");
    }
    let with_variable = |target: &str, value: &str| {
        let words = ["run", &plan, "--target", target];
        Run::of(place.command(&words).env("FLUSHMARK_STORE", value).output().unwrap())
    };
    let by_variable = |value: &str| with_variable(&target, value);
    for target in [&target, "sim:consumer-nvme"] {
        assert!(!with_variable(target, "none").stderr.contains("kept"), "{target}");
    }
    assert!(!place.path("data").exists(), "nothing asked for a store");

    for target in ["null:", "sim:consumer-nvme"] {
        let run = place.run(&["run", &plan, "--target", target, "--store", &store]);
        assert!(run.stderr.contains(&format!(" --store {store}`)")), "{target}: {}", run.stderr);
    }
    assert!(by_variable(&store).stderr.contains("kept as run 3 "));
    let listed = place.listed(&["--store", &store]);
    let hosts: Vec<_> = listed.iter().map(|run| run["host"].is_null()).collect();
    assert_eq!(hosts, [false, true, false], "a model has no host");

    let both = place.run(&["run", &plan, "--target", &target, "--smoke", "--store", &store]);
    assert_eq!(both.code, Some(2));
    insta::assert_snapshot!(both.words(), @"flushmark: a smoke run is never kept, because its numbers are meaningless; leave out --store");
    let wrong = by_variable("mysql://h/d");
    assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(wrong.words(), @"flushmark: FLUSHMARK_STORE: unknown kind of store `mysql://`; expected a file or a PostgreSQL database: postgres://USER@HOST/DATABASE");
}

#[test]
fn nothing_was_ever_kept() {
    let place = Place::new();
    let list = place.run(&["results", "list"]);
    assert_eq!((list.code, list.stdout.as_str()), (Some(0), ""));
    let path = place.text("data/flushmark/results.db");
    insta::assert_snapshot!(list.said(&path, "RESULTS.DB"), @"flushmark: no runs in RESULTS.DB; `flushmark check` and `flushmark run` keep their results there");
    assert_eq!(place.listed(&[]), Vec::<Value>::new());
    let show = place.run(&["results", "show", "last"]);
    assert_eq!(show.code, Some(2));
    insta::assert_snapshot!(show.said(&path, "RESULTS.DB"), @"flushmark: the store RESULTS.DB does not exist; `flushmark check` and `flushmark run` create it when they store a run");
    assert!(!place.path("data").exists(), "reading makes nothing");
    let nowhere = Run::of(
        place.command(&["results", "list"]).env("FLUSHMARK_STORE", "none").output().unwrap(),
    );
    assert_eq!(nowhere.code, Some(2));
    insta::assert_snapshot!(nowhere.words(), @"flushmark: the store is `none`, which keeps nothing; name a store with --store");
    let homeless = Run::of(
        place
            .command(&["results", "list"])
            .env_remove("XDG_DATA_HOME")
            .env_remove("HOME")
            .output()
            .unwrap(),
    );
    assert_eq!(homeless.code, Some(2));
    insta::assert_snapshot!(homeless.words(), @"flushmark: no store: neither XDG_DATA_HOME nor HOME is set; name a store with --store");
}

/// Starts a run and waits until its first test is done.
fn after_the_first_test(mut command: Command) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("[1/2] ") {
        line.clear();
        assert!(progress.read_line(&mut line).unwrap() > 0, "the run ended");
    }
    (child, progress)
}

/// The line is printed just before the test is kept.
fn wait_for_a_test(place: &Place, words: &[&str]) -> Value {
    let begun = Instant::now();
    loop {
        if let Some(run) = place.listed(words).first().filter(|run| run["tests"] == 1) {
            return run.clone();
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "the first test was not kept");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_run_leaves_what_was_measured() {
    let place = Place::new();
    let (mut child, _progress) = after_the_first_test(place.measuring(LONG, &[]));
    assert_eq!(wait_for_a_test(&place, &[])["state"], "running");
    let refused = place.run(&["results", "delete", "1", "--yes"]);
    assert_eq!(refused.code, Some(2));
    insta::assert_snapshot!(refused.said(place.path("data/flushmark/results.db"), "RESULTS.DB"), @"flushmark: the store RESULTS.DB cannot delete run 1 while it is being measured; wait for it to finish");
    let none = place.run(&["results", "show", "last"]);
    assert_eq!(none.code, Some(2), "what is being measured is not the last yet");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(place.listed(&[])[0]["state"], "interrupted");
    let shown = place.run(&["results", "show", "last", "--format", "json"]).document();
    assert_eq!(shown["results"].as_array().unwrap().len(), 1);
    assert_eq!(shown["results"][0]["ops"], 20);
}

#[test]
fn a_run_that_is_interrupted_is_kept_with_what_it_printed() {
    let place = Place::new();
    let (child, _progress) = after_the_first_test(place.measuring(LONG, &[]));
    std::thread::sleep(Duration::from_millis(300));
    let run = common::interrupt(child, "-INT", Duration::from_secs(10));
    assert_eq!(run.code, Some(130));
    assert_eq!(place.listed(&[])[0]["state"], "interrupted");
    assert_eq!(place.run(&["results", "show", "1", "--format", "json"]).stdout, run.stdout);
}

#[test]
fn a_run_without_a_test_is_not_kept() {
    let place = Place::new();
    let text = TWO.replace("sync = \"fsync\"", "sync = \"fsync\"\nwrite_cache = \"off\"");
    // The cache of a file's drive is not switched unless requested.
    let run = place.measure(&text, &[]);
    assert_ne!(run.code, Some(0));
    assert_eq!(place.listed(&[]), Vec::<Value>::new());
}

#[test]
fn a_named_store_that_cannot_be_opened_is_refused_before_anything_is_measured() {
    let place = Place::new();
    fs::write(place.path("foreign.csv"), "a,b\n").unwrap();
    let refusal = |store: &str, code| {
        let run = place.measure(TWO, &["--store", store]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{}", run.stderr);
        assert!(common::entries(&place.path("target")).is_empty());
        run.said(place.directory.path(), "PLACE")
    };
    insta::assert_snapshot!(refusal(&place.text("foreign.csv"), 2), @"flushmark: the store PLACE/foreign.csv is not an SQLite database; nothing was changed. Name another store (--store, FLUSHMARK_STORE)");
    insta::assert_snapshot!(refusal(&place.text("target"), 2), @"flushmark: the store PLACE/target is a directory; name a file in it, such as results.db");
    insta::assert_snapshot!(refusal("/proc/results.db", 4), @"flushmark: the store /proc/results.db cannot be used: the file cannot be created: No such file or directory (os error 2)");
    // A server may answer later.
    let run = place.measure(TWO, &["--quiet", "--store", "postgres://u:secret@127.0.0.1:1/d"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    insta::assert_snapshot!(run.stderr.lines().next().unwrap(), @"flushmark: the store postgres://u@127.0.0.1:1/d cannot be reached: Connection refused (os error 111). This run will be saved to a file, and `flushmark results push` keeps it later");
    assert!(run.stderr.contains("results push --store postgres://u@127.0.0.1:1/d` to keep it"));
}

#[test]
fn ones_own_store_that_cannot_be_opened_costs_no_result() {
    let place = Place::new();
    fs::create_dir_all(place.path("data/flushmark/results.db")).unwrap();
    let run = place.measure(TWO, &["--quiet"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(run.document()["results"].as_array().unwrap().len(), 2);
    insta::assert_snapshot!(run.said(place.path("data/flushmark/results.db"), "RESULTS.DB"), @"flushmark: this run will not be kept: the store RESULTS.DB is a directory; name a file in it, such as results.db");
    let mut command = place.measuring(TWO, &["--quiet"]);
    let run = Run::of(command.env_remove("XDG_DATA_HOME").env_remove("HOME").output().unwrap());
    assert_eq!(run.code, Some(0));
    insta::assert_snapshot!(run.words(), @"flushmark: this run will not be kept: neither XDG_DATA_HOME nor HOME is set");
}

/// The only file in the directory, compared with the document that the run printed.
fn saved(directory: &Path, run: &Run) -> String {
    let files = common::entries(directory);
    let [file] = &files[..] else { panic!("{files:?}") };
    assert!(
        fs::read_to_string(directory.join(file)).unwrap() == run.stdout,
        "the file is not what was printed"
    );
    assert!(run.words().contains(file.as_str()), "{}", run.words());
    file.clone()
}

#[test]
fn a_disk_that_fills_up_costs_no_result() {
    if !needs_root("a_disk_that_fills_up_costs_no_result") {
        return;
    }
    let place = Place::new();
    let Some(disk) = Mount::new(
        "a_disk_that_fills_up_costs_no_result",
        &["-t", "tmpfs", "-o", "size=1m", "tmpfs"],
    ) else {
        return;
    };
    let store = format!("{}/results.db", disk.text());
    let (mut child, progress) =
        after_the_first_test(place.measuring(&LONG.replace("60s", "2s"), &["--store", &store]));
    wait_for_a_test(&place, &["--store", &store]);
    // The first byte for which there is no space.
    let _ = fs::write(Path::new(disk.text()).join("filler"), vec![0_u8; 1 << 20]);
    let output = {
        let mut stdout = String::new();
        std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut stdout).unwrap();
        let stderr = progress.lines().map(|line| line.unwrap() + "\n").collect();
        Run { code: child.wait().unwrap().code(), stdout, stderr }
    };
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.document()["results"].as_array().unwrap().len(), 2);
    let file = saved(&place.path("state/flushmark"), &output);
    let said = output.words().replace(&file, "RUN.json").replace(disk.text(), "DISK");
    let said = said.replace(&place.text("state"), "STATE");
    insta::assert_snapshot!(said.lines().last().unwrap(), @"flushmark: the store DISK/results.db cannot be written to: the disk is full (ENOSPC); free some space or name another store (--store, FLUSHMARK_STORE). This run was saved to STATE/flushmark/RUN.json; run `flushmark results push --store DISK/results.db` to keep it");
    // Runs acknowledged before are there.
    assert_eq!(place.listed(&["--store", &store])[0]["tests"], 1);
    assert_eq!(place.listed(&["--store", &store])[0]["state"], "interrupted");

    // Once there is space, the command in the message completes the run.
    fs::remove_file(Path::new(disk.text()).join("filler")).unwrap();
    let file = place.path("state/flushmark").join(file);
    let imported = place.run(&["results", "import", &file.to_string_lossy(), "--store", &store]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    assert!(imported.stdout.contains("1 completed"), "{}", imported.stdout);
    let listed = place.listed(&["--store", &store]);
    let [run] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((&run["tests"], &run["state"]), (&2.into(), &"complete".into()));
    assert!(
        place.run(&["results", "show", "1", "--store", &store, "--format", "json"]).stdout
            == output.stdout
    );
}

#[test]
fn a_directory_for_files_that_is_not_there_either_is_no_end() {
    let Some(nobody) = nobody("a_directory_for_files_that_is_not_there_either_is_no_end") else {
        return;
    };
    // An ordinary user without a home directory.
    let run = nobody.shell(
        "cd /tmp; unset FLUSHMARK_STORE XDG_DATA_HOME; HOME=/nonexistent exec $0 check null: \
         --quiet --format json",
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let plan = "printf '[[test]]\\nname = \"x\"\\npattern = \"randwrite\"\\nsync \
                = \"fsync\"\\nsize = \"1MiB\"\\nwarm_up = \"0s\"\\ncount = 5\\n' > $d/p.toml";
    let run = nobody.shell(&format!(
        "d=$(mktemp -d); {plan}; unset FLUSHMARK_STORE XDG_DATA_HOME; export HOME=/nonexistent; $0 \
         run $d/p.toml --target $d --quiet --format json; code=$?; rm -r $d; exit $code"
    ));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    insta::assert_snapshot!(run.words(), @"flushmark: this run will not be kept: the store /nonexistent/.local/share/flushmark/results.db cannot be written to: this user has no permission to create files in its directory (EACCES); name another store (--store, FLUSHMARK_STORE)");
}

#[test]
fn a_postgresql_that_goes_away_costs_no_result() {
    let Some(mut server) = Server::start("a_postgresql_that_goes_away_costs_no_result") else {
        return;
    };
    let place = Place::new();
    let store = server.database("fleet");
    // It works at all, and for two at once.
    let plan = plan(place.directory.path(), TWO);
    let words = ["run", &plan, "--target", "null:", "--format", "json", "--store", &store];
    let ran: Vec<_> =
        (0..2).map(|_| place.command(&words).stdout(Stdio::piped()).spawn().unwrap()).collect();
    let ran: Vec<_> =
        ran.into_iter().map(|child| Run::of(child.wait_with_output().unwrap())).collect();
    let listed = place.listed(&["--store", &store]);
    assert_eq!(listed.len(), 2);
    for run in &ran {
        let shown = |id: &Value| {
            place
                .run(&["results", "show", &id.to_string(), "--store", &store, "--format", "json"])
                .stdout
        };
        assert!(listed.iter().any(|kept| shown(&kept["id"]) == run.stdout));
    }

    // It goes away during the second test, and does not come back.
    let (child, mut progress) =
        after_the_first_test(place.measuring(&LONG.replace("60s", "2s"), &["--store", &store]));
    wait_for_a_test(&place, &["--store", &store]);
    server.down();
    let mut run = Run::of(child.wait_with_output().unwrap());
    std::io::Read::read_to_string(&mut progress, &mut run.stderr).unwrap();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let file = saved(&place.path("state/flushmark"), &run);
    let socket = server.directory().display().to_string();
    let said = run.words().replace(&file, "RUN.json").replace(&place.text("state"), "STATE");
    let said = said.replace(&socket.replace('/', "%2F"), "SOCKET").replace(&socket, "SOCKET");
    insta::assert_snapshot!(said.lines().last().unwrap(), @"flushmark: the store postgres://postgres@SOCKET/fleet cannot be reached: No such file or directory (os error 2). This run was saved to STATE/flushmark/RUN.json; run `flushmark results push --store postgres://postgres@SOCKET/fleet` to keep it");

    // It comes back during a run: nothing is missing.
    server.up();
    let (child, _progress) = after_the_first_test(place.measuring(LONG, &["--store", &store]));
    wait_for_a_test(&place, &["--store", &store]);
    server.down();
    server.up();
    let run = common::interrupt(child, "-INT", Duration::from_secs(20));
    assert_eq!(run.code, Some(130));
    let listed = place.listed(&["--store", &store]);
    let tests: Vec<_> = listed.iter().map(|kept| kept["tests"].as_u64().unwrap()).collect();
    assert_eq!(tests, [2, 1, 2, 2]);
    let shown = place.run(&["results", "show", "last", "--store", &store, "--format", "json"]);
    assert!(shown.stdout == run.stdout, "what came back is not what was printed");

    // The saved run is sent later, and completes the part that the server had.
    let pushed = || place.run(&["results", "push", "--store", &store]);
    let first = pushed();
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""));
    assert!(first.stdout.contains(".json: kept as run "), "{}", first.stdout);
    let tests = || -> Vec<u64> {
        let listed = place.listed(&["--store", &store]);
        listed.iter().map(|kept| kept["tests"].as_u64().unwrap()).collect()
    };
    assert_eq!(tests(), [2, 2, 2, 2]);
    assert_eq!(pushed().stdout, "Nothing to send.\n");

    // A server that does not answer at the start costs no result either.
    server.down();
    let run = place.run(&["run", &plan, "--target", "null:", "--quiet", "--store", &store]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let (before, after) = run.stderr.split_once('\n').unwrap();
    assert!(before.ends_with("and `flushmark results push` keeps it later"), "{before}");
    assert!(after.contains("This run was saved to "), "{after}");
    let refused = pushed();
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(4), ""));
    server.up();
    assert_eq!(pushed().code, Some(0));
    assert_eq!(tests(), [2, 2, 2, 2, 2]);
}

/// A password on a command line is visible to everybody who can list processes.
#[test]
fn a_password_is_taken_from_where_libpq_takes_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(server) = Server::start("a_password_is_taken_from_where_libpq_takes_it") else {
        return;
    };
    let place = Place::new();
    let url = server.url_with("", "postgres");
    let socket = server.directory().display().to_string();
    let file = |name: &str, password: &str, mode: u32| {
        let password = password.replace(':', "\\:");
        fs::write(
            place.path(name),
            format!("elsewhere:*:*:*:x\n{socket}:*:*:postgres:{password}\n"),
        )
        .unwrap();
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    file("right", postgresql::PASSWORD, 0o600);
    file("wrong", "wrong", 0o600);
    file("open", postgresql::PASSWORD, 0o644);
    file(".pgpass", postgresql::PASSWORD, 0o600);
    let said = |variables: &[(&str, &str)], query: &str| {
        let mut command = place.command(&["results", "list", "--store", &format!("{url}{query}")]);
        command
            .env_remove("PGPASSWORD")
            .env_remove("PGPASSFILE")
            .env("HOME", place.path("nowhere"));
        let run = Run::of(command.envs(variables.iter().copied()).output().unwrap());
        run.said(place.directory.path(), "PLACE").replace(&socket.replace('/', "%2F"), "SOCKET")
    };
    let (right, wrong, open) = (place.text("right"), place.text("wrong"), place.text("open"));
    let home = place.directory.path().to_string_lossy();
    let lets_in: [(&[(&str, &str)], &str); 5] = [
        (&[("PGPASSWORD", postgresql::PASSWORD), ("PGPASSFILE", &wrong)], ""),
        (&[("PGPASSFILE", &right)], ""),
        (&[("PGPASSFILE", &right), ("PGPASSWORD", "")], ""),
        (&[("HOME", &home)], ""),
        (&[("PGPASSFILE", &wrong)], &format!("?passfile={right}")),
    ];
    for (variables, query) in lets_in {
        let said = said(variables, query);
        assert!(said.contains("does not exist; `flushmark check`"), "{variables:?}: {said}");
    }
    insta::assert_snapshot!(said(&[("PGPASSFILE", &wrong)], ""), @r#"flushmark: the store postgres://postgres@SOCKET/postgres rejected the login: password authentication failed for user "postgres". Give the password in PGPASSWORD, in the file named by PGPASSFILE or ~/.pgpass, or in the URL"#);
    insta::assert_snapshot!(said(&[("PGPASSFILE", &open)], ""), @r#"flushmark: the store postgres://postgres@SOCKET/postgres rejected the login: password authentication failed for user "postgres"; the password file PLACE/open was ignored because other users can read it; run chmod 600 on it. Give the password in PGPASSWORD, in the file named by PGPASSFILE or ~/.pgpass, or in the URL"#);
    insta::assert_snapshot!(said(&[], ""), @r#"flushmark: the store postgres://postgres@SOCKET/postgres rejected the login: password authentication failed for user "postgres". Give the password in PGPASSWORD, in the file named by PGPASSFILE or ~/.pgpass, or in the URL"#);
}

#[test]
fn deleting_asks_on_a_terminal() {
    if system("script", &["--version"]).is_err() {
        eprintln!("skipped: deleting_asks_on_a_terminal: there is no `script` (package bsdutils)");
        return;
    }
    let place = Place::new();
    place.measure(TWO, &["--quiet"]);
    let answer = |answer: &str| {
        let program = flushmark().get_program().to_string_lossy().into_owned();
        let typed =
            format!("printf '{answer}\\n' | script -qec '{program} results delete 1' /dev/null");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &typed])
            .env_remove("FLUSHMARK_STORE")
            .env("XDG_DATA_HOME", place.path("data"));
        Run::of(shell.output().unwrap()).stdout
    };
    assert!(answer("n").contains("? [y/N]"));
    assert_eq!(place.listed(&[]).len(), 1);
    answer("y");
    assert_eq!(place.listed(&[]).len(), 0);
}
