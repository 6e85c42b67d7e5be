//! Reasons why a run cannot be written, recorded or checked. Each message says what failed, why,
//! and what to do.

use std::io;
use std::path::PathBuf;

use blame::Blame;
use drive::DriveError;
use engine::EngineError;
use workload::format_bytes;

use crate::geometry::ImpossibleGeometry;
use crate::run_header::run_name;

/// An error of `flushmark verify`. A cause that is embedded in the message is not also a `source`,
/// because printing the chain would repeat it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    #[error(transparent)]
    Target(#[from] EngineError),
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error(transparent)]
    Geometry(#[from] ImpossibleGeometry),
    #[error(
        "`{given}` is not storage of this machine that can lose power; name a directory, a file or \
         a device under /dev"
    )]
    NotStorage { given: String },
    #[error("{} exists and was not created by flushmark verify; move it away, or name another \
             directory", .path.display())]
    ForeignFile { path: PathBuf },
    #[error("another flushmark verify is using {}; wait until it has ended", .path.display())]
    Busy { path: PathBuf },
    #[error("cannot {action} {}", .path.display())]
    Call {
        /// A verb such as `open` or `write`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("no run of flushmark verify found on {}; write one with `flushmark verify write`, then \
             check the same target", .path.display())]
    NoRun { path: PathBuf },
    #[error("both superblocks of {} are damaged, so the layout is unknown; use the run's journal \
             (--journal FILE or --recorder HOST:PORT) to check it all the same", .path.display())]
    SuperblockDamaged { path: PathBuf },
    #[error("cannot read anything from {} ({cause}), which may be a dead drive; use the run's \
             journal (--journal FILE or --recorder HOST:PORT) to judge it all the same", .path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("{} does not exist; name the target of `verify write`, and mount its filesystem first \
             if it is a file or directory", .path.display())]
    NoTarget { path: PathBuf },
    #[error("{} does not exist, but the run was written to {then}; give a drive that does not come \
             back by its name at that time", .path.display())]
    OtherName {
        path: PathBuf,
        /// The name when it was written.
        then: String,
    },
    #[error("{} does not exist; if it is the drive that was written, has power and does not come \
             back, it is dead: use --same-drive to state that, together with its journal or \
             recorder", .path.display())]
    Missing { path: PathBuf },
    #[error("{} has nothing of run {} and no serial number that identifies it; name the target \
             that belongs to the journal, or use --same-drive if this is it and it has lost \
             everything", .path.display(), run_name(*.run_id))]
    Unrecognised {
        path: PathBuf,
        /// The journal's run.
        run_id: u64,
    },
    #[error("{} only accepts writes in blocks larger than 4 KiB, which flushmark verify does not \
             support; name another target", .path.display())]
    LargeBlocks { path: PathBuf },
    #[error("{}, and writing would destroy the evidence; check it first, or give it up with \
             --abandon-unjudged, which counts it as unjudged permanently", unjudged(*.run_id))]
    Unjudged { run_id: u64 },
    #[error("{} was written by a later version of flushmark; check it with that version", .path.display())]
    NewerFormat { path: PathBuf },
    #[error("{} has run {}, but the journal is about run {}: this is another target, or it has \
             reverted to an earlier state; name a target and a journal that belong together", .path.display(), run_name(*.found), run_name(*.expected))]
    OtherRun {
        path: PathBuf,
        /// The run on the target.
        found: u64,
        /// The journal's run.
        expected: u64,
    },
    #[error("{} is on {now}, but the run was written to {then}: a copy proves nothing about the \
             drive; check the original drive", .path.display())]
    OtherDrive {
        path: PathBuf,
        /// The drive that was written.
        then: String,
        now: String,
    },
    #[error("{} has {}, but its run took {}: part of the target is missing", .path.display(), format_bytes(*.size_bytes), format_bytes(*.needed_bytes))]
    Shrunken {
        path: PathBuf,
        /// Size of the target now.
        size_bytes: u64,
        /// Size of the run.
        needed_bytes: u64,
    },
    #[error("{} is not a journal of flushmark verify; name a file that `verify write --journal` or \
             `verify record --journal` created", .path.display())]
    NoJournal { path: PathBuf },
    #[error("the journal {} contains no run: power was lost before one began, or it is the wrong \
             journal", .path.display())]
    EmptyJournal { path: PathBuf },
    #[error("the journal {} is damaged at byte {at_bytes}, but later parts are readable; it was \
             left unchanged; keep it, and use a new journal for further runs", .path.display())]
    JournalDamaged {
        path: PathBuf,
        /// Offset of the damage.
        at_bytes: u64,
    },
    #[error("the journal {} contradicts itself ({what}); this is a bug in flushmark, please report \
             it", .path.display())]
    JournalContradicts { path: PathBuf, what: String },
    #[error("the journal {} would be on the drive under test, {device}, and be lost with its data; \
             put it on another drive, or use --recorder", .path.display())]
    JournalOnTarget { path: PathBuf, device: String },
    #[error("the journal {} is about {}, but this is {}: cycles of two drives cannot be counted \
             together; name another journal", .path.display(), drive_words(.then), drive_words(.now))]
    JournalOfOtherDrive {
        path: PathBuf,
        /// The drive of the earlier runs.
        then: String,
        /// The drive of this run.
        now: String,
    },
    #[error(
        "cannot reach the recorder at {address}: {cause}; start one there with `flushmark verify \
         record`"
    )]
    Unreachable { address: String, cause: io::Error },
    #[error(
        "lost the recorder at {address} ({cause}); writing stopped, and what it did not receive \
         creates no obligation"
    )]
    RecorderGone { address: String, cause: io::Error },
    #[error("lost the connection to the recorder at {address} ({cause}); repeat the check")]
    BrokenOff { address: String, cause: io::Error },
    #[error("the recorder at {address} refused: {sentence}")]
    RecorderRefuses {
        address: String,
        /// The recorder's reason.
        sentence: String,
    },
    #[error("cannot listen on {address}: {cause}; is another recorder running?")]
    Listen { address: String, cause: io::Error },
    #[error(
        "cannot start a thread for every lane ({cause}); use fewer lanes, or raise the limit \
         (ulimit -u)"
    )]
    Threads { cause: io::Error },
    #[error("interrupted before there was a result")]
    Interrupted,
}

impl VerifyError {
    /// The party that has to act.
    pub fn blame(&self) -> Blame {
        match self {
            VerifyError::Target(error) => error.blame(),
            VerifyError::Drive(error) => error.blame(),
            VerifyError::Geometry(_)
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

    /// Wraps the error of a system call on a path.
    pub(crate) fn call(
        action: &'static str,
        path: &std::path::Path,
    ) -> impl Fn(io::Error) -> VerifyError {
        move |source| VerifyError::Call { action, path: path.to_owned(), source }
    }
}

/// The beginning of a message about a run that was recorded and not checked.
pub(crate) fn unjudged(run_id: u64) -> String {
    format!("run {} was acknowledged and never judged", run_name(run_id))
}

/// The drive's label, or a placeholder if it has none.
pub(crate) fn drive_words(label: &str) -> &str {
    if label.is_empty() { "an unidentified drive" } else { label }
}
