//! Commits of the storage alone: how long they take, by the bytes written.

use measurement::TestResult;
use workload::{Pattern, SyncMethod};

use crate::log_write::LogWrite;
use crate::sync_times::SyncTimes;

/// Commits that show what a byte takes are at least this large.
const LARGE_BYTES_MIN: u64 = 64 << 10;

/// A call that sends a flush takes at least this part of a commit, where nothing counts flushes.
const FLUSH_PART_MIN: f64 = 0.1;

/// Commits of one writer, of one size or two.
#[derive(Debug, Clone, PartialEq)]
pub struct Storage {
    pub sync: SyncMethod,
    pub small: Commits,
    /// A larger size, which shows what each further byte takes.
    pub large: Option<Commits>,
    /// The part of a commit in which its data is written; the drive is flushed in the rest. 1 if
    /// it is not known.
    pub write_part: f64,
}

/// Commits of one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Commits {
    /// The name of the test.
    pub test: String,
    pub bytes: u64,
    pub times: SyncTimes,
    /// Processor time of one of them.
    pub cpu_us: f64,
    /// The part of each that is the write; `None` unless it bypassed the page cache.
    write_part: Option<f64>,
}

/// No test of a result shows commits of its storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoStorage {
    #[error("it contains no commits of one writer, whose time a prediction could start from")]
    NoCommits,
    #[error(
        "it contains no commits of one writer with {}, with which this server writes its log; \
         measure some, such as those of `flushmark run wal`",
        .0.name()
    )]
    OtherSync(SyncMethod),
}

impl Storage {
    /// Commits of a server's storage, as `db commits` and `db bench` measure them.
    ///
    /// # Errors
    /// If there are none.
    pub fn of(results: &[TestResult]) -> Result<Storage, NoStorage> {
        let tests = all_commits(results);
        let (sync, smallest) = tests.first().ok_or(NoStorage::NoCommits)?;
        Ok(Storage::chosen(*sync, smallest.bytes, &tests))
    }

    /// Those tests of any result that are most like the server's writes to its log.
    ///
    /// # Errors
    /// If there are none with the same sync.
    pub fn nearest(results: &[TestResult], log_write: LogWrite) -> Result<Storage, NoStorage> {
        let tests = all_commits(results);
        if tests.is_empty() {
            return Err(NoStorage::NoCommits);
        }
        if !tests.iter().any(|(sync, _)| *sync == log_write.sync) {
            return Err(NoStorage::OtherSync(log_write.sync));
        }
        Ok(Storage::chosen(log_write.sync, log_write.page_bytes, &tests))
    }

    /// Commits of at least a page with this sync, of which there are some, and large ones.
    fn chosen(sync: SyncMethod, page: u64, tests: &[(SyncMethod, Commits)]) -> Storage {
        let of_sync = tests.iter().filter(|(other, _)| *other == sync).map(|(_, commits)| commits);
        let from_page = of_sync.clone().filter(|commits| commits.bytes >= page);
        let small = from_page.chain(of_sync.clone().rev()).next().unwrap_or(&tests[0].1);
        let larger = of_sync.filter(|commits| commits.bytes >= LARGE_BYTES_MIN);
        let large = larger.min_by_key(|commits| commits.bytes);
        let mut parts = tests
            .iter()
            .filter(|(other, commits)| *other == sync && commits.bytes < LARGE_BYTES_MIN);
        let write_part = parts.find_map(|(_, commits)| commits.write_part).unwrap_or(1.0);
        Storage { sync, small: small.clone(), large: large.cloned(), write_part }
    }

    /// Times of commits of this many bytes: those of the small size, longer by what the bytes take.
    pub fn times(&self, bytes: f64) -> SyncTimes {
        let Some(large) = &self.large else { return self.small.times.clone() };
        let more = bytes - self.small.bytes as f64;
        let us = large.times.mean_us() - self.small.times.mean_us();
        let per_byte = us.max(0.0) / (large.bytes - self.small.bytes) as f64;
        self.small.times.shifted(more.max(0.0) * per_byte)
    }
}

