//! The start time of a run, as documents write it.
//!
//! A run on a model takes no real time, and some tools do not report when they measured. The
//! documents of both contain the Unix epoch; only this module knows what that means.

use jiff::Timestamp;

/// Parses a document's start time; `None` if it is unknown.
///
/// ```
/// use measurement::started_at;
///
/// assert_eq!(started_at::read("1970-01-01T00:00:00Z"), None);
/// let began = started_at::read("2026-11-20T19:30:00Z");
/// assert_eq!(started_at::write(began), "2026-11-20T19:30:00Z");
/// ```
pub fn read(text: &str) -> Option<Timestamp> {
    text.parse().ok().filter(|&at| at > Timestamp::UNIX_EPOCH)
}

/// The text of a start time, to the second: UTC, RFC 3339.
pub fn write(began: Option<Timestamp>) -> String {
    let began = began.unwrap_or(Timestamp::UNIX_EPOCH);
    Timestamp::from_second(began.as_second()).unwrap_or(began).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_means_unknown() {
        assert_eq!(read(&write(None)), None);
        assert_eq!(read("yesterday"), None);
        assert_eq!(read("1969-12-31T23:59:59Z"), None);
        assert_eq!(read("1970-01-01T00:00:01Z"), Timestamp::from_second(1).ok());
        assert_eq!(write(read("2026-11-20T21:30:00.5+02:00")), "2026-11-20T19:30:00Z");
    }
}
