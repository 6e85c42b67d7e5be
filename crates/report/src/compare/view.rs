//! A comparison as texts and table cells, independent of the output: terminal, Markdown or HTML.

use compare::{
    Against, Direction, GroupRecord, Metric, MetricComparison, Operation, Point, Samples,
    TestComparison, Undecided, UnpairedReason, Verdict,
};

use super::words::{
    bound, change, figure_name, interval, percent_up, ratio, unknown, value, with_unit,
};
use super::{Figures, answer};
use crate::columns::NONE;

/// A candidate compared with its baseline, as texts.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonView<'a> {
    pub against: &'a Against,
    /// Names of the baseline and of the candidate, in this order.
    pub names: [&'a str; 2],
    /// Selects the figures of each test.
    pub figures: Figures,
}

/// A figure of a test on both sides, as texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FigureView {
    /// For example `commits/s` or `commit p99`.
    pub name: String,
    /// The baseline's value with its unit.
    pub baseline: String,
    /// The candidate's value with its unit.
    pub candidate: String,
    /// The candidate's value as a multiple of the baseline's.
    pub ratio: String,
    /// Confidence interval of the ratio.
    pub interval: String,
    /// For example `2.1× faster` or `noise`; empty if inconclusive.
    pub verdict: String,
    /// Better or worse; `None` if no difference is certain.
    pub direction: Option<Direction>,
}

/// A test of both sides in one line, as texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestView {
    /// The test's name; where the line is about another figure than the rate, that figure's.
    pub name: String,
    /// True for a further line of the test above.
    pub is_further: bool,
    /// The baseline's value with its unit.
    pub baseline: String,
    /// The candidate's value with its unit.
    pub candidate: String,
    /// The difference in words: `2.1× slower`, `same within 4 %`.
    pub difference: String,
    /// For example `significant`, `not significant`, `exact`, `unknown: too short`.
    pub significance: &'static str,
    /// Better or worse; `None` if no difference is certain.
    pub direction: Option<Direction>,
}

impl<'a> ComparisonView<'a> {
    /// The answer in one sentence.
    pub fn answer(&self) -> String {
        answer::answer(self.against, self.names)
    }

    /// Sentences that add to the answer: its test, the others, those that are not compared. May be
    /// empty.
    pub fn addition(&self) -> String {
        answer::addition(self.against)
    }

    /// The answer and the addition.
    pub fn sentence(&self) -> String {
        format!("{} {}", self.answer(), self.addition()).trim_end().to_owned()
    }

    /// Advice that would decide an open question: how long the tests must run, with the command.
    pub fn advice(&self, baseline: &GroupRecord) -> Option<String> {
        answer::advice(baseline, self.against)
    }

    /// A line for each test, and one for its 99th percentile if that certainly changed and the rate
    /// did not, or in the other direction.
    pub fn lines(&self) -> Vec<TestView> {
        self.against.tests.iter().flat_map(lines).collect()
    }

    /// Each test (with its name on the other side if that differs) and its figures.
    pub fn tests(&self) -> impl Iterator<Item = (String, Vec<FigureView>)> + use<'a> {
        let figures = self.figures;
        self.against
            .tests
            .iter()
            .map(move |test| (title(test), shown(test, figures).map(figure_view).collect()))
    }

    /// Remarks: why figures have no verdict, and notes on single tests. Each remark appears once.
    pub fn remarks(&self) -> Vec<String> {
        let mut reasons: Vec<(Undecided, Vec<String>)> = Vec::new();
        for test in &self.against.tests {
            for figure in shown(test, self.figures) {
                let Verdict::Open { because } = figure.verdict else { continue };
                let name = figure_name(figure.metric);
                match reasons.iter_mut().find(|(known, _)| *known == because) {
                    Some((_, names)) if names.contains(&name) => {}
                    Some((_, names)) => names.push(name),
                    None => reasons.push((because, vec![name])),
                }
            }
        }
        // An interval that includes 1 is visible in the table.
        reasons.retain(|(because, _)| !matches!(because, Undecided::Noise | Undecided::Identical));
        let mut lines: Vec<String> = reasons
            .into_iter()
            .map(|(because, names)| format!("{}: no verdict, {because}.", names.join(", ")))
            .collect();
        lines.extend(self.notes());
        lines.extend(self.single_runs());
        lines
    }

    /// The notes on tests. Tests with the same note share a line.
    fn notes(&self) -> impl Iterator<Item = String> {
        let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
        for test in &self.against.tests {
            for note in &test.notes {
                match notes.iter_mut().find(|(known, _)| known == note) {
                    Some((_, tests)) => tests.push(&test.test),
                    None => notes.push((note, vec![&test.test])),
                }
            }
        }
        let all = self.against.tests.len();
        notes.into_iter().map(move |(note, tests)| match tests.as_slice() {
            many if many.len() > 1 && many.len() == all => format!("All tests: {note}."),
            [first, _, _, ..] => format!("{first} and {} others: {note}.", tests.len() - 1),
            tests => format!("{}: {note}.", tests.join(" and ")),
        })
    }

    /// A caveat if the intervals do not contain what differs from run to run.
    fn single_runs(&self) -> Option<String> {
        let mut figures = self.against.tests.iter().flat_map(|test| &test.metrics);
        let is_single = |figure: &MetricComparison| {
            figure.interval.is_some_and(|interval| interval.from != Samples::Runs)
        };
        figures.any(is_single).then(|| {
            "One run on each side: the intervals do not contain what differs from run to run. \
             Several runs per side, joined by commas, show that."
                .to_owned()
        })
    }

    /// Tests that were not compared, each with the reason.
    pub fn unpaired(&self) -> Vec<(String, String)> {
        let [baseline, candidate] = self.names;
        let why = |reason: &UnpairedReason| match reason {
            UnpairedReason::OnlyInBaseline => format!("only in {baseline}"),
            UnpairedReason::OnlyInCandidate => format!("only in {candidate}"),
            UnpairedReason::DifferentWorkload { fields } => {
                format!("the workloads differ: {}", fields.join("; "))
            }
        };
        self.against.unpaired.iter().map(|test| (test.test.clone(), why(&test.reason))).collect()
    }

    /// Other differences: the fact, the baseline's value, the candidate's value.
    pub fn differences(&self) -> Vec<(String, String, String)> {
        let said = |answers: &[String]| {
            if answers.is_empty() { NONE.to_owned() } else { answers.join(", ") }
        };
        let row = |it: &compare::FactDifference| {
            (it.fact.clone(), said(&it.baseline), said(&it.candidate))
        };
        self.against.differences.iter().map(row).collect()
    }
}

