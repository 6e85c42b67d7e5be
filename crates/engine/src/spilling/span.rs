//! How long something took, and how much of that its thread was on a processor.

use std::ops::{Add, AddAssign, Sub};

use crate::clock::{Clock, thread_cpu_ns};

/// A length of time, or a moment: the time since some beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// All of it.
    pub wall_ns: u64,
    /// Of the thread's own code, and of the kernel's on its behalf.
    pub cpu_ns: u64,
}

impl Span {
    /// This moment, as this thread has it.
    pub fn now(clock: Clock) -> Span {
        Span { wall_ns: clock.ns(clock.ticks()), cpu_ns: thread_cpu_ns() }
    }

    /// The processor's time of a part that is known to have lasted so long, and that of the rest. The thread waits for a
    /// processor in both of them alike, for all that is known.
    pub fn split(self, part_wall_ns: u64) -> (u64, u64) {
        let share = (part_wall_ns as f64 / self.wall_ns.max(1) as f64).min(1.0);
        let part_ns = (self.cpu_ns as f64 * share) as u64;
        (part_ns, self.cpu_ns - part_ns.min(self.cpu_ns))
    }

    /// Time on no processor. The two clocks are not read at once and differ by little.
    pub fn off_cpu_ns(self) -> u64 {
        self.wall_ns.saturating_sub(self.cpu_ns)
    }
}

impl Add for Span {
    type Output = Span;

    fn add(self, other: Span) -> Span {
        Span { wall_ns: self.wall_ns + other.wall_ns, cpu_ns: self.cpu_ns + other.cpu_ns }
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;

    fn sub(self, other: Span) -> Span {
        Span { wall_ns: self.wall_ns.saturating_sub(other.wall_ns), cpu_ns: self.cpu_ns.saturating_sub(other.cpu_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_spread_over_the_parts() {
        let span = Span { wall_ns: 1000, cpu_ns: 600 };
        assert_eq!((span.split(250), span.off_cpu_ns()), ((150, 450), 400));
        assert_eq!((span.split(0), span.split(2000)), ((0, 600), (600, 0)));
        assert_eq!(Span::default().split(7), (0, 0));
        let clocks_that_differ = Span { wall_ns: 10, cpu_ns: 11 };
        assert_eq!((clocks_that_differ.off_cpu_ns(), clocks_that_differ - span), (0, Span::default()));
    }
}
