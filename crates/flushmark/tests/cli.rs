//! Help and listings: what users read before anything is measured.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::run;

fn shown(args: &[&str]) -> String {
    let run = run(args);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{args:?}");
    run.stdout
}

#[test]
fn help() {
    insta::assert_snapshot!(shown(&["--help"]), @"
    Measures what commits really cost on your storage, explains why, and proves whether they survive

    Usage: flushmark <COMMAND>

    Measure:
      check      Measure what a commit costs here, in under a minute
      run        Run a suite, a plan, a fio job file or a fio command
      suites     List the built-in suites, or print one as a plan

    Inspect:
      drives     Show this machine's drives, their write caches and users
      host       Find what on this host slows or endangers commits
      cache      Show, switch or restore a drive's volatile write cache
      catalogue  List published drive measurements with their sources

    Model and emulate:
      models     List the modelled drives, or print one as a model file
      fit        Fit a drive model to a measured result of check or run
      emulate    Serve a modelled drive over NBD, FUSE or a block device
      explain    Show step by step on models how storage loses data

    Prove:
      verify     Prove that acknowledged writes survive a power loss
      crash      Check every state that a power cut could have left

    Keep and share:
      results    List, compare, merge, import and export kept runs
      report     Render results as one self-contained HTML page
      web        Browse kept runs, and tests as they run, in a browser

    Other:
      help       Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Exit codes:
      0  success
      1  unfit for a use given with --fail-on, (verify check) not proven honest, or
         (results compare) beyond a limit of --fail-if
      2  usage error, or no test of the plan can run here
      3  refused for safety
      4  I/O or system error; what was measured before it is printed
      130, 143  interrupted (Ctrl-C, kill); what was measured before is printed
    ");
}

#[test]
fn a_typo_in_a_verb_gets_a_suggestion() {
    for (typo, verb) in
        [("chekc", "check"), ("reprot", "report"), ("verfy", "verify"), ("catalog", "catalogue")]
    {
        let wrong = run(&[typo]);
        assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(2), ""));
        assert!(
            wrong.stderr.contains(&format!("tip: a similar subcommand exists: '{verb}'")),
            "{}",
            wrong.stderr
        );
    }
}

