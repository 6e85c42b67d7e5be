//! Kernel traces of commits: where the time between a system call and its return goes.
//!
//! | module | its one job |
//! | --- | --- |
//! | `event` | what a kernel reports, in one vocabulary |
//! | `format`, `page`, `decode` | the kernel's ring buffer: layouts of records, pages of them, events |
//! | `drivers` | commands that drivers give drives: which one it is, and for which drive |
//! | `traffic` | what drives were asked for, sent and given |
//! | `requests` | the way of each bio through the block layer, with its flushes |
//! | `commits` | a system call and all that it waited for |
//! | `open_files` | how files were opened, as far as that was seen |
//! | `joining` | finds what a call waited for |
//! | `others` | requests of other threads while a commit was under way |
//! | `attribution` | divides the time of a commit into stages, without gaps |
//! | `summary` | what all commits add up to |
//! | `kept`, `text` | traces in files: our own, and those of other tools |
//! | `inferred` | commits of a trace without system calls |
//! | `tracefs` | instances of the kernel's tracer: created, filtered, read, removed |
//! | `followed` | the threads whose calls a trace passes on |
//! | `live` | a running trace |
//! | `sync_counts` | who commits how often, without a trace |
//! | `histogram` | the kernel's text of what it counted |
//!
//! Everything above `tracefs`, and `followed`, is free of I/O, so a trace that was kept is analysed by the code that
//! analyses a running one.

mod attribution;
mod commits;
mod decode;
mod drivers;
mod event;
mod followed;
mod format;
mod histogram;
mod inferred;
mod joining;
mod kept;
mod live;
mod numbering;
mod open_files;
mod others;
mod page;
mod requests;
mod summary;
mod sync_counts;
#[cfg(test)]
mod tests;
mod text;
mod tracefs;
mod traffic;

pub use commits::{Commit, SyncFlag};
pub use event::Event;
pub use inferred::with_calls;
pub use joining::Joiner;
pub use kept::{Header, Keeper, Kept, KeptError, Trailer};
pub use live::{Counted, Detail, Live, READ_INTERVAL, Scope};
pub use summary::Summary;
pub use sync_counts::{SyncCounts, Syncs};
pub use text::{Origin, TextTrace, read_text};
pub use tracefs::TraceError;
pub use traffic::Traffic;
