//! One published test.

use serde::{Deserialize, Serialize};
use workload::{Pattern, SyncMethod};

/// One test's published figures. What the source does not give is `None`; a mean is what most sources give, none gives
/// percentiles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The source's name for the table that it stands in.
    pub workload: String,
    /// Which block comes next.
    pub pattern: Pattern,
    /// Bytes of one read or write.
    pub block_bytes: u64,
    /// I/Os that each job kept in flight.
    pub depth: u32,
    /// Independent submitters.
    pub jobs: u32,
    /// How writes were made durable.
    pub sync: PublishedSync,
    /// One sync after this many writes; `None` where nothing was synced.
    pub sync_every: Option<u32>,
    /// The drive's volatile write cache.
    pub write_cache: WriteCache,
    /// Operations per second.
    pub iops: Option<f64>,
    /// Data moved per second.
    pub mib_per_s: Option<f64>,
    /// Mean latency of the write; in a flush table (`diskinfo -S`) the flush is inside it.
    pub write_us: Option<f64>,
    /// Mean latency of the sync call that followed it.
    pub sync_us: Option<f64>,
}

/// How a published test made its writes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(into = "&'static str")]
pub enum PublishedSync {
    /// One of the system's ways.
    Method(SyncMethod),
    /// A FLUSH CACHE command after each write, sent to the drive without a filesystem between (FreeBSD's `diskinfo -S`). An `fsync`
    /// of a raw Linux block device is the same: write, wait, flush.
    Flush,
}

impl PublishedSync {
    /// The name in data files: a sync method's name, or `flush`.
    pub const fn name(self) -> &'static str {
        match self {
            PublishedSync::Method(method) => method.name(),
            PublishedSync::Flush => "flush",
        }
    }

    /// The way of that name, or `None`.
    pub fn from_name(name: &str) -> Option<PublishedSync> {
        match name {
            "flush" => Some(PublishedSync::Flush),
            _ => SyncMethod::from_name(name).map(PublishedSync::Method),
        }
    }

    /// Whether anything was made durable.
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

/// The drive's volatile write cache in a published test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteCache {
    /// Switched on.
    On,
    /// Switched off: each write goes to the medium, or on a drive with protected cache is known to be safe there.
    Off,
    /// As shipped, and nobody said which.
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
    /// Mean time of one commit (a write together with what makes it durable), or `None` where the row does not tell: reads, nothing
    /// synced, several writes a sync, or several in flight at once, where a rate no longer tells how long one takes.
    ///
    /// Taken from the rate, `1e6 / iops`: with one commit in flight nothing else fits between two of them. The sum of the published
    /// write and sync latencies only where no rate is given, because fio's two overlap at depth 1 with libaio (23.5 + 20.4 µs
    /// beside 36 600 commits a second, which leaves 27.3 µs for each).
    pub fn commit_us(&self) -> Option<f64> {
        let one_at_a_time = self.depth == 1 && self.jobs == 1 && self.sync_every == Some(1);
        if !(one_at_a_time && self.pattern.writes() && !self.pattern.is_mixed() && self.sync.is_durable()) {
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
        let latencies_only = Row { iops: None, write_us: Some(20.0), sync_us: Some(1700.0), ..row() };
        assert_eq!(latencies_only.commit_us(), Some(1720.0));
        let write_only = Row { iops: None, write_us: Some(20.0), ..row() };
        assert_eq!(write_only.commit_us(), None);
    }

    #[test]
    fn a_row_that_tells_no_commit_time_gives_none() {
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
