//! The columns of result tables: one definition for CSV and Parquet, against which
//! `docs/formats.md` is checked.

use drive::BlockDevice;
use jiff::Timestamp;
use measurement::{
    Ended, Histogram, LatencySummary, RunDocument, SortFigures, SortRecord, TestResult,
};

use crate::run_key::RunKey;

/// A run whose tests are written as rows.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    pub document: &'a RunDocument,
    /// The machine that measured, which documents do not name; `None` if it is unknown.
    pub host: Option<&'a str>,
}

/// A row: one test with its run.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    pub key: RunKey,
    /// Number of the test in its run, from 1.
    pub number: u64,
    pub run: Run<'a>,
    pub result: &'a TestResult,
}

/// A column: its name, with the unit last, and its cells.
#[derive(Clone, Copy)]
pub struct Column {
    /// Name, with the unit last.
    pub name: &'static str,
    pub cells: Cells,
}

/// The cells of a column by row. Its kind does not depend on the rows, so a table without any has
/// the same columns. A cell without a value is `None`.
#[derive(Clone, Copy)]
pub enum Cells {
    Text(fn(&Row<'_>) -> Option<String>),
    /// Counts or numbers of bytes.
    Whole(fn(&Row<'_>) -> Option<u64>),
    /// Measured figures.
    Real(fn(&Row<'_>) -> Option<f64>),
    /// Yes or no.
    Flag(fn(&Row<'_>) -> Option<bool>),
    /// Moments.
    Time(fn(&Row<'_>) -> Option<Timestamp>),
}

/// All tests of all runs, in order.
pub fn rows<'a>(runs: &'a [Run<'a>]) -> impl Iterator<Item = Row<'a>> {
    runs.iter().flat_map(|&run| {
        let key = RunKey::of(run.document);
        (1..).zip(&run.document.results).map(move |(number, result)| Row {
            key,
            number,
            run,
            result,
        })
    })
}

/// The fact that the drives below the target share: `None` if they differ, or if one of them does
/// not report it.
fn common(row: &Row<'_>, fact: fn(&BlockDevice) -> Option<String>) -> Option<String> {
    let device = row.run.document.drive.as_ref()?.block_device()?;
    let mut facts = device.drives().into_iter().map(fact);
    let first = facts.next()??;
    facts.all(|fact| fact.as_ref() == Some(&first)).then_some(first)
}

/// The drive: the name given at import, otherwise its model, otherwise the kernel's name.
pub fn drive(document: &RunDocument) -> Option<String> {
    if let Some(source) = &document.source {
        return source.drive.clone();
    }
    match document.drive.as_ref().map(|place| &place.backing) {
        Some(drive::Backing::BlockDevice(device)) => {
            Some(device.label().unwrap_or_else(|| device.name.clone()))
        }
        _ => None,
    }
}

/// The latencies of one kind of operation, as far as known.
#[derive(Debug, Clone, Copy)]
pub struct Operation<'a> {
    /// `read`, `write`, `sync` or `commit`.
    pub name: &'static str,
    /// Mean, percentiles and extremes.
    pub summary: Option<LatencySummary>,
    /// Full distribution.
    pub histogram: Option<&'a Histogram>,
}

/// The latencies of a test by kind of operation.
pub fn operations(result: &TestResult) -> [Operation<'_>; 4] {
    let histograms = &result.histograms;
    let kinds = [
        ("read", result.read_us, &histograms.read),
        ("write", result.write_us, &histograms.write),
        ("sync", result.sync_us, &histograms.sync),
        ("commit", result.commit_us, &histograms.commit),
    ];
    kinds.map(|(name, summary, histogram)| Operation {
        name,
        summary,
        histogram: histogram.as_ref(),
    })
}

/// The name of the tool that measured.
pub fn tool(document: &RunDocument) -> &str {
    document.source.as_ref().map_or("flushmark", |source| &source.tool)
}

/// A figure that is not finite (a rate over zero time) is left empty.
fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

macro_rules! columns {
    ($($name:expr => $kind:ident |$row:ident| $cell:expr;)*) => {
        [$(Column { name: $name, cells: Cells::$kind(|$row| $cell) }),*]
    };
}

pub fn columns() -> Vec<Column> {
    let mut columns = Vec::from(WORK);
    columns.extend(LATENCIES.as_flattened());
    columns.extend(PROOF);
    columns.extend(SORT);
    columns.extend(OSD);
    columns
}

const WORK: [Column; 36] = columns! {
    "run" => Text |row| Some(row.key.to_string());
    "test_number" => Whole |row| Some(row.number);
    "started_at" => Time |row| row.run.document.began();
    "host" => Text |row| row.run.host.map(str::to_owned);
    "suite" => Text |row| Some(row.run.document.suite.clone());
    "tool" => Text |row| Some(tool(row.run.document).to_owned());
    "flushmark" => Text |row| Some(row.run.document.flushmark.clone());
    "drive" => Text |row| drive(row.run.document);
    "model" => Text |row| common(row, |device| device.model.clone()).or_else(|| named_at_import(row));
    "firmware" => Text |row| common(row, |device| device.firmware.clone());
    "serial" => Text |row| common(row, |device| device.serial.clone());
    "filesystem" => Text |row| filesystem(row.run.document);
    "kernel" => Text |row| row.run.document.host.kernel_release.clone();
    "target" => Text |row| Some(row.run.document.target.given.clone());
    "target_kind" => Text |row| Some(row.run.document.target.kind.name().to_owned());
    "test" => Text |row| Some(row.result.test.clone());
    "pattern" => Text |row| row.result.workload.pattern.map(|pattern| pattern.name().to_owned());
    "read_percent" => Whole |row| row.result.workload.read_percent.map(u64::from);
    "block_bytes" => Whole |row| Some(row.result.workload.block_bytes);
    "depth" => Whole |row| Some(u64::from(row.result.workload.depth));
    "jobs" => Whole |row| Some(u64::from(row.result.workload.jobs));
    "sync" => Text |row| row.result.workload.sync.map(|sync| sync.name().to_owned());
    "sync_every" => Whole |row| Some(u64::from(row.result.workload.sync_every));
    "drain" => Flag |row| Some(row.result.workload.drain);
    "steps" => Text |row| Some(row.result.workload.steps.join("; ")).filter(|steps| !steps.is_empty());
    "direct" => Flag |row| Some(row.result.workload.direct);
    "write_cache" => Text |row| Some(row.result.workload.write_cache.name().to_owned());
    "size_bytes" => Whole |row| Some(row.result.workload.size_bytes);
    "engine" => Text |row| Some(row.result.engine.clone());
    "elapsed_s" => Real |row| finite(row.result.elapsed_s);
    "ops" => Whole |row| Some(row.result.ops);
    "iops" => Real |row| finite(row.result.iops);
    "mib_per_s" => Real |row| finite(row.result.mib_per_s);
    "commits_per_s" => Real |row| row.result.commits_per_s.and_then(finite);
    "ended" => Text |row| Some(ended(&row.result.ended));
    "notes" => Text |row| Some(row.result.notes.join(" ")).filter(|notes| !notes.is_empty());
};

const PROOF: [Column; 8] = columns! {
    "reads" => Whole |row| Some(row.result.proof.reads);
    "writes" => Whole |row| Some(row.result.proof.writes);
    "syncs" => Whole |row| Some(row.result.proof.syncs);
    "commits" => Whole |row| Some(row.result.proof.commits);
    "device_flushes" => Whole |row| row.result.proof.device.and_then(|device| device.flushes);
    "flushes_per_commit" => Real |row| row.result.flushes_per_commit().and_then(finite);
    "cpu_user_s" => Real |row| finite(row.result.cpu.user_s);
    "cpu_system_s" => Real |row| finite(row.result.cpu.system_s);
};

/// Columns of sorts: parameters, work done, and time by cause.
const SORT: [Column; 23] = columns! {
    "sort_keys" => Text |row| asked(row).map(|sort| sort.keys.name().to_owned());
    "sort_memory_bytes" => Whole |row| asked(row).map(|sort| sort.memory_bytes);
    "sort_runs_sync" => Text |row| asked(row).map(|sort| sort.runs_sync.name().to_owned());
    "sorts" => Whole |row| count(row, |sort| sort.sorts);
    "sort_records" => Whole |row| count(row, |sort| sort.records);
    "sort_record_bytes" => Whole |row| count(row, |sort| sort.bytes);
    "sort_runs" => Whole |row| count(row, |sort| sort.runs);
    "sort_written_bytes" => Whole |row| count(row, |sort| sort.written_bytes);
    "sort_read_bytes" => Whole |row| count(row, |sort| sort.read_bytes);
    "sort_first_row_s" => Real |row| row.result.sort.and_then(|sort| sort.first_row_s).and_then(finite);
    "sort_total_s" => Real |row| part(row, |sort| sort.total_s());
    "sort_own_s" => Real |row| part(row, |sort| sort.own_s());
    "sort_kernel_s" => Real |row| part(row, |sort| sort.kernel_s());
    "sort_drive_s" => Real |row| part(row, |sort| sort.drive_s());
    "sort_waiting_s" => Real |row| part(row, |sort| sort.waiting_s);
    "sort_input_s" => Real |row| part(row, |sort| sort.input_s);
    "sort_sorting_s" => Real |row| part(row, |sort| sort.sorting_s);
    "sort_coding_s" => Real |row| part(row, |sort| sort.coding_s);
    "sort_merging_s" => Real |row| part(row, |sort| sort.merging_s);
    "sort_writing_s" => Real |row| part(row, |sort| sort.writing_s);
    "sort_writing_cpu_s" => Real |row| part(row, |sort| sort.writing_cpu_s);
    "sort_reading_s" => Real |row| part(row, |sort| sort.reading_s);
    "sort_reading_cpu_s" => Real |row| part(row, |sort| sort.reading_cpu_s);
};

/// Columns of tests of a single OSD of a Ceph cluster.
const OSD: [Column; 3] = columns! {
    "osd" => Whole |row| row.result.osd.as_ref().map(|osd| u64::from(osd.id));
    "osd_host" => Text |row| row.result.osd.as_ref().and_then(|osd| osd.host.clone());
    "osd_class" => Text |row| row.result.osd.as_ref().and_then(|osd| osd.class.clone());
};

/// The drive's name as the user or the tool gave it.
fn named_at_import(row: &Row<'_>) -> Option<String> {
    row.run.document.source.as_ref()?.drive.clone()
}

/// The type of the filesystem that the target is on.
fn filesystem(document: &RunDocument) -> Option<String> {
    Some(document.drive.as_ref()?.mount.as_ref()?.fs_type.clone())
}

const fn asked(row: &Row<'_>) -> Option<SortRecord> {
    row.result.workload.sort
}

fn count(row: &Row<'_>, figure: impl Fn(SortFigures) -> u64) -> Option<u64> {
    row.result.sort.map(figure)
}

fn part(row: &Row<'_>, figure: impl Fn(SortFigures) -> f64) -> Option<f64> {
    row.result.sort.map(figure).and_then(finite)
}

/// The latency columns of each operation.
macro_rules! latencies {
    ($($operation:literal $us:ident),*) => {
        [$(
            columns! {
                concat!($operation, "_mean_us") => Real |row| latency(row.result.$us, |us| us.mean);
                concat!($operation, "_min_us") => Real |row| latency(row.result.$us, |us| us.min);
                concat!($operation, "_p50_us") => Real |row| latency(row.result.$us, |us| us.p50);
                concat!($operation, "_p90_us") => Real |row| latency(row.result.$us, |us| us.p90);
                concat!($operation, "_p99_us") => Real |row| latency(row.result.$us, |us| us.p99);
                concat!($operation, "_p99_9_us") => Real |row| latency(row.result.$us, |us| us.p99_9);
                concat!($operation, "_p99_99_us") => Real |row| latency(row.result.$us, |us| us.p99_99);
                concat!($operation, "_max_us") => Real |row| latency(row.result.$us, |us| us.max);
                concat!($operation, "_count") => Whole |row| row.result.$us.map(|us| us.count);
            }
        ),*]
    };
}

const LATENCIES: [[Column; 9]; 4] =
    latencies!["read" read_us, "write" write_us, "sync" sync_us, "commit" commit_us];

fn latency(summary: Option<LatencySummary>, figure: impl Fn(LatencySummary) -> f64) -> Option<f64> {
    summary.map(figure).and_then(finite)
}

fn ended(ended: &Ended) -> String {
    match ended {
        Ended::Limit => "limit".to_owned(),
        Ended::Interrupted => "interrupted".to_owned(),
        Ended::Failed { error } => format!("failed: {error}"),
    }
}
