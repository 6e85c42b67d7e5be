//! What a sort of more than memory holds came to: its own time and the drive's told apart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::{SortKeys, SortWork, SyncMethod};

/// What was asked of a sort, besides what every workload has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SortRecord {
    /// What the records were sorted by.
    pub keys: SortKeys,
    /// Memory of each job.
    pub memory_bytes: u64,
    /// How each run was made durable when it was written; `none` is what databases do.
    pub runs_sync: SyncMethod,
}

impl SortRecord {
    /// As a test asks for it.
    pub const fn of(sort: &SortWork) -> SortRecord {
        SortRecord { keys: sort.keys, memory_bytes: sort.memory_bytes, runs_sync: sort.sync_method() }
    }
}

/// Where the time of a sort went. A sort is one thread that does one thing at a time, so that the parts add up to the whole;
/// of several sorts side by side each figure is the sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SortFigures {
    /// How many sorts these figures are the sum of.
    pub sorts: u64,
    /// Records that were made and taken.
    pub records: u64,
    /// Bytes of their keys and payloads.
    pub bytes: u64,
    /// Runs written, those that were merged from others included.
    pub runs: u64,
    /// Bytes written to the target.
    pub written_bytes: u64,
    /// Bytes read from it.
    pub read_bytes: u64,
    /// Seconds in which the records were made: no part of the sort.
    pub input_s: f64,
    /// Seconds of sorting in memory.
    pub sorting_s: f64,
    /// Seconds of taking records into memory and of coding them into runs.
    pub coding_s: f64,
    /// Seconds of merging runs, without what the drive took.
    pub merging_s: f64,
    /// Seconds within writes to the target, syncs included.
    pub writing_s: f64,
    /// Seconds within reads from it.
    pub reading_s: f64,
    /// Seconds until the first row came out; of several sorts the mean, `null` where one was ended before.
    pub first_row_s: Option<f64>,
}

impl SortFigures {
    /// Seconds that the sort itself took.
    pub fn own_s(&self) -> f64 {
        self.sorting_s + self.coding_s + self.merging_s
    }

    /// Seconds that it waited for the drive.
    pub fn drive_s(&self) -> f64 {
        self.writing_s + self.reading_s
    }

    /// All of its time.
    pub fn total_s(&self) -> f64 {
        self.input_s + self.own_s() + self.drive_s()
    }

    /// Several sorts added up; `None` of none.
    pub fn sum(parts: impl IntoIterator<Item = SortFigures>) -> Option<SortFigures> {
        parts.into_iter().reduce(SortFigures::plus)
    }

    fn plus(self, other: SortFigures) -> SortFigures {
        let sorts = self.sorts + other.sorts;
        let mean = |(ours, theirs): (f64, f64)| {
            (ours * self.sorts as f64 + theirs * other.sorts as f64) / (sorts as f64).max(1.0)
        };
        SortFigures {
            sorts,
            records: self.records + other.records,
            bytes: self.bytes + other.bytes,
            runs: self.runs + other.runs,
            written_bytes: self.written_bytes + other.written_bytes,
            read_bytes: self.read_bytes + other.read_bytes,
            input_s: self.input_s + other.input_s,
            sorting_s: self.sorting_s + other.sorting_s,
            coding_s: self.coding_s + other.coding_s,
            merging_s: self.merging_s + other.merging_s,
            writing_s: self.writing_s + other.writing_s,
            reading_s: self.reading_s + other.reading_s,
            first_row_s: self.first_row_s.zip(other.first_row_s).map(mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_add_up_and_their_first_rows_are_averaged() {
        let one = SortFigures {
            sorts: 1,
            records: 10,
            bytes: 1000,
            runs: 2,
            written_bytes: 900,
            read_bytes: 900,
            input_s: 0.5,
            sorting_s: 1.0,
            coding_s: 2.0,
            merging_s: 3.0,
            writing_s: 4.0,
            reading_s: 5.0,
            first_row_s: Some(8.0),
        };
        let three = SortFigures::sum([one, one, SortFigures { first_row_s: Some(2.0), ..one }]).unwrap();
        assert_eq!((three.sorts, three.records, three.runs), (3, 30, 6));
        assert_eq!((three.own_s(), three.drive_s(), three.total_s()), (18.0, 27.0, 46.5));
        assert_eq!(three.first_row_s, Some(6.0));
        let cut_off = SortFigures { first_row_s: None, ..one };
        assert_eq!(SortFigures::sum([one, cut_off]).unwrap().first_row_s, None);
        assert_eq!(SortFigures::sum([]), None);
    }
}
