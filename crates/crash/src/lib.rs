//! Every power cut at once: what a command writes is recorded, each state that a cut could leave is put up without a copy, and checked.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`record`], [`recorded`] | running the command on a drive whose writes and flushes are logged |
//! | `printed` | what the command prints, in the order of its writes and flushes |
//! | [`log`] | the log's file |
//! | [`epochs`] | the log cut at its flushes |
//! | [`state`] | one state, and its name |
//! | [`sampling`] | which states are tried |
//! | [`view`] | a state as bytes |
//! | [`served`] | states as files (FUSE) |
//! | [`check`] | a person's check of one state |
//! | [`group`] | a process with all that it starts |
//! | [`mounted`], [`holders`] | a state's filesystem, and who keeps it from going |
//! | [`explore`] | all of them, several at a time |
//! | [`minimise`], [`owners`] | the first failure made small, and whose the lost writes were |
//! | [`session`] | a test on disk, that can be gone on with |
//! | [`work`] | the directory in which a test mounts |
//! | [`error`] | what keeps it from going on |
//!
//! What a volatile cache may lose follows from what a flush promises: everything that was acknowledged before it came is safe, and of what came after any part may be there. A write is torn only
//! where the drive does not write whole.

pub mod check;
pub mod epochs;
pub mod error;
pub mod explore;
mod filesystem_name;
pub mod group;
pub mod holders;
pub mod log;
pub mod minimise;
pub mod mounted;
pub mod owners;
mod printed;
pub mod record;
pub mod recorded;
pub mod sampling;
pub mod served;
pub mod session;
pub mod state;
pub mod view;
pub mod work;
