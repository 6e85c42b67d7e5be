//! Measured numbers as people read them: three significant digits, because that is what histograms
//! keep. [`crate::format_bytes`] is for sizes that a user chose, which are shown exactly.

/// A latency with the unit that fits: `43 ns`, `0.9 µs`, `85 µs`, `1.74 ms`, `2.1 s`.
///
/// ```
/// assert_eq!(workload::number::latency(1742.0), "1.74 ms");
/// assert_eq!(workload::number::latency(0.0432), "43.2 ns");
/// ```
pub fn latency(us: f64) -> String {
    // The limits lie where three digits round up to the next unit: 999.6 µs are 1 ms.
    let (value, unit) = match us {
        us if us < 0.09995 => (us * 1e3, "ns"),
        us if us < 0.9995 => return format!("{} µs", trimmed(&format!("{us:.3}"))),
        us if us < 999.5 => (us, "µs"),
        us if us < 999_500.0 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    format!("{} {unit}", trimmed(&three_digits(value)))
}

/// Operations per second, flushes per commit, or any other count, rate or ratio: `0.25`, `84.3`,
/// `574`, `36,600`. From a thousand on it is whole, with commas.
///
/// ```
/// assert_eq!(workload::number::number(36_600.4), "36,600");
/// ```
pub fn number(value: f64) -> String {
    if value < 999.5 { trimmed(&three_digits(value)).to_owned() } else { grouped(value) }
}

/// Throughput in MiB/s, as [`number`] but with its decimals kept: `2.00`, `12.0`.
pub fn throughput(mib_per_s: f64) -> String {
    if mib_per_s < 999.5 { three_digits(mib_per_s) } else { grouped(mib_per_s) }
}

/// A measured size, to three digits: `93.4 GiB`. For sizes that a user chose,
/// [`crate::format_bytes`] is exact.
///
/// ```
/// assert_eq!(workload::number::about_bytes(100_300_000_000), "93.4 GiB");
/// ```
pub fn about_bytes(bytes: u64) -> String {
    scaled(bytes, 1024.0, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// A drive's capacity as its label says it, in powers of 1000: `960 GB`.
///
/// ```
/// assert_eq!(workload::number::capacity(1_000_204_886_016), "1 TB");
/// ```
pub fn capacity(bytes: u64) -> String {
    scaled(bytes, 1000.0, ["B", "kB", "MB", "GB", "TB", "PB"])
}

/// A span of time to the second: `under 1 s`, `5 s`, `1 min 40 s`, `2 h 5 min`.
///
/// ```
/// use std::time::Duration;
/// assert_eq!(workload::number::span(Duration::from_secs(100)), "1 min 40 s");
/// ```
pub fn span(time: std::time::Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => "under 1 s".to_owned(),
        (0, 0, s) => format!("{s} s"),
        (0, min, 0) => format!("{min} min"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

/// Seconds of a sort or another long piece of work, to a hundredth: `0.62 s`, `12.34 s`.
pub fn seconds(s: f64) -> String {
    format!("{s:.2} s")
}

fn scaled(bytes: u64, step: f64, units: [&str; 6]) -> String {
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let digits = if value >= 99.95 { format!("{value:.0}") } else { three_digits(value) };
    format!("{} {}", trimmed(&digits), units[unit])
}

fn three_digits(value: f64) -> String {
    let decimals = match value {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn latencies_change_their_unit_where_three_digits_do() {
        let shown = [
            0.0, 0.0432, 0.09994, 0.1, 0.9, 0.9996, 1.234, 9.999, 85.0, 999.4, 999.6, 1742.0,
            2.1e6, 3.6e9,
        ];
        insta::assert_snapshot!(shown.map(latency).join(" | "), @"0 ns | 43.2 ns | 99.9 ns | 0.1 µs | 0.9 µs | 1 µs | 1.23 µs | 10 µs | 85 µs | 999 µs | 1 ms | 1.74 ms | 2.1 s | 3600 s");
    }

    #[test]
    fn counts_rates_and_ratios() {
        insta::assert_snapshot!([0.0, 0.25, 84.3, 574.2, 999.6, 36_600.4, 4.6e6].map(number).join(" | "), @"0 | 0.25 | 84.3 | 574 | 1,000 | 36,600 | 4,600,000");
        insta::assert_snapshot!([0.0, 2.24, 12.8, 469.3, 2850.0].map(throughput).join(" | "), @"0.00 | 2.24 | 12.8 | 469 | 2,850");
        insta::assert_snapshot!([0.5, 1.0, 2.034, 9.99, 12.34, 99.9, 100.0].map(number).join(" | "), @"0.5 | 1 | 2.03 | 9.99 | 12.3 | 99.9 | 100");
    }

    #[test]
    fn sizes_in_both_systems() {
        let sizes = [0, 512, 1023, 1024, 100_300_000_000, 1_000_204_886_016, u64::MAX];
        insta::assert_snapshot!(sizes.map(about_bytes).join(" | "), @"0 B | 512 B | 1023 B | 1 KiB | 93.4 GiB | 932 GiB | 16384 PiB");
        insta::assert_snapshot!(sizes.map(capacity).join(" | "), @"0 B | 512 B | 1.02 kB | 1.02 kB | 100 GB | 1 TB | 18447 PB");
    }

    #[test]
    fn spans_need_no_arithmetic() {
        let shown =
            [0.2, 1.0, 59.6, 100.0, 3600.0, 7500.0].map(|s| span(Duration::from_secs_f64(s)));
        insta::assert_snapshot!(shown.join(" | "), @"under 1 s | 1 s | 1 min | 1 min 40 s | 1 h | 2 h 5 min");
    }
}
