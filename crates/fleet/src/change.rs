//! Where a series of latencies rises, and by how much.

use schemars::JsonSchema;
use serde::Serialize;

use crate::robust::{Spread, limit, median};

/// Runs before and after the change.
pub(crate) const RUNS_MIN: usize = 3;
/// A change by less than this is not worth a visit, however certain it is.
pub(crate) const RATIO_MIN: f64 = 1.15;
/// The probability of any false alarm if latencies are log-normal.
const FALSE_ALARM: f64 = 0.05;
/// Measurements of one drive differ at least by this much.
const FLOOR: f64 = 0.03;
/// The standard error of a median is larger than that of a mean by this factor: √(π/2).
const OF_MEDIAN: f64 = 1.253_314_137_315_5;

/// The median latencies of one drive in one test, in microseconds, oldest first.
pub(crate) type History = Vec<f64>;

/// The way in which a drive became slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// From one run to the next.
    Step,
    /// Little by little.
    Gradual,
}

/// A history that rises.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rise {
    /// Its position among the histories.
    pub(crate) history: usize,
    pub(crate) shape: Shape,
    /// Position of the first run that is slow.
    pub(crate) first_slow: usize,
    /// Median latencies before and since, in microseconds.
    pub(crate) before_us: f64,
    pub(crate) since_us: f64,
    /// Deviations of the difference from none.
    pub(crate) score: f64,
}

/// The histories that rise, the one with the largest change first.
pub(crate) fn rises(histories: &[History]) -> Vec<Rise> {
    let splits = |history: &History| (history.len() + 1).saturating_sub(2 * RUNS_MIN);
    let limit = limit(histories.iter().map(splits).sum(), FALSE_ALARM);
    // The deviation of a few runs is often far too small by chance. Each is taken to be at least
    // that of a usual drive.
    let usual = median(histories.iter().filter(|history| splits(history) > 0).filter_map(noise));
    let floor = usual.unwrap_or_default().max(FLOOR);
    let mut found: Vec<Rise> = histories
        .iter()
        .enumerate()
        .filter_map(|(at, history)| rise(at, history, floor))
        .filter(|rise| rise.score > limit && rise.since_us > RATIO_MIN * rise.before_us)
        .collect();
    found.sort_by(|one, other| {
        (other.since_us / other.before_us).total_cmp(&(one.since_us / one.before_us))
    });
    found
}

/// The deviation of a drive's runs from each other, whether or not it became slower: from the
/// differences of successive runs.
fn noise(history: &History) -> Option<f64> {
    let differences: Vec<f64> = history.windows(2).map(|pair| (pair[1] / pair[0]).ln()).collect();
    Some(Spread::of(&differences, 0.0)?.deviation / std::f64::consts::SQRT_2)
}

/// A history as it would be if the drive became slower.
struct Fit {
    shape: Shape,
    first_slow: usize,
    /// Logarithms of the levels before and since; of the first and last level if gradual.
    before: f64,
    since: f64,
    /// The deviations of the runs from it.
    residues: Vec<f64>,
    /// The standard error of the difference, if the runs deviate by one.
    error: f64,
}

impl Fit {
    /// The sum of the absolute deviations; less is better.
    fn misfit(&self) -> f64 {
        self.residues.iter().map(|residue| residue.abs()).sum()
    }
}

/// The best fit of a history; of a short one, none.
fn rise(at: usize, history: &History, floor: f64) -> Option<Rise> {
    let logarithms: Vec<f64> = history.iter().map(|us| us.max(f64::MIN_POSITIVE).ln()).collect();
    let last = logarithms.len().checked_sub(RUNS_MIN)?;
    let steps = (RUNS_MIN..=last).filter_map(|split| step(&logarithms, split));
    let step = steps.min_by(|one, other| one.misfit().total_cmp(&other.misfit()))?;
    let slope = slope(&logarithms).filter(|slope| slope.misfit() < step.misfit());
    let fit = slope.unwrap_or(step);
    let deviation = Spread::of(&fit.residues, floor)?.deviation;
    Some(Rise {
        history: at,
        shape: fit.shape,
        first_slow: fit.first_slow,
        before_us: fit.before.exp(),
        since_us: fit.since.exp(),
        score: (fit.since - fit.before) / (OF_MEDIAN * deviation * fit.error),
    })
}

fn step(logarithms: &[f64], split: usize) -> Option<Fit> {
    let (earlier, later) = logarithms.split_at(split);
    let before = median(earlier.iter().copied())?;
    let since = median(later.iter().copied())?;
    let residues = earlier
        .iter()
        .map(|figure| figure - before)
        .chain(later.iter().map(|figure| figure - since))
        .collect();
    let error = (1.0 / earlier.len() as f64 + 1.0 / later.len() as f64).sqrt();
    Some(Fit { shape: Shape::Step, first_slow: split, before, since, residues, error })
}

/// The line whose slope is the median of those between any two runs (Theil and Sen).
fn slope(logarithms: &[f64]) -> Option<Fit> {
    let runs = logarithms.len();
    let slopes = (0..runs).flat_map(|one| {
        (one + 1..runs)
            .map(move |other| (logarithms[other] - logarithms[one]) / (other - one) as f64)
    });
    let slope = median(slopes)?;
    let level = |at: usize| slope * at as f64;
    let before = median(logarithms.iter().enumerate().map(|(at, figure)| figure - level(at)))?;
    let residues =
        logarithms.iter().enumerate().map(|(at, figure)| figure - before - level(at)).collect();
    let since = before + level(runs - 1);
    // The first run that is slower than it was by as much as counts.
    let first_slow = (0..runs).find(|&at| level(at) > RATIO_MIN.ln()).unwrap_or(runs - 1);
    let error = (12.0 / runs as f64).sqrt();
    Some(Fit { shape: Shape::Gradual, first_slow, before, since, residues, error })
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn histories(count: usize, runs: usize, growth: impl Fn(usize, usize) -> f64) -> Vec<History> {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut noise =
            || (0..12).map(|_| chance.next_u64() as f64 / u64::MAX as f64).sum::<f64>() - 6.0;
        (0..count)
            .map(|history| {
                (0..runs).map(|run| 900.0 * (noise() * 0.05).exp() * growth(history, run)).collect()
            })
            .collect()
    }

    #[test]
    fn drives_that_stay_as_they_are_raise_no_alarm() {
        assert_eq!(rises(&histories(5000, 10, |_, _| 1.0)).len(), 0);
        // One that became faster is none either, and a short history is not judged.
        assert_eq!(rises(&histories(50, 10, |_, run| if run < 5 { 2.0 } else { 1.0 })).len(), 0);
        assert_eq!(rises(&histories(50, 5, |_, run| if run < 2 { 1.0 } else { 9.0 })).len(), 0);
        assert_eq!(rises(&[Vec::new()]), []);
    }

    #[test]
    fn steps_and_slopes_are_found_with_their_beginning() {
        let found = rises(&histories(5000, 12, |history, run| match (history, run) {
            (17, 7..) => 2.0,
            (18, _) => 1.0 + 0.15 * run as f64,
            _ => 1.0,
        }));
        let mut found: Vec<(usize, Shape, usize)> =
            found.iter().map(|rise| (rise.history, rise.shape, rise.first_slow)).collect();
        found.sort_by_key(|rise| rise.0);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], (17, Shape::Step, 7));
        assert_eq!((found[1].0, found[1].1), (18, Shape::Gradual));
    }
}
