//! A drive's health, as SMART and its kin tell it.
//!
//! | | NVMe | ATA | SCSI |
//! | --- | --- | --- | --- |
//! | used | SMART log | Device Statistics, page 07h | log page 11h |
//! | spare | SMART log | | |
//! | unsafe shutdowns | SMART log | attribute 174, else 192 | |
//! | power cycles | SMART log | Device Statistics, page 01h, else attribute 12 | log page 0Eh (starts and stops) |
//! | power-on hours | SMART log | Device Statistics, page 01h, else attribute 9 | log page 15h |
//! | media errors | SMART log | attributes 197, 198 and Device Statistics, page 04h: the largest | log pages 02h and 03h: the sum |
//! | temperature | SMART log | Device Statistics, page 05h, else attribute 194 or 190 | log page 0Dh |
//! | failing | critical warning | SMART RETURN STATUS | log page 2Fh |
//!
//! ATA's attributes are the makers' own; only those are read on whose meaning they agree.

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
    /// Whether the drive warns that the backup of its volatile memory has failed: the capacitors of its power-loss protection (NVMe critical warning, bit 4).
    /// `false` also where there is no such warning, or no such protection.
    #[serde(default)]
    pub power_loss_protection_failed: bool,
}
