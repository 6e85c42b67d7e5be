//! The counters of jobs, and the series of virtual seconds.

use measurement::series::binned;
use measurement::{Headline, Histogram, Histograms, Progress, Series};

use crate::time::Ns;

/// Length of one interval of the series.
const INTERVAL_NS: Ns = 1_000_000_000;

/// Completed operations and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub reads: u64,
    pub writes: u64,
    pub syncs: u64,
    pub turns: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// Limit of the series, a month of seconds: only absurd rates such as one operation per year exceed
/// it.
const INTERVALS_MAX: usize = 31 * 24 * 3600;

/// The combined latencies of all jobs.
pub struct Tally {
    pub counts: Counts,
    headline: Headline,
    read: Histogram,
    write: Histogram,
    sync: Recorder,
    commit: Histogram,
    /// Headline latencies of the current interval, added to the histograms above at its end.
    fresh: Fresh,
    start: Ns,
    interval_end: Ns,
    ops_before: u64,
    series: Series,
}

/// The latencies of one interval, by operation.
#[derive(Default)]
struct Fresh {
    read: Recorder,
    write: Recorder,
    commit: Recorder,
}

/// A histogram that counts runs of equal latencies: in virtual time, the same latency often repeats
/// many times.
#[derive(Default)]
struct Recorder {
    histogram: Histogram,
    latest: Ns,
    times: u64,
}

impl Recorder {
    #[inline]
    fn record(&mut self, latency: Ns) {
        if latency == self.latest {
            self.times += 1;
        } else {
            self.tell();
            self.latest = latency;
            self.times = 1;
        }
    }

    fn tell(&mut self) {
        if self.times > 0 {
            self.histogram.record_n(self.latest, self.times);
            self.times = 0;
        }
    }

    fn finish(mut self) -> Histogram {
        self.tell();
        self.histogram
    }
}

impl Tally {
    pub fn starting(headline: Headline, start: Ns) -> Tally {
        Tally {
            counts: Counts::default(),
            headline,
            read: Histogram::new(),
            write: Histogram::new(),
            sync: Recorder::default(),
            commit: Histogram::new(),
            fresh: Fresh::default(),
            start,
            interval_end: start + INTERVAL_NS,
            ops_before: 0,
            series: Series::new(),
        }
    }

    /// Restarts the measurement at `start` and discards all earlier counts.
    pub fn start_at(&mut self, start: Ns) {
        self.start = start;
        self.interval_end = start + INTERVAL_NS;
    }

    #[inline]
    pub fn read(&mut self, latency: Ns, bytes: u64) {
        self.fresh.read.record(latency);
        self.counts.reads += 1;
        self.counts.read_bytes += bytes;
    }

    #[inline]
    pub fn write(&mut self, latency: Ns, bytes: u64) {
        self.fresh.write.record(latency);
        self.counts.writes += 1;
        self.counts.written_bytes += bytes;
    }

    #[inline]
    pub fn sync(&mut self, latency: Ns) {
        self.sync.record(latency);
        self.counts.syncs += 1;
    }

    #[inline]
    pub fn commit(&mut self, latency: Ns) {
        self.fresh.commit.record(latency);
    }

    /// Advances to `now`: completed intervals are added to the series.
    #[inline]
    pub fn advance(&mut self, now: Ns) {
        while now >= self.interval_end {
            if self.series.iops.len() == INTERVALS_MAX {
                self.interval_end = Ns::MAX;
                return;
            }
            self.end_interval();
        }
    }

    #[cold]
    fn end_interval(&mut self) {
        let fresh = std::mem::take(&mut self.fresh);
        let (read, write, commit) =
            (fresh.read.finish(), fresh.write.finish(), fresh.commit.finish());
        self.read.merge(&read);
        self.write.merge(&write);
        self.commit.merge(&commit);
        let headline = match self.headline {
            Headline::Commits | Headline::Turns => commit,
            Headline::Operations => {
                let mut both = read;
                both.merge(&write);
                both
            }
        };
        let ops = match self.headline {
            Headline::Turns => self.counts.turns,
            Headline::Commits | Headline::Operations => self.counts.reads + self.counts.writes,
        };
        let us =
            |quantile| (!headline.is_empty()).then(|| headline.quantile_ns(quantile) as f64 / 1e3);
        self.series.iops.push((ops - self.ops_before) as f64 * 1e9 / INTERVAL_NS as f64);
        self.series.commit_p50_us.push(us(0.50));
        self.series.commit_p99_us.push(us(0.99));
        self.series.commit_bins.push(binned(headline.buckets()));
        self.ops_before = ops;
        self.interval_end += INTERVAL_NS;
    }

