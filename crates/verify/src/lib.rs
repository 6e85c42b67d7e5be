//! Proof that acknowledged writes survive a power cut, or which kind of lie was told.
//!
//! A drive says "durable" and nobody can see whether that is so until its power goes. Here several *lanes* write records that describe themselves, sector by sector; somebody outside the
//! drive's power hears what was acknowledged; and after the cut every sector is asked what it is. What follows from that is a pure function, held against a simulated disk that breaks its
//! word in every known way (`tests/confusion.rs`).
//!
//! | what | module |
//! | --- | --- |
//! | **what lies on the target** | [`geometry`] (which slot is whose), [`superblock`], [`record`] (the header of each sector), [`payload`] (what fills it) |
//! | what a run is, and what each lane does when | [`run_header`], [`schedule`]: every operation follows from run, lane and number |
//! | **writing** | [`filling`] (version 0), [`writing`] (all lanes), [`lane`] (one), [`frontier`] (how far each is), [`disk`] (the seam to storage), [`file_disk`] (a real one), [`target`] (what may be overwritten), [`apart`] (a journal that does not die with it) |
//! | **hearing** | [`witness`] (the writer's side), [`recorder`] (the other machine's), [`journal`] (the file), [`message`] (the language of all three), [`lease`] (how far a lane may be ahead), [`ledger`] (what a journal amounts to), [`outcome`] (what became of its cycles), [`obligations`] (what was heard of one run) |
//! | **reading back** | [`check_target`] (which drive, and what of a run is on it), [`reading`] (twice, where the first contradicts), [`survey`] (what each sector is), [`provenance`] (whose each piece of 64 bytes is) |
//! | **judging** | [`verdict`] (what became of every obligation), [`validity`] (whether the run proves anything), [`bound`] (what clean cycles prove), [`words`] (findings in sentences) |
//! | a check from beginning to end, and its document | [`checking`], [`document`] |
//! | the whole cycle on emulated drives | [`demo`] |
//! | facts, memory, bytes, refusals | [`drive_facts`], [`aligned`], [`wire`], [`error`] |
//!
//! What must never happen is that a drive is accused falsely. So an obligation exists only when its acknowledgement was *received* (a message that got lost obliges nobody), or when a
//! record that survives proves it; a lane drains itself before its sync, because a flush covers completed writes only; and a lane stops for good at its first error, because a sync that
//! failed covers nothing, whatever a later one says.

pub mod aligned;
pub mod apart;
pub mod bound;
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
pub mod lane;
pub mod lease;
pub mod ledger;
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
pub mod superblock;
pub mod survey;
pub mod target;
pub mod validity;
pub mod verdict;
pub mod wire;
pub mod witness;
pub mod words;
pub mod writing;
