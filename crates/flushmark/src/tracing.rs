//! Traces of running programs, and of the tests of a run.
//!
//! | module | content |
//! | --- | --- |
//! | `scope` | the drives, filesystems and journals to observe |
//! | `threads` | processes and their open files, from procfs |
//! | `recording` | a trace that is added up while it runs |
//! | `analysis` | from events to what a trace shows |
//! | `keeping` | the file in which events are kept |
//! | `passes` | short repetitions of a run's tests, for their traces |

mod analysis;
mod keeping;
mod passes;
mod recording;
pub mod scope;
pub mod threads;

pub use analysis::Analysis;
pub use passes::Passes;
pub use recording::Recording;
