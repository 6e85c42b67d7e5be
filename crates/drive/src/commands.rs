//! What a drive says of itself when it is asked with its own commands: ATA through SCSI, SCSI, NVMe.
//!
//! | module | its job |
//! | --- | --- |
//! | `ata`, `scsi`, `nvme` | commands encoded and answers decoded, without I/O |
//! | `passthrough` | carries a command to the drive: the kernel's ioctls |

mod error;

pub use error::CommandError;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BlockDevice, SystemRoot};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterPowerCycle {
    /// The drive saves the setting.
    Keeps,
    /// The drive goes back to its default.
    Reverts,
    /// It does not say.
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

/// A drive that takes commands.
#[derive(Debug)]
pub struct OpenDrive {}

impl OpenDrive {
    /// Opens a whole disk for its commands.
    pub fn open(root: &SystemRoot, disk: &BlockDevice) -> Result<OpenDrive, CommandError> {
        let _ = (root, disk);
        todo!()
    }

    /// Asks for the state of the volatile write cache.
    pub fn write_cache(&mut self) -> Result<CacheReading, CommandError> {
        todo!()
    }

    /// Switches the cache by the device's own command. What came of it, only a reading tells.
    pub fn set_write_cache(&mut self, on: bool) -> Result<(), CommandError> {
        let _ = on;
        todo!()
    }

    /// Asks for the drive's health.
    pub fn health(&mut self) -> Result<crate::Health, CommandError> {
        todo!()
    }
}
