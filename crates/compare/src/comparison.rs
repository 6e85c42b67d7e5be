//! A baseline against one or more candidates: both values of every figure, their ratio, its
//! confidence interval, and a verdict if the evidence is sufficient.
//!
//! Many tests mean many chances to be wrong: of a hundred figures that did not change, five would
//! leave their 95 % interval by accident. So the interval alone does not make a verdict. For each
//! metric, the figures of all tests are sorted by how unlikely they are without a difference, and
//! as many are called different as keeps the expected share of false ones among them at 5 %
//! (Benjamini & Hochberg, Controlling the false discovery rate, Journal of the Royal Statistical
//! Society B 57, 1995).
//!
//! A model computes: the same model with the same seed always gives the same result. So two runs of
//! models differ exactly as much as they differ, and need no interval.

use std::fmt;

use measurement::{Ended, TestResult};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use workload::number::about_bytes;

use crate::bootstrap::{self, MEMORY_SECONDS_MIN, NoInterval, PASSES_MIN, Spread};
use crate::facts::{self, FactDifference};
use crate::group::{Group, GroupRecord, GroupTest};
use crate::headline::headline;
use crate::metric::{Metric, Piece};
use crate::pairing::{self, Pair, Unpaired};

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/compare/1";
/// Expected share of false ones among the figures that are called different.
const FALSE_SHARE: f64 = 0.05;
/// The difference, as a factor, of [`Interval::needed_for_5_percent`].
const DETECTED: f64 = 1.05;
/// Tolerance when comparing a figure's ratio with that of its series, which leaves out a shorter
/// last interval.
const SLACK: f64 = 0.01;

/// A baseline and the candidates compared with it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The name and version of this format.
    pub schema: String,
    /// The runs that the candidates are compared with.
    pub baseline: GroupRecord,
    pub candidates: Vec<Against>,
}

/// One candidate compared with the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Against {
    pub candidate: GroupRecord,
    /// Tests that both sides have, in the baseline's order.
    pub tests: Vec<TestComparison>,
    /// Position in `tests` of the test that represents all of them: a commit of 4 KiB, if there is
    /// one. `null` where none does: no test, or tests of different OSDs.
    pub headline: Option<usize>,
    /// Tests without a counterpart on the other side.
    pub unpaired: Vec<Unpaired>,
    /// Other differences, such as kernel or drive.
    pub differences: Vec<FactDifference>,
}

/// A test that both sides have.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TestComparison {
    /// Name of the test in the baseline.
    pub test: String,
    /// Name of the test in the candidate, if different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate_test: Option<String>,
    /// The metric that represents the test in summaries: `commits_per_s` or `iops`.
    pub leading: String,
    /// Every figure that both sides have.
    pub metrics: Vec<MetricComparison>,
    /// Figures that the candidate lacks.
    #[schemars(with = "Vec<String>")]
    pub only_in_baseline: Vec<Metric>,
    /// True if one of its runs failed or was interrupted too early; the test then has no verdicts.
    pub broken_off: bool,
    /// Caveats for the reader, one sentence each.
    pub notes: Vec<String>,
}

/// One figure of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetricComparison {
    /// The figure compared.
    #[schemars(with = "String")]
    pub metric: Metric,
    /// Unit of the values: `1/s`, `MiB/s`, `s` or `us`.
    pub unit: &'static str,
    pub baseline: f64,
    pub candidate: f64,
    /// Candidate divided by baseline; `null` if the baseline is 0.
    pub ratio: Option<f64>,
    /// The ratio's 95 % confidence interval; `null` without a series, and for exact figures.
    pub interval: Option<Interval>,
    /// True if both sides are computed by models, so the ratio has no noise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    pub verdict: Verdict,
}

/// The range of a ratio at 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability of a ratio at least this far from 1 without any difference.
    pub chance: f64,
    /// What the noise was estimated from.
    pub from: Samples,
    /// How many of these each side needs for four in five comparisons to detect a difference of
    /// 5 %: seconds or passes of one run, or runs as long as these. Absent if there are as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_for_5_percent: Option<u64>,
}

/// What varies, and so shows the noise of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Samples {
    /// The seconds of one run on each side. What differs from run to run does not show.
    Seconds,
    /// The passes of one run on each side.
    Passes,
    /// Whole runs: a side has several.
    Runs,
}

/// The direction in which a figure changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A higher rate or a shorter time.
    Better,
    /// A lower rate or a longer time.
    Worse,
}

