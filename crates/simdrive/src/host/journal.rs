//! A filesystem's journal: the cost of `fsync` in addition to the drive's flush.
//!
//! As in ext4 with jbd2 (`fs/jbd2/commit.c`): metadata changes join the running transaction. A sync
//! of a file whose transaction is not on disk requests its commit: the log blocks are written and
//! waited for, then the commit block goes out with a flush before it (which also covers the data)
//! and FUA. Only one transaction commits at a time; callers that need the next one wait, so
//! committers share commits.

use crate::time::Ns;

/// The number of a transaction.
pub type Tid = u64;

/// Size of a filesystem block.
pub const BLOCK_BYTES: u64 = 4096;

/// The changes of a transaction, which determine the number of its log blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// A file's inode: timestamps, size.
    pub inode: bool,
    /// Allocation: a bitmap, a group descriptor, a superblock counter.
    pub allocation: bool,
    pub directory: bool,
}

impl Changes {
    /// A file's timestamp changed.
    pub const TIME: Changes = Changes { inode: true, allocation: false, directory: false };
    /// Space was allocated to a file.
    pub const SPACE: Changes = Changes { inode: true, allocation: true, directory: false };
    /// A name was added or removed.
    pub const NAME: Changes = Changes { inode: true, allocation: false, directory: true };

    fn join(&mut self, other: Changes) {
        self.inode |= other.inode;
        self.allocation |= other.allocation;
        self.directory |= other.directory;
    }

    /// Number of logged blocks, including the descriptor that lists them.
    fn log_blocks(self) -> u64 {
        1 + u64::from(self.inode) + 2 * u64::from(self.allocation) + u64::from(self.directory)
    }
}

/// The progress of the committing transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Logging,
    Sealing,
}

/// The next write of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Log {
        /// Offset from the journal's start.
        offset: u64,
        bytes: u64,
    },
    /// The commit block, with a flush before it and FUA.
    Seal {
        /// Offset from the journal's start.
        offset: u64,
    },
}

#[derive(Debug)]
pub struct Journal {
    size_bytes: u64,
    head: u64,
    running: Tid,
    changes: Changes,
    committed: Tid,
    phase: Phase,
    /// Calls waiting for a transaction.
    waiting: Vec<(Tid, u32)>,
}

impl Journal {
    pub const fn new(size_bytes: u64) -> Journal {
        Journal {
            size_bytes,
            head: 0,
            running: 1,
            changes: Changes { inode: false, allocation: false, directory: false },
            committed: 0,
            phase: Phase::Idle,
            waiting: Vec::new(),
        }
    }

    /// Adds changes to the running transaction, and returns its number.
    pub fn change(&mut self, changes: Changes) -> Tid {
        self.changes.join(changes);
        self.running
    }

    /// Returns `true` if a transaction is on disk.
    pub const fn is_committed(&self, tid: Tid) -> bool {
        tid <= self.committed
    }

    /// Lets a call wait for a transaction. Returns the first write if this starts a commit.
    pub fn wait(&mut self, tid: Tid, call: u32) -> Option<Wanted> {
        self.waiting.push((tid, call));
        self.begin()
    }

    /// Called when the requested write is complete. Calls whose transaction is on disk are appended
    /// to `freed`. Returns the next write of this commit; after the last one,
    /// [`Journal::begin`] starts the next commit.
    pub fn written(&mut self, freed: &mut Vec<u32>) -> Option<Wanted> {
        match self.phase {
            Phase::Idle => None,
            Phase::Logging => {
                self.phase = Phase::Sealing;
                Some(Wanted::Seal { offset: self.reserve(BLOCK_BYTES) })
            }
            Phase::Sealing => {
                self.phase = Phase::Idle;
                self.committed += 1;
                let committed = self.committed;
                self.waiting.retain(|&(tid, call)| {
                    let is_free = tid <= committed;
                    if is_free {
                        freed.push(call);
                    }
                    !is_free
                });
                None
            }
        }
    }

