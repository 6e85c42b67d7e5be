//! fio's output: JSON and JSON+ in both directions, its text for people as input.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`json`] | finds fio's JSON documents in a text and reads them |
//! | [`text`] | reads what fio prints for people |
//! | `report` | what one process of fio reported, and the runs that it is |
//! | `job` | one job as either tells it, and the test that it is |
//! | `options` | a job's options, and the workload that they ask for |
//! | `command` | the command line, which people paste with the text |
//! | `latency` | fio's figures of a latency |
//! | `bins` | the cells in which fio counts latencies |
//! | [`write`](mod@write) | results as fio's JSON and JSON+ |
//!
//! fio times a write and the sync behind it as two populations, so that the latency of a *commit* is never in its output. Its `clat` runs from the kernel's
//! acceptance, its `lat` from before the submission; flushmark's latencies run from before the submission.

mod bins;
mod command;
mod job;
pub mod json;
mod latency;
mod options;
mod report;
pub mod text;
pub mod write;
