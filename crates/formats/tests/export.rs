//! Exports, read back.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::float_cmp,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "figures come back bit by bit, names are ours"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use formats::columns::Run;
use formats::fio::write::{Bins, json};
use formats::import;
use measurement::{Finding, Fitness, Grade, RunDocument, SortFigures, TestResult, Use};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;

fn own() -> [RunDocument; 2] {
    [samples::document::checked(), samples::document::modelled()]
}

/// The runs of these documents, of an unknown host.
fn runs(documents: &[RunDocument]) -> Vec<Run<'_>> {
    documents.iter().map(|document| Run { document, host: None }).collect()
}

fn fio(name: &str) -> RunDocument {
    let text = std::fs::read_to_string(format!(
        "{}/tests/fixtures/fio/{name}",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap();
    import(name, &text, None).unwrap().documents.remove(0)
}

const FIXTURES: [&str; 9] = [
    "3.33-mix-plus.json",
    "3.33-group-plus.json",
    "3.33-client-plus.json",
    "3.33-lat-percentiles-plus.json",
    "3.33-mix.json",
    "3.33-rbd.json",
    "kioxia-cd6.txt",
    "3.33-odd.json",
    "3.33-status-interval.json",
];

/// A result without its name and notes.
fn figures(result: &TestResult) -> TestResult {
    TestResult { notes: Vec::new(), ..result.clone() }
}

#[test]
fn imported_fio_results_are_exported_unchanged() {
    for name in FIXTURES {
        let document = fio(name);
        let back = import(name, &json(&document, Bins::With), None).unwrap().documents.remove(0);
        assert_eq!(back.source, document.source, "{name}");
        assert_eq!(back.started_at, document.started_at, "{name}");
        assert_eq!(back.results.len(), document.results.len(), "{name}");
        for (back, was) in back.results.iter().zip(&document.results) {
            let close = |back: f64, was: f64| (back - was).abs() <= was * 1e-9;
            assert!(
                close(back.iops, was.iops) && close(back.elapsed_s, was.elapsed_s),
                "{name}: {} {}",
                back.iops,
                was.iops
            );
            assert_eq!(back.histograms, was.histograms, "{name}: {}", was.test);
            let percentiles = |us: Option<measurement::LatencySummary>| {
                us.map(|us| {
                    [us.p50, us.p90, us.p99, us.p99_9, us.p99_99, us.count as f64]
                        .map(|us| (us * 1e3).round())
                })
            };
            for (back, was) in [
                (back.read_us, was.read_us),
                (back.write_us, was.write_us),
                (back.sync_us, was.sync_us),
                (back.commit_us, was.commit_us),
            ] {
                assert_eq!(percentiles(back), percentiles(was), "{name}");
            }
            assert_eq!(
                back.commits_per_s.is_some(),
                was.commits_per_s.is_some(),
                "{name}: {}",
                was.test
            );
            let same = |result: &TestResult| {
                let work = &result.workload;
                (
                    work.pattern, work.block_bytes, work.depth, work.jobs, work.sync,
                    work.sync_every, work.drain, work.direct,
                )
            };
            assert_eq!(same(back), same(was), "{name}: {}", was.test);
        }
        // A second round trip changes nothing.
        let again = import(name, &json(&back, Bins::With), None).unwrap().documents.remove(0);
        for (again, back) in again.results.iter().zip(&back.results) {
            assert_eq!(figures(again).histograms, figures(back).histograms, "{name}");
            assert_eq!(
                (again.iops, again.write_us, again.sync_us),
                (back.iops, back.write_us, back.sync_us),
                "{name}"
            );
        }
    }
}

#[test]
fn flushmark_s_own_results_survive_fio_s_form() {
    for document in own() {
        let back = import("own", &json(&document, Bins::With), None).unwrap().documents.remove(0);
        assert_eq!(back.source.unwrap().tool, "flushmark");
        for (back, was) in back.results.iter().zip(&document.results) {
            assert_eq!(back.test, was.test);
            // fio's time has a resolution of 1 ms, its bins are 1.6 % wide.
            assert!(
                (back.iops / was.iops - 1.0).abs() < 0.001,
                "{}: {} {}",
                was.test,
                back.iops,
                was.iops
            );
            for (back, was) in [
                (back.commit_us, was.commit_us),
                (back.sync_us, was.sync_us),
                (back.write_us, was.write_us),
            ] {
                assert_eq!(back.map(|us| us.count), was.map(|us| us.count));
                let (Some(back), Some(was)) = (back, was) else { continue };
                assert!(
                    (back.p99 / was.p99 - 1.0).abs() < 0.001
                        && (back.max / was.max - 1.0).abs() < 0.001,
                    "{back:?} {was:?}"
                );
            }
            assert_eq!(back.workload.sync, was.workload.sync);
        }
    }
}

#[test]
fn json_without_plus_has_no_bins() {
    let document = fio("3.33-mix-plus.json");
    assert!(json(&document, Bins::With).contains("\"bins\""));
    assert!(!json(&document, Bins::Without).contains("\"bins\""));
    let back = import("a", &json(&document, Bins::Without), None).unwrap().documents.remove(0);
    let percentiles = |result: &TestResult| result.sync_us.map(|us| (us.p50, us.p99_99));
    assert_eq!(percentiles(&back.results[0]), percentiles(&document.results[0]));
}

/// Compares the keys for each job and direction with those of a file that fio wrote.
#[test]
fn fio_s_keys_are_there() {
    let fio_s: serde_json::Value =
        serde_json::from_str(include_str!("fixtures/fio/3.33-mix-plus.json")).unwrap();
    let ours: serde_json::Value = serde_json::from_str(&json(&own()[0], Bins::With)).unwrap();
    let keys = |value: &serde_json::Value| {
        value.as_object().unwrap().keys().cloned().collect::<BTreeSet<String>>()
    };
    // Not counted by flushmark: context switches, page faults, queue depths.
    let uncounted = [
        "ctx", "majf", "minf", "iodepth_level", "iodepth_submit", "iodepth_complete",
        "latency_target", "latency_percentile", "latency_window",
    ];
    let missing = |path: &str| {
        let (fio_s, ours) = (keys(fio_s.pointer(path).unwrap()), keys(ours.pointer(path).unwrap()));
        fio_s
            .difference(&ours)
            .filter(|key| !uncounted.contains(&key.as_str()))
            .cloned()
            .collect::<Vec<_>>()
    };
    for path in [
        "", "/jobs/0", "/jobs/0/read", "/jobs/0/write", "/jobs/0/write/clat_ns", "/jobs/0/sync",
        "/jobs/0/latency_us", "/jobs/0/latency_ms", "/jobs/0/latency_ns",
    ] {
        assert_eq!(missing(path), Vec::<String>::new(), "{path}");
    }
    let shares =
        ["ns", "us", "ms"].map(|unit| ours.pointer(&format!("/jobs/0/latency_{unit}")).unwrap());
    let sum: f64 = shares
        .iter()
        .flat_map(|shares| shares.as_object().unwrap().values())
        .map(|share| share.as_f64().unwrap())
        .sum();
    assert!((sum - 100.0).abs() < 0.001, "{sum}");
}

#[test]
fn csv_has_one_row_per_test_and_no_formula() {
    let mut documents = own();
    documents[0].results[0].test = "=HYPERLINK(\"http://example.org\"),x".to_owned();
    documents[0].results[1].test = "two\nlines, \"quoted\"".to_owned();
    let text = formats::csv::table(&runs(&documents));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), documents.iter().map(|document| document.results.len()).sum::<usize>());
    let cell = |row: usize, name: &str| {
        rows[row][header.iter().position(|column| column == name).unwrap()].to_owned()
    };
    assert_eq!(cell(0, "test"), "'=HYPERLINK(\"http://example.org\"),x");
    assert_eq!(cell(1, "test"), "two\nlines, \"quoted\"");
    let result = &documents[0].results[1];
    assert_eq!(cell(1, "iops").parse::<f64>().unwrap(), result.iops);
    assert_eq!(cell(1, "commit_p99_us").parse::<f64>().unwrap(), result.commit_us.unwrap().p99);
    assert_eq!((cell(0, "commit_p99_us"), cell(0, "sync")), (String::new(), "none".to_owned()));
    assert!(text.ends_with("\r\n"));
}

