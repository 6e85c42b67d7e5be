//! A test with the figure that somebody measured, and the same figure of a model.

use std::thread;

use measurement::{Outcome, TestResult};
use workload::Test;

use crate::assembly::Impossible;
use crate::run::{Machine, run_alone};

/// Errors above this are too large, unless repeated runs of one test differ by more.
pub const ERROR_MOST: f64 = 0.30;

/// A test and what was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// What was done.
    pub test: Test,
    /// What came out.
    pub figure: Figure,
    /// The lowest and the highest figure that was measured in this test, where it was repeated; else twice the same.
    pub span: (f64, f64),
}

/// A rate. Rates and not latencies, because every source has them; with one operation in flight they are the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// Operations a second.
    Iops(f64),
    /// MiB a second.
    MibPerS(f64),
}

impl Figure {
    /// The number alone.
    pub const fn value(self) -> f64 {
        match self {
            Figure::Iops(value) | Figure::MibPerS(value) => value,
        }
    }

    /// The same figure of a result.
    fn of(self, result: &TestResult) -> f64 {
        match self {
            Figure::Iops(_) => result.iops,
            Figure::MibPerS(_) => result.mib_per_s,
        }
    }
}

/// A sample beside what a model makes of its test.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// What was measured.
    pub sample: Sample,
    /// What the model made of it.
    pub result: TestResult,
    /// The modelled figure, in the sample's unit.
    pub modelled: f64,
}

impl Comparison {
    /// How far the model is off, as a share of the measured figure; above zero where it is too fast.
    pub fn error(&self) -> f64 {
        self.modelled / self.sample.figure.value() - 1.0
    }

    /// Whether it is near enough: within 30 %, or within what repeated runs of this test span where those differ by more.
    pub fn holds(&self) -> bool {
        let (low, high) = self.sample.span;
        self.error().abs() <= ERROR_MOST || (high / low > 1.0 + ERROR_MOST && (low..=high).contains(&self.modelled))
    }
}

/// Why there is no comparison.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoComparison {
    /// The model cannot run a test.
    #[error("{test}: {because}")]
    Skipped {
        /// The test's name.
        test: String,
        /// Why.
        because: String,
    },
    /// The model is impossible.
    #[error(transparent)]
    Impossible(#[from] Impossible),
}

/// Runs the tests of samples on a model, as many at a time as there are processors.
///
/// # Errors
/// When the model cannot run one.
pub fn compare(machine: &Machine, samples: &[Sample]) -> Result<Vec<Comparison>, NoComparison> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(samples.len());
    if threads < 2 {
        return samples.iter().map(|sample| compare_one(machine, sample)).collect();
    }
    // By turns, because neighbours cost about the same.
    let part = |first: usize| -> Vec<_> {
        samples.iter().skip(first).step_by(threads).map(|sample| compare_one(machine, sample)).collect()
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
        Outcome::Measured(result) => {
            Ok(Comparison { modelled: sample.figure.of(&result), sample: sample.clone(), result: *result })
        }
        Outcome::Skipped(skipped) => Err(NoComparison::Skipped { test: skipped.test, because: skipped.because }),
    }
}

/// The median of the errors' sizes.
pub fn median_error(comparisons: &[Comparison]) -> f64 {
    let mut errors: Vec<f64> = comparisons.iter().map(|comparison| comparison.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    match errors.len() {
        0 => 0.0,
        count if count % 2 == 1 => errors[count / 2],
        count => f64::midpoint(errors[count / 2 - 1], errors[count / 2]),
    }
}
