//! Starts by the time of day.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::clock::Clock;

/// Between the end of a test and the start of the next one, so that files can be prepared.
pub const PAUSE: Duration = Duration::from_secs(10);

/// The moment of each start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    start: Timestamp,
    /// From the first start.
    offsets: Vec<Duration>,
}

impl Schedule {
    /// A schedule for tests that take this long, with pauses between them.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let start = "2026-12-01T03:00:00Z".parse().unwrap();
    /// let schedule = together::Schedule::new(start, &[Duration::from_secs(20); 3]);
    /// assert_eq!(schedule.at(2).unwrap().to_string(), "2026-12-01T03:01:00Z");
    /// assert_eq!(schedule.at(3), None);
    /// ```
    pub fn new(start: Timestamp, tests: &[Duration]) -> Schedule {
        let offsets = tests.iter().scan(Duration::ZERO, |offset, &time| {
            let own = *offset;
            *offset += time + PAUSE;
            Some(own)
        });
        Schedule { start, offsets: offsets.collect() }
    }

    pub fn start(&self) -> Timestamp {
        self.start
    }

    /// The moment of a test's start; `None` if there are not that many.
    pub fn at(&self, test: usize) -> Option<Timestamp> {
        let offset = *self.offsets.get(test)?;
        self.start.checked_add(jiff::SignedDuration::try_from(offset).ok()?).ok()
    }

    /// The same by the clock that does not jump. A moment that is past, or has none, is now.
    pub(crate) fn moment(&self, test: usize) -> Instant {
        let now = Instant::now();
        let moment = self.at(test).map(|at| Clock::of_this_host().instant(at.as_microsecond()));
        moment.map_or(now, |moment| moment.max(now))
    }
}
