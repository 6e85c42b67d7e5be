//! Numbers in fio's normal text output.

/// `NAME=VALUE` pairs separated by commas, with any spaces that fio adds for alignment.
pub fn fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split([',', ';']).filter_map(|field| {
        let (name, value) = field.split_once('=')?;
        Some((name.rsplit([' ', '(']).next().unwrap_or(name).trim(), value.trim()))
    })
}

/// A number with an optional suffix: `1772.2k`, `36.6k`, `1.2M`.
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, factor) = match text.chars().last()? {
        'k' | 'K' => (&text[..text.len() - 1], 1e3),
        'm' | 'M' => (&text[..text.len() - 1], 1e6),
        'g' | 'G' => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    plain(digits).map(|value| value * factor)
}

/// Digits and a point; fio does not print the other forms that Rust parses (`inf`, `1e5`, `-0`).
fn plain(text: &str) -> Option<f64> {
    let is_plain =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_plain.then(|| text.parse().ok()).flatten()
}

/// Nanoseconds per time unit.
pub fn unit_ns(unit: &str) -> Option<f64> {
    match unit {
        "nsec" => Some(1.0),
        "usec" => Some(1e3),
        "msec" => Some(1e6),
        "sec" => Some(1e9),
        _ => None,
    }
}

/// `15001msec`, or seconds.
pub fn milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let factor = unit_ns(text[digits..].trim())? / 1e6;
    Some((plain(&text[..digits])? * factor).round() as u64)
}

/// `2144MiB`, `4096B`, `33.7MiB`, `4K`. fio 2 writes `KB` for what fio 3 writes `KiB` for, and fio
/// 3 writes `kB` for a thousand bytes.
pub fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let factor: f64 = match &text[digits..] {
        "" | "B" => 1.0,
        "kB" => 1e3,
        unit => {
            let power =
                ["K", "M", "G", "T", "P"].iter().position(|prefix| unit.starts_with(prefix))? + 1;
            match &unit[1..] {
                "" | "iB" | "B" => 1024_f64.powi(power as i32),
                _ => return None,
            }
        }
    };
    Some((plain(&text[..digits])? * factor).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_units() {
        assert_eq!(number("1772.2k"), Some(1_772_200.0));
        assert_eq!(number(" 5.84"), Some(5.84));
        assert_eq!(number("1.2M"), Some(1_200_000.0));
        for none in ["", "k", "inf", "nan", "-1", "1e5", "0x10", "é"] {
            assert_eq!(number(none), None, "{none}");
        }
        assert_eq!(milliseconds("15001msec"), Some(15_001));
        assert_eq!(milliseconds("2sec"), Some(2000));
        assert_eq!(bytes("4096B"), Some(4096));
        assert_eq!(bytes("16.0KiB"), Some(16_384));
        assert_eq!(bytes("4K"), Some(4096));
        assert_eq!(bytes("2144.2MB"), Some(2_248_356_659));
        assert_eq!(bytes("4x"), None);
    }

    #[test]
    fn fields_are_found_with_any_spaces() {
        let read: Vec<_> = fields(" min=3, max=1828, avg= 5.84, stdev= 3.94").collect();
        assert_eq!(read, [("min", "3"), ("max", "1828"), ("avg", "5.84"), ("stdev", "3.94")]);
        assert_eq!(fields("0, jobs=1): err= 0: pid=5").next(), Some(("jobs", "1): err= 0: pid=5")));
    }
}
