//! One OSD of a Ceph cluster, measured by itself.

use ceph::latency::Decomposition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::LatencySummary;

/// The OSD that served all operations of a test, and what was measured of it beside them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OsdRecord {
    pub id: u32,
    /// Its host in the CRUSH map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its device class, such as `ssd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The first write of each object, which creates it, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_write_us: Option<LatencySummary>,
    /// A connection to the OSD's port, which is one round trip of the network, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_us: Option<LatencySummary>,
    /// An operation that touches no device: the network, the messengers and the OSD's queue, in
    /// microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_us: Option<LatencySummary>,
    /// The mean latency of a write in parts; absent for reads, and without the OSD's counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_time: Option<Decomposition>,
    /// A commit of the OSD's own drive, if something is known about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<DriveCommit>,
}

impl OsdRecord {
    /// An OSD of which nothing has been measured yet.
    pub fn new(id: u32, host: Option<String>, class: Option<String>) -> OsdRecord {
        OsdRecord {
            id,
            host,
            class,
            first_write_us: None,
            connect_us: None,
            round_trip_us: None,
            write_time: None,
            drive: None,
        }
    }

    /// Such as `osd.3`.
    pub fn name(&self) -> String {
        format!("osd.{}", self.id)
    }
}

/// What a commit takes on a drive under an OSD.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriveCommit {
    /// The mean, in microseconds.
    pub us: f64,
    pub from: DriveCommitOrigin,
}

/// How a drive's commit latency is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DriveCommitOrigin {
    /// The kernel's counters of this device, while the OSD was measured on the same host: the mean
    /// flush, or the mean write of a drive to which none is sent.
    Counters(String),
    /// A kept result of the same drive, by its start time: the mean commit.
    Kept(String),
}
