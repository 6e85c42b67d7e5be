//! A clock of the time of day, compared with this process's own, which does not jump.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// Questions to the clock; the fastest answer counts.
const QUESTIONS: u32 = 8;

/// Times converted by one comparison keep their order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// A moment, and the clock's time at it in microseconds since 1970.
    moment: Instant,
    at_us: i64,
    /// Of the comparison.
    pub error: Duration,
}

impl Clock {
    /// Compares a clock that answers with microseconds since 1970.
    pub fn compare<E>(mut ask: impl FnMut() -> Result<i64, E>) -> Result<Clock, E> {
        let mut question = || {
            let asked = Instant::now();
            let at_us = ask()?;
            let error = asked.elapsed() / 2;
            Ok(Clock { moment: asked + error, at_us, error })
        };
        let mut best: Clock = question()?;
        for _ in 1..QUESTIONS {
            let clock = question()?;
            if clock.error < best.error {
                best = clock;
            }
        }
        Ok(best)
    }

    pub fn of_this_host() -> Clock {
        let Ok(clock) = Clock::compare(|| Ok::<_, Infallible>(Timestamp::now().as_microsecond()));
        clock
    }

    pub fn instant(&self, at_us: i64) -> Instant {
        let ahead = Duration::from_micros(at_us.abs_diff(self.at_us));
        if at_us >= self.at_us {
            self.moment + ahead
        } else {
            self.moment.checked_sub(ahead).unwrap_or(self.moment)
        }
    }

    pub fn at_us(&self, moment: Instant) -> i64 {
        let us = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        match moment.checked_duration_since(self.moment) {
            Some(ahead) => self.at_us.saturating_add(us(ahead)),
            None => self.at_us.saturating_sub(us(self.moment - moment)),
        }
    }

    pub fn at(&self, moment: Instant) -> Timestamp {
        Timestamp::from_microsecond(self.at_us(moment)).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_answer_counts() {
        let mut question = 0;
        let clock = Clock::compare(|| {
            question += 1;
            // A slow answer is old when it arrives.
            if question != 3 {
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok::<_, Infallible>(question)
        });
        let Ok(clock) = clock;
        assert_eq!((question, clock.at_us), (i64::from(QUESTIONS), 3));
        assert!(clock.error < Duration::from_millis(10), "{clock:?}");
    }

    #[test]
    fn a_clock_that_cannot_be_asked_is_an_error() {
        assert_eq!(Clock::compare(|| Err("gone")).unwrap_err(), "gone");
    }

    #[test]
    fn times_before_and_after_the_comparison_keep_their_order_and_distance() {
        let clock = Clock::of_this_host();
        let times: Vec<i64> =
            (-5..=5).map(|step| clock.at_us(clock.instant(clock.at_us + step * 10))).collect();
        let expected: Vec<i64> = (-5..=5).map(|step| clock.at_us + step * 10).collect();
        assert_eq!(times, expected);
        assert_eq!(clock.at(clock.moment).as_microsecond(), clock.at_us);
    }
}
