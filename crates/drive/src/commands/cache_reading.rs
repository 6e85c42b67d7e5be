//! The state of a drive's volatile write cache.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A drive's report on its volatile write cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheReading {
    /// True if the drive has such a cache.
    pub present: bool,
    /// True if it is on; `false` without a cache.
    pub enabled: bool,
    /// True if the drive accepts the command to switch it.
    pub switchable: bool,
    /// The fate of the setting in a power cycle.
    pub after_power_cycle: AfterPowerCycle,
    pub told_by: ToldBy,
}

/// The fate of a switched cache in a power cycle.
///
/// ATA's SET FEATURES never lasts (ACS-4: a power-on reset restores the drive's defaults). A SCSI
/// mode page lasts if it can be saved (bit PS), because it is then saved; so does an NVMe feature
/// that is saveable. virtio-blk starts from the host's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterPowerCycle {
    /// The drive saves the setting.
    Keeps,
    /// The drive returns to its default.
    Reverts,
    /// The drive does not say, or there is nothing to switch.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToldBy {
    /// ATA IDENTIFY DEVICE, word 82 bit 5 (supported) and word 85 bit 5 (enabled).
    AtaIdentify,
    /// SCSI caching mode page (08h), bit WCE.
    ScsiCachingPage,
    /// NVMe Identify Controller VWC, and feature 06h.
    NvmeFeature,
    /// The driver's sysfs attribute, negotiated with the host (virtio-blk).
    VirtioConfig,
}
