//! The state of a drive's volatile write cache.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a drive says of its volatile write cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheReading {
    /// Whether it has one at all.
    pub present: bool,
    /// Whether it is on; `false` where there is none.
    pub enabled: bool,
    /// Whether it takes the command that switches it.
    pub switchable: bool,
    /// What becomes of a switched cache when power goes and returns.
    pub after_power_cycle: AfterPowerCycle,
    /// Where this stands.
    pub told_by: ToldBy,
}

/// What becomes of a switched cache when power goes and returns.
///
/// ATA's SET FEATURES never lasts (ACS-4: a power-on reset brings back the drive's defaults). A SCSI mode page lasts if it can be saved (bit PS), because it is
/// then saved; so does an NVMe feature that is saveable. virtio-blk starts from the host's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterPowerCycle {
    /// The drive saves the setting.
    Keeps,
    /// The drive goes back to its default.
    Reverts,
    /// It does not say, or there is nothing to switch.
    Unknown,
}

/// Which answer of the drive tells of its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToldBy {
    /// ATA IDENTIFY DEVICE, word 82 bit 5 (supported) and word 85 bit 5 (enabled).
    AtaIdentify,
    /// SCSI caching mode page (08h), bit WCE.
    ScsiCachingPage,
    /// NVMe Identify Controller VWC, and feature 06h.
    NvmeFeature,
    /// The driver's attribute in sysfs, which negotiates it with the host (virtio-blk).
    VirtioConfig,
}
