//! The words for what to do to a drive, and nothing that does it: this crate performs no I/O.
//!
//! A [`Plan`] is a list of [`Test`]s. Each test's [`Work`] is a [`Workload`] (one pattern of blocks, repeated), a
//! [`StepProgram`] (a loop over writes and syncs on several files, the way software commits) or a [`SortWork`] (what a
//! database's sort spills).
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`size`] | byte sizes and durations as people write them |
//! | [`number`] | measured numbers as people read them |
//! | [`pattern`] | which block comes next: `read`, `randwrite`, … |
//! | [`sync`] | how a write is made durable: `fsync`, `o_dsync`, … |
//! | [`target`] | how users name a target |
//! | [`write_cache`] | the setting of the drive's volatile cache that a test asks for |
//! | [`blocks`] | the [`Workload`]: one pattern with its depth, jobs, limits |
//! | [`order`] | orders of blocks beyond the plain ones: gaps, backwards, popular blocks, zones |
//! | [`sizes`] | block sizes that vary |
//! | [`parts`] | which bytes of which file each job works on |
//! | [`steps`] | the [`StepProgram`] and its one-line notation |
//! | [`sort`] | the [`SortWork`]: more records than memory holds |
//! | [`plan`] | the TOML plan file: its fields, parser, reference page and JSON Schema, all from one table |
//! | [`access`] | the operations that a seed stands for: offsets, mix, sizes and gaps |
//! | `commits` | what counts as a commit: [`Commits`] |
//! | `bounds` | when a phase of a job ends: [`Bounds`] |
//! | [`fio`] | fio's job files and command lines, as far as flushmark reads them |
//! | [`suites`] | the built-in plans |
//!
//! Suites are plans in the same TOML that a person writes; the engine, the models and the reports see only [`Plan`].

pub mod access;
pub mod blocks;
mod bounds;
mod commits;
pub mod fio;
pub mod number;
pub mod order;
pub mod parts;
pub mod pattern;
pub mod plan;
pub mod size;
pub mod sizes;
pub mod sort;
pub mod steps;
pub mod suites;
pub mod sync;
pub mod target;
pub mod unseen;
pub mod write_cache;

pub use blocks::{
    Area, Arrivals, BlockBytes, Content, Depth, EngineChoice, Jobs, Layout, Limit, OutOfRange, Rate, Room, Sharing,
    Streams, Submission, SyncTiming, Until, WarmUp, Workload,
};
pub use bounds::Bounds;
pub use commits::Commits;
pub use order::{BlockOrder, Zone};
pub use parts::{JobPart, Parts};
pub use pattern::Pattern;
pub use plan::{Plan, Table, Test, Work};
pub use size::{ByteSize, format_bytes};
pub use sizes::{BlockSizes, SizeShare};
pub use sort::{SortKeys, SortWork};
pub use steps::{FileSpec, Placement, Step, StepProgram};
pub use sync::{OpenFlag, SyncCall, SyncMethod};
pub use target::TargetName;
pub use write_cache::WriteCache;
