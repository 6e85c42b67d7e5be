//! fio's latency figures.

use measurement::{Histogram, LatencySummary};

use crate::foreign::Latencies;

/// The latencies of one kind as fio reports them, converted to nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timed {
    pub min_ns: f64,
    pub max_ns: f64,
    pub mean_ns: f64,
    /// Number of latencies. fio's text output and fio before 3 do not report it; it is then the
    /// number of operations.
    pub count: u64,
    /// Percentiles, with percentages from 0 to 100.
    pub percentiles: Vec<(f64, f64)>,
    /// JSON+'s bins: middle and count.
    pub bins: Vec<(u64, u64)>,
}

impl Timed {
    /// Returns whether percentiles or bins are known.
    pub fn is_spread(&self) -> bool {
        !self.percentiles.is_empty() || !self.bins.is_empty()
    }

    /// The summary, if all of its figures are known, and the histogram.
    pub fn latencies(&self) -> Latencies {
        if self.count == 0 {
            return Latencies::default();
        }
        let histogram = (!self.bins.is_empty()).then(|| {
            let mut histogram = Histogram::new();
            self.bins.iter().for_each(|&(latency_ns, count)| histogram.record_n(latency_ns, count));
            histogram
        });
        Latencies { summary: self.summary(histogram.as_ref()), histogram }
    }

    /// fio's percentiles take precedence; missing ones are computed from the bins.
    fn summary(&self, histogram: Option<&Histogram>) -> Option<LatencySummary> {
        let us = |ns: f64| ns / 1e3;
        let percentile = |wanted: f64| {
            let listed =
                self.percentiles.iter().find(|(percent, _)| (percent - wanted).abs() < 1e-6);
            let counted =
                || histogram.map(|histogram| histogram.quantile_ns(wanted / 100.0) as f64);
            // A percentile is the middle of a bin, which may exceed the longest latency in it.
            listed.map(|&(_, ns)| ns).or_else(counted).map(|ns| us(ns.min(self.max_ns)))
        };
        Some(LatencySummary {
            mean: us(self.mean_ns),
            min: us(self.min_ns),
            p50: percentile(50.0)?,
            p90: percentile(90.0)?,
            p99: percentile(99.0)?,
            p99_9: percentile(99.9)?,
            p99_99: percentile(99.99)?,
            max: us(self.max_ns),
            count: self.count,
        })
    }

    /// The known figures of latencies without a summary: `min 81 µs, mean 108.51 µs, max 432 µs`.
    pub fn partial_figures(&self) -> Option<String> {
        if self.max_ns <= 0.0 {
            return None;
        }
        let us = |ns: f64| {
            let digits = format!("{:.2}", ns / 1e3);
            format!("{} µs", digits.trim_end_matches('0').trim_end_matches('.'))
        };
        let mut words = vec![
            format!("min {}", us(self.min_ns)),
            format!("mean {}", us(self.mean_ns)),
            format!("max {}", us(self.max_ns)),
        ];
        words
            .extend(self.percentiles.iter().map(|&(percent, ns)| format!("p{percent} {}", us(ns))));
        Some(words.join(", "))
    }

    /// Merges the latencies of two processes. Percentiles cannot be merged, so without bins of both
    /// none remain.
    pub fn merge(&mut self, other: &Timed) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        let (own, others) = (self.count as f64, other.count as f64);
        self.mean_ns = (self.mean_ns * own + other.mean_ns * others) / (own + others);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.percentiles.clear();
        if self.bins.is_empty() || other.bins.is_empty() {
            self.bins.clear();
        } else {
            self.bins.extend_from_slice(&other.bins);
        }
    }
}
