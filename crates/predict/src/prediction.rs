//! Rates of a server on other storage, with intervals.

use workload::number::number;

use crate::calibration::{Calibration, Load};
use crate::document::{DrivePrediction, Limit, LoadPrediction, Rate, Refusal};
use crate::log_write::LogWrite;
use crate::server_model::{Change, ServerModel};
use crate::settings::{Settings, syncs_tables};
use crate::storage::Storage;

/// Rounds of syncs of a prediction.
const ROUNDS: u64 = 1;
/// The part of a processor's time from which on it decides the rate.
const BUSY: f64 = 0.9;
/// The part of the time in which a sync is under way from which on it decides the rate.
const SYNCING: f64 = 0.5;
/// The processors may be busier than when they were measured by this factor.
const BUSIER_MAX: f64 = 1.25;
/// A rate may exceed the measured one by this factor if the processor time is unknown.
const FASTER_MAX: f64 = 1.25;
/// Uncertainty of all that is not a sync.
const WORK_UNCERTAINTY: f64 = 0.25;

/// Storage to predict a server on.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// As the user named it.
    pub on: String,
    pub label: String,
    pub storage: Storage,
    pub basis: Basis,
}

/// Where the times of a storage's syncs come from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    Measured,
    Modelled,
}

impl Basis {
    /// Uncertainty of the mean time of a sync, as a part of it.
    pub const fn uncertainty(self) -> f64 {
        match self {
            Basis::Measured => 0.1,
            Basis::Modelled => 0.2,
        }
    }
}

/// A server whose loads are fitted, with settings to predict.
pub struct Predictor<'a> {
    calibration: &'a Calibration,
    models: Vec<ServerModel>,
    /// The use of the processors under each load, as calibrated.
    busy: f64,
    settings: &'a Settings,
}

