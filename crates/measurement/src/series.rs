//! What happened second by second.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One value for each whole interval of a measurement; a last, shorter interval is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of an interval.
    pub interval_s: f64,
    /// Operations per second.
    pub iops: Vec<f64>,
    /// Median commit latency, or operation latency where nothing is synced; `null` where an interval saw none (a stall).
    pub commit_p50_us: Vec<Option<f64>>,
    /// 99th percentile of the same.
    pub commit_p99_us: Vec<Option<f64>>,
}

impl Series {
    /// An empty series of one-second intervals.
    pub const fn new() -> Series {
        Series { interval_s: 1.0, iops: Vec::new(), commit_p50_us: Vec::new(), commit_p99_us: Vec::new() }
    }
}

impl Default for Series {
    fn default() -> Self {
        Series::new()
    }
}
