//! The end of a job's phase.

use std::time::Duration;

use crate::blocks::{Limit, Until};

/// The end of a phase, in ticks of the job's clock: a processor counter, or nanoseconds of virtual
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    deadline: u64,
    count: u64,
    both: bool,
}

impl Bounds {
    /// Bounds that are reached at any time.
    pub const PASSED: Bounds = Bounds { deadline: 0, count: 0, both: false };

    /// Applies a limit from `start` on; `ticks` converts a duration to clock ticks.
    ///
    /// ```
    /// use std::time::Duration;
    /// use workload::{Bounds, Limit};
    /// let bounds = Bounds::new(Limit::Time(Duration::from_secs(1)), 5, |time| time.as_nanos() as u64);
    /// assert!(!bounds.reached(1_000_000_004, u64::MAX - 1));
    /// assert!(bounds.reached(1_000_000_005, 0));
    /// ```
    pub fn new(limit: Limit, start: u64, ticks: impl Fn(Duration) -> u64) -> Bounds {
        let deadline = |time: Duration| start.saturating_add(ticks(time));
        match limit {
            Limit::Time(time) => Bounds { deadline: deadline(time), count: u64::MAX, both: false },
            Limit::Count(count) => Bounds { deadline: u64::MAX, count, both: false },
            Limit::TimeAndCount { time, count, until } => {
                Bounds { deadline: deadline(time), count, both: until == Until::Both }
            }
        }
    }

    /// Returns `true` if a job that has done `ops` operations by `now` has reached the end.
    #[inline]
    pub const fn reached(&self, now: u64, ops: u64) -> bool {
        let (late, enough) = (now >= self.deadline, ops >= self.count);
        if self.both { late && enough } else { late || enough }
    }

    /// Bounds that are also reached at the time `due`, or after `ops` operations: the nearest point
    /// at which a loop has something to do besides its operations. If time and count are both
    /// required, that is after each operation.
    #[must_use]
    pub fn or_at(self, due: u64, ops: u64) -> Bounds {
        if self.both {
            return Bounds { deadline: 0, count: 0, both: true };
        }
        Bounds { deadline: self.deadline.min(due), count: self.count.min(ops), both: false }
    }

    /// The same end for a job of which one operation was ignored: it does one less.
    #[must_use]
    pub const fn without_one(self) -> Bounds {
        let unlimited = self.count == u64::MAX;
        let count = if unlimited { self.count } else { self.count.saturating_sub(1) };
        Bounds { count, ..self }
    }

    /// Number of further operations that may start after `started` of them. Operations in flight
    /// near the end must not overshoot a count.
    #[inline]
    pub const fn room(&self, started: u64) -> u64 {
        if self.both { u64::MAX } else { self.count.saturating_sub(started) }
    }

    /// The time after which waiting is pointless; `u64::MAX` if there is no such time.
    pub const fn deadline(&self) -> u64 {
        if self.both { u64::MAX } else { self.deadline }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(limit: Limit) -> Bounds {
        Bounds::new(limit, 100, |time| time.as_secs())
    }

    const TEN: Duration = Duration::from_secs(10);

    #[test]
    fn the_first_of_two_limits_ends_a_phase_or_the_last() {
        let first = bounds(Limit::TimeAndCount { time: TEN, count: 5, until: Until::First });
        let both = bounds(Limit::TimeAndCount { time: TEN, count: 5, until: Until::Both });
        for (now, ops) in [(109, 4), (109, 5), (110, 4), (110, 5)] {
            let (late, enough) = (now >= 110, ops >= 5);
            assert_eq!(first.reached(now, ops), late || enough);
            assert_eq!(both.reached(now, ops), late && enough);
        }
    }

    #[test]
    fn a_count_is_not_overshot_unless_time_goes_on() {
        assert_eq!(bounds(Limit::Count(5)).room(3), 2);
        assert_eq!(bounds(Limit::Count(5)).room(6), 0);
        assert_eq!(bounds(Limit::Time(TEN)).room(6), u64::MAX - 6);
        let both = bounds(Limit::TimeAndCount { time: TEN, count: 5, until: Until::Both });
        assert_eq!((both.room(6), both.deadline()), (u64::MAX, u64::MAX));
    }

    #[test]
    fn an_ignored_operation_counts_towards_the_end() {
        let limited = bounds(Limit::Count(5)).without_one();
        assert!(!limited.reached(0, 3) && limited.reached(0, 4));
        assert_eq!(bounds(Limit::Time(TEN)).without_one(), bounds(Limit::Time(TEN)));
    }

    #[test]
    fn the_nearest_point_is_never_missed() {
        for limit in [
            Limit::Time(TEN),
            Limit::Count(5),
            Limit::TimeAndCount { time: TEN, count: 5, until: Until::First },
            Limit::TimeAndCount { time: TEN, count: 5, until: Until::Both },
        ] {
            let bounds = bounds(limit);
            let nearest = bounds.or_at(107, 3);
            for (now, ops) in [(106, 2), (107, 2), (106, 3), (110, 2), (106, 5), (110, 5)] {
                if bounds.reached(now, ops) || now >= 107 || ops >= 3 {
                    assert!(nearest.reached(now, ops), "{limit:?} {now} {ops}");
                }
            }
        }
        let plain = bounds(Limit::Time(TEN)).or_at(107, 3);
        assert!(
            !plain.reached(106, 2)
                && bounds(Limit::Count(5)).or_at(u64::MAX, u64::MAX) == bounds(Limit::Count(5))
        );
    }

    #[test]
    fn a_wait_ends_with_the_phase() {
        assert_eq!(bounds(Limit::Time(TEN)).deadline(), 110);
        assert_eq!(bounds(Limit::Count(5)).deadline(), u64::MAX);
    }
}
