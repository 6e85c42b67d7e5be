//! The schedule of dies and channels: the timing of the medium.
//!
//! Each die performs one operation at a time, and each channel carries one transfer at a time. A
//! read does not wait for the end of a program: the flash suspends the program (datasheets of the
//! ONFI generation specify tens of microseconds), which then ends later by the same amount.

use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::chance::exponential;
use crate::time::{Ns, Speed};

/// Time to suspend a program for a read.
const SUSPEND_NS: Ns = 50_000;

/// The time of reading a page: constant, or the sum of a constant and an exponentially distributed
/// part.
#[derive(Debug, Clone)]
pub struct Sense {
    mean_ns: f64,
    /// Standard deviation as a share of the mean, from 0 to 1.
    spread: f64,
    draws: Xoshiro256PlusPlus,
}

impl Sense {
    /// `spread` is the standard deviation as a share of the mean.
    pub fn new(mean_us: f64, spread: f64) -> Sense {
        Sense { mean_ns: mean_us * 1e3, spread, draws: Xoshiro256PlusPlus::seed_from_u64(0) }
    }

    fn next(&mut self) -> Ns {
        if self.spread == 0.0 {
            return self.mean_ns as Ns;
        }
        let varying = exponential(&mut self.draws);
        (self.mean_ns * (1.0 - self.spread + self.spread * varying)) as Ns
    }
}

/// The dies of a drive and their shared channels.
#[derive(Debug, Clone)]
pub struct Dies {
    each: Vec<Die>,
    channels: Vec<Ns>,
    channel_speed: Speed,
    sense: Sense,
    busy_until: Ns,
}

#[derive(Debug, Clone, Copy, Default)]
struct Die {
    programs_until: Ns,
    reads_until: Ns,
}

impl Dies {
    pub fn new(dies: u32, channels: u32, channel_speed: Speed, sense: Sense) -> Dies {
        Dies {
            each: vec![Die::default(); dies as usize],
            channels: vec![0; channels as usize],
            channel_speed,
            sense,
            busy_until: 0,
        }
    }

    /// The time at which the last die becomes idle.
    pub const fn busy_until(&self) -> Ns {
        self.busy_until
    }

    /// Programs `bytes` that are available at `ready`. Returns start and end of the program itself.
    pub fn program(&mut self, die: usize, ready: Ns, bytes: u64, program_ns: Ns) -> (Ns, Ns) {
        let carried = self.carry(die, ready, bytes);
        let die = &mut self.each[die];
        let begin = carried.max(die.programs_until).max(die.reads_until);
        let end = begin + program_ns;
        die.programs_until = end;
        self.busy_until = self.busy_until.max(end);
        (begin, end)
    }

    /// Reads `bytes` of one page from a die. Returns when they are at the controller.
    pub fn read(&mut self, die: usize, now: Ns, bytes: u64) -> Ns {
        let read_ns = self.sense.next();
        let this = &mut self.each[die];
        let begin = now.max(this.reads_until).max(this.programs_until.min(now + SUSPEND_NS));
        if this.programs_until > begin {
            this.programs_until += read_ns;
        }
        this.reads_until = begin + read_ns;
        let sensed = this.reads_until;
        let end = self.carry(die, sensed, bytes);
        self.busy_until = self.busy_until.max(end);
        end
    }

    /// Occupies a die with housekeeping that no command waits for.
    pub fn occupy(&mut self, die: usize, from: Ns, time: Ns) {
        let die = &mut self.each[die];
        die.programs_until = die.programs_until.max(from) + time;
        self.busy_until = self.busy_until.max(die.programs_until);
    }

    /// Stops all operations, as after a power cut.
    pub fn stop(&mut self) {
        self.each.fill(Die::default());
        self.channels.fill(0);
        self.busy_until = 0;
    }

    fn carry(&mut self, die: usize, ready: Ns, bytes: u64) -> Ns {
        let channels = self.channels.len();
        let channel = &mut self.channels[die % channels];
        *channel = (*channel).max(ready) + self.channel_speed.time(bytes);
        *channel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dies() -> Dies {
        Dies::new(2, 1, Speed::from_mb_per_s(1000.0), Sense::new(60.0, 0.0))
    }

    #[test]
    fn two_dies_program_side_by_side_behind_one_channel() {
        let mut dies = dies();
        assert_eq!(dies.program(0, 0, 16_000, 500_000), (16_000, 516_000));
        assert_eq!(dies.program(1, 0, 16_000, 500_000), (32_000, 532_000));
        assert_eq!(dies.program(0, 0, 16_000, 500_000), (516_000, 1_016_000));
        assert_eq!(dies.busy_until(), 1_016_000);
    }

    #[test]
    fn times_of_reads_have_the_mean_and_the_deviation_asked_for() {
        for spread in [0.0, 0.4, 1.0] {
            let mut sense = Sense::new(60.0, spread);
            let times: Vec<f64> = (0..100_000).map(|_| sense.next() as f64 / 1e3).collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let variance =
                times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / times.len() as f64;
            assert!((mean - 60.0).abs() < 0.5, "{spread}: {mean}");
            assert!((variance.sqrt() - 60.0 * spread).abs() < 0.6, "{spread}: {variance}");
            assert!(times.iter().all(|time| *time >= 60.0 * (1.0 - spread) - 0.001));
        }
    }

    #[test]
    fn a_read_suspends_a_program_and_delays_its_end() {
        let mut dies = dies();
        dies.program(0, 0, 0, 500_000);
        assert_eq!(dies.read(0, 100_000, 0), 100_000 + SUSPEND_NS + 60_000);
        assert_eq!(dies.program(0, 0, 0, 500_000), (560_000, 1_060_000));
    }
}
