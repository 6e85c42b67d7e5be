//! How honest a drive is: what it does with the promises that FLUSH and FUA are, and what else goes wrong when its power fails.
//!
//! The classes of failures are those that Zheng, Tucek, Qin and Lillibridge saw on real drives (Understanding the Robustness of SSDs under Power Fault, FAST '13).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What goes wrong at a power cut, apart from lies about flushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Bits of a write are flipped.
    BitCorruption,
    /// A part of a write is there, the rest is what was there before.
    Shorn,
    /// A write's data lies in another place.
    Flying,
    /// A write is gone although later ones are there.
    Unserializable,
    /// A whole range is as it was some time ago: the mapping table came back in an old version.
    Metadata,
    /// The drive does not come up again.
    Dead,
    /// The drive comes up and takes no writes any more.
    ReadOnly,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 7] = [
        Fault::BitCorruption,
        Fault::Shorn,
        Fault::Flying,
        Fault::Unserializable,
        Fault::Metadata,
        Fault::Dead,
        Fault::ReadOnly,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Fault::BitCorruption => "bit-corruption",
            Fault::Shorn => "shorn",
            Fault::Flying => "flying",
            Fault::Unserializable => "unserializable",
            Fault::Metadata => "metadata",
            Fault::Dead => "dead",
            Fault::ReadOnly => "read-only",
        }
    }

    /// Whether its rate is the chance of each cut, and not of each write.
    pub const fn is_of_the_whole_drive(self) -> bool {
        matches!(self, Fault::Dead | Fault::ReadOnly)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One way in which a drive is not honest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lie {
    /// FLUSH is acknowledged and nothing else happens.
    IgnoreFlush,
    /// A write with forced unit access is a write like any other.
    IgnoreFua,
    /// FLUSH and FUA are acknowledged at once, and what they cover is safe only so much later.
    AckEarly(Duration),
    /// This goes wrong, with this chance for each write, or each cut.
    Fault(Fault, f64),
}

/// A lie that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLie {
    /// Its name.
    #[error("`{0}` is no lie; lies are ignore-flush, ignore-fua, ack-early=TIME, and with the chance of each write {writes}, of each cut {cuts}", writes = names(false), cuts = names(true))]
    Name(String),
    /// A chance that is none.
    #[error("`{0}` needs the chance that it happens, between 0 and 1, such as {0}=0.001")]
    Chance(&'static str),
    /// A time that is none.
    #[error("`ack-early` needs a time, such as ack-early=20ms")]
    Time,
    /// A value where none belongs.
    #[error("`{0}` takes no value")]
    Plain(&'static str),
}

fn names(whole: bool) -> String {
    let of_kind = Fault::ALL.into_iter().filter(|fault| fault.is_of_the_whole_drive() == whole);
    of_kind.map(|fault| format!("{fault}=CHANCE")).collect::<Vec<_>>().join(", ")
}

impl FromStr for Lie {
    type Err = BadLie;

    fn from_str(text: &str) -> Result<Lie, BadLie> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let plain = |lie, name| if value.is_some() { Err(BadLie::Plain(name)) } else { Ok(lie) };
        match name {
            "ignore-flush" => plain(Lie::IgnoreFlush, "ignore-flush"),
            "ignore-fua" => plain(Lie::IgnoreFua, "ignore-fua"),
            "ack-early" => value.and_then(time).map(Lie::AckEarly).ok_or(BadLie::Time),
            _ => {
                let fault = Fault::ALL.into_iter().find(|fault| fault.name() == name);
                let fault = fault.ok_or_else(|| BadLie::Name(text.to_owned()))?;
                let chance = value.and_then(|value| value.parse().ok()).filter(|chance| (0.0..=1.0).contains(chance));
                chance.map(|chance| Lie::Fault(fault, chance)).ok_or(BadLie::Chance(fault.name()))
            }
        }
    }
}

/// A number with us, ms or s.
pub(crate) fn time(text: &str) -> Option<Duration> {
    let number_ends = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_ends);
    let unit_s = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    // A year at most: times are added up in 64 bits of nanoseconds.
    let seconds = Some(number.parse::<f64>().ok()? * unit_s).filter(|seconds| *seconds <= 31_536_000.0)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// How honest a drive is. The default is honest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Honesty {
    /// FLUSH does nothing.
    pub ignores_flush: bool,
    /// FUA does nothing.
    pub ignores_fua: bool,
    /// How much later than acknowledged what was flushed is safe.
    pub ack_early: Option<Duration>,
    /// What goes wrong, and the chance of it.
    pub faults: Vec<(Fault, f64)>,
}