#[test]
fn osds_are_told_apart_by_columns_and_labels() {
    let mut results = samples::osds(2, 2);
    if let Some(osd) = &mut results[1].osd {
        (osd.host, osd.class) = (Some("a \"b\"".to_owned()), None);
    }
    let documents = [samples::document(results)];
    let text = formats::csv::table(&runs(&documents));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let cells = |row: usize| {
        ["osd", "osd_host", "osd_class"].map(|name| {
            rows[row][header.iter().position(|column| column == name).unwrap()].to_owned()
        })
    };
    assert_eq!(cells(0), ["0", "node1", "ssd"]);
    assert_eq!(cells(1), ["0", "a \"b\"", ""]);
    assert_eq!(cells(6), ["3", "node2", "ssd"]);
    let metrics = formats::openmetrics::text(&documents);
    for labels in [
        r#"test="osd.0: write",osd="0",host="node1",class="ssd"} "#,
        r#"test="osd.0: read",osd="0",host="a \"b\""} "#,
        r#"test="osd.3: write",osd="3",host="node2",class="ssd",operation="write",quantile="0.5"} "#,
    ] {
        assert!(metrics.contains(labels), "no {labels} in {metrics}");
    }
}

#[test]
fn parquet_rows_are_the_results_and_their_bins() {
    let documents = own();
    let tests = rows(&formats::parquet::tests(&runs(&documents)).unwrap());
    let results: Vec<&TestResult> =
        documents.iter().flat_map(|document| &document.results).collect();
    assert_eq!(tests.len(), results.len());
    let real = |value: Option<f64>| value.map_or(Field::Null, Field::Double);
    for (row, result) in tests.iter().zip(&results) {
        assert_eq!(row["test"], Field::Str(result.test.clone()));
        assert_eq!(row["iops"], Field::Double(result.iops));
        assert_eq!(row["commits_per_s"], real(result.commits_per_s));
        assert_eq!(row["sync_p99_us"], real(result.sync_us.map(|us| us.p99)));
        assert_eq!(row["direct"], Field::Bool(result.workload.direct));
        assert_eq!(row["ops"], Field::Long(result.ops as i64));
    }
    let bins = rows(&formats::parquet::bins(&runs(&documents)).unwrap());
    let counts = bins.iter().map(|row| match row["count"] {
        Field::Long(count) => count as u64,
        ref other => panic!("{other:?}"),
    });
    let histograms = results.iter().flat_map(|result| {
        let histograms = &result.histograms;
        [&histograms.read, &histograms.write, &histograms.sync, &histograms.commit]
            .into_iter()
            .flatten()
    });
    assert_eq!(counts.sum::<u64>(), histograms.map(measurement::Histogram::count).sum::<u64>());
}

