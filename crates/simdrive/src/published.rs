//! Published results as samples: each one is a test of the suite derived from the source's method,
//! or one made from what the source says of its method.

use catalogue::model::Filesystem;
use catalogue::{
    Drive, Model, PublishedFilesystem, PublishedSync, Row, Table, WriteCache as Published,
};
use workload::{Pattern, Plan, Submission, SyncMethod, Test, Work, WriteCache, suites};

use crate::run::Machine;
use crate::sample::{Figure, Sample};

/// Published tables, and the suites that measure the same.
const SUITES: [(&str, &str); 5] = [
    ("write-cache matrix", "write-cache"),
    ("read scaling", "read-scaling"),
    ("fsync study", "fsync-study"),
    ("slog", "slog"),
    ("journal write", "journal"),
];
/// Virtual duration of a test that no suite contains: at least this many seconds, and this many
/// operations of each job.
const SECONDS_MIN: u32 = 1;
const COUNT_MIN: u32 = 250;

/// A published test that a model can run.
#[derive(Debug, Clone)]
pub struct PublishedTest<'a> {
    pub table: &'a Table,
    pub row: &'a Row,
    /// The modelled filesystem: the published one, or the most similar.
    pub filesystem: Filesystem,
    pub sample: Sample,
}

impl PublishedTest<'_> {
    /// Returns `true` if models are fitted to it: nothing speaks against its figures, and it is not
    /// needed to check the models.
    pub const fn is_for_fitting(&self) -> bool {
        self.table.doubt.is_none() && !self.table.held_out
    }

    /// The model on the filesystem of the test.
    pub fn machine(&self, model: &Model) -> Machine {
        let mut machine = Machine::new(model.clone());
        machine.model.host.filesystem = self.filesystem;
        machine
    }
}

/// The tests of a drive's published rows, in order.
///
/// # Errors
/// Fails with the first row that no test corresponds to.
pub fn tests(drive: &Drive) -> Result<Vec<PublishedTest<'_>>, &Row> {
    drive.rows().map(|(table, row)| published_test(table, row).ok_or(row)).collect()
}

/// The samples to fit a drive's model to: those of its filesystem for which
/// [`PublishedTest::is_for_fitting`] holds.
///
/// # Errors
/// As [`tests`].
pub fn samples<'a>(drive: &'a Drive, model: &Model) -> Result<Vec<Sample>, &'a Row> {
    let tests = tests(drive)?
        .into_iter()
        .filter(|test| test.is_for_fitting() && test.filesystem == model.host.filesystem);
    Ok(tests.map(|test| test.sample).collect())
}

fn published_test<'a>(table: &'a Table, row: &'a Row) -> Option<PublishedTest<'a>> {
    let test = test_of(table, row)?;
    let runs = table.rows.iter().filter(|other| row.is_same_test(other));
    let span = runs
        .filter_map(figure)
        .map(Figure::value)
        .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    let filesystem = match table.filesystem {
        PublishedFilesystem::None => Filesystem::None,
        // All of them commit metadata to a journal or a log, as ext4 does.
        PublishedFilesystem::Ext4
        | PublishedFilesystem::Xfs
        | PublishedFilesystem::Btrfs
        | PublishedFilesystem::Zfs
        | PublishedFilesystem::Ntfs
        | PublishedFilesystem::Unknown => Filesystem::Ext4,
    };
    let sample = Sample { figure: figure(row)?, test, span };
    Some(PublishedTest { table, row, filesystem, sample })
}

/// Operations per second if published, else MiB/s, else the rate that follows from the commit
/// latency.
fn figure(row: &Row) -> Option<Figure> {
    let iops = row.iops.map(Figure::Iops);
    iops.or(row.mib_per_s.map(Figure::MibPerS)).or(row.commit_us().map(|us| Figure::Iops(1e6 / us)))
}

/// The test that corresponds to a row: that of the suite for the row's table, or one made from the
/// table's method.
pub fn test_of(table: &Table, row: &Row) -> Option<Test> {
    let suite = SUITES.iter().find(|(name, _)| *name == table.workload);
    let plan = suite.and_then(|(_, suite)| suites::named(suite));
    let known = plan.and_then(|plan| plan.tests.into_iter().find(|test| corresponds(test, row)));
    known.or_else(|| derived(table, row))
}

fn corresponds(test: &Test, row: &Row) -> bool {
    let Work::Blocks(workload) = &test.work else { return false };
    // The sources wrote through libaio, where O_SYNC writes on a raw device are FUA alone.
    let as_in_source = !workload.sync.is_durable()
        || !workload.sync.is_per_write()
        || workload.submission() == Submission::Asynchronous;
    as_in_source
        && Some(workload.pattern) == row.pattern
        && u64::from(workload.block_bytes.get()) == row.block_bytes
        && workload.depth.get() == row.depth
        && workload.jobs.get() == row.jobs
        && workload.sync == sync_method(row)
        && row.sync_every.is_none_or(|every| workload.sync_every == every)
        && test.write_cache == write_cache(row)
}

/// The test that a table's method makes of a row. Each job has a file to itself, or on a block
/// device the same bytes as the others, as with fio's `numjobs` and all other tools of the
/// catalogue.
fn derived(table: &Table, row: &Row) -> Option<Test> {
    let pattern = row.pattern.unwrap_or(Pattern::RandWrite).name();
    let sync = sync_method(row).name();
    let every = row.sync_every.map(|every| format!("sync_every = {every}\n")).unwrap_or_default();
    // As fio's `fsync`, which does not wait for the writes in flight.
    let drain = if row.depth > 1 && row.sync_every.is_some() && !sync_method(row).is_per_write() {
        "drain = false\n"
    } else {
        ""
    };
    let engine = match table.calls {
        Some(Submission::Asynchronous) => "engine = \"libaio\"\n",
        Some(Submission::Blocking) => "engine = \"psync\"\n",
        None => "",
    };
    let size = table.file_bytes.map(|bytes| format!("size = \"{bytes}B\"\n")).unwrap_or_default();
    let text = format!(
        "name = \"published\"\n[[test]]\nname = \"{}\"\npattern = \"{pattern}\"\n\
         block = \"{}B\"\ndepth = {}\njobs = {}\nsync = \"{sync}\"\n{every}{drain}{engine}\
         direct = {}\nsharing = \"device\"\n{size}write_cache = \"{}\"\ntime = \"{SECONDS_MIN}s\"\n\
         count = {COUNT_MIN}\nstop = \"both\"\n",
        table.workload,
        row.block_bytes,
        row.depth,
        row.jobs,
        table.direct.unwrap_or(true),
        write_cache(row).name(),
    );
    Plan::from_toml("published", &text).ok()?.tests.into_iter().next()
}

fn sync_method(row: &Row) -> SyncMethod {
    match row.sync {
        // FreeBSD flushes the raw device; on Linux, fsync of a raw device sends the same command.
        PublishedSync::Flush => SyncMethod::Fsync,
        PublishedSync::Method(method) => method,
    }
}

fn write_cache(row: &Row) -> WriteCache {
    match row.write_cache {
        Published::On => WriteCache::On,
        Published::Off => WriteCache::Off,
        Published::Default | Published::Unknown => WriteCache::Unchanged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_row_is_a_test() {
        for drive in catalogue::drives() {
            let tests = tests(drive).unwrap_or_else(|row| panic!("{}: {row:?}", drive.name));
            assert_eq!(tests.len(), drive.rows().count());
            for PublishedTest { sample: Sample { span: (low, high), figure, .. }, .. } in tests {
                assert!((low..=high).contains(&figure.value()));
            }
        }
    }
}
