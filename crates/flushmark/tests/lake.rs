//! `results export --partition-by`: the directories, and what query engines answer from them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::{Run, flushmark, needs_rigs, python, system};
use drive::Backing;
use measurement::{Histogram, RunDocument};
use samples::machine::{self, Machine, write};
use serde_json::Value;
use store::{Location, Origin, Store};
use workload::SyncMethod::Fsync;

/// A month's run of a host, whose drive needs this long for a flush.
fn measured(
    machine: Machine,
    host: &str,
    month: u32,
    firmware: &str,
    flush_us: f64,
) -> RunDocument {
    let mut place = machine.place.unwrap();
    let Backing::BlockDevice(device) = &mut place.backing else { panic!("a drive") };
    device.firmware = Some(firmware.to_owned());
    device.serial = Some(format!("S{host}"));
    let results = [write(Fsync, 20.0, flush_us).slow(0.02, 3.0), machine::read(80.0)];
    RunDocument {
        started_at: format!("2026-{month}-15T03:00:00Z"),
        drive: Some(place),
        host: machine.host,
        ..samples::document(results.map(machine::Run::result).to_vec())
    }
}

/// Invented hosts in two months: `db3` becomes slow, and the drives of `kv` get a new firmware.
fn fleet() -> Vec<(String, RunDocument)> {
    let mut runs = Vec::new();
    for month in [10, 11] {
        for number in 1..=5 {
            let host = format!("db{number}");
            let usual = 2900.0 + 40.0 * f64::from(number);
            let flush_us = if number == 3 && month == 11 { 2.6 * usual } else { usual };
            let consumer = machine::consumer_nvme();
            runs.push((host.clone(), measured(consumer, &host, month, "5B2QGXA7", flush_us)));
        }
        for number in 1..=3 {
            let host = format!("kv{number}");
            let (firmware, flush_us) =
                if month == 11 { ("GDC5602Q", 14.0) } else { ("GDC5302Q", 20.0) };
            let flush_us = flush_us + f64::from(number);
            let protected = machine::protected_nvme();
            runs.push((host.clone(), measured(protected, &host, month, firmware, flush_us)));
        }
    }
    runs
}

struct Kept {
    directory: tempfile::TempDir,
}

impl Kept {
    fn new(runs: &[(String, RunDocument)]) -> Kept {
        let kept = Kept { directory: tempfile::tempdir().unwrap() };
        let location = Location::Sqlite(kept.directory.path().join("results.db"));
        let mut store = Store::open(&location).unwrap();
        for (host, document) in runs {
            let host = Some(host.clone()).filter(|host| !host.is_empty());
            store.insert(document, &Origin { host }).unwrap();
        }
        kept
    }

    fn export(&self, words: &[&str]) -> Run {
        let mut command = flushmark();
        command.args(["results", "export", "--format", "parquet", "--store", "results.db"]);
        Run::of(command.args(words).current_dir(self.directory.path()).output().unwrap())
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.directory.path().join("lake"), "", &mut files);
        files
    }
}

