//! The number of fio's sync calls and which call they were, from its counters.
//!
//! fio counts operations in an array by kind (stat.h, `total_io_u`). From fio 3.4 on it has room
//! for fsync but not for fdatasync and `sync_file_range`, so these are counted in the array that
//! follows it: as short reads and short writes (`short=5631,0,0,0` of a job that called fdatasync
//! 5631 times). From fio 3.42 on, every sync is counted as an fsync. fio before 3.4 counts no
//! syncs.

/// The call that made writes durable, if its place among the counters shows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CountedCall {
    #[default]
    Unknown,
    Fsync,
    Fdatasync,
    /// `sync_file_range`, which makes nothing durable.
    FileRange,
}

/// The counters of one job that syncs may be counted in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// The fourth number of `total=`, or `total_ios` of `sync` in JSON.
    pub syncs: u64,
    /// The first number of `short=`.
    pub short_reads: u64,
    /// The second number of `short=`.
    pub short_writes: u64,
    /// True for versions that count every kind of sync in `syncs`.
    pub all_together: bool,
}

impl Counters {
    /// The number of syncs of a job whose syncs were timed, and the call. The number is 0 if it is
    /// not among the counters.
    pub fn syncs(self) -> (u64, CountedCall) {
        match self {
            Counters { syncs: 1.., all_together: true, .. } => (self.syncs, CountedCall::Unknown),
            Counters { syncs: 1.., .. } => (self.syncs, CountedCall::Fsync),
            Counters { short_reads: 1.., .. } => (self.short_reads, CountedCall::Fdatasync),
            Counters { short_writes: 1.., .. } => (self.short_writes, CountedCall::FileRange),
            _ => (0, CountedCall::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_the_count_shows_the_call() {
        let of = |syncs, short_reads, short_writes, all_together| {
            Counters { syncs, short_reads, short_writes, all_together }.syncs()
        };
        assert_eq!(of(9, 0, 0, false), (9, CountedCall::Fsync));
        assert_eq!(of(9, 3, 3, false), (9, CountedCall::Fsync), "these are short reads and writes");
        assert_eq!(of(0, 9, 0, false), (9, CountedCall::Fdatasync));
        assert_eq!(of(0, 0, 9, false), (9, CountedCall::FileRange));
        assert_eq!(of(9, 0, 0, true), (9, CountedCall::Unknown));
        assert_eq!(of(0, 0, 0, false), (0, CountedCall::Unknown));
    }
}
