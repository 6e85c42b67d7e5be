//! A baseline against one or more candidates: both values of every figure, their ratio, how sure it is, and a verdict where it is sure enough.
//!
//! Many tests are many chances: of a hundred figures that did not change, five would leave their 95 % interval by accident. So a verdict needs more than
//! its interval: among the tests of a comparison, the figures of one metric are taken in order of how unlikely they are, and as many are called different
//! as keeps the expected share of false ones among them at 5 % (Benjamini & Hochberg, Controlling the false discovery rate, Journal of the Royal
//! Statistical Society B 57, 1995).

use std::fmt;

use measurement::{Ended, TestResult};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::bootstrap::{self, NoInterval, SECONDS_MIN, Spread};
use crate::facts::{self, FactDifference};
use crate::group::{Group, GroupRecord, GroupTest};
use crate::metric::Metric;
use crate::pairing::{self, Pair, Unpaired};

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/compare/1";
/// Expected share of false ones among the figures that are called different.
const FALSE_SHARE: f64 = 0.05;
/// A ratio within this of 1 beyond its interval's width is still the series' own: the series leaves out a last, shorter interval.
const SLACK: f64 = 0.01;

/// A baseline and what stands against it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What the others are compared with.
    pub baseline: GroupRecord,
    /// Each candidate against it.
    pub candidates: Vec<Against>,
}

/// One candidate against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Against {
    /// The candidate.
    pub candidate: GroupRecord,
    /// Tests that both have, in the baseline's order.
    pub tests: Vec<TestComparison>,
    /// Tests that have no counterpart.
    pub unpaired: Vec<Unpaired>,
    /// What else differs.
    pub differences: Vec<FactDifference>,
}

/// A test of both.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TestComparison {
    /// Its name in the baseline.
    pub test: String,
    /// Its name in the candidate, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate_test: Option<String>,
    /// The metric that stands for the test where one has to: `commits_per_s` or `iops`.
    pub leading: String,
    /// Every figure that both have.
    pub metrics: Vec<MetricComparison>,
    /// Figures that the candidate lacks.
    #[schemars(with = "Vec<String>")]
    pub only_in_baseline: Vec<Metric>,
    /// Whether a run of it failed, or was interrupted before it said enough; it has no verdicts then.
    pub broken_off: bool,
    /// What to know when reading them, one sentence each.
    pub notes: Vec<String>,
}

/// One figure of both.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetricComparison {
    /// Which.
    #[schemars(with = "String")]
    pub metric: Metric,
    /// Its unit: `1/s`, `MiB/s`, `s` or `us`.
    pub unit: &'static str,
    /// The baseline's value.
    pub baseline: f64,
    /// The candidate's.
    pub candidate: f64,
    /// Candidate by baseline; `null` where the baseline's is 0.
    pub ratio: Option<f64>,
    /// The ratio's 95 % confidence interval, where a series gives one.
    pub interval: Option<Interval>,
    /// What is to be thought of it.
    pub verdict: Verdict,
}

/// Where a ratio lies, at 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// How probable so large a ratio is without any difference.
    pub chance: f64,
}

/// Which way a figure moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More per second, or sooner done.
    Better,
    /// Less per second, or later done.
    Worse,
}

/// What is to be thought of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Verdict {
    /// More than noise.
    Different {
        /// Which way.
        direction: Direction,
    },
    /// Not known.
    Open {
        /// Why.
        #[serde(serialize_with = "sentence")]
        #[schemars(with = "String")]
        because: Undecided,
    },
}

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undecided {
    /// The interval includes 1.
    Noise,
    /// The interval excludes 1, but among so many tests some do by chance.
    Chance {
        /// How many tests have an interval.
        tests: usize,
    },
    /// A run kept no series: another tool's, or a run too short for one interval.
    NoSeries,
    /// The series does not tell this figure.
    NotInSeries,
    /// A single run of so few seconds.
    TooShort {
        /// How many there are.
        seconds: usize,
        /// How many it takes.
        least: usize,
    },
    /// A run failed, or was interrupted, after so many seconds.
    BrokenOff {
        /// How many.
        seconds: u64,
    },
    /// So much of a run stood still that chance may have made anything.
    Stalled,
    /// The percentile of the whole run moved otherwise than those of its seconds did: few seconds decide it.
    FewSecondsDecide,
    /// A value is 0.
    Zero,
}

