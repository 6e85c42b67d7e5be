//! Runs workloads on a real target, with as little overhead as possible above the kernel.
//!
//! A [`Target`] is opened once, which is where safety is decided. Then [`run`] turns one
//! [`workload::Test`] after the other, or several at the same time, into
//! [`measurement::TestResult`]s. The stages of one test:
//!
//! | step | module |
//! | --- | --- |
//! | the kind of target, and whether writing to it is allowed | `target`; `scratch` and `janitor` for test files that are always removed |
//! | selects the system interface | `carrier` |
//! | checks system limits | `limits` |
//! | the part of the target that each job works on, written once beforehand | `part`, `prepare` |
//! | threads that start together and are sampled once a second | `crew`, `watch`, `affinity` |
//! | the moment at which they start, if others start with them | `start_line` |
//! | the drives' counters of what they write to flash, before and after | `wear` |
//! | the loops: one operation at a time, many in flight, steps | `blocking`, `queued`, `stepping` |
//! | the storage interfaces under these loops | `disk` (blocking calls), `queue` (`uring`, `libaio`); `export` (both, over the connection to an NBD server), `ceph` (both, through Ceph's client libraries) |
//! | sorts of more than fits in memory, with runs on the target | `spilling` |
//! | per-operation parts of a loop | [`workload::access`] (offsets, mix, gaps), `buffers`, `pace`, `clock`, `recorder` |
//! | selects the number of completions per wait | `batching` |
//! | zones: where in them each operation goes, and resets | `zoned_disk`, `zones` |
//! | verification: what blocks contain, and when they are checked | `stamp`, `seal`, `readback` |
//!
//! `unsafe` is confined to `clock` (reading the counter), `cpu_time` (getrusage), `recorder`
//! (zeroed memory), `buffers` (page-aligned memory), `janitor` (fork), `space` and `zones` (ioctls),
//! `uring` and `libaio` (the kernel's shared rings), `export` and `ceph` (blocks that are sent and
//! received by their addresses).

mod affinity;
mod batching;
mod block_job;
mod blocking;
mod buffers;
mod carrier;
pub mod ceph;
mod checkpoints;
mod clock;
mod computing;
mod cpu_time;
mod crew;
mod disk;
mod entries;
mod error;
mod export;
mod flow;
mod janitor;
mod job;
mod libaio;
mod limits;
mod open_files;
mod open_flags;
mod pace;
mod part;
mod placement;
mod prepare;
mod priorities;
mod queue;
mod queued;
mod readback;
mod recorder;
mod run;
mod scratch;
mod seal;
mod space;
mod spilling;
mod stamp;
mod start_line;
mod stepping;
mod target;
mod uring;
mod watch;
mod wear;
mod writers;
mod zoned_disk;
mod zones;

pub use cpu_time::{cpu_use, cpu_use_since};
pub use error::EngineError;
pub use job::Stop;
pub use open_flags::open_flags;
pub use run::{Options, run};
pub use start_line::StartLine;
pub use target::{Intent, Target};
pub use uring::DurableWrites;
