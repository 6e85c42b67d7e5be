//! The counters of the server and of the device under its log, read together again and again.

use std::time::{Duration, Instant};

use database::{DatabaseError, Facts, Interval, Meter, Problem, Session, Snapshot};
use measurement::{DatabaseRecord, DeviceCounts, ServerActivity};

use super::super::connect::Server;
use super::super::log_device::{self, LogDevice, Reading};
use crate::exit::complain;
use crate::signals::STOP;

const RECONNECT_PAUSE: Duration = Duration::from_millis(250);

/// A connection to a watched server, which is opened again when it is lost.
pub struct Readings<'a> {
    server: &'a Server,
    session: Session,
    meter: Meter,
    record: DatabaseRecord,
    device: Result<LogDevice, String>,
    last: Both,
    /// Settings that changed during the watch.
    pub notes: Vec<String>,
}

struct Both {
    server: Snapshot,
    device: Option<Reading>,
}

/// The time since the reading before.
pub enum Step {
    Watched(Box<Watched>),
    /// The counters began again, and nothing is known about this time.
    Broken(String),
}

pub struct Watched {
    pub interval: Interval,
    pub activity: ServerActivity,
    pub device: Option<DeviceCounts>,
}

impl Watched {
    pub fn device_flushes_per_s(&self) -> Option<f64> {
        Some(self.device?.flushes? as f64 / self.interval.elapsed_s())
    }
}

impl<'a> Readings<'a> {
    pub fn begin(
        server: &'a Server,
        mut session: Session,
        facts: &Facts,
        device: Result<LogDevice, String>,
    ) -> Result<Readings<'a>, DatabaseError> {
        let meter = Meter::new(facts, &mut session)?;
        let first = meter.read(&mut session)?;
        let last = Both { server: first, device: read(&device) };
        let record = facts.record.clone();
        Ok(Readings { server, session, meter, record, device, last, notes: Vec::new() })
    }

    /// Reads again. If the connection is lost, waits for the server to come back.
    ///
    /// # Errors
    /// If it does not come back within its time, or a signal ends the wait.
    pub fn next(&mut self) -> Result<Step, DatabaseError> {
        let server = match self.meter.read(&mut self.session) {
            Ok(snapshot) => snapshot,
            Err(error) if is_away(&error.problem) && !STOP.is_requested() => {
                self.reconnect(&error)?
            }
            Err(error) => return Err(error),
        };
        let now = Both { server, device: read(&self.device) };
        let earlier = std::mem::replace(&mut self.last, now);
        let interval = match self.last.server.since(&earlier.server) {
            Ok(interval) => interval,
            Err(why) => return Ok(Step::Broken(why.to_string())),
        };
        let both = earlier.device.as_ref().zip(self.last.device.as_ref());
        let device = both.map(|(earlier, now)| log_device::between(earlier, now));
        let activity = self.activity(&interval);
        Ok(Step::Watched(Box::new(Watched { interval, activity, device })))
    }

    /// Derives commits, syncs and writes from the counters of an interval.
    pub fn activity(&self, interval: &Interval) -> ServerActivity {
        let mut activity = self.meter.activity(interval);
        if let Err(why) = &self.device {
            activity.unknown.push(format!("flushes of the device: {why}"));
        }
        activity
    }

    fn reconnect(&mut self, lost: &DatabaseError) -> Result<Snapshot, DatabaseError> {
        complain(&format!("{lost}; waiting for it to come back"));
        let begun = Instant::now();
        loop {
            std::thread::sleep(RECONNECT_PAUSE);
            match self.open_again() {
                Ok(snapshot) => {
                    let away_s = begun.elapsed().as_secs_f64();
                    complain(&format!("connected again after {away_s:.1} s"));
                    return Ok(snapshot);
                }
                Err(error)
                    if !is_away(&error.problem)
                        || begun.elapsed() > self.server.patience
                        || STOP.is_requested() =>
                {
                    return Err(error);
                }
                Err(_) => {}
            }
        }
    }

    fn open_again(&mut self) -> Result<Snapshot, DatabaseError> {
        let mut session = self.server.open()?;
        let facts = Facts::read(&mut session)?;
        let meter = Meter::new(&facts, &mut session)?;
        let snapshot = meter.read(&mut session)?;
        self.notes.extend(changes(&self.record, &facts.record));
        (self.session, self.meter, self.record) = (session, meter, facts.record);
        Ok(snapshot)
    }
}

fn read(device: &Result<LogDevice, String>) -> Option<Reading> {
    device.as_ref().ok()?.read()
}

/// A server that is stopped or restarted. One that has no connection left may have one soon.
const fn is_away(problem: &Problem) -> bool {
    matches!(problem, Problem::Gone(_) | Problem::Unreachable(_) | Problem::TooManyConnections(_))
}

/// Settings that are different after a reconnection, and the version.
fn changes(before: &DatabaseRecord, now: &DatabaseRecord) -> Vec<String> {
    let changed = now.settings.iter().filter_map(|setting| {
        let was = before.setting(&setting.name)?;
        (was != setting.value)
            .then(|| format!("{} changed from {was} to {}", setting.name, setting.value))
    });
    let version = (before.version != now.version)
        .then(|| format!("the version changed from {} to {}", before.version, now.version));
    changed.chain(version).collect()
}

#[cfg(test)]
mod tests {
    use measurement::{DatabaseProduct, ServerSetting};

    use super::*;

    #[test]
    fn what_changed_is_named() {
        let record = |version: &str, fsync: &str| DatabaseRecord {
            product: DatabaseProduct::Postgresql,
            version: version.to_owned(),
            settings: vec![ServerSetting {
                name: "fsync".to_owned(),
                value: fsync.to_owned(),
                source: None,
            }],
        };
        assert!(changes(&record("15.1", "on"), &record("15.1", "on")).is_empty());
        assert_eq!(
            changes(&record("15.1", "on"), &record("15.2", "off")),
            ["fsync changed from on to off", "the version changed from 15.1 to 15.2"]
        );
    }
}