impl Undecided {
    /// Whether the figures were looked at and found to be no more than noise, as against not known enough of.
    pub const fn is_noise(self) -> bool {
        matches!(self, Undecided::Noise | Undecided::Chance { .. })
    }
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undecided::Noise => write!(f, "within noise: the interval includes 1"),
            Undecided::Chance { tests } => {
                write!(f, "the interval excludes 1, as that of one or another of {tests} tests does by chance")
            }
            Undecided::NoSeries => write!(f, "a run kept no series, so nothing tells how much it varied"),
            Undecided::NotInSeries => {
                write!(f, "the series does not have this figure, so nothing tells how much it varied")
            }
            Undecided::TooShort { seconds, least } => {
                write!(f, "a single run of {seconds} s is too short; it takes {least} s, or several runs on its side")
            }
            Undecided::BrokenOff { seconds } => write!(f, "a run broke off after {seconds} s"),
            Undecided::Stalled => write!(f, "a run stood still for so long that its rate is a matter of chance"),
            Undecided::FewSecondsDecide => write!(f, "a few seconds decide it: those of most say something else"),
            Undecided::Zero => write!(f, "a value is 0"),
        }
    }
}

fn sentence<S: Serializer>(because: &Undecided, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(because)
}

impl Comparison {
    /// Compares. Tests are looked at only if their name on either side contains `pattern`, whatever its case; an empty one takes all.
    pub fn of(baseline: &Group<'_>, candidates: &[Group<'_>], pattern: &str) -> Comparison {
        Comparison {
            schema: SCHEMA.to_owned(),
            baseline: baseline.record(),
            candidates: candidates.iter().map(|candidate| Against::of(baseline, candidate, pattern)).collect(),
        }
    }

    /// Whether any test was found on both sides.
    pub fn has_tests(&self) -> bool {
        self.candidates.iter().any(|against| !against.tests.is_empty())
    }
}

/// The JSON Schema (draft 2020-12) of [`Comparison`]. The repository keeps it as `schemas/compare-1.json`.
pub fn json_schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(Comparison);
    schema.insert("title".to_owned(), format!("flushmark compare document, {SCHEMA}").into());
    if let Some(own) = schema.pointer_mut("/properties/schema").and_then(serde_json::Value::as_object_mut) {
        own.insert("const".to_owned(), SCHEMA.into());
    }
    schema
}

impl Against {
    fn of(baseline: &Group<'_>, candidate: &Group<'_>, pattern: &str) -> Against {
        let pattern = pattern.to_lowercase();
        let wanted = |name: &str| name.to_lowercase().contains(&pattern);
        let (pairs, mut unpaired) = pairing::pair(baseline, candidate);
        unpaired.retain(|test| wanted(&test.test));
        let runs = [baseline.runs.len(), candidate.runs.len()];
        let mut tests: Vec<TestComparison> = pairs
            .iter()
            .filter(|pair| wanted(&pair.baseline.first().test) || wanted(&pair.candidate.first().test))
            .map(|pair| TestComparison::of(pair, runs))
            .collect();
        for metric in Metric::all() {
            guard_against_chance(&mut tests, metric);
        }
        let differences = facts::differences(baseline, candidate);
        Against { candidate: candidate.record(), tests, unpaired, differences }
    }
}