#[test]
fn parquet_says_who_wrote_it_and_holds_what_is_too_large() {
    let mut document = own()[0].clone();
    document.results[0].ops = u64::MAX;
    let bytes = formats::parquet::tests(&runs(&[document])).unwrap();
    assert_eq!(rows(&bytes)[0]["ops"], Field::Long(i64::MAX));
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let metadata = reader.metadata().file_metadata();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(metadata.created_by(), Some(format!("flushmark version {version}").as_str()));
    let told = metadata
        .key_value_metadata()
        .unwrap()
        .iter()
        .find(|told| told.key == "flushmark.version")
        .unwrap();
    assert_eq!(told.value.as_deref(), Some(version));
}

/// Compares the table of columns in `docs/formats.md` with the columns. The latency columns are
/// listed there once for all operations.
#[test]
fn the_documented_columns_are_the_columns() {
    let docs = include_str!("../../../docs/formats.md");
    let table = docs.split("| column |").nth(1).unwrap().split("\n\n").next().unwrap();
    let first_cells = table.lines().skip(2).filter_map(|line| line.split('|').nth(1));
    let documented: Vec<String> = first_cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .flat_map(|name| match name.strip_prefix("OPERATION_") {
            Some(figure) => ["read", "write", "sync", "commit"]
                .map(|operation| format!("{operation}_{figure}"))
                .to_vec(),
            None => vec![name.to_owned()],
        })
        .collect();
    let names: Vec<&str> = formats::columns::columns().iter().map(|column| column.name).collect();
    let set =
        |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<String>>();
    assert_eq!(documented.iter().cloned().collect::<BTreeSet<_>>(), set(&names));
    assert_eq!(documented.len(), names.len());
}

/// The rows of a Parquet file, with cells by column name.
fn rows(bytes: &[u8]) -> Vec<BTreeMap<String, Field>> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.map(|row| row.into_columns().into_iter().collect()).collect()
}

