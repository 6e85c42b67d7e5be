//! A measured server and its storage, from a result of `db commits` or `db bench`.

use measurement::{DatabaseRecord, RunDocument, ServerActivity, ServerFile, TestResult};

use crate::log_write::LogWrite;
use crate::storage::Storage;

/// The name under which a result says that its server's storage was not measured.
pub const SKIPPED_STORAGE: &str = "storage";

/// A server on the storage on which it was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    pub server: DatabaseRecord,
    pub storage: Storage,
    pub loads: Vec<Load>,
    /// Processors that clients and server share; `None` if they are not on the same host, or if
    /// that is unknown.
    pub processors: Option<u32>,
}

/// The load of the clients on the server, and the costs of one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The name of the test.
    pub name: String,
    /// Connections that commit at the same time.
    pub connections: u32,
    pub commits_per_s: f64,
    /// Rows inserted per second, for a step of the Insert Benchmark.
    pub rows_per_s: Option<f64>,
    /// The server's processor time per commit; `None` if unknown.
    pub server_cpu_us: Option<f64>,
    /// The clients' processor time per commit.
    pub client_cpu_us: f64,
    /// By the server's count; `None` if unknown.
    pub syncs_per_commit: Option<f64>,
    /// Bytes of the log that one sync makes durable; `None` if unknown.
    pub bytes_per_sync: Option<f64>,
    /// Syncs of tables and their copies.
    pub others: Option<OtherLoad>,
}

/// Syncs of tables and of their copies, during a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OtherLoad {
    pub syncs_per_commit: f64,
    /// Bytes written before one of them; 0 if unknown.
    pub bytes_per_sync: f64,
}

/// Why a result says too little about a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotACalibration {
    #[error(
        "the result of suite {0} is not one of a database server; measure one with `flushmark db \
         commits` or `flushmark db bench`"
    )]
    NoServer(String),
    #[error(
        "the result has no load that a prediction could start from: no test of `db commits`, and \
         no step l.i0, l.i1 or l.i2 of `db bench`"
    )]
    NoLoad,
    #[error(
        "commits of the storage under the server were not measured{because}, so their share in \
         those of the server is unknown; run `flushmark db commits` on the server's host"
    )]
    NoStorage { because: String },
    #[error(
        "the server's commits were not durable when it was measured, so they say nothing about \
         its drive; measure it with settings that make them durable"
    )]
    NotDurable,
}

/// Numbers of clients that cannot be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadClients {
    #[error(
        "{asked} clients are more than were measured ({most}), and nothing is known about them; \
         measure that many, or predict for fewer"
    )]
    TooMany { asked: u32, most: u32 },
    #[error(
        "the result has steps of the Insert Benchmark, whose clients are those of the run; leave \
         out --clients"
    )]
    OfSteps,
}

impl Calibration {
    /// # Errors
    /// If the result is not one of a durable server, with its storage.
    pub fn of(document: &RunDocument) -> Result<Calibration, NotACalibration> {
        let server = document.target.database.clone();
        let server = server.ok_or_else(|| NotACalibration::NoServer(document.suite.clone()))?;
        let loads: Vec<(&TestResult, Load)> =
            document.results.iter().filter_map(|result| Some((result, load(result)?))).collect();
        if loads.is_empty() {
            return Err(NotACalibration::NoLoad);
        }
        let storage = Storage::of(&document.results).map_err(|_| {
            let skipped = document.skipped.iter().find(|skipped| skipped.test == SKIPPED_STORAGE);
            let because = skipped.map_or_else(String::new, |it| format!(" ({})", it.because));
            NotACalibration::NoStorage { because }
        })?;
        if LogWrite::of(&server).serial_syncs == 0 {
            return Err(NotACalibration::NotDurable);
        }
        let cpus = loads.iter().filter_map(|(result, _)| result.server.as_ref()?.cpu);
        let processors = cpus.map(|cpu| cpu.processors).max();
        let loads = loads.into_iter().map(|(_, load)| load).collect();
        Ok(Calibration { server, storage, loads, processors })
    }

