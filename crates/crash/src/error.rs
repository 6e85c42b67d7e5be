//! What stops a crash test.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use emulate::chain::ChainError;
use emulate::fuse::mount::MountError;

use crate::holders::Holders;
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
    #[error("`{command}` cannot be run")]
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
    #[error("the state {state} could not be checked")]
    Check {
        /// The state.
        state: State,
        /// What the system said.
        source: io::Error,
    },
    /// A state's filesystem cannot be mounted.
    #[error("the state {state} does not mount")]
    DoesNotMount {
        /// The state.
        state: State,
        /// What the system said.
        source: io::Error,
    },
    /// The machine cannot mount a state's filesystem, whatever it holds.
    #[error(
        "the state {state} cannot be mounted for a reason that is not in its content, so nothing is said of it; --resume goes on when that is mended"
    )]
    CannotMount {
        /// The state.
        state: State,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody keeps a filesystem that has to go: the next state would be mounted on what is left of it.
    #[error(
        "{who} has left its filesystem in use by {holders}; whatever it starts has to have ended with it, daemons as well"
    )]
    Held {
        /// Who began what uses it.
        who: String,
        /// Who uses it.
        holders: Holders,
    },
    /// The log is not whole: what was to be recorded could not be written down.
    #[error("the recording in `{}` broke off, and is of no use; is the disk full? --session names another place", directory.display())]
    Recording {
        /// The session.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A person wished the end.
    #[error("interrupted")]
    Stopped,
    /// A call failed.
    #[error("{what} failed")]
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

/// Why a session's files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is one already.
    #[error("`{}` exists; go on with it by `flushmark crash --resume {}`, or name another directory", .0.display(), .0.display())]
    Exists(PathBuf),
    /// There is none.
    #[error("`{}` holds no crash test ({because})", directory.display())]
    None {
        /// The directory.
        directory: PathBuf,
        /// Why.
        because: io::Error,
    },
    /// What was recorded is not there any more.
    #[error("`{}` is not as it was recorded: {what}; record the command once more", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The system said no.
    #[error("`{}` cannot be used", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}
