//! The columns of result tables: one definition for CSV and Parquet, against which
//! `docs/formats.md` is checked.

use measurement::{
    Ended, Histogram, LatencySummary, RunDocument, SortFigures, SortRecord, TestResult,
};

/// A cell; `None` if there is no value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Text(Option<String>),
    /// A count or a number of bytes.
    Whole(Option<u64>),
    /// A measured figure.
    Real(Option<f64>),
    /// Yes or no.
    Flag(Option<bool>),
}

/// A row: one test with its run.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Number of the run among those written together, from 1.
    pub run: u64,
    /// Number of the test in its run, from 1.
    pub number: u64,
    pub document: &'a RunDocument,
    pub result: &'a TestResult,
}

/// A column: its name, with the unit last, and its cells.
#[derive(Clone, Copy)]
pub struct Column {
    /// Name, with the unit last.
    pub name: &'static str,
    /// The cell of a row, always of the same kind.
    pub cell: fn(&Row<'_>) -> Cell,
}

/// All tests of all runs, in order.
pub fn rows(documents: &[RunDocument]) -> impl Iterator<Item = Row<'_>> {
    (1..).zip(documents).flat_map(|(run, document)| {
        (1..).zip(&document.results).map(move |(number, result)| Row {
            run,
            number,
            document,
            result,
        })
    })
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

fn text(value: impl Into<String>) -> Cell {
    Cell::Text(Some(value.into()))
}

const fn whole(value: u64) -> Cell {
    Cell::Whole(Some(value))
}

/// A figure that is not finite (a rate over zero time) is left empty.
fn real(value: Option<f64>) -> Cell {
    Cell::Real(value.filter(|value| value.is_finite()))
}

macro_rules! columns {
    ($($name:expr => |$row:ident| $cell:expr;)*) => {
        [$(Column { name: $name, cell: |$row| $cell }),*]
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

const WORK: [Column; 28] = columns! {
    "run" => |row| whole(row.run);
    "test_number" => |row| whole(row.number);
    "started_at" => |row| text(&row.document.started_at);
    "suite" => |row| text(&row.document.suite);
    "tool" => |row| text(tool(row.document));
    "drive" => |row| Cell::Text(drive(row.document));
    "target" => |row| text(&row.document.target.given);
    "test" => |row| text(&row.result.test);
    "pattern" => |row| Cell::Text(row.result.workload.pattern.map(|pattern| pattern.name().to_owned()));
    "read_percent" => |row| Cell::Whole(row.result.workload.read_percent.map(u64::from));
    "block_bytes" => |row| whole(row.result.workload.block_bytes);
    "depth" => |row| whole(u64::from(row.result.workload.depth));
    "jobs" => |row| whole(u64::from(row.result.workload.jobs));
    "sync" => |row| Cell::Text(row.result.workload.sync.map(|sync| sync.name().to_owned()));
    "sync_every" => |row| whole(u64::from(row.result.workload.sync_every));
    "drain" => |row| Cell::Flag(Some(row.result.workload.drain));
    "steps" => |row| Cell::Text(Some(row.result.workload.steps.join("; ")).filter(|steps| !steps.is_empty()));
    "direct" => |row| Cell::Flag(Some(row.result.workload.direct));
    "write_cache" => |row| text(row.result.workload.write_cache.name());
    "size_bytes" => |row| whole(row.result.workload.size_bytes);
    "engine" => |row| text(&row.result.engine);
    "elapsed_s" => |row| real(Some(row.result.elapsed_s));
    "ops" => |row| whole(row.result.ops);
    "iops" => |row| real(Some(row.result.iops));
    "mib_per_s" => |row| real(Some(row.result.mib_per_s));
    "commits_per_s" => |row| real(row.result.commits_per_s);
    "ended" => |row| text(ended(&row.result.ended));
    "notes" => |row| Cell::Text(Some(row.result.notes.join(" ")).filter(|notes| !notes.is_empty()));
};

const PROOF: [Column; 8] = columns! {
    "reads" => |row| whole(row.result.proof.reads);
    "writes" => |row| whole(row.result.proof.writes);
    "syncs" => |row| whole(row.result.proof.syncs);
    "commits" => |row| whole(row.result.proof.commits);
    "device_flushes" => |row| Cell::Whole(row.result.proof.device.and_then(|device| device.flushes));
    "flushes_per_commit" => |row| real(row.result.flushes_per_commit());
    "cpu_user_s" => |row| real(Some(row.result.cpu.user_s));
    "cpu_system_s" => |row| real(Some(row.result.cpu.system_s));
};

/// Columns of sorts: parameters, work done, and time by cause.
const SORT: [Column; 23] = columns! {
    "sort_keys" => |row| Cell::Text(asked(row).map(|sort| sort.keys.name().to_owned()));
    "sort_memory_bytes" => |row| Cell::Whole(asked(row).map(|sort| sort.memory_bytes));
    "sort_runs_sync" => |row| Cell::Text(asked(row).map(|sort| sort.runs_sync.name().to_owned()));
    "sorts" => |row| count(row, |sort| sort.sorts);
    "sort_records" => |row| count(row, |sort| sort.records);
    "sort_record_bytes" => |row| count(row, |sort| sort.bytes);
    "sort_runs" => |row| count(row, |sort| sort.runs);
    "sort_written_bytes" => |row| count(row, |sort| sort.written_bytes);
    "sort_read_bytes" => |row| count(row, |sort| sort.read_bytes);
    "sort_first_row_s" => |row| real(row.result.sort.and_then(|sort| sort.first_row_s));
    "sort_total_s" => |row| part(row, |sort| sort.total_s());
    "sort_own_s" => |row| part(row, |sort| sort.own_s());
    "sort_kernel_s" => |row| part(row, |sort| sort.kernel_s());
    "sort_drive_s" => |row| part(row, |sort| sort.drive_s());
    "sort_waiting_s" => |row| part(row, |sort| sort.waiting_s);
    "sort_input_s" => |row| part(row, |sort| sort.input_s);
    "sort_sorting_s" => |row| part(row, |sort| sort.sorting_s);
    "sort_coding_s" => |row| part(row, |sort| sort.coding_s);
    "sort_merging_s" => |row| part(row, |sort| sort.merging_s);
    "sort_writing_s" => |row| part(row, |sort| sort.writing_s);
    "sort_writing_cpu_s" => |row| part(row, |sort| sort.writing_cpu_s);
    "sort_reading_s" => |row| part(row, |sort| sort.reading_s);
    "sort_reading_cpu_s" => |row| part(row, |sort| sort.reading_cpu_s);
};

/// Columns of tests of a single OSD of a Ceph cluster.
const OSD: [Column; 3] = columns! {
    "osd" => |row| Cell::Whole(row.result.osd.as_ref().map(|osd| u64::from(osd.id)));
    "host" => |row| Cell::Text(row.result.osd.as_ref().and_then(|osd| osd.host.clone()));
    "class" => |row| Cell::Text(row.result.osd.as_ref().and_then(|osd| osd.class.clone()));
};

const fn asked(row: &Row<'_>) -> Option<SortRecord> {
    row.result.workload.sort
}

fn count(row: &Row<'_>, figure: impl Fn(SortFigures) -> u64) -> Cell {
    Cell::Whole(row.result.sort.map(figure))
}

fn part(row: &Row<'_>, figure: impl Fn(SortFigures) -> f64) -> Cell {
    real(row.result.sort.map(figure))
}

/// The latency columns of each operation.
macro_rules! latencies {
    ($($operation:literal $us:ident),*) => {
        [$(
            columns! {
                concat!($operation, "_mean_us") => |row| latency(row.result.$us, |us| us.mean);
                concat!($operation, "_min_us") => |row| latency(row.result.$us, |us| us.min);
                concat!($operation, "_p50_us") => |row| latency(row.result.$us, |us| us.p50);
                concat!($operation, "_p90_us") => |row| latency(row.result.$us, |us| us.p90);
                concat!($operation, "_p99_us") => |row| latency(row.result.$us, |us| us.p99);
                concat!($operation, "_p99_9_us") => |row| latency(row.result.$us, |us| us.p99_9);
                concat!($operation, "_p99_99_us") => |row| latency(row.result.$us, |us| us.p99_99);
                concat!($operation, "_max_us") => |row| latency(row.result.$us, |us| us.max);
                concat!($operation, "_count") => |row| Cell::Whole(row.result.$us.map(|us| us.count));
            }
        ),*]
    };
}

const LATENCIES: [[Column; 9]; 4] =
    latencies!["read" read_us, "write" write_us, "sync" sync_us, "commit" commit_us];

fn latency(summary: Option<LatencySummary>, figure: impl Fn(LatencySummary) -> f64) -> Cell {
    real(summary.map(figure))
}

fn ended(ended: &Ended) -> String {
    match ended {
        Ended::Limit => "limit".to_owned(),
        Ended::Interrupted => "interrupted".to_owned(),
        Ended::Failed { error } => format!("failed: {error}"),
    }
}
