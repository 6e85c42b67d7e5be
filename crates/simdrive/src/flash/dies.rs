//! The schedule of dies and channels: the timing of the medium.
//!
//! Each die performs one operation at a time, and each channel carries one transfer at a time. A
//! read does not wait for the end of a program: the flash suspends the program (datasheets of the
//! ONFI generation specify tens of microseconds), which then ends later by the same amount.

use crate::time::{Ns, Speed};

/// Time to suspend a program for a read.
const SUSPEND_NS: Ns = 50_000;

/// The dies of a drive and their shared channels.
#[derive(Debug, Clone)]
pub struct Dies {
    each: Vec<Die>,
    channels: Vec<Ns>,
    channel_speed: Speed,
    read_ns: Ns,
    busy_until: Ns,
}

#[derive(Debug, Clone, Copy, Default)]
struct Die {
    programs_until: Ns,
    reads_until: Ns,
}

impl Dies {
    pub fn new(dies: u32, channels: u32, channel_speed: Speed, read_ns: Ns) -> Dies {
        Dies {
            each: vec![Die::default(); dies as usize],
            channels: vec![0; channels as usize],
            channel_speed,
            read_ns,
            busy_until: 0,
        }
    }

    /// When the last die becomes idle.
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
        let read_ns = self.read_ns;
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
        Dies::new(2, 1, Speed::from_mb_per_s(1000.0), 60_000)
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
    fn a_read_suspends_a_program_and_delays_its_end() {
        let mut dies = dies();
        dies.program(0, 0, 0, 500_000);
        assert_eq!(dies.read(0, 100_000, 0), 100_000 + SUSPEND_NS + 60_000);
        assert_eq!(dies.program(0, 0, 0, 500_000), (560_000, 1_060_000));
    }
}
