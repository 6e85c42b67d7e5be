//! A sort of more records than memory holds, the way a database does one: sorted runs are written as memory fills, and merged
//! at the end.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blocks::{BlockBytes, Jobs};
use crate::size::format_bytes;
use crate::sync::{SyncCall, SyncMethod};

/// What the records are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SortKeys {
    /// Addresses of pages: few hosts, deep paths; text of some 80 bytes whose beginnings repeat.
    Urls,
    /// A tenant, a table, a number and a time, big-endian: the 22 bytes that an index of four columns compares.
    Composite,
}

impl SortKeys {
    /// Every kind, in the order in which the reference lists them.
    pub const ALL: [SortKeys; 2] = [SortKeys::Urls, SortKeys::Composite];

    /// The name as plans write it.
    pub const fn name(self) -> &'static str {
        match self {
            SortKeys::Urls => "urls",
            SortKeys::Composite => "composite",
        }
    }

    /// The kind of that name, or `None`.
    pub fn from_name(name: &str) -> Option<SortKeys> {
        SortKeys::ALL.into_iter().find(|keys| keys.name() == name)
    }
}

/// Sorts that run side by side, each of its own share of the records and with its own memory, as each connection of a
/// database has.
#[derive(Debug, Clone, PartialEq)]
pub struct SortWork {
    /// What the records are sorted by.
    pub keys: SortKeys,
    /// Bytes of all records, keys and payloads, all jobs together.
    pub size_bytes: u64,
    /// Memory of each job.
    pub memory_bytes: u64,
    /// Bytes of one write or read.
    pub block_bytes: BlockBytes,
    /// How many sorts.
    pub jobs: Jobs,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// The call that makes a run durable when it is written. No database does that: a sort that was cut off begins anew.
    pub sync: Option<SyncCall>,
    /// How long the target is left alone before.
    pub rest: Duration,
    /// Decides the records.
    pub seed: u64,
}

impl SortWork {
    /// Less memory than this is not sorted in: 4 MiB.
    pub const MEMORY_BYTES_MIN: u64 = 4 << 20;

    /// Bytes of each job's records.
    pub fn size_per_job_bytes(&self) -> u64 {
        self.size_bytes / u64::from(self.jobs.get())
    }

    /// How runs are made durable, as results say it.
    pub const fn sync_method(&self) -> SyncMethod {
        match self.sync {
            None => SyncMethod::None,
            Some(SyncCall::Fsync) => SyncMethod::Fsync,
            Some(SyncCall::Fdatasync) => SyncMethod::Fdatasync,
        }
    }

    /// The test's name where the plan gives none.
    pub fn title(&self) -> String {
        let sync = self.sync.map_or_else(String::new, |call| format!(", {} of each run", call.name()));
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
            assert_eq!((sort.sync_method().call(), sort.sync_method().is_durable()), (call, call.is_some()));
        }
    }
}
