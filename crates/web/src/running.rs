//! Progress of a run that is being measured, as its process publishes it about once a second.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Running {
    pub process: u32,
    /// When the run began (RFC 3339).
    pub started_at: String,
    /// Name of the plan.
    pub suite: String,
    /// The target, as the user wrote it.
    pub target: String,
    /// Number of the run in `store`, if it is kept.
    pub run: Option<i64>,
    /// The store that keeps the run, if any, as the user would name it.
    pub store: Option<String>,
    pub test: String,
    /// Position of the running test in the plan, from 1.
    pub position: usize,
    /// Number of tests in the plan.
    pub tests: usize,
    /// The state of the running test.
    pub phase: Phase,
    /// Planned duration of the test in seconds, warm-up excluded; `None` if it ends by a count.
    pub expected_s: Option<f64>,
    /// Operations per second in the last whole second.
    pub iops: Option<f64>,
    /// 99th percentile of the commit (or operation) latency in the last whole second.
    pub commit_p99_us: Option<f64>,
    /// The series of the running test so far.
    pub history: History,
}

/// The state of a test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "kebab-case")]
pub enum Phase {
    /// Preallocating its file, preparing the target.
    Preparing,
    /// Running, not yet measured.
    WarmingUp,
    Measuring {
        /// Seconds measured so far, in the target's time.
        elapsed_s: f64,
    },
}

/// More values than a chart has pixels would be useless, and the file is written every second.
const VALUES_MAX: usize = 600;

/// The rate in each interval since a test began. Intervals grow with the length of the test, so all
/// of it fits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Length of an interval in seconds.
    pub interval_s: f64,
    /// Operations per second, one value for each interval.
    pub iops: Vec<f64>,
    /// The worst 99th percentile among the seconds of each interval, in microseconds.
    pub commit_p99_us: Vec<Option<f64>>,
    /// Whole seconds seen, including those of an incomplete interval.
    seconds: usize,
}

impl Default for History {
    fn default() -> History {
        History { interval_s: 1.0, iops: Vec::new(), commit_p99_us: Vec::new(), seconds: 0 }
    }
}

impl History {
    /// Adds what was seen after `elapsed_s`: the figures of the last whole second. A second that
    /// was missed gets the values of the next one.
    pub fn see(&mut self, elapsed_s: f64, iops: f64, commit_p99_us: Option<f64>) {
        // A model's clock may leap; no test is longer than a year.
        let seconds = elapsed_s.clamp(0.0, 366.0 * 86_400.0).floor() as usize;
        while self.seconds < seconds {
            self.add(iops, commit_p99_us);
        }
    }

    fn add(&mut self, iops: f64, commit_p99_us: Option<f64>) {
        let width = self.interval_s as usize;
        let within = self.seconds % width;
        self.seconds += 1;
        if within == 0 {
            self.iops.push(iops);
            self.commit_p99_us.push(commit_p99_us);
        } else if let (Some(mean), Some(worst)) =
            (self.iops.last_mut(), self.commit_p99_us.last_mut())
        {
            *mean += (iops - *mean) / (within + 1) as f64;
            *worst = worse(*worst, commit_p99_us);
        }
        if self.iops.len() > VALUES_MAX {
            self.halve();
        }
    }

    fn halve(&mut self) {
        // The last interval has just begun, and becomes the first half of a longer one.
        self.interval_s *= 2.0;
        self.iops =
            self.iops.chunks(2).map(|pair| pair.iter().sum::<f64>() / pair.len() as f64).collect();
        self.commit_p99_us = self
            .commit_p99_us
            .chunks(2)
            .map(|pair| pair.iter().copied().fold(None, worse))
            .collect();
    }
}

fn worse(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_counts_once() {
        let mut history = History::default();
        for (elapsed_s, iops) in
            [(0.4, 1.0), (1.0, 100.0), (1.1, 100.0), (1.9, 100.0), (2.0, 200.0), (4.2, 400.0)]
        {
            history.see(elapsed_s, iops, Some(iops * 10.0));
        }
        assert_eq!(history.iops, [100.0, 200.0, 400.0, 400.0]);
        assert_eq!(history.commit_p99_us.last(), Some(&Some(4000.0)));
    }

    #[test]
    fn a_long_test_fits_with_its_mean_and_its_worst_second() {
        let mut history = History::default();
        let seconds = 10_000;
        for second in 1..=seconds {
            let p99 = if second == 4321 { Some(9.0) } else { Some(1.0) };
            history.see(f64::from(second), f64::from(second), p99);
            assert!(history.iops.len() <= VALUES_MAX);
        }
        assert!((history.interval_s - 32.0).abs() < f64::EPSILON, "{}", history.interval_s);
        let covered = history.iops.len() as f64 * history.interval_s;
        assert!(covered >= f64::from(seconds) && covered - f64::from(seconds) < history.interval_s);
        // The mean of seconds 1 to 32.
        assert!((history.iops[0] - 16.5).abs() < 1e-9, "{}", history.iops[0]);
        assert_eq!(history.commit_p99_us[(4321 - 1) / 32], Some(9.0));
        assert_eq!(history.commit_p99_us.iter().filter(|p99| **p99 == Some(9.0)).count(), 1);
    }
}
