//! Drives with published measurements.

use serde::{Deserialize, Serialize};

use crate::row::Row;

/// A drive (or volume) with everything that one source published about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drive {
    /// The name that commands accept, such as `samsung-980-1tb`: lower case, unique.
    pub name: String,
    /// The name shown to users.
    pub label: String,
    /// The interface of the drive, and the market it is made for.
    pub class: Class,
    /// `Yes` if its cache survives a power loss.
    pub power_loss_protection: PowerLossProtection,
    /// The source of that claim; `None` exactly when it is unknown.
    pub power_loss_protection_source: Option<String>,
    /// The author of the publication.
    pub source: String,
    /// Address of the publication.
    pub source_url: String,
    /// The published tests, in the order of the source.
    pub rows: Vec<Row>,
}

/// The kind of drive: how it is attached, and which market it is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Made for servers, on PCIe.
    EnterpriseNvme,
    /// Made for servers, on SATA.
    EnterpriseSata,
    /// Made for desktops, on PCIe.
    ConsumerNvme,
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
    /// The name shown to users.
    pub const fn label(self) -> &'static str {
        match self {
            Class::EnterpriseNvme => "enterprise NVMe",
            Class::EnterpriseSata => "enterprise SATA",
            Class::ConsumerNvme => "consumer NVMe",
            Class::ConsumerSata => "consumer SATA",
            Class::CloudLocal => "cloud local drive",
            Class::CloudVolume => "cloud volume",
            Class::Disk => "rotating disk",
            Class::UsbStick => "USB stick",
        }
    }
}

/// Whether a drive's volatile cache survives a power loss, according to its datasheet or the source
/// of the measurement. It is never inferred from the figures: that is the task of `judge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PowerLossProtection {
    /// Capacitors or similar hardware power the drive until its cache is written.
    Yes,
    /// A power loss takes what was not flushed.
    No,
    /// Neither datasheet nor source says.
    Unknown,
}

impl PowerLossProtection {
    /// The name shown to users.
    pub const fn label(self) -> &'static str {
        match self {
            PowerLossProtection::Yes => "yes",
            PowerLossProtection::No => "no",
            PowerLossProtection::Unknown => "unknown",
        }
    }
}
