//! Time from the processor's time-stamp counter.
//!
//! A clock that takes 40 ns to read cannot measure a latency of 80 ns. If the kernel itself trusts
//! the time-stamp counter (uses it as its clock source: invariant, synchronised between CPUs), the
//! counter is read directly (about 9 ns in a virtual machine) and scaled by a factor calibrated
//! once against `CLOCK_MONOTONIC`. Otherwise, `CLOCK_MONOTONIC` is read through the vDSO.

use std::sync::OnceLock;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use workload::{Bounds, Limit};

/// Duration of the calibration: reading jitter of about 40 ns over this span is 2 ppm.
const CALIBRATION: Duration = Duration::from_millis(20);
/// Fraction bits of the fixed-point factor.
const FRACTION_BITS: u32 = 32;

/// A source of ticks, with their duration.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    counter: bool,
    ns_per_tick: u64,
}

impl Clock {
    /// The machine's clock. The first call calibrates it, which takes 20 ms if the counter is used.
    pub fn calibrated() -> Clock {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| {
            if counter::is_trusted() { Clock::calibrate() } else { Clock::MONOTONIC }
        })
    }

    const MONOTONIC: Clock = Clock { counter: false, ns_per_tick: 1 << FRACTION_BITS };

    fn calibrate() -> Clock {
        let (ticks_before, ns_before) = paired_reading();
        std::thread::sleep(CALIBRATION);
        let (ticks_after, ns_after) = paired_reading();
        let ticks = u128::from(ticks_after.saturating_sub(ticks_before));
        if ticks == 0 {
            return Clock::MONOTONIC;
        }
        let ns = u128::from(ns_after - ns_before);
        Clock { counter: true, ns_per_tick: ((ns << FRACTION_BITS) / ticks) as u64 }
    }

    /// The current time in ticks.
    #[inline]
    pub fn ticks(&self) -> u64 {
        if self.counter { counter::read() } else { monotonic_ns() }
    }

    /// Converts ticks to nanoseconds.
    #[inline]
    pub fn ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.ns_per_tick)) >> FRACTION_BITS) as u64
    }

    pub fn ticks_of(&self, span: Duration) -> u64 {
        u64::try_from((span.as_nanos() << FRACTION_BITS) / u128::from(self.ns_per_tick.max(1)))
            .unwrap_or(u64::MAX)
    }

    /// The end of a phase with this limit that starts at `start`.
    pub fn bounds(&self, limit: Limit, start: u64) -> Bounds {
        Bounds::new(limit, start, |time| self.ticks_of(time))
    }
}

/// Reads the counter and the kernel's clock at the same time: the closest pair of several attempts,
/// in case of an interrupt between the two readings.
fn paired_reading() -> (u64, u64) {
    let attempt = || {
        let before = counter::read();
        let ns = monotonic_ns();
        let after = counter::read();
        (after.wrapping_sub(before), before + after.wrapping_sub(before) / 2, ns)
    };
    let (_, ticks, ns) =
        (0..16).map(|_| attempt()).min_by_key(|&(width, ..)| width).unwrap_or((0, 0, 0));
    (ticks, ns)
}

fn monotonic_ns() -> u64 {
    ns_of(ClockId::Monotonic)
}

/// CPU time of the calling thread, in user and kernel mode. A system call of some hundred ns.
pub fn thread_cpu_ns() -> u64 {
    ns_of(ClockId::ThreadCPUTime)
}

fn ns_of(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
mod counter {
    /// Reads the time-stamp counter. Not ordered against neighbouring instructions, but the system
    /// call between two readings is.
    #[inline]
    #[expect(unsafe_code, reason = "the counter has no safe wrapper")]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 processor has the instruction, and Linux allows it in user mode.
        unsafe { core::arch::x86_64::_rdtsc() }
    }

    /// The kernel selects the counter as its clock source only after checking that it neither stops
    /// nor drifts between CPUs.
    pub(super) fn is_trusted() -> bool {
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .is_ok_and(|source| source.trim() == "tsc")
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod counter {
    pub(super) fn read() -> u64 {
        super::monotonic_ns()
    }

    pub(super) fn is_trusted() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_kernel_s_clock() {
        for clock in [Clock::calibrated(), Clock::MONOTONIC] {
            let (ticks, ns) = (clock.ticks(), monotonic_ns());
            std::thread::sleep(Duration::from_millis(30));
            let measured = clock.ns(clock.ticks() - ticks) as f64;
            let real = (monotonic_ns() - ns) as f64;
            assert!((measured / real - 1.0).abs() < 0.01, "{clock:?}: {measured} against {real}");
        }
    }

    #[test]
    fn a_thread_that_sleeps_is_on_no_processor() {
        let before = thread_cpu_ns();
        std::thread::sleep(Duration::from_millis(50));
        assert!(thread_cpu_ns() - before < 20_000_000);
        let worked = thread_cpu_ns();
        while thread_cpu_ns() - worked < 5_000_000 {}
    }

    #[test]
    fn spans_convert_back() {
        let clock = Clock { counter: true, ns_per_tick: (1 << FRACTION_BITS) / 3 };
        let ticks = clock.ticks_of(Duration::from_hours(1));
        assert!(clock.ns(ticks).abs_diff(3_600_000_000_000) < 10_000);
    }
}
