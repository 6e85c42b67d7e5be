//! A drive's honesty: how it keeps the promises of FLUSH and FUA, and which faults happen when its
//! power fails.
//!
//! The fault classes are those that Zheng, Tucek, Qin and Lillibridge saw on real drives
//! (Understanding the Robustness of SSDs under Power Fault, FAST '13).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Faults at a power cut, apart from lies about flushes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Some bits of a write are flipped.
    BitCorruption,
    /// A torn ("shorn") write: one part is new, the rest is the previous content.
    Shorn,
    /// A misdirected ("flying") write: the data is in another place.
    Flying,
    /// A lost write, although later ones survived.
    Unserializable,
    /// A whole range reverts to an earlier state: an old version of the mapping table came back.
    Metadata,
    /// The drive does not start again.
    Dead,
    /// The drive starts, but accepts no more writes.
    ReadOnly,
}

impl Fault {
    pub const ALL: [Fault; 7] = [
        Fault::BitCorruption,
        Fault::Shorn,
        Fault::Flying,
        Fault::Unserializable,
        Fault::Metadata,
        Fault::Dead,
        Fault::ReadOnly,
    ];

    /// Name on the command line.
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

    /// Returns whether its rate is the probability per cut, not per write.
    pub const fn is_of_the_whole_drive(self) -> bool {
        matches!(self, Fault::Dead | Fault::ReadOnly)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One way in which a drive is dishonest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lie {
    /// FLUSH is acknowledged but does nothing.
    IgnoreFlush,
    /// FUA is ignored: the write is treated like any other.
    IgnoreFua,
    /// FLUSH and FUA are acknowledged at once, but take effect only after this time.
    AckEarly(Duration),
    /// This fault happens with this probability per write, or per cut.
    Fault(Fault, f64),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLie {
    #[error("unknown lie `{0}`; expected ignore-flush, ignore-fua, ack-early=TIME, or a fault: \
             with a probability per write {writes}, or per cut {cuts}", writes = names(false), cuts = names(true))]
    Name(String),
    #[error("`{0}` needs a probability between 0 and 1, such as {0}=0.001")]
    Chance(&'static str),
    #[error("`ack-early` needs a time, such as ack-early=20ms")]
    Time,
    #[error("`{0}` takes no value")]
    Plain(&'static str),
}

fn names(whole: bool) -> String {
    let of_kind = Fault::ALL.into_iter().filter(|fault| fault.is_of_the_whole_drive() == whole);
    of_kind.map(|fault| format!("{fault}=CHANCE")).collect::<Vec<_>>().join(", ")
}

impl FromStr for Lie {
    type Err = InvalidLie;

    fn from_str(text: &str) -> Result<Lie, InvalidLie> {
        let (name, value) =
            text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let plain =
            |lie, name| if value.is_some() { Err(InvalidLie::Plain(name)) } else { Ok(lie) };
        match name {
            "ignore-flush" => plain(Lie::IgnoreFlush, "ignore-flush"),
            "ignore-fua" => plain(Lie::IgnoreFua, "ignore-fua"),
            "ack-early" => value.and_then(time).map(Lie::AckEarly).ok_or(InvalidLie::Time),
            _ => {
                let fault = Fault::ALL.into_iter().find(|fault| fault.name() == name);
                let fault = fault.ok_or_else(|| InvalidLie::Name(text.to_owned()))?;
                let chance = value
                    .and_then(|value| value.parse().ok())
                    .filter(|chance| (0.0..=1.0).contains(chance));
                chance
                    .map(|chance| Lie::Fault(fault, chance))
                    .ok_or(InvalidLie::Chance(fault.name()))
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
    // At most a year: times are added up in 64 bits of nanoseconds.
    let seconds =
        Some(number.parse::<f64>().ok()? * unit_s).filter(|seconds| *seconds <= 31_536_000.0)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The lies of a drive. The default is an honest one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Honesty {
    /// True if FLUSH does nothing.
    pub ignores_flush: bool,
    /// True if FUA does nothing.
    pub ignores_fua: bool,
    /// The delay between the acknowledgement of a flush and its effect.
    pub ack_early: Option<Duration>,
    /// Faults with their probabilities.
    pub faults: Vec<(Fault, f64)>,
}

impl Honesty {
    /// The honesty of a drive with these lies; of two lies of the same kind, the later one counts.
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

    /// Returns whether it keeps all promises.
    pub fn is_honest(&self) -> bool {
        *self == Honesty::default()
    }

    pub fn chance(&self, fault: Fault) -> f64 {
        self.faults.iter().find(|(other, _)| *other == fault).map_or(0.0, |(_, chance)| *chance)
    }
}

/// The lies as typed, separated by commas.
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
        let lies: Vec<Lie> =
            ["ignore-flush", "ack-early=1.5ms", "shorn=0.01", "dead=1", "shorn=0.5"]
                .map(|lie| lie.parse().unwrap())
                .into();
        let honesty = Honesty::of(&lies);
        assert_eq!(honesty.ack_early, Some(Duration::from_micros(1500)));
        assert_eq!((honesty.chance(Fault::Shorn), honesty.chance(Fault::Flying)), (0.5, 0.0));
        insta::assert_snapshot!(honesty, @"ignore-flush, ack-early=1500us, dead=1, shorn=0.5");
        insta::assert_snapshot!(Honesty::of(&[]), @"honest");
    }

    #[test]
    fn unknown_lies_are_refused() {
        let refused = |text: &str| text.parse::<Lie>().unwrap_err().to_string();
        insta::assert_snapshot!(refused("forgets"), @"unknown lie `forgets`; expected ignore-flush, ignore-fua, ack-early=TIME, or a fault: with a probability per write bit-corruption=CHANCE, shorn=CHANCE, flying=CHANCE, unserializable=CHANCE, metadata=CHANCE, or per cut dead=CHANCE, read-only=CHANCE");
        insta::assert_snapshot!(refused("shorn"), @"`shorn` needs a probability between 0 and 1, such as shorn=0.001");
        insta::assert_snapshot!(refused("flying=2"), @"`flying` needs a probability between 0 and 1, such as flying=0.001");
        insta::assert_snapshot!(refused("ack-early=20"), @"`ack-early` needs a time, such as ack-early=20ms");
        assert!("ack-early=99999999999s".parse::<Lie>().is_err());
        insta::assert_snapshot!(refused("ignore-fua=0.5"), @"`ignore-fua` takes no value");
    }
}
