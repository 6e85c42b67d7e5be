//! Latencies by I/O priority.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::IoPriority;
use workload::number::latency;

use crate::histogram::{Histogram, LatencySummary};

/// The latencies of the reads, or the writes, of one priority.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PriorityLatency {
    /// `true` for reads, `false` for writes.
    pub reads: bool,
    /// The priority; `null` for that of the job's thread.
    pub priority: Option<IoPriority>,
    /// Latency in microseconds; `null` if there was no such I/O.
    pub latency_us: Option<LatencySummary>,
    /// The complete distribution, in nanoseconds.
    pub histogram: Histogram,
}

impl PriorityLatency {
    /// The latencies of a distribution.
    pub fn new(reads: bool, priority: Option<IoPriority>, histogram: Histogram) -> PriorityLatency {
        PriorityLatency { reads, priority, latency_us: histogram.summary(), histogram }
    }

    /// Adds up the latencies of the same I/Os.
    pub fn sum<'a>(parts: impl Iterator<Item = &'a PriorityLatency>) -> Vec<PriorityLatency> {
        let mut sums: Vec<PriorityLatency> = Vec::new();
        for part in parts {
            let same = |sum: &&mut PriorityLatency| {
                sum.reads == part.reads && sum.priority == part.priority
            };
            match sums.iter_mut().find(same) {
                None => sums.push(part.clone()),
                Some(sum) => sum.histogram.merge(&part.histogram),
            }
        }
        sums.into_iter().map(|sum| Self::new(sum.reads, sum.priority, sum.histogram)).collect()
    }

    /// One sentence for a table's notes, given the number of all reads, or of all writes.
    pub fn sentence(&self, all: u64) -> String {
        let operations = if self.reads { "reads" } else { "writes" };
        let priority = match self.priority {
            Some(priority) => format!("{operations} with priority {priority}"),
            None => format!("{operations} with the priority of their thread"),
        };
        let percent = self.histogram.count() as f64 * 100.0 / all.max(1) as f64;
        match self.latency_us {
            None => format!("{priority}: none"),
            Some(us) => format!(
                "{priority}: {percent:.1} %, mean {}, p50 {}, p99 {}",
                latency(us.mean),
                latency(us.p50),
                latency(us.p99)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::PriorityClass;

    #[test]
    fn jobs_and_runs_add_up() {
        let high = Some(IoPriority { class: PriorityClass::Realtime, level: 0, hint: 0 });
        let of = |priority, latencies: &[u64]| {
            let mut histogram = Histogram::new();
            latencies.iter().for_each(|&ns| histogram.record(ns));
            PriorityLatency::new(true, priority, histogram)
        };
        let parts = [of(high, &[1000]), of(None, &[3000]), of(high, &[2000]), of(None, &[])];
        let sums = PriorityLatency::sum(parts.iter());
        assert_eq!(sums, [of(high, &[1000, 2000]), of(None, &[3000])]);
        insta::assert_snapshot!(sums[0].sentence(3), @"reads with priority realtime 0: 66.7 %, mean 1.5 µs, p50 1 µs, p99 2 µs");
        insta::assert_snapshot!(parts[3].sentence(0), @"reads with the priority of their thread: none");
    }
}