/// Commits of one writer, smallest first.
fn all_commits(results: &[TestResult]) -> Vec<(SyncMethod, Commits)> {
    let mut tests: Vec<(SyncMethod, Commits)> = results.iter().filter_map(commits).collect();
    tests.sort_by_key(|(_, commits)| commits.bytes);
    tests
}

/// A test of one writer that makes each write durable by itself.
fn commits(result: &TestResult) -> Option<(SyncMethod, Commits)> {
    let workload = &result.workload;
    let is_one_writer = workload.jobs == 1 && workload.depth <= 1 && workload.sync_every <= 1;
    let writes = matches!(workload.pattern, Some(Pattern::Write | Pattern::RandWrite));
    if !is_one_writer || !writes || workload.rate.is_some() {
        return None;
    }
    let sync = workload.sync.filter(|sync| sync.is_durable())?;
    let times = SyncTimes::of(result.histograms.commit.as_ref()?)?;
    let processor_s = result.cpu.user_s + result.cpu.system_s;
    let cpu_us = processor_s * 1e6 / result.proof.commits.max(1) as f64;
    let (test, bytes) = (result.test.clone(), workload.block_bytes);
    let write_part = workload.direct.then(|| write_part(result)).flatten();
    Some((sync, Commits { test, bytes, times, cpu_us, write_part }))
}

/// The part of a commit that is the write, if it has a separate sync. A drive without a volatile
/// cache gets no flush, so the sync has nothing to wait for.
fn write_part(result: &TestResult) -> Option<f64> {
    let (write, sync) = (result.write_us.as_ref()?.mean, result.sync_us.as_ref()?.mean);
    let part = write / (write + sync);
    let flushes = result.proof.device.as_ref().and_then(|device| device.flushes);
    let is_flushed = flushes.map_or(1.0 - part >= FLUSH_PART_MIN, |flushes| flushes > 0);
    Some(if is_flushed { part } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use samples::machine::write;

    use super::*;

    fn result(sync: SyncMethod, bytes: u64, commit_us: f64) -> TestResult {
        let mut result = write(sync, commit_us, 0.0).result();
        result.workload.block_bytes = bytes;
        result
    }

    fn log_write(sync: SyncMethod) -> LogWrite {
        LogWrite { page_bytes: 8192, sync, direct: false, serial_syncs: 1 }
    }

    #[test]
    fn each_byte_takes_time() {
        let of = |bytes, us| result(SyncMethod::Fdatasync, bytes, us);
        let storage = Storage::of(&[of(131_072, 1230.0), of(8192, 1000.0)]).unwrap();
        assert_eq!((storage.small.bytes, storage.sync), (8192, SyncMethod::Fdatasync));
        let (page, more) = (storage.small.times.mean_us(), storage.times(69_632.0).mean_us());
        assert!((more - page - 115.0).abs() < 5.0, "{page} {more}");
        assert_eq!(storage.times(100.0), storage.small.times, "less than a page is a page");
    }

    #[test]
    fn the_servers_sync_is_wanted() {
        let results = [
            result(SyncMethod::ODsync, 4096, 500.0),
            result(SyncMethod::Fdatasync, 512, 900.0),
            result(SyncMethod::Fdatasync, 4096, 1000.0),
        ];
        let nearest = |sync| Storage::nearest(&results, log_write(sync));
        let found = nearest(SyncMethod::Fdatasync).unwrap();
        assert_eq!((found.small.bytes, found.large), (4096, None));
        insta::assert_snapshot!(nearest(SyncMethod::Fsync).unwrap_err(), @"it contains no commits of one writer with fsync, with which this server writes its log; measure some, such as those of `flushmark run wal`");
        let none = Storage::nearest(&[], log_write(SyncMethod::Fsync)).unwrap_err();
        insta::assert_snapshot!(none, @"it contains no commits of one writer, whose time a prediction could start from");
    }

    #[test]
    fn several_writers_are_not_asked() {
        let mut many = result(SyncMethod::Fdatasync, 4096, 1000.0);
        many.workload.jobs = 4;
        assert_eq!(Storage::of(&[many]), Err(NoStorage::NoCommits));
    }
}
