//! Predicts the commits of a database server on other storage, or with other settings.
//!
//! A server is measured once, with the commits of its storage alone beside it ([`Calibration`]).
//! Clients, server and drive then become a closed loop in virtual time, in which commits share
//! syncs as they do in the server. The time of a commit besides its sync is fitted so that the
//! loop makes the rate that was measured, and the syncs of another storage take the place of the
//! measured ones ([`Predictor`]).
//!
//! | module | what it holds |
//! | --- | --- |
//! | `simulation` | the closed loop |
//! | `sync_times` | times of syncs, drawn so that few draws have the mean of all |
//! | `storage` | commits of the storage alone, by the bytes written |
//! | `log_write` | how a server makes its log durable, by its settings |
//! | `settings` | settings with other values |
//! | `calibration` | what was measured |
//! | `server_model` | a load, fitted |
//! | `prediction` | rates with intervals, limits and refusals |
//! | `document` | the JSON output of `flushmark db predict` |
//!
//! No I/O; the same input has the same output.

#[cfg(test)]
mod calibrated;
mod calibration;
mod document;
mod log_write;
mod prediction;
mod server_model;
mod settings;
mod simulation;
mod storage;
mod sync_times;

pub use calibration::{BadClients, Calibration, Load, NotACalibration, SKIPPED_STORAGE};
pub use document::{
    CalibratedLoad, CalibrationRecord, ChangedSetting, DrivePrediction, Limit, LoadPrediction,
    PredictionDocument, Rate, Refusal, SCHEMA, json_schema,
};
pub use log_write::LogWrite;
pub use prediction::{Basis, Candidate, Predictor};
pub use settings::{BadSetting, Settings};
pub use storage::{NoStorage, Storage};
pub use sync_times::SyncTimes;
