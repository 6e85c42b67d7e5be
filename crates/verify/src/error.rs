//! What keeps a run from being written, recorded or checked. Each message is one sentence: what, why, and what to do instead.

use std::io;
use std::path::PathBuf;

use drive::DriveError;
use engine::{Blame, EngineError};
use workload::format_bytes;

use crate::geometry::ImpossibleGeometry;
use crate::run_header::run_name;

/// A verification that cannot be. Where the cause stands within a sentence that goes on, it is no `source`: whoever prints the chain of sources would say it twice.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The target is wrong, dangerous or out of order.
    #[error(transparent)]
    Target(#[from] EngineError),
    /// The facts about it could not be read.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The layout cannot be.
    #[error(transparent)]
    Geometry(#[from] ImpossibleGeometry),
    /// A target that is no storage.
    #[error("`{given}` has no medium that power could be cut from; name a directory, a file or a device under /dev")]
    NotStorage {
        /// As the person wrote it.
        given: String,
    },
    /// A file of that name that flushmark did not make.
    #[error("{} is there and was not made by flushmark verify; move it away, or name another directory", .path.display())]
    ForeignFile {
        /// Which.
        path: PathBuf,
    },
    /// A run of another process works on it.
    #[error("another flushmark verify is at work on {}; wait until it has ended", .path.display())]
    Busy {
        /// Which.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("cannot {action} {}", .path.display())]
    Call {
        /// `open`, `write`.
        action: &'static str,
        /// What.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Nothing of a run is there.
    #[error("{} carries no run of flushmark verify: write one with `flushmark verify write`, and name the same target here", .path.display())]
    NoRun {
        /// The target.
        path: PathBuf,
    },
    /// Both superblocks are damaged.
    #[error("both superblocks of {} are damaged, so nobody can say what lay where; with the run's journal (--journal FILE or --recorder HOST:PORT) it can be checked all the same", .path.display())]
    SuperblockDamaged {
        /// The target.
        path: PathBuf,
    },
    /// Not even its superblocks can be read.
    #[error("{} gives nothing back ({cause}), as a dead drive does; with the run's journal (--journal FILE or --recorder HOST:PORT) it can be judged all the same", .path.display())]
    Unreadable {
        /// The target.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
    /// The target is not there, and is no drive.
    #[error("{} does not exist; name the target that `verify write` was given, and mount the filesystem first where it is a file or directory", .path.display())]
    NoTarget {
        /// As the person wrote it.
        path: PathBuf,
    },
    /// A drive that is gone goes by another name than when it was written.
    #[error("{} does not exist, and the run was written on {then}: a drive that does not come back is called as it was then", .path.display())]
    OtherName {
        /// As the person wrote it.
        path: PathBuf,
        /// As it was called when it was written.
        then: String,
    },
    /// The drive is not there.
    #[error("{} does not exist; if it is the drive that was written, is powered and does not come back, it is dead: say so with --same-drive, and name its journal or recorder", .path.display())]
    Missing {
        /// As the person wrote it.
        path: PathBuf,
    },
    /// Nothing of the run is there, and nothing tells whether it ever was.
    #[error("{} carries nothing of run {}, and has no serial number to be known by; name the target that belongs to the journal, or say --same-drive if this is it: then it has lost everything", .path.display(), run_name(*.run_id))]
    Unrecognised {
        /// The target.
        path: PathBuf,
        /// The journal's run.
        run_id: u64,
    },
    /// Blocks that a superblock does not fill.
    #[error("{} takes writes in blocks of more than 4 KiB only, which flushmark verify does not do; name another target", .path.display())]
    LargeBlocks {
        /// The target.
        path: PathBuf,
    },
    /// A run that nobody has judged.
    #[error("{}, and writing would destroy what a check would find; check it first, or give it up with --abandon-unjudged, and it is counted as unjudged for good", unjudged(*.run_id))]
    Unjudged {
        /// Which.
        run_id: u64,
    },
    /// A later version wrote it.
    #[error("{} was written by a later version of flushmark; check it with that version", .path.display())]
    NewerFormat {
        /// The target.
        path: PathBuf,
    },
    /// The target's run is not the journal's.
    #[error("{} carries run {}, and the journal is about run {}: this is another target, or it went back to before that run; name the target and the journal that belong together", .path.display(), run_name(*.found), run_name(*.expected))]
    OtherRun {
        /// The target.
        path: PathBuf,
        /// The run on it.
        found: u64,
        /// The journal's.
        expected: u64,
    },
    /// The drive is another one.
    #[error("{} is {now}, and the run was written on {then}: a copy proves nothing about the drive; check the drive itself", .path.display())]
    OtherDrive {
        /// The target.
        path: PathBuf,
        /// What it was written on.
        then: String,
        /// What is there now.
        now: String,
    },
    /// The target is smaller than the run.
    #[error("{} holds {} and the run on it took {}: a part of the target is gone", .path.display(), format_bytes(*.size_bytes), format_bytes(*.needed_bytes))]
    Shrunken {
        /// The target.
        path: PathBuf,
        /// Its size.
        size_bytes: u64,
        /// The run's.
        needed_bytes: u64,
    },
    /// A journal that is none.
    #[error("{} is no journal of flushmark verify; name the file that `verify write --journal` or `verify record --journal` made", .path.display())]
    NoJournal {
        /// Which.
        path: PathBuf,
    },
    /// A journal in which no run was begun.
    #[error("the journal {} holds no run: the power went before one had begun, or it is another run's", .path.display())]
    EmptyJournal {
        /// Which.
        path: PathBuf,
    },
    /// A journal with a damage in its middle.
    #[error("the journal {} is damaged at byte {at_bytes}, and what follows can be read in part: nothing was changed in it; keep it, and name a new journal for runs to come", .path.display())]
    JournalDamaged {
        /// Which.
        path: PathBuf,
        /// Where.
        at_bytes: u64,
    },
    /// A journal that contradicts itself.
    #[error("the journal {} contradicts itself ({what}): an error of flushmark, please report it", .path.display())]
    JournalContradicts {
        /// Which.
        path: PathBuf,
        /// In what.
        what: String,
    },
    /// A journal beside its target.
    #[error("the journal {} would lie on the drive that is tested, {device}, and lose its memory with it; put it on another drive, or use --recorder", .path.display())]
    JournalOnTarget {
        /// Which.
        path: PathBuf,
        /// The drive.
        device: String,
    },
    /// A journal that goes on with another drive.
    #[error("the journal {} is about {}, and this is {}: cycles of two drives cannot be counted together; name another journal", .path.display(), drive_words(.then), drive_words(.now))]
    JournalOfOtherDrive {
        /// Which.
        path: PathBuf,
        /// The drive of its runs.
        then: String,
        /// The drive of this one.
        now: String,
    },
    /// A recorder that cannot be reached.
    #[error("cannot reach the recorder at {address}: {cause}; start one there with `flushmark verify record`")]
    Unreachable {
        /// Where.
        address: String,
        /// The system's answer.
        cause: io::Error,
    },
    /// The connection broke.
    #[error(
        "the recorder at {address} went away ({cause}): writing stopped, and nothing is claimed of what it did not hear"
    )]
    RecorderGone {
        /// Where.
        address: String,
        /// The system's answer.
        cause: io::Error,
    },
    /// A check that did not hear everything.
    #[error("the recorder at {address} broke off ({cause}); ask it again")]
    BrokenOff {
        /// Where.
        address: String,
        /// The system's answer.
        cause: io::Error,
    },
    /// The recorder does not want it.
    #[error("the recorder at {address} refuses: {sentence}")]
    RecorderRefuses {
        /// Where.
        address: String,
        /// Its words.
        sentence: String,
    },
    /// No address can be listened at.
    #[error("cannot listen at {address}: {cause}; is another recorder running there?")]
    Listen {
        /// Where.
        address: String,
        /// The system's answer.
        cause: io::Error,
    },
    /// A lane without a thread.
    #[error("the system gives no thread for every lane ({cause}); ask for fewer lanes, or raise the limit (ulimit -u)")]
    Threads {
        /// The system's answer.
        cause: io::Error,
    },
    /// Asked to stop.
    #[error("interrupted before anything was found out")]
    Interrupted,
}

impl VerifyError {
    /// Who has to act, which decides the exit code.
    pub fn blame(&self) -> Blame {
        match self {
            VerifyError::Target(error) => error.blame(),
            VerifyError::Drive(DriveError::NoSuchPath { .. } | DriveError::WrongKind { .. })
            | VerifyError::Geometry(_)
            | VerifyError::NoTarget { .. }
            | VerifyError::OtherName { .. }
            | VerifyError::Missing { .. }
            | VerifyError::NotStorage { .. } => Blame::Usage,
            VerifyError::ForeignFile { .. }
            | VerifyError::Busy { .. }
            | VerifyError::NoRun { .. }
            | VerifyError::SuperblockDamaged { .. }
            | VerifyError::Unrecognised { .. }
            | VerifyError::LargeBlocks { .. }
            | VerifyError::Unjudged { .. }
            | VerifyError::JournalDamaged { .. }
            | VerifyError::NewerFormat { .. }
            | VerifyError::OtherRun { .. }
            | VerifyError::OtherDrive { .. }
            | VerifyError::NoJournal { .. }
            | VerifyError::EmptyJournal { .. }
            | VerifyError::JournalOnTarget { .. }
            | VerifyError::JournalOfOtherDrive { .. }
            | VerifyError::RecorderRefuses { .. } => Blame::Safety,
            _ => Blame::System,
        }
    }

    /// A failed call on a path.
    pub(crate) fn call(action: &'static str, path: &std::path::Path) -> impl Fn(io::Error) -> VerifyError {
        move |source| VerifyError::Call { action, path: path.to_owned(), source }
    }
}

/// The beginning of a sentence about a run that was heard and not checked.
pub(crate) fn unjudged(run_id: u64) -> String {
    format!("run {} was acknowledged and never judged", run_name(run_id))
}

/// A drive's label, or that it has none.
pub(crate) fn drive_words(label: &str) -> &str {
    if label.is_empty() { "a drive without a name" } else { label }
}
