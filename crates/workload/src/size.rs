//! Byte sizes in the notation that users write.

use std::fmt;

/// A number of bytes, written `512`, `4KiB`, `16 MiB` or, like fio, `4k`. All units are powers of
/// 1024, as storage addresses blocks that way.
///
/// ```
/// use workload::ByteSize;
/// assert_eq!("4KiB".parse(), Ok(ByteSize(4096)));
/// assert_eq!("4k".parse(), Ok(ByteSize(4096)));
/// assert_eq!(ByteSize(1 << 20).to_string(), "1 MiB");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

/// The text is not a valid size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid size `{0}`; expected a whole number of bytes, or a number with KiB, MiB, GiB or TiB \
     (4KiB, 16MiB)"
)]
pub struct InvalidSize(pub String);

impl std::str::FromStr for ByteSize {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<ByteSize, InvalidSize> {
        let invalid = || InvalidSize(text.to_owned());
        let trimmed = text.trim();
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = trimmed.split_at(digits);
        let number: u64 = number.parse().map_err(|_| invalid())?;
        let factor: u64 = match unit.trim_start().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" | "kib" => 1 << 10,
            "m" | "mb" | "mib" => 1 << 20,
            "g" | "gb" | "gib" => 1 << 30,
            "t" | "tb" | "tib" => 1 << 40,
            _ => return Err(invalid()),
        };
        number.checked_mul(factor).map(ByteSize).ok_or_else(invalid)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_bytes(self.0))
    }
}

/// The exact size with the largest binary unit that divides it: `512 B`, `4 KiB`, `2300 B`.
///
/// ```
/// assert_eq!(workload::format_bytes(2300), "2300 B");
/// assert_eq!(workload::format_bytes(4 << 20), "4 MiB");
/// ```
pub fn format_bytes(bytes: u64) -> String {
    for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >= 1 << shift && bytes.trailing_zeros() >= shift {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn refuses_what_is_no_size() {
        for text in
            ["", "KiB", "4.5KiB", "-4", "4XiB", "99999999999999999999", "18446744073709551615k"]
        {
            assert_eq!(text.parse::<ByteSize>(), Err(InvalidSize(text.to_owned())), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(bytes: u64) {
            prop_assert_eq!(format_bytes(bytes).parse(), Ok(ByteSize(bytes)));
        }
    }
}
