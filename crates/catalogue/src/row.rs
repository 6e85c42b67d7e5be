//! One published test.

use serde::{Deserialize, Serialize};
use workload::{Pattern, SyncMethod};

/// The published figures of one test. What the source does not give is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Order of the accesses; `None` if the source does not state it.
    pub pattern: Option<Pattern>,
    /// Bytes per read or write.
    pub block_bytes: u64,
    /// I/Os in flight per job.
    pub depth: u32,
    /// Number of concurrent submitters.
    pub jobs: u32,
    /// The method that made writes durable.
    pub sync: PublishedSync,
    /// Number of writes per sync; `None` if nothing was synced.
    pub sync_every: Option<u32>,
    /// State of the drive's volatile write cache.
    pub write_cache: WriteCache,
    /// Operations per second of all jobs.
    pub iops: Option<f64>,
    pub mib_per_s: Option<f64>,
    /// Mean latency of the write, in microseconds, as all latencies.
    pub write_us: Option<f64>,
    pub write_p50_us: Option<f64>,
    pub write_p99_us: Option<f64>,
    /// Mean latency of the sync call after it.
    pub sync_us: Option<f64>,
    pub sync_p50_us: Option<f64>,
    pub sync_p99_us: Option<f64>,
    /// Mean latency of a write together with its sync.
    pub io_us: Option<f64>,
    pub io_p99_us: Option<f64>,
}

/// The quantity that a published figure measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Operations per second.
    Iops,
    MibPerS,
    /// A latency, in microseconds.
    Latency(Part, Statistic),
}

/// The part of an operation that a latency covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Write,
    /// The sync call after the write.
    Sync,
    /// The write together with its sync.
    Whole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    Mean,
    /// The median.
    P50,
    /// The 99th percentile.
    P99,
}

/// The method by which a published test made its writes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(into = "&'static str")]
pub enum PublishedSync {
    /// A sync method of the operating system.
    Method(SyncMethod),
    /// A FLUSH CACHE command after each write, sent to the drive without a filesystem in between
    /// (FreeBSD's `diskinfo -S`). An `fsync` of a raw Linux block device is the same: write, wait,
    /// flush.
    Flush,
}

impl PublishedSync {
    /// The name in data files: that of a sync method, or `flush`.
    pub const fn name(self) -> &'static str {
        match self {
            PublishedSync::Method(method) => method.name(),
            PublishedSync::Flush => "flush",
        }
    }

    /// The method with this name, if any.
    pub fn from_name(name: &str) -> Option<PublishedSync> {
        match name {
            "flush" => Some(PublishedSync::Flush),
            _ => SyncMethod::from_name(name).map(PublishedSync::Method),
        }
    }

    /// False only for [`SyncMethod::None`].
    pub const fn is_durable(self) -> bool {
        match self {
            PublishedSync::Method(method) => method.is_durable(),
            PublishedSync::Flush => true,
        }
    }
}

impl From<PublishedSync> for &'static str {
    fn from(sync: PublishedSync) -> &'static str {
        sync.name()
    }
}

/// State of the drive's volatile write cache in a published test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteCache {
    /// Switched on by the tester.
    On,
    /// Switched off: each write goes to the medium, or to a protected cache.
    Off,
    /// As shipped; the source does not say which.
    Default,
    /// Perhaps switched off: the source asks for it, but does not say whether each tester did it.
    Unknown,
}

impl WriteCache {
    /// The name in data files.
    pub const fn name(self) -> &'static str {
        match self {
            WriteCache::On => "on",
            WriteCache::Off => "off",
            WriteCache::Default => "default",
            WriteCache::Unknown => "unknown",
        }
    }

    /// True if the tester switched the cache on or off.
    pub const fn is_known(self) -> bool {
        matches!(self, WriteCache::On | WriteCache::Off)
    }
}

impl Row {
    /// The published figures.
    pub fn figures(&self) -> impl Iterator<Item = (Quantity, f64)> {
        use Part::{Sync, Whole, Write};
        use Quantity::{Iops, Latency, MibPerS};
        use Statistic::{Mean, P50, P99};
        [
            (Iops, self.iops),
            (MibPerS, self.mib_per_s),
            (Latency(Write, Mean), self.write_us),
            (Latency(Write, P50), self.write_p50_us),
            (Latency(Write, P99), self.write_p99_us),
            (Latency(Sync, Mean), self.sync_us),
            (Latency(Sync, P50), self.sync_p50_us),
            (Latency(Sync, P99), self.sync_p99_us),
            (Latency(Whole, Mean), self.io_us),
            (Latency(Whole, P99), self.io_p99_us),
        ]
        .into_iter()
        .filter_map(|(quantity, figure)| Some((quantity, figure?)))
    }

