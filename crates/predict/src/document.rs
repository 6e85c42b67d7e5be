//! The JSON output of `flushmark db predict`.

use measurement::DatabaseRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::prediction::Basis;

/// The name and version of [`PredictionDocument`].
pub const SCHEMA: &str = "flushmark/db-predict/1";

/// What a database server would commit on other storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionDocument {
    /// The name and version of this format.
    pub schema: String,
    /// The version of flushmark that predicted.
    pub flushmark: String,
    /// The server, with the settings under which it was measured.
    pub server: DatabaseRecord,
    pub calibration: CalibrationRecord,
    /// Settings that the predictions assume to be changed; absent: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<ChangedSetting>,
    /// Fastest sync first, unless the user named the storage.
    pub predictions: Vec<DrivePrediction>,
    /// Limits of what is predicted; one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The measurement that predictions start from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationRecord {
    /// As the user named it, or the server's URL.
    pub source: String,
    /// Start of the measurement, UTC, RFC 3339.
    pub started_at: String,
    /// The test of the storage alone.
    pub storage: String,
    /// Mean time of a commit of the storage alone, in microseconds.
    pub sync_us: f64,
    /// Processors that clients and server shared; `null` if unknown.
    pub processors: Option<u32>,
    pub loads: Vec<CalibratedLoad>,
}

/// A load that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibratedLoad {
    pub load: String,
    /// Connections that commit.
    pub clients: u32,
    pub commits_per_s: f64,
    /// Rows inserted per second; absent unless it is a step of the Insert Benchmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_s: Option<f64>,
}

/// A setting with another value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedSetting {
    pub name: String,
    /// The value when the server was measured; `null` if unknown.
    pub from: Option<String>,
    pub to: String,
}

/// Predictions on one storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrivePrediction {
    /// As the user named it, such as `sim:consumer-nvme`.
    pub on: String,
    pub label: String,
    /// Where the time of a sync comes from.
    pub basis: Basis,
    /// Mean time of a commit of the storage alone, in microseconds.
    pub sync_us: f64,
    pub loads: Vec<LoadPrediction>,
}

/// A prediction for one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPrediction {
    pub load: String,
    /// Connections that commit.
    pub clients: u32,
    /// `null` if refused.
    pub commits_per_s: Option<Rate>,
    /// Rows inserted per second; absent unless it is a step of the Insert Benchmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_s: Option<Rate>,
    /// Syncs of the log, and of the binary log, per commit.
    pub syncs_per_commit: f64,
    pub limit: Limit,
    /// Why there is no prediction; absent if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refusal>,
}

/// A rate per second, and the interval that it is expected in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    pub expected: f64,
    pub low: f64,
    pub high: f64,
}

impl Rate {
    pub(crate) fn times(self, factor: f64) -> Rate {
        let Rate { expected, low, high } = self;
        Rate { expected: expected * factor, low: low * factor, high: high * factor }
    }
}

/// What decides a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// A sync is under way most of the time.
    Sync,
    /// The processors of server and clients are busy.
    Processors,
    /// Neither: the way of a statement through client and server.
    Server,
}

/// Why a rate is not predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// The processors would be busier than they ever were when the server was measured.
    ProcessorBound,
    /// The rate would be higher than measured, and the server's processor time is unknown.
    ProcessorTimeUnknown,
}

/// The JSON schema of [`PredictionDocument`].
pub fn json_schema() -> schemars::Schema {
    measurement::json_schema::of::<PredictionDocument>("db predict", SCHEMA)
}
