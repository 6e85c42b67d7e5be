//! When the plug is pulled without anybody's doing: after so many writes, flushes, so much time, or at random moments.

use std::str::FromStr;
use std::time::Duration;

use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use simdrive::time::Ns;

/// What the plug is pulled after, counted from when the drive is on and what stands above it is there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum After {
    /// So many writes were acknowledged.
    Writes(u64),
    /// So many flushes were acknowledged.
    Flushes(u64),
    /// So much time passed.
    Time(Duration),
    /// A time by chance, this long on average, as a decaying atom's.
    Random(Duration),
}

/// What is no moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no moment for a power cut; moments are writes=N, flushes=N, time=T, random=T (by chance, after T on average), where T is like 30s or 250ms"
)]
pub struct BadAfter(String);

impl FromStr for After {
    type Err = BadAfter;

    fn from_str(text: &str) -> Result<After, BadAfter> {
        let bad = || BadAfter(text.to_owned());
        let (name, value) = text.split_once('=').ok_or_else(bad)?;
        let count = || value.parse().ok().filter(|count| *count > 0).ok_or_else(bad);
        let time = || crate::honesty::time(value).filter(|time| !time.is_zero()).ok_or_else(bad);
        match name {
            "writes" => count().map(After::Writes),
            "flushes" => count().map(After::Flushes),
            "time" => time().map(After::Time),
            "random" => time().map(After::Random),
            _ => Err(bad()),
        }
    }
}

/// Watches for the moment.
#[derive(Debug)]
pub struct Plug {
    after: Option<After>,
    chance: Xoshiro256PlusPlus,
    /// What was counted when it was armed.
    writes: u64,
    flushes: u64,
    at: Option<Ns>,
    armed: bool,
}

impl Plug {
    /// Not armed yet.
    pub fn new(after: Option<After>, seed: u64) -> Plug {
        let chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        Plug { after, chance, writes: 0, flushes: 0, at: None, armed: false }
    }

    /// The drive is in use, after so many writes and flushes in all: from here on is counted.
    pub fn arm(&mut self, now: Ns, writes: u64, flushes: u64) {
        (self.writes, self.flushes, self.armed) = (writes, flushes, true);
        self.at = match self.after {
            Some(After::Time(time)) => Some(now + time.as_nanos() as Ns),
            Some(After::Random(mean)) => {
                let share = ((self.chance.next_u64() >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
                Some(now + (-share.ln() * mean.as_nanos() as f64) as Ns)
            }
            _ => None,
        };
    }

    /// The drive was switched off: nothing is pulled any more.
    pub const fn disarm(&mut self) {
        (self.at, self.armed) = (None, false);
    }

    /// When to look again at the latest.
    pub const fn at(&self) -> Option<Ns> {
        self.at
    }

    /// Whether it is pulled now, when so many writes and flushes were acknowledged in all.
    #[inline]
    pub fn is_due(&self, now: Ns, writes: u64, flushes: u64) -> bool {
        match self.after.filter(|_| self.armed) {
            None => false,
            Some(After::Writes(count)) => writes - self.writes >= count,
            Some(After::Flushes(count)) => flushes - self.flushes >= count,
            Some(After::Time(_) | After::Random(_)) => self.at.is_some_and(|at| at <= now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn armed(after: &str, seed: u64) -> Plug {
        let mut plug = Plug::new(Some(after.parse().unwrap()), seed);
        assert!(!plug.is_due(Ns::MAX, u64::MAX, u64::MAX));
        plug.arm(0, 0, 0);
        plug
    }

    #[test]
    fn counts_from_the_last_start() {
        let mut plug = armed("flushes=3", 0);
        assert!(!plug.is_due(0, 100, 2) && plug.is_due(0, 0, 3));
        plug.arm(0, 0, 3);
        assert!(!plug.is_due(0, 100, 5) && plug.is_due(0, 0, 6));
        plug.disarm();
        assert!(!plug.is_due(0, 0, 6));
        let plug = armed("time=2ms", 0);
        assert!(!plug.is_due(1_999_999, 0, 0) && plug.is_due(2_000_000, 0, 0));
        let mut plug = Plug::new(None, 0);
        plug.arm(0, 0, 0);
        assert!(!plug.is_due(Ns::MAX, u64::MAX, u64::MAX));
    }

    #[test]
    fn random_moments_have_the_mean_that_was_asked_for() {
        let mean_s: f64 =
            (0..2000).map(|seed| armed("random=1s", seed).at().unwrap() as f64 / 1e9).sum::<f64>() / 2000.0;
        assert!((0.9..1.1).contains(&mean_s), "{mean_s}");
    }

    #[test]
    fn what_is_no_moment() {
        for wrong in ["", "writes", "writes=0", "writes=-1", "time=5", "random=0s", "reads=7"] {
            assert!(wrong.parse::<After>().is_err(), "{wrong}");
        }
        insta::assert_snapshot!("soon".parse::<After>().unwrap_err(), @"`soon` is no moment for a power cut; moments are writes=N, flushes=N, time=T, random=T (by chance, after T on average), where T is like 30s or 250ms");
    }
}
