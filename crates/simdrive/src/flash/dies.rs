//! When dies and channels are free: the medium's own clockwork.
//!
//! Each die does one thing at a time, each channel carries one transfer at a time. A read does not wait for a program to end: flash suspends it
//! (datasheets of the ONFI generation give tens of microseconds for that), and the program ends later by as much.

use crate::time::{Ns, Speed};

/// Getting a die out of a program for a read.
const SUSPEND_NS: Ns = 50_000;

/// The dies of a drive and the channels that they share.
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
    /// Idle ones.
    pub fn new(dies: u32, channels: u32, channel_speed: Speed, read_ns: Ns) -> Dies {
        Dies {
            each: vec![Die::default(); dies as usize],
            channels: vec![0; channels as usize],
            channel_speed,
            read_ns,
            busy_until: 0,
        }
    }

    /// When the last of them becomes idle.
    pub const fn busy_until(&self) -> Ns {
        self.busy_until
    }

    /// Programs `bytes` that are at hand at `ready`. Begin and end of the program itself.
    pub fn program(&mut self, die: usize, ready: Ns, bytes: u64, program_ns: Ns) -> (Ns, Ns) {
        let carried = self.carry(die, ready, bytes);
        let die = &mut self.each[die];
        let begin = carried.max(die.programs_until).max(die.reads_until);
        let end = begin + program_ns;
        die.programs_until = end;
        self.busy_until = self.busy_until.max(end);
        (begin, end)
    }

    /// Reads `bytes` of one page out of a die. When they are at the controller.
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

    /// Keeps a die busy with housekeeping that nobody waits for by itself.
    pub fn occupy(&mut self, die: usize, from: Ns, time: Ns) {
        let die = &mut self.each[die];
        die.programs_until = die.programs_until.max(from) + time;
        self.busy_until = self.busy_until.max(die.programs_until);
    }

    /// Nothing is under way any more: the power went.
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
