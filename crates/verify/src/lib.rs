//! Proves that acknowledged writes survive a power loss, or finds out how the drive lies.
//!
//! Only a power loss shows whether a drive's "durable" is true. Several *lanes* write
//! self-describing records, sector by sector. A witness outside the drive's power domain records
//! what was acknowledged. After the power cut, every sector is read back and identified. The
//! verdict that follows from that is a pure function, tested against a simulated drive that lies in
//! every known way (`tests/confusion.rs`).
//!
//! [`target`] claims a target, [`Writing`] writes all lanes to it, and a [`Witness`] passes on what
//! was acknowledged to a [`Recorder`] or into a journal. A [`Check`] reads the target back and
//! judges it; [`document`] is its result, [`sentences`] puts it into words. [`demo`] runs the whole
//! cycle on emulated drives. ARCHITECTURE.md lists the steps with their modules.
//!
//! A drive must never be accused falsely. So an obligation exists only if its acknowledgement was
//! *received* (a message that got lost creates none), or if a surviving record proves it. A lane
//! has nothing in flight when it syncs, because a flush covers completed writes only. And a lane
//! stops at its first error, because a failed sync covers nothing, even if a later one succeeds.

#![warn(unreachable_pub)]

mod aligned;
mod check_target;
mod checking;
pub mod demo;
mod disk;
pub mod document;
mod drive_facts;
mod error;
mod file_disk;
mod filling;
mod frontier;
mod geometry;
mod journal;
pub mod journal_location;
mod lane;
mod lease;
mod ledger;
mod loss_bound;
pub mod message;
mod mix;
mod obligations;
mod outcome;
mod payload;
mod provenance;
mod reading;
pub mod record;
mod recorder;
mod run_header;
mod schedule;
pub mod sentences;
pub mod superblock;
pub mod survey;
pub mod target;
mod validity;
mod verdict;
mod wire;
mod witness;
mod writing;

pub use checking::{Check, Source, UserStatement};
pub use disk::{Disk, OpenDisk};
pub use drive_facts::DriveFacts;
pub use error::VerifyError;
pub use filling::fill;
pub use frontier::{Frontier, Frontiers};
pub use geometry::{Geometry, LaneKind, SUPERBLOCKS_AT};
pub use journal::{Journal, ReadJournal, read as read_journal};
pub use lane::{Lane, Stepped, fill_record};
pub use ledger::Ledger;
pub use loss_bound::{cycles_for, loss_per_cut_below};
pub use obligations::Obligations;
pub use outcome::{AgeCount, CycleResult, Outcome, Standing};
pub use payload::Payload;
pub use recorder::{Cut, Event, Recorder, RecorderOptions};
pub use run_header::{Circumstances, FuaPath, RunHeader, SyncMethod};
pub use schedule::Schedule;
pub use validity::{Sign, Void};
pub use verdict::{Class, Finding, Legal, Rollback, Tally, Verdict, judge};
pub use witness::Witness;
pub use writing::{Live, Writing, Written};
