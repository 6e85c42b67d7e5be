//! Facts in which a slow drive differs from the others.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::robust::median;
use crate::specimen::{Fact, FactValue, Specimen};

/// A word that more than this part of the others share as well explains nothing.
const RARE: f64 = 0.25;
/// A number explains something if it is beyond this quantile of the others.
const HIGH: f64 = 0.99;

/// A fact that may be the cause.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cause {
    pub fact: Fact,
    pub value: FactValue,
    /// The value that most of the others have, or their median.
    pub usual: FactValue,
    /// Number of the others that have the usual value, or a lower one.
    pub others: usize,
    /// The others that have this value are slow as well, or there are none.
    pub is_consistent: bool,
}

/// The possible causes of a specimen's slowness, likeliest first. Each of the others comes with
/// its score.
pub(crate) fn causes(slow: &Specimen, others: &[(&Specimen, f64)]) -> Vec<Cause> {
    let mut causes: Vec<Cause> =
        slow.facts.iter().filter_map(|(&fact, value)| cause(fact, value, others)).collect();
    // Stable: facts keep their order.
    causes.sort_by_key(|cause| !cause.is_consistent);
    causes
}

fn cause(fact: Fact, value: &FactValue, others: &[(&Specimen, f64)]) -> Option<Cause> {
    let known: Vec<(&FactValue, f64)> = others
        .iter()
        .filter_map(|(other, score)| Some((other.facts.get(&fact)?, *score)))
        .collect();
    match value {
        FactValue::Word(word) => of_word(fact, word, &known),
        &FactValue::Number { value, unit } => of_number(fact, value, unit, &known),
    }
}

fn of_word(fact: Fact, word: &str, others: &[(&FactValue, f64)]) -> Option<Cause> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (value, _) in others {
        if let FactValue::Word(other) = value {
            *counts.entry(other).or_default() += 1;
        }
    }
    let same = counts.get(word).copied().unwrap_or(0);
    let (&usual, &with_usual) = counts.iter().max_by_key(|(_, count)| **count)?;
    if usual == word || same as f64 > RARE * others.len() as f64 {
        return None;
    }
    let scores =
        others.iter().filter(|(value, _)| matches!(value, FactValue::Word(it) if it == word));
    let theirs = median(scores.map(|(_, score)| *score));
    Some(Cause {
        fact,
        value: FactValue::Word(word.to_owned()),
        usual: FactValue::Word(usual.to_owned()),
        others: with_usual,
        is_consistent: theirs.is_none_or(|score| score > 2.0),
    })
}

fn of_number(
    fact: Fact,
    value: f64,
    unit: &'static str,
    others: &[(&FactValue, f64)],
) -> Option<Cause> {
    let mut numbers: Vec<f64> = others
        .iter()
        .filter_map(|(value, _)| match value {
            FactValue::Number { value, .. } => Some(*value),
            FactValue::Word(_) => None,
        })
        .collect();
    let usual = median(numbers.iter().copied())?;
    numbers.sort_by(f64::total_cmp);
    let high = numbers[((numbers.len() - 1) as f64 * HIGH) as usize];
    let lower = numbers.partition_point(|&number| number < value);
    (value > high).then_some(Cause {
        fact,
        value: FactValue::Number { value, unit },
        usual: FactValue::Number { value: usual, unit },
        others: lower,
        is_consistent: true,
    })
}
