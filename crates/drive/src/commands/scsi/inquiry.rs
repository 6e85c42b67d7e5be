//! INQUIRY: what a SCSI drive is.

use super::super::bytes::{at_least, big_endian, padded_text};
use super::super::{DriveIdentity, InvalidAnswer, Rotation};

/// Some USB bridges hang when asked for more than the 36 bytes that every device has (the kernel
/// also starts with 36: drivers/scsi/scsi_scan.c).
pub const STANDARD_BYTES: usize = 36;

/// Room for a page of vital product data, in bytes.
pub const PAGE_BYTES: usize = 252;

/// VPD page with the serial number.
pub const SERIAL_NUMBER: u8 = 0x80;
/// VPD page with the rotation speed.
pub const CHARACTERISTICS: u8 = 0xB1;

/// INQUIRY for the standard data.
pub const STANDARD: [u8; 6] = [0x12, 0, 0, 0, STANDARD_BYTES as u8, 0];

/// INQUIRY for a page of vital product data.
pub fn page(page: u8) -> [u8; 6] {
    [0x12, 0x01, page, 0, PAGE_BYTES as u8, 0]
}

/// The standard INQUIRY data (SPC-5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inquiry {
    /// True if it is a disk (peripheral device type 0, or 14h if zoned) that is present (qualifier
    /// 0).
    pub is_disk: bool,
    /// True if the medium is removable: card readers and, by convention, USB sticks.
    pub removable: bool,
    /// T10 vendor: `ATA` for a SATA drive behind a translation layer (SAT-4).
    pub vendor: Option<String>,
    pub product: Option<String>,
    /// Firmware.
    pub revision: Option<String>,
}

impl Inquiry {
    pub fn decode(answer: &[u8]) -> Result<Inquiry, InvalidAnswer> {
        const RESPONSE_FORMAT: u8 = 2;

        at_least(answer, STANDARD_BYTES)?;
        if answer[3] & 0x0f != RESPONSE_FORMAT {
            return Err(InvalidAnswer(format!(
                "its response data format is {}; expected 2",
                answer[3] & 0x0f
            )));
        }
        Ok(Inquiry {
            is_disk: matches!(answer[0], 0x00 | 0x14),
            removable: answer[1] & 0x80 != 0,
            vendor: padded_text(&answer[8..16]),
            product: padded_text(&answer[16..32]),
            revision: padded_text(&answer[32..36]),
        })
    }

    /// Returns whether it is a SATA drive behind a translation layer.
    pub fn is_sata(&self) -> bool {
        self.vendor.as_deref() == Some("ATA")
    }

    /// Model and firmware; this answer has no serial number.
    pub fn identity(self) -> DriveIdentity {
        DriveIdentity { model: self.product, serial: None, firmware: self.revision, rotation: None }
    }
}

/// The content of a page of vital product data; `None` for another page or a truncated one.
fn body(answer: &[u8], page: u8) -> Option<&[u8]> {
    let length = usize::try_from(big_endian(answer, 2, 2)?).ok()?;
    let body = &answer[4..];
    (answer[1] == page).then(|| &body[..length.min(body.len())])
}

/// The serial number of VPD page 80h.
pub fn serial_number(answer: &[u8]) -> Option<String> {
    padded_text(body(answer, SERIAL_NUMBER)?)
}

/// The rotation speed in VPD page B1h (SBC-4, Block Device Characteristics).
pub fn rotation(answer: &[u8]) -> Option<Rotation> {
    Rotation::decode(big_endian(body(answer, CHARACTERISTICS)?, 0, 2)? as u16)
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An answer with the standard data.
    pub fn answer(vendor: &str, product: &str, revision: &str) -> Vec<u8> {
        let mut data = vec![0, 0, 0x06, 0x02, 91, 0, 0, 0];
        data.extend(format!("{vendor:<8}{product:<16}{revision:<4}").bytes());
        data
    }

    #[test]
    fn a_drive_names_itself() {
        let inquiry = Inquiry::decode(&answer("SEAGATE", "XS400LE70084", "B031")).unwrap();
        assert!(inquiry.is_disk && !inquiry.removable && !inquiry.is_sata());
        assert_eq!(inquiry.vendor.as_deref(), Some("SEAGATE"));
        let identity = inquiry.identity();
        assert_eq!(identity.model.as_deref(), Some("XS400LE70084"));
        assert_eq!(identity.firmware.as_deref(), Some("B031"));
        assert!(Inquiry::decode(&answer("ATA", "INTEL SSDSC2KB48", "0132")).unwrap().is_sata());
    }

    #[test]
    fn what_is_not_a_present_disk_is_recognised() {
        let mut enclosure = answer("LSI", "SAS3x40", "0601");
        enclosure[0] = 0x0D;
        assert!(!Inquiry::decode(&enclosure).unwrap().is_disk);
        let mut nobody = answer("", "", "");
        nobody[0] = 0x7F;
        assert!(!Inquiry::decode(&nobody).unwrap().is_disk);
        let mut stick = answer("SanDisk", "Ultra", "1.00");
        stick[1] = 0x80;
        assert!(Inquiry::decode(&stick).unwrap().removable);
    }

    #[test]
    fn nonsense_is_refused() {
        insta::assert_snapshot!(Inquiry::decode(&[0; 5]).unwrap_err().0, @"5 bytes; expected 36");
        insta::assert_snapshot!(Inquiry::decode(&[0xFF; 36]).unwrap_err().0, @"its response data format is 15; expected 2");
    }

    #[test]
    fn pages_of_vital_product_data() {
        assert_eq!(serial_number(b"\0\x80\0\x08  S4Y0NA").as_deref(), Some("S4Y0NA"));
        assert_eq!(serial_number(b"\0\x80\0\xFFS4Y0NA").as_deref(), Some("S4Y0NA"));
        assert_eq!(serial_number(b"\0\x83\0\x08  S4Y0NA"), None);
        assert_eq!(serial_number(b"\0\x80"), None);
        assert_eq!(rotation(&[0, 0xB1, 0, 0x3C, 0, 1]), Some(Rotation::SolidState));
        assert_eq!(rotation(&[0, 0xB1, 0, 0x3C, 0x1C, 0x20]), Some(Rotation::Rpm(7200)));
        assert_eq!(rotation(&[0, 0xB1, 0, 0x3C, 0, 0]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(answer in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = (Inquiry::decode(&answer).map(Inquiry::identity), serial_number(&answer), rotation(&answer));
        }
    }
}