impl Honesty {
    /// Of a drive that tells these lies; of two of one kind the later one counts.
    pub fn of(lies: &[Lie]) -> Honesty {
        let mut honesty = Honesty::default();
        for lie in lies {
            match *lie {
                Lie::IgnoreFlush => honesty.ignores_flush = true,
                Lie::IgnoreFua => honesty.ignores_fua = true,
                Lie::AckEarly(time) => honesty.ack_early = Some(time),
                Lie::Fault(fault, chance) => {
                    honesty.faults.retain(|(other, _)| *other != fault);
                    honesty.faults.push((fault, chance));
                }
            }
        }
        honesty
    }

    /// Whether it does what it promises.
    pub fn is_honest(&self) -> bool {
        *self == Honesty::default()
    }

    /// The chance of a fault.
    pub fn chance(&self, fault: Fault) -> f64 {
        self.faults.iter().find(|(other, _)| *other == fault).map_or(0.0, |(_, chance)| *chance)
    }
}

/// As it is typed, each lie behind a comma.
impl fmt::Display for Honesty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_honest() {
            return f.write_str("honest");
        }
        let mut lies = Vec::new();
        if self.ignores_flush {
            lies.push("ignore-flush".to_owned());
        }
        if self.ignores_fua {
            lies.push("ignore-fua".to_owned());
        }
        lies.extend(self.ack_early.map(|time| format!("ack-early={}us", time.as_micros())));
        lies.extend(self.faults.iter().map(|(fault, chance)| format!("{fault}={chance}")));
        f.write_str(&lies.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lies_as_they_are_typed() {
        let lies: Vec<Lie> = ["ignore-flush", "ack-early=1.5ms", "shorn=0.01", "dead=1", "shorn=0.5"]
            .map(|lie| lie.parse().unwrap())
            .into();
        let honesty = Honesty::of(&lies);
        assert_eq!(honesty.ack_early, Some(Duration::from_micros(1500)));
        assert_eq!((honesty.chance(Fault::Shorn), honesty.chance(Fault::Flying)), (0.5, 0.0));
        insta::assert_snapshot!(honesty, @"ignore-flush, ack-early=1500us, dead=1, shorn=0.5");
        insta::assert_snapshot!(Honesty::of(&[]), @"honest");
    }

    #[test]
    fn what_is_no_lie() {
        let refused = |text: &str| text.parse::<Lie>().unwrap_err().to_string();
        insta::assert_snapshot!(refused("forgets"), @"`forgets` is no lie; lies are ignore-flush, ignore-fua, ack-early=TIME, and with the chance of each write bit-corruption=CHANCE, shorn=CHANCE, flying=CHANCE, unserializable=CHANCE, metadata=CHANCE, of each cut dead=CHANCE, read-only=CHANCE");
        insta::assert_snapshot!(refused("shorn"), @"`shorn` needs the chance that it happens, between 0 and 1, such as shorn=0.001");
        insta::assert_snapshot!(refused("flying=2"), @"`flying` needs the chance that it happens, between 0 and 1, such as flying=0.001");
        insta::assert_snapshot!(refused("ack-early=20"), @"`ack-early` needs a time, such as ack-early=20ms");
        assert!("ack-early=99999999999s".parse::<Lie>().is_err());
        insta::assert_snapshot!(refused("ignore-fua=0.5"), @"`ignore-fua` takes no value");
    }
}
