//! The activity of a server, by its own counters.
//!
//! A [`Meter`] reads all counters that its server has, and its user may see, as one [`Snapshot`].
//! The difference of two snapshots is an [`Interval`], from which the meter derives commits, syncs and
//! writes. Reading changes nothing on the server.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `counters` | counters at one moment, their increase, and why there may be none |
//! | `postgres`, `mysql` | the counters of each product and release, and what they mean |

mod counters;
mod mysql;
mod postgres;

use std::time::{Duration, Instant};

use measurement::ServerActivity;

pub use counters::{Break, Interval, Snapshot};

use crate::error::{DatabaseError, Problem};
use crate::facts::Facts;
use crate::session::Session;

/// Limit on the time in which clients that have ended hand over their counters.
const SETTLING_MAX: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(20);

/// Reads the counters of one server.
#[derive(Debug)]
pub struct Meter(Product);

#[derive(Debug)]
enum Product {
    Postgres(postgres::Meter),
    Mysql(mysql::Meter),
}

impl Meter {
    /// Finds out which counters this server has and this user may see.
    pub fn new(facts: &Facts, session: &mut Session) -> Result<Meter, DatabaseError> {
        let product = match session.url().product() {
            crate::Product::Postgres => postgres::Meter::new(facts, session).map(Product::Postgres),
            crate::Product::Mysql => mysql::Meter::new(facts, session).map(Product::Mysql),
        };
        product.map(Meter).map_err(|problem| session.error(problem))
    }

    pub fn read(&self, session: &mut Session) -> Result<Snapshot, DatabaseError> {
        let snapshot = match &self.0 {
            Product::Postgres(meter) => meter.read(session),
            Product::Mysql(meter) => meter.read(session),
        };
        snapshot.map_err(|problem| session.error(problem))
    }

    /// The same after clients of this program have ended: each process of PostgreSQL hands over its
    /// counters once a second, and when it ends.
    pub fn read_settled(&self, session: &mut Session) -> Result<Snapshot, DatabaseError> {
        if let Product::Postgres(meter) = &self.0 {
            let begun = Instant::now();
            loop {
                let are_gone = meter.clients_are_gone(session);
                if are_gone.map_err(|problem: Problem| session.error(problem))?
                    || begun.elapsed() > SETTLING_MAX
                {
                    break;
                }
                std::thread::sleep(LOOK);
            }
        }
        self.read(session)
    }

    /// The activity since a snapshot, of clients of this program that have ended.
    ///
    /// # Errors
    /// Why it is unknown.
    pub fn activity_since(
        &self,
        earlier: &Snapshot,
        session: &mut Session,
    ) -> Result<ServerActivity, String> {
        let now = self.read_settled(session).map_err(|error| error.to_string())?;
        let interval = now.since(earlier).map_err(|why| why.to_string())?;
        Ok(self.activity(&interval))
    }

    /// Derives commits, syncs and writes from the counters of an interval.
    pub fn activity(&self, interval: &Interval) -> ServerActivity {
        let derived = match &self.0 {
            Product::Postgres(meter) => meter.activity(interval),
            Product::Mysql(meter) => meter.activity(interval),
        };
        ServerActivity {
            elapsed_s: interval.elapsed_s(),
            active_clients: interval.active_clients(),
            counters: interval.counters(),
            ..derived
        }
    }
}
