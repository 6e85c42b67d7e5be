//! A drive's health, as SMART and its kin tell it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a drive says of its health. What it does not say is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// Share of the rated endurance that is used up, in percent; may exceed 100.
    pub used_percent: Option<u16>,
    /// Spare blocks that are left, in percent.
    pub spare_percent: Option<u8>,
    /// Times that power went without a warning.
    pub unsafe_shutdowns: Option<u64>,
    /// Times that it was switched on.
    pub power_cycles: Option<u64>,
    /// Hours that it was on.
    pub power_on_hours: Option<u64>,
    /// Data that it could not give back (NVMe), or sectors pending or uncorrectable (ATA), or uncorrected errors (SCSI).
    pub media_errors: Option<u64>,
    /// Degrees Celsius.
    pub temperature_celsius: Option<i16>,
    /// Whether the drive itself warns that it is failing.
    pub failing: Option<bool>,
}
