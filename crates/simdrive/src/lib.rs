//! Models of drives in virtual time: a discrete-event simulation that takes the same tests as the engine and gives the same results.
//!
//! None of the simulators at hand (MQSim, FEMU, NVMeVirt, SimpleSSD) models a small durable write: a flush costs nothing there, or is an error. Here it is what everything turns on.
//! A drive's parameters are data ([`catalogue::model`]); what comes out of them, commit latency, write amplification, the slow-down of a full drive, is never put in.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`device`] | what every drive does: takes commands, tells events, loses power |
//! | [`solid_state`], [`flash`] | flash behind a page-mapping translation layer, its cache, its flush |
//! | [`disk`] | a rotating disk |
//! | [`stick`] | a USB stick that maps whole blocks |
//! | [`volume`] | a cloud's volume |
//! | [`medium`] | what the latter three hold, sector by sector |
//! | [`mod@array`] | several drives as one, RAID 0, 1, 5, 6 |
//! | [`assembly`] | from parameters to a drive, impossible ones refused |
//! | [`host`] | system calls, page cache, journal, block layer |
//! | [`write_hole`] | the RAID write hole, played through |
//! | [`target`] | `sim:MODEL,...` as a person writes it |
//! | [`run`] | a test on a model: the engine's loops in virtual time |
//! | [`sample`], [`published`] | tests with the figures that somebody measured, and a model's beside them |
//! | [`fit`] | parameters from figures |
//! | [`events`], [`slab`], [`time`] | the clockwork |
//!
//! The way of a test: [`run::run`] assembles a drive, lays it out, puts a [`host::Host`] above it and lets jobs make calls; the host turns them into commands as Linux does; the drive says
//! when they end. Time jumps from one event to the next. The same seed gives the same document to the last byte: time is whole nanoseconds, and what happens at once happens in the order of
//! its entry.
//!
//! Memory: what was laid out in order and never written takes nothing; ten million random writes all over a drive of 4 TB take 177 MiB.
//!
//! ```
//! use measurement::Outcome;
//! use simdrive::run::{Machine, run_alone};
//!
//! let machine = Machine::new(catalogue::find_model("consumer-nvme")?.clone());
//! let journal = &workload::suites::named("journal").ok_or("no such suite")?.tests[0];
//! let Outcome::Measured(result) = run_alone(&machine, journal, &mut |_| true)? else { return Err("skipped".into()) };
//! assert!((500.0..1000.0).contains(&result.iops), "a flush writes the journal of the mapping table");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod array;
pub mod assembly;
pub mod device;
pub mod disk;
pub mod events;
pub mod fit;
pub mod flash;
pub mod host;
pub mod medium;
pub mod published;
pub mod run;
pub mod sample;
pub mod slab;
pub mod solid_state;
pub mod stick;
pub mod target;
pub mod time;
pub mod volume;
pub mod write_hole;