#[test]
fn metrics_are_unambiguous_and_escaped() {
    let mut document = fio("3.33-lat-percentiles-plus.json");
    let result = document.results[0].clone();
    document.results = vec![result.clone(), result];
    document.results[1].commits_per_s = Some(f64::NAN);
    document.source.as_mut().unwrap().drive = Some("a \"b\" \\ c\nd".to_owned());
    let fitness = |grade| Fitness { grade, because: "so".to_owned() };
    document.fitness =
        [(Use::CephOsd, fitness(Grade::Poor)), (Use::General, fitness(Grade::Unknown))].into();
    let finding = |id: &str| Finding {
        id: id.to_owned(),
        title: "T".to_owned(),
        evidence: Vec::new(),
        confidence: measurement::Confidence::High,
        doubt: None,
        advice: "A".to_owned(),
    };
    document.findings = vec![finding("noisy"), finding("noisy")];
    let text = formats::openmetrics::text(std::slice::from_ref(&document));
    insta::assert_snapshot!(text, @r#"
    # HELP flushmark_operations_per_second Reads and writes per second; of a step program, turns.
    # TYPE flushmark_operations_per_second gauge
    flushmark_operations_per_second{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s"} 310.3792415169661
    flushmark_operations_per_second{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)"} 310.3792415169661
    # HELP flushmark_commits_per_second Commits per second, where anything was made durable.
    # TYPE flushmark_commits_per_second gauge
    flushmark_commits_per_second{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s"} 310.3792415169661
    # HELP flushmark_throughput_bytes_per_second Bytes read and written per second.
    # TYPE flushmark_throughput_bytes_per_second gauge
    flushmark_throughput_bytes_per_second{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s"} 1271313.373253493
    flushmark_throughput_bytes_per_second{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)"} 1271313.373253493
    # HELP flushmark_test_duration_seconds How long the test was measured.
    # TYPE flushmark_test_duration_seconds gauge
    flushmark_test_duration_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s"} 1.002
    flushmark_test_duration_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)"} 1.002
    # HELP flushmark_test_completed Whether the test reached its limit: 1, or 0 when it was interrupted or failed.
    # TYPE flushmark_test_completed gauge
    flushmark_test_completed{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s"} 1
    flushmark_test_completed{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)"} 1
    # HELP flushmark_latency_seconds Latency of one operation.
    # TYPE flushmark_latency_seconds summary
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="write",quantile="0.5"} 0.002637824
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="write",quantile="0.9"} 0.007962624
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="write",quantile="0.99"} 0.012255232
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="write",quantile="0.999"} 0.028637884
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="write",quantile="0.9999"} 0.028637884
    flushmark_latency_seconds_sum{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="write"} 1.0004607779998569
    flushmark_latency_seconds_count{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="write"} 311
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="commit",quantile="0.5"} 0.002637824
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="commit",quantile="0.9"} 0.007962624
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="commit",quantile="0.99"} 0.012255232
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="commit",quantile="0.999"} 0.028637884
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="commit",quantile="0.9999"} 0.028637884
    flushmark_latency_seconds_sum{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="commit"} 1.0004607779998569
    flushmark_latency_seconds_count{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="commit"} 311
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="write",quantile="0.5"} 0.002637824
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="write",quantile="0.9"} 0.007962624
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="write",quantile="0.99"} 0.012255232
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="write",quantile="0.999"} 0.028637884
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="write",quantile="0.9999"} 0.028637884
    flushmark_latency_seconds_sum{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="write"} 1.0004607779998569
    flushmark_latency_seconds_count{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="write"} 311
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="commit",quantile="0.5"} 0.002637824
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="commit",quantile="0.9"} 0.007962624
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="commit",quantile="0.99"} 0.012255232
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="commit",quantile="0.999"} 0.028637884
    flushmark_latency_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="commit",quantile="0.9999"} 0.028637884
    flushmark_latency_seconds_sum{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="commit"} 1.0004607779998569
    flushmark_latency_seconds_count{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="commit"} 311
    # HELP flushmark_latency_min_seconds The shortest latency.
    # TYPE flushmark_latency_min_seconds gauge
    flushmark_latency_min_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="write"} 0.00015774500000000002
    flushmark_latency_min_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="commit"} 0.00015774500000000002
    flushmark_latency_min_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="write"} 0.00015774500000000002
    flushmark_latency_min_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="commit"} 0.00015774500000000002
    # HELP flushmark_latency_max_seconds The longest latency.
    # TYPE flushmark_latency_max_seconds gauge
    flushmark_latency_max_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="write"} 0.028637884
    flushmark_latency_max_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s",operation="commit"} 0.028637884
    flushmark_latency_max_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="write"} 0.028637884
    flushmark_latency_max_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",test="s (2)",operation="commit"} 0.028637884
    # HELP flushmark_run_start_time_seconds When the run began, in seconds since 1970.
    # TYPE flushmark_run_start_time_seconds gauge
    flushmark_run_start_time_seconds{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio"} 1795281653
    # HELP flushmark_fitness_grade What the storage is fit for: 0 unfit, 1 poor, 2 fair, 3 good, 4 excellent; no sample where it is not known.
    # TYPE flushmark_fitness_grade gauge
    flushmark_fitness_grade{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",use="ceph-osd"} 1
    # HELP flushmark_finding_info A finding of the run; always 1.
    # TYPE flushmark_finding_info gauge
    flushmark_finding_info{suite="3.33-lat-percentiles-plus",target="/srv/test",drive="a \"b\" \\ c\nd",tool="fio",finding="noisy"} 1
    # EOF
    "#);
    let several = formats::openmetrics::text(&[document.clone(), document]);
    let samples: Vec<&str> = several
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.rsplit_once(' ').unwrap().0)
        .collect();
    assert_eq!(samples.iter().collect::<BTreeSet<_>>().len(), samples.len(), "{several}");
    assert!(samples.iter().all(|sample| sample.contains("run=\"")), "{several}");
}

