//! Conversations: which commands to send in which order, and how to combine the answers.

pub mod ata;
pub mod nvme;
pub mod scsi;
