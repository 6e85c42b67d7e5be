//! Fields of answers, which may be too short.

use super::InvalidAnswer;

/// A big-endian number of `bytes` bytes (at most eight) at `at`.
pub fn big_endian(data: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let field = data.get(at..at.checked_add(bytes)?)?;
    Some(field.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// A little-endian number of `bytes` bytes at `at`. Values beyond 64 bits saturate; no counter of a
/// drive gets there.
pub fn little_endian(data: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let field = data.get(at..at.checked_add(bytes)?)?;
    let (low, high) = field.split_at(bytes.min(8));
    if high.iter().any(|byte| *byte != 0) {
        return Some(u64::MAX);
    }
    Some(low.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// A drive's name or number: ASCII, padded with spaces (by some drives with zeros). `None` when
/// blank.
pub fn padded_text(field: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(field);
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

pub fn at_least(data: &[u8], bytes: usize) -> Result<(), InvalidAnswer> {
    if data.len() >= bytes {
        return Ok(());
    }
    Err(InvalidAnswer(format!("{} bytes; expected {bytes}", data.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width() {
        assert_eq!(big_endian(&[1, 2, 3], 1, 2), Some(0x0203));
        assert_eq!(big_endian(&[1, 2, 3], 2, 2), None);
        assert_eq!(little_endian(&[1, 2, 3], 1, 2), Some(0x0302));
        assert_eq!(little_endian(&[7; 3], usize::MAX, 2), None);
        let mut wide = [0; 16];
        wide[7] = 0x80;
        assert_eq!(little_endian(&wide, 0, 16), Some(1 << 63));
        wide[8] = 1;
        assert_eq!(little_endian(&wide, 0, 16), Some(u64::MAX));
    }

    #[test]
    fn names_lose_their_padding() {
        assert_eq!(padded_text(b"  QEMU HARDDISK \0\0").as_deref(), Some("QEMU HARDDISK"));
        assert_eq!(padded_text(b"one\x1b[31mtwo").as_deref(), Some("one [31mtwo"));
        assert_eq!(padded_text(b"   \0"), None);
        assert_eq!(padded_text(&[]), None);
    }
}
