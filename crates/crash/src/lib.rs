//! Every power cut at once: records what a command writes, then serves each state that a power cut
//! could leave, without copying it, and checks it.
//!
//! [`record`] runs the command on a drive that logs its writes and flushes, in the order of what
//! the command prints. A [`Session`] is the result on disk, which can be resumed. [`states`]
//! derives from the [`Recording`] the [`State`]s to check, and an [`Explorer`] serves each as a
//! file or mounts its filesystem, runs the user's [`Check`] on it, and minimises the first failure.
//!
//! A flush determines what a volatile cache may lose: everything acknowledged before the flush
//! arrived is safe, and any part of everything after it may survive. A write is torn only where
//! the drive does not write atomically.

#![warn(unreachable_pub)]

mod check;
mod epochs;
mod error;
mod explore;
mod filesystem_name;
mod group;
mod holders;
mod log;
mod minimise;
mod mounted;
mod owners;
mod printed;
mod record;
mod recorded;
mod sampling;
mod served;
mod session;
mod state;
mod view;
mod work_directory;

pub use check::{Check, CheckVerdict};
pub use epochs::Epoch;
pub use error::{CrashError, SessionError};
pub use explore::{Explorer, Lost, Progress, possible_log2, states};
pub use log::Entry;
pub use record::{Outcome, RecordingSetup, record};
pub use session::{Checked, Plan, ResultLog, Session};
pub use state::{InvalidState, State};
pub use view::Recording;
pub use work_directory::WorkDirectory;
