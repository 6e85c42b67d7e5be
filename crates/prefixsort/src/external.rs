//! Sorting more than memory holds.
//!
//! Records are gathered in buffers that workers sort while others are being filled. As long as all of them fit the
//! memory limit, that is all. When they no longer do, the sorted buffers are merged into one *run* on disk, so that a run
//! is as long as the memory allows, and memory is free again. When runs become many, neighbouring ones are merged into
//! longer ones. At the end, runs and what is still in memory are merged once more, record by record as the caller takes
//! them.
//!
//! | module | its one job |
//! | --- | --- |
//! | `buffer` | records in memory, and putting them in order |
//! | `run` | the file format of a run: front-coded, in blocks with checksums |
//! | `merge` | a loser tree that compares two keys only beyond what they share with the last one given |
//! | `tiers` | which runs are merged into longer ones, and when |
//! | `space` | where runs are kept: unnamed files in directories, or spaces that the caller provides |
//! | `spill` | a merge written to one of the spaces as a run |
//! | `figures` | what a sort did: counted and timed |
//! | `error` | why spilling fails |
//! | `sorter` | when to sort and to spill; the threads |

mod buffer;
mod error;
mod figures;
mod merge;
mod run;
mod sorter;
mod space;
mod spill;
mod tiers;

pub use error::SpillError;
pub use figures::Figures;
pub use merge::Record;
pub use sorter::{ExternalOptions, ExternalSorter, Sorted};
pub use space::{RunFile, SpillSpace};
