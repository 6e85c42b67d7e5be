//! Drives with published measurements.

use serde::{Deserialize, Serialize};

use crate::row::Row;
use crate::table::Table;

/// A drive, an array or a cloud volume, with everything that was published about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drive {
    /// The name that commands accept, such as `samsung-980-1tb`: lower case, unique.
    pub name: String,
    /// Other names that commands accept, also unique.
    pub aliases: Vec<String>,
    /// The name shown to users.
    pub label: String,
    /// `None` if the source does not name it.
    pub vendor: Option<String>,
    /// The model, or the model number if the source has only that.
    pub model: Option<String>,
    /// Capacity in gigabytes of 10⁹ bytes, of one drive of an array; `None` if the source does not
    /// state it.
    pub capacity_gb: Option<u32>,
    /// The interface of the drive, and the market it is made for.
    pub class: Class,
    /// The array that was measured; `None` for a single drive.
    pub array: Option<Array>,
    #[serde(flatten)]
    pub power_loss_protection: PowerLossProtection,
    /// The published tables, in the order of their sources.
    pub tables: Vec<Table>,
}

impl Drive {
    /// All published tests, each with its table.
    pub fn rows(&self) -> impl Iterator<Item = (&Table, &Row)> {
        self.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)))
    }

    /// The addresses of the publications, each once.
    pub fn sources(&self) -> Vec<&str> {
        let mut addresses: Vec<&str> = Vec::new();
        for table in &self.tables {
            if !addresses.contains(&table.source_url.as_str()) {
                addresses.push(&table.source_url);
            }
        }
        addresses
    }

    /// Returns `true` if commands accept this name. `name` is in lower case.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

/// The kind of drive: how it is attached, and which market it is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Made for servers, with NVMe.
    EnterpriseNvme,
    /// Made for servers, on PCIe with the vendor's own driver.
    EnterprisePcie,
    EnterpriseSas,
    /// Made for servers, on SATA.
    EnterpriseSata,
    /// Made for desktops, with NVMe.
    ConsumerNvme,
    /// Made for desktops, on PCIe with AHCI.
    ConsumerPcie,
    /// Made for desktops, on SATA.
    ConsumerSata,
    /// The local drives of a cloud machine, whose content is lost when the machine is deleted.
    CloudLocal,
    CloudVolume,
    Disk,
    /// A USB stick or memory card.
    UsbStick,
}

impl Class {
    /// All classes, in the order of lists.
    pub const ALL: [Class; 11] = [
        Class::EnterpriseNvme,
        Class::EnterprisePcie,
        Class::EnterpriseSas,
        Class::EnterpriseSata,
        Class::ConsumerNvme,
        Class::ConsumerPcie,
        Class::ConsumerSata,
        Class::CloudLocal,
        Class::CloudVolume,
        Class::Disk,
        Class::UsbStick,
    ];

    /// The name in data files and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Class::EnterpriseNvme => "enterprise-nvme",
            Class::EnterprisePcie => "enterprise-pcie",
            Class::EnterpriseSas => "enterprise-sas",
            Class::EnterpriseSata => "enterprise-sata",
            Class::ConsumerNvme => "consumer-nvme",
            Class::ConsumerPcie => "consumer-pcie",
            Class::ConsumerSata => "consumer-sata",
            Class::CloudLocal => "cloud-local",
            Class::CloudVolume => "cloud-volume",
            Class::Disk => "disk",
            Class::UsbStick => "usb-stick",
        }
    }

    /// The name shown to users.
    pub const fn label(self) -> &'static str {
        match self {
            Class::EnterpriseNvme => "enterprise NVMe",
            Class::EnterprisePcie => "enterprise PCIe",
            Class::EnterpriseSas => "enterprise SAS",
            Class::EnterpriseSata => "enterprise SATA",
            Class::ConsumerNvme => "consumer NVMe",
            Class::ConsumerPcie => "consumer PCIe",
            Class::ConsumerSata => "consumer SATA",
            Class::CloudLocal => "cloud local drive",
            Class::CloudVolume => "cloud volume",
            Class::Disk => "rotating disk",
            Class::UsbStick => "USB stick",
        }
    }
}

/// Several equal drives that were measured as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Array {
    pub level: ArrayLevel,
    /// Number of drives, at least 2.
    pub members: u32,
    pub controller: Controller,
}

/// The layout of a published array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrayLevel {
    Raid0,
    Raid1,
    Raid5,
    Raid10,
}

impl ArrayLevel {
    /// The name shown to users.
    pub const fn label(self) -> &'static str {
        match self {
            ArrayLevel::Raid0 => "RAID 0",
            ArrayLevel::Raid1 => "RAID 1",
            ArrayLevel::Raid5 => "RAID 5",
            ArrayLevel::Raid10 => "RAID 10",
        }
    }

    /// The fewest drives of such an array.
    const fn members_min(self) -> u32 {
        match self {
            ArrayLevel::Raid0 | ArrayLevel::Raid1 => 2,
            ArrayLevel::Raid5 => 3,
            ArrayLevel::Raid10 => 4,
        }
    }
}

/// The software or hardware that combines the drives of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    /// The kernel, such as Linux md.
    Software,
    /// A RAID controller, which may have a cache.
    Hardware,
}

impl Array {
    /// Returns `true` if the level can have this number of drives.
    pub const fn is_possible(self) -> bool {
        self.members >= self.level.members_min()
    }
}

/// Whether a drive's volatile cache survives a power loss, according to its datasheet or the source
/// of the measurement. It is never inferred from the figures: that is the task of `judge`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "power_loss_protection", rename_all = "lowercase")]
pub enum PowerLossProtection {
    /// Capacitors or similar hardware power the drive until its cache is written.
    Yes {
        #[serde(rename = "power_loss_protection_source")]
        source: String,
    },
    /// A power loss takes what was not flushed.
    No {
        #[serde(rename = "power_loss_protection_source")]
        source: String,
    },
    /// Called protected by a source, but measured as a drive without protection.
    Claimed {
        /// The source of the claim.
        #[serde(rename = "power_loss_protection_source")]
        source: String,
        /// The measurement that contradicts the claim, with its source.
        #[serde(rename = "power_loss_protection_against")]
        against: String,
    },
    /// Neither datasheet nor source says.
    Unknown,
}

impl PowerLossProtection {
    /// The name in data files and arguments, which is also shown to users.
    pub const fn label(&self) -> &'static str {
        match self {
            PowerLossProtection::Yes { .. } => "yes",
            PowerLossProtection::No { .. } => "no",
            PowerLossProtection::Claimed { .. } => "claimed",
            PowerLossProtection::Unknown => "unknown",
        }
    }

    /// The source of the claim.
    pub fn source(&self) -> Option<&str> {
        match self {
            PowerLossProtection::Yes { source }
            | PowerLossProtection::No { source }
            | PowerLossProtection::Claimed { source, .. } => Some(source),
            PowerLossProtection::Unknown => None,
        }
    }
}
