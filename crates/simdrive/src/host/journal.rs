//! A filesystem's journal: what `fsync` adds to the drive's flush.
//!
//! As ext4 uses jbd2 (`fs/jbd2/commit.c`): changes of metadata join the running transaction. A sync whose file belongs to a transaction that is not on disk asks for its commit: the
//! log blocks are written and waited for, then the commit block goes out with a flush before it (which covers the data, too) and FUA. One transaction commits at a time; whoever needs the
//! next waits, so that committers share commits.

use crate::time::Ns;

/// A transaction's number.
pub type Tid = u64;

/// Bytes of a filesystem block.
pub const BLOCK_BYTES: u64 = 4096;

/// What a transaction changes, which decides how many blocks its log has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// A file's inode: times, size.
    pub inode: bool,
    /// Allocation: a bitmap, a group descriptor, a superblock counter.
    pub allocation: bool,
    /// Names.
    pub directory: bool,
}

impl Changes {
    /// A file's time moved.
    pub const TIME: Changes = Changes { inode: true, allocation: false, directory: false };
    /// A file got space.
    pub const SPACE: Changes = Changes { inode: true, allocation: true, directory: false };
    /// A name came or went.
    pub const NAME: Changes = Changes { inode: true, allocation: false, directory: true };

    fn join(&mut self, other: Changes) {
        self.inode |= other.inode;
        self.allocation |= other.allocation;
        self.directory |= other.directory;
    }

    /// Blocks that are logged, with the descriptor that lists them.
    fn log_blocks(self) -> u64 {
        1 + u64::from(self.inode) + 2 * u64::from(self.allocation) + u64::from(self.directory)
    }
}

/// How far the committing transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Logging,
    Sealing,
}

/// What the journal wants written next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The log's blocks at this place of the journal.
    Log {
        /// From the journal's start.
        offset: u64,
        /// Bytes.
        bytes: u64,
    },
    /// The commit block, with a flush before it and FUA.
    Seal {
        /// From the journal's start.
        offset: u64,
    },
}

/// The journal of a filesystem.
#[derive(Debug)]
pub struct Journal {
    size_bytes: u64,
    head: u64,
    running: Tid,
    changes: Changes,
    committed: Tid,
    phase: Phase,
    /// Calls that wait for a transaction.
    waiting: Vec<(Tid, u32)>,
}

impl Journal {
    /// An empty one of this size.
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

    /// Something changes. The transaction that it belongs to.
    pub fn change(&mut self, changes: Changes) -> Tid {
        self.changes.join(changes);
        self.running
    }

    /// Whether a transaction is on disk.
    pub const fn is_committed(&self, tid: Tid) -> bool {
        tid <= self.committed
    }

    /// A call waits for a transaction. What to write, if the commit begins with it.
    pub fn wait(&mut self, tid: Tid, call: u32) -> Option<Wanted> {
        self.waiting.push((tid, call));
        self.begin()
    }

    /// What was wanted has been written. Calls whose transaction is on disk go into `freed`; the answer is what to write next.
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
                self.begin()
            }
        }
    }

    /// Begins the running transaction's commit, if somebody waits for it and no other is under way.
    fn begin(&mut self) -> Option<Wanted> {
        let wanted = self.phase == Phase::Idle && self.waiting.iter().any(|&(tid, _)| tid == self.running);
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

/// Whether a file's time moves with a write at `now`, when it last moved at `before`: the clock of file times ticks.
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
        assert_eq!(journal.written(&mut freed), Some(Wanted::Log { offset: 3 * BLOCK_BYTES, bytes: 4 * BLOCK_BYTES }));
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
        let log = |blocks: u64, at: u64| Some(Wanted::Log { offset: at * BLOCK_BYTES, bytes: blocks * BLOCK_BYTES });
        let mut freed = Vec::new();
        // A descriptor and an inode; then the commit block behind these.
        let tid = journal.change(Changes::TIME);
        assert_eq!((journal.wait(tid, 7), journal.is_committed(tid)), (log(2, 0), false));
        assert_eq!(journal.written(&mut freed), Some(Wanted::Seal { offset: 2 * BLOCK_BYTES }));
        assert_eq!((journal.written(&mut freed), journal.is_committed(tid)), (None, true));
        assert_eq!((freed, journal.written(&mut Vec::new())), (vec![7], None));
        // Two blocks more for space, one for a name: five do not fit behind the first three.
        let tid = journal.change(Changes::SPACE);
        assert_eq!(journal.change(Changes::NAME), tid);
        assert_eq!(journal.wait(tid, 8), log(5, 0));
        assert_eq!(journal.written(&mut Vec::new()), Some(Wanted::Seal { offset: 5 * BLOCK_BYTES }));
        // What changed meanwhile is the next transaction's.
        let next = journal.change(Changes::TIME);
        assert_eq!((next, journal.wait(next, 9)), (tid + 1, None));
        let mut freed = Vec::new();
        assert_eq!((journal.written(&mut freed), freed), (log(2, 0), vec![8]));
    }
}