    /// Returns `true` if the two rows of a table are runs of one test.
    pub fn is_same_test(&self, other: &Row) -> bool {
        let test = |row: &Row| {
            (row.pattern, row.block_bytes, row.depth, row.jobs, row.sync, row.sync_every)
        };
        test(self) == test(other) && self.write_cache == other.write_cache
    }

    /// Mean time of one commit (a write together with what makes it durable), in microseconds.
    /// `None` if the row does not determine it: reads, nothing synced, several writes per sync, or
    /// several in flight at once, where a rate does not show how long one takes.
    ///
    /// Computed from the rate or taken from the published time of an I/O: with one commit in flight
    /// nothing else fits between two of them. Of the two, the larger number was printed with more
    /// digits. MiB/s, which are printed with few, come next. The sum of the published write and
    /// sync latencies is used only where there is nothing else, because fio's two overlap at depth
    /// 1 with libaio (23.5 + 20.4 µs at 36 600 commits a second, which leaves 27.3 µs for each).
    pub fn commit_us(&self) -> Option<f64> {
        let one_at_a_time = self.depth == 1 && self.jobs == 1 && self.sync_every == Some(1);
        // A test with a sync after each operation writes, even if its order is unknown.
        let writes = self.pattern.is_none_or(|pattern| pattern.writes() && !pattern.is_mixed());
        if !(one_at_a_time && writes && self.sync.is_durable()) {
            return None;
        }
        let mib = self.block_bytes as f64 / f64::from(1 << 20);
        match (self.iops, self.io_us, self.mib_per_s) {
            (Some(iops), Some(us), _) => Some(if iops > us { 1e6 / iops } else { us }),
            (Some(iops), None, _) => Some(1e6 / iops),
            (None, Some(us), _) => Some(us),
            (None, None, Some(mib_per_s)) => Some(1e6 * mib / mib_per_s),
            (None, None, None) => Some(self.write_us? + self.sync_us?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        Row {
            pattern: Some(Pattern::RandWrite),
            block_bytes: 4096,
            depth: 1,
            jobs: 1,
            sync: PublishedSync::Flush,
            sync_every: Some(1),
            write_cache: WriteCache::Default,
            iops: Some(1000.0),
            mib_per_s: None,
            write_us: None,
            write_p50_us: None,
            write_p99_us: None,
            sync_us: None,
            sync_p50_us: None,
            sync_p99_us: None,
            io_us: None,
            io_p99_us: None,
        }
    }

    #[test]
    fn a_commit_s_time_is_one_turn_of_the_closed_loop() {
        assert_eq!(row().commit_us(), Some(1000.0));
        let latencies_only =
            Row { iops: None, write_us: Some(20.0), sync_us: Some(1700.0), ..row() };
        assert_eq!(latencies_only.commit_us(), Some(1720.0));
        let write_only = Row { iops: None, write_us: Some(20.0), ..row() };
        assert_eq!(write_only.commit_us(), None);
        // 4 KiB at 2 MiB/s.
        let throughput_only = Row { iops: None, mib_per_s: Some(2.0), ..row() };
        assert_eq!(throughput_only.commit_us(), Some(1953.125));
        let unknown_order = Row { pattern: None, ..row() };
        assert_eq!(unknown_order.commit_us(), Some(1000.0));
    }

    #[test]
    fn of_rate_and_time_the_more_precise_one_counts() {
        let fast = Row { iops: Some(34_040.623), io_us: Some(29.0), ..row() };
        assert_eq!(fast.commit_us(), Some(1e6 / 34_040.623));
        let slow = Row { iops: Some(21.4), io_us: Some(46_779.5), ..row() };
        assert_eq!(slow.commit_us(), Some(46_779.5));
    }

    #[test]
    fn rows_that_do_not_determine_a_commit_time_have_none() {
        for other in [
            Row { depth: 32, ..row() },
            Row { jobs: 2, ..row() },
            Row { sync_every: Some(8), ..row() },
            Row { sync: PublishedSync::Method(SyncMethod::None), sync_every: None, ..row() },
            Row { pattern: Some(Pattern::RandRead), ..row() },
            Row { pattern: Some(Pattern::RandRw), ..row() },
        ] {
            assert_eq!(other.commit_us(), None, "{other:?}");
        }
    }

    #[test]
    fn every_sync_name_leads_back() {
        let methods = SyncMethod::ALL.map(PublishedSync::Method);
        for sync in methods.into_iter().chain([PublishedSync::Flush]) {
            assert_eq!(PublishedSync::from_name(sync.name()), Some(sync));
        }
        assert_eq!(PublishedSync::from_name("msync"), None);
    }
}
