//! The kinds of drives that Ceph distinguishes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of drive that holds an OSD's data. Of an OSD that exists, this is what BlueStore takes
/// the drive for, which selects the `_hdd` or `_ssd` variant of each setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    Hdd,
    Ssd,
}

impl Medium {
    /// As in names of settings.
    pub const fn suffix(self) -> &'static str {
        match self {
            Medium::Hdd => "hdd",
            Medium::Ssd => "ssd",
        }
    }

    /// As in sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Medium::Hdd => "HDD",
            Medium::Ssd => "SSD",
        }
    }
}
