//! A comparison as texts and table cells, independent of the output: terminal, Markdown or HTML.

use compare::{
    Against, Direction, Metric, MetricComparison, Operation, Point, TestComparison, Undecided,
    UnpairedReason, Verdict,
};

use super::{Figures, figure_name, interval, ratio, sentence, value, verdict};
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
    /// For example `2.1 times as fast` or `noise`; empty if inconclusive.
    pub verdict: String,
    /// `true` if the change is an improvement; `None` if no difference is certain.
    pub direction: Option<Direction>,
}

impl<'a> ComparisonView<'a> {
    pub fn sentence(&self) -> String {
        sentence::sentence(self.against, self.names)
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
        reasons.retain(|(because, _)| *because != Undecided::Noise);
        let mut lines: Vec<String> = reasons
            .into_iter()
            .map(|(because, names)| format!("{}: no verdict, {because}.", names.join(", ")))
            .collect();
        for test in &self.against.tests {
            lines.extend(test.notes.iter().map(|note| format!("{}: {note}.", test.test)));
        }
        lines
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

fn figure_view(figure: &MetricComparison) -> FigureView {
    FigureView {
        name: figure_name(figure.metric),
        baseline: value(figure.metric, figure.baseline),
        candidate: value(figure.metric, figure.candidate),
        ratio: figure.ratio.map_or(NONE.to_owned(), ratio),
        interval: interval(figure),
        verdict: verdict(figure),
        direction: match figure.verdict {
            Verdict::Different { direction } => Some(direction),
            Verdict::Open { .. } => None,
        },
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
        (Figures::Leading, Metric::Latency(operation, point)) => {
            Some(operation) == waited_for && point != Point::Mean
        }
        (Figures::Leading, rate) => rate.name() == test.leading,
    };
    test.metrics.iter().filter(leads)
}
