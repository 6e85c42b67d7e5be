//! `flushmark results compare` and `merge`, through the binary.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use common::{Run, plan, run};
use serde_json::Value;

/// Two committing tests of 20 s each, in virtual time.
const PLAN: &str = "
name = \"pair\"
[[test]]
name = \"commit\"
pattern = \"randwrite\"
block = \"4KiB\"
sync = \"fsync\"
size = \"64MiB\"
time = \"20s\"
[[test]]
name = \"read\"
pattern = \"randread\"
block = \"4KiB\"
size = \"64MiB\"
time = \"20s\"
";

/// Results of the plan on these models, as files.
struct Results {
    directory: tempfile::TempDir,
}

impl Results {
    fn of(models: &[(&str, &str)]) -> Results {
        let directory = tempfile::tempdir().unwrap();
        let plan = plan(directory.path(), PLAN);
        for (name, model) in models {
            let output = directory.path().join(name).display().to_string();
            let run = run(&["run", &plan, "--quiet", "--target", model, "--output", &output]);
            assert_eq!(run.code, Some(0), "{}", run.stderr);
        }
        Results { directory }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    /// Runs the subcommand; words for results are replaced by paths.
    fn results(&self, words: &[&str]) -> Run {
        let path = |word: &str| {
            let is_result =
                |word: &str| Path::new(word).extension().is_some_and(|ending| ending == "json");
            if word.split(',').all(is_result) {
                word.split(',').map(|name| self.path(name)).collect::<Vec<_>>().join(",")
            } else {
                word.to_owned()
            }
        };
        let words: Vec<String> = words.iter().map(|word| path(word)).collect();
        let args: Vec<&str> =
            std::iter::once("results").chain(words.iter().map(String::as_str)).collect();
        run(&args)
    }

    /// A changed copy of a result.
    fn changed(&self, name: &str, copy: &str, change: impl FnOnce(&mut Value)) {
        let mut document: Value =
            serde_json::from_str(&std::fs::read_to_string(self.path(name)).unwrap()).unwrap();
        change(&mut document);
        std::fs::write(self.path(copy), document.to_string()).unwrap();
    }
}

/// A drive without and one with power-loss protection, which is clearly faster.
fn two() -> Results {
    Results::of(&[("slow.json", "sim:samsung-980-1tb"), ("fast.json", "sim:kioxia-cd6-3840gb")])
}

fn first_line(run: &Run) -> &str {
    run.stdout.lines().next().unwrap_or_default()
}

#[test]
fn the_first_line_is_the_answer() {
    let results = two();
    let compared = results.results(&["compare", "slow.json", "fast.json"]);
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    let answer = first_line(&compared).to_owned();
    assert!(answer.starts_with("B commits ") && answer.contains("× faster than A"), "{answer}");
    assert!(answer.ends_with("(computed by models, exact)."), "{answer}");
    let turned = results.results(&["compare", "slow.json", "fast.json", "--baseline", "fast.json"]);
    // The same factor, seen from the other side.
    assert_eq!(first_line(&turned), answer.replace("faster", "slower"));
    let same = results.results(&["compare", "slow.json", "slow.json"]);
    assert_eq!(first_line(&same), "B commits exactly as fast as A (computed by models).");
}

#[test]
fn details_are_shown_when_asked_for() {
    let results = two();
    let shown = |options: &[&str]| {
        let run = results.results(&[&["compare", "slow.json", "fast.json"], options].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stdout
    };
    let [brief, verbose, all] = [&[][..], &["-v"], &["--all"]].map(shown);
    assert!(!brief.contains("commit p99") && brief.contains("Also different: target"), "{brief}");
    assert!(verbose.contains("commit p99") && verbose.contains("What else differs"), "{verbose}");
    assert!(!verbose.contains("sync p99.9") && all.contains("sync p99.9"), "{all}");
    let markdown = shown(&["--format", "markdown", "--verbose"]);
    assert!(markdown.starts_with("**B commits ") && markdown.contains("commit p99"), "{markdown}");
}

#[test]
fn every_format_says_the_same_and_json_holds_to_the_schema() {
    let results = two();
    let json =
        results.results(&["compare", "slow.json", "fast.json", "--format", "json"]).document();
    let schema = serde_json::from_str(include_str!("../../../schemas/compare-1.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    let commits = &json["candidates"][0]["tests"][0]["metrics"][0];
    assert_eq!(commits["metric"], "commits_per_s");
    assert_eq!(commits["verdict"]["direction"], "better");
    let markdown = results.results(&["compare", "slow.json", "fast.json", "--format", "markdown"]);
    assert!(
        markdown.stdout.contains("| B against A | A | B | difference | significance |"),
        "{}",
        markdown.stdout
    );
    let one = results.results(&["compare", "slow.json", "fast.json", "--test", "READ"]);
    assert!(one.stdout.starts_with("B reads ") && !one.stdout.contains("commit"), "{}", one.stdout);
    let all = results.results(&["compare", "slow.json", "fast.json", "--all"]);
    assert!(all.stdout.contains("MiB/s") && all.stdout.contains("sync p99.9"), "{}", all.stdout);
}

#[test]
fn limits_decide_the_exit_code() {
    let results = two();
    let code = |conditions: &[&str]| {
        let conditions: Vec<&str> = conditions.iter().flat_map(|it| ["--fail-if", *it]).collect();
        results.results(&[&["compare", "fast.json", "slow.json"][..], &conditions].concat())
    };
    let failed = code(&["commit_p99 > +10%", "iops < -5%"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(failed.stderr.contains("commit: commit_p99 went from"), "{}", failed.stderr);
    assert!(failed.stderr.contains("and `iops < -5%` fails"), "{}", failed.stderr);
    assert_eq!(code(&["commit_p99 < -10%", "commit_p50 > 1s"]).code, Some(0));
    assert_eq!(code(&["commit_p99 > 0.1ms"]).code, Some(1));
    // A limit that could not be checked takes precedence over one that failed.
    let unheld = code(&["commit_p99 > +10%", "write_p99 > +10%", "read_p50 > +1000000%"]);
    assert_eq!(unheld.code, Some(1), "{}", unheld.stderr);
    let reads = results.results(&[
        "compare", "fast.json", "slow.json", "--test", "read", "--fail-if", "commit_p99 > +10%",
    ]);
    assert_eq!(reads.code, Some(2), "{}", reads.stderr);
    insta::assert_snapshot!(reads.words(), @"flushmark: --fail-if `commit_p99 > +10%` checked nothing: no test on both sides has `commit_p99`; they have iops, mib_per_s, read_mean, read_p50, read_p90, read_p99, read_p99_9");
}

#[test]
fn a_test_that_is_gone_keeps_no_limit() {
    let results = two();
    results.changed("fast.json", "lost.json", |document| {
        document["results"].as_array_mut().unwrap().remove(0);
    });
    results.changed("fast.json", "broken.json", |document| {
        document["results"][0]["ended"] = serde_json::json!({"why": "interrupted"});
        document["results"][0]["elapsed_s"] = 1.0.into();
    });
    let held = |candidate: &str| {
        let run = results.results(&["compare", "fast.json", candidate, "--fail-if", "iops < -50%"]);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        run.said(results.directory.path(), "DIR")
    };
    insta::assert_snapshot!(held("lost.json"), @"flushmark: DIR/lost.json, commit: the baseline has iops of this test, but the candidate does not have the test, so `iops < -50%` fails");
    insta::assert_snapshot!(held("broken.json"), @"flushmark: DIR/broken.json, commit: a run of it ended too early to be conclusive, so `iops < -50%` fails");
}

#[test]
fn several_runs_a_side_count_as_one() {
    let results = Results::of(&[
        ("a.json", "sim:samsung-980-1tb,seed=1"),
        ("b.json", "sim:samsung-980-1tb,seed=2"),
        ("c.json", "sim:kioxia-cd6-3840gb"),
    ]);
    let json =
        results.results(&["compare", "a.json,b.json", "c.json", "--format", "json"]).document();
    assert_eq!(json["baseline"]["runs"], 2);
    let merged = results.results(&["merge", "a.json", "b.json", "--output", "both.json"]);
    assert_eq!((merged.code, merged.stdout.as_str()), (Some(0), ""), "{}", merged.stderr);
    let both = results.results(&["compare", "both.json", "c.json", "--format", "json"]).document();
    assert_eq!(both["baseline"]["runs"], 2);
    let value = |document: &Value| document["candidates"][0]["tests"][0]["metrics"][4].clone();
    assert_eq!(
        value(&both)["baseline"],
        value(&json)["baseline"],
        "percentiles of the pooled latencies"
    );
}

#[test]
fn a_merged_document_is_a_document() {
    let results = two();
    results.changed("slow.json", "again.json", |_| {});
    let merged = results.results(&["merge", "slow.json", "again.json"]).document();
    let schema = serde_json::from_str(include_str!("../../../schemas/run-1.json")).unwrap();
    assert!(jsonschema::draft202012::new(&schema).unwrap().is_valid(&merged));
    assert_eq!(merged["merged_runs"], 2);
    let one: Value =
        serde_json::from_str(&std::fs::read_to_string(results.path("slow.json")).unwrap()).unwrap();
    let ops = |document: &Value| document["results"][0]["ops"].as_u64().unwrap();
    assert_eq!(ops(&merged), 2 * ops(&one));
    assert_eq!(merged["results"][0]["commit_us"]["p99"], one["results"][0]["commit_us"]["p99"]);
    assert_eq!(merged["findings"], one["findings"]);
}

#[test]
fn a_merged_write_cache_matrix_is_judged_like_one_run_s() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    for name in ["a.json", "b.json"] {
        let target = "sim:micron-5100-eco-960gb";
        let run =
            run(&["run", "write-cache", "--quiet", "--target", target, "--output", &path(name)]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let one: Value =
        serde_json::from_str(&std::fs::read_to_string(path("a.json")).unwrap()).unwrap();
    let merged = run(&["results", "merge", &path("a.json"), &path("b.json")]);
    assert_eq!(merged.stderr, "");
    let merged = merged.document();
    let ids = |document: &Value| -> Vec<Value> {
        document["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| finding["id"].clone())
            .collect()
    };
    assert!(ids(&one).contains(&"write-cache-better-off".into()), "{:?}", ids(&one));
    assert_eq!(ids(&merged), ids(&one));
    assert_eq!(merged["fitness"], one["fitness"]);
}

#[test]
fn the_sum_of_two_drives_is_no_drive_s() {
    let results = two();
    let merged = results.results(&["merge", "slow.json", "fast.json"]);
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
    insta::assert_snapshot!(merged.words(), @"flushmark: the runs are not of one drive and filesystem, so the merged result has no findings and no fitness");
    let merged = merged.document();
    assert_eq!(
        (&merged["findings"], &merged["fitness"]),
        (&serde_json::json!([]), &serde_json::json!({}))
    );
    assert_eq!(merged["drive"], Value::Null);
}

#[test]
fn what_is_refused() {
    let results = two();
    results.changed("fast.json", "other.json", |document| {
        document["results"][0]["workload"]["sync_every"] = 8.into();
    });
    results.changed("fast.json", "newer.json", |document| {
        document["schema"] = "flushmark/run/2".into();
    });
    std::fs::write(results.path("cut.json"), "{\"schema\": \"flushmark/run/1\"").unwrap();
    let refused = |words: &[&str]| {
        let run = results.results(words);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        run.said(results.directory.path(), "DIR")
    };
    insta::assert_snapshot!(refused(&["compare", "slow.json"]), @"flushmark: nothing to compare `DIR/slow.json` with; name another result, or several joined by commas");
    insta::assert_snapshot!(refused(&["compare", "slow.json", "nowhere.json"]), @"flushmark: `DIR/nowhere.json` not found: it is neither a file nor a kept run (a number, last, last~1 or @TAG)");
    insta::assert_snapshot!(refused(&["compare", "slow.json", "newer.json"]), @"flushmark: DIR/newer.json: document `flushmark/run/2` was written by a newer flushmark; this version reads up to `flushmark/run/1`. Use that version or a later one");
    insta::assert_snapshot!(refused(&["compare", "slow.json", "cut.json"]), @"flushmark: DIR/cut.json: not a result document of `check` or `run`: invalid JSON (EOF while parsing an object at line 1 column 28)");
    let both =
        ["slow.json", "fast.json"].map(|name| std::fs::read_to_string(results.path(name)).unwrap());
    std::fs::write(results.path("both.json"), both.concat()).unwrap();
    std::fs::write(
        results.path("disk.json"),
        "Synchronous random writes:\n\t   4 kbytes:    158.2 usec/IO =     24.7 Mbytes/s\n",
    )
    .unwrap();
    insta::assert_snapshot!(refused(&["compare", "slow.json", "both.json"]), @"flushmark: DIR/both.json is 2 results in one file; run `flushmark results import DIR/both.json` to keep it, then use the number that is printed");
    insta::assert_snapshot!(refused(&["export", "--format", "csv", "disk.json"]), @"flushmark: DIR/disk.json is the output of diskinfo -S; run `flushmark results import DIR/disk.json` to keep it, then use the number that is printed");
    insta::assert_snapshot!(refused(&["compare", "slow.json", "fast.json", "--test", "nothing"]), @"flushmark: no test on both sides matches `nothing`; they have `commit`, `read`");
    insta::assert_snapshot!(refused(&["compare", "slow.json", "fast.json", "--fail-if", "commit_p99 > fast"]), @"
    error: invalid value 'commit_p99 > fast' for '--fail-if <CONDITION>': expected a number with % for a change from the baseline (`+10%`) or a value with its unit (`5ms`)
      commit_p99 > fast
                   ^^^^

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(refused(&["merge", "slow.json"]), @"flushmark: cannot merge DIR/slow.json: nothing to merge: expected at least two results of the same tests");
    insta::assert_snapshot!(refused(&["merge", "fast.json", "other.json"]), @"flushmark: cannot merge DIR/fast.json, DIR/other.json: the workloads of `commit` differ: `sync_every` is 1 in one result and 8 in another");
    let unlike = results.results(&["compare", "fast.json", "other.json", "-v"]);
    assert!(
        unlike.stdout.contains("commit: the workloads differ: sync_every: 1 and 8"),
        "{}",
        unlike.stdout
    );
}

#[test]
fn kept_runs_are_compared_by_their_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), PLAN);
    let store = directory.path().join("results.db").display().to_string();
    for model in ["sim:samsung-980-1tb", "sim:kioxia-cd6-3840gb"] {
        let run = run(&["run", &plan, "--quiet", "--target", model, "--store", &store]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let compared = run(&["results", "--store", &store, "compare", "1", "last", "--test", "commit"]);
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    assert!(first_line(&compared).contains("× faster than A"), "{}", compared.stdout);
    let gone = run(&["results", "--store", &store, "compare", "1", "7"]);
    assert_eq!(gone.code, Some(2), "{}", gone.stderr);
}

#[test]
fn a_run_is_compared_with_those_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), PLAN);
    let store = directory.path().join("results.db").display().to_string();
    let keep = |model: &str| {
        let kept = run(&["run", &plan, "--quiet", "--target", model, "--store", &store]);
        assert_eq!(kept.code, Some(0), "{}", kept.stderr);
    };
    let results = |words: &[&str]| run(&[&["results", "--store", &store], words].concat());
    keep("sim:samsung-980-1tb");
    let first = results(&["compare", "last", "--last", "10"]);
    assert_eq!(first.code, Some(2), "{}", first.stdout);
    assert!(first.stderr.contains("has no earlier run of"), "{}", first.stderr);
    // Another drive in between does not count.
    keep("sim:kioxia-cd6-3840gb");
    keep("sim:samsung-980-1tb");
    keep("sim:samsung-980-1tb");
    let compared = results(&["compare", "last", "--last", "10"]);
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    assert!(compared.stdout.contains("the 2 before"), "{}", compared.stdout);
    let two = results(&["compare", "last", "1", "--last", "10"]);
    assert_eq!(two.code, Some(2), "{}", two.stdout);
}

#[test]
fn a_merged_run_may_be_kept() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), PLAN);
    let store = directory.path().join("results.db").display().to_string();
    for _ in 0..2 {
        let run =
            run(&["run", &plan, "--quiet", "--target", "sim:samsung-980-1tb", "--store", &store]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let merged = run(&["results", "--store", &store, "merge", "1,2", "--keep"]);
    assert_eq!(
        (merged.code, merged.stdout.as_str()),
        (Some(0), "kept as 3\n"),
        "{}",
        merged.stderr
    );
    let again = run(&["results", "--store", &store, "merge", "1,2", "--keep"]);
    assert_eq!(
        (again.code, again.stdout.as_str()),
        (Some(0), "already kept as 3\n"),
        "{}",
        again.stderr
    );
    let shown = run(&["results", "--store", &store, "show", "3", "--format", "json"]).document();
    assert_eq!(shown["merged_runs"], 2);
}

#[test]
fn the_osd_that_got_slower_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let mut document = serde_json::to_value(samples::document(samples::osds(2, 2))).unwrap();
    std::fs::write(file("before.json"), document.to_string()).unwrap();
    let slower = samples::machine::write(workload::SyncMethod::ODsync, 2100.0, 0.0).result();
    let slower = serde_json::to_value(slower).unwrap();
    let results = document["results"].as_array_mut().unwrap();
    let changed = results.iter_mut().find(|result| result["test"] == "osd.3: write").unwrap();
    // A run of a few seconds, but it consists of five passes.
    assert!(changed["series"]["iops"].as_array().unwrap().len() < 15);
    let ratio = slower["iops"].as_f64().unwrap() / changed["iops"].as_f64().unwrap();
    for pass in changed["passes"].as_array_mut().unwrap() {
        for (figure, by) in [("iops", ratio), ("p50_us", 1.0 / ratio), ("p99_us", 1.0 / ratio)] {
            pass[figure] = (pass[figure].as_f64().unwrap() * by).into();
        }
    }
    for figure in ["commits_per_s", "iops", "write_us", "commit_us", "histograms", "series"] {
        changed[figure] = slower[figure].clone();
    }
    std::fs::write(file("after.json"), document.to_string()).unwrap();
    let run = run(&["results", "compare", &file("before.json"), &file("after.json")]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    insta::assert_snapshot!(run.stdout.replace(&file(""), ""), @"
    B against A, of 8 tests: 1 slower (3.0×), 7 the same within 5 %.
    Most different: osd.3: write (3.0× slower).

      A  before.json  1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC
      B  after.json   1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC

      B against A         A        B  difference       significance
      osd.0: write  1,429/s  1,429/s  same within 5 %  not significant
      osd.0: read   4,000/s  4,000/s  same within 5 %  not significant
      osd.1: write  1,351/s  1,351/s  same within 5 %  not significant
      osd.1: read   3,906/s  3,906/s  same within 5 %  not significant
      osd.2: write    333/s    333/s  same within 5 %  not significant
      osd.2: read   3,922/s  3,922/s  same within 5 %  not significant
      osd.3: write  1,408/s    476/s  3.0× slower      significant
      osd.3: read   3,937/s  3,937/s  same within 5 %  not significant

      Latencies, intervals and remarks: -v.
    ");
}
