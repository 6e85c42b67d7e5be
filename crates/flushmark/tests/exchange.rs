//! Results imported from and exported to other tools, through the binary.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use common::{Run, entries, flushmark, needs_rigs, python, run, system};

const SAMSUNG: &str = include_str!("../../formats/tests/fixtures/fio/samsung-980.txt");
const PLUS: &str = include_str!("../../formats/tests/fixtures/fio/3.33-mix-plus.json");

fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    directory
}

/// A run of milliseconds without a device, in this format.
fn on_null(more: &[&str]) -> Run {
    run(&[&["run", "check", "--smoke", "--quiet", "--target", "null:"], more].concat())
}

#[test]
fn a_directory_is_read_and_what_is_none_is_named() {
    let files = directory(&[
        ("a/samsung.txt", SAMSUNG),
        ("b/plus.json", PLUS),
        ("b/README", "Results of May"),
        ("c/cut.json", &PLUS[..999]),
    ]);
    // Run in the directory, so that the table's width does not depend on the temporary path.
    let mut import = flushmark();
    let run = Run::of(
        import
            .args(["results", "import", "--dry-run", ".", "/no/such/file"])
            .current_dir(files.path())
            .output()
            .unwrap(),
    );
    assert_eq!(run.code, Some(4));
    insta::assert_snapshot!(run.stdout, @"
      file             from        drive    tests
      ./a/samsung.txt  fio (text)  nvme0n1      1
      ./b/plus.json    fio (JSON)  vda          3

    2 files read: 2 runs, 4 tests.
    3 files could not be read.
    ");
    insta::assert_snapshot!(run.words(), @"
    flushmark: ./b/README: unknown format; expected a result document of check or run, or output of fio (JSON, JSON+ or text), diskinfo -S, pg_test_fsync, fsyncperf or sysbench fileio
    flushmark: ./c/cut.json: the output of fio (JSON) is cut short (EOF while parsing a value at line 46 column 2): import the complete output
    flushmark: /no/such/file: cannot read it: No such file or directory (os error 2)
    ");
}

#[test]
fn files_of_every_kind_are_read_or_named() {
    let files = directory(&[
        ("samsung.txt", SAMSUNG),
        ("windows.txt", &SAMSUNG.replace('\n', "\r\n")),
        ("empty.txt", ""),
    ]);
    let write = |name: &str, bytes: &[u8]| std::fs::write(files.path().join(name), bytes).unwrap();
    let powershell: Vec<u8> =
        format!("\u{feff}{SAMSUNG}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    write("powershell.txt", &powershell);
    write("marked.txt", format!("\u{feff}{SAMSUNG}").as_bytes());
    write("packed.gz", b"\x1f\x8b\x08\0\0\0\0\0");
    std::fs::create_dir(files.path().join("directory")).unwrap();
    // As long as a disk image, but sparse.
    std::fs::File::create(files.path().join("image.raw")).unwrap().set_len(1 << 30).unwrap();
    system("mkfifo", &[files.path().join("pipe").to_str().unwrap()]).unwrap();
    let mut import = flushmark();
    import.args(["results", "import", "--dry-run", ".", "directory"]).current_dir(files.path());
    let run = Run::of(import.output().unwrap());
    assert_eq!(run.code, Some(4));
    insta::assert_snapshot!(run.stdout, @"
      file              from        drive    tests
      ./marked.txt      fio (text)  nvme0n1      1
      ./powershell.txt  fio (text)  nvme0n1      1
      ./samsung.txt     fio (text)  nvme0n1      1
      ./windows.txt     fio (text)  nvme0n1      1

    4 files read: 4 runs, 4 tests.
    4 files could not be read.
    ");
    insta::assert_snapshot!(run.words(), @"
    flushmark: ./empty.txt: it is empty
    flushmark: ./image.raw: larger than 256 MiB, which no tool's output is
    flushmark: ./packed.gz: it is compressed (gzip); unpack it first: zcat FILE | flushmark results import -
    flushmark: directory: no files in this directory
    ");
}

#[test]
fn remarks_are_not_lost_where_the_result_is_json() {
    let files = directory(&[(
        "warned.json",
        &format!("fio: io_u error on file a: Input/output error\n{PLUS}"),
    )]);
    let mut import = flushmark();
    import
        .args(["results", "import", "--dry-run", "warned.json", "--format", "json"])
        .current_dir(files.path());
    let run = Run::of(import.output().unwrap());
    assert_eq!(run.code, Some(0));
    assert_eq!(run.document()["results"].as_array().unwrap().len(), 3);
    insta::assert_snapshot!(run.words(), @"flushmark: warned.json: message from fio outside the document: fio: io_u error on file a: Input/output error");
}

#[test]
fn the_person_s_name_for_the_drive_goes_before_the_tool_s() {
    let files = directory(&[("samsung.txt", SAMSUNG)]);
    let path = files.path().join("samsung.txt");
    let run = run(&[
        "results",
        "import",
        "--dry-run",
        path.to_str().unwrap(),
        "--drive",
        "Samsung 980 1TB",
        "--format",
        "json",
    ]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(run.document()["source"]["drive"], "Samsung 980 1TB");
    assert_eq!(run.document()["results"][0]["ops"], 8615);
}

#[test]
fn stdin_is_a_file_and_several_runs_are_lines() {
    let mut child = flushmark()
        .args(["results", "import", "--dry-run", "-", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(format!("{PLUS}{PLUS}").as_bytes()).unwrap();
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stdout.lines().count(), 2);
    // Such lines can be imported again.
    let files = directory(&[("runs.jsonl", &run.stdout)]);
    let again = common::run(&["results", "import", "--dry-run", files.path().to_str().unwrap()]);
    assert!(again.stdout.contains("1 file read: 2 runs, 6 tests."), "{}", again.stdout);
}

#[test]
fn a_run_is_printed_as_programs_read_it() {
    let csv = on_null(&["--format", "csv"]);
    assert!(csv.stdout.starts_with("run,test_number,started_at,host,suite,"), "{}", csv.stdout);
    assert!(on_null(&["--format", "markdown"]).stdout.starts_with("**check** (null:, flushmark "));
    assert!(on_null(&["--format", "openmetrics"]).stdout.ends_with("# EOF\n"));
    assert!(!on_null(&["--format", "fio"]).stdout.contains("\"bins\""));
    let plus = on_null(&["--format", "fio+"]).document();
    assert_eq!(
        plus["jobs"].as_array().unwrap().len(),
        csv.stdout.trim_end().split("\r\n").count() - 1
    );
    assert!(!plus["jobs"][0]["write"]["clat_ns"]["bins"].as_object().unwrap().is_empty());
}

#[test]
fn the_file_of_metrics_is_replaced_whole_and_readable_by_its_collector() {
    let files = directory(&[("flushmark.prom", "old")]);
    let path = files.path().join("flushmark.prom");
    let run = on_null(&["--metrics-file", path.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("flushmark_operations_per_second{suite=\"check\",target=\"null:\"")
            && text.ends_with("# EOF\n"),
        "{text}"
    );
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(entries(files.path()), ["flushmark.prom"]);
}

#[test]
fn the_collector_may_read_the_file_whatever_the_umask() {
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("flushmark.prom");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "umask 077; exec \"$0\" \"$@\""]).arg(flushmark().get_program());
    shell
        .args([
            "run", "check", "--smoke", "--quiet", "--store", "none", "--target", "null:",
            "--metrics-file",
        ])
        .arg(&path);
    let run = Run::of(shell.output().unwrap());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn metrics_go_through_a_pipe_and_leave_it_one() {
    use std::os::unix::fs::FileTypeExt as _;
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("pipe");
    system("mkfifo", &[path.to_str().unwrap()]).unwrap();
    let reader = std::thread::spawn({
        let path = path.clone();
        move || std::fs::read_to_string(path).unwrap()
    });
    let run = on_null(&["--metrics-file", path.to_str().unwrap()]);
    assert!(std::fs::metadata(&path).unwrap().file_type().is_fifo());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(reader.join().unwrap().ends_with("# EOF\n"));
}

#[test]
fn metrics_that_cannot_be_written_do_not_take_the_result_with_them() {
    let missing = on_null(&["--metrics-file", "/no/such/directory/a.prom"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(missing.stderr.trim_end(), @"flushmark: /no/such/directory is not a directory, so --metrics-file cannot create a file there");
    let files = tempfile::tempdir().unwrap();
    let path = files.path().to_str().unwrap();
    let refused = on_null(&["--format", "json", "--metrics-file", path]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(4), ""));
    insta::assert_snapshot!(refused.said(path, "DIR"), @"flushmark: cannot write the metrics to DIR: Is a directory (os error 21)");
    let run = on_null(&["--format", "json", "--metrics-file", "/dev/full"]);
    assert_eq!(run.code, Some(4));
    insta::assert_snapshot!(run.stderr.trim_end(), @"flushmark: cannot write the metrics to /dev/full: No space left on device (os error 28)");
    assert!(!run.document()["results"].as_array().unwrap().is_empty(), "printed all the same");
}

/// A result document in a file.
fn result(directory: &Path) -> String {
    let path = directory.join("result.json");
    let run = on_null(&["--output", path.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    path.to_string_lossy().into_owned()
}

#[test]
fn exports_go_where_they_are_told() {
    let files = tempfile::tempdir().unwrap();
    let result = result(files.path());
    let csv = files.path().join("out.csv");
    let written = run(&[
        "results",
        "export",
        &result,
        &result,
        "--format",
        "csv",
        "-o",
        csv.to_str().unwrap(),
    ]);
    assert_eq!((written.code, written.stdout.as_str(), written.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(
        std::fs::read_to_string(&csv).unwrap(),
        run(&["results", "export", &result, &result, "--format", "csv"]).stdout
    );
    let tables = files.path().join("tables");
    let written =
        run(&["results", "export", &result, "--format", "parquet", "-o", tables.to_str().unwrap()]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    for name in ["tests.parquet", "bins.parquet"] {
        assert!(std::fs::read(tables.join(name)).unwrap().starts_with(b"PAR1"), "{name}");
    }
    // A result exported in fio's format is imported as flushmark's.
    let fio = files.path().join("fio.json");
    run(&["results", "export", &result, "--format", "fio+", "-o", fio.to_str().unwrap()]);
    let back = run(&["results", "import", "--dry-run", fio.to_str().unwrap(), "--format", "json"])
        .document();
    assert_eq!(back["source"]["tool"], "flushmark");
    assert_eq!(
        back["results"][0]["write_us"]["count"],
        run(&["results", "export", &result, "--format", "json"]).document()["results"][0]["write_us"]
            ["count"]
    );
}

#[test]
fn exports_that_cannot_be_are_refused() {
    let files = tempfile::tempdir().unwrap();
    let result = result(files.path());
    let mut empty: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&result).unwrap()).unwrap();
    empty["results"] = serde_json::json!([]);
    let nothing = files.path().join("empty.json");
    std::fs::write(&nothing, empty.to_string()).unwrap();
    let refusal = |args: &[&str], code| {
        let run = run(&[&["results", "export"], args].concat());
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{args:?}");
        run.said(files.path(), "DIR")
    };
    insta::assert_snapshot!(refusal(&[&result, "--format", "parquet"], 2), @"flushmark: Parquet output is two files; name a directory for them with -o DIRECTORY");
    insta::assert_snapshot!(refusal(&[&result, &result, "--format", "fio"], 2), @"flushmark: fio's JSON holds a single run, but 2 were given; export them one by one");
    insta::assert_snapshot!(refusal(&["--format", "csv"], 2), @"flushmark: nothing to export: name results, or select kept runs with --all or with options such as --since 30d");
    for both in ["--all", "--since=30d"] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(refusal(&[&result, both, "--format", "csv"], 2), @"flushmark: results are named, and kept runs are selected by options as well; use one of both");
        }
    }
    insta::assert_snapshot!(refusal(&[&result, "--format", "csv", "--partition-by", "month"], 2), @"flushmark: --partition-by needs --format parquet");
    insta::assert_snapshot!(refusal(&[nothing.to_str().unwrap(), "--format", "csv"], 2), @"flushmark: nothing to export: the selected results have no measured test");
    insta::assert_snapshot!(refusal(&["no-such-file", "--format", "csv"], 2), @"flushmark: `no-such-file` not found: it is neither a file nor a kept run (a number, last, last~1 or @TAG)");
    insta::assert_snapshot!(refusal(&[&result, "--format", "csv", "-o", "/no/such/directory/a.csv"], 4), @"flushmark: cannot write /no/such/directory/a.csv: No such file or directory (os error 2)");
    insta::assert_snapshot!(refusal(&[&result, "--format", "parquet", "-o", &result], 4), @"flushmark: cannot create the directory DIR/result.json: File exists (os error 17)");
}

#[test]
fn a_result_becomes_an_entry_of_the_catalogue() {
    let files = directory(&[(
        "result.json",
        include_str!("../../measurement/tests/documents/run-1-check.json"),
    )]);
    let at = |name: &str| files.path().join(name).to_string_lossy().into_owned();
    let (result, own) = (at("result.json"), at("own"));
    let label = "--label=Example volume";
    let add = |words: &[&str]| {
        let run = run(&[&["catalogue", "add", &result, "--catalogue", &own], words].concat());
        (
            run.code,
            run.stdout.replace(files.path().to_str().unwrap(), "DIR"),
            run.said(files.path(), "DIR"),
        )
    };
    let refusals: Vec<String> = [
        &[][..],
        &[label],
        &[label, "--class", "consumer-nvme"],
        &[label, "--class", "cloud-volume", "--name", "intel-520"],
        &[label, "--class", "cloud-volume", "--name", "Example"],
    ]
    .into_iter()
    .map(|words| {
        let (code, stdout, stderr) = add(words);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{words:?}");
        stderr
    })
    .collect();
    insta::assert_snapshot!(refusals.join("\n"), @"
    flushmark: the result does not say how the drive is called; name it with --label
    flushmark: the result does not say which market the drive is made for; state it with --class (cloud-volume, cloud-local)
    flushmark: the drive is virtual, so its class is cloud-volume or cloud-local, not consumer-nvme
    flushmark: `intel-520` is a name in the built-in catalogue; choose another with --name
    flushmark: invalid name `Example`: expected lower-case letters, digits and hyphens
    ");
    let words = [label, "--class", "cloud-volume"];
    insta::assert_snapshot!(add(&words).1, @"example-volume: 8 rows, written to DIR/own/example-volume.toml.");
    let file = at("own/example-volume.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(catalogue::to_toml(&catalogue::parse(&text).unwrap()), text);
    // It is replaced only on request.
    std::fs::write(&file, "drive = 1\n").unwrap();
    insta::assert_snapshot!(add(&words).2, @"flushmark: DIR/own/example-volume.toml already exists; add --replace to replace it, or choose another --name");
    // A broken file is named, and the other drives are listed.
    let list = |words: &[&str]| run(&[&["catalogue", "--catalogue", &own], words].concat());
    let broken = list(&["intel-520-"]);
    assert_eq!(broken.code, Some(4));
    assert!(broken.stdout.contains("intel-520-60gb"), "{}", broken.stdout);
    insta::assert_snapshot!(broken.said(files.path(), "DIR"), @"flushmark: DIR/own/example-volume.toml: line 1: invalid type: integer `1`, expected a string");
    assert_eq!(add(&[&words[..], &["--replace"]].concat()).0, Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let listed = list(&["--class", "cloud-volume"]);
    assert!(listed.stdout.contains("example-volume (own)"), "{}", listed.stdout);
    assert_eq!(list(&["example-volume", "--format", "json"]).document()["origin"], "own");
    assert_eq!(list(&["intel-520", "--format", "json"]).document()["origin"], "published");
    // Modelled drives are not measured ones.
    let modelled = at("modelled.json");
    std::fs::write(&modelled, include_str!("../../measurement/tests/documents/run-1-model.json"))
        .unwrap();
    let modelled = run(&["catalogue", "add", &modelled, "--class", "disk"]);
    insta::assert_snapshot!(modelled.stderr.trim_end(), @"flushmark: the result is of a model; the catalogue has drives that were really measured");
}

const KINDS_OF_JOBS: [&[&str]; 26] = [
    &["--rw=randwrite", "--bs=4k", "--fsync=1"],
    &["--rw=randwrite", "--bs=4k", "--fdatasync=4", "--numjobs=2", "--group_reporting"],
    &["--rw=randwrite", "--bs=4k", "--fdatasync=1", "--numjobs=3"],
    &["--rw=randrw", "--rwmixread=70", "--bs=8k", "--ioengine=libaio", "--iodepth=8"],
    &["--rw=randrw", "--bs=4k,16k"],
    &["--rw=write", "--bs=16k", "--sync=1", "--lat_percentiles=1"],
    &["--rw=write", "--sync=dsync", "--bs=4k", "--lat_percentiles=1", "--clat_percentiles=0"],
    &["--rw=randread", "--bs=4k", "--numjobs=3"],
    &[
        "--rw=randread", "--slat_percentiles=1", "--clat_percentiles=1", "--lat_percentiles=1",
        "--ioengine=libaio",
    ],
    &["--rw=randwrite", "--bssplit=4k/50:16k/50"],
    &["--rw=randwrite", "--bsrange=4k-16k"],
    &[
        "--rw=write", "--bs=4k", "--verify=crc32c", "--verify_state_save=0", "--end_fsync=1",
        "--time_based=0",
    ],
    &["--rw=randrw", "--bs=4k", "--verify=md5", "--verify_state_save=0", "--time_based=0"],
    &["--rw=write", "--bs=4k", "--sync_file_range=write:8"],
    &["--rw=randwrite", "--clat_percentiles=0"],
    &["--rw=randwrite", "--gtod_reduce=1"],
    &["--rw=randread", "--percentile_list=50:99:99.5"],
    &["--rw=randread", "--iodepth=16", "--ioengine=psync", "--rate_iops=200"],
    &[
        "--readwrite=randwrite", "--blocksize=8k", "--buffered=0", "--ioengine=io_uring",
        "--iodepth=4",
    ],
    &["--rw=randwrite", "--bs=4k", "--fsync=1", "--runtime=2", "--status-interval=1"],
    &["--rw=randwrite", "--bs=4k", "--runtime=2", "--numjobs=2", "--status-interval=1"],
    &["--rw=randrw", "--unified_rw_reporting=both"],
    &[
        "--rw=randread", "--zonemode=strided", "--zonesize=64k", "--zonerange=128k",
        "--zoneskip=64k",
    ],
    &["--rw=randwrite", "--ss=iops:90%", "--ss_dur=500ms", "--runtime=2"],
    &["--rw=randwrite", "--number_ios=50", "--fsync=1"],
    &[
        "--rw=randwrite", "--bs=4k", "--write_lat_log=live", "--log_avg_msec=100",
        "--ramp_time=200ms",
    ],
];

/// The installed fio, in both output formats and with jobs of every kind: the figures match those
/// of fio's JSON, recomputed here, and its text gives the same results.
#[test]
fn fio_s_real_output_of_every_kind_of_job() {
    if !needs_rigs("fio_s_real_output_of_every_kind_of_job") {
        return;
    }
    for kind in KINDS_OF_JOBS {
        let files = tempfile::tempdir().unwrap();
        let path = files.path().to_str().unwrap();
        // By default fio leaves its verification state in the current directory.
        let aside = format!("--aux-path={path}");
        let common = [
            "--name=live", "--directory", path, &aside, "--size=1m", "--runtime=300ms",
            "--time_based",
        ];
        let log = format!("--write_lat_log={path}/live");
        let kind: Vec<&str> = kind
            .iter()
            .map(|&word| if word == "--write_lat_log=live" { log.as_str() } else { word })
            .collect();
        let both = system("fio", &[&common[..], &kind, &["--output-format=normal,json+"]].concat())
            .unwrap();
        // Several documents in sequence, with the text before and between them.
        let mut documents = Vec::new();
        let mut text = format!("fio --name=live {}\n", kind.join(" "));
        let mut rest = both.as_str();
        while let Some(begin) = rest.find("\n{") {
            let end = begin + rest[begin..].find("\n}").unwrap() + 2;
            text += &rest[..=begin];
            documents.push(serde_json::from_str::<serde_json::Value>(&rest[begin..end]).unwrap());
            rest = &rest[end..];
        }
        text += rest;
        let read = |name: &str, text: &str| {
            let file = files.path().join(name);
            std::fs::write(&file, text).unwrap();
            let run = run(&[
                "results",
                "import",
                "--dry-run",
                file.to_str().unwrap(),
                "--format",
                "json",
            ]);
            assert_eq!(run.code, Some(0), "{kind:?}: {}\n{text}", run.stderr);
            let mut results = run.document()["results"].as_array().unwrap().clone();
            assert_eq!(results.len(), 1, "{kind:?}");
            results.remove(0)
        };
        let (json, text) = (read("live.json", &both), read("live.txt", &text));
        agrees_with_fio(&kind, documents.last().unwrap()["jobs"].as_array().unwrap(), &json);
        for key in ["reads", "writes"] {
            assert_eq!(json["proof"][key], text["proof"][key], "{kind:?} {key}");
        }
        let splits = kind.iter().any(|word| {
            word.starts_with("--bss") || word.starts_with("--bsr") || word.contains("4k,16k")
        });
        // The text has rounded amounts, and so has the mean of several sizes.
        let keys = ["pattern", "depth", "jobs", "sync", "sync_every", "direct", "block_bytes"];
        for key in keys.into_iter().filter(|&key| key != "block_bytes" || !splits) {
            assert_eq!(json["workload"][key], text["workload"][key], "{kind:?} {key}");
        }
        for key in ["read_us", "write_us", "sync_us"] {
            let p99 = |result: &serde_json::Value| result[key]["p99"].as_f64();
            // The text of ungrouped processes has no percentiles that could be merged.
            if let (Some(json), Some(text)) = (p99(&json), p99(&text)) {
                assert!(
                    (json - text).abs() <= (json / 50.0).max(1.0),
                    "{kind:?} {key}: {json} {text}"
                );
            }
        }
        assert!(
            (json["iops"].as_f64().unwrap() / text["iops"].as_f64().unwrap() - 1.0).abs() < 1e-6,
            "{kind:?}"
        );
    }
}

/// Compares the result with figures computed here from fio's output.
fn agrees_with_fio(kind: &[&str], jobs: &[serde_json::Value], result: &serde_json::Value) {
    let near = |what: &str, ours: f64, fio_s: f64| {
        assert!(
            (ours - fio_s).abs() <= fio_s.abs() * 1e-9,
            "{kind:?} {what}: {ours} instead of {fio_s}"
        );
    };
    let rw = jobs[0]["job options"]["rw"].as_str().unwrap();
    // The reads of a write-only job are the verification of its writes.
    let directions: Vec<&str> = ["read", "write"]
        .into_iter()
        .filter(|&name| rw.contains("rw") || rw.contains(name))
        .collect();
    let sum = |key: &str| -> f64 {
        directions
            .iter()
            .flat_map(|&name| jobs.iter().map(move |job| job[name][key].as_f64().unwrap()))
            .sum()
    };
    let runtimes = directions
        .iter()
        .flat_map(|&name| jobs.iter().map(move |job| job[name]["runtime"].as_f64().unwrap()));
    let seconds = runtimes.fold(0.0, f64::max) / 1e3;
    near("ops", result["ops"].as_f64().unwrap(), sum("total_ios"));
    near("iops", result["iops"].as_f64().unwrap(), sum("total_ios") / seconds);
    near(
        "MiB/s",
        result["mib_per_s"].as_f64().unwrap(),
        sum("io_bytes") / f64::from(1 << 20) / seconds,
    );
    let synced = jobs[0]["job options"].get("sync_file_range").is_none();
    for (name, key) in [("read", "clat_ns"), ("write", "clat_ns"), ("sync", "lat_ns")] {
        let used = directions.contains(&name) || name == "sync" && synced;
        let whole = jobs[0][name]["lat_ns"].get("percentile").is_some();
        let timed: Vec<_> =
            jobs.iter().map(|job| &job[name][if whole { "lat_ns" } else { key }]).collect();
        let count: f64 = timed.iter().map(|timed| timed["N"].as_f64().unwrap_or(0.0)).sum();
        let ours = &result[format!("{name}_us")];
        let told = ["50.000000", "99.000000"]
            .iter()
            .all(|percent| timed[0]["percentile"].get(percent).is_some());
        if !used || count == 0.0 || !told {
            assert!(ours.is_null(), "{kind:?} {name}");
            continue;
        }
        near("count", ours["count"].as_f64().unwrap(), count);
        near(
            "max",
            ours["max"].as_f64().unwrap() * 1e3,
            timed.iter().map(|of| of["max"].as_f64().unwrap()).fold(0.0, f64::max),
        );
        let means = timed.iter().map(|of| of["mean"].as_f64().unwrap() * of["N"].as_f64().unwrap());
        near("mean", ours["mean"].as_f64().unwrap() * 1e3, means.sum::<f64>() / count);
        if let [one] = timed.as_slice() {
            for (ours_key, percent) in [("p50", "50.000000"), ("p99", "99.000000")] {
                // fio names a bin by its middle, which may be above the maximum latency.
                let fio_s =
                    one["percentile"][percent].as_f64().unwrap().min(one["max"].as_f64().unwrap());
                near(ours_key, ours[ours_key].as_f64().unwrap() * 1e3, fio_s);
            }
        }
        let bins = timed
            .iter()
            .flat_map(|of| of["bins"].as_object().into_iter().flat_map(|bins| bins.values()));
        let binned: u64 = bins.map(|count| count.as_u64().unwrap()).sum();
        let histogram: measurement::Histogram =
            serde_json::from_value(result["histograms"][name].clone()).unwrap();
        assert_eq!(histogram.count(), binned, "{kind:?} {name}");
    }
}

#[test]
fn other_programs_read_what_is_exported() {
    if !needs_rigs("other_programs_read_what_is_exported") {
        return;
    }
    let files = tempfile::tempdir().unwrap();
    let at = |name: &str| files.path().join(name).to_string_lossy().into_owned();
    let measured = at("measured.json");
    let model = run(&[
        "run", "journal", "--target", "sim:samsung-980-1tb", "--time", "2s", "--quiet", "--output",
        &measured,
    ]);
    assert_eq!(model.code, Some(0), "{}", model.stderr);
    let metrics = files.path().join("metrics");
    std::fs::create_dir_all(&metrics).unwrap();
    for (format, name) in
        [("fio+", "plus.json"), ("openmetrics", "metrics/flushmark.prom"), ("parquet", "tables")]
    {
        let run = run(&["results", "export", &measured, "--format", format, "-o", &at(name)]);
        assert_eq!(run.code, Some(0), "{format}: {}", run.stderr);
    }
    // fio's own script, which checks its output against its input.
    system("fio_jsonplus_clat2csv", &[&at("plus.json"), &at("clat.csv")]).unwrap();
    let checked =
        system("fio_jsonplus_clat2csv", &[&at("plus.json"), &at("clat.csv"), "--validate"])
            .unwrap();
    assert!(checked.contains("validated"), "{checked}");
    let prom = at("metrics/flushmark.prom");
    system("sh", &["-c", "promtool check metrics < \"$0\"", &prom]).unwrap();
    node_exporter(&metrics.to_string_lossy());
    python_programs(files.path(), &at("plus.json"), &at("tables"), &prom);
}

/// node_exporter, whose collector rejects a whole file for one bad sample.
fn node_exporter(directory: &str) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut exporter = std::process::Command::new("prometheus-node-exporter")
        .args([
            "--collector.disable-defaults",
            "--collector.textfile",
            "--collector.textfile.directory",
            directory,
        ])
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let scraped = (0..100).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let mut connection = std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
        write!(connection, "GET /metrics HTTP/1.0\r\n\r\n").ok()?;
        std::io::read_to_string(connection).ok()
    });
    exporter.kill().unwrap();
    exporter.wait().unwrap();
    let scraped = scraped.unwrap();
    assert!(scraped.contains("node_textfile_scrape_error 0"), "{scraped}");
    assert!(
        scraped.contains("flushmark_latency_seconds{") && scraped.contains("operation=\"commit\""),
        "{scraped}"
    );
}

/// DuckDB, pyarrow, fio-plot and the OpenMetrics parser of the Prometheus client, in a separate
/// environment.
fn python_programs(place: &Path, plus: &str, tables: &str, prom: &str) {
    let packages = [python::DUCKDB, python::PYARROW, "fio-plot", "prometheus_client"];
    let test = "other_programs_read_what_is_exported";
    let Some(python) = python::with_packages(test, place, &packages) else { return };
    let script = r#"
import sys, duckdb, pyarrow.parquet
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus
tables, prom = sys.argv[1:]
tests = duckdb.sql(f"select count(*), sum(ops) from '{tables}/tests.parquet'").fetchall()[0]
assert tests[0] > 0 and tests[1] > 0, tests
lost = duckdb.sql(f"""select t.test from '{tables}/tests.parquet' t
    left join (select run, test_number, sum(count) n from '{tables}/bins.parquet' where operation = 'commit' group by all) b
    using (run, test_number) where coalesce(t.commit_count, 0) != coalesce(b.n, 0)""").fetchall()
assert not lost, lost
assert pyarrow.parquet.read_table(f"{tables}/tests.parquet").num_rows == tests[0]
assert pyarrow.parquet.read_table(f"{tables}/bins.parquet").num_rows > 0
text = open(prom).read()
names = lambda families: {family.name for family in families}
assert names(openmetrics(text)) == names(prometheus(text)) != set(), (names(openmetrics(text)), names(prometheus(text)))
"#;
    system(&python, &["-c", script, tables, prom]).unwrap();
    // fio-plot takes whole directories.
    let plots = place.join("plots");
    std::fs::create_dir_all(&plots).unwrap();
    std::fs::copy(plus, plots.join("plus.json")).unwrap();
    let document: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(plus).unwrap()).unwrap();
    let rw = document["jobs"][0]["job options"]["rw"].as_str().unwrap();
    let picture = place.join("plot.png").to_string_lossy().into_owned();
    let (input, jobs) = (
        plots.to_string_lossy().into_owned(),
        document["jobs"][0]["job options"]["numjobs"].as_str().unwrap(),
    );
    let depth = document["jobs"][0]["job options"]["iodepth"].as_str().unwrap();
    system(
        &python.replace("/bin/python", "/bin/fio-plot"),
        &["-i", &input, "-T", "flushmark", "-l", "-r", rw, "-d", depth, "-n", jobs, "-o", &picture],
    )
    .unwrap();
    assert!(std::fs::read(&picture).unwrap().starts_with(b"\x89PNG"), "{picture}");
}

#[test]
fn imports_are_kept_once_and_compared_like_our_own() {
    let files =
        directory(&[("samsung.txt", SAMSUNG), ("plus.json", PLUS), ("cut.json", &PLUS[..999])]);
    let place = tempfile::tempdir().unwrap();
    let store = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let results =
        |words: &[&str]| run(&[&["results", "--store", &store("results.db")], words].concat());
    let import = |files: &tempfile::TempDir| results(&["import", files.path().to_str().unwrap()]);
    let first = import(&files);
    assert_eq!(first.code, Some(4), "{}", first.stderr);
    assert!(
        first.stderr.contains("cut.json") && first.stderr.contains("is cut short"),
        "{}",
        first.stderr
    );
    assert!(first.stdout.contains("kept as"), "{}", first.stdout);
    let again = import(&files);
    assert!(
        again.stdout.contains("1 already") && again.stdout.contains("2 already"),
        "{}",
        again.stdout
    );
    let listed = results(&["list", "--format", "json"]).document();
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(2), "{listed}");
    let compared = results(&["compare", "1", "1"]);
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    let exported = results(&["export", "1", "2", "--format", "csv"]);
    assert_eq!(exported.stdout.lines().count(), 1 + 1 + 3, "{}", exported.stdout);
    // The runs of another store are imported once.
    let copy = |words: &[&str]| {
        run(&[&["results", "--store", &store("other.db"), "import"], words].concat())
    };
    let looked_at = copy(&["--dry-run", &store("results.db")]);
    assert!(
        looked_at.stdout.ends_with("results.db: 2 runs.\n"),
        "{}{}",
        looked_at.stdout,
        looked_at.stderr
    );
    let copied = copy(&[&store("results.db")]);
    assert!(copied.stdout.ends_with("2 runs copied.\n"), "{}{}", copied.stdout, copied.stderr);
    let as_json = copy(&[&store("results.db"), "--format", "json"]);
    assert_eq!((as_json.code, as_json.stdout.as_str()), (Some(0), ""), "stdout is for documents");
    assert!(as_json.stderr.contains("already present"), "{}", as_json.stderr);
    let again = copy(&[&store("results.db")]);
    assert!(
        again.stdout.ends_with("0 runs copied, 2 already present.\n"),
        "{}{}",
        again.stdout,
        again.stderr
    );
}

#[test]
fn a_forum_post_is_judged_shown_and_compared_with_an_own_run() {
    let own = include_str!("../../measurement/tests/documents/run-1-check.json");
    let files = directory(&[("1-own.json", own), ("2-samsung.txt", SAMSUNG)]);
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("results.db").to_str().unwrap().to_owned();
    let results = |words: &[&str]| {
        let run = run(&[&["results", "--store", &store], words].concat());
        assert_eq!(run.code, Some(0), "{words:?}: {}", run.stderr);
        run.stdout
    };
    results(&["import", files.path().to_str().unwrap()]);
    let shown = results(&["show", "2"]);
    // The verdicts are golden tests of `judge`; here their place and their mark.
    let (numbers, verdicts) = shown.split_once("\nFindings\n").unwrap();
    insta::assert_snapshot!(numbers, @"
    Run 2: 2-samsung, 2023-10-18 08:03 UTC
    Measured by fio 3.33

    target       /dev/nvme0n1, block device
    host         kernel unknown

      test  engine  per second  MiB/s  p50  p99  p99.9  max
      test  libaio         574   2.24    -    -      -    -
      test: fio times the write and its sync separately: the latency of a commit is unknown; its syncs
      count as commits.
      test: Latencies are fio's clat, which excludes the submission (mean 4.7 µs); lat: write min
      12.9 µs, mean 21.18 µs, max 76.82 µs; with --lat_percentiles=1 fio reports them whole.
    ");
    let (verdicts, rest) = verdicts.split_once("\nLatencies as printed\n").unwrap();
    assert!(verdicts.starts_with(" 1. Imported: "), "{verdicts}");
    let (latencies, grades) = rest.split_once("\nFit for\n").unwrap();
    insta::assert_snapshot!(latencies, @"
      test  latency of         mean       min        p50       p90        p99      p99.9        max
      test  write       16.43332 µs  1.082 µs  15.808 µs  18.56 µs  22.912 µs  31.616 µs  72.217 µs
      test  sync         1.73507 ms  1.108 ms   1.696 ms  1.893 ms   2.638 ms   4.047 ms   6.437 ms

    Counted by the kernel (a flush is a write of no bytes)
      nvme0n1: 46 reads, 17,115 writes, merged 0 and 0, taking 10 and 14,751 ms, busy 99.46 % of the
      time
    ");
    assert_eq!(grades.matches("Imported").count(), 4, "{grades}");
    let compared = results(&["compare", "1", "2", "-v"]);
    assert!(compared.contains("write + fsync (there: test)"), "{compared}");
    assert!(compared.contains("commits/s"), "{compared}");
    let page = place.path().join("page.html").to_str().unwrap().to_owned();
    let made = run(&["report", "2", "--store", &store, "--output", &page]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("Imported: ") && page.contains("17,115 writes"), "{page}");
}
