//! fio's output: JSON and JSON+ in both directions, its normal text output as input.
//!
//! | module | content |
//! | --- | --- |
//! | [`json`] | finds and reads fio's JSON documents in a text |
//! | [`text`] | reads fio's normal text output |
//! | `report` | the report of one fio process, and its conversion to runs |
//! | `job` | one job of either format, and its conversion to a test |
//! | `options` | a job's options, and the workload they specify |
//! | `command` | the command line pasted with the text |
//! | `syncs` | the number of fio's syncs and which call they were |
//! | `latency` | fio's latency figures |
//! | `bins` | fio's latency bins |
//! | [`write`](mod@write) | results as fio's JSON and JSON+ |
//!
//! fio measures a write and the sync after it as two populations, so its output never contains the
//! latency of a *commit*. Its `clat` starts when the kernel accepts the request, its `lat` before
//! the submission, as flushmark's latencies do.

mod bins;
mod command;
mod job;
pub mod json;
mod latency;
mod options;
mod report;
mod syncs;
pub mod text;
pub mod write;
