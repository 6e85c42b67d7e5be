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
///
/// What the sort does itself is told in seconds that its thread was on a processor, so that a machine with more sorts than
/// processors makes no sort slower than it is. Within a call to the target, seconds on a processor are the kernel's own work
/// (copying to and from the page cache, handing a request over), which no drive saves; the others are waits for the drive. A
/// thread that waits for a processor within a call cannot be told from one that waits for the drive and counts as such, but on
/// `null:`, where there is no drive to wait for.
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
    /// Processor seconds in which the records were made: no part of the sort.
    pub input_s: f64,
    /// Processor seconds of sorting in memory.
    pub sorting_s: f64,
    /// Processor seconds of taking records into memory and of coding them into runs.
    pub coding_s: f64,
    /// Processor seconds of merging runs, without what the drive took.
    pub merging_s: f64,
    /// Seconds outside of writes and reads in which the thread was on no processor: as a rule, because others were.
    #[serde(default)]
    pub waiting_s: f64,
    /// Seconds within writes to the target, syncs included.
    pub writing_s: f64,
    /// Seconds of those on a processor: the kernel's own work.
    #[serde(default)]
    pub writing_cpu_s: f64,
    /// Seconds within reads from it.
    pub reading_s: f64,
    /// Seconds of those on a processor.
    #[serde(default)]
    pub reading_cpu_s: f64,
    /// Seconds until the first row came out; of several sorts the mean, `null` where one was ended before.
    pub first_row_s: Option<f64>,
}

impl SortFigures {
    /// Seconds that the sort itself took.
    pub fn own_s(&self) -> f64 {
        self.sorting_s + self.coding_s + self.merging_s
    }

    /// Seconds that the kernel worked for its writes and reads.
    pub fn kernel_s(&self) -> f64 {
        self.writing_cpu_s + self.reading_cpu_s
    }

    /// Seconds within writes in which it waited for the drive.
    pub fn write_wait_s(&self) -> f64 {
        self.writing_s - self.writing_cpu_s
    }

    /// Seconds within reads in which it waited for the drive.
    pub fn read_wait_s(&self) -> f64 {
        self.reading_s - self.reading_cpu_s
    }

    /// Seconds that it waited for the drive.
    pub fn drive_s(&self) -> f64 {
        self.write_wait_s() + self.read_wait_s()
    }

    /// What its time falls into, which adds up to the whole: a name and seconds.
    pub fn parts(&self) -> [(&'static str, f64); 8] {
        [
            ("sorting", self.sorting_s),
            ("coding", self.coding_s),
            ("merging", self.merging_s),
            ("kernel", self.kernel_s()),
            ("write waits", self.write_wait_s()),
            ("read waits", self.read_wait_s()),
            ("processor waits", self.waiting_s),
            ("making records", self.input_s),
        ]
    }

    /// All of its time.
    pub fn total_s(&self) -> f64 {
        self.input_s + self.own_s() + self.waiting_s + self.writing_s + self.reading_s
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
            waiting_s: self.waiting_s + other.waiting_s,
            writing_s: self.writing_s + other.writing_s,
            writing_cpu_s: self.writing_cpu_s + other.writing_cpu_s,
            reading_s: self.reading_s + other.reading_s,
            reading_cpu_s: self.reading_cpu_s + other.reading_cpu_s,
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
            waiting_s: 0.25,
            writing_s: 4.0,
            writing_cpu_s: 1.0,
            reading_s: 5.0,
            reading_cpu_s: 0.5,
            first_row_s: Some(8.0),
        };
        let thrice = serde_json::to_value(SortFigures::sum([one; 3]).unwrap()).unwrap();
        for (figure, once) in serde_json::to_value(one).unwrap().as_object().unwrap() {
            let times = if figure == "first_row_s" { 1.0 } else { 3.0 };
            assert_eq!(thrice[figure].as_f64(), once.as_f64().map(|once| times * once), "{figure}");
        }
        let three = SortFigures::sum([one, one, SortFigures { first_row_s: Some(2.0), ..one }]).unwrap();
        assert_eq!((three.sorts, three.records, three.runs), (3, 30, 6));
        assert_eq!((three.own_s(), three.kernel_s(), three.drive_s()), (18.0, 4.5, 22.5));
        assert_eq!((three.write_wait_s(), three.read_wait_s()), (9.0, 13.5));
        assert_eq!((three.waiting_s, three.total_s()), (0.75, 47.25));
        let parts_s: f64 = three.parts().iter().map(|(_, part_s)| part_s).sum();
        assert!((parts_s - three.total_s()).abs() < 1e-9, "{three:?}");
        assert_eq!(three.first_row_s, Some(6.0));
        let late = SortFigures { first_row_s: Some(2.0), ..one };
        let pair = SortFigures::sum([one, late]).unwrap();
        assert_eq!(SortFigures::sum([one, pair]).unwrap().first_row_s, Some(6.0), "each sort weighs the same");
        let cut_off = SortFigures { first_row_s: None, ..one };
        assert_eq!(SortFigures::sum([one, cut_off]).unwrap().first_row_s, None);
        assert_eq!(SortFigures::sum([]), None);
    }
}
