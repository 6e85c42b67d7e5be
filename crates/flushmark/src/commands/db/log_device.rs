//! The counters of the device under a server's log.

use database::Facts;
use drive::{BlockDevice, Counters, DeviceNumber, Place, SystemRoot};
use measurement::DeviceCounts;

use super::here::Here;

/// The drives that count the flushes of the log.
pub struct LogDevice {
    pub place: Place,
    devices: Vec<DeviceNumber>,
}

/// The counters of all of them since they appeared.
pub type Reading = Vec<Counters>;

impl LogDevice {
    /// # Errors
    /// If it is not known, with the reason.
    pub fn of(facts: &Facts) -> Result<LogDevice, String> {
        let directory = Here::of(facts)?.log;
        let place = Place::of(&SystemRoot::default(), &directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        let devices = place.block_device().map(BlockDevice::flush_counting_devices);
        let devices = devices
            .filter(|devices| !devices.is_empty())
            .ok_or_else(|| format!("no device under {} counts its flushes", directory.display()))?;
        Ok(LogDevice { place, devices })
    }

    /// `None` if a device was removed.
    pub fn read(&self) -> Option<Reading> {
        let root = SystemRoot::default();
        self.devices.iter().map(|&device| Counters::read(&root, device).ok()).collect()
    }
}

/// Adds up the work of the devices between two readings.
pub fn between(earlier: &Reading, now: &Reading) -> DeviceCounts {
    let since = now.iter().zip(earlier).map(|(now, earlier)| now.since(earlier));
    since
        .map(|counters| counts(&counters))
        .reduce(sum)
        .unwrap_or_else(|| counts(&Counters::default()))
}

fn counts(counters: &Counters) -> DeviceCounts {
    DeviceCounts {
        reads: counters.reads,
        writes: counters.writes,
        writes_merged: Some(counters.writes_merged),
        bytes_written: counters.written_bytes,
        flushes: counters.flushes,
        flush_ns: counters.flush_ms.map(|ms| ms * 1_000_000),
        medium_bytes_written: None,
    }
}

/// Both together. A count that one of them lacks is unknown.
pub fn sum(one: DeviceCounts, other: DeviceCounts) -> DeviceCounts {
    let plus = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
    DeviceCounts {
        reads: one.reads + other.reads,
        writes: one.writes + other.writes,
        writes_merged: plus(one.writes_merged, other.writes_merged),
        bytes_written: one.bytes_written + other.bytes_written,
        flushes: plus(one.flushes, other.flushes),
        flush_ns: plus(one.flush_ns, other.flush_ns),
        medium_bytes_written: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_added_up() {
        let counters = |flushes, writes| Counters {
            flushes,
            flush_ms: flushes.map(|flushes| 2 * flushes),
            writes,
            ..Counters::default()
        };
        let earlier = vec![counters(Some(10), 100), counters(Some(5), 50)];
        let now = vec![counters(Some(30), 150), counters(Some(6), 50)];
        let seen = between(&earlier, &now);
        assert_eq!((seen.flushes, seen.writes, seen.flush_ns), (Some(21), 50, Some(42_000_000)));
        let uncounted = between(&earlier, &vec![counters(None, 150), counters(Some(6), 50)]);
        assert_eq!(uncounted.flushes, None);
    }
}
