//! The cost of an external sort: time of the sort itself and time of the drive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::{SortKeys, SortWork, SyncMethod};

/// Parameters of a sort that other workloads do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SortRecord {
    pub keys: SortKeys,
    /// Memory of each job.
    pub memory_bytes: u64,
    /// Method that made each run durable after it was written; `none` is what databases do.
    pub runs_sync: SyncMethod,
}

impl SortRecord {
    /// The parameters as requested by a test.
    pub const fn of(sort: &SortWork) -> SortRecord {
        SortRecord {
            keys: sort.keys,
            memory_bytes: sort.memory_bytes,
            runs_sync: sort.sync_method(),
        }
    }
}

/// Where the time of a sort went. A sort is one thread that does one thing at a time, so the parts
/// add up to the whole. For several concurrent sorts, each figure is the sum.
///
/// The sort's own work is measured in seconds that its thread spent on a processor, so it is not
/// overstated on a machine with more sorts than processors. Within a call to the target, time on a
/// processor is the kernel's work (copying to and from the page cache, submitting requests), which
/// no faster drive would save; the rest is waiting for the drive. A thread that waits for a
/// processor within a call cannot be distinguished from one that waits for the drive and is counted
/// as waiting for the drive, except on `null:`, which has no drive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SortFigures {
    /// Number of sorts that were added up.
    pub sorts: u64,
    pub records: u64,
    /// Bytes of their keys and payloads.
    pub bytes: u64,
    /// Runs written, including those merged from other runs.
    pub runs: u64,
    pub written_bytes: u64,
    pub read_bytes: u64,
    /// Processor seconds spent generating the records, which is not part of the sort.
    pub input_s: f64,
    /// Processor seconds of sorting in memory.
    pub sorting_s: f64,
    /// Processor seconds of copying records into memory and encoding them into runs.
    pub coding_s: f64,
    /// Processor seconds of merging runs, excluding I/O.
    pub merging_s: f64,
    /// Seconds outside of writes and reads in which the thread was on no processor, usually because
    /// other threads were.
    #[serde(default)]
    pub waiting_s: f64,
    /// Seconds in writes to the target, including syncs.
    pub writing_s: f64,
    /// The part of `writing_s` on a processor: the kernel's work.
    #[serde(default)]
    pub writing_cpu_s: f64,
    /// Seconds in reads from the target.
    pub reading_s: f64,
    /// The part of `reading_s` on a processor: the kernel's work.
    #[serde(default)]
    pub reading_cpu_s: f64,
    /// Seconds until the first row came out; for several sorts the mean, `null` if one ended
    /// before.
    pub first_row_s: Option<f64>,
}

impl SortFigures {
    /// Seconds of the sort's own work.
    pub fn own_s(&self) -> f64 {
        self.sorting_s + self.coding_s + self.merging_s
    }

    /// Seconds of kernel work in reads and writes.
    pub fn kernel_s(&self) -> f64 {
        self.writing_cpu_s + self.reading_cpu_s
    }

    /// Seconds of waiting for the drive in writes.
    pub fn write_wait_s(&self) -> f64 {
        self.writing_s - self.writing_cpu_s
    }

    /// Seconds of waiting for the drive in reads.
    pub fn read_wait_s(&self) -> f64 {
        self.reading_s - self.reading_cpu_s
    }

    /// Seconds of waiting for the drive.
    pub fn drive_s(&self) -> f64 {
        self.write_wait_s() + self.read_wait_s()
    }

    /// The parts of the total time: name and seconds. They add up to
    /// [`total_s`](SortFigures::total_s).
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

    /// Total time in seconds, including the generation of the records.
    pub fn total_s(&self) -> f64 {
        self.input_s + self.own_s() + self.waiting_s + self.writing_s + self.reading_s
    }

    /// Adds up several sorts; `None` for none.
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
        let three =
            SortFigures::sum([one, one, SortFigures { first_row_s: Some(2.0), ..one }]).unwrap();
        assert_eq!((three.sorts, three.records, three.runs), (3, 30, 6));
        assert_eq!((three.own_s(), three.kernel_s(), three.drive_s()), (18.0, 4.5, 22.5));
        assert_eq!((three.write_wait_s(), three.read_wait_s()), (9.0, 13.5));
        assert_eq!((three.waiting_s, three.total_s()), (0.75, 47.25));
        let parts_s: f64 = three.parts().iter().map(|(_, part_s)| part_s).sum();
        assert!((parts_s - three.total_s()).abs() < 1e-9, "{three:?}");
        assert_eq!(three.first_row_s, Some(6.0));
        let late = SortFigures { first_row_s: Some(2.0), ..one };
        let pair = SortFigures::sum([one, late]).unwrap();
        assert_eq!(
            SortFigures::sum([one, pair]).unwrap().first_row_s,
            Some(6.0),
            "each sort weighs the same"
        );
        let cut_off = SortFigures { first_row_s: None, ..one };
        assert_eq!(SortFigures::sum([one, cut_off]).unwrap().first_row_s, None);
        assert_eq!(SortFigures::sum([]), None);
    }
}