    pub fn progress(&self, now: Ns) -> Progress {
        Progress {
            elapsed_s: (now as f64 - self.start as f64) / 1e9,
            iops: self.series.iops.last().copied(),
            commit_p99_us: self.series.commit_p99_us.last().copied().flatten(),
        }
    }

    /// The final results of a measurement that ended at `now`.
    pub fn finish(mut self, now: Ns, writes_are_commits: bool) -> (Counts, Histograms, Series) {
        self.advance(now);
        self.read.merge(&self.fresh.read.finish());
        self.write.merge(&self.fresh.write.finish());
        self.commit.merge(&self.fresh.commit.finish());
        let some = |histogram: Histogram| (!histogram.is_empty()).then_some(histogram);
        let write = some(self.write);
        let commit = if writes_are_commits { write.clone() } else { some(self.commit) };
        let histograms =
            Histograms { read: some(self.read), write, sync: some(self.sync.finish()), commit };
        (self.counts, histograms, self.series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of one and a half seconds: three reads and a write in the first second, a write
    /// in the second.
    fn tally(headline: Headline) -> (Counts, Histograms, Series) {
        let mut tally = Tally::starting(headline, 5 * INTERVAL_NS);
        for latency in [1000, 1000, 2000] {
            tally.read(latency, 4096);
        }
        tally.write(3000, 512);
        tally.commit(9000);
        tally.counts.turns += 7;
        assert_eq!(
            tally.progress(5 * INTERVAL_NS + INTERVAL_NS / 2).elapsed_s.to_bits(),
            0.5_f64.to_bits()
        );
        tally.advance(6 * INTERVAL_NS - 1);
        assert_eq!(tally.progress(6 * INTERVAL_NS).iops, None, "the first second is not over");
        tally.advance(6 * INTERVAL_NS);
        tally.write(4000, 512);
        tally.sync(800);
        tally.commit(11_000);
        tally.counts.turns += 2;
        tally.finish(7 * INTERVAL_NS, false)
    }

    #[test]
    fn a_series_has_what_was_done_in_each_second() {
        let (counts, histograms, series) = tally(Headline::Operations);
        assert_eq!((counts.reads, counts.writes, counts.syncs, counts.turns), (3, 2, 1, 9));
        assert_eq!((counts.read_bytes, counts.written_bytes), (3 * 4096, 1024));
        assert_eq!(series.iops, [4.0, 1.0]);
        let near = |found: &[Option<f64>], expected: [f64; 2]| {
            found.len() == 2
                && found
                    .iter()
                    .zip(expected)
                    .all(|(one, other)| (one.unwrap() / other - 1.0).abs() < 0.01)
        };
        assert!(
            near(&series.commit_p50_us, [1.0, 4.0]) && near(&series.commit_p99_us, [3.0, 4.0]),
            "{series:?}"
        );
        let count = |histogram: &Option<Histogram>| histogram.as_ref().map_or(0, Histogram::count);
        assert_eq!((count(&histograms.read), count(&histograms.write)), (3, 2));
        assert_eq!((count(&histograms.sync), count(&histograms.commit)), (1, 2));
        let (.., commits) = tally(Headline::Commits);
        assert!(
            commits.iops == [4.0, 1.0] && near(&commits.commit_p50_us, [9.0, 11.0]),
            "{commits:?}"
        );
        let (.., turns) = tally(Headline::Turns);
        assert!(turns.iops == [7.0, 2.0] && near(&turns.commit_p99_us, [9.0, 11.0]), "{turns:?}");
    }

    #[test]
    fn where_writes_are_commits_they_are_counted_once() {
        let mut tally = Tally::starting(Headline::Operations, 0);
        tally.write(3000, 512);
        let (_, histograms, series) = tally.finish(INTERVAL_NS - 1, true);
        assert_eq!((histograms.commit.unwrap().count(), histograms.write.unwrap().count()), (1, 1));
        assert!(series.iops.is_empty() && histograms.read.is_none() && histograms.sync.is_none());
    }
}