fn lines(test: &TestComparison) -> Vec<TestView> {
    let Some(leading) = test.leading() else { return Vec::new() };
    let line = |name: String, figure: &MetricComparison| TestView {
        name,
        is_further: !std::ptr::eq(figure, leading),
        baseline: with_unit(figure.metric, figure.baseline),
        candidate: with_unit(figure.metric, figure.candidate),
        difference: difference(figure),
        significance: match figure.verdict {
            Verdict::Different { .. } if figure.exact => "exact",
            Verdict::Different { .. } => "significant",
            Verdict::Open { because } => unknown(because),
        },
        direction: direction(figure),
    };
    let mut lines = vec![line(title(test), leading)];
    let tail = shown(test, Figures::Leading)
        .find(|figure| matches!(figure.metric, Metric::Latency(_, Point::P99)));
    let is_certain = |tail: &&MetricComparison| {
        direction(tail).is_some() && direction(tail) != direction(leading)
    };
    lines.extend(tail.filter(is_certain).map(|tail| line(figure_name(tail.metric), tail)));
    lines
}

fn direction(figure: &MetricComparison) -> Option<Direction> {
    match figure.verdict {
        Verdict::Different { direction } => Some(direction),
        Verdict::Open { .. } => None,
    }
}

/// The difference in words: `2.1× slower`, `same within 4 %`, `identical`.
fn difference(figure: &MetricComparison) -> String {
    match (figure.verdict, bound(figure), figure.ratio) {
        (Verdict::Open { because: Undecided::Identical }, ..) => "identical".to_owned(),
        // The figures of a partial run would be mistaken for those of a complete one.
        (Verdict::Open { because: Undecided::BrokenOff { .. } }, ..) => NONE.to_owned(),
        (_, Some(bound), _) => format!("same within {}", percent_up(bound)),
        (_, None, Some(ratio)) if ratio > 0.0 => change(ratio, figure.metric),
        _ => NONE.to_owned(),
    }
}

/// The verdict in words: `2.1× faster`; empty if nothing is known.
fn verdict(figure: &MetricComparison) -> String {
    match (figure.verdict, figure.ratio) {
        (Verdict::Different { .. }, Some(ratio)) => change(ratio, figure.metric),
        (Verdict::Open { because: Undecided::Identical }, _) => "identical".to_owned(),
        (Verdict::Open { because }, _) if because.is_noise() => "noise".to_owned(),
        _ => String::new(),
    }
}

fn figure_view(figure: &MetricComparison) -> FigureView {
    FigureView {
        name: figure_name(figure.metric),
        baseline: value(figure.metric, figure.baseline),
        candidate: value(figure.metric, figure.candidate),
        ratio: figure.ratio.map_or(NONE.to_owned(), ratio),
        interval: interval(figure),
        verdict: verdict(figure),
        direction: direction(figure),
    }
}

/// The test's name, followed by its name on the other side if that differs.
fn title(test: &TestComparison) -> String {
    match &test.candidate_test {
        Some(other) => format!("{} (there: {other})", test.test),
        None => test.test.clone(),
    }
}

/// The figures of a test that are shown.
fn shown(test: &TestComparison, figures: Figures) -> impl Iterator<Item = &MetricComparison> {
    let of = |operation: Operation| test.metric(Metric::Latency(operation, Point::P50)).is_some();
    // If commits are counted and not timed, only the sync latency is known; the write latency alone
    // would be mistaken for that of a commit.
    let asked = match Metric::named(&test.leading) {
        Some(Metric::CommitsPerS) => [Operation::Commit, Operation::Sync],
        _ => [Operation::Write, Operation::Read],
    };
    let waited_for = asked.into_iter().find(|&operation| of(operation));
    let leads = move |figure: &&MetricComparison| match (figures, figure.metric) {
        (Figures::All, _) | (Figures::Leading, Metric::SortS) => true,
        (Figures::Rate, Metric::Latency(..)) => false,
        (Figures::Leading, Metric::Latency(operation, point)) => {
            Some(operation) == waited_for && point != Point::Mean
        }
        (Figures::Rate | Figures::Leading, figure) => figure.name() == test.leading,
    };
    test.metrics.iter().filter(leads)
}
