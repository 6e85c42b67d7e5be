//! A drive that somebody has measured.

use serde::{Deserialize, Serialize};

use crate::row::Row;

/// A drive (or volume) with all that one source published about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drive {
    /// The name that commands take: `samsung-980-1tb`. Lower case, unique.
    pub name: String,
    /// The name as people read it.
    pub label: String,
    /// What kind of drive it is.
    pub class: Class,
    /// Whether its cache survives a power cut.
    pub power_loss_protection: PowerLossProtection,
    /// Who says so; `None` exactly when that is unknown.
    pub power_loss_protection_source: Option<String>,
    /// Who measured and published.
    pub source: String,
    /// Where to read it.
    pub source_url: String,
    /// The published tests, in the source's order.
    pub rows: Vec<Row>,
}

/// What kind of drive it is: how it is attached, and for whom it is made.
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
    /// A cloud machine's own drives; their content ends with the machine.
    CloudLocal,
    /// A cloud's network volume.
    CloudVolume,
    /// A rotating disk.
    Disk,
    /// A USB stick or memory card.
    UsbStick,
}

impl Class {
    /// As people read it.
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

/// Whether a drive's volatile cache survives a power cut, as its datasheet or the measurement's source says. Never concluded from
/// the figures: that is a judgement, and judgements are made elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PowerLossProtection {
    /// Capacitors or the like hold the drive up until its cache is written.
    Yes,
    /// A power cut loses what was not flushed.
    No,
    /// Nobody says.
    Unknown,
}

impl PowerLossProtection {
    /// As people read it.
    pub const fn label(self) -> &'static str {
        match self {
            PowerLossProtection::Yes => "yes",
            PowerLossProtection::No => "no",
            PowerLossProtection::Unknown => "unknown",
        }
    }
}
