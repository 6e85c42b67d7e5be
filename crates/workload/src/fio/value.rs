//! Numbers and durations in fio's notation.

use std::time::Duration;

/// The longest accepted duration. Anything above is a typing error.
const TIME_MAX: Duration = Duration::from_hours(24 * 366);

/// Parses a number with fio's suffix, in either case: `4096`, `4k`, `1g`, `0x1000`. A `b` may
/// follow.
///
/// fio's units are the reverse of the standard's unless `kb_base=1000` is set: `k` and `kb` are
/// 1024, `ki` and `kib` are 1000 (fio(1), "Parameter types"; fio 3.33 moves 1 000 000 bytes for
/// `size=1MiB`).
pub fn number(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    if let Some(hexadecimal) = text.strip_prefix("0x") {
        return u64::from_str_radix(hexadecimal, 16).ok();
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let prefix = unit.strip_suffix('b').unwrap_or(unit);
    let (prefix, base) = match prefix.strip_suffix('i') {
        Some(prefix) if !prefix.is_empty() => (prefix, 1000_u64),
        _ => (prefix, 1024),
    };
    let power = ["", "k", "m", "g", "t", "p"].into_iter().position(|known| known == prefix)?;
    number.checked_mul(base.pow(power as u32))
}

/// Parses a duration: a number of seconds, or a number with a unit.
pub fn time(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let seconds = |each: u64| number.checked_mul(each).map(Duration::from_secs);
    let time = match unit.to_ascii_lowercase().as_str() {
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "" | "s" => seconds(1),
        "m" => seconds(60),
        "h" => seconds(3600),
        "d" => seconds(86_400),
        _ => None,
    };
    time.filter(|time| *time <= TIME_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_fio_s() {
        let read = [
            ("4096", 4096),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("512b", 512),
            ("1kib", 1000),
            ("1MiB", 1_000_000),
            ("2g", 2 << 30),
            ("1t", 1 << 40),
            ("1p", 1 << 50),
            ("0x1000", 4096),
        ];
        for (text, value) in read {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in [
            "", "k", "4x", "4 k", "-1", "1.5m", "4k,8k", "4ib", "50%", "99999999999999999999",
            "99999999p", "0x",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_seconds_unless_they_say_otherwise() {
        for (text, ms) in [
            ("15", 15_000),
            ("15s", 15_000),
            ("250ms", 250),
            ("2M", 120_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
            ("366d", 31_622_400_000),
        ] {
            assert_eq!(time(text), Some(Duration::from_millis(ms)), "{text}");
        }
        assert_eq!(time("7us"), Some(Duration::from_micros(7)));
        for text in ["", "s", "1.5", "1m30s", "-1", "367d", "99999999999999999999"] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
