//! A test with a measured result, compared with that of a model.

use std::thread;

use measurement::{Outcome, TestResult};
use workload::Test;

use crate::assembly::Impossible;
use crate::run::{Machine, run_alone};

/// Larger errors fail, unless repeated runs of one test differ by more.
pub const ERROR_MAX: f64 = 0.30;

/// A test with its measured result.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub test: Test,
    /// The measured result.
    pub figure: Figure,
    /// The lowest and the highest result of repeated runs; equal for a single run.
    pub span: (f64, f64),
}

/// A rate. Rates instead of latencies because every source has them; with one operation in flight,
/// they are equivalent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// Operations per second.
    Iops(f64),
    MibPerS(f64),
}

impl Figure {
    /// The number without its unit.
    pub const fn value(self) -> f64 {
        match self {
            Figure::Iops(value) | Figure::MibPerS(value) => value,
        }
    }

    /// The same quantity of a result.
    fn of(self, result: &TestResult) -> f64 {
        match self {
            Figure::Iops(_) => result.iops,
            Figure::MibPerS(_) => result.mib_per_s,
        }
    }
}

/// A sample with a model's result of the same test.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub sample: Sample,
    /// The model's result.
    pub result: TestResult,
    /// The model's rate, in the sample's unit.
    pub modelled: f64,
}

impl Comparison {
    /// The relative error of the model; positive if it is too fast.
    pub fn error(&self) -> f64 {
        self.modelled / self.sample.figure.value() - 1.0
    }

    /// The distance of the model from the nearest of the repeated runs, as a fraction of it; 0
    /// between the lowest and the highest of them.
    pub fn beyond_repeats(&self) -> f64 {
        let (low, high) = self.sample.span;
        (self.modelled / self.modelled.clamp(low, high) - 1.0).abs()
    }

    /// Returns `true` if the error is within 30 %, or within the span of repeated runs if that is
    /// wider.
    pub fn holds(&self) -> bool {
        let (low, high) = self.sample.span;
        self.error().abs() <= ERROR_MAX
            || (high / low > 1.0 + ERROR_MAX && (low..=high).contains(&self.modelled))
    }
}

/// The reason why a comparison failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoComparison {
    #[error("{test}: {because}")]
    Skipped { test: String, because: String },
    #[error(transparent)]
    Impossible(#[from] Impossible),
}

/// Runs the samples' tests on a model, in parallel on all processors.
pub fn compare(machine: &Machine, samples: &[Sample]) -> Result<Vec<Comparison>, NoComparison> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(samples.len());
    if threads < 2 {
        return samples.iter().map(|sample| compare_one(machine, sample)).collect();
    }
    // Interleaved, because neighbouring samples have similar costs.
    let part = |first: usize| -> Vec<_> {
        samples
            .iter()
            .skip(first)
            .step_by(threads)
            .map(|sample| compare_one(machine, sample))
            .collect()
    };
    let parts: Vec<Vec<_>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || part(first))).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
    (0..samples.len()).filter_map(|index| parts[index % threads].next()).collect()
}

fn compare_one(machine: &Machine, sample: &Sample) -> Result<Comparison, NoComparison> {
    match run_alone(machine, &sample.test, &mut |_| true)? {
        Outcome::Measured(result) => Ok(Comparison {
            modelled: sample.figure.of(&result),
            sample: sample.clone(),
            result: *result,
        }),
        Outcome::Skipped(skipped) => {
            Err(NoComparison::Skipped { test: skipped.test, because: skipped.because })
        }
    }
}

/// The median of the absolute errors.
pub fn median_error(comparisons: &[Comparison]) -> f64 {
    let mut errors: Vec<f64> =
        comparisons.iter().map(|comparison| comparison.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    match errors.len() {
        0 => 0.0,
        count if count % 2 == 1 => errors[count / 2],
        count => f64::midpoint(errors[count / 2 - 1], errors[count / 2]),
    }
}
