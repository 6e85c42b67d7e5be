//! What a drive tells of itself, and of its last power cut.

use crate::faults::Injected;

/// Whether the drive runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Power {
    /// It runs.
    On,
    /// It was cut and can be switched on again.
    Off,
    /// It did not survive its last cut.
    Dead,
}

/// What a power cut did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Cut {
    /// Writes of which something is gone that were never acknowledged.
    pub lost_unacknowledged: u64,
    /// Those that were acknowledged, and no flush had covered: what a volatile cache may lose.
    pub lost_unflushed: u64,
    /// Those that the drive had called safe: lies.
    pub lost_promised: u64,
    /// What else went wrong.
    pub injected: Vec<Injected>,
}

/// What a drive is and does.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Status {
    /// Whether it runs.
    pub power: Power,
    /// Whether it refuses writes.
    pub read_only: bool,
    /// Its lies.
    pub honesty: String,
    /// Bytes.
    pub capacity_bytes: u64,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes of those.
    pub written_bytes: u64,
    /// Flushes acknowledged, also those that were ignored.
    pub flushes: u64,
    /// Bytes acknowledged and not on the medium.
    pub dirty_bytes: u64,
    /// Bytes written to the medium for each that the host wrote.
    pub write_amplification: f64,
    /// Power cuts so far.
    pub cuts: u64,
    /// What the last one did.
    pub last_cut: Option<Cut>,
}
