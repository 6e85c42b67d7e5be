//! Traces of running programs, and of the tests of a run.
//!
//! | module | content |
//! | --- | --- |
//! | `scope` | the drives, filesystems and journals to observe |
//! | `threads` | processes and their open files, from procfs |
//! | `recording` | a trace that is added up while it runs |
//! | `analysis` | from events to what a trace shows |
//! | `keeping` | the file in which events are kept |
//! | `test_tracer` | short repetitions of a run's tests, for their traces |

mod analysis;
mod keeping;
mod recording;
pub mod scope;
mod test_tracer;
pub mod threads;

pub use analysis::Analysis;
pub use recording::Recording;
pub use test_tracer::TestTracer;
