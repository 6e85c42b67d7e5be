//! Sizes as drives' labels print them.

use std::fmt;
use std::str::FromStr;

use blame::Blame;

/// A size in bytes, written `16TB`, `3.84 TB` or `60GB` in powers of 1000, as on a drive's label,
/// or `56GiB` in powers of 1024.
///
/// ```
/// use ceph::sizing::Capacity;
/// assert_eq!("3.84TB".parse(), Ok(Capacity(3_840_000_000_000)));
/// assert_eq!("1GiB".parse(), Ok(Capacity(1 << 30)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capacity(pub u64);

impl Capacity {
    /// An exabyte, more than any drive has. Totals over OSDs saturate.
    pub const MAX: Capacity = Capacity(1_000_000_000_000_000_000);
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid size `{0}`; expected a number with MB, GB, TB or PB (powers of 1000: 16TB), or with \
     MiB, GiB or TiB (powers of 1024)"
)]
pub struct InvalidCapacity(pub String);

impl InvalidCapacity {
    pub const fn blame(&self) -> Blame {
        Blame::Usage
    }
}

impl FromStr for Capacity {
    type Err = InvalidCapacity;

    fn from_str(text: &str) -> Result<Capacity, InvalidCapacity> {
        let invalid = || InvalidCapacity(text.to_owned());
        let trimmed = text.trim();
        let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(invalid)?;
        let (number, unit) = trimmed.split_at(end);
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let factor = match unit.trim_start().to_ascii_lowercase().as_str() {
            "mb" => 1e6,
            "gb" => 1e9,
            "tb" => 1e12,
            "pb" => 1e15,
            "mib" => f64::from(1 << 20),
            "gib" => f64::from(1 << 30),
            "tib" => 1024.0 * f64::from(1 << 30),
            _ => return Err(invalid()),
        };
        let bytes = (number * factor).round();
        if !(1.0..=Capacity::MAX.0 as f64).contains(&bytes) {
            return Err(invalid());
        }
        Ok(Capacity(bytes as u64))
    }
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&workload::number::capacity(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_powers_of_two() {
        for (text, bytes) in [
            ("16TB", 16_000_000_000_000),
            ("3.84 TB", 3_840_000_000_000),
            ("60gb", 60_000_000_000),
            ("56GiB", 56 << 30),
            (".5TiB", 1 << 39),
        ] {
            assert_eq!(text.parse(), Ok(Capacity(bytes)), "{text}");
        }
    }

    #[test]
    fn refusals() {
        insta::assert_snapshot!("big".parse::<Capacity>().unwrap_err(), @"invalid size `big`; expected a number with MB, GB, TB or PB (powers of 1000: 16TB), or with MiB, GiB or TiB (powers of 1024)");
        for text in ["", "16", "TB", "-1TB", "0TB", "1e3TB", "1.2.3TB", "16 XB", "9999PB", "NaNTB"]
        {
            assert_eq!(text.parse::<Capacity>(), Err(InvalidCapacity(text.to_owned())), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,12}") {
            let _ = text.parse::<Capacity>();
        }
    }
}
