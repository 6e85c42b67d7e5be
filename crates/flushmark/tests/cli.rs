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

    Usage: flushmark [OPTIONS] <COMMAND>

    Measure:
      check        Measure what a commit costs here, in under a minute
      run          Run a suite, a plan, a fio job file or a fio command
      db           Measure or watch what commits cost on a database server
      suites       List the built-in suites, or print one as a plan

    Inspect:
      drives       Show this machine's drives, their write caches and users
      host         Find what on this host slows or endangers commits
      cache        Show, switch or restore a drive's volatile write cache
      trace        Show where a commit spends its time, layer by layer
      watch        Show writes and flushes second by second, and who commits
      catalogue    List published drive measurements, and add your own

    Model and emulate:
      models       List the modelled drives, or print one as a model file
      fit          Fit a drive model to a measured result of check or run
      emulate      Serve a modelled drive over NBD, FUSE or a block device
      explain      Show step by step on models how storage loses data

    Clusters and fleets:
      ceph         Examine and measure a Ceph cluster, or size a planned one
      fleet        Add up, compare and follow the runs of many hosts

    Prove:
      verify       Prove that acknowledged writes survive a power loss
      crash        Check the states that a power cut could have left

    Keep and share:
      results      List, compare, merge, import and export kept runs
      report       Render results or traces as one self-contained HTML page
      web          Browse kept runs, and tests as they run, in a browser

    Other:
      completions  Print the script that completes arguments in a shell
      manual       Write the manual pages of all verbs to a directory
      help         Print this message or the help of the given subcommand(s)

    Options:
          --color <WHEN>  Colour the output: auto (on a terminal without NO_COLOR), always or never
      -h, --help          Print help
      -V, --version       Print version

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

    Usage: flushmark [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn help_of_check() {
    insta::assert_snapshot!(shown(&["check", "--help"]), @"
    Measure what a commit costs here, in under a minute

    Nothing is destroyed, and root is not needed.

    Usage: flushmark check [OPTIONS] [TARGET]...

    Arguments:
      [TARGET]...
              Where to measure: a directory (for a test file that is removed afterwards), a file, a
              device under /dev, a modelled drive sim:MODEL (see `flushmark models`), an NBD export
              nbd://HOST/EXPORT, a Ceph image rbd:POOL/IMAGE, objects in a Ceph pool rados:POOL, or
              null:. Several are measured at once

    Options:
      -t, --target <TARGET>
              The same, for use anywhere on the command line

          --fail-on <USE[=GRADE]>
              Exit with 1 if the grade for this use is below GRADE (default: fair). Can be given several
              times.
              Uses: ceph-osd, zfs-slog, database-log, general. Grades: poor, fair, good, excellent.

          --smoke
              Run all tests in seconds to show that everything works; the numbers are meaningless and
              are not kept

          --group <NAME>
              Begin each test at the same moment as the other hosts of this group; they meet in the
              PostgreSQL store

          --hosts <N>
              The number of hosts in the group (1 to 100,000)

          --group-wait <TIME>
              How long to wait for hosts of the group that are missing or not ready; then the others go
              on
              
              [default: 2min]

          --start-at <TIME>
              Begin the first test at this time, such as 2026-12-01T03:00:00Z, and the others at times
              that follow from it: without a store, hosts begin together as well as their clocks agree

          --destroy-data
              Allow overwriting the content of the target file or device

          --engine <ENGINE>
              The system interface to test with [default: the one with the least overhead]
              
              [possible values: auto, psync, io_uring, libaio]

          --trace
              Repeat each test that commits for two seconds under the kernel's tracer, to show where the
              time of a commit goes

      -v, --verbose
              Show everything: distributions, evidence, confidence, and the nearest published drives

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
              PGPASSWORD, ~/.pgpass); `none` keeps nothing. Default: $FLUSHMARK_STORE, else `store` in
              the configuration file, else results.db in $XDG_DATA_HOME/flushmark or
              ~/.local/share/flushmark. Runs on a model or null: are kept only if this option names a
              store; smoke runs never are.

          --label <TEXT>
              A name for this run, for lists, comparisons and reports

          --color <WHEN>
              Colour the output: auto (on a terminal without NO_COLOR), always or never

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      flushmark check
      flushmark check /var/lib/postgresql --label 'after firmware 2.1'
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

    Usage: flushmark run [OPTIONS] [SUITE] [TARGET]... [-- <FIO>...]

    Arguments:
      [SUITE]
              A suite (see `flushmark suites`), a plan (TOML) or a fio job file

      [TARGET]...
              Where to measure: a directory (for a test file that is removed afterwards), a file, a
              device under /dev, a modelled drive sim:MODEL (see `flushmark models`), an NBD export
              nbd://HOST/EXPORT, a Ceph image rbd:POOL/IMAGE, objects in a Ceph pool rados:POOL, or
              null:. Several are measured at once

      [FIO]...
              A fio command line, unchanged

    Options:
      -t, --target <TARGET>
              The same, for use anywhere on the command line

          --time <TIME>
              Run every timed test for this long, such as 30s or 4h

          --as-published
              Run the tests as long as the suite's source did, with its rests and preconditioning

          --in-use
              Allow tests to switch the write cache of a drive that is in use, until the end of the run

          --smoke
              Run the whole suite in seconds to show that everything works; the numbers are meaningless
              and are not kept

          --group <NAME>
              Begin each test at the same moment as the other hosts of this group; they meet in the
              PostgreSQL store

          --hosts <N>
              The number of hosts in the group (1 to 100,000)

          --group-wait <TIME>
              How long to wait for hosts of the group that are missing or not ready; then the others go
              on
              
              [default: 2min]

          --start-at <TIME>
              Begin the first test at this time, such as 2026-12-01T03:00:00Z, and the others at times
              that follow from it: without a store, hosts begin together as well as their clocks agree

          [the options of check]

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      flushmark run journal /var/lib/ceph
      flushmark run ceph-disk /dev/sdx /dev/sdy --destroy-data
      flushmark run plan.toml /mnt/nfs --group nfs --hosts 8 --store postgres://db1/fleet
      flushmark run slog /dev/sdx --destroy-data --label 'slog candidate'
      flushmark run write-cache sim:micron-5100-eco-960gb
      flushmark run my-plan.toml . --format json > result.json
      flushmark run job.fio /mnt/test
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
    let list = |value: &serde_json::Value| value.as_array().unwrap().clone();
    let tables = list(&json).into_iter().flat_map(|drive| list(&drive["tables"]));
    assert_eq!(tables.map(|table| list(&table["rows"]).len()).sum::<usize>(), 866);
    let unknown = run(&["catalogue", "samsung-991-pro-2tb"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("samsung-990-pro-2tb"), "{}", unknown.stderr);
}

#[test]
fn the_catalogue_is_filtered() {
    let names = |args: &[&str]| {
        let args = [&["catalogue", "--format", "json"][..], args].concat();
        let found: serde_json::Value = serde_json::from_str(&shown(&args)).unwrap();
        let names = found.as_array().unwrap().iter().map(|drive| drive["name"].to_string());
        names.collect::<Vec<_>>().join(" ")
    };
    insta::assert_snapshot!(names(&["kc3000"]), @r#""kingston-kc3000-1tb-x4-raid10" "kingston-kc3000-2tb-x2-raid1" "kingston-kc3000-512gb""#);
    insta::assert_snapshot!(names(&["--class", "disk"]), @r#""wd-wd2002fyps-2tb" "wd-wd2002fyps-2tb-x4-raid5" "wd-wd2502abys" "wd-wd40ezrx-4tb-x2-raid1""#);
    insta::assert_snapshot!(names(&["--protected", "claimed"]), @r#""crucial-t500-2tb""#);
    insta::assert_snapshot!(names(&["samsung", "--class", "enterprise-sata"]), @r#""samsung-pm863" "samsung-pm863-1920gb" "samsung-pm863-240gb" "samsung-pm863a-240gb" "samsung-sm863-240gb""#);
    // Part of one name shows that drive.
    assert!(shown(&["catalogue", "s70-blade"]).contains("XPG Gammix S70 Blade 2 TB"));
    let none = run(&["catalogue", "kc3000", "--class", "disk"]);
    assert_eq!(none.code, Some(2));
    insta::assert_snapshot!(none.stderr, @"flushmark: no drive of the catalogue meets all of these conditions; remove the name, --class or --protected");
    let class = run(&["catalogue", "--class", "tape"]);
    assert_eq!(class.code, Some(2));
    insta::assert_snapshot!(class.stderr, @"
    error: invalid value 'tape' for '--class <CLASS>'
      [possible values: enterprise-nvme, enterprise-pcie, enterprise-sas, enterprise-sata, consumer-nvme, consumer-pcie, consumer-sata, cloud-local, cloud-volume, disk, usb-stick]

    For more information, try '--help'.
    ");
}

#[test]
fn a_check_can_decide() {
    // Nothing can be judged on null:, and a use with an unknown grade is not fit. JSON on stdout
    // stays clean.
    let args = ["run", "check", "--smoke", "--target", "null:", "--quiet", "--format", "json"];
    let document: serde_json::Value = serde_json::from_str(&shown(&args)).unwrap();
    assert_eq!(
        (document["smoke"].as_bool(), document["findings"].as_array().map(Vec::len)),
        (Some(true), Some(0))
    );
    let wrong = run(&["check", "--fail-on", "slog"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("unknown use `slog`"), "{}", wrong.stderr);
}

#[test]
fn help_of_watch() {
    insta::assert_snapshot!(shown(&["watch", "--help"]), @"
    Show writes and flushes second by second, and who commits

    Prints a line for each drive and second: writes and flushes per second, and their mean times, from
    the kernel's own counters. Writes nothing to the drives. As root, it also shows which processes
    commit (fsync, fdatasync, msync, sync, syncfs), and traces a sample of their commits: the median,
    the 99th percentile, and the layer that takes most of the time.

    Usage: flushmark watch [OPTIONS] [DEVICE|PATH]...

    Arguments:
      [DEVICE|PATH]...
              Devices, or paths on the drives to watch [default: all drives]

    Options:
          --interval <TIME>
              Time between two lines (at least 100ms)
              
              [default: 1s]

          --for <TIME>
              Stop after this time [default: run until Ctrl-C]

          --openmetrics <FILE|ADDRESS>
              Also publish the counters as metrics for Prometheus: in a file that is replaced after each
              interval, or over HTTP under /metrics at PORT, :PORT (of this machine only) or
              ADDRESS:PORT

          --format <FORMAT>
              Output format; JSON has one line for each interval

              Possible values:
              - text: For people
              - json: For programs
              
              [default: text]

          --color <WHEN>
              Colour the output: auto (on a terminal without NO_COLOR), always or never

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      flushmark watch
      sudo flushmark watch /var/lib/postgresql --for 1min
      flushmark watch /dev/sda /dev/nvme0n1 --interval 10s --format json
      sudo flushmark watch --openmetrics :9487

    Press Ctrl-C to stop.
    ");
}

#[test]
fn ceph_help() {
    insta::assert_snapshot!(shown(&["ceph", "--help"]), @"
    Examine and measure a Ceph cluster, or size a planned one

    Usage: flushmark ceph [OPTIONS] <COMMAND>

    Commands:
      check       Whether a cluster is well, what a commit costs on it, and which OSDs are slow
      sizing      What to provide for a planned cluster, and the latency and rate to expect of it
      layout      What the cluster consists of, and what is wrong with its layout
      osds        What a commit costs on each OSD by itself, which ones are slow, and where the time
                  goes
      tell-bench  Run the OSDs' own benchmark, and show how far it is from what a commit costs
      bench       What one client gets from a pool, or from an image with and without librbd's cache
      help        Print this message or the help of the given subcommand(s)

    Options:
          --color <WHEN>  Colour the output: auto (on a terminal without NO_COLOR), always or never
      -h, --help          Print help
    ");
    insta::assert_snapshot!(shown(&["ceph", "tell-bench", "--help"]), @"
    Run the OSDs' own benchmark, and show how far it is from what a commit costs

    `ceph tell osd.N bench`, in both forms: 3,000 blocks of 4 KiB over parts of 100 objects, and 1 GiB
    in blocks of 4 MiB, each a new object. The OSD removes them. OSDs are benchmarked one after the
    other, and serve their clients slowly meanwhile; the commands are shown and asked for first.

    Usage: flushmark ceph tell-bench [OPTIONS]

    Options:
          --osd <ID>
              Only these OSDs

          --host <HOST>
              Only OSDs on this host

          --class <CLASS>
              Only OSDs of this device class, such as ssd

          --yes
              Do not ask

          --compare <RESULT>
              Show the figures at depth 1 of this result of `flushmark ceph osds`: a kept run (12, last,
              last~1) or a file [default: the newest kept one of this cluster]

          --store <STORE>
              The store: a file, or postgres://USER@HOST/DATABASE (password: PGPASSWORD, ~/.pgpass).
              Default: $FLUSHMARK_STORE, else `store` in the configuration file, else results.db in
              $XDG_DATA_HOME/flushmark or ~/.local/share/flushmark.

          --format <FORMAT>
              Output format

              Possible values:
              - text: For people
              - json: For programs
              
              [default: text]

          --color <WHEN>
              Colour the output: auto (on a terminal without NO_COLOR), always or never

      -h, --help
              Print help (see a summary with '-h')

    Cluster:
          --id <NAME>
              The user, without `client.` [default: admin]

          --conf <FILE>
              The configuration file [default: $CEPH_CONF, else Ceph's own places]

          --keyring <FILE>
              The file with the user's key

          --cluster <NAME>
              The cluster's name, from which the names of these files follow [default: ceph]
    ");
}

#[test]
fn help_of_ceph_bench() {
    insta::assert_snapshot!(shown(&["ceph", "bench", "-h"]), @"
    What one client gets from a pool, or from an image with and without librbd's cache

    Usage: flushmark ceph bench [OPTIONS] <--pool <POOL>|--image <POOL/IMAGE>> [SUITE]

    Arguments:
      [SUITE]  A suite (see `flushmark suites`), a plan (TOML) or a fio job file [default: ceph-disk]

    Options:
          --pool <POOL>          Measure objects in this pool
          --image <POOL/IMAGE>   Measure this image
          --cache <CACHE>        Measure the image with librbd's cache off, on, or first off and then
                                 on, and compare [default: both] [possible values: off, on, both]
          --no-fill              Do not write the image once beforehand; the first write to each of its
                                 objects then creates the object
          --time <TIME>          Run every timed test for this long, such as 30s or 4h
          --smoke                Run the whole suite in seconds to show that everything works; the
                                 numbers are meaningless and are not kept
          --destroy-data         Allow overwriting the content of the target file or device
          --engine <ENGINE>      The system interface to test with [default: the one with the least
                                 overhead] [possible values: auto, psync, io_uring, libaio]
          --trace                Repeat each test that commits for two seconds under the kernel's
                                 tracer, to show where the time of a commit goes
      -v, --verbose              Show everything: distributions, evidence, confidence, and the nearest
                                 published drives
          --format <FORMAT>      Output format [default: text] [possible values: text, json, fio, fio+,
                                 csv, markdown, openmetrics]
          --output <FILE>        Also write the result document (JSON) to this file
          --metrics-file <FILE>  Also write the result as metrics to this file, for node_exporter's
                                 textfile collector (it reads files that end in .prom)
      -q, --quiet                Show no progress on stderr
          --store <STORE>        Keep the run in this store: a file, or postgres://USER@HOST/DATABASE;
                                 or none
          --label <TEXT>         A name for this run, for lists, comparisons and reports
          --color <WHEN>         Colour the output: auto (on a terminal without NO_COLOR), always or
                                 never
      -h, --help                 Print help (see more with '--help')

    Cluster:
          --id <NAME>       The user, without `client.` [default: admin]
          --conf <FILE>     The configuration file [default: $CEPH_CONF, else Ceph's own places]
          --keyring <FILE>  The file with the user's key
          --cluster <NAME>  The cluster's name, from which the names of these files follow [default:
                            ceph]

    Examples:
      flushmark ceph bench --pool rbd
      flushmark ceph bench --image rbd/test --destroy-data
      flushmark ceph bench journal --image rbd/test --cache off --time 30s --destroy-data
    ");
}

#[test]
fn ceph_bench_takes_one_place() {
    let refused = run(&["ceph", "bench"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--pool <POOL>|--image <POOL/IMAGE>"), "{}", refused.stderr);
    let refused = run(&["ceph", "bench", "--pool", "p", "--cache", "on"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--cache"), "{}", refused.stderr);
}

#[test]
fn what_can_be_explained_is_listed_where_nothing_was_named() {
    let run = run(&["explain"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("raid-write-hole"), "{}", run.stderr);
}
