//! A commit: a system call, and all that it waited for.

use std::collections::{BTreeMap, BTreeSet};

use drive::DeviceNumber;
use measurement::Stage;

use crate::attribution::{divide, stages_ns};
use crate::event::{Command, Filesystem, Syscall};
use crate::requests::Request;

/// A system call, and all that it waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub call: Syscall,
    pub thread: u32,
    /// Known if the thread submitted a request at any time.
    pub command: Option<Command>,
    pub file: i32,
    pub flags: u32,
    /// The flags with which the file was opened, if that was seen.
    pub opened: Option<u32>,
    pub enter: u64,
    pub exit: u64,
    pub result: i64,
    pub filesystem: Option<Filesystem>,
    /// Its requests, in the order of submission.
    pub requests: Vec<Own>,
    /// Commits of the journal that it waited for.
    pub journal: Vec<JournalPart>,
    /// The moment at which XFS began to force its log.
    pub log_forced: Option<u64>,
    /// The times in which its thread was off its CPU; `None` if the trace has no such events.
    pub off_cpu: Option<Vec<OffCpu>>,
    /// The times in which it was off its CPU while others' requests were under way at its drives
    /// that were complete before it could run again; in their order, apart from each other.
    pub other_writes: Vec<(u64, u64)>,
    /// Requests of others at the same drives while its own were there.
    pub company: Vec<(u32, Command)>,
}

/// A request of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    pub request: Request,
    pub role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Data,
    Journal,
}

/// A commit of a journal during a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalPart {
    pub from: u64,
    pub to: u64,
    /// True if it began before the call, and another one followed: it held nothing of the call's.
    pub earlier: bool,
}

/// Its thread leaves the CPU, may run again, and runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffCpu {
    pub from: u64,
    pub waking: u64,
    pub to: u64,
}

/// The flag that makes a write durable when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SyncFlag {
    /// A flag of the file: `O_DSYNC`.
    ODsync,
    /// A flag of the file: `O_SYNC`.
    OSync,
    /// A flag of the call: `RWF_DSYNC`.
    RwfDsync,
    /// A flag of the call: `RWF_SYNC`.
    RwfSync,
}

const RWF_DSYNC: u32 = 2;
const RWF_SYNC: u32 = 4;
const O_DSYNC: u32 = 0o10000;
/// `O_SYNC` is both bits.
const O_SYNC: u32 = 0o4010000;

impl SyncFlag {
    /// The flag of a file that was opened with these flags.
    pub fn of_file(opened: u32) -> Option<SyncFlag> {
        if opened & O_SYNC == O_SYNC {
            Some(SyncFlag::OSync)
        } else {
            (opened & O_DSYNC != 0).then_some(SyncFlag::ODsync)
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            SyncFlag::ODsync => "O_DSYNC",
            SyncFlag::OSync => "O_SYNC",
            SyncFlag::RwfDsync => "RWF_DSYNC",
            SyncFlag::RwfSync => "RWF_SYNC",
        }
    }
}

impl Commit {
    pub fn ns(&self) -> u64 {
        self.exit - self.enter
    }

    /// The time in each stage that it passed, in nanoseconds.
    pub fn stages_ns(&self) -> BTreeMap<Stage, u64> {
        stages_ns(&divide(self))
    }

    /// The drives that its requests went to.
    pub fn devices(&self) -> BTreeSet<DeviceNumber> {
        self.requests.iter().map(|own| own.request.extent.device).collect()
    }

    /// The flag that makes a write durable; `None` for a call that is durable by itself, and for a
    /// write whose flags are not known.
    pub fn sync_flag(&self) -> Option<SyncFlag> {
        if self.call.is_sync() {
            return None;
        }
        let by_call = match self.call {
            Syscall::Pwritev2 if self.flags & RWF_SYNC != 0 => Some(SyncFlag::RwfSync),
            Syscall::Pwritev2 if self.flags & RWF_DSYNC != 0 => Some(SyncFlag::RwfDsync),
            _ => None,
        };
        by_call.or_else(|| SyncFlag::of_file(self.opened?))
    }

    /// True if the call asked for durability; `None` for a write of which only the way in which its
    /// file was opened decides, when that was not seen.
    pub fn is_durable(&self) -> Option<bool> {
        // Such as fsync on a pipe.
        let nothing_done = self.result < 0 && self.requests.is_empty();
        if nothing_done {
            return Some(false);
        }
        let by_requests = self.requests.iter().any(|own| own.request.makes_durable());
        if self.call.is_sync() || self.sync_flag().is_some() || by_requests {
            return Some(true);
        }
        if self.requests.is_empty() || self.opened.is_some() { Some(false) } else { None }
    }
}
