//! A sort of more records than fit in memory, as a database performs it: sorted runs are written as
//! memory fills up, and merged at the end.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blocks::{BlockBytes, Jobs};
use crate::size::format_bytes;
use crate::sync::{SyncCall, SyncMethod};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SortKeys {
    /// URLs: few hosts, deep paths; text of about 80 bytes with long common prefixes.
    Urls,
    /// A tenant, a table, a number and a time, big-endian: the 22 bytes compared by an index on
    /// four columns.
    Composite,
}

impl SortKeys {
    /// Every kind, in the order in which the reference lists them.
    pub const ALL: [SortKeys; 2] = [SortKeys::Urls, SortKeys::Composite];

    /// The name used in plans.
    pub const fn name(self) -> &'static str {
        match self {
            SortKeys::Urls => "urls",
            SortKeys::Composite => "composite",
        }
    }

    /// Looks up a kind by its name in plans.
    pub fn from_name(name: &str) -> Option<SortKeys> {
        SortKeys::ALL.into_iter().find(|keys| keys.name() == name)
    }
}

/// Concurrent sorts, each with its share of the records and its own memory, like the connections of
/// a database.
#[derive(Debug, Clone, PartialEq)]
pub struct SortWork {
    pub keys: SortKeys,
    /// Bytes of all records of all jobs, keys and payloads.
    pub size_bytes: u64,
    /// Memory budget of each job, in bytes.
    pub memory_bytes: u64,
    /// Bytes of one write or read.
    pub block_bytes: BlockBytes,
    /// Number of concurrent sorts.
    pub jobs: Jobs,
    /// Bypass the page cache (`O_DIRECT`).
    pub direct: bool,
    /// The call that makes each run durable once it is written. No database does that: an
    /// interrupted sort starts over.
    pub sync: Option<SyncCall>,
    /// Idle time on the target before the test starts.
    pub rest: Duration,
    /// Seed of the record generator.
    pub seed: u64,
}

impl SortWork {
    /// The smallest memory budget: 4 MiB.
    pub const MEMORY_BYTES_MIN: u64 = 4 << 20;

    pub fn size_per_job_bytes(&self) -> u64 {
        self.size_bytes / u64::from(self.jobs.get())
    }

    /// The sync method for result documents.
    pub const fn sync_method(&self) -> SyncMethod {
        match self.sync {
            None => SyncMethod::None,
            Some(SyncCall::Fsync) => SyncMethod::Fsync,
            Some(SyncCall::Fdatasync) => SyncMethod::Fdatasync,
        }
    }

    /// The test's default name.
    pub fn title(&self) -> String {
        let sync =
            self.sync.map_or_else(String::new, |call| format!(", {} of each run", call.name()));
        let cached = if self.direct { "" } else { ", cached" };
        format!(
            "sort {} of {} in {}, {} blocks{cached}{sync}, jobs {}",
            format_bytes(self.size_bytes),
            self.keys.name(),
            format_bytes(self.memory_bytes),
            format_bytes(u64::from(self.block_bytes.get())),
            self.jobs.get()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_keys() {
        for keys in SortKeys::ALL {
            assert_eq!(SortKeys::from_name(keys.name()), Some(keys));
            assert_eq!(serde_json::to_value(keys).unwrap(), keys.name());
        }
        assert_eq!(SortKeys::from_name("uuids"), None);
    }

    #[test]
    fn a_run_is_made_durable_by_the_call_that_it_names() {
        let sort = SortWork {
            keys: SortKeys::Urls,
            size_bytes: 40 << 20,
            memory_bytes: SortWork::MEMORY_BYTES_MIN,
            block_bytes: BlockBytes::MIN,
            jobs: Jobs::new(4).unwrap(),
            direct: true,
            sync: None,
            rest: Duration::ZERO,
            seed: 1,
        };
        assert_eq!(sort.size_per_job_bytes(), 10 << 20);
        for call in [None, Some(SyncCall::Fsync), Some(SyncCall::Fdatasync)] {
            let sort = SortWork { sync: call, ..sort.clone() };
            assert_eq!(
                (sort.sync_method().call(), sort.sync_method().is_durable()),
                (call, call.is_some())
            );
        }
    }
}
