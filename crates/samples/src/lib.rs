//! Sample results, documents and the facts of machines, as an engine and a host would provide them, for tests.
//!
//! | module | its samples |
//! | --- | --- |
//! | [`suite`](fn@suite), [`quick`], [`sorts`] | results of a built-in suite on a drive of given latencies |
//! | [`series`] | results whose latency wobbles from second to second |
//! | [`machine`] | machines that judgement tells apart, each with results and facts |
//! | [`place`] | drives, and directories and devices on them |
//! | [`document`](mod@document) | run documents: kept ones of version 1, and one of any results |
//!
//! The crate knows facts and measurements and nothing that judges, keeps or prints them. So the crates that do can use it
//! in their unit tests: a sample's types are theirs. Machines as files, which `drive` reads, are in the crate `captures`
//! for the same reason.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]
#![allow(clippy::return_self_not_must_use, reason = "a sample that nobody uses is harmless")]

pub mod document;
pub mod machine;
mod measured;
pub mod place;
pub mod series;
mod suite;

pub use document::document;
pub use suite::{quick, sorts, spread, suite};