    /// The loads with these numbers of clients, interpolated where they were not measured; all of
    /// them if none is given.
    ///
    /// # Errors
    /// If there are more clients than were measured.
    pub fn loads_of(&self, clients: &[u32]) -> Result<Vec<Load>, BadClients> {
        if clients.is_empty() {
            return Ok(self.loads.clone());
        }
        if self.loads.iter().any(|load| load.rows_per_s.is_some()) {
            return Err(BadClients::OfSteps);
        }
        let mut measured: Vec<&Load> = self.loads.iter().collect();
        measured.sort_by_key(|load| load.connections);
        clients.iter().map(|&clients| between(&measured, clients)).collect()
    }
}

/// The load of this many clients, from those measured on both sides of it.
fn between(measured: &[&Load], clients: u32) -> Result<Load, BadClients> {
    let above = measured.iter().position(|load| load.connections >= clients);
    let most = measured.last().map_or(0, |load| load.connections);
    let above = above.ok_or(BadClients::TooMany { asked: clients, most })?;
    let (high, low) = (measured[above], measured[above.saturating_sub(1)]);
    if high.connections == clients {
        return Ok(high.clone());
    }
    let log = |count: u32| f64::from(count).ln();
    let width = log(high.connections) - log(low.connections);
    // Below the smallest, its commits cost the same.
    let part = if width > 0.0 { (log(clients) - log(low.connections)) / width } else { 1.0 };
    let mixed = |low: f64, high: f64| low + (high - low) * part;
    let known = |low: Option<f64>, high: Option<f64>| Some(mixed(low?, high?));
    let rate = mixed(low.commits_per_s.ln(), high.commits_per_s.ln()).exp();
    let fewer = if width > 0.0 { 1.0 } else { f64::from(clients) / f64::from(high.connections) };
    Ok(Load {
        name: if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") },
        connections: clients,
        commits_per_s: rate * fewer,
        rows_per_s: None,
        server_cpu_us: known(low.server_cpu_us, high.server_cpu_us),
        client_cpu_us: mixed(low.client_cpu_us, high.client_cpu_us),
        syncs_per_commit: known(low.syncs_per_commit, high.syncs_per_commit),
        bytes_per_sync: known(low.bytes_per_sync, high.bytes_per_sync),
        others: high.others,
    })
}

/// The load of a test; `None` if it is not a closed loop of commits.
fn load(result: &TestResult) -> Option<Load> {
    if result.workload.pattern.is_some() {
        return None;
    }
    let step = result.insert_benchmark.as_deref();
    // At a given rate, the drive decides nothing; and the creation of indexes commits once.
    if step.is_some_and(|step| step.background_rows_per_s.is_some() || step.inserts.is_none()) {
        return None;
    }
    let commits_per_s = result.commits_per_s.filter(|rate| *rate > 0.0)?;
    let of_a_client = if step.is_some_and(|step| step.deletes.is_some()) { 2 } else { 1 };
    let server = result.server.as_ref();
    let elapsed_s = server.map_or(result.elapsed_s, |server| server.elapsed_s);
    let each_us = |seconds: f64| seconds * 1e6 / (commits_per_s * elapsed_s);
    let log = server.and_then(|server| server.file(ServerFile::Log));
    let syncs = log.and_then(|log| log.syncs.as_ref()).map(|syncs| syncs.number.count);
    let bytes = log.and_then(|log| log.writes.as_ref()?.bytes);
    Some(Load {
        name: result.test.clone(),
        connections: result.workload.jobs * of_a_client,
        commits_per_s,
        rows_per_s: step.and_then(|step| Some(step.inserts.as_ref()?.rows_per_s)),
        server_cpu_us: server.and_then(|server| server.cpu).map(|cpu| each_us(cpu.seconds)),
        client_cpu_us: each_us(result.cpu.user_s + result.cpu.system_s),
        syncs_per_commit: syncs.map(|syncs| syncs / (commits_per_s * elapsed_s)),
        bytes_per_sync: bytes.zip(syncs).map(|(bytes, syncs)| bytes / syncs.max(1.0)),
        others: server.and_then(|server| others(server, commits_per_s * elapsed_s)),
    })
}

