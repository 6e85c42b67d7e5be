//! Sample results, documents and facts of machines for tests, as an engine and a host would provide
//! them.
//!
//! | module | samples |
//! | --- | --- |
//! | [`suite`](fn@suite), [`check`], [`sorts`] | results of a built-in suite on a drive with given latencies |
//! | [`series`] | results whose latency varies from second to second |
//! | [`machine`] | machines that lead to different findings, each with results and facts |
//! | [`osds`](fn@osds) | results of the OSDs of a Ceph cluster, one of them slow |
//! | [`insert_benchmark`](fn@insert_benchmark) | steps of the Insert Benchmark |
//! | [`traced`](fn@traced), [`fsync_on_ext4`] | traced commits |
//! | [`server_commits`](fn@server_commits) | a database server with 1, 4 and 16 clients |
//! | [`watched`](fn@watched), [`activity`] | database servers that were watched |
//! | [`place`] | drives, directories and devices on them, and exports |
//! | [`document`](mod@document) | run documents: stored ones of version 1, and one with given results |
//!
//! The crate depends only on facts and measurements, not on crates that judge, store or print them.
//! So those crates can use it in their unit tests with the same types. Machines as files, which
//! `drive` reads, are in the crate `captures` for the same reason.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]
#![allow(clippy::return_self_not_must_use, reason = "an unused sample is harmless")]

pub mod document;
mod insert_benchmark;
pub mod machine;
mod measured;
mod osds;
pub mod place;
pub mod series;
mod server_commits;
mod suite;
mod traced;
mod watched;

pub use document::document;
pub use insert_benchmark::insert_benchmark;
pub use osds::osds;
pub use server_commits::server_commits;
pub use suite::{check, sorts, spread, suite};
pub use traced::{fsync_on_ext4, traced};
pub use watched::{activity, watched};
