//! Exit codes, and how errors reach a person.

use std::io::Write as _;
use std::process::ExitCode;

use crash::error::CrashError;
use drive::cache_switch::SwitchError;
use emulate::emulation::EmulateError;
use engine::{Blame, EngineError};
use store::StoreError;
use verify::error::VerifyError;

/// Why the program does not end with 0, apart from errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Done.
    Done,
    /// A use named with `--fail-on` got too low a grade, a drive broke its word, or a test exceeded a limit of `--fail-if`.
    Unfit,
    /// Some test failed in the middle; what was measured until then has been printed.
    Failed,
    /// None of the plan's tests could run here; each has been named with its reason.
    NothingRan,
    /// A signal ended it; what was measured until then has been printed.
    Interrupted(i32),
}

/// Wrong use that is noticed by the command line itself.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUse(pub String);

/// Something that is refused lest a person lose data.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// A reader that went away (`flushmark suites | head`): no error.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// Says a sentence on stderr. Nobody may be reading there, which is no reason to panic.
pub fn complain(sentence: &str) {
    let lines: Vec<_> = sentence.split('\n').map(workload::unseen::escaped).collect();
    let _ = writeln!(anstream::stderr(), "flushmark: {}", lines.join("\n"));
}

/// Turns an outcome into the exit code, and prints an error on stderr.
pub fn code(outcome: anyhow::Result<Verdict>) -> ExitCode {
    match outcome {
        Ok(Verdict::Done) => ExitCode::SUCCESS,
        Ok(Verdict::Unfit) => ExitCode::from(1),
        Ok(Verdict::NothingRan) => ExitCode::from(2),
        Ok(Verdict::Failed) => ExitCode::from(4),
        // As a shell reports a process that died of the signal.
        Ok(Verdict::Interrupted(signal)) => ExitCode::from(128 + signal as u8),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&sentence(&error));
            ExitCode::from(code_of(&error))
        }
    }
}

/// An error with its causes, each once: a sentence that ends with what to do has its cause in it already.
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
