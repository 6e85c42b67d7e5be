//! The files of a job, and the order in which its operations visit them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The files of a job that has several. A device or an existing file counts as one file, however
/// many are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct JobFiles {
    /// Number of files of each job, all of the same size.
    #[schemars(range(min = 1, max = 16384))]
    pub per_job: u32,
    /// The order in which they take turns.
    pub order: FileOrder,
    /// Operations of a turn; a sync counts as one if it takes a turn.
    pub turn: u32,
    pub synced: SyncedFile,
}

impl JobFiles {
    pub const ONE: JobFiles =
        JobFiles { per_job: 1, order: FileOrder::RoundRobin, turn: 1, synced: SyncedFile::Written };
    /// The largest number of files of a job.
    pub const PER_JOB_MAX: u32 = 1 << 14;
    /// The largest number of operations of a turn.
    pub const TURN_MAX: u32 = 1_000_000;
}

/// The order in which a job's files take turns. A file of which as many blocks have been accessed
/// as it contains has no further turn until the same is true of all of them, as in fio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileOrder {
    /// One after the other, again and again.
    RoundRobin,
    /// Each turn goes to a file that is drawn at random.
    Random,
    /// All blocks of a file before the next file.
    Sequential,
}

impl FileOrder {
    /// Every order, in the order in which help lists them.
    pub const ALL: [FileOrder; 3] =
        [FileOrder::RoundRobin, FileOrder::Random, FileOrder::Sequential];

    /// The name used in plans.
    pub const fn name(self) -> &'static str {
        match self {
            FileOrder::RoundRobin => "round-robin",
            FileOrder::Random => "random",
            FileOrder::Sequential => "sequential",
        }
    }

    /// Looks up an order by its name in plans.
    pub fn from_name(name: &str) -> Option<FileOrder> {
        FileOrder::ALL.into_iter().find(|order| order.name() == name)
    }
}

/// The file that a sync covers, if a job has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SyncedFile {
    /// The file of the last write.
    Written,
    /// The file whose turn it is, which is usually another one. fio selects a file before it
    /// decides between a read, a write and a sync (`set_io_u_file` in `io_u.c`).
    Next,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_order() {
        for order in FileOrder::ALL {
            assert_eq!(FileOrder::from_name(order.name()), Some(order));
            assert_eq!(serde_json::to_value(order).unwrap(), order.name());
        }
    }
}
