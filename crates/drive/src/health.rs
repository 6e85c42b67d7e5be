//! A drive's health, as reported by SMART and its relatives.
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
//! | written by the host | SMART log | Device Statistics, page 01h, else the vendor's attribute | |
//! | written to flash | see [`Wear`](crate::Wear) | see [`Wear`](crate::Wear) | |
//! | failing | critical warning | SMART RETURN STATUS | log page 2Fh |
//!
//! ATA's attributes are vendor-specific; only those with an agreed meaning are read, or with the
//! meaning that the drive's vendor documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A drive's report on its health. Missing values are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// Used share of the rated endurance, in percent; may exceed 100.
    pub used_percent: Option<u16>,
    /// Remaining spare blocks, in percent.
    pub spare_percent: Option<u8>,
    /// Number of power losses without warning.
    pub unsafe_shutdowns: Option<u64>,
    /// Number of power-ons.
    pub power_cycles: Option<u64>,
    pub power_on_hours: Option<u64>,
    /// Data that the drive could not return (NVMe), pending or uncorrectable sectors (ATA), or
    /// uncorrected errors (SCSI).
    pub media_errors: Option<u64>,
    pub temperature_celsius: Option<i16>,
    /// Bytes that the host has written since the drive was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_bytes_written: Option<u64>,
    /// Bytes that the drive has written to its flash since it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub medium_bytes_written: Option<u64>,
    /// True if the drive itself warns that it is failing.
    pub failing: Option<bool>,
    /// True if the drive warns that the backup of its volatile memory has failed: the capacitors of
    /// its power-loss protection (NVMe critical warning, bit 4). `false` also without such a
    /// warning or such protection.
    #[serde(default)]
    pub power_loss_protection_failed: bool,
}
