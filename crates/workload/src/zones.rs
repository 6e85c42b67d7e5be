//! Zones that are written sequentially, as on zoned drives (SMR, ZNS): the parameters of a workload
//! that respects them, and the table that decides where in a zone each operation goes.
//!
//! fio's `zonemode=zbd`. The table performs no I/O: it says which zone has to be reset or finished
//! first, and the caller does that and reports back.

mod job;
mod table;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use job::ZoneJob;
pub use table::{Claim, Grant, Lack, ZoneAction, ZoneKind, ZoneState, ZoneTable};

/// How a workload uses zones. On a target without zones, it imagines them: all empty at the start,
/// and a reset costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Zoning {
    /// Size of a zone in bytes; absent: that of the drive's zones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone_bytes: Option<u64>,
    /// Number of zones that all jobs together write at a time; absent: as many as the drive allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_open: Option<u32>,
    /// Number of zones that one job writes at a time; absent: no separate limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_max_open: Option<u32>,
    /// `max_open` may be larger than what the drive allows.
    #[serde(default, skip_serializing_if = "is_no")]
    pub ignore_drive_limit: bool,
    /// Reads anywhere, even where nothing has been written.
    #[serde(default, skip_serializing_if = "is_no")]
    pub read_beyond_write_pointer: bool,
    /// Resets of zones that are not full; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<ZoneCollection>,
}

/// Resets of zones that imitate the garbage collection of a filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ZoneCollection {
    /// Zones are reset once this share of a job's bytes has been written, 0 to 1.
    pub threshold: f64,
    /// Resets per write, above 0 and at most 1.
    pub frequency: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
const fn is_no(value: &bool) -> bool {
    !*value
}
