//! Fits a model's parameters to measured results.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`knobs`] | the parameters that can be changed, and their ranges |
//! | [`measured`] | the samples of a result document, and checks for missing or contradictory ones |
//! | this module | the search |
//!
//! The search changes one parameter after the other by ever smaller factors, as long as the misfit
//! shrinks. The misfit is the squared logarithm of the error (linear for large errors), so half as
//! fast and twice as fast weigh the same, and an error above 30 % weighs more. Deviations from the
//! starting point also have a cost, which depends on how much the parameter varies among drives of
//! a class: a few measurements must not result in a drive that nobody builds. The search is
//! deterministic. A parameter that does not affect the results stays unchanged, because it was not
//! measured.

pub mod knobs;
pub mod measured;

use catalogue::Model;

use crate::run::Machine;
use crate::sample::{Comparison, ERROR_MAX, NoComparison, Sample, compare};
use knobs::{KNOBS, Knob};

/// Results this close are considered equal.
const NOTHING_LEFT: f64 = 1e-5;
/// The factors by which parameters change, pass by pass.
const FACTORS: [f64; 6] = [1.6, 1.25, 1.1, 1.04, 1.1, 1.02];
/// Parameters that compensate for each other, so changing one alone makes no progress. They are
/// changed in opposite directions, or (`true`) in the same direction.
const COUPLED: [(&str, &str, bool); 9] = [
    ("drive.flash.dies", "drive.flash.program_us", true),
    ("drive.flash.dies", "drive.flash.read_us", true),
    ("drive.link.read_us", "drive.flash.read_us", false),
    ("drive.link.command_us", "drive.link.write_us", false),
    ("drive.flush.command_us", "drive.flush.journal_us", false),
    ("drive.flush.command_us", "drive.flash.program_us", false),
    ("drive.flush.journal_us", "drive.flash.program_us", false),
    ("drive.flush.journal_us", "drive.flush.map_page_us", false),
    ("drive.seek_mean_us", "drive.write_settle_us", false),
];
pub const PASSES: usize = FACTORS.len();
/// Minimum improvement of the misfit, as a fraction; anything smaller is chance.
const GAIN_MIN: f64 = 0.003;
/// Variation of repeated measurements: one standard deviation.
const FIGURE_SPREAD: f64 = 0.03;
/// Beyond this error, the misfit grows linearly (Huber): sources repeat tests, and some repetitions
/// differ by 70 %.
const OUTLIER: f64 = 0.1;
/// Additional weight of an error beyond the limit.
const EXCESS_WEIGHT: f64 = 20.0;

