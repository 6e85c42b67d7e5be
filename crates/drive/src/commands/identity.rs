//! A drive's identity, as the drive reports it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A drive's identity, as the drive reports it. Missing fields are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriveIdentity {
    /// Model, not truncated.
    pub model: Option<String>,
    pub serial: Option<String>,
    pub firmware: Option<String>,
    /// Rotation speed, or solid state.
    pub rotation: Option<Rotation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rotation {
    /// No rotating medium.
    SolidState,
    /// Revolutions per minute.
    Rpm(u16),
}

impl Rotation {
    /// Decodes the number that ATA (IDENTIFY DEVICE, word 217) and SCSI (VPD page B1h) share: 1
    /// means no rotation, values above 1024 are revolutions per minute; the rest is "not reported"
    /// or reserved.
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
        assert_eq!(
            decoded,
            [None, Some(Rotation::SolidState), None, None, rpm(0x401), rpm(7200), None]
        );
    }
}
