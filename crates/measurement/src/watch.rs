//! A machine that is watched: readings of the kernel's counters, and the rates between two of them.

use std::collections::BTreeMap;

use drive::Counters;
use serde::Serialize;

use crate::anatomy::{Layer, Stage};
use crate::histogram::Histogram;

/// The kernel's counters at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    pub devices: Vec<DeviceReading>,
    /// `None` where the processes that commit are not known.
    pub processes: Option<Vec<ProcessReading>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DeviceReading {
    /// The kernel's name.
    pub device: String,
    /// The counters since the device appeared.
    pub counters: Counters,
    /// `None` where commits are not traced.
    pub commits: Option<CommitsReading>,
}

/// The commits of a device that were traced, a sample of all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommitsReading {
    /// Since the watch began.
    pub all: SampledCommits,
    /// Since the reading before.
    pub last: SampledCommits,
}

/// Latencies of traced commits, layer by layer, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SampledCommits {
    pub commits: Histogram,
    /// Each layer with one value for each commit; those of a commit add up to its time.
    pub layers: BTreeMap<Layer, Histogram>,
}

impl SampledCommits {
    /// Adds a commit that was this long in each stage.
    pub fn add(&mut self, stages_ns: &BTreeMap<Stage, u64>) {
        for layer in Layer::ALL {
            let stages = stages_ns.iter().filter(|(stage, _)| stage.layer() == layer);
            self.layers.entry(layer).or_default().record(stages.map(|(_, ns)| ns).sum());
        }
        self.commits.record(stages_ns.values().sum());
    }

    /// `None` without commits.
    pub fn latencies(&self) -> Option<CommitLatencies> {
        let of = |times: &Histogram| LayerLatency {
            mean_us: times.mean_ns() / 1e3,
            p50_us: times.quantile_ns(0.5) as f64 / 1e3,
            p99_us: times.quantile_ns(0.99) as f64 / 1e3,
        };
        (!self.commits.is_empty()).then(|| CommitLatencies {
            sampled: self.commits.count(),
            whole: of(&self.commits),
            layers: self.layers.iter().map(|(&layer, times)| (layer, of(times))).collect(),
        })
    }
}

/// The syncs of a process since the watch began.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessReading {
    pub command: String,
    pub pid: u32,
    pub syncs: u64,
}

/// The activity between two readings. One line of `flushmark watch --format json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interval {
    /// When it ended: UTC, RFC 3339.
    pub time: String,
    /// Its length.
    pub seconds: f64,
    pub devices: Vec<DeviceRates>,
    /// The processes that synced, most syncs first; `None` where they are not known.
    pub processes: Option<Vec<ProcessRate>>,
    /// True if there were more syncs, of which the kernel kept no count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub syncs_incomplete: bool,
}

/// The rates of a device. All are `None` if its counters began again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceRates {
    pub device: String,
    pub writes_per_s: Option<f64>,
    /// `None` also where the device does not count its flushes.
    pub flushes_per_s: Option<f64>,
    /// Mean time of a write; `None` if there was none. The kernel adds the times up in whole
    /// milliseconds, so 0 is a sum below 1 ms.
    pub write_ms: Option<f64>,
    /// Mean time of a flush, likewise.
    pub flush_ms: Option<f64>,
    /// The commits that were traced in this interval; `None` if there were none.
    pub commits: Option<CommitLatencies>,
}

/// Latencies of a sample of commits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommitLatencies {
    /// The number of commits that were traced.
    pub sampled: u64,
    #[serde(flatten)]
    pub whole: LayerLatency,
    pub layers: BTreeMap<Layer, LayerLatency>,
}

impl CommitLatencies {
    /// The layer that takes the largest part of the mean commit, and its share.
    pub fn longest_layer(&self) -> Option<(Layer, f64)> {
        let longest =
            self.layers.iter().max_by(|one, other| one.1.mean_us.total_cmp(&other.1.mean_us))?;
        let share = longest.1.mean_us / self.whole.mean_us;
        share.is_finite().then_some((*longest.0, share))
    }
}

