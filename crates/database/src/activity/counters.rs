//! Counters at one moment, and their increase since an earlier one.

use std::fmt;
use std::time::Instant;

use measurement::{CounterUnit, ServerCounter};

/// Deviation of a server's uptime from the time between two readings: it is counted
/// in whole seconds by MariaDB and MySQL.
const UPTIME_DEVIATION_MAX_S: f64 = 2.0;

/// A counter, as the server names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counter {
    pub name: &'static str,
    /// The view or statement that shows it.
    pub source: &'static str,
    pub unit: CounterUnit,
}

/// All counters of a server at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(super) at: Instant,
    /// Seconds since the server started.
    pub(super) uptime_s: f64,
    /// The times at which it last reset its statistics; empty if it reports none.
    pub(super) resets: String,
    /// Clients that execute a statement now, without this one; `None` if the user may not know.
    pub(super) active_clients: Option<f64>,
    pub(super) values: Vec<(Counter, f64)>,
}

/// The increase of all counters between two snapshots.
#[derive(Debug, Clone)]
pub struct Interval {
    elapsed_s: f64,
    active_clients: Option<f64>,
    increases: Vec<(Counter, f64)>,
}

/// The reason that two snapshots have no interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Break {
    /// The server was restarted, or another one took over.
    Restarted,
    /// A counter, or all of a view, began again.
    Reset(String),
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Break::Restarted => f.write_str("the server was restarted, or another one took over"),
            Break::Reset(what) => write!(f, "{what} of the server were reset"),
        }
    }
}

impl Snapshot {
    /// The increase since an earlier snapshot.
    ///
    /// # Errors
    /// If the counters of the two do not continue one another.
    pub fn since(&self, earlier: &Snapshot) -> Result<Interval, Break> {
        let elapsed_s = (self.at - earlier.at).as_secs_f64();
        let aged_s = self.uptime_s - earlier.uptime_s;
        if (aged_s - elapsed_s).abs() > UPTIME_DEVIATION_MAX_S {
            return Err(Break::Restarted);
        }
        if self.resets != earlier.resets {
            return Err(Break::Reset("the statistics".to_owned()));
        }
        let mut increases = Vec::with_capacity(self.values.len());
        for &(counter, now) in &self.values {
            // A counter that a reconnection found or lost has no increase.
            let Some(then) = earlier.value(counter) else { continue };
            if now < then {
                return Err(Break::Reset(format!("counters ({})", counter.name)));
            }
            increases.push((counter, now - then));
        }
        Ok(Interval { elapsed_s, active_clients: self.active_clients, increases })
    }

    fn value(&self, counter: Counter) -> Option<f64> {
        self.values.iter().find(|(other, _)| *other == counter).map(|(_, value)| *value)
    }
}

impl Interval {
    /// Both intervals together. A counter that one of them lacks is left out.
    #[must_use]
    pub fn with(&self, other: &Interval) -> Interval {
        let elapsed_s = self.elapsed_s + other.elapsed_s;
        let weighted = |ours: f64, theirs: f64| {
            (ours * self.elapsed_s + theirs * other.elapsed_s) / elapsed_s.max(f64::MIN_POSITIVE)
        };
        Interval {
            elapsed_s,
            active_clients: self
                .active_clients
                .zip(other.active_clients)
                .map(|(ours, theirs)| weighted(ours, theirs)),
            increases: self
                .increases
                .iter()
                .filter_map(|&(counter, ours)| {
                    let theirs = other.increases.iter().find(|(theirs, _)| *theirs == counter)?;
                    Some((counter, ours + theirs.1))
                })
                .collect(),
        }
    }

    pub const fn elapsed_s(&self) -> f64 {
        self.elapsed_s
    }

    pub(super) const fn active_clients(&self) -> Option<f64> {
        self.active_clients
    }

    /// The increase of the counter with this name; `None` if the server does not have it.
    pub(super) fn get(&self, name: &str) -> Option<f64> {
        self.increases.iter().find(|(counter, _)| counter.name == name).map(|(_, value)| *value)
    }

    pub(super) fn counters(&self) -> Vec<ServerCounter> {
        let counter = |&(Counter { name, source, unit }, increase): &(Counter, f64)| {
            ServerCounter { name: name.to_owned(), source: source.to_owned(), unit, increase }
        };
        self.increases.iter().map(counter).collect()
    }

    /// An interval of a second, for tests of what counters mean.
    #[cfg(test)]
    pub(super) fn of(increases: Vec<(Counter, f64)>) -> Interval {
        Interval { elapsed_s: 1.0, active_clients: None, increases }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SYNCS: Counter =
        Counter { name: "wal_sync", source: "pg_stat_wal", unit: CounterUnit::Events };
    const WRITES: Counter = Counter { name: "wal_write", ..SYNCS };

    fn snapshot(at: Instant, uptime_s: f64, values: &[(Counter, f64)]) -> Snapshot {
        Snapshot {
            at,
            uptime_s,
            resets: "1".to_owned(),
            active_clients: Some(uptime_s),
            values: values.to_vec(),
        }
    }

    #[test]
    fn increases() {
        let begun = Instant::now();
        let earlier = snapshot(begun, 100.0, &[(SYNCS, 10.0)]);
        let at = begun + Duration::from_secs(2);
        let interval =
            snapshot(at, 102.0, &[(SYNCS, 25.0), (WRITES, 7.0)]).since(&earlier).unwrap();
        assert_eq!((interval.elapsed_s, interval.get("wal_sync")), (2.0, Some(15.0)));
        // It was not known at the beginning.
        assert_eq!(interval.get("wal_write"), None);
        let twice = interval.with(&interval);
        assert_eq!((twice.elapsed_s, twice.get("wal_sync")), (4.0, Some(30.0)));
        assert_eq!(twice.active_clients, Some(102.0));
    }

    #[test]
    fn breaks() {
        let begun = Instant::now();
        let earlier = snapshot(begun, 100.0, &[(SYNCS, 10.0)]);
        let at = begun + Duration::from_secs(10);
        let after = |uptime_s, syncs| {
            let later = snapshot(at, uptime_s, &[(SYNCS, syncs)]);
            later.since(&earlier).map(|_| ()).unwrap_err()
        };
        // Restarted, or a server that has run for longer took over.
        assert_eq!(after(4.0, 900.0), Break::Restarted);
        assert_eq!(after(9000.0, 900.0), Break::Restarted);
        assert_eq!(after(110.0, 9.0), Break::Reset("counters (wal_sync)".to_owned()));
        let reset = Snapshot { resets: "2".to_owned(), ..snapshot(at, 110.0, &[(SYNCS, 11.0)]) };
        insta::assert_snapshot!(reset.since(&earlier).unwrap_err(), @"the statistics of the server were reset");
    }
}
