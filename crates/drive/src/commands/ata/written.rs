//! Attributes in which vendors count what a drive has written.
//!
//! The numbers are reused with other meanings and units from vendor to vendor, so they are read
//! only for models whose vendor documents them, as collected in smartmontools' drivedb.h:
//!
//! | models | attributes | source |
//! | --- | --- | --- |
//! | Intel, Solidigm | 241 and 225 host writes, 243 NAND writes: 32 MiB; 249 NAND writes: 1 GiB | product specifications of the series (drivedb "Intel 520" to "Intel/Solidigm S46x0/S45x0") |
//! | Micron, Crucial | 246 host sectors, 247 pages programmed for the host, 248 pages programmed by the drive itself | Micron, technical note TN-FD-22 |
//! | Kingston DC450R, DC500, DC600M | 241 host writes, 233 flash writes: 1 GiB | Kingston, "SMART Attribute Details" MKP 521 |
//!
//! Left out because the unit or the meaning is not certain: Samsung (251), SanDisk and Western
//! Digital (233 and 234 count two kinds of flash), and the same drives under the names of Dell, HPE
//! and Lenovo, whose firmware counts in other attributes.

use crate::wear::{MediumWrites, Wear, WrittenBytes};

const SECTOR: u64 = 512;
const MIB_32: u64 = 32 << 20;
const GIB: u64 = 1 << 30;

/// The vendors whose attributes are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vendor {
    Intel,
    Micron,
    Kingston,
}

/// The vendor of a model with counters of what it has written, if it is known.
fn vendor(model: &str) -> Option<Vendor> {
    const KINGSTON: [&str; 3] = ["KINGSTON SEDC450R", "KINGSTON SEDC500", "KINGSTON SEDC600M"];
    // BX100 and BX200 have other controllers and attributes.
    const CRUCIAL: [&str; 5] = ["MX", "BX300", "BX500", "M500", "M550"];

    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| model.starts_with(prefix));
    if starts(&["INTEL SSD", "SOLIDIGM SSD"]) {
        return Some(Vendor::Intel);
    }
    if starts(&["Micron", "MICRON", "MTFDDA", "EEFDDA"]) {
        return Some(Vendor::Micron);
    }
    if starts(&KINGSTON) {
        return Some(Vendor::Kingston);
    }
    // The capacity stands between the prefix and the series: CT500MX500SSD1.
    let crucial = model.strip_prefix("Crucial_CT").or_else(|| model.strip_prefix("CT"))?;
    let series = crucial.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_known =
        series.len() < crucial.len() && CRUCIAL.iter().any(|prefix| series.starts_with(prefix));
    is_known.then_some(Vendor::Micron)
}

/// Returns whether the attributes of this model are known.
pub fn are_known(model: &str) -> bool {
    vendor(model).is_some()
}

/// The counters of a model, from the raw values of its attributes.
pub fn wear(model: &str, raw: impl Fn(u8) -> Option<u64>) -> Option<Wear> {
    let counted = |number, granule| WrittenBytes::counted(raw(number)?, granule);
    let (host, medium) = match vendor(model)? {
        Vendor::Intel => (
            counted(241, MIB_32).or_else(|| counted(225, MIB_32)),
            MediumWrites::Bytes(counted(243, MIB_32).or_else(|| counted(249, GIB))?),
        ),
        Vendor::Micron => {
            (counted(246, SECTOR), MediumWrites::Pages { host: raw(247)?, moved: raw(248)? })
        }
        Vendor::Kingston => (counted(241, GIB), MediumWrites::Bytes(counted(233, GIB)?)),
    };
    Some(Wear { host, medium })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(model: &str, attributes: &[(u8, u64)]) -> Option<Wear> {
        wear(model, |number| {
            attributes.iter().find(|(one, _)| *one == number).map(|(_, value)| *value)
        })
    }

    #[test]
    fn models_by_vendor() {
        for (model, expected) in [
            ("INTEL SSDSC2KB480G8", Some(Vendor::Intel)),
            ("SOLIDIGM SSDSC2KB960GZ", Some(Vendor::Intel)),
            ("Micron_5100_MTFDDAK960TCB", Some(Vendor::Micron)),
            ("MICRON_M510DC_MTFDDAK240MBP", Some(Vendor::Micron)),
            ("MTFDDAK960TDT-1AW1ZA", Some(Vendor::Micron)),
            ("Crucial_CT275MX300SSD1", Some(Vendor::Micron)),
            ("CT500MX500SSD1", Some(Vendor::Micron)),
            ("CT250BX100SSD1", None),
            ("CT480BX200SSD1", None),
            ("CTMX500", None),
            ("KINGSTON SEDC500M1920G", Some(Vendor::Kingston)),
            ("KINGSTON SA400S37240G", None),
            ("SAMSUNG MZ7L3480HBLT-00A07", None),
            // Dell's firmware of an Intel drive counts in other attributes.
            ("SSDSC2KB480G7R", None),
            ("", None),
        ] {
            assert_eq!(vendor(model), expected, "{model}");
        }
    }

    /// Values of an S4510 in service.
    #[test]
    fn intel_counts_in_steps_of_32_mib() {
        let attributes = [(225, 44_554), (241, 44_554), (243, 90_287)];
        let wear = of("INTEL SSDSC2KB480G8", &attributes).unwrap();
        let counted = |count| WrittenBytes::counted(count, 32 << 20).unwrap();
        assert_eq!(wear.host, Some(counted(44_554)));
        assert_eq!(wear.medium, MediumWrites::Bytes(counted(90_287)));
        // A DC S3500 counts only the host's writes.
        assert_eq!(of("INTEL SSDSC2BB480G4", &attributes[..2]), None);
        let client = of("INTEL SSDSC2KW512G8", &[(225, 100), (249, 7)]).unwrap();
        assert_eq!(client.medium, MediumWrites::Bytes(WrittenBytes::counted(7, 1 << 30).unwrap()));
    }

    #[test]
    fn micron_counts_pages() {
        let attributes = [(246, 1_000_000), (247, 40_000), (248, 20_000)];
        let wear = of("CT500MX500SSD1", &attributes).unwrap();
        assert_eq!(wear.host.map(|host| host.bytes), Some(512_000_000));
        assert_eq!(wear.medium, MediumWrites::Pages { host: 40_000, moved: 20_000 });
        assert_eq!(wear.medium_bytes(512_000_000), Some(768_000_000));
        // An M500DC does not count the host's sectors.
        assert_eq!(of("Micron_M500DC_MTFDDAK800MBB", &attributes[1..]).unwrap().host, None);
    }

    #[test]
    fn kingston_counts_in_steps_of_a_gib() {
        let wear = of("KINGSTON SEDC600M7680G", &[(241, 20), (233, 31)]).unwrap();
        assert_eq!(wear.medium_bytes(20 << 30), Some(31 << 30));
    }

    proptest! {
        #[test]
        fn no_model_and_no_values_make_it_stumble(
            model in "\\PC{0,40}",
            known in 0..4_usize,
            value: u64,
        ) {
            let models = [&*model, "INTEL SSDSC2", "CT1MX", "KINGSTON SEDC500"];
            let wear = wear(models[known], |_| Some(value));
            prop_assert!(wear.is_none() || are_known(models[known]));
        }
    }
}
