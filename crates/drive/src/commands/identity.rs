//! Who a drive is, in its own words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who a drive is, in its own words. What it does not say is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriveIdentity {
    /// Model, whole.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// The firmware's revision.
    pub firmware: Option<String>,
    /// Whether it rotates.
    pub rotation: Option<Rotation>,
}

/// Whether a drive rotates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rotation {
    /// It does not.
    SolidState,
    /// It does, so many times a minute.
    Rpm(u16),
}

impl Rotation {
    /// From the number that ATA (IDENTIFY DEVICE, word 217) and SCSI (VPD page B1h) share: 1 does not rotate, above 1024 the rotations a minute; the rest is
    /// "not reported" or reserved.
    pub(super) fn decode(rate: u16) -> Option<Rotation> {
        match rate {
            1 => Some(Rotation::SolidState),
            0x0401..=0xFFFE => Some(Rotation::Rpm(rate)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        let decoded = [0, 1, 2, 0x400, 0x401, 7200, 0xFFFF].map(Rotation::decode);
        let rpm = |rate| Some(Rotation::Rpm(rate));
        assert_eq!(decoded, [None, Some(Rotation::SolidState), None, None, rpm(0x401), rpm(7200), None]);
    }
}