/// The time of commits in a layer, or in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LayerLatency {
    pub mean_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProcessRate {
    pub command: String,
    pub pid: u32,
    pub syncs_per_s: f64,
}

impl Reading {
    /// The rates since an earlier reading, this many seconds before.
    pub fn since(&self, earlier: &Reading, seconds: f64, time: String) -> Interval {
        let devices = self.devices.iter().filter_map(|now| {
            let before = earlier.devices.iter().find(|before| before.device == now.device)?;
            let rates = DeviceRates::between(&before.counters, &now.counters, seconds);
            let commits = now.commits.as_ref().and_then(|commits| commits.last.latencies());
            Some(DeviceRates { device: now.device.clone(), commits, ..rates })
        });
        Interval {
            time,
            seconds,
            devices: devices.collect(),
            processes: self.processes.as_ref().map(|processes| {
                let before = earlier.processes.as_deref().unwrap_or_default();
                rates(before, processes, seconds)
            }),
            syncs_incomplete: false,
        }
    }
}

fn rates(before: &[ProcessReading], now: &[ProcessReading], seconds: f64) -> Vec<ProcessRate> {
    let mut rates: Vec<ProcessRate> = now
        .iter()
        .filter_map(|process| {
            let earlier = before.iter().find(|one| one.pid == process.pid);
            let earlier = earlier.map_or(0, |earlier| earlier.syncs);
            // The number of a process that ended may be that of another one now.
            let syncs = process.syncs.checked_sub(earlier).unwrap_or(process.syncs);
            (syncs > 0).then(|| ProcessRate {
                command: process.command.clone(),
                pid: process.pid,
                syncs_per_s: syncs as f64 / seconds,
            })
        })
        .collect();
    rates.sort_by(|one, other| {
        other.syncs_per_s.total_cmp(&one.syncs_per_s).then(one.pid.cmp(&other.pid))
    });
    rates
}

impl DeviceRates {
    /// The rates of a device without its name and its commits.
    fn between(before: &Counters, now: &Counters, seconds: f64) -> DeviceRates {
        let none = DeviceRates {
            device: String::new(),
            writes_per_s: None,
            flushes_per_s: None,
            write_ms: None,
            flush_ms: None,
            commits: None,
        };
        let writes = now.writes.checked_sub(before.writes);
        let flushes = match (before.flushes, now.flushes) {
            (Some(before), Some(now)) => now.checked_sub(before).map(Some),
            _ => Some(None),
        };
        // A device that was removed and came back counts from zero.
        let (Some(writes), Some(flushes)) = (writes, flushes) else { return none };
        let flush_ms = now.flush_ms.zip(before.flush_ms);
        DeviceRates {
            writes_per_s: Some(writes as f64 / seconds),
            flushes_per_s: flushes.map(|flushes| flushes as f64 / seconds),
            write_ms: mean(now.write_ms.checked_sub(before.write_ms), writes),
            flush_ms: flushes.and_then(|flushes| {
                mean(flush_ms.and_then(|(now, before)| now.checked_sub(before)), flushes)
            }),
            ..none
        }
    }
}

