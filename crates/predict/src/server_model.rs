//! A server as a closed loop: the time of a commit besides its sync, fitted so that the simulation
//! makes the rates that were measured.

use crate::calibration::{Calibration, Load};
use crate::log_write::LogWrite;
use crate::simulation::{Loop, OtherSyncs, Outcome, Work, simulate};
use crate::storage::Storage;

/// Rounds of syncs for the fit, which other rates are compared with.
const FIT_ROUNDS: u64 = 4;
/// Factors of the work among which the fit looks.
const STRETCH: (f64, f64) = (0.02, 50.0);
const FIT_STEPS: u32 = 20;
/// From a wake-up to running on an idle processor.
const WAKE_US: f64 = 10.0;
/// The part of the server's processor time that comes before the log record.
const BEFORE_RECORD: f64 = 0.7;
/// At least this part of the processor time measured is not that of syncs.
const OWN_MIN: f64 = 0.2;

/// The fitted model that predicts a load.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerModel {
    load: Load,
    work: Work,
    processors: u32,
}

/// The changes of a prediction from the measured server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change<'a> {
    pub storage: &'a Storage,
    pub log_write: LogWrite,
    /// True if tables are synced.
    pub others: bool,
    /// Factors of the time of a sync, and of all else.
    pub sync_factor: f64,
    pub work_factor: f64,
}

impl<'a> Change<'a> {
    pub const fn to(storage: &'a Storage, log_write: LogWrite) -> Change<'a> {
        Change { storage, log_write, others: true, sync_factor: 1.0, work_factor: 1.0 }
    }
}

impl ServerModel {
    /// Fits the work of a commit under one load. Where the processor time is unknown, all of it is
    /// time for which no processor is needed.
    pub fn of(calibration: &Calibration, load: &Load) -> ServerModel {
        let sync_cpu_us = calibration.storage.small.cpu_us;
        let syncs = load.syncs_per_commit.unwrap_or(1.0);
        let (server_us, processors) = match (load.server_cpu_us, calibration.processors) {
            (Some(us), Some(processors)) => (us, processors),
            _ => (load.client_cpu_us, load.connections),
        };
        let own_us = (server_us - syncs * sync_cpu_us).max(OWN_MIN * server_us);
        let work = Work {
            execute: own_us * BEFORE_RECORD * 1e3,
            begin_sync: sync_cpu_us * 1e3,
            answer: own_us * (1.0 - BEFORE_RECORD) * 1e3,
            client: load.client_cpu_us * 1e3,
            wake: WAKE_US * 1e3,
        };
        let mut model = ServerModel { load: load.clone(), work, processors };
        let log_write = LogWrite::of(&calibration.server);
        let change = Change::to(&calibration.storage, log_write);
        let (mut low, mut high) = STRETCH;
        for _ in 0..FIT_STEPS {
            let middle = f64::sqrt(low * high);
            let outcome = model.outcome(Change { work_factor: middle, ..change }, FIT_ROUNDS);
            if outcome.commits_per_s > load.commits_per_s {
                low = middle;
            } else {
                high = middle;
            }
        }
        model.work = model.work.stretched(f64::sqrt(low * high));
        model
    }

    pub const fn load(&self) -> &Load {
        &self.load
    }

    /// The simulated outcome of the load with this change.
    pub fn outcome(&self, change: Change<'_>, rounds: u64) -> Outcome {
        let Change { storage, log_write, sync_factor, work_factor, .. } = change;
        let begin_us = self.work.begin_sync / 1e3;
        let times = |bytes: f64| {
            storage.times(bytes).shifted(-storage.small.cpu_us.min(begin_us)).scaled(sync_factor)
        };
        let sync = times(self.load.bytes_per_sync.unwrap_or_default());
        let others = self.load.others.filter(|_| change.others);
        let other_times = others.map(|others| times(others.bytes_per_sync));
        simulate(
            &Loop {
                clients: self.load.connections,
                processors: self.processors,
                work: self.work.stretched(work_factor),
                serial_syncs: log_write.serial_syncs,
                sync: &sync,
                write_part: storage.write_part,
                others: others.zip(other_times.as_ref()).map(|(others, times)| OtherSyncs {
                    per_commit: others.syncs_per_commit,
                    times,
                }),
            },
            rounds,
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::calibrated::{calibration, storage};

    use super::*;

    #[test]
    fn a_fitted_load_makes_the_rate_that_was_measured() {
        let calibration = calibration();
        for load in &calibration.loads {
            let model = ServerModel::of(&calibration, load);
            let change = Change::to(&calibration.storage, LogWrite::of(&calibration.server));
            let rate = model.outcome(change, FIT_ROUNDS).commits_per_s;
            assert!((rate / load.commits_per_s - 1.0).abs() < 0.02, "{} {rate}", load.name);
        }
    }

    #[test]
    fn without_processor_time_the_work_needs_no_processor() {
        let mut calibration = calibration();
        calibration.processors = None;
        let load = Load { server_cpu_us: None, ..calibration.loads[0].clone() };
        let model = ServerModel::of(&calibration, &load);
        assert_eq!(model.processors, load.connections);
        let slow = storage(5000.0);
        let change = Change::to(&slow, LogWrite::of(&calibration.server));
        let rate = model.outcome(change, 1).commits_per_s;
        assert!((150.0..200.0).contains(&rate), "{rate}");
    }
}
