//! Measures all contestants in turn on one data set.

use std::time::{Duration, Instant};

use prefixsort::SortedIter;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::contestants::{Contestant, Input};
use crate::data::{DataSet, Keys, Random};

/// The times of a contestant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub name: String,
    pub input: Input,
    /// Nanoseconds per key of each repetition; only one if the contestant is far slower than the
    /// first.
    pub ns_per_key: Vec<f64>,
}

/// Why a measurement failed.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// Times of a sort that does not sort are worthless.
    #[error(
        "{contestant} returned {data} unsorted or with different keys, so its times are invalid; \
         run its tests to find out why"
    )]
    NotSorted {
        contestant: &'static str,
        /// Name of the data set.
        data: &'static str,
    },
    /// Swapping would be measured instead.
    #[error(
        "{count} keys of {data} need about {} MiB with all copies, but only {} MiB of memory are \
         free; use fewer (--keys)",
        .needed >> 20, .free >> 20
    )]
    TooLarge {
        /// Number of keys.
        count: usize,
        /// Name of the data set.
        data: &'static str,
        /// Bytes that the most demanding contestant needs.
        needed: u64,
        /// Bytes that the kernel reports as available.
        free: u64,
    },
}

/// A contestant that takes this many times as long as the first one is not repeated: one figure
/// suffices, and some need minutes where others need a second.
const HOPELESS: f64 = 10.0;

/// Sorts the same keys with every contestant, `repeat` times in varying order, because what one
/// leaves in the cache helps the next.
///
/// If memory does not suffice, or a result is not the sorted input.
pub fn compare(
    set: &'static DataSet,
    count: usize,
    seed: u64,
    repetitions: usize,
    contestants: &[&'static Contestant],
) -> Result<Vec<Measured>, MeasureError> {
    let keys = made(set, count, seed)?;
    let slices = keys.slices();
    let mut expected = slices.clone();
    expected.sort_unstable();
    let named = |contestant: &&Contestant| Measured {
        name: contestant.name.to_owned(),
        input: contestant.input,
        ns_per_key: Vec::new(),
    };
    let mut measured: Vec<Measured> = contestants.iter().map(named).collect();
    let (mut order, mut random) =
        ((0..contestants.len()).collect::<Vec<_>>(), Random::new(seed, "turns"));
    for repetition in 0..repetitions {
        random.shuffle(&mut order);
        for &who in &order {
            if repetition > 0 && measured[who].ns_per_key[0] > HOPELESS * measured[0].ns_per_key[0]
            {
                continue;
            }
            let (sorted, elapsed) = contestants[who].sort(&slices);
            if sorted != expected {
                return Err(MeasureError::NotSorted {
                    contestant: contestants[who].name,
                    data: set.name,
                });
            }
            measured[who].ns_per_key.push(per_key(elapsed, count));
        }
    }
    Ok(measured)
}

/// Cost of the first rows, compared with all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FirstRows {
    /// Nanoseconds per key of the whole input for sorting at once.
    pub whole: Vec<f64>,
    /// The same, until the iterator has returned the requested rows.
    pub first: Vec<f64>,
    /// The same, until it has returned all rows.
    pub drained: Vec<f64>,
}

/// Measures `SortedIter` for one row in a hundred, and the whole sort.
///
/// Those of [`compare`].
pub fn first_rows(
    set: &'static DataSet,
    count: usize,
    seed: u64,
    repetitions: usize,
) -> Result<FirstRows, MeasureError> {
    let keys = made(set, count, seed)?;
    let slices = keys.slices();
    let mut measured = FirstRows { whole: Vec::new(), first: Vec::new(), drained: Vec::new() };
    for _ in 0..repetitions {
        let mut sorted = slices.clone();
        let begun = Instant::now();
        prefixsort::sort(&mut sorted);
        measured.whole.push(per_key(begun.elapsed(), count));
        let mut rows = Vec::with_capacity(count);
        let begun = Instant::now();
        let mut iter = SortedIter::new(&slices);
        rows.extend(iter.by_ref().take(count / 100).copied());
        measured.first.push(per_key(begun.elapsed(), count));
        rows.extend(iter.copied());
        measured.drained.push(per_key(begun.elapsed(), count));
        if rows != sorted || !sorted.is_sorted() {
            return Err(MeasureError::NotSorted { contestant: "SortedIter", data: set.name });
        }
    }
    Ok(measured)
}

