//! Automatic power cuts: after a number of writes or flushes, after a time, or at random.

use std::str::FromStr;
use std::time::Duration;

use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use simdrive::Ns;

/// When to cut the power, counted from when the drive is on and everything on top of it is set up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CutAfter {
    /// After this many acknowledged writes.
    Writes(u64),
    /// After this many acknowledged flushes.
    Flushes(u64),
    Time(Duration),
    /// After a random, exponentially distributed time with this mean.
    Random(Duration),
}

/// An invalid moment for a power cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid moment for a power cut `{0}`; expected writes=N, flushes=N, time=T or random=T \
     (random, with mean T), where T is a time such as 30s or 250ms"
)]
pub struct InvalidCutAfter(String);

impl FromStr for CutAfter {
    type Err = InvalidCutAfter;

    fn from_str(text: &str) -> Result<CutAfter, InvalidCutAfter> {
        let bad = || InvalidCutAfter(text.to_owned());
        let (name, value) = text.split_once('=').ok_or_else(bad)?;
        let count = || value.parse().ok().filter(|count| *count > 0).ok_or_else(bad);
        let time = || crate::honesty::time(value).filter(|time| !time.is_zero()).ok_or_else(bad);
        match name {
            "writes" => count().map(CutAfter::Writes),
            "flushes" => count().map(CutAfter::Flushes),
            "time" => time().map(CutAfter::Time),
            "random" => time().map(CutAfter::Random),
            _ => Err(bad()),
        }
    }
}

/// Watches for the moment of the power cut.
#[derive(Debug)]
pub struct CutTrigger {
    after: Option<CutAfter>,
    chance: Xoshiro256PlusPlus,
    /// Number of writes when it was armed.
    writes: u64,
    flushes: u64,
    at: Option<Ns>,
    armed: bool,
}

impl CutTrigger {
    /// Creates an unarmed trigger.
    pub fn new(after: Option<CutAfter>, seed: u64) -> CutTrigger {
        let chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        CutTrigger { after, chance, writes: 0, flushes: 0, at: None, armed: false }
    }

    /// Arms it when the drive comes into use, after this many writes and flushes in total.
    pub fn arm(&mut self, now: Ns, writes: u64, flushes: u64) {
        (self.writes, self.flushes, self.armed) = (writes, flushes, true);
        self.at = match self.after {
            Some(CutAfter::Time(time)) => Some(now + time.as_nanos() as Ns),
            Some(CutAfter::Random(mean)) => {
                let share = ((self.chance.next_u64() >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
                Some(now + (-share.ln() * mean.as_nanos() as f64) as Ns)
            }
            _ => None,
        };
    }

    /// Disarms it when the drive is switched off.
    pub const fn disarm(&mut self) {
        (self.at, self.armed) = (None, false);
    }

    /// The latest time at which to check again.
    pub const fn at(&self) -> Option<Ns> {
        self.at
    }

    /// Returns whether to cut now, after this many acknowledged writes and flushes in total.
    #[inline]
    pub fn is_due(&self, now: Ns, writes: u64, flushes: u64) -> bool {
        match self.after.filter(|_| self.armed) {
            None => false,
            Some(CutAfter::Writes(count)) => writes - self.writes >= count,
            Some(CutAfter::Flushes(count)) => flushes - self.flushes >= count,
            Some(CutAfter::Time(_) | CutAfter::Random(_)) => self.at.is_some_and(|at| at <= now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn armed(after: &str, seed: u64) -> CutTrigger {
        let mut trigger = CutTrigger::new(Some(after.parse().unwrap()), seed);
        assert!(!trigger.is_due(Ns::MAX, u64::MAX, u64::MAX));
        trigger.arm(0, 0, 0);
        trigger
    }

    #[test]
    fn counts_from_the_last_start() {
        let mut trigger = armed("flushes=3", 0);
        assert!(!trigger.is_due(0, 100, 2) && trigger.is_due(0, 0, 3));
        trigger.arm(0, 0, 3);
        assert!(!trigger.is_due(0, 100, 5) && trigger.is_due(0, 0, 6));
        trigger.disarm();
        assert!(!trigger.is_due(0, 0, 6));
        let trigger = armed("time=2ms", 0);
        assert!(!trigger.is_due(1_999_999, 0, 0) && trigger.is_due(2_000_000, 0, 0));
        let mut trigger = CutTrigger::new(None, 0);
        trigger.arm(0, 0, 0);
        assert!(!trigger.is_due(Ns::MAX, u64::MAX, u64::MAX));
    }

    #[test]
    fn random_moments_have_the_mean_that_was_asked_for() {
        let mean_s: f64 =
            (0..2000).map(|seed| armed("random=1s", seed).at().unwrap() as f64 / 1e9).sum::<f64>()
                / 2000.0;
        assert!((0.9..1.1).contains(&mean_s), "{mean_s}");
    }

    #[test]
    fn invalid_moments_are_refused() {
        for wrong in ["", "writes", "writes=0", "writes=-1", "time=5", "random=0s", "reads=7"] {
            assert!(wrong.parse::<CutAfter>().is_err(), "{wrong}");
        }
        insta::assert_snapshot!("soon".parse::<CutAfter>().unwrap_err(), @"invalid moment for a power cut `soon`; expected writes=N, flushes=N, time=T or random=T (random, with mean T), where T is a time such as 30s or 250ms");
    }
}
