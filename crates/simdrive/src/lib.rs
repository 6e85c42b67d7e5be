//! Models of drives in virtual time: a discrete-event simulation that runs the same tests as the
//! engine and returns the same kind of results.
//!
//! None of the simulators available (MQSim, FEMU, NVMeVirt, SimpleSSD) models a small durable
//! write: a flush is free there, or an error. Here it is the centre of the model. A drive's
//! parameters are data ([`catalogue::model`]); commit latency, write amplification and the
//! slow-down of a full drive are results, never parameters.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `device` | the interface of every drive: commands, events, power loss |
//! | `solid_state`, `flash` | flash under a page-mapping translation layer, its cache, its flush |
//! | `disk` | a rotating disk |
//! | `stick` | a USB stick that maps whole erase blocks |
//! | `volume` | a cloud volume |
//! | `medium` | contents of the last three, sector by sector |
//! | [`mod@array`] | several drives as one, RAID 0, 1, 5, 6 |
//! | `assembly` | builds a drive from parameters, and rejects impossible ones |
//! | `host` | system calls, page cache, journal, block layer |
//! | [`write_hole`] | a demonstration of the RAID write hole |
//! | `target` | parses `sim:MODEL,...` |
//! | `run` | runs a test on a model: the engine's loops in virtual time |
//! | [`sample`], [`published`] | tests with measured results, compared with those of a model |
//! | `class_model` | models of drives with few published rows, from that of their class |
//! | [`fit`] | fits parameters to measured results |
//! | `events`, `slab`, `time`, `chance` | the simulation core |
//!
//! [`run()`] assembles a drive, preconditions it, puts a `Host` on top and lets jobs
//! make calls. The host turns the calls into commands as Linux does, and the drive determines when
//! they complete. Time jumps from one event to the next. The same seed gives the same document,
//! byte for byte: time is in whole nanoseconds, and simultaneous events happen in insertion order.
//!
//! Memory: data that was laid out in order and never overwritten takes none; ten million random
//! writes all over a 4 TB drive take 177 MiB.
//!
//! ```
//! use measurement::Outcome;
//! use simdrive::{Machine, run_alone};
//!
//! let machine = Machine::new(catalogue::find_model("consumer-nvme")?.clone());
//! let journal = &workload::suites::named("journal").ok_or("no such suite")?.tests[0];
//! let Outcome::Measured(result) = run_alone(&machine, journal, &mut |_| true)? else { return Err("skipped".into()) };
//! assert!((500.0..1000.0).contains(&result.iops), "a flush writes the journal of the mapping table");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod array;
mod assembly;
mod chance;
mod class_model;
mod device;
mod disk;
mod events;
pub mod fit;
mod flash;
mod host;
mod medium;
pub mod published;
mod run;
pub mod sample;
mod slab;
mod solid_state;
mod stick;
mod target;
mod throttle;
mod time;
mod volume;
pub mod write_hole;
pub use assembly::{Assembly, Impossible, assemble};
pub use class_model::{adjusted_to, adjustments, model};
pub use device::{Activity, Completion, Device, Identity, Op, Request, SECTOR_BYTES, Stamp};
pub use run::{Machine, run, run_alone};
pub use slab::Slab;
pub use target::{BadTarget, SimTarget};
pub use time::Ns;