/// `None` if nothing happened, or if the sum wrapped: older kernels keep it in 32 bits.
fn mean(sum_ms: Option<u64>, count: u64) -> Option<f64> {
    (count > 0).then_some(sum_ms? as f64 / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(writes: u64, write_ms: u64, flushes: u64, flush_ms: u64) -> Counters {
        Counters {
            writes,
            write_ms,
            flushes: Some(flushes),
            flush_ms: Some(flush_ms),
            ..Counters::default()
        }
    }

    fn reading(counters: Counters) -> Reading {
        let device = DeviceReading { device: "sda".to_owned(), counters, commits: None };
        Reading { devices: vec![device], processes: None }
    }

    fn rates(before: Counters, now: Counters) -> DeviceRates {
        let mut interval = reading(now).since(&reading(before), 2.0, String::new());
        interval.devices.remove(0)
    }

    #[test]
    fn rates_and_mean_times() {
        let rates = rates(counters(100, 50, 10, 80), counters(300, 90, 20, 160));
        assert_eq!((rates.writes_per_s, rates.flushes_per_s), (Some(100.0), Some(5.0)));
        assert_eq!(rates.write_ms, Some(0.2));
        assert_eq!(rates.flush_ms, Some(8.0));
    }

    #[test]
    fn nothing_has_no_mean_time_and_less_than_a_millisecond_is_zero() {
        let idle = rates(counters(100, 50, 10, 80), counters(100, 50, 10, 80));
        assert_eq!((idle.writes_per_s, idle.write_ms, idle.flush_ms), (Some(0.0), None, None));
        let fast = rates(counters(100, 50, 10, 80), counters(150, 50, 10, 80));
        assert_eq!(fast.write_ms, Some(0.0));
    }

    #[test]
    fn counters_that_began_again_have_no_rates() {
        for now in [counters(3, 60, 11, 90), counters(300, 60, 1, 90)] {
            let rates = rates(counters(100, 50, 10, 80), now);
            assert_eq!((rates.writes_per_s, rates.flushes_per_s), (None, None));
            assert_eq!((rates.write_ms, rates.flush_ms), (None, None));
        }
    }

    #[test]
    fn a_sum_that_wrapped_has_no_mean() {
        let rates = rates(counters(100, u64::from(u32::MAX), 10, 80), counters(200, 5, 20, 160));
        assert_eq!((rates.writes_per_s, rates.write_ms), (Some(50.0), None));
        assert_eq!(rates.flush_ms, Some(8.0));
    }

    #[test]
    fn flushes_that_are_not_counted() {
        let uncounted =
            |writes| Counters { flushes: None, flush_ms: None, ..counters(writes, 0, 0, 0) };
        let rates = rates(uncounted(0), uncounted(10));
        assert_eq!(
            (rates.writes_per_s, rates.flushes_per_s, rates.flush_ms),
            (Some(5.0), None, None)
        );
    }

    #[test]
    fn the_layers_of_sampled_commits_add_up() {
        let mut sampled = SampledCommits::default();
        assert_eq!(sampled.latencies(), None);
        let flush = [(Stage::Thread, 10_000), (Stage::Flush, 85_000), (Stage::WakeUp, 5_000)];
        sampled.add(&flush.into());
        sampled.add(&[(Stage::Thread, 20_000), (Stage::DataQueue, 1_000)].into());
        let latencies = sampled.latencies().unwrap();
        assert_eq!(latencies.sampled, 2);
        let sum: f64 = latencies.layers.values().map(|layer| layer.mean_us).sum();
        assert!((sum - latencies.whole.mean_us).abs() < 0.2, "{latencies:?}");
        assert!((latencies.whole.mean_us - 60.5).abs() < 0.2, "{latencies:?}");
        let (layer, share) = latencies.longest_layer().unwrap();
        assert_eq!(layer, Layer::Drive);
        assert!((share - 42.5 / 60.5).abs() < 0.01, "{share}");
        assert!(latencies.layers[&Layer::Journal].p99_us < 0.01);
    }

    #[test]
    fn a_device_or_process_that_is_new_or_gone() {
        let process = |pid, syncs| ProcessReading { command: "db".to_owned(), pid, syncs };
        let earlier = Reading {
            devices: Vec::new(),
            processes: Some(vec![process(1, 10), process(2, 5), process(3, 7)]),
        };
        let now = Reading {
            processes: Some(vec![process(1, 30), process(2, 5), process(3, 2), process(4, 40)]),
            ..reading(counters(1, 1, 1, 1))
        };
        let interval = now.since(&earlier, 2.0, String::new());
        assert_eq!(interval.devices, []);
        let processes = interval.processes.unwrap();
        let processes: Vec<_> =
            processes.into_iter().map(|one| (one.pid, one.syncs_per_s)).collect();
        assert_eq!(processes, [(4, 20.0), (1, 10.0), (3, 1.0)]);
    }
}
