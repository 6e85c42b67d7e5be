//! Proves that acknowledged writes survive a power loss, or finds out how the drive lies.
//!
//! Whether a drive's "durable" is true shows only when it loses power. Several *lanes* write
//! self-describing records, sector by sector. A witness outside the drive's power domain records
//! what was acknowledged. After the power cut, every sector is read back and identified. The
//! verdict that follows from that is a pure function, tested against a simulated drive that lies in
//! every known way (`tests/confusion.rs`).
//!
//! | topic | modules |
//! | --- | --- |
//! | **layout of the target** | [`geometry`] (which slot belongs to whom), [`superblock`], [`record`] (the header of each sector), [`payload`] (the rest of it) |
//! | a run, and the operations of its lanes | [`run_header`], [`schedule`]: every operation follows from run, lane and number |
//! | **writing** | [`filling`] (version 0), [`writing`] (all lanes), [`lane`] (one), [`frontier`] (how far each is), [`disk`] (the storage interface), [`file_disk`] (real storage), [`target`] (what may be overwritten), [`journal_location`] (keeps the journal off the drive under test) |
//! | **recording** | [`witness`] (the writer's side), [`recorder`] (the other machine's side), [`journal`] (the file), [`message`] (the protocol of all three), [`lease`] (how far a lane may be ahead), [`ledger`] (the cycles of a journal), [`outcome`] (their verdicts), [`obligations`] (what was recorded of one run) |
//! | **reading back** | [`check_target`] (which drive it is, and what is left of a run), [`reading`] (twice, if the first result contradicts the run), [`survey`] (what each sector holds), [`provenance`] (where each piece of 64 bytes comes from) |
//! | **judging** | [`verdict`] (what became of every obligation), [`validity`] (whether the run proves anything), [`loss_bound`] (what clean cycles prove), [`sentences`] (findings as text) |
//! | a check from beginning to end, and its document | [`checking`], [`document`] |
//! | the whole cycle on emulated drives | [`demo`] |
//! | facts, memory, encoding, errors | [`drive_facts`], [`aligned`], [`wire`], [`error`] |
//!
//! A drive must never be accused falsely. So an obligation exists only if its acknowledgement was
//! *received* (a message that got lost creates none), or if a surviving record proves it. A lane
//! has nothing in flight when it syncs, because a flush covers completed writes only. And a lane
//! stops at its first error, because a failed sync covers nothing, even if a later one succeeds.

#![allow(missing_docs, reason = "an internal crate, where many names need no sentence")]

pub mod aligned;
pub mod check_target;
pub mod checking;
pub mod demo;
pub mod disk;
pub mod document;
pub mod drive_facts;
pub mod error;
pub mod file_disk;
pub mod filling;
pub mod frontier;
pub mod geometry;
pub mod journal;
pub mod journal_location;
pub mod lane;
pub mod lease;
pub mod ledger;
pub mod loss_bound;
pub mod message;
mod mix;
pub mod obligations;
pub mod outcome;
pub mod payload;
pub mod provenance;
pub mod reading;
pub mod record;
pub mod recorder;
pub mod run_header;
pub mod schedule;
pub mod sentences;
pub mod superblock;
pub mod survey;
pub mod target;
pub mod validity;
pub mod verdict;
pub mod wire;
pub mod witness;
pub mod writing;
