//! A fixed offered load: when each operation is due.

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use workload::{Arrivals, Rate};

use crate::clock::Clock;

/// Waiting ends in a spin of this length, because a sleep ends late by the timer's slack and the scheduler's wake-up.
const SPIN: Duration = Duration::from_micros(60);

/// The moments, in ticks, at which a job's operations are due.
#[derive(Debug)]
pub struct Pace {
    clock: Clock,
    arrivals: Arrivals,
    gap_ticks: f64,
    generator: Xoshiro256PlusPlus,
    due: f64,
}

impl Pace {
    /// The first operation is due at `start`.
    pub fn new(rate: Rate, clock: Clock, generator: Xoshiro256PlusPlus, start: u64) -> Pace {
        let gap_ticks = clock.ticks_of(Duration::from_secs(1)) as f64 / rate.per_second;
        Pace { clock, arrivals: rate.arrivals, gap_ticks, generator, due: start as f64 }
    }

    /// When the next operation is due.
    pub fn due(&self) -> u64 {
        self.due as u64
    }

    /// The operation that was due has been issued: on to the next.
    pub fn advance(&mut self) {
        use rand_core::Rng as _;
        let gap = match self.arrivals {
            Arrivals::Constant => self.gap_ticks,
            Arrivals::Poisson => {
                // Inverse of the exponential distribution; 53 random bits shifted off zero, so that the logarithm is finite.
                let uniform = ((self.generator.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
                -uniform.ln() * self.gap_ticks
            }
        };
        self.due += gap;
    }

    /// Waits until the next operation is due, or `deadline`, whichever comes first. Returns at once when it is overdue.
    pub fn wait(&self, deadline: u64) {
        let until = self.due().min(deadline);
        let spin = self.clock.ticks_of(SPIN);
        loop {
            let now = self.clock.ticks();
            if now >= until {
                return;
            }
            if until - now > spin {
                // In slices, so that a stop is noticed soon even at one operation a minute.
                let sleep = Duration::from_nanos(self.clock.ns(until - now - spin)).min(Duration::from_millis(50));
                std::thread::sleep(sleep);
                if sleep == Duration::from_millis(50) {
                    return;
                }
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::generator;

    fn dues(arrivals: Arrivals) -> Vec<f64> {
        let clock = Clock::calibrated();
        let mut pace = Pace::new(Rate { per_second: 1e6, arrivals }, clock, generator(3, 0), 0);
        (0..100_000)
            .map(|_| {
                pace.advance();
                clock.ns(pace.due()) as f64
            })
            .collect()
    }

    #[test]
    fn both_kinds_offer_the_rate_asked() {
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let last = *dues(arrivals).last().unwrap();
            assert!((last / 1e8 - 1.0).abs() < 0.02, "{arrivals:?}: {last}");
        }
    }

    #[test]
    fn poisson_gaps_vary_as_an_exponential_does() {
        let dues = dues(Arrivals::Poisson);
        let gaps: Vec<f64> = dues.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!(
            (deviation / mean - 1.0).abs() < 0.05,
            "an exponential's deviation is its mean, not {}",
            deviation / mean
        );
    }
}