/// A difference that is more than noise, or one that is undecided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Verdict {
    /// The difference is more than noise.
    Different {
        /// Better or worse than the baseline.
        direction: Direction,
    },
    Open {
        /// The reason, in one sentence.
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
    /// Models computed the same value.
    Identical,
    /// The interval excludes 1, but among so many tests some do by chance.
    Chance {
        /// Number of tests that have an interval.
        tests: usize,
    },
    /// A run has no series: it comes from another tool, or was shorter than one interval.
    NoSeries,
    /// The series does not include this figure.
    NotInSeries,
    /// A single run is too short.
    TooShort {
        /// Length of the run, in whole seconds.
        seconds: usize,
        /// Length needed, in seconds.
        least: usize,
    },
    /// A run failed or was interrupted.
    BrokenOff {
        /// Length of the run until then.
        seconds: u64,
    },
    /// A run stalled for so long that its rate is a matter of chance.
    Stalled,
    /// The percentile of the whole run moved differently from those of its seconds, so a few
    /// seconds decide it.
    FewSecondsDecide,
    /// A value is 0.
    Zero,
}

impl Undecided {
    /// Returns whether there was enough data and the difference was within noise, or none at all.
    pub const fn is_noise(self) -> bool {
        matches!(self, Undecided::Noise | Undecided::Chance { .. } | Undecided::Identical)
    }
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undecided::Noise => write!(f, "within noise: the interval includes 1"),
            Undecided::Identical => write!(f, "identical: models computed the same value"),
            Undecided::Chance { tests } => {
                write!(f, "the interval excludes 1, but among {tests} tests some do by chance")
            }
            Undecided::NoSeries => write!(
                f,
                "a run has no figures per second (an import, or too short), so its variation is unknown"
            ),
            Undecided::NotInSeries => {
                write!(f, "the series does not have this figure, so its variation is unknown")
            }
            Undecided::TooShort { seconds, least } => {
                write!(
                    f,
                    "a single run of {seconds} s is too short; {least} s or several runs are needed"
                )
            }
            Undecided::BrokenOff { seconds } => write!(f, "a run ended early, after {seconds} s"),
            Undecided::Stalled => {
                write!(f, "a run stalled for so long that its rate is a matter of chance")
            }
            Undecided::FewSecondsDecide => {
                write!(f, "a few seconds decide it; most seconds show something else")
            }
            Undecided::Zero => write!(f, "a value is 0"),
        }
    }
}

fn sentence<S: Serializer>(because: &Undecided, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(because)
}

impl Comparison {
    /// Compares the sides. Only tests whose name on either side contains `pattern` are compared;
    /// case is ignored, and an empty pattern matches all.
    pub fn of(baseline: &Group<'_>, candidates: &[Group<'_>], pattern: &str) -> Comparison {
        Comparison {
            schema: SCHEMA.to_owned(),
            baseline: baseline.record(),
            candidates: candidates
                .iter()
                .map(|candidate| Against::of(baseline, candidate, pattern))
                .collect(),
        }
    }

    /// Names of the sides, the baseline's first, each different from the others: their names, with
    /// the words that selected them where several have the same.
    pub fn names(&self) -> Vec<String> {
        let sides: Vec<&GroupRecord> = std::iter::once(&self.baseline)
            .chain(self.candidates.iter().map(|against| &against.candidate))
            .collect();
        let name = |side: &&GroupRecord| {
            let shared = sides.iter().filter(|other| other.name == side.name).count() > 1;
            if shared && side.name != side.label {
                format!("{} ({})", side.name, side.label)
            } else {
                side.name.clone()
            }
        };
        sides.iter().map(name).collect()
    }

    /// Returns whether any test was found on both sides.
    pub fn has_tests(&self) -> bool {
        self.candidates.iter().any(|against| !against.tests.is_empty())
    }
}

/// The JSON Schema (draft 2020-12) of [`Comparison`]. The repository keeps it as
/// `schemas/compare-1.json`.
pub fn json_schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(Comparison);
    schema.insert("title".to_owned(), format!("flushmark compare document, {SCHEMA}").into());
    if let Some(own) =
        schema.pointer_mut("/properties/schema").and_then(serde_json::Value::as_object_mut)
    {
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
        let pairs: Vec<&Pair<'_>> = pairs
            .iter()
            .filter(|pair| {
                wanted(&pair.baseline.first().test) || wanted(&pair.candidate.first().test)
            })
            .collect();
        let mut tests: Vec<TestComparison> =
            pairs.iter().map(|pair| TestComparison::of(pair, runs)).collect();
        for metric in Metric::all() {
            guard_against_chance(&mut tests, metric);
        }
        let differences = facts::differences(baseline, candidate);
        let headline = headline(&pairs, &tests);
        Against { candidate: candidate.record(), tests, headline, unpaired, differences }
    }
}

impl Against {
    /// The test that represents all.
    pub fn headline(&self) -> Option<&TestComparison> {
        self.headline.map(|at| &self.tests[at])
    }
}

