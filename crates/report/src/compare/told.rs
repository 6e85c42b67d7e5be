//! A candidate against its baseline, in words and cells, for whoever sets them: a terminal, Markdown, HTML.

use compare::{
    Against, Direction, Metric, MetricComparison, Operation, Point, TestComparison, Undecided, UnpairedReason, Verdict,
};

use super::{Figures, figure_name, interval, ratio, sentence, value, verdict};
use crate::columns::NONE;

/// A candidate against its baseline, told.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// What was compared.
    pub against: &'a Against,
    /// What the baseline and the candidate are called.
    pub names: [&'a str; 2],
    /// Which figures of each test are shown.
    pub figures: Figures,
}

/// A figure of a test on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldFigure {
    /// `commits/s`, `commit p99`.
    pub name: String,
    /// The baseline's.
    pub baseline: String,
    /// The candidate's.
    pub candidate: String,
    /// The candidate's as a multiple of the baseline's.
    pub ratio: String,
    /// What the ratio could be by chance.
    pub interval: String,
    /// `2.1 times as fast`, `noise`; empty where nothing is known.
    pub verdict: String,
    /// Whether that is good; `None` where no difference is sure.
    pub direction: Option<Direction>,
}

impl<'a> Told<'a> {
    /// What it comes to.
    pub fn sentence(&self) -> String {
        sentence::sentence(self.against, self.names)
    }

    /// Each test, and how it is called on the other side, with its figures.
    pub fn tests(&self) -> impl Iterator<Item = (String, Vec<ToldFigure>)> + use<'a> {
        let figures = self.figures;
        self.against.tests.iter().map(move |test| (title(test), shown(test, figures).map(told).collect()))
    }

    /// What is not said in the figures: why they have no verdict, and what to know of single tests. Each remark is made once.
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
        // That an interval includes 1 is seen.
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

    /// Tests that were not compared, and why.
    pub fn unpaired(&self) -> Vec<(String, String)> {
        let [baseline, candidate] = self.names;
        let why = |reason: &UnpairedReason| match reason {
            UnpairedReason::OnlyInBaseline => format!("only in {baseline}"),
            UnpairedReason::OnlyInCandidate => format!("only in {candidate}"),
            UnpairedReason::DifferentWorkload { fields } => {
                format!("it is not the same workload in both: {}", fields.join("; "))
            }
        };
        self.against.unpaired.iter().map(|test| (test.test.clone(), why(&test.reason))).collect()
    }

    /// What else differs: the fact, the baseline's, the candidate's.
    pub fn differences(&self) -> Vec<(String, String, String)> {
        let said = |answers: &[String]| if answers.is_empty() { NONE.to_owned() } else { answers.join(", ") };
        let row = |it: &compare::FactDifference| (it.fact.clone(), said(&it.baseline), said(&it.candidate));
        self.against.differences.iter().map(row).collect()
    }
}

fn told(figure: &MetricComparison) -> ToldFigure {
    ToldFigure {
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

/// The test, and how it is called on the other side.
fn title(test: &TestComparison) -> String {
    match &test.candidate_test {
        Some(other) => format!("{} (there: {other})", test.test),
        None => test.test.clone(),
    }
}

/// The figures of a test that are shown.
fn shown(test: &TestComparison, figures: Figures) -> impl Iterator<Item = &MetricComparison> {
    let of = |operation: Operation| test.metric(Metric::Latency(operation, Point::P50)).is_some();
    // Where commits are counted and not timed, the sync is what is known of their wait, and the write alone would be mistaken for it.
    let asked = match Metric::named(&test.leading) {
        Some(Metric::CommitsPerS) => [Operation::Commit, Operation::Sync],
        _ => [Operation::Write, Operation::Read],
    };
    let waited_for = asked.into_iter().find(|&operation| of(operation));
    let leads = move |figure: &&MetricComparison| match (figures, figure.metric) {
        (Figures::All, _) | (Figures::Leading, Metric::SortS) => true,
        (Figures::Leading, Metric::Latency(operation, point)) => Some(operation) == waited_for && point != Point::Mean,
        (Figures::Leading, rate) => rate.name() == test.leading,
    };
    test.metrics.iter().filter(leads)
}
