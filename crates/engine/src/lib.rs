//! Runs a workload on a real target, as close to the kernel's limit as can be.
//!
//! A [`Target`] is opened once (that is where safety is decided), then [`run`] takes one [`workload::Test`] after the other, or several at the same
//! time, to their [`measurement::TestResult`]s. The way of one test:
//!
//! | step | module |
//! | --- | --- |
//! | what the target is, and whether it may be written to | `target`; `scratch` and `janitor` for test files that never stay behind |
//! | which system interface carries it | `carrier` |
//! | can the system give what it asks for | `limits` |
//! | each job's part, written through beforehand | `prepare` |
//! | threads that start together, observed once a second | `crew`, `watch`, `affinity` |
//! | the loops: one operation at a time, many in flight, steps | `blocking`, `queued`, `stepping` |
//! | the seams to the disk beneath them | `disk` (blocking calls), `queue` (`uring`, `libaio`) |
//! | sorts of more than memory holds, their runs on the target | `spilling` |
//! | what a loop needs for each operation | [`workload::access`] (offsets, mix, gaps), `buffers`, `pace`, `clock`, `recorder` |
//! | how many completions one wait is for | `batching` |
//!
//! `unsafe` stands only in `clock` (reading the counter), `cpu_time` (getrusage), `recorder` (zeroed memory), `buffers` (page-aligned memory), `janitor` (fork), `uring` and
//! `libaio` (the kernel's shared rings).

mod affinity;
mod batching;
mod block_job;
mod blocking;
mod buffers;
mod carrier;
mod clock;
mod cpu_time;
mod crew;
mod discard;
mod disk;
mod error;
mod janitor;
mod job;
mod libaio;
mod limits;
mod open_flags;
mod pace;
mod prepare;
mod queue;
mod queued;
mod readback;
mod recorder;
mod run;
mod scratch;
mod spilling;
mod stepping;
mod target;
mod uring;
mod watch;

pub use error::{Blame, EngineError};
pub use job::Stop;
pub use open_flags::open_flags;
pub use run::{Options, run};
pub use target::{Intent, Target};
pub use uring::DurableWrites;
