//! Drives that are slower than others of their kind.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cause::{Cause, causes};
use crate::robust::{Spread, limit};
use crate::specimen::{Kind, Specimen};

/// With fewer drives of a kind, none can be called unusual.
pub const PEERS_MIN: usize = 8;
/// A drive that is less slow than this is not worth a visit, however certain it is.
pub const RATIO_MIN: f64 = 1.25;
/// The probability of any false alarm if latencies are log-normal.
const FALSE_ALARM: f64 = 0.05;
/// Drives of one kind differ at least by this much; measurements of one drive do.
const FLOOR: f64 = 0.03;

/// A drive that is slower than others of its kind.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Outlier {
    pub host: String,
    /// The drive's serial number or, without one, the target.
    pub drive: String,
    #[serde(flatten)]
    pub kind: Kind,
    /// The test in which it differs most.
    pub test: String,
    /// Its median latency in that test, and that of its kind, in microseconds.
    pub p50_us: f64,
    pub usual_us: f64,
    /// Robust deviations from the middle of its kind.
    pub score: f64,
    /// Drives of its kind, with this one.
    pub peers: usize,
    /// Likeliest first; empty if no known fact differs.
    pub causes: Vec<Cause>,
}

/// What a comparison of all drives found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Outliers {
    /// The slowest, relative to its kind, first.
    pub found: Vec<Outlier>,
    /// Drives that were compared.
    pub compared: usize,
    /// Figures that were compared.
    pub comparisons: usize,
    /// The score above which a drive is reported.
    pub limit: f64,
    /// Drives that were not compared, because there are too few of their kind.
    pub not_compared: usize,
}

/// Compares specimens, one for each drive, within their kinds.
pub fn outliers(specimens: &[Specimen]) -> Outliers {
    let mut kinds: BTreeMap<&Kind, Vec<usize>> = BTreeMap::new();
    for (at, specimen) in specimens.iter().enumerate() {
        kinds.entry(&specimen.kind).or_default().push(at);
    }
    let mut not_compared = 0;
    // The scores of each specimen, with its test.
    let mut scores: Vec<Vec<Scored<'_>>> = specimens.iter().map(|_| Vec::new()).collect();
    for members in kinds.values() {
        if members.len() < PEERS_MIN {
            not_compared += members.len();
            continue;
        }
        score(specimens, members, &mut scores);
    }
    let comparisons = scores.iter().map(Vec::len).sum();
    let limit = limit(comparisons, FALSE_ALARM);
    let highest: Vec<f64> = scores
        .iter()
        .map(|scores| scores.iter().map(|scored| scored.score).fold(f64::NEG_INFINITY, f64::max))
        .collect();
    let mut found = Vec::new();
    for (at, own) in scores.iter().enumerate() {
        let slow = own.iter().filter(|it| it.score > limit && it.p50_us > RATIO_MIN * it.usual_us);
        let Some(worst) = slow.max_by(|one, other| one.score.total_cmp(&other.score)) else {
            continue;
        };
        let members = &kinds[&specimens[at].kind];
        let others: Vec<(&Specimen, f64)> = members
            .iter()
            .filter(|&&other| other != at)
            .map(|&other| (&specimens[other], highest[other]))
            .collect();
        let Specimen { host, name, kind, .. } = &specimens[at];
        found.push(Outlier {
            host: host.clone(),
            drive: name.clone(),
            kind: kind.clone(),
            test: worst.test.to_owned(),
            p50_us: worst.p50_us,
            usual_us: worst.usual_us,
            score: worst.score,
            peers: members.len(),
            causes: causes(&specimens[at], &others),
        });
    }
    found.sort_by(|one, other| {
        (other.p50_us / other.usual_us).total_cmp(&(one.p50_us / one.usual_us))
    });
    let compared = specimens.len() - not_compared;
    Outliers { found, compared, comparisons, limit, not_compared }
}

struct Scored<'a> {
    test: &'a str,
    p50_us: f64,
    usual_us: f64,
    score: f64,
}

