//! The definition of a commit.

use crate::blocks::{SyncTiming, Workload};
use crate::files::SyncedFile;

/// The operations that count as one commit of a workload. Its latency runs from the start of the
/// first write until the writes are known to be durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Commits {
    /// None: nothing is written, nothing makes the writes durable, or no sync is known to cover a
    /// write that was in flight at the same time.
    None,
    /// Each write, which is durable when it returns: `O_SYNC`, `O_DSYNC`, `RWF_DSYNC`.
    EachWrite,
    /// Each sync call, with the writes since the previous one: `fsync`, `fdatasync`, linked or not.
    EachSync,
}

impl Workload {
    /// The operations that count as a commit of this workload.
    ///
    /// ```
    /// use workload::{BlockBytes, Commits, Pattern, SyncMethod, Workload};
    /// let mut journal = Workload::new(Pattern::Write, BlockBytes::new(4096)?);
    /// assert_eq!(journal.commits(), Commits::None);
    /// journal.sync = SyncMethod::Fdatasync;
    /// assert_eq!(journal.commits(), Commits::EachSync);
    /// journal.sync = SyncMethod::ODsync;
    /// assert_eq!(journal.commits(), Commits::EachWrite);
    /// # Ok::<(), workload::OutOfRange>(())
    /// ```
    pub fn commits(&self) -> Commits {
        self.commits_in(self.files.per_job)
    }

    /// The operations that count as a commit if each job has this many files, which is one on a
    /// device.
    pub fn commits_in(&self, files: u32) -> Commits {
        if !self.pattern.writes() || !self.sync.is_durable() {
            Commits::None
        } else if !self.sync.is_separate() {
            Commits::EachWrite
        } else if self.syncs_cover_writes(files) {
            Commits::EachSync
        } else {
            Commits::None
        }
    }

    /// Returns `true` if each sync covers every write that the job issued before it. A sync that
    /// does not wait for writes in flight covers only those that have completed, and a sync covers
    /// one file.
    fn syncs_cover_writes(&self, files: u32) -> bool {
        let completed = self.sync_timing == SyncTiming::Drained || self.depth_effective() == 1;
        let same_file =
            files == 1 || self.files.synced == SyncedFile::Written && self.sync_every == 1;
        completed && same_file
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockBytes, Depth, Pattern, SyncMethod};

    #[test]
    fn only_a_write_that_is_made_durable_is_a_commit() {
        for pattern in Pattern::ALL {
            for sync in SyncMethod::ALL {
                let mut workload = Workload::new(pattern, BlockBytes::new(4096).unwrap());
                workload.sync = sync;
                let commits = workload.commits();
                assert_eq!(commits != Commits::None, pattern.writes() && sync != SyncMethod::None);
                if commits != Commits::None {
                    assert_eq!(
                        commits == Commits::EachWrite,
                        sync.open_flag().is_some() || sync == SyncMethod::RwfDsync
                    );
                }
            }
        }
    }

    #[test]
    fn a_sync_beside_writes_in_flight_commits_none_of_them() {
        let mut workload = Workload::new(Pattern::Write, BlockBytes::new(4096).unwrap());
        workload.sync = SyncMethod::Fsync;
        workload.depth = Depth::new(8).unwrap();
        assert_eq!(workload.commits(), Commits::EachSync);
        for timing in [SyncTiming::Undrained, SyncTiming::Queued] {
            workload.sync_timing = timing;
            assert_eq!(workload.commits(), Commits::None);
        }
        workload.depth = Depth::MIN;
        assert_eq!(workload.commits(), Commits::EachSync);
    }
}