#[test]
fn a_sort_s_figures_are_in_every_table_and_in_the_metrics() {
    let mut document = own()[0].clone();
    document.results.truncate(2);
    document.results[0].sort = Some(SortFigures {
        sorts: 4,
        records: 1000,
        runs: 22,
        written_bytes: 4096,
        sorting_s: 1.5,
        coding_s: 0.5,
        waiting_s: 0.25,
        writing_s: 3.0,
        writing_cpu_s: 1.0,
        first_row_s: Some(2.75),
        ..SortFigures::default()
    });
    let rows = rows(&formats::parquet::tests(&runs(std::slice::from_ref(&document))).unwrap());
    for (column, figure) in
        [("sort_total_s", 5.25), ("sort_own_s", 2.0), ("sort_kernel_s", 1.0), ("sort_drive_s", 2.0)]
    {
        assert_eq!(rows[0][column], Field::Double(figure), "{column}");
        assert_eq!(rows[1][column], Field::Null, "{column}");
    }
    assert_eq!((&rows[0]["sort_runs"], &rows[0]["sorts"]), (&Field::Long(22), &Field::Long(4)));
    let text = formats::openmetrics::text(std::slice::from_ref(&document));
    let samples =
        |name: &str| text.lines().filter(|line| line.starts_with(name)).collect::<Vec<_>>();
    let parts = samples("flushmark_sort_part_seconds{");
    assert_eq!(parts.len(), 8, "one sort, and no sample of the other test: {parts:?}");
    let value = |line: &&str| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
    assert_eq!(parts.iter().map(value).sum::<f64>(), 5.25);
    assert!(parts.iter().any(|line| line.ends_with(",part=\"write waits\"} 2")), "{parts:?}");
    assert_eq!(
        samples("flushmark_sort_first_row_seconds{").iter().map(value).collect::<Vec<_>>(),
        [2.75]
    );
    assert_eq!(samples("flushmark_sort_runs{").iter().map(value).collect::<Vec<_>>(), [22.0]);
}

/// The options of fio with which it would run on the same image.
#[test]
fn an_image_is_exported_as_fio_s_rbd_engine_names_it() {
    let options = |target: &str, engine: &str| {
        let mut document = samples::document::checked();
        document.target.given = target.to_owned();
        document.target.kind = measurement::TargetKind::Image;
        document.results[0].engine = engine.to_owned();
        let text = json(&document, Bins::Without);
        let exported: serde_json::Value = serde_json::from_str(&text).unwrap();
        let options = &exported["jobs"][0]["job options"];
        let value = |name: &str| Some(format!("{name}={}", options[name].as_str()?));
        let names = ["ioengine", "pool", "rbdname", "clientname", "clustername"];
        names.into_iter().filter_map(value).collect::<Vec<_>>().join(" ")
    };
    insta::assert_snapshot!(options("rbd:rbd/disk", "librbd"), @"ioengine=rbd pool=rbd rbdname=disk");
    let all = "rbd:rbd/space/disk:id=bench:conf=/c:cluster=site";
    insta::assert_snapshot!(options(all, "librbd"), @"ioengine=rbd pool=rbd rbdname=space/disk clientname=bench clustername=site");
    insta::assert_snapshot!(options("rados:rbd", "librados"), @"ioengine=rados pool=rbd");
}
