//! The vocabulary of a benchmark: plans, tests and workloads. This crate performs no I/O.
//!
//! A [`Plan`] is a list of [`Test`]s. Each test's [`Work`] is a [`Workload`] (one block pattern,
//! repeated), a [`StepProgram`] (a loop of writes and syncs on several files, which is how software
//! commits) or a [`SortWork`] (the spill of a database's sort).
//!
//! | module | what it holds |
//! | --- | --- |
//! | `size` | byte sizes, in the notation that users write |
//! | [`number`] | measured numbers, as reports write them |
//! | `pattern` | which block comes next: `read`, `randwrite`, … |
//! | `sync` | how a write is made durable: `fsync`, `o_dsync`, … |
//! | `target` | how users name a target |
//! | `write_cache` | the drive's write cache setting during a test |
//! | `blocks` | the [`Workload`]: one pattern with its depth, jobs, limits |
//! | `order` | block orders other than sequential and uniform: gaps, backwards, popular blocks, zones |
//! | `sizes` | mixed block sizes |
//! | [`zones`] | zones that are written sequentially, and where in them each operation goes |
//! | `files` | the files of a job that has several, and the order of their turns |
//! | `pacing` | pauses between operations, and the rate below which a job fails |
//! | `parts` | the files and byte range that each job works on |
//! | `latency_target` | the search for the depth that keeps a latency |
//! | `steady` | the [`UntilSteady`] in which a measurement ends |
//! | `steady_fill` | the [`SteadyFill`]: random preconditioning of a flash drive in one pass |
//! | `steps` | the [`StepProgram`] and its one-line notation |
//! | `sort` | the [`SortWork`]: a sort of more records than fit in memory |
//! | [`plan`] | the TOML plan file: its fields, parser, reference page and JSON Schema, all from one table |
//! | [`access`] | the operations that follow from a seed: offsets, mix, sizes and gaps |
//! | [`random`] | the random draws of a seed |
//! | `dedupe` | duplicates among the blocks that are written |
//! | `verification` | what makes damage to a block visible, and when blocks are checked |
//! | `tolerance` | errors that do not end a job |
//! | `ending` | the tests that end with the first job of another one: [`Ends`] |
//! | `priority` | I/O [`Priorities`] of threads and of single I/Os |
//! | `processors` | the [`Processors`] and memory nodes of jobs |
//! | `donor` | the file with which a test exchanges blocks: [`Donor`] |
//! | `compute` | work for processors: [`Compute`] |
//! | `commits` | what counts as a commit: [`Commits`] |
//! | `bounds` | when a phase of a job ends: [`Bounds`] |
//! | [`fio`] | fio's job files and command lines, as far as flushmark supports them |
//! | [`suites`] | the built-in plans |
//!
//! The built-in suites are plans in the same TOML that users write. The engine, the models and the
//! reports see only [`Plan`].

pub mod access;
mod blocks;
mod bounds;
mod commits;
mod compute;
mod dedupe;
mod donor;
mod ending;
mod files;
pub mod fio;
mod latency_target;
pub mod number;
mod order;
mod pacing;
mod parts;
mod pattern;
pub mod plan;
mod priority;
mod processors;
pub mod random;
mod size;
mod sizes;
mod sort;
mod steady;
mod steady_fill;
mod steps;
pub mod suites;
mod sync;
mod target;
mod tolerance;
mod verification;
mod write_cache;
pub mod zones;

pub use blocks::{
    Area, Arrivals, BlockBytes, Content, Depth, EngineChoice, Jobs, Layout, Limit, OutOfRange,
    Rate, Room, Sharing, Streams, Submission, SyncTiming, Until, WarmUp, Workload,
};
pub use bounds::Bounds;
pub use commits::Commits;
pub use compute::{Compute, ComputeTask};
pub use dedupe::{BlockContent, BlockContents, Dedupe, DedupeSource};
pub use donor::{Donor, DonorSpace};
pub use ending::Ends;
pub use files::{FileOrder, JobFiles, SyncedFile};
pub use latency_target::{DepthSearch, LatencyTarget};
pub use order::{BlockOrder, Zone};
pub use pacing::{BelowRateMin, Flow, RateCheck, RateMin, ThinkTime};
pub use parts::{JobPart, Parts};
pub use pattern::{EntryCall, EntryKind, Operation, Pattern, SpaceCall};
pub use plan::{Plan, Table, Test, Work};
pub use priority::{IoPriority, Priorities, PriorityClass, PriorityDraws, PriorityShare};
pub use processors::{MemoryPolicy, Nodes, Numbers, Processors, RunOn};
pub use size::{ByteSize, InvalidSize, format_bytes};
pub use sizes::{BlockSizes, CoarseAlignment, SizeShare};
pub use sort::{SortKeys, SortWork};
pub use steady::{SteadyChange, SteadyCheck, SteadyQuantity, SteadyTotals, UntilSteady};
pub use steady_fill::SteadyFill;
pub use steps::{FileCursor, FileSpec, Placement, Step, StepError, StepProgram};
pub use sync::{OpenFlag, SyncCall, SyncMethod};
pub use target::TargetName;
pub use tolerance::{ErrorKind, Tolerance};
pub use verification::{CheckTime, FillPattern, Seal, Verification, WHOLE_PIECE_BYTES};
pub use write_cache::WriteCache;
pub use zones::{ZoneCollection, Zoning};
