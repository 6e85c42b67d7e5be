//! Sorts more records than fit into memory.
//!
//! Records are collected in buffers that worker threads sort while others are being filled. If all
//! of them fit into the memory limit, nothing is written. Otherwise the sorted buffers are merged
//! into a *run* on disk, as long as the memory allows, which frees the memory. When there are many
//! runs, neighbouring ones are merged into longer ones. At the end, runs and the buffers in memory
//! are merged record by record as the caller takes them.
//!
//! | module | what it does |
//! | --- | --- |
//! | `buffer` | holds and sorts records in memory |
//! | `run` | the file format of a run: front-coded, in blocks with checksums |
//! | `input` | inputs that are already sorted, merged as they are read |
//! | `merge` | a loser tree that compares two keys only beyond what they share with the previous one |
//! | `tiers` | decides which runs are merged into longer ones, and when |
//! | `space` | storage for runs: unnamed files in directories, or spaces that the caller provides |
//! | `spill` | writes a merge to one of the spaces as a run |
//! | `figures` | counts and times of a sort |
//! | `error` | why spilling fails |
//! | `sorter` | decides when to sort and to spill; the threads |

mod buffer;
mod error;
mod figures;
mod input;
mod merge;
mod run;
mod sorter;
mod space;
mod spill;
mod tiers;

pub use error::SpillError;
pub use figures::Figures;
pub use input::{NextRecord, SortedInput};
pub use merge::Record;
pub use sorter::{ExternalOptions, ExternalSorter, Sorted};
pub use space::{RunFile, SpillSpace};