fn made(set: &'static DataSet, count: usize, seed: u64) -> Result<Keys, MeasureError> {
    // Without a figure from the kernel, nothing is refused.
    let free = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    check(set, count, free.unwrap_or(u64::MAX))?;
    Ok(set.keys(count, seed))
}

/// Refuses inputs that do not fit. Arrow's rows take the most: the arena, its copy as a column, its
/// copy as rows with a control byte for each 32 and padding, and for each key three references of
/// 16 bytes, three offsets of 8 and a row of 32.
fn check(set: &'static DataSet, count: usize, free: u64) -> Result<(), MeasureError> {
    let needed = count as u64 * (3 * set.key_bytes as u64 + 32 + 3 * 16 + 3 * 8 + 32);
    if needed > free {
        return Err(MeasureError::TooLarge { count, data: set.name, needed, free });
    }
    Ok(())
}

/// Bytes available without swapping, as the kernel estimates them.
fn available(meminfo: &str) -> Option<u64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

fn per_key(elapsed: Duration, count: usize) -> f64 {
    elapsed.as_secs_f64() * 1e9 / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::contestants::{IDLE, OURS, PEERS};
    use crate::data::{DATA_SETS, SEED};

    #[test]
    fn every_contestant_is_measured_as_often_as_asked() {
        let measured =
            compare(&DATA_SETS[3], 2000, SEED, 3, &[&OURS, &PEERS[0], &PEERS[8]]).unwrap();
        let names: Vec<_> = measured.iter().map(|measured| measured.name.as_str()).collect();
        assert_eq!(names, ["prefixsort", "std-unstable", "sketch"]);
        for Measured { name, ns_per_key, .. } in measured {
            assert_eq!(ns_per_key.len(), 3, "{name}");
            assert!(ns_per_key.iter().all(|&ns| ns > 0.0), "{name}: {ns_per_key:?}");
        }
    }

    #[test]
    fn who_is_hopeless_is_asked_once() {
        static SLOW: Contestant = Contestant {
            run: |keys, watch| {
                watch.time(|| std::thread::sleep(Duration::from_millis(200)));
                (OURS.run)(keys, watch)
            },
            ..OURS
        };
        let measured = compare(&DATA_SETS[3], 100, SEED, 3, &[&OURS, &SLOW, &PEERS[0]]).unwrap();
        let asked: Vec<_> = measured.iter().map(|measured| measured.ns_per_key.len()).collect();
        assert_eq!(asked, [3, 1, 3]);
    }

    #[test]
    fn who_does_not_sort_is_refused() {
        let error = compare(&DATA_SETS[0], 100, SEED, 1, &[&IDLE]).unwrap_err().to_string();
        assert!(
            error.starts_with("none returned uniform-8 unsorted or with different keys"),
            "{error}"
        );
    }

    #[test]
    fn the_first_rows_come_before_all_of_them() {
        let measured = first_rows(&DATA_SETS[3], 20_000, SEED, 2).unwrap();
        assert_eq!((measured.whole.len(), measured.first.len()), (2, 2));
        assert!(
            measured.first.iter().zip(&measured.drained).all(|(first, drained)| first < drained)
        );
    }

    #[test]
    fn what_does_not_fit_into_memory_is_refused() {
        let urls = DataSet::named("urls").unwrap();
        assert_eq!(
            check(urls, 10_000_000, 1 << 30).unwrap_err().to_string(),
            "10000000 keys of urls need about 3585 MiB with all copies, but only 1024 MiB of \
             memory are free; use fewer (--keys)"
        );
        assert!(check(urls, 10_000_000, 16 << 30).is_ok());
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
    }
}