impl TestComparison {
    fn of(pair: &Pair<'_>, runs: [usize; 2]) -> TestComparison {
        let (ours, theirs) = (pair.baseline.first(), pair.candidate.first());
        // All rates move together, so their noise is estimated once.
        let exact = is_modelled(pair);
        let evidence = |metric| if exact { Ok(Evidence::Exact) } else { spread(pair, metric) };
        let rates = evidence(Metric::Iops);
        let broken_off = broken_off(pair);
        let compared = |metric: Metric| {
            let (baseline, candidate) =
                (pair.baseline.value(metric)?, pair.candidate.value(metric)?);
            let evidence = if metric.more_is_better() { rates } else { evidence(metric) };
            let evidence =
                broken_off.map_or(evidence, |seconds| Err(Undecided::BrokenOff { seconds }));
            Some(MetricComparison::of(metric, baseline, candidate, evidence))
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

    pub fn metric(&self, metric: Metric) -> Option<&MetricComparison> {
        self.metrics.iter().find(|compared| compared.metric == metric)
    }

    /// The figure that represents the test in summaries.
    pub fn leading(&self) -> Option<&MetricComparison> {
        self.metrics.iter().find(|compared| compared.metric.name() == self.leading)
    }
}

/// The basis of a ratio's certainty.
#[derive(Debug, Clone, Copy)]
enum Evidence {
    /// Models computed both values.
    Exact,
    /// Both values were measured, and vary.
    Measured { spread: Spread, from: Samples },
}

/// Returns whether models computed both sides, once each. Several runs of a model have different
/// seeds; a user who joins them wants to know how much those matter.
fn is_modelled(pair: &Pair<'_>) -> bool {
    [&pair.baseline, &pair.candidate]
        .iter()
        .all(|side| matches!(side.runs[..], [run] if run.is_modelled()))
}

fn lost(baseline: &[Metric], candidate: &[Metric]) -> Vec<Metric> {
    baseline.iter().copied().filter(|metric| !candidate.contains(metric)).collect()
}

/// Seconds after which the first run that is not to be judged ended: it failed, or was interrupted
/// before half the length of another run, or before [`MEMORY_SECONDS_MIN`]. The document does not
/// record how long it should have taken.
fn broken_off(pair: &Pair<'_>) -> Option<u64> {
    let runs = || pair.baseline.runs.iter().chain(&pair.candidate.runs);
    let longest_s = runs().map(|run| run.elapsed_s).fold(0.0, f64::max);
    let least_s = (longest_s / 2.0).max(MEMORY_SECONDS_MIN as f64);
    let broken = |run: &&&TestResult| match run.ended {
        Ended::Limit => false,
        Ended::Interrupted => run.elapsed_s < least_s,
        Ended::Failed { .. } => true,
    };
    runs().find(broken).map(|run| run.elapsed_s.round() as u64)
}

fn spread(pair: &Pair<'_>, metric: Metric) -> Result<Evidence, Undecided> {
    let piece = piece(pair);
    let courses = |test: &GroupTest<'_>| test.courses(metric, piece).ok_or(Undecided::NotInSeries);
    let (baseline, candidate) = (courses(&pair.baseline)?, courses(&pair.candidate)?);
    let spread = bootstrap::spread(piece, &baseline, &candidate).map_err(|none| match none {
        NoInterval::NoSeries => Undecided::NoSeries,
        NoInterval::TooShort { pieces, least } => Undecided::TooShort { seconds: pieces, least },
        NoInterval::Stalled => Undecided::Stalled,
    })?;
    let from = match piece {
        _ if baseline.len() > 1 || candidate.len() > 1 => Samples::Runs,
        Piece::Second => Samples::Seconds,
        Piece::Pass => Samples::Passes,
    };
    Ok(Evidence::Measured { spread, from })
}

/// The pieces that runs are divided into: passes if every run has enough of them, so a comparison
/// never mixes both kinds.
fn piece(pair: &Pair<'_>) -> Piece {
    let mut runs = pair.baseline.runs.iter().chain(&pair.candidate.runs);
    if runs.all(|run| run.passes.len() >= PASSES_MIN) { Piece::Pass } else { Piece::Second }
}

impl MetricComparison {
    fn of(
        metric: Metric,
        baseline: f64,
        candidate: f64,
        evidence: Result<Evidence, Undecided>,
    ) -> MetricComparison {
        let ratio = (baseline > 0.0).then(|| candidate / baseline);
        let compared = MetricComparison {
            metric,
            unit: metric.unit(),
            baseline,
            candidate,
            ratio,
            interval: None,
            exact: false,
            verdict: Verdict::Open { because: Undecided::Zero },
        };
        let open =
            |because| MetricComparison { verdict: Verdict::Open { because }, ..compared.clone() };
        let Some(ratio) = ratio.filter(|ratio| *ratio > 0.0) else { return compared };
        let better = (ratio > 1.0) == metric.more_is_better();
        let different = Verdict::Different {
            direction: if better { Direction::Better } else { Direction::Worse },
        };
        let (spread, from) = match evidence {
            Ok(Evidence::Measured { spread, from }) => (spread, from),
            Ok(Evidence::Exact) if candidate.total_cmp(&baseline).is_eq() => {
                return MetricComparison { exact: true, ..open(Undecided::Identical) };
            }
            Ok(Evidence::Exact) => {
                return MetricComparison { exact: true, verdict: different, ..compared };
            }
            Err(because) => return open(because),
        };
        let (low, high) = (ratio * spread.low, ratio * spread.high);
        // The interval is that of the seconds' mean. If that moved differently from the figure
        // itself, it does not apply to the figure.
        if spread.ratio < low * (1.0 - SLACK) || spread.ratio > high * (1.0 + SLACK) {
            return open(Undecided::FewSecondsDecide);
        }
        let verdict = if low <= 1.0 && 1.0 <= high {
            Verdict::Open { because: Undecided::Noise }
        } else {
            different
        };
        let interval = Interval {
            low,
            high,
            chance: spread.chance_of(ratio),
            from,
            needed_for_5_percent: spread.needed(DETECTED),
        };
        MetricComparison { interval: Some(interval), verdict, ..compared }
    }

    /// The change as a share: 0.1 for 10 % more.
    pub fn change(&self) -> Option<f64> {
        self.ratio.map(|ratio| ratio - 1.0)
    }
}

/// Withdraws verdicts on a metric that may be due to chance among so many tests.
fn guard_against_chance(tests: &mut [TestComparison], metric: Metric) {
    let figures = tests
        .iter_mut()
        .filter_map(|test| test.metrics.iter_mut().find(|figure| figure.metric == metric));
    let mut figures: Vec<(f64, &mut MetricComparison)> =
        figures.filter_map(|figure| Some((figure.interval?.chance, figure))).collect();
    figures.sort_by(|a, b| a.0.total_cmp(&b.0));
    let tests = figures.len();
    let kept =
        (0..tests).rev().find(|&at| figures[at].0 <= FALSE_SHARE * (at + 1) as f64 / tests as f64);
    let doubtful = kept.map_or(0, |kept| kept + 1);
    // A single figure was not picked from many; its interval is enough.
    for (_, figure) in figures.iter_mut().skip(doubtful).filter(|_| tests > 1) {
        if matches!(figure.verdict, Verdict::Different { .. }) {
            figure.verdict = Verdict::Open { because: Undecided::Chance { tests } };
        }
    }
}

/// Describes how a run ended early, if it did.
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
    // An imported listing may not contain the size.
    let known = ours.size_bytes > 0 && theirs.size_bytes > 0;
    if known && ours.size_bytes != theirs.size_bytes {
        let [ours, theirs] = [ours, theirs].map(|work| about_bytes(work.size_bytes));
        notes.push(format!("the baseline worked on {ours} and the candidate on {theirs}"));
    }
    let lost = lost(&pair.baseline.metrics(), &pair.candidate.metrics());
    if !lost.is_empty() && pair.candidate.merge_error().is_none() {
        let names: Vec<String> = lost.into_iter().map(Metric::name).collect();
        notes.push(format!("the candidate does not have {}", names.join(", ")));
    }
    for ((side, test), runs) in sides.into_iter().zip(runs) {
        if test.listed < runs {
            notes.push(format!("{} of {runs} runs of {side} have it", test.listed));
        }
        if test.runs.len() < test.listed {
            notes.push(format!(
                "{} runs of {side} count as {} because they are identical: one run listed twice, \
                 or one model with one seed",
                test.listed,
                test.runs.len()
            ));
        }
        if let Some(error) = test.merge_error() {
            notes.push(format!(
                "the runs of {side} cannot be merged, so it has rates but no percentiles: {error}"
            ));
        }
        let unsettled = test
            .runs
            .iter()
            .filter(|run| run.steady_state.is_some_and(|steady| !steady.reached))
            .count();
        match unsettled {
            0 => {}
            _ if test.runs.len() == 1 => {
                notes.push(format!("{side} had not reached a steady state"));
            }
            count => {
                notes.push(format!(
                    "{count} of {} runs of {side} had not reached a steady state",
                    test.runs.len()
                ));
            }
        }
        notes.extend(test.runs.iter().filter_map(|run| broke_off(side, run)));
    }
    notes
}

#[cfg(test)]
mod tests;
