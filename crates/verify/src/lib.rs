//! Proof that acknowledged writes survive a power cut, or which kind of lie was told.

pub mod aligned;
pub mod bound;
pub mod disk;
pub mod error;
pub mod file_disk;
pub mod frontier;
pub mod geometry;
pub mod journal;
pub mod lane;
pub mod ledger;
pub mod message;
mod mix;
pub mod obligations;
pub mod payload;
pub mod provenance;
pub mod record;
pub mod run_header;
pub mod schedule;
pub mod superblock;
pub mod survey;
pub mod validity;
pub mod verdict;
pub mod wire;