impl<'a> Predictor<'a> {
    /// Fits all loads; the predictions assume these settings.
    pub fn new(
        calibration: &'a Calibration,
        loads: &[Load],
        settings: &'a Settings,
    ) -> Predictor<'a> {
        let models: Vec<ServerModel> =
            loads.iter().map(|load| ServerModel::of(calibration, load)).collect();
        let as_measured = Change::to(&calibration.storage, LogWrite::of(&calibration.server));
        let used = models.iter().map(|model| model.outcome(as_measured, ROUNDS).processors_used);
        let busy = used.fold(0.0, f64::max);
        Predictor { calibration, models, busy, settings }
    }

    /// Sentences on what the predictions leave out.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.calibration.processors.is_none() {
            notes.push(
                "The server's processor time is unknown, because it was not measured on its host: \
                 rates more than a quarter above the measured ones are not predicted."
                    .to_owned(),
            );
        }
        if !self.settings.are_durable() {
            notes.push("With these settings commits are not durable.".to_owned());
        }
        let known = self.models.iter().filter_map(|model| model.load().others);
        let most = known.map(|others| others.syncs_per_commit).fold(0.0, f64::max);
        match (syncs_tables(&self.calibration.server), self.settings.syncs_tables()) {
            (true, false) if most > 0.0 => notes.push(format!(
                "O_DIRECT_NO_FSYNC saves up to {} syncs of tables and their copies per commit; those \
                 of growing files remain, and are left out here. It is unsafe if log and tables are on \
                 different drives with volatile caches.",
                number(most)
            )),
            (false, true) => notes.push(
                "The server did not sync its tables when it was measured, so the syncs that it \
                 would add are unknown, and left out here."
                    .to_owned(),
            ),
            _ => {}
        }
        notes
    }

    pub fn on(&self, candidate: &Candidate) -> DrivePrediction {
        let loads = self.models.iter().map(|model| self.load(model, candidate)).collect();
        DrivePrediction {
            on: candidate.on.clone(),
            label: candidate.label.clone(),
            basis: candidate.basis,
            sync_us: candidate.storage.small.times.mean_us(),
            loads,
        }
    }

    fn load(&self, model: &ServerModel, candidate: &Candidate) -> LoadPrediction {
        let load = model.load();
        let as_set = Change::to(&candidate.storage, self.settings.log_write());
        let change = Change { others: self.settings.syncs_tables(), ..as_set };
        let outcome = model.outcome(change, ROUNDS);
        let limit = if outcome.processors_used >= BUSY && self.calibration.processors.is_some() {
            Limit::Processors
        } else if outcome.in_sync >= SYNCING {
            Limit::Sync
        } else {
            Limit::Server
        };
        let is_known = load.server_cpu_us.is_some() && self.calibration.processors.is_some();
        let refused = if is_known {
            (limit == Limit::Processors && outcome.processors_used > self.busy * BUSIER_MAX)
                .then_some(Refusal::ProcessorBound)
        } else {
            (outcome.commits_per_s > load.commits_per_s * FASTER_MAX)
                .then_some(Refusal::ProcessorTimeUnknown)
        };
        let uncertain = candidate.basis.uncertainty();
        let bound = |sign: f64| {
            let sync_factor = 1.0 + sign * uncertain;
            let work_factor = 1.0 + sign * WORK_UNCERTAINTY;
            model.outcome(Change { sync_factor, work_factor, ..change }, ROUNDS).commits_per_s
        };
        let commits = Rate {
            expected: outcome.commits_per_s,
            low: bound(1.0).min(outcome.commits_per_s),
            high: bound(-1.0).max(outcome.commits_per_s),
        };
        let rows = load.rows_per_s.map(|rows| commits.times(rows / load.commits_per_s));
        LoadPrediction {
            load: load.name.clone(),
            clients: load.connections,
            commits_per_s: refused.is_none().then_some(commits),
            rows_per_s: rows.filter(|_| refused.is_none()),
            syncs_per_commit: outcome.syncs_per_commit,
            limit,
            refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrated::{calibration, storage};

    fn candidate(commit_us: f64, basis: Basis) -> Candidate {
        let on = format!("sim:{commit_us}");
        Candidate { label: on.clone(), on, storage: storage(commit_us), basis }
    }

    fn expected(prediction: &DrivePrediction) -> Vec<f64> {
        let rates =
            prediction.loads.iter().map(|load| load.commits_per_s.map_or(0.0, |it| it.expected));
        rates.collect()
    }

    #[test]
    fn slower_syncs_make_fewer_commits() {
        let calibration = calibration();
        let settings = Settings::changed(&calibration.server, &[]).unwrap();
        let predictor = Predictor::new(&calibration, &calibration.loads, &settings);
        let [fast, same, slow] =
            [250.0, 500.0, 4000.0].map(|us| predictor.on(&candidate(us, Basis::Modelled)));
        for (at, load) in calibration.loads.iter().enumerate() {
            let rates = [&fast, &same, &slow].map(|prediction| expected(prediction)[at]);
            assert!(rates[0] > rates[1] && rates[1] > rates[2], "{} {rates:?}", load.name);
            assert!((rates[1] / load.commits_per_s - 1.0).abs() < 0.03, "{} {rates:?}", load.name);
        }
        let of_one = slow.loads[0].commits_per_s.unwrap();
        assert!(of_one.low < of_one.expected && of_one.expected < of_one.high, "{of_one:?}");
        assert_eq!(slow.loads[2].limit, Limit::Sync);
    }

    #[test]
    fn what_was_never_seen_is_refused() {
        let mut calibration = calibration();
        // Busy for a tenth of the time, and as busy as can be on the other drive.
        calibration.processors = Some(1);
        calibration.loads = vec![Load {
            server_cpu_us: Some(70.0),
            commits_per_s: 1900.0,
            ..calibration.loads[1].clone()
        }];
        calibration.storage = storage(1000.0);
        let settings = Settings::changed(&calibration.server, &[]).unwrap();
        let predictor = Predictor::new(&calibration, &calibration.loads, &settings);
        let fast = predictor.on(&candidate(20.0, Basis::Modelled));
        assert_eq!(fast.loads[0].refused, Some(Refusal::ProcessorBound));
        assert_eq!(fast.loads[0].commits_per_s, None);

        calibration.loads[0].server_cpu_us = None;
        let predictor = Predictor::new(&calibration, &calibration.loads, &settings);
        let fast = predictor.on(&candidate(500.0, Basis::Modelled));
        assert_eq!(fast.loads[0].refused, Some(Refusal::ProcessorTimeUnknown));
        let slow = predictor.on(&candidate(2000.0, Basis::Modelled));
        assert_eq!(slow.loads[0].refused, None);
    }

    #[test]
    fn settings_change_what_a_commit_waits_for() {
        let calibration = calibration();
        let settings =
            |given: &str| Settings::changed(&calibration.server, &[given.to_owned()]).unwrap();
        let off = settings("synchronous_commit=off");
        let predictor = Predictor::new(&calibration, &calibration.loads, &off);
        assert_eq!(predictor.notes(), ["With these settings commits are not durable."]);
        let same = predictor.on(&candidate(500.0, Basis::Measured));
        let rates = expected(&same);
        assert!(same.loads[0].refused.is_some() || rates[0] > 5000.0, "{same:?}");
    }
}
