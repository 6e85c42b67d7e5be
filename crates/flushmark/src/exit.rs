//! Exit codes of flushmark.

use std::process::ExitCode;

use clierror::{FAILED, Program, REFUSED, WRONG_USE};
use crash::CrashError;
use drive::cache_switch::SwitchError;
use emulate::EmulateError;
use engine::{Blame, EngineError};
use store::StoreError;
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

const PROGRAM: Program = Program::named("flushmark");

/// Prints a message on stderr.
pub fn complain(sentence: &str) {
    PROGRAM.complain(sentence);
}

/// Turns an outcome into the exit code and prints an error on stderr.
pub fn code(outcome: anyhow::Result<ExitStatus>) -> ExitCode {
    match outcome {
        Ok(ExitStatus::Done) => ExitCode::SUCCESS,
        Ok(ExitStatus::Unfit) => ExitCode::from(1),
        Ok(ExitStatus::NothingRan) => ExitCode::from(WRONG_USE),
        Ok(ExitStatus::Failed) => ExitCode::from(FAILED),
        // As a shell reports a process killed by the signal.
        Ok(ExitStatus::Interrupted(signal)) => ExitCode::from(128 + signal as u8),
        Err(error) => PROGRAM.failed(&error, code_of_crates),
    }
}

/// The exit code of an error of one of this program's crates; `None` if it has no particular one.
fn code_of_crates(error: &anyhow::Error) -> Option<u8> {
    let (is_wrong_use, is_refusal) = if let Some(error) = error.downcast_ref::<SwitchError>() {
        (error.is_wrong_use(), error.is_refusal())
    } else if let Some(error) = error.downcast_ref::<EmulateError>() {
        (error.is_wrong_use(), error.is_refusal())
    } else if let Some(error) = error.downcast_ref::<StoreError>() {
        (error.is_wrong_use(), false)
    } else if let Some(error) = error.downcast_ref::<ReplaceError>() {
        (false, error.is_refusal())
    } else if let Some(error) = error.downcast_ref::<CrashError>() {
        (matches!(error, CrashError::Root), false)
    } else {
        let blame = error.downcast_ref::<VerifyError>().map(VerifyError::blame);
        let blame = blame.or_else(|| error.downcast_ref::<EngineError>().map(EngineError::blame));
        (blame == Some(Blame::Usage), blame == Some(Blame::Safety))
    };
    if is_refusal { Some(REFUSED) } else { is_wrong_use.then_some(WRONG_USE) }
}
