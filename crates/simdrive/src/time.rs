//! Virtual time: whole nanoseconds since the start of the simulation.

/// A point in time or a duration, in nanoseconds. Integers, so two runs never differ by rounding.
pub type Ns = u64;

/// Converts microseconds of a model file to nanoseconds.
pub fn from_us(us: f64) -> Ns {
    (us * 1e3).round() as Ns
}

/// A speed, stored as the time per byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speed {
    ps_per_byte: u64,
}

impl Speed {
    /// Converts from megabytes (10^6 bytes) per second.
    pub fn from_mb_per_s(mb_per_s: f64) -> Speed {
        Speed { ps_per_byte: ((1e6 / mb_per_s).round() as u64).max(1) }
    }

    #[inline]
    pub const fn time(self, bytes: u64) -> Ns {
        bytes * self.ps_per_byte / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sata_link_takes_7_microseconds_for_4_kib() {
        assert_eq!(Speed::from_mb_per_s(560.0).time(4096), 7315);
        assert_eq!(from_us(0.7), 700);
    }
}
