//! The record of a watch so far: sums, rates second by second, and the slowest second.

use std::collections::BTreeMap;
use std::time::Duration;

use database::Interval;
use measurement::{DeviceCounts, ServerActivity, ServerFile, ServerSeries, ServerSyncs};

use super::super::log_device;
use super::readings::Watched;

#[derive(Debug)]
pub struct Record {
    total: Option<Interval>,
    /// `None` if it is unknown in one of the intervals.
    device: Option<DeviceCounts>,
    series: ServerSeries,
    /// The highest mean time of syncs in one second, in microseconds.
    highest_means: BTreeMap<ServerFile, f64>,
}

impl Record {
    pub fn new(interval: Duration) -> Record {
        let series = ServerSeries { interval_s: interval.as_secs_f64(), ..ServerSeries::default() };
        Record { total: None, device: None, series, highest_means: BTreeMap::new() }
    }

    /// Adds the time since the reading before.
    pub fn add(&mut self, watched: &Watched) {
        self.device = match &self.total {
            Some(_) => {
                self.device.zip(watched.device).map(|(sum, more)| log_device::sum(sum, more))
            }
            None => watched.device,
        };
        self.total = Some(match &self.total {
            Some(total) => total.with(&watched.interval),
            None => watched.interval.clone(),
        });
        for file in ServerFile::ALL {
            let mean_us = watched.activity.syncs(file).and_then(ServerSyncs::mean_us);
            if let Some(mean_us) = mean_us {
                let highest = self.highest_means.entry(file).or_default();
                *highest = highest.max(mean_us);
            }
        }
    }

    /// Adds the rates of the interval with this number; `None` for one about which nothing is
    /// known. Those that were missed before it are unknown.
    pub fn add_rates(&mut self, number: usize, watched: Option<&Watched>) {
        while self.series.commits_per_s.len() + 1 < number {
            self.push(None);
        }
        self.push(watched);
    }

    fn push(&mut self, watched: Option<&Watched>) {
        let activity = watched.map(|watched| &watched.activity);
        let rate = |of: fn(&ServerActivity) -> Option<f64>| activity.and_then(of);
        let series = &mut self.series;
        series.commits_per_s.push(rate(ServerActivity::commits_per_s));
        series.syncs_per_s.push(rate(|activity| activity.per_second(activity.syncs_in_total()?)));
        series.log_sync_mean_us.push(rate(|activity| activity.syncs(ServerFile::Log)?.mean_us()));
        series.device_flushes_per_s.push(watched.and_then(Watched::device_flushes_per_s));
    }

    /// The sums, as `meaning` explains them, and what the device did meanwhile; `None` if nothing
    /// was watched.
    pub fn finish(
        self,
        meaning: impl FnOnce(&Interval) -> ServerActivity,
    ) -> Option<(ServerActivity, Option<DeviceCounts>)> {
        let mut activity = meaning(&self.total?);
        for file in &mut activity.files {
            if let Some(syncs) = &mut file.syncs {
                syncs.highest_mean_us = self.highest_means.get(&file.file).copied();
            }
        }
        activity.series = Some(self.series);
        Some((activity, self.device))
    }
}
