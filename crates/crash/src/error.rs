//! What keeps a crash test from going on.

use std::io;
use std::process::ExitStatus;

use emulate::chain::ChainError;
use emulate::fuse::mount::MountError;

use crate::session::SessionError;
use crate::state::State;

/// Why a command cannot be recorded, or its states not be checked.
#[derive(Debug, thiserror::Error)]
pub enum CrashError {
    /// FUSE.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// Loop device, filesystem, mount.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The session's files.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Root is needed.
    #[error("mounting a filesystem needs root; without it, --fs none gives the command the drive itself")]
    Root,
    /// The command cannot be run.
    #[error("`{command}`: {source}")]
    Command {
        /// The command.
        command: String,
        /// What the system said.
        source: io::Error,
    },
    /// What it needs could not be laid out.
    #[error("`{command}` ended with {status}; nothing was recorded")]
    Prepare {
        /// The command.
        command: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// A check could not be run.
    #[error("the state {state} could not be checked: {source}")]
    Check {
        /// The state.
        state: State,
        /// What the system said.
        source: io::Error,
    },
    /// A call failed.
    #[error("{what}: {source}")]
    System {
        /// What was done.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl CrashError {
    /// Makes one of a failed call.
    pub fn call(what: &'static str) -> impl Fn(io::Error) -> CrashError {
        move |source| CrashError::System { what, source }
    }
}