#[derive(Debug, Clone)]
pub struct Fitted {
    pub model: Model,
    /// The samples, with the results of the fitted model.
    pub comparisons: Vec<Comparison>,
    /// The changed parameters: path, old value, new value.
    pub turned: Vec<(&'static str, f64, f64)>,
}

/// Fits a model to samples, starting from its current parameters. `progress` receives the misfit
/// after each pass.
///
/// # Errors
/// Fails if the unchanged model cannot run a sample's test.
pub fn fit(
    start: &Model,
    samples: &[Sample],
    progress: &mut dyn FnMut(f64),
) -> Result<Fitted, NoComparison> {
    let mut best = start.clone();
    let mut least = misfit(&best, samples)?;
    let cost = |model: &Model| {
        FIGURE_SPREAD.powi(2) * deviation(start, model) / samples.len().max(1) as f64
    };
    let single = KNOBS.iter().map(|knob| vec![(knob, true)]);
    let coupled = COUPLED.iter().filter_map(|(one, other, together)| {
        let knob = |path: &str| KNOBS.iter().find(|knob| knob.path == path);
        Some(vec![(knob(one)?, true), (knob(other)?, *together)])
    });
    let moves: Vec<Vec<(&Knob, bool)>> = single.chain(coupled).collect();
    for factor in FACTORS {
        for knobs in &moves {
            if least < NOTHING_LEFT {
                break;
            }
            for factor in [factor, 1.0 / factor] {
                // Continue in the direction of improvement.
                while let Some(turned) = turn(&best, knobs, factor) {
                    // A change can make the model impossible; it is then ignored.
                    let Ok(misfit) = misfit(&turned, samples).map(|misfit| misfit + cost(&turned))
                    else {
                        break;
                    };
                    if misfit >= least * (1.0 - GAIN_MIN) {
                        break;
                    }
                    (best, least) = (turned, misfit);
                }
            }
        }
        progress(least);
    }
    let comparisons = compare(&Machine::new(best.clone()), samples)?;
    let turned = KNOBS.iter().filter_map(|knob| {
        let (from, to) = (knob.get(start)?, knob.get(&best)?);
        from.total_cmp(&to).is_ne().then_some((knob.path, from, to))
    });
    Ok(Fitted { turned: turned.collect(), model: best, comparisons })
}

/// The model with parameters changed by a factor, or by its inverse where the flag is `false`;
/// `None` if a parameter is at the end of its range or does not exist in the model.
fn turn(model: &Model, knobs: &[(&Knob, bool)], factor: f64) -> Option<Model> {
    let mut turned = model.clone();
    for (knob, same_way) in knobs {
        let factor = if *same_way { factor } else { 1.0 / factor };
        let value = knob.get(model)?;
        let mut to = value.max(knob.range.0) * factor;
        if knob.whole && to.round().total_cmp(&value).is_eq() {
            to = if factor > 1.0 { value + 1.0 } else { value - 1.0 };
        }
        knob.set(&mut turned, to);
        if knob.get(&turned) == Some(value) {
            return None;
        }
    }
    Some(turned)
}

/// The distance of a model from the starting point: the sum of squared deviations, each in standard
/// deviations.
fn deviation(start: &Model, model: &Model) -> f64 {
    let squares = KNOBS.iter().filter_map(|knob| {
        let (from, to) = (knob.get(start)?.max(knob.range.0), knob.get(model)?.max(knob.range.0));
        (from > 0.0 && to > 0.0).then(|| ((to / from).ln() / knob.spread.ln()).powi(2))
    });
    squares.sum()
}

/// The misfit of a model: the mean squared logarithm of the errors.
pub fn misfit(model: &Model, samples: &[Sample]) -> Result<f64, NoComparison> {
    let comparisons = compare(&Machine::new(model.clone()), samples)?;
    let limit = (1.0 + ERROR_MAX).ln();
    let weigh = |comparison: &Comparison| {
        let off = (comparison.modelled.max(1e-9) / comparison.sample.figure.value()).ln().abs();
        let excess = if comparison.holds() { 0.0 } else { (off - limit).max(0.0) };
        let robust = if off < OUTLIER { off * off } else { OUTLIER * (2.0 * off - OUTLIER) };
        robust + EXCESS_WEIGHT * excess * excess
    };
    Ok(comparisons.iter().map(weigh).sum::<f64>() / samples.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalogue::model::Parameters;

    fn knob(path: &str) -> &'static Knob {
        KNOBS.iter().find(|knob| knob.path == path).unwrap()
    }

    #[test]
    fn knobs_are_turned_together_or_against_each_other_and_not_beyond_their_ends() {
        let model = catalogue::find_model("consumer-sata").unwrap();
        let (flush, dies) = (knob("drive.flush.command_us"), knob("drive.flash.dies"));
        let from = (flush.get(model).unwrap(), dies.get(model).unwrap());
        let to = |turned: Option<Model>| {
            let turned = turned.unwrap();
            (flush.get(&turned), dies.get(&turned))
        };
        assert_eq!(to(turn(model, &[(flush, true)], 2.0)), (Some(from.0 * 2.0), Some(from.1)));
        assert_eq!(
            to(turn(model, &[(flush, true), (dies, true)], 2.0)),
            (Some(from.0 * 2.0), Some(from.1 * 2.0))
        );
        assert_eq!(
            to(turn(model, &[(flush, false), (dies, true)], 2.0)),
            (Some(from.0 / 2.0), Some(from.1 * 2.0))
        );
        // A whole number changes by at least one.
        assert_eq!(to(turn(model, &[(dies, true)], 1.001)).1, Some(from.1 + 1.0));
        assert_eq!(to(turn(model, &[(dies, true)], 0.999)).1, Some(from.1 - 1.0));
        let mut most = model.clone();
        dies.set(&mut most, dies.range.1);
        assert!(
            turn(&most, &[(dies, true)], 1.5).is_none()
                && turn(&most, &[(dies, true)], 0.5).is_some()
        );
        assert!(turn(model, &[(knob("drive.rpm"), true)], 2.0).is_none(), "it does not rotate");
    }

    #[test]
    fn a_model_is_as_strange_as_its_knobs_are_far_from_where_they_stood() {
        let start = catalogue::find_model("consumer-sata").unwrap();
        let strange = |turns: &[(&str, f64)]| {
            let mut model = start.clone();
            for (path, deviations) in turns {
                let knob = knob(path);
                knob.set(&mut model, knob.get(start).unwrap() * knob.spread.powf(*deviations));
            }
            deviation(start, &model)
        };
        // Parameters keep three digits.
        let near = |one: f64, other: f64| (one - other).abs() < 0.05;
        assert!(strange(&[]).abs() < 1e-12);
        assert!(near(strange(&[("drive.flash.program_us", 1.0)]), 1.0));
        assert!(near(
            strange(&[("drive.flash.program_us", -1.0), ("drive.flash.read_us", 2.0)]),
            1.0 + 4.0
        ));
    }

    #[test]
    fn small_errors_count_by_their_squares_and_those_beyond_the_limit_most() {
        let model = catalogue::find_model("consumer-sata").unwrap();
        assert!(matches!(model.drive, Parameters::SolidState(_)));
        let plan = "[[test]]\npattern = \"randread\"\ntime = \"20ms\"\nwarm_up = \"0s\"";
        let test = workload::Plan::from_toml("test", plan).unwrap().tests.remove(0);
        let sample = |value| Sample {
            test: test.clone(),
            figure: crate::sample::Figure::Iops(value),
            span: (value, value),
        };
        let modelled = compare(&Machine::new(model.clone()), &[sample(1.0)]).unwrap()[0].modelled;
        let of = |off: &[f64]| {
            let samples: Vec<Sample> = off.iter().map(|off| sample(modelled / off.exp())).collect();
            misfit(model, &samples).unwrap()
        };
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(near(of(&[]), 0.0) && near(of(&[0.0]), 0.0));
        assert!(near(of(&[0.05]), 0.0025) && near(of(&[-0.05]), 0.0025));
        // Linear from a tenth on: 0.1 * (2 * 0.2 - 0.1).
        assert!(near(of(&[0.2]), 0.03) && near(of(&[0.05, 0.2]), 0.01625));
        // Above 30 %, twenty times the square of the excess is added.
        let excess = 0.5 - 1.3_f64.ln();
        assert!(near(of(&[0.5]), 0.1 * (2.0 * 0.5 - 0.1) + 20.0 * excess * excess));
    }
}
