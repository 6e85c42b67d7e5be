//! The contents of another tool's listing beyond the table of tests: each latency as the tool
//! printed it, and the counters of block devices.

use measurement::{DiskCounters, LatencySummary, Source, TestResult};
use workload::number::number;

use crate::columns::{Column, Columns};
use crate::look::Look;

/// One kind of latency of one test.
struct Row<'a> {
    test: &'a str,
    operation: &'static str,
    us: LatencySummary,
}

/// A row for each kind of latency of each test; empty if there are none.
pub(crate) fn latencies(results: &[TestResult], look: &Look) -> String {
    let rows: Vec<Row<'_>> = results
        .iter()
        .flat_map(|result| {
            let kinds = [
                ("read", result.read_us),
                ("write", result.write_us),
                ("sync", result.sync_us),
                ("commit", result.commit_us),
            ];
            let row = move |(operation, us): (&'static str, Option<LatencySummary>)| {
                Some(Row { test: &result.test, operation, us: us? })
            };
            kinds.into_iter().filter_map(row)
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let table = Columns::<Row<'_>>::new()
        .with(Column::prose("test"), |row| row.test.to_owned())
        .with(Column::left("latency of"), |row| row.operation)
        .with(Column::right("mean"), |row| printed(row.us.mean))
        .with(Column::right("min").may_drop(3), |row| printed(row.us.min))
        .with(Column::right("p50"), |row| printed(row.us.p50))
        .with(Column::right("p90").may_drop(2), |row| printed(row.us.p90))
        .with(Column::right("p99"), |row| printed(row.us.p99))
        .with(Column::right("p99.9").may_drop(1), |row| printed(row.us.p99_9))
        .with(Column::right("p99.99").may_drop(4), |row| printed(row.us.p99_99))
        .with(Column::right("max"), |row| printed(row.us.max))
        .with(Column::right("number").may_drop(5), |row| number(row.us.count as f64))
        .of(&rows, look);
    look.heading("Latencies as printed") + &table
}

/// A sentence for each block device whose counters the tool printed.
pub fn disk_sentences(source: &Source) -> Vec<String> {
    source.disks.iter().map(sentence).collect()
}

fn sentence(disk: &DiskCounters) -> String {
    let mut words = format!(
        "{}: {} reads, {} writes",
        disk.device,
        number(disk.reads as f64),
        number(disk.writes as f64)
    );
    if let (Some(reads), Some(writes)) = (disk.reads_merged, disk.writes_merged) {
        words += &format!(", merged {} and {}", number(reads as f64), number(writes as f64));
    }
    if let (Some(read), Some(written)) = (disk.bytes_read, disk.bytes_written) {
        words += &format!(", {} and {} bytes", number(read as f64), number(written as f64));
    }
    if let (Some(reads), Some(writes)) = (disk.read_ms, disk.write_ms) {
        words += &format!(", taking {} and {} ms", number(reads as f64), number(writes as f64));
    }
    if let Some(percent) = disk.busy_percent {
        words += &format!(", busy {percent:.2} % of the time");
    }
    words
}

/// The counters of block devices; empty if the tool did not print any.
pub(crate) fn disks(source: &Source, look: &Look) -> String {
    let sentences = disk_sentences(source);
    if sentences.is_empty() {
        return String::new();
    }
    let lines: String = sentences.iter().map(|line| look.hanging("  ", line)).collect();
    look.heading("Counted by the kernel (a flush is a write of no bytes)") + &lines
}

/// A latency with every digit that tools print, unlike the rounded ones of other tables.
fn printed(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 1.0 => (us * 1e3, "ns"),
        us if us < 1e3 => (us, "µs"),
        us if us < 1e6 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    let digits = format!("{value:.5}");
    format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_keep_their_digits() {
        let printed = [0.06851, 49.89, 1735.07, 818_000.0, 2_000_000.0].map(printed);
        assert_eq!(printed, ["68.51 ns", "49.89 µs", "1.73507 ms", "818 ms", "2 s"]);
    }

    #[test]
    fn counters_are_sentences_of_what_is_known() {
        let mut disk = DiskCounters {
            device: "sda".to_owned(),
            reads: 0,
            writes: 258_623,
            ..DiskCounters::default()
        };
        assert_eq!(sentence(&disk), "sda: 0 reads, 258,623 writes");
        (disk.reads_merged, disk.writes_merged) = (Some(0), Some(7));
        (disk.bytes_read, disk.bytes_written) = (Some(0), Some(4096));
        (disk.read_ms, disk.write_ms, disk.busy_percent) = (Some(0), Some(13_669), Some(99.21));
        insta::assert_snapshot!(sentence(&disk), @"sda: 0 reads, 258,623 writes, merged 0 and 7, 0 and 4,096 bytes, taking 0 and 13,669 ms, busy 99.21 % of the time");
    }
}
