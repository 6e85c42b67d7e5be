//! Exit codes, and how errors are printed.

use std::io::Write as _;
use std::process::ExitCode;

use crash::error::CrashError;
use drive::cache_switch::SwitchError;
use emulate::emulation::EmulateError;
use engine::{Blame, EngineError};
use store::StoreError;
use verify::error::VerifyError;

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

/// A usage error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUse(pub String);

/// An action refused because it could destroy data.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// Returns whether the reader of our output went away (`flushmark suites | head`), which is not an
/// error.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// Prints a message on stderr. Ignores write errors: a closed stderr must not cause a panic.
pub fn complain(sentence: &str) {
    let lines: Vec<_> = sentence.split('\n').map(unseen::escaped).collect();
    let _ = writeln!(anstream::stderr(), "flushmark: {}", lines.join("\n"));
}

/// Turns an outcome into the exit code and prints an error on stderr.
pub fn code(outcome: anyhow::Result<ExitStatus>) -> ExitCode {
    match outcome {
        Ok(ExitStatus::Done) => ExitCode::SUCCESS,
        Ok(ExitStatus::Unfit) => ExitCode::from(1),
        Ok(ExitStatus::NothingRan) => ExitCode::from(2),
        Ok(ExitStatus::Failed) => ExitCode::from(4),
        // As a shell reports a process killed by the signal.
        Ok(ExitStatus::Interrupted(signal)) => ExitCode::from(128 + signal as u8),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&sentence(&error));
            ExitCode::from(code_of(&error))
        }
    }
}

/// An error with its causes. A cause that the text already contains is not repeated.
pub fn sentence(error: &anyhow::Error) -> String {
    error.chain().skip(1).fold(error.to_string(), |said, cause| {
        let cause = cause.to_string();
        if said.contains(&cause) { said } else { format!("{said}: {cause}") }
    })
}

fn code_of(error: &anyhow::Error) -> u8 {
    if error.is::<WrongUse>() || matches!(error.downcast_ref(), Some(CrashError::Root)) {
        return 2;
    }
    if error.is::<Refused>() {
        return 3;
    }
    if let Some(error) = error.downcast_ref::<SwitchError>() {
        return if error.is_refusal() {
            3
        } else if error.is_wrong_use() {
            2
        } else {
            4
        };
    }
    if let Some(error) = error.downcast_ref::<EmulateError>() {
        return if error.is_refusal() {
            3
        } else if error.is_wrong_use() {
            2
        } else {
            4
        };
    }
    if let Some(error) = error.downcast_ref::<StoreError>() {
        return if error.is_wrong_use() { 2 } else { 4 };
    }
    let blame = error.downcast_ref::<VerifyError>().map(VerifyError::blame);
    match blame.or_else(|| error.downcast_ref::<EngineError>().map(EngineError::blame)) {
        Some(Blame::Usage) => 2,
        Some(Blame::Safety) => 3,
        Some(Blame::System) | None => 4,
    }
}
