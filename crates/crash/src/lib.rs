//! Every power cut at once: records what a command writes, then serves each state that a power cut
//! could leave, without copying it, and checks it.
//!
//! | module | content |
//! | --- | --- |
//! | [`record`], [`recorded`] | runs the command on a drive that logs writes and flushes |
//! | [`printed`] | the command's output, in order with its writes and flushes |
//! | [`log`] | the log's file |
//! | [`epochs`] | the log split at its flushes |
//! | [`state`] | one state, and its name |
//! | [`sampling`] | the selection of states to check |
//! | [`view`] | a state as bytes |
//! | [`served`] | states as files (FUSE) |
//! | [`check`] | the user's check of one state |
//! | [`group`] | a process with all of its descendants |
//! | [`mounted`], [`holders`] | a state's filesystem, and the processes that keep it mounted |
//! | [`explore`] | checks all states, several at a time |
//! | [`minimise`], [`owners`] | minimises the first failure, and finds the files of its lost writes |
//! | [`session`] | a test on disk, which can be resumed |
//! | [`work_directory`] | the directory for a test's mount points |
//! | [`error`] | errors |
//!
//! What a volatile cache may lose follows from what a flush promises: everything acknowledged
//! before the flush arrived is safe, and of everything after it, any part may survive. A write is
//! torn only where the drive does not write atomically.

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
pub mod printed;
pub mod record;
pub mod recorded;
pub mod sampling;
pub mod served;
pub mod session;
pub mod state;
pub mod view;
pub mod work_directory;
