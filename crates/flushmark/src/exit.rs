//! Exit codes of flushmark.

use blame::Blame;
use ceph::sizing::PlanError;
use clierror::Program;
use crash::CrashError;
use database::DatabaseError;
use drive::DriveError;
use drive::cache_switch::SwitchError;
use emulate::EmulateError;
use engine::EngineError;
use rados::RadosError;
use store::StoreError;
use together::GroupError;
use trace::TraceError;
use verify::VerifyError;
use wholefile::ReplaceError;

pub use clierror::{Refused, WrongUse, is_broken_pipe, sentence};

/// The ways in which the program can end, apart from errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    Done,
    /// A use given with `--fail-on` got too low a grade, a drive is not proven honest, or a test
    /// exceeded a limit of `--fail-if`.
    Unfit,
    /// A test failed midway; what was measured before it has been printed.
    Failed,
    /// None of the plan's tests could run here; each has been reported with its reason.
    NothingRan,
    /// A signal ended the run; what was measured before it has been printed.
    Interrupted(i32),
}

impl ExitStatus {
    /// The worse status of two runs that were made at once.
    pub fn of_both(self, other: ExitStatus) -> ExitStatus {
        let rank = |status: ExitStatus| match status {
            ExitStatus::Done => 0,
            ExitStatus::Unfit => 1,
            ExitStatus::NothingRan => 2,
            ExitStatus::Failed => 3,
            ExitStatus::Interrupted(_) => 4,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

const PROGRAM: Program = Program::named("flushmark");

/// Prints a message on stderr.
pub fn complain(sentence: &str) {
    PROGRAM.complain(sentence);
}

/// Prints what clap says about the arguments, or the help that was asked for, and exits.
pub fn exit_as_parsed(error: &clap::Error) -> ! {
    PROGRAM.exit_as_parsed(error, Blame::System.exit_code())
}

/// Turns an outcome into the exit code and prints an error on stderr.
pub fn code(outcome: anyhow::Result<ExitStatus>) -> u8 {
    match outcome {
        Ok(ExitStatus::Done) => 0,
        Ok(ExitStatus::Unfit) => 1,
        Ok(ExitStatus::NothingRan) => Blame::Usage.exit_code(),
        Ok(ExitStatus::Failed) => Blame::System.exit_code(),
        // As a shell reports a process killed by the signal.
        Ok(ExitStatus::Interrupted(signal)) => 128 + signal as u8,
        Err(error) => PROGRAM.failed(&error, blame_of_crates),
    }
}

/// The party at fault for an error of one of this program's crates; `None` for any other error.
fn blame_of_crates(error: &anyhow::Error) -> Option<Blame> {
    None.or_else(|| error.downcast_ref().map(SwitchError::blame))
        .or_else(|| error.downcast_ref().map(PlanError::blame))
        .or_else(|| error.downcast_ref().map(EmulateError::blame))
        .or_else(|| error.downcast_ref().map(StoreError::blame))
        .or_else(|| error.downcast_ref().map(ReplaceError::blame))
        .or_else(|| error.downcast_ref().map(CrashError::blame))
        .or_else(|| error.downcast_ref().map(VerifyError::blame))
        .or_else(|| error.downcast_ref().map(EngineError::blame))
        .or_else(|| error.downcast_ref().map(RadosError::blame))
        .or_else(|| error.downcast_ref().map(TraceError::blame))
        .or_else(|| error.downcast_ref().map(DatabaseError::blame))
        .or_else(|| error.downcast_ref().map(GroupError::blame))
        .or_else(|| error.downcast_ref().map(DriveError::blame))
}