fn collect(directory: &Path, name: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{name}/{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            collect(&entry.path(), &name, files);
        } else {
            files.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
}

const INTO_LAKE: [&str; 4] = ["--partition-by", "month,host", "-o", "lake"];

#[test]
fn a_run_is_added_once() {
    let mut runs = fleet();
    runs.truncate(2);
    let mut untimed = runs[0].1.clone();
    "1970-01-01T00:00:00Z".clone_into(&mut untimed.started_at);
    runs.push((String::new(), untimed));
    runs.push(("a/b".to_owned(), measured(machine::disk(), "x", 11, "1", 9_000.0)));
    let kept = Kept::new(&runs);
    let export = |words: &[&str]| kept.export(&[words, &INTO_LAKE].concat());
    insta::assert_snapshot!(export(&["--all"]).stdout, @"4 runs added, 0 replaced, 0 unchanged.");
    let first = kept.files();
    let directories: BTreeSet<&str> =
        first.keys().map(|name| name.rsplit_once('/').unwrap().0).collect();
    insta::assert_snapshot!(directories.into_iter().collect::<Vec<_>>().join("\n"), @"
    /bins/month=2026-10/host=db1
    /bins/month=2026-10/host=db2
    /bins/month=2026-11/host=a%2Fb
    /bins/month=__HIVE_DEFAULT_PARTITION__/host=__HIVE_DEFAULT_PARTITION__
    /tests/month=2026-10/host=db1
    /tests/month=2026-10/host=db2
    /tests/month=2026-11/host=a%2Fb
    /tests/month=__HIVE_DEFAULT_PARTITION__/host=__HIVE_DEFAULT_PARTITION__
    ");
    insta::assert_snapshot!(export(&["--all"]).stdout, @"0 runs added, 0 replaced, 4 unchanged.");
    assert!(kept.files() == first);
    // A damaged file is made anew, whichever of the selected runs it is of.
    let damaged = first.keys().find(|name| name.contains("bins/month=2026-10/host=db2")).unwrap();
    std::fs::write(kept.directory.path().join(format!("lake{damaged}")), "PAR1").unwrap();
    insta::assert_snapshot!(export(&["--since", "2026-10-01", "--until", "2026-11-01"]).stdout, @"0 runs added, 1 replaced, 1 unchanged.");
    assert!(kept.files() == first);
    // Other keys would make the tables unreadable.
    let other = kept.export(&["--all", "--partition-by", "host,month", "-o", "lake"]);
    assert_eq!((other.code, other.stdout.as_str()), (Some(2), ""));
    assert!(
        other.stderr.starts_with("flushmark: lake/bins is not partitioned by host,month: it has "),
        "{}",
        other.stderr
    );
    assert!(kept.files() == first);
    let none = export(&["--host", "absent"]);
    insta::assert_snapshot!(none.stderr.trim_end(), @"flushmark: no runs in results.db match");
    assert_eq!(none.code, Some(2));
    let unknown = kept.export(&["--all", "--partition-by", "day", "-o", "lake"]);
    assert!(unknown.stderr.contains("unknown partition key `day`; expected month, host"));
    assert_eq!(unknown.code, Some(2));
}

#[test]
fn names_are_left_out_of_an_anonymous_lake() {
    let kept = Kept::new(&fleet()[..1]);
    let exported = kept.export(&[&["--all", "--anonymous"], &INTO_LAKE[..]].concat());
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    for (name, content) in kept.files() {
        let serial = b"Sdb1";
        assert!(!content.windows(serial.len()).any(|bytes| bytes == serial), "{name}");
        assert!(name.contains("/host=__HIVE_DEFAULT_PARTITION__/"), "{name}");
    }
}

/// A query of the documentation with the table below it.
struct Documented {
    sql: String,
    table: Vec<Vec<String>>,
}

fn documented() -> Vec<Documented> {
    let docs = include_str!("../../../docs/fleet.md");
    let blocks = docs.split("```sql\n").skip(1).map(|text| text.split_once("```").unwrap());
    let queries = blocks.map(|(sql, rest)| {
        let table = rest.trim_start().lines().take_while(|line| line.starts_with('|'));
        let cells = |line: &str| {
            let cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
            cells.collect()
        };
        let table = table.filter(|line| !line.contains("---")).map(cells).collect();
        Documented { sql: sql.to_owned(), table }
    });
    queries.collect()
}

/// Answers each query on stdin with its rows, including the names of the columns, then checks that
/// other readers see the same tables.
const READERS: &str = r#"
import sys, json, glob, duckdb, pyarrow.parquet, pandas
database = duckdb.connect()
database.execute("set timezone = 'UTC'")
answers = []
for sql in json.loads(sys.argv[1]):
    answer = database.execute(sql)
    rows = answer.fetchall()
    names = [column[0] for column in answer.description]
    text = lambda cell: None if cell is None else str(cell)
    answers.append([names] + [[text(cell) for cell in row] for row in rows])
for table in ["tests", "bins"]:
    count = database.execute(f"select count(*) from {table}").fetchall()[0][0]
    arrow = pyarrow.parquet.read_table(f"lake/{table}")
    assert arrow.num_rows == count > 0, (arrow.num_rows, count)
    assert {"month", "host", "run", "test_number"} <= set(arrow.column_names), arrow.column_names
    assert len(pandas.read_parquet(f"lake/{table}")) == count
    files = glob.glob(f"lake/{table}/**/*.parquet", recursive=True)
    schemas = {str(pyarrow.parquet.read_schema(file)) for file in files}
    assert len(schemas) == 1, schemas
    compacted = pyarrow.parquet.read_table(f"compacted-{table}")
    assert compacted.num_rows == count, (compacted.num_rows, count)
    months = len(set(compacted["month"].to_pylist()))
    assert len(glob.glob(f"compacted-{table}/**/*.parquet", recursive=True)) == months
started_at = pyarrow.parquet.read_table("lake/tests").schema.field("started_at")
assert str(started_at.type) == "timestamp[us, tz=UTC]", started_at
print(json.dumps(answers))
"#;

#[test]
fn the_documented_queries_answer_with_the_figures_of_the_documents() {
    let test = "the_documented_queries_answer_with_the_figures_of_the_documents";
    if !needs_rigs(test) {
        return;
    }
    let runs = fleet();
    let kept = Kept::new(&runs);
    let place = kept.directory.path();
    let exported = kept.export(&[&["--all"], &INTO_LAKE[..]].concat());
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    let packages = [python::DUCKDB, python::PYARROW, python::PANDAS];
    let Some(python) = python::with_packages(test, place, &packages) else { return };
    let documented = documented();
    let queries: Vec<&str> = documented.iter().map(|query| query.sql.as_str()).collect();
    let queries = serde_json::to_string(&queries).unwrap();
    let script = "cd \"$0\" && exec \"$1\" -c \"$2\" \"$3\"";
    let words = ["-c", script, place.to_str().unwrap(), &python, READERS, &queries];
    let answers = system("sh", &words).unwrap();
    let answers: Vec<Vec<Vec<Value>>> = serde_json::from_str(&answers).unwrap();
    let answers: Vec<Vec<Vec<String>>> = answers
        .into_iter()
        .map(|rows| {
            let written = |cell: &Value| cell.as_str().unwrap_or_default().to_owned();
            rows.iter().map(|row| row.iter().map(written).collect()).collect()
        })
        .collect();
    // The first two only define the tables, and the last one makes larger files of them.
    let last = answers.len() - 1;
    let questions = &answers[2..last];
    let expected = [by_model(&runs), merged(&runs), slow(&runs), changed(&runs), firmware(&runs)];
    assert_eq!(questions.len(), expected.len());
    for (rows, expected) in questions.iter().zip(&expected) {
        assert_eq!(&rows[1..], expected, "{:?}", rows[0]);
    }
    for (query, rows) in documented[2..last].iter().zip(questions) {
        let markdown: Vec<String> =
            rows.iter().map(|row| format!("| {} |", row.join(" | "))).collect();
        assert_eq!(&query.table, rows, "{}\n{}", query.sql, markdown.join("\n"));
    }
}

type Rows = Vec<Vec<String>>;

/// The first test of a run, which commits.
struct Commits<'a> {
    host: &'a str,
    month: &'a str,
    model: &'a str,
    firmware: &'a str,
    p50_us: f64,
    p99_us: f64,
    per_second: f64,
    histogram: &'a Histogram,
}

fn commits(runs: &[(String, RunDocument)]) -> Vec<Commits<'_>> {
    let commits = runs.iter().map(|(host, document)| {
        let device = document.drive.as_ref().unwrap().block_device().unwrap();
        let result = &document.results[0];
        Commits {
            host,
            month: &document.started_at[..7],
            model: device.model.as_deref().unwrap(),
            firmware: device.firmware.as_deref().unwrap(),
            p50_us: result.commit_us.unwrap().p50,
            p99_us: result.commit_us.unwrap().p99,
            per_second: result.commits_per_s.unwrap(),
            histogram: result.histograms.commit.as_ref().unwrap(),
        }
    });
    commits.collect()
}

fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    f64::midpoint(figures[(figures.len() - 1) / 2], figures[figures.len() / 2])
}

/// A figure as DuckDB rounds and Python prints it.
fn rounded(figure: f64, digits: u32) -> String {
    let scale = 10_f64.powi(digits as i32);
    format!("{:?}", (figure * scale).round() / scale)
}

/// The models, those with the fastest commits first.
fn models<'a>(commits: &[Commits<'a>]) -> Vec<&'a str> {
    let mut models: Vec<&str> = commits.iter().map(|commits| commits.model).collect();
    models.sort_unstable();
    models.dedup();
    let p50 = |model: &str| median(of(commits, model).map(|commits| commits.p50_us));
    models.sort_by(|one, other| p50(one).total_cmp(&p50(other)));
    models
}

fn of<'a>(commits: &'a [Commits<'a>], model: &str) -> impl Iterator<Item = &'a Commits<'a>> {
    commits.iter().filter(move |commits| commits.model == model)
}

fn by_model(runs: &[(String, RunDocument)]) -> Rows {
    let commits = commits(runs);
    let row = |model: &str| {
        let hosts: BTreeSet<&str> = of(&commits, model).map(|commits| commits.host).collect();
        vec![
            model.to_owned(),
            hosts.len().to_string(),
            rounded(median(of(&commits, model).map(|commits| commits.p50_us)), 1),
            rounded(median(of(&commits, model).map(|commits| commits.p99_us)), 1),
            rounded(of(&commits, model).map(|commits| commits.p99_us).fold(0.0, f64::max), 1),
        ]
    };
    models(&commits).into_iter().map(row).collect()
}

