//! Errors of crash tests.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use blame::Blame;
use emulate::ChainError;
use emulate::fuse::MountError;

use crate::holders::Holders;
use crate::state::State;

/// Why a command cannot be recorded, or its states cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum CrashError {
    #[error(transparent)]
    Mount(#[from] MountError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(
        "mounting a filesystem needs root; without root, use --fs none to give the command the \
         drive itself"
    )]
    Root,
    #[error("cannot run `{command}`")]
    Command { command: String, source: io::Error },
    #[error("`{command}` failed ({status}); nothing was recorded")]
    Prepare { command: String, status: ExitStatus },
    #[error("cannot check state {state}")]
    Check { state: State, source: io::Error },
    #[error("cannot mount state {state}")]
    DoesNotMount { state: State, source: io::Error },
    #[error(
        "state {state} cannot be mounted for a reason unrelated to its content, so it has no \
         verdict; fix the cause and continue with --resume"
    )]
    CannotMount { state: State, source: io::Error },
    #[error(
        "{who} left its filesystem in use by {holders}; all processes that it starts must end with \
         it, including daemons"
    )]
    Held {
        /// The check, command or inspection that started the process.
        who: String,
        holders: Holders,
    },
    #[error("the recording in `{}` is incomplete and cannot be used; is the disk full? Use \
             --session to choose another directory", directory.display())]
    Recording { directory: PathBuf, source: io::Error },
    #[error("interrupted")]
    Stopped,
    #[error("{what} failed")]
    System { what: &'static str, source: io::Error },
}

impl CrashError {
    pub const fn blame(&self) -> Blame {
        match self {
            CrashError::Root => Blame::Usage,
            _ => Blame::System,
        }
    }

    /// Returns a function that turns a failed call into [`CrashError::System`].
    pub fn call(what: &'static str) -> impl Fn(io::Error) -> CrashError {
        move |source| CrashError::System { what, source }
    }
}

/// Why a session's files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("`{}` exists: continue it with `flushmark crash --resume {}`, or choose another \
             directory", .0.display(), .0.display())]
    Exists(PathBuf),
    #[error("no crash test found in `{}` ({because})", directory.display())]
    None { directory: PathBuf, because: io::Error },
    #[error("`{}` is damaged: {what}; record the command again", path.display())]
    Damaged {
        path: PathBuf,
        /// The damage, as half a sentence.
        what: String,
    },
    #[error("cannot use `{}`", path.display())]
    System { path: PathBuf, source: io::Error },
}