impl TestComparison {
    fn of(pair: &Pair<'_>, runs: [usize; 2]) -> TestComparison {
        let (ours, theirs) = (pair.baseline.first(), pair.candidate.first());
        // All rates move as one, so that their noise is estimated once.
        let rates = spread(pair, Metric::Iops);
        let broken_off = broken_off(pair);
        let compared = |metric: Metric| {
            let (baseline, candidate) = (pair.baseline.value(metric)?, pair.candidate.value(metric)?);
            let spread = if metric.more_is_better() { rates } else { spread(pair, metric) };
            let spread = broken_off.map_or(spread, |seconds| Err(Undecided::BrokenOff { seconds }));
            Some(MetricComparison::of(metric, baseline, candidate, spread))
        };
        TestComparison {
            test: ours.test.clone(),
            candidate_test: (ours.test != theirs.test).then(|| theirs.test.clone()),
            leading: Metric::leading(ours).name(),
            metrics: Metric::all().filter_map(compared).collect(),
            only_in_baseline: lost(&pair.baseline.metrics(), &pair.candidate.metrics()),
            broken_off: broken_off.is_some(),
            notes: notes(pair, runs),
        }
    }

    /// One of its figures.
    pub fn metric(&self, metric: Metric) -> Option<&MetricComparison> {
        self.metrics.iter().find(|compared| compared.metric == metric)
    }

    /// The figure that stands for the test where one has to.
    pub fn leading(&self) -> Option<&MetricComparison> {
        self.metrics.iter().find(|compared| compared.metric.name() == self.leading)
    }
}

fn lost(baseline: &[Metric], candidate: &[Metric]) -> Vec<Metric> {
    baseline.iter().copied().filter(|metric| !candidate.contains(metric)).collect()
}

/// After how many seconds the first run broke off that is not to be judged: it failed, or was interrupted before half of what another run took, or before
/// [`SECONDS_MIN`]. How long it should have taken it does not say.
fn broken_off(pair: &Pair<'_>) -> Option<u64> {
    let runs = || pair.baseline.runs.iter().chain(&pair.candidate.runs);
    let longest_s = runs().map(|run| run.elapsed_s).fold(0.0, f64::max);
    let least_s = (longest_s / 2.0).max(SECONDS_MIN as f64);
    let broken = |run: &&&TestResult| match run.ended {
        Ended::Limit => false,
        Ended::Interrupted => run.elapsed_s < least_s,
        Ended::Failed { .. } => true,
    };
    runs().find(broken).map(|run| run.elapsed_s.round() as u64)
}

fn spread(pair: &Pair<'_>, metric: Metric) -> Result<Spread, Undecided> {
    let seconds = |test: &GroupTest<'_>| test.seconds(metric).ok_or(Undecided::NotInSeries);
    bootstrap::spread(&seconds(&pair.baseline)?, &seconds(&pair.candidate)?).map_err(|none| match none {
        NoInterval::NoSeries => Undecided::NoSeries,
        NoInterval::TooShort { seconds, least } => Undecided::TooShort { seconds, least },
        NoInterval::Stalled => Undecided::Stalled,
    })
}

impl MetricComparison {
    fn of(metric: Metric, baseline: f64, candidate: f64, spread: Result<Spread, Undecided>) -> MetricComparison {
        let ratio = (baseline > 0.0).then(|| candidate / baseline);
        let compared = MetricComparison {
            metric,
            unit: metric.unit(),
            baseline,
            candidate,
            ratio,
            interval: None,
            verdict: Verdict::Open { because: Undecided::Zero },
        };
        let open = |because| MetricComparison { verdict: Verdict::Open { because }, ..compared.clone() };
        let Some(ratio) = ratio.filter(|ratio| *ratio > 0.0) else { return compared };
        let spread = match spread {
            Ok(spread) => spread,
            Err(because) => return open(because),
        };
        let (low, high) = (ratio * spread.low, ratio * spread.high);
        // The interval is that of the seconds' mean. Where that moved otherwise than the figure itself, it does not speak for it.
        if spread.ratio < low * (1.0 - SLACK) || spread.ratio > high * (1.0 + SLACK) {
            return open(Undecided::FewSecondsDecide);
        }
        let better = (ratio > 1.0) == metric.more_is_better();
        let verdict = if low <= 1.0 && 1.0 <= high {
            Verdict::Open { because: Undecided::Noise }
        } else {
            Verdict::Different { direction: if better { Direction::Better } else { Direction::Worse } }
        };
        let interval = Interval { low, high, chance: spread.chance_of(ratio) };
        MetricComparison { interval: Some(interval), verdict, ..compared }
    }

