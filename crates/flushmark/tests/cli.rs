//! What a person reads before anything is measured: help, listings.

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
    What a durable write really costs on your storage, why, and whether it is really durable

    Usage: flushmark <COMMAND>

    Commands:
      check      What a commit costs here, in under a minute, with nothing destroyed and no root
      run        Run a built-in suite, a plan (TOML), a fio job file or a fio command line
      drives     What this machine's drives are, how their write caches stand, and where they are used
      cache      The volatile write cache of a drive: seen, switched, put back
      host       What of this host slows a commit or endangers it, and what to do
      suites     List the built-in suites: what each answers, how long it takes, where it comes from
      models     Modelled drives: check and run take them as sim:MODEL, in virtual time, where no such
                 drive is at hand
      fit        Make a model of a drive from a measured result of check or run
      emulate    A drive that you do not own, as real storage: over NBD or as a block device, with its
                 latency, its cache, and power cuts on demand
      crash      Every power cut at once: record what a command writes, then check each state that a cut
                 could have left
      verify     Proof that acknowledged writes survive a power cut, or which kind of lie was told
      results    Kept results: list, compare, share
      report     Draw results as one self-contained HTML page: verdict, charts, numbers, findings
      web        Look at kept runs in a browser: list, filter, compare, charts, and tests while they run
      sort       Sort lines or fixed-size records by their bytes, beyond memory if need be
      explain    Play through on models what goes wrong in storage, step by step
      catalogue  Published measurements of drives, with their sources
      help       Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Exit codes:
      0  done
      1  unfit for a use named with --fail-on, (verify check) not proven to keep its word, or
         (results compare) beyond a limit of --fail-if, or (sort --check) not sorted
      2  wrong use, or no test of the plan can run here
      3  refused for safety
      4  I/O or system error; what was measured until then has been printed
      130, 143  interrupted (Ctrl-C, kill); what was measured until then has been printed
    ");
}

#[test]
fn help_of_check() {
    insta::assert_snapshot!(shown(&["check", "--help"]), @"
    What a commit costs here, in under a minute, with nothing destroyed and no root

    Usage: flushmark check [OPTIONS] [PATH]

    Arguments:
      [PATH]
              A directory (a test file is made there and removed), a file, a device under /dev, a
              modelled drive sim:MODEL, or null:
              
              [default: .]

    Options:
          --fail-on <USE[=GRADE]>
              Exit with 1 when a use gets a grade below this one (default: fair). May be given several
              times.
              Uses: ceph-osd, zfs-slog, database-log, general. Grades: poor, fair, good, excellent.

          --destroy-data
              Allow the content of the target, a file or a device, to be overwritten

          --engine <ENGINE>
              The system interface that carries the tests (default: the one that adds the least)

          --format <FORMAT>
              How to print the result

              Possible values:
              - text:        For people
              - json:        The result document
              - fio:         fio's JSON
              - fio+:        fio's JSON+, with the bins of the distributions
              - csv:         A table with one row a test
              - markdown:    For tickets and forum posts
              - openmetrics: Metrics for Prometheus
              
              [default: text]

          --output <FILE>
              Write the result document (JSON) to this file, too

          --metrics-file <FILE>
              Write the result as metrics to this file, too: for node_exporter's textfile collector,
              which takes files that end in .prom

      -q, --quiet
              No progress on stderr

          --store <STORE>
              Keep the run in this store: a file, or postgres://USER@HOST/DATABASE (password:
              PGPASSWORD, ~/.pgpass).
              Default: what FLUSHMARK_STORE names (`none`: keep nothing), else results.db in
              $XDG_DATA_HOME/flushmark or ~/.local/share/flushmark. Runs on a model or null: are kept
              only
              when this option names a store; smoke runs never are.

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
    insta::assert_snapshot!(shown(&["run", "--help"]), @"
    Run a built-in suite, a plan (TOML), a fio job file or a fio command line

    Usage: flushmark run [OPTIONS] [SUITE] [-- <FIO>...]

    Arguments:
      [SUITE]
              A suite's name (see `flushmark suites`), a plan.toml, or a fio job file

      [FIO]...
              A fio command line, as it is

    Options:
      -t, --target <TARGET>
              Where to run: a directory, a file, a device under /dev, a modelled drive sim:MODEL (see
              `flushmark models`), or null:

          --time <TIME>
              Cut every timed test to this, such as 30s or 250ms

          --in-use
              Let tests that ask for it switch the write cache of a drive that is in use, until the end
              of the run

          --smoke
              Seconds for the whole suite: shows that everything works here; the numbers mean nothing,
              and are not kept

          --destroy-data
              Allow the content of the target, a file or a device, to be overwritten

          --engine <ENGINE>
              The system interface that carries the tests (default: the one that adds the least)

          --format <FORMAT>
              How to print the result

              Possible values:
              - text:        For people
              - json:        The result document
              - fio:         fio's JSON
              - fio+:        fio's JSON+, with the bins of the distributions
              - csv:         A table with one row a test
              - markdown:    For tickets and forum posts
              - openmetrics: Metrics for Prometheus
              
              [default: text]

          --output <FILE>
              Write the result document (JSON) to this file, too

          --metrics-file <FILE>
              Write the result as metrics to this file, too: for node_exporter's textfile collector,
              which takes files that end in .prom

      -q, --quiet
              No progress on stderr

          --store <STORE>
              Keep the run in this store: a file, or postgres://USER@HOST/DATABASE (password:
              PGPASSWORD, ~/.pgpass).
              Default: what FLUSHMARK_STORE names (`none`: keep nothing), else results.db in
              $XDG_DATA_HOME/flushmark or ~/.local/share/flushmark. Runs on a model or null: are kept
              only
              when this option names a store; smoke runs never are.

          --no-store
              Do not keep the run

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
            // Words that do not exist are refused before the help that stands behind them is shown.
            let words = example.split_whitespace().take_while(|word| ![">", "--"].contains(word)).chain(["--help"]);
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
    let json: serde_json::Value = serde_json::from_str(&shown(&["catalogue", "--format", "json"])).unwrap();
    let rows: usize = json.as_array().unwrap().iter().map(|drive| drive["rows"].as_array().unwrap().len()).sum();
    assert_eq!(rows, 115);
    let unknown = run(&["catalogue", "samsung-990-pro"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("samsung-990-pro-ext4"), "{}", unknown.stderr);
}

#[test]
fn a_check_can_decide() {
    // Nothing decides on null:, and what is not known to be fit is not fit. Asked with JSON alone on stdout.
    let args = ["run", "quick", "--smoke", "--target", "null:", "--quiet", "--format", "json"];
    let document: serde_json::Value = serde_json::from_str(&shown(&args)).unwrap();
    assert_eq!((document["smoke"].as_bool(), document["findings"].as_array().map(Vec::len)), (Some(true), Some(0)));
    let wrong = run(&["check", "--fail-on", "slog"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("`slog` is no use"), "{}", wrong.stderr);
}