    /// Starts the commit of the running transaction, if a call waits for it and no other commit is
    /// in progress. Returns its first write.
    pub fn begin(&mut self) -> Option<Wanted> {
        let wanted =
            self.phase == Phase::Idle && self.waiting.iter().any(|&(tid, _)| tid == self.running);
        if !wanted {
            return None;
        }
        self.phase = Phase::Logging;
        self.running += 1;
        let bytes = std::mem::take(&mut self.changes).log_blocks() * BLOCK_BYTES;
        Some(Wanted::Log { offset: self.reserve(bytes), bytes })
    }

    fn reserve(&mut self, bytes: u64) -> u64 {
        if self.head + bytes > self.size_bytes {
            self.head = 0;
        }
        let offset = self.head;
        self.head += bytes;
        offset
    }
}

/// Returns `true` if a write at `now` changes a file's timestamp that last changed at `before`.
/// Timestamps have the granularity of a clock tick.
pub const fn ticked(before: Option<Ns>, now: Ns, tick: Ns) -> bool {
    match before {
        None => true,
        Some(before) => now / tick != before / tick,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_come_during_a_commit_share_the_next() {
        let mut journal = Journal::new(1 << 20);
        let first = journal.change(Changes::TIME);
        assert_eq!(journal.wait(first, 1), Some(Wanted::Log { offset: 0, bytes: 2 * BLOCK_BYTES }));
        let second = journal.change(Changes::SPACE);
        assert_eq!((journal.wait(second, 2), journal.wait(second, 3)), (None, None));
        let mut freed = Vec::new();
        assert_eq!(journal.written(&mut freed), Some(Wanted::Seal { offset: 2 * BLOCK_BYTES }));
        assert!(freed.is_empty() && !journal.is_committed(first));
        assert_eq!(journal.written(&mut freed), None);
        let next = Wanted::Log { offset: 3 * BLOCK_BYTES, bytes: 4 * BLOCK_BYTES };
        assert_eq!(journal.begin(), Some(next));
        assert_eq!(freed, [1]);
        assert!(journal.is_committed(first) && !journal.is_committed(second));
        journal.written(&mut freed);
        assert_eq!(journal.written(&mut freed), None);
        assert_eq!(freed, [1, 2, 3]);
    }

    #[test]
    fn file_times_move_with_the_tick() {
        assert!(ticked(None, 0, 1000));
        assert!(!ticked(Some(1100), 1900, 1000));
        assert!(ticked(Some(1900), 2000, 1000));
    }

    #[test]
    fn a_commit_logs_each_kind_of_change_once() {
        let mut journal = Journal::new(6 * BLOCK_BYTES);
        let log = |blocks: u64, at: u64| {
            Some(Wanted::Log { offset: at * BLOCK_BYTES, bytes: blocks * BLOCK_BYTES })
        };
        let mut freed = Vec::new();
        // A descriptor and an inode, followed by the commit block.
        let tid = journal.change(Changes::TIME);
        assert_eq!((journal.wait(tid, 7), journal.is_committed(tid)), (log(2, 0), false));
        assert_eq!(journal.written(&mut freed), Some(Wanted::Seal { offset: 2 * BLOCK_BYTES }));
        assert_eq!((journal.written(&mut freed), journal.is_committed(tid)), (None, true));
        assert_eq!((freed, journal.written(&mut Vec::new())), (vec![7], None));
        // Two more blocks for space, one for a name: five do not fit after the first three.
        let tid = journal.change(Changes::SPACE);
        assert_eq!(journal.change(Changes::NAME), tid);
        assert_eq!(journal.wait(tid, 8), log(5, 0));
        assert_eq!(
            journal.written(&mut Vec::new()),
            Some(Wanted::Seal { offset: 5 * BLOCK_BYTES })
        );
        // Changes made in the meantime belong to the next transaction.
        let next = journal.change(Changes::TIME);
        assert_eq!((next, journal.wait(next, 9)), (tid + 1, None));
        let mut freed = Vec::new();
        assert_eq!((journal.written(&mut freed), freed), (None, vec![8]));
        assert_eq!((journal.begin(), journal.begin()), (log(2, 0), None));
    }
}