fn others(server: &ServerActivity, commits: f64) -> Option<OtherLoad> {
    let files = [ServerFile::Data, ServerFile::Doublewrite];
    let known = files.iter().filter_map(|file| server.file(*file));
    let (mut syncs, mut bytes) = (0.0, 0.0);
    for file in known {
        syncs += file.syncs.as_ref().map_or(0.0, |syncs| syncs.number.count);
        bytes += file.writes.as_ref().and_then(|writes| writes.bytes).unwrap_or_default();
    }
    (syncs > 0.0)
        .then(|| OtherLoad { syncs_per_commit: syncs / commits, bytes_per_sync: bytes / syncs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrated::calibration;

    #[test]
    fn numbers_of_clients_between_those_measured() {
        let calibration = calibration();
        let loads = calibration.loads_of(&[4, 8, 1]).unwrap();
        let names: Vec<&str> = loads.iter().map(|load| load.name.as_str()).collect();
        assert_eq!(names, ["4 clients", "8 clients", "1 client"]);
        assert_eq!((loads[0].commits_per_s, loads[2].connections), (3700.0, 1));
        let between = loads[1].commits_per_s;
        assert!((7000.0..7400.0).contains(&between), "{between}");
        assert_eq!(loads[1].syncs_per_commit, Some(0.3125));
        assert_eq!(calibration.loads_of(&[]).unwrap().len(), 3);
    }

    #[test]
    fn refusals() {
        let calibration = calibration();
        let refusal = calibration.loads_of(&[64]).unwrap_err();
        insta::assert_snapshot!(refusal, @"64 clients are more than were measured (16), and nothing is known about them; measure that many, or predict for fewer");
        let mut steps = calibration;
        steps.loads[0].rows_per_s = Some(1e5);
        insta::assert_snapshot!(steps.loads_of(&[4]).unwrap_err(), @"the result has steps of the Insert Benchmark, whose clients are those of the run; leave out --clients");
        let of = |document| Calibration::of(&document).unwrap_err();
        insta::assert_snapshot!(of(samples::document(samples::check())), @"the result of suite check is not one of a database server; measure one with `flushmark db commits` or `flushmark db bench`");
    }

    /// A server's document with this storage.
    fn document(settings: &[(&str, &str)], with_storage: bool) -> RunDocument {
        let setting = |(name, value): &(&str, &str)| measurement::ServerSetting {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
            source: None,
        };
        let server = DatabaseRecord {
            product: measurement::DatabaseProduct::Postgresql,
            version: "15.18".to_owned(),
            settings: settings.iter().map(setting).collect(),
        };
        let mut document = samples::document(samples::insert_benchmark());
        document.target.database = Some(server);
        let storage = samples::machine::write(workload::SyncMethod::Fdatasync, 500.0, 0.0).result();
        document.results.extend(with_storage.then_some(storage));
        document
    }

    #[test]
    fn steps_without_a_given_rate_are_loads() {
        let calibration = Calibration::of(&document(&[], true)).unwrap();
        let loads: Vec<(&str, u32)> =
            calibration.loads.iter().map(|load| (load.name.as_str(), load.connections)).collect();
        assert_eq!(loads, [("l.i0", 1), ("l.i1", 2)]);
        assert!(calibration.loads[1].rows_per_s.is_some_and(|rows| rows > 10_000.0));
        let of = |document: &RunDocument| Calibration::of(document).unwrap_err().to_string();
        insta::assert_snapshot!(of(&document(&[("fsync", "off")], true)), @"the server's commits were not durable when it was measured, so they say nothing about its drive; measure it with settings that make them durable");
        insta::assert_snapshot!(of(&document(&[], false)), @"commits of the storage under the server were not measured, so their share in those of the server is unknown; run `flushmark db commits` on the server's host");
    }
}
