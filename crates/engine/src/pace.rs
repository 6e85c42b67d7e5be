//! A fixed offered load: the time at which each operation is due.

use std::time::Duration;

use workload::access::Gaps;

use crate::clock::Clock;

/// The end of each wait is a spin of this length, because a sleep ends late by the timer slack and
/// the scheduler's wake-up latency.
const SPIN: Duration = Duration::from_micros(60);

/// The times, in ticks, at which a job's operations are due.
#[derive(Debug)]
pub struct Pace {
    clock: Clock,
    gaps: Gaps,
    ticks_per_s: f64,
    due: f64,
}

impl Pace {
    /// The first operation is due at `start`.
    pub fn new(gaps: Gaps, clock: Clock, start: u64) -> Pace {
        let ticks_per_s = clock.ticks_of(Duration::from_secs(1)) as f64;
        Pace { clock, gaps, ticks_per_s, due: start as f64 }
    }

    /// The time at which the next operation is due.
    pub fn due(&self) -> u64 {
        self.due as u64
    }

    /// Moves on to the next operation.
    pub fn advance(&mut self) {
        self.due += self.gaps.next_s() * self.ticks_per_s;
    }

    /// Waits until the next operation is due or until `deadline`, whichever comes first. Returns
    /// immediately if it is overdue.
    pub fn wait(&self, deadline: u64) {
        wait_until(self.clock, self.due().min(deadline));
    }
}

/// Waits until the clock shows `until`, or for a shorter time, so the caller can look for a stop.
pub fn wait_until(clock: Clock, until: u64) {
    let spin = clock.ticks_of(SPIN);
    loop {
        let now = clock.ticks();
        if now >= until {
            return;
        }
        if until - now > spin {
            // In slices, so a stop is noticed promptly even at one operation per minute.
            let sleep =
                Duration::from_nanos(clock.ns(until - now - spin)).min(Duration::from_millis(50));
            std::thread::sleep(sleep);
            if sleep == Duration::from_millis(50) {
                return;
            }
        } else {
            std::hint::spin_loop();
        }
    }
}