/// Scores the members of a kind in each test that enough of them have.
fn score<'a>(specimens: &'a [Specimen], members: &[usize], scores: &mut [Vec<Scored<'a>>]) {
    let mut tests: BTreeMap<&str, Vec<(usize, f64)>> = BTreeMap::new();
    for &member in members {
        for (test, &p50_us) in &specimens[member].p50_us {
            if p50_us > 0.0 {
                tests.entry(test).or_default().push((member, p50_us));
            }
        }
    }
    for (test, figures) in tests {
        if figures.len() < PEERS_MIN {
            continue;
        }
        let logarithms: Vec<f64> = figures.iter().map(|(_, p50_us)| p50_us.ln()).collect();
        let Some(spread) = Spread::of(&logarithms, FLOOR) else { continue };
        for (member, p50_us) in figures {
            let score = spread.score(p50_us.ln());
            scores[member].push(Scored { test, p50_us, usual_us: spread.middle.exp(), score });
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::specimen::{Fact, FactValue};

    /// A normally distributed number: a sum of twelve uniform ones.
    fn normal(chance: &mut Xoshiro256PlusPlus) -> f64 {
        (0..12).map(|_| chance.next_u64() as f64 / u64::MAX as f64).sum::<f64>() - 6.0
    }

    fn fleet(drives: usize) -> Vec<Specimen> {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(7);
        let word = |text: &str| FactValue::Word(text.to_owned());
        (0..drives)
            .map(|number| Specimen {
                host: format!("host{number}"),
                name: format!("S{number}"),
                kind: Kind { model: format!("model {}", number % 3), usage: "check".to_owned() },
                p50_us: [("write + fsync", 900.0), ("read", 80.0)]
                    .map(|(test, us): (&str, f64)| {
                        (test.to_owned(), us * (normal(&mut chance) * 0.1).exp())
                    })
                    .into(),
                facts: [
                    (Fact::WriteCache, word("on")),
                    (Fact::Firmware, word(if number % 2 == 0 { "1.0" } else { "1.1" })),
                    (
                        Fact::Temperature,
                        FactValue::Number { value: 35.0 + (number % 7) as f64, unit: " °C" },
                    ),
                ]
                .into(),
            })
            .collect()
    }

    #[test]
    fn a_fleet_without_slow_drives_raises_no_alarm() {
        let found = outliers(&fleet(3000));
        assert_eq!((found.found.len(), found.comparisons, found.compared), (0, 6000, 3000));
        assert!((4.2..4.4).contains(&found.limit), "{}", found.limit);
    }

    #[test]
    fn slow_drives_are_found_with_what_differs() {
        let mut fleet = fleet(3000);
        let mut slow = |number: usize, fact: Fact, value: FactValue| {
            *fleet[number].p50_us.get_mut("write + fsync").unwrap() *= 3.0;
            fleet[number].facts.insert(fact, value);
        };
        slow(17, Fact::WriteCache, FactValue::Word("off".to_owned()));
        slow(18, Fact::Firmware, FactValue::Word("0.9".to_owned()));
        slow(19, Fact::Temperature, FactValue::Number { value: 71.0, unit: " °C" });
        let found = outliers(&fleet).found;
        let mut named: Vec<(String, Fact, String, String)> = found
            .iter()
            .map(|outlier| {
                let cause = &outlier.causes[0];
                assert_eq!((outlier.test.as_str(), outlier.peers), ("write + fsync", 1000));
                assert_eq!(outlier.causes.len(), 1, "{:?}", outlier.causes);
                let (value, usual) = (cause.value.to_string(), cause.usual.to_string());
                (outlier.drive.clone(), cause.fact, value, usual)
            })
            .collect();
        named.sort();
        let text = |text: &str| text.to_owned();
        assert_eq!(named[0], (text("S17"), Fact::WriteCache, text("off"), text("on")));
        assert_eq!(named[1], (text("S18"), Fact::Firmware, text("0.9"), text("1.1")));
        assert_eq!(named[2], (text("S19"), Fact::Temperature, text("71 °C"), text("38 °C")));
    }

    #[test]
    fn few_drives_of_a_kind_are_not_compared() {
        let found = outliers(&fleet(3 * PEERS_MIN - 1));
        assert_eq!((found.not_compared, found.comparisons), (PEERS_MIN - 1, 4 * PEERS_MIN));
        assert_eq!(outliers(&[]), Outliers { limit: limit(0, FALSE_ALARM), ..Outliers::default() });
    }
}
