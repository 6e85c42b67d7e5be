//! Conversations: which commands to send in which order, and what to make of the answers together.

pub mod ata;
pub mod nvme;
pub mod scsi;
