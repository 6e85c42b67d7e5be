//! One job's view of the zones: its range, its positions, its rules.

use std::ops::Range;

use super::{ZoneCollection, ZoneTable, Zoning};
use crate::blocks::Workload;
use crate::parts::JobPart;
use crate::pattern::Pattern;

/// The rules and positions of one job.
#[derive(Debug)]
pub struct ZoneJob {
    /// The bytes that the job uses.
    pub(super) range: Range<u64>,
    /// All operations have a multiple of these bytes.
    pub(super) block_bytes: u64,
    pub(super) pattern: Pattern,
    /// A zone that holds data is never reset, because the data is checked afterwards.
    pub(super) keeps_data: bool,
    pub(super) reads_beyond: bool,
    pub(super) max_open: Option<u32>,
    pub(super) collection: Option<ZoneCollection>,
    /// Number of passes over the range that sequential reads or resets may start; `None` for no
    /// limit.
    pub(super) passes: Option<u64>,
    /// The offsets at which a sequential pattern continues: of reads, then of writes and resets.
    pub(super) positions: [u64; 2],
    /// Its number in the table.
    pub(super) number: u32,
}

impl ZoneJob {
    /// The job of a workload with these rules, entered in `table`.
    pub fn new(
        workload: &Workload,
        zoning: &Zoning,
        part: JobPart,
        table: &mut ZoneTable,
    ) -> ZoneJob {
        let limit = workload.limit_on(part.bytes);
        let pass = workload.operations(part.bytes).max(1);
        let passes = limit.count().map(|count| count.div_ceil(pass).max(1));
        let range = part.start..part.start + part.bytes;
        let mut job = ZoneJob {
            positions: [range.start; 2],
            block_bytes: u64::from(workload.block_bytes.get()),
            pattern: workload.pattern,
            keeps_data: workload.verify.is_some(),
            reads_beyond: zoning.read_beyond_write_pointer,
            max_open: zoning.job_max_open,
            collection: zoning.collection,
            passes,
            number: 0,
            range,
        };
        job.number = table.enter(&job);
        job
    }

    /// Returns `true` if the job continues until a time, so it waits for data that others write.
    pub const fn is_timed(&self) -> bool {
        self.passes.is_none()
    }

    /// Returns `true` if the job holds a zone while it reads from it.
    pub(super) const fn holds_reads(&self) -> bool {
        !self.reads_beyond
    }

    /// Returns to the start of the range, if another pass may begin.
    pub(super) const fn begin_pass(&mut self, direction: usize) -> bool {
        if let Some(passes) = &mut self.passes {
            if *passes <= 1 {
                return false;
            }
            *passes -= 1;
        }
        self.positions[direction] = self.range.start;
        true
    }
}
