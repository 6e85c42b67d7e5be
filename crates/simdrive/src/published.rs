//! Published results as samples: each one is a test of the suite derived from the source's method.

use catalogue::{Drive, PublishedSync, Row, WriteCache as Published};
use workload::{Plan, Submission, SyncMethod, Test, Work, WriteCache, suites};

use crate::sample::{Figure, Sample};

/// Published tables, and the suites that measure the same.
const SUITES: [(&str, &str); 5] = [
    ("write-cache matrix", "write-cache"),
    ("read scaling", "read-scaling"),
    ("fsync study", "fsync-study"),
    ("slog", "slog"),
    ("journal write", "journal"),
];

/// The samples of a drive's published rows, in order.
pub fn samples(drive: &Drive) -> Result<Vec<Sample>, &Row> {
    drive.rows.iter().map(|row| sample(drive, row).ok_or(row)).collect()
}

fn sample(drive: &Drive, row: &Row) -> Option<Sample> {
    let (_, test) = test_of(row)?;
    let same = drive
        .rows
        .iter()
        .filter(|other| other.workload == row.workload && corresponds(&test, other));
    let span = same.filter_map(figure).map(Figure::value);
    let span =
        span.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    Some(Sample { figure: figure(row)?, test, span })
}

/// Operations per second if published, else MiB/s, else the rate that follows from the commit
/// latency.
fn figure(row: &Row) -> Option<Figure> {
    let iops = row.iops.map(Figure::Iops);
    iops.or(row.mib_per_s.map(Figure::MibPerS)).or(row.commit_us().map(|us| Figure::Iops(1e6 / us)))
}

/// The suite for a row's table, and its test that corresponds to the row.
pub fn test_of(row: &Row) -> Option<(Plan, Test)> {
    let (_, suite) = SUITES.iter().find(|(table, _)| *table == row.workload)?;
    let plan = suites::named(suite)?;
    let test = plan.tests.iter().find(|test| corresponds(test, row))?.clone();
    Some((plan, test))
}

fn corresponds(test: &Test, row: &Row) -> bool {
    let Work::Blocks(workload) = &test.work else { return false };
    let sync = match row.sync {
        // FreeBSD flushes the raw device; on Linux, fsync of a raw device sends the same command.
        PublishedSync::Flush => SyncMethod::Fsync,
        PublishedSync::Method(method) => method,
    };
    let write_cache = match row.write_cache {
        Published::On => WriteCache::On,
        Published::Off => WriteCache::Off,
        Published::Default => WriteCache::Unchanged,
    };
    // The sources wrote through libaio, where O_SYNC writes on a raw device are FUA alone.
    let as_in_source = !workload.sync.is_durable()
        || !workload.sync.is_per_write()
        || workload.submission() == Submission::Asynchronous;
    as_in_source
        && workload.pattern == row.pattern
        && u64::from(workload.block_bytes.get()) == row.block_bytes
        && workload.depth.get() == row.depth
        && workload.jobs.get() == row.jobs
        && workload.sync == sync
        && row.sync_every.is_none_or(|every| workload.sync_every == every)
        && test.write_cache == write_cache
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_row_is_a_test_of_a_suite() {
        for drive in catalogue::drives() {
            let samples = samples(drive).unwrap_or_else(|row| panic!("{}: {row:?}", drive.name));
            assert_eq!(samples.len(), drive.rows.len());
            for Sample { span: (low, high), figure, .. } in samples {
                assert!((low..=high).contains(&figure.value()));
            }
        }
    }
}
