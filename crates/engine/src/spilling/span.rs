//! Wall time and CPU time of a section.

use std::ops::{Add, AddAssign, Sub};

use crate::clock::{Clock, thread_cpu_ns};

/// A duration, or a point in time as the duration since some start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    pub wall_ns: u64,
    /// CPU time of the thread, in user and kernel mode.
    pub cpu_ns: u64,
}

impl Span {
    /// The current time of this thread.
    pub fn now(clock: Clock) -> Span {
        Span { wall_ns: clock.ns(clock.ticks()), cpu_ns: thread_cpu_ns() }
    }

    /// Splits the CPU time between a part with a known wall time and the rest. Waiting for a
    /// processor is assumed to be spread evenly over both.
    pub fn split(self, part_wall_ns: u64) -> (u64, u64) {
        let share = (part_wall_ns as f64 / self.wall_ns.max(1) as f64).min(1.0);
        let part_ns = (self.cpu_ns as f64 * share) as u64;
        (part_ns, self.cpu_ns - part_ns.min(self.cpu_ns))
    }

    /// Time off the processor. The two clocks are not read at the same instant, so they differ
    /// slightly.
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
        Span {
            wall_ns: self.wall_ns.saturating_sub(other.wall_ns),
            cpu_ns: self.cpu_ns.saturating_sub(other.cpu_ns),
        }
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
        assert_eq!(
            (clocks_that_differ.off_cpu_ns(), clocks_that_differ - span),
            (0, Span::default())
        );
    }
}
