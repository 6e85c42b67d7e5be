//! A drive's state and the report on its last power cut.

use super::faults::InjectedFault;

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Power {
    On,
    /// Power was cut; the drive can be switched on again.
    Off,
    /// The drive did not survive its last cut.
    Dead,
}

/// The effects of a power cut.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Cut {
    /// Number of unacknowledged writes with lost data.
    pub lost_unacknowledged: u64,
    /// Number of writes with lost data that were acknowledged but not flushed: a volatile cache may
    /// lose these.
    pub lost_unflushed: u64,
    /// Number of writes with lost data that the drive had called safe: lies.
    pub lost_promised: u64,
    pub injected: Vec<InjectedFault>,
}

/// A drive's state and counters.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Status {
    pub power: Power,
    /// True if it refuses writes.
    pub read_only: bool,
    /// Its lies, as typed on the command line.
    pub honesty: String,
    pub capacity_bytes: u64,
    pub reads: u64,
    pub writes: u64,
    pub written_bytes: u64,
    /// Writes acknowledged as durable (FUA), including those of a drive that lies.
    pub fua_writes: u64,
    /// Flushes acknowledged, including ignored ones.
    pub flushes: u64,
    /// Bytes acknowledged but not on the medium.
    pub dirty_bytes: u64,
    /// Bytes written to the medium per byte written by the host.
    pub write_amplification: f64,
    /// Power cuts so far.
    pub cuts: u64,
    /// Effects of the last power cut.
    pub last_cut: Option<Cut>,
}
