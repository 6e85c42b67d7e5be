//! One published test.

use serde::{Deserialize, Serialize};
use workload::{Pattern, SyncMethod};

/// The published figures of one test. What the source does not give is `None`. Most sources give
/// means, none gives percentiles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The source's name for the table that contains it.
    pub workload: String,
    /// Order of the accesses.
    pub pattern: Pattern,
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
    /// Operations per second.
    pub iops: Option<f64>,
    pub mib_per_s: Option<f64>,
    /// Mean latency of the write, in microseconds; in a flush table (`diskinfo -S`) it includes the
    /// flush.
    pub write_us: Option<f64>,
    /// Mean latency of the sync call after it, in microseconds.
    pub sync_us: Option<f64>,
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
}

impl WriteCache {
    /// The name in data files.
    pub const fn name(self) -> &'static str {
        match self {
            WriteCache::On => "on",
            WriteCache::Off => "off",
            WriteCache::Default => "default",
        }
    }
}

impl Row {
    /// Mean time of one commit (a write together with what makes it durable), in microseconds.
    /// `None` if the row does not determine it: reads, nothing synced, several writes per sync, or
    /// several in flight at once, where a rate does not show how long one takes.
    ///
    /// Computed from the rate, `1e6 / iops`: with one commit in flight nothing else fits between
    /// two of them. The sum of the published write and sync latencies is used only where no rate is
    /// given, because fio's two overlap at depth 1 with libaio (23.5 + 20.4 µs at 36 600 commits a
    /// second, which leaves 27.3 µs for each).
    pub fn commit_us(&self) -> Option<f64> {
        let one_at_a_time = self.depth == 1 && self.jobs == 1 && self.sync_every == Some(1);
        if !(one_at_a_time
            && self.pattern.writes()
            && !self.pattern.is_mixed()
            && self.sync.is_durable())
        {
            return None;
        }
        match self.iops {
            Some(iops) => Some(1e6 / iops),
            None => Some(self.write_us? + self.sync_us?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        Row {
            workload: String::new(),
            pattern: Pattern::RandWrite,
            block_bytes: 4096,
            depth: 1,
            jobs: 1,
            sync: PublishedSync::Flush,
            sync_every: Some(1),
            write_cache: WriteCache::Default,
            iops: Some(1000.0),
            mib_per_s: None,
            write_us: None,
            sync_us: None,
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
    }

    #[test]
    fn rows_that_do_not_determine_a_commit_time_have_none() {
        for other in [
            Row { depth: 32, ..row() },
            Row { jobs: 2, ..row() },
            Row { sync_every: Some(8), ..row() },
            Row { sync: PublishedSync::Method(SyncMethod::None), sync_every: None, ..row() },
            Row { pattern: Pattern::RandRead, ..row() },
            Row { pattern: Pattern::RandRw, ..row() },
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
