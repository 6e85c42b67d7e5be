//! Observes running jobs: live progress, a series with one interval per second, and the merged
//! totals at the end.

use std::sync::Arc;

use measurement::series::binned;
use measurement::{Headline, Histogram, Histograms, Progress, Series};

use workload::SteadyTotals;

use crate::clock::Clock;
use crate::job::Tally;
use crate::recorder::{CELLS, Recorder, counts_of, histogram_of, quantile_ns};

/// The jobs' tallies, and the state of their observation.
pub struct Watch {
    tallies: Vec<Arc<Tally>>,
    headline: Headline,
    clock: Clock,
    start: u64,
    seen: Vec<u64>,
    seen_ops: u64,
    series: Series,
}

impl Watch {
    pub fn new(tallies: Vec<Arc<Tally>>, headline: Headline, clock: Clock, start: u64) -> Watch {
        Watch {
            tallies,
            headline,
            clock,
            start,
            seen: vec![0; CELLS],
            seen_ops: 0,
            series: Series::new(),
        }
    }

    /// Seconds since the start.
    pub fn elapsed_s(&self) -> f64 {
        self.clock.ns(self.clock.ticks().saturating_sub(self.start)) as f64 / 1e9
    }

    /// The reads and writes so far.
    pub fn totals(&self) -> SteadyTotals {
        let mut cells = vec![0; CELLS];
        for tally in &self.tallies {
            tally.read.add_to(&mut cells);
            tally.write.add_to(&mut cells);
        }
        let mut totals = SteadyTotals::default();
        for (latency_ns, count) in counts_of(&cells) {
            totals.operations += count;
            totals.latency_ns += latency_ns as f64 * count as f64;
        }
        totals
    }

    /// Adds completed seconds to the series. If the observer itself was delayed, the missed seconds
    /// are filled in evenly.
    pub fn look(&mut self) -> Progress {
        let elapsed_s = self.elapsed_s();
        let missing = (elapsed_s / self.series.interval_s) as usize
            - self.series.iops.len().min(elapsed_s as usize);
        if missing > 0 {
            self.add_interval(missing);
        }
        Progress {
            elapsed_s,
            iops: self.series.iops.last().copied(),
            commit_p99_us: self.series.commit_p99_us.last().copied().flatten(),
        }
    }

    fn add_interval(&mut self, intervals: usize) {
        let mut cells = vec![0; CELLS];
        let mut ops = 0;
        for tally in &self.tallies {
            match self.headline {
                Headline::Commits => {
                    tally.commit.add_to(&mut cells);
                    ops += tally.read.count() + tally.write.count();
                }
                Headline::Turns => tally.commit.add_to(&mut cells),
                Headline::Operations => {
                    tally.read.add_to(&mut cells);
                    tally.write.add_to(&mut cells);
                }
            }
        }
        if self.headline != Headline::Commits {
            ops = cells.iter().sum();
        }
        let fresh: Vec<u64> = cells.iter().zip(&self.seen).map(|(now, seen)| now - seen).collect();
        let us = |quantile| quantile_ns(&fresh, quantile).map(|ns| ns as f64 / 1e3);
        let rate = (ops - self.seen_ops) as f64 / (intervals as f64 * self.series.interval_s);
        let bins = binned(counts_of(&fresh));
        for interval in 0..intervals as u64 {
            let share = |count: u64| {
                count * (interval + 1) / intervals as u64 - count * interval / intervals as u64
            };
            self.series.iops.push(rate);
            self.series.commit_p50_us.push(us(0.50));
            self.series.commit_p99_us.push(us(0.99));
            self.series
                .commit_bins
                .push(bins.iter().map(|&(bin, count)| (bin, share(count))).collect());
        }
        self.seen = cells;
        self.seen_ops = ops;
    }

    /// The whole measurement: merged distributions of all jobs, and the series. If each write is
    /// durable by itself, its latency is that of the commit.
    pub fn finish(self, writes_are_commits: bool) -> (Histograms, Series) {
        let merged = |recorder: fn(&Tally) -> &Recorder| {
            let mut cells = vec![0; CELLS];
            self.tallies.iter().for_each(|tally| recorder(tally).add_to(&mut cells));
            Some(histogram_of(&cells)).filter(|histogram: &Histogram| !histogram.is_empty())
        };
        let write = merged(|tally| &tally.write);
        let commit = if writes_are_commits { write.clone() } else { merged(|tally| &tally.commit) };
        let histograms = Histograms {
            read: merged(|tally| &tally.read),
            write,
            sync: merged(|tally| &tally.sync),
            commit,
        };
        (histograms, self.series)
    }
}