#[test]
fn a_user_who_looks_for_the_sort_is_sent_to_its_program() {
    let wrong = run(&["sort", "urls.txt"]);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(wrong.stderr.trim_end(), @"
    error: unrecognized subcommand 'sort'

      tip: the separate program 'prefixsort' sorts files

    Usage: flushmark <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn help_of_check() {
    insta::assert_snapshot!(shown(&["check", "--help"]), @"
    Measure what a commit costs here, in under a minute

    Nothing is destroyed, and root is not needed.

    Usage: flushmark check [OPTIONS] [PATH]

    Arguments:
      [PATH]
              A directory (for a test file that is removed afterwards), a file, a device under /dev, a
              modelled drive sim:MODEL, an NBD export nbd://HOST/EXPORT, or null:
              
              [default: .]

    Options:
          --fail-on <USE[=GRADE]>
              Exit with 1 if the grade for this use is below GRADE (default: fair). Can be given several
              times.
              Uses: ceph-osd, zfs-slog, database-log, general. Grades: poor, fair, good, excellent.

          --destroy-data
              Allow overwriting the content of the target file or device

          --engine <ENGINE>
              The system interface to test with [default: the one with the least overhead]

          --format <FORMAT>
              Output format

              Possible values:
              - text:        Text for the terminal
              - json:        The result document
              - fio:         fio's JSON
              - fio+:        fio's JSON+, with the bins of the distributions
              - csv:         A table with one row per test
              - markdown:    For tickets and forum posts
              - openmetrics: Metrics for Prometheus
              
              [default: text]

          --output <FILE>
              Also write the result document (JSON) to this file

          --metrics-file <FILE>
              Also write the result as metrics to this file, for node_exporter's textfile collector (it
              reads files that end in .prom)

      -q, --quiet
              Show no progress on stderr

          --store <STORE>
              Keep the run in this store: a file, or postgres://USER@HOST/DATABASE (password:
              PGPASSWORD, ~/.pgpass).
              Default: $FLUSHMARK_STORE (`none` keeps nothing), else results.db in
              $XDG_DATA_HOME/flushmark
              or ~/.local/share/flushmark. Runs on a model or null: are kept only if this option names a
              store; smoke runs never are.

          --no-store
              Do not keep the run

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      flushmark check
      flushmark check /var/lib/postgresql
      flushmark check /mnt/new-ssd --fail-on database-log --format json > check.json
    ");
}

#[test]
fn help_of_run() {
    let check = shown(&["check", "--help"]);
    let shared = &check[check.find("      --destroy-data").unwrap()..];
    let shared = &shared[..shared.find("  -h, --help").unwrap()];
    let help = shown(&["run", "--help"]);
    assert_eq!(help.matches(shared).count(), 1, "{help}");
    insta::assert_snapshot!(help.replace(shared, "      [the options of check]\n\n"), @"
    Run a suite, a plan, a fio job file or a fio command

    Usage: flushmark run [OPTIONS] [SUITE] [-- <FIO>...]

    Arguments:
      [SUITE]
              A suite (see `flushmark suites`), a plan (TOML) or a fio job file

      [FIO]...
              A fio command line, unchanged

    Options:
      -t, --target <TARGET>
              Where to run: a directory, a file, a device under /dev, a modelled drive sim:MODEL (see
              `flushmark models`), an NBD export nbd://HOST/EXPORT, or null:

          --time <TIME>
              Shorten every timed test to this, such as 30s or 250ms

          --in-use
              Allow tests to switch the write cache of a drive that is in use, until the end of the run

          --smoke
              Run the whole suite in seconds to show that everything works; the numbers are meaningless
              and are not kept

          [the options of check]

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      flushmark run journal --target /var/lib/ceph
      flushmark run slog --target /dev/sdx --destroy-data
      flushmark run write-cache --target sim:micron-5100-eco-960gb
      flushmark run my-plan.toml --target . --format json > result.json
      flushmark run job.fio --target /mnt/test
      flushmark run --rw randwrite --bs 4k --fsync 1 --runtime 60 --target .
      flushmark run --destroy-data -- fio -rw=write -bs=4k -sync=1 -runtime=60 -filename=/dev/sdx
    ");
}

#[test]
fn the_examples_of_the_help_parse() {
    for verb in ["check", "run"] {
        let help = shown(&[verb, "--help"]);
        let examples = help.lines().filter_map(|line| line.trim().strip_prefix("flushmark "));
        for example in examples {
            // Unknown words are refused before the help after them is shown.
            let words = example
                .split_whitespace()
                .take_while(|word| ![">", "--"].contains(word))
                .chain(["--help"]);
            shown(&words.collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_suite_s_plan_is_printed_to_start_from() {
    let text = shown(&["suites", "journal"]);
    assert!(workload::Plan::from_toml("journal.toml", &text).is_ok());
    assert_eq!(run(&["suites", "nothing"]).code, Some(2));
}

#[test]
fn the_catalogue() {
    assert!(shown(&["catalogue"]).contains("micron-5100-eco-960gb"));
    assert!(shown(&["catalogue", "micron-5100-eco-960gb"]).contains("22,200"));
    let json: serde_json::Value =
        serde_json::from_str(&shown(&["catalogue", "--format", "json"])).unwrap();
    let rows: usize =
        json.as_array().unwrap().iter().map(|drive| drive["rows"].as_array().unwrap().len()).sum();
    assert_eq!(rows, 115);
    let unknown = run(&["catalogue", "samsung-990-pro"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("samsung-990-pro-ext4"), "{}", unknown.stderr);
}

#[test]
fn a_check_can_decide() {
    // Nothing can be judged on null:, and a use with an unknown grade is not fit. JSON on stdout
    // stays clean.
    let args = ["run", "quick", "--smoke", "--target", "null:", "--quiet", "--format", "json"];
    let document: serde_json::Value = serde_json::from_str(&shown(&args)).unwrap();
    assert_eq!(
        (document["smoke"].as_bool(), document["findings"].as_array().map(Vec::len)),
        (Some(true), Some(0))
    );
    let wrong = run(&["check", "--fail-on", "slog"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("unknown use `slog`"), "{}", wrong.stderr);
}