    /// The change as a share: 0.1 for 10 % more.
    pub fn change(&self) -> Option<f64> {
        self.ratio.map(|ratio| ratio - 1.0)
    }
}

/// Takes back verdicts of a metric that chance may have made among so many.
fn guard_against_chance(tests: &mut [TestComparison], metric: Metric) {
    let figures = tests.iter_mut().filter_map(|test| test.metrics.iter_mut().find(|figure| figure.metric == metric));
    let mut figures: Vec<(f64, &mut MetricComparison)> =
        figures.filter_map(|figure| Some((figure.interval?.chance, figure))).collect();
    figures.sort_by(|a, b| a.0.total_cmp(&b.0));
    let tests = figures.len();
    let kept = (0..tests).rev().find(|&at| figures[at].0 <= FALSE_SHARE * (at + 1) as f64 / tests as f64);
    let doubtful = kept.map_or(0, |kept| kept + 1);
    // A single figure has its interval, and nothing to be picked from.
    for (_, figure) in figures.iter_mut().skip(doubtful).filter(|_| tests > 1) {
        if matches!(figure.verdict, Verdict::Different { .. }) {
            figure.verdict = Verdict::Open { because: Undecided::Chance { tests } };
        }
    }
}

/// How a run ended before its time, if it did.
fn broke_off(side: &str, run: &TestResult) -> Option<String> {
    let after = format!("after {:.0} s", run.elapsed_s);
    match &run.ended {
        Ended::Limit => None,
        Ended::Interrupted => Some(format!("{side} was interrupted {after}")),
        Ended::Failed { error } => Some(format!("{side} failed {after}: {error}")),
    }
}

fn notes(pair: &Pair<'_>, runs: [usize; 2]) -> Vec<String> {
    let mut notes = Vec::new();
    let sides = [("the baseline", &pair.baseline), ("the candidate", &pair.candidate)];
    let [ours, theirs] = sides.map(|(_, test)| &test.first().workload);
    if ours.size_bytes != theirs.size_bytes {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        notes.push(format!(
            "the baseline worked on {:.0} MiB and the candidate on {:.0} MiB",
            mib(ours.size_bytes),
            mib(theirs.size_bytes)
        ));
    }
    let lost = lost(&pair.baseline.metrics(), &pair.candidate.metrics());
    if !lost.is_empty() && pair.candidate.not_added_up().is_none() {
        let names: Vec<String> = lost.into_iter().map(Metric::name).collect();
        notes.push(format!("the candidate does not tell {}", names.join(", ")));
    }
    for ((side, test), runs) in sides.into_iter().zip(runs) {
        if test.named < runs {
            notes.push(format!("{} of {runs} runs of {side} have it", test.named));
        }
        if test.runs.len() < test.named {
            notes.push(format!(
                "{} runs of {side} count as {}, because they are equal to the last digit: one run named twice, or one model with one seed",
                test.named,
                test.runs.len()
            ));
        }
        if let Some(error) = test.not_added_up() {
            notes.push(format!("the runs of {side} do not add up, so that it has rates and no percentiles: {error}"));
        }
        let unsettled = test.runs.iter().filter(|run| run.steady_state.is_some_and(|steady| !steady.reached)).count();
        match unsettled {
            0 => {}
            _ if test.runs.len() == 1 => notes.push(format!("{side} had not reached a steady state")),
            count => {
                notes.push(format!("{count} of {} runs of {side} had not reached a steady state", test.runs.len()));
            }
        }
        notes.extend(test.runs.iter().filter_map(|run| broke_off(side, run)));
    }
    notes
}

#[cfg(test)]
mod tests;