fn merged(runs: &[(String, RunDocument)]) -> Rows {
    let commits = commits(runs);
    let row = |model: &str| {
        let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
        for (latency, count) in of(&commits, model).flat_map(|commits| commits.histogram.buckets())
        {
            *bins.entry(latency).or_default() += count;
        }
        let total: u64 = bins.values().sum();
        let percentile = |share: f64| {
            let mut below = 0;
            let bin = bins.iter().find(|(_, count)| {
                below += **count;
                below as f64 >= share * total as f64
            });
            *bin.unwrap().0 as f64 / 1e3
        };
        let [p50, p99, p99_9] = [0.5, 0.99, 0.999].map(percentile);
        vec![
            model.to_owned(),
            total.to_string(),
            rounded(p50, 1),
            rounded(p99, 1),
            rounded(p99_9, 1),
        ]
    };
    models(&commits).into_iter().map(row).collect()
}

fn slow(runs: &[(String, RunDocument)]) -> Rows {
    let mut commits = commits(runs);
    commits.retain(|commits| commits.month == "2026-11");
    let row = |one: &Commits<'_>| {
        let usual = median(of(&commits, one.model).map(|commits| commits.p50_us));
        let cells = [one.host.to_owned(), one.model.to_owned()].into_iter();
        let figures = [rounded(one.p50_us, 1), rounded(usual, 1), rounded(one.p50_us / usual, 2)];
        (one.p50_us > 2.0 * usual).then(|| cells.chain(figures).collect())
    };
    commits.iter().filter_map(row).collect()
}

fn changed(runs: &[(String, RunDocument)]) -> Rows {
    let commits = commits(runs);
    let rows = commits.iter().filter(|now| now.month == "2026-11").filter_map(|now| {
        let is_before = |one: &&Commits<'_>| one.month == "2026-10" && one.host == now.host;
        let before = commits.iter().find(is_before)?;
        let change = 100.0 * (now.p50_us / before.p50_us - 1.0);
        let cells = [now.host, now.model, now.month].map(str::to_owned).into_iter();
        let figures = [before.p50_us, now.p50_us, change].map(|figure| rounded(figure, 1));
        (change.abs() > 10.0).then(|| (change, cells.chain(figures).collect::<Vec<String>>()))
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    rows.into_iter().map(|(_, row)| row).collect()
}

fn firmware(runs: &[(String, RunDocument)]) -> Rows {
    let commits = commits(runs);
    let pairs: Vec<(&Commits<'_>, &Commits<'_>)> = commits
        .iter()
        .filter_map(|after| {
            let is_before = |one: &&Commits<'_>| {
                one.host == after.host && one.month < after.month && one.firmware != after.firmware
            };
            Some((commits.iter().find(is_before)?, after))
        })
        .collect();
    let (before, after) = pairs[0];
    vec![vec![
        before.model.to_owned(),
        before.firmware.to_owned(),
        after.firmware.to_owned(),
        pairs.len().to_string(),
        rounded(median(pairs.iter().map(|(before, _)| before.per_second)), 0),
        rounded(median(pairs.iter().map(|(_, after)| after.per_second)), 0),
        rounded(
            median(pairs.iter().map(|(before, after)| after.per_second / before.per_second)),
            2,
        ),
    ]]
}
