//! Results against results, for people: as a page on a terminal, or as Markdown for a ticket.

mod markdown;
mod sentence;

use compare::{
    Against, Comparison, Direction, GroupRecord, Metric, MetricComparison, Operation, Point, TestComparison, Undecided,
    UnpairedReason, Verdict,
};

use crate::columns::{Cell, Column, Columns, NONE};
use crate::look::{Look, paint};
use crate::number::{latency, rate, throughput};
use crate::prose::hanging;

pub use markdown::compare_markdown;

/// Which figures of each test are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figures {
    /// What the application gets and waits for.
    Leading,
    /// All that both sides have.
    All,
}

/// The whole page: who is compared, what else differs, test by test, and a last sentence that says what it comes to.
pub fn compare_page(comparison: &Comparison, figures: Figures, look: &Look) -> String {
    let mut text = look.heading("Compared") + &legend(comparison, look);
    for (against, letter) in comparison.candidates.iter().zip(letters().skip(1)) {
        text += &section(against, letter, figures, look);
    }
    for (against, letter) in comparison.candidates.iter().zip(letters().skip(1)) {
        text.push('\n');
        text += &hanging("", 0, &sentence::sentence(against, letter), look.columns());
    }
    look.finish(text)
}

/// How sides are called in tables: the baseline is A.
fn letters() -> impl Iterator<Item = char> {
    ('A'..='Z').chain(std::iter::repeat('?'))
}

fn legend(comparison: &Comparison, look: &Look) -> String {
    let mut table = Columns::new([Column::left(""), Column::left(""), Column::prose(""), Column::left("")]);
    let groups = std::iter::once(&comparison.baseline).chain(comparison.candidates.iter().map(|one| &one.candidate));
    for ((letter, group), nth) in letters().zip(groups).zip(0..) {
        table.row([
            Cell::styled(letter.to_string(), look.palette.strong),
            Cell::from(group.label.clone()),
            Cell::from(described(group)),
            Cell::from(if nth == 0 { "baseline" } else { "" }),
        ]);
    }
    table.render(look)
}

/// A side in a line: `3 runs of quick on /srv, 2026-11-20 to 2026-11-21`.
fn described(group: &GroupRecord) -> String {
    let runs = match group.runs {
        1 => "1 run".to_owned(),
        several => format!("{several} runs"),
    };
    let day = |time: &str| time.split('T').next().unwrap_or(time).to_owned();
    let when = match (day(&group.from), day(&group.until)) {
        // A model takes no time, and of some imported results nobody knows theirs.
        (from, _) if from == "1970-01-01" => String::new(),
        (from, until) if from == until => format!(", {}", group.from.replace('T', " ").replace('Z', " UTC")),
        (from, until) => format!(", {from} to {until}"),
    };
    let smoke = if group.smoke { "; a smoke run, whose numbers mean nothing" } else { "" };
    format!("{runs} of {} on {}{when}{smoke}", group.suites.join(", "), group.targets.join(", "))
}

fn section(against: &Against, letter: char, figures: Figures, look: &Look) -> String {
    let mut text = format!("\n{}", look.heading(&format!("{letter} against A")));
    text += &tests(against, letter, figures, look);
    let remarks = remarks(against, figures);
    let said: String = remarks.iter().map(|line| hanging("  ", 2, line, look.columns())).collect();
    if !said.is_empty() {
        text += &format!("\n{}\n", paint(look.palette.faint, said.trim_end()));
    }
    if !against.unpaired.is_empty() {
        text += &format!("\n{}", look.heading("Not compared"));
        for (test, why) in unpaired(against, letter) {
            text += &hanging("  ", 2, &format!("{test}: {why}"), look.columns());
        }
    }
    if !against.differences.is_empty() {
        text += &format!("\n{}", look.heading("What else differs"));
        let mut table = Columns::new([Column::left(""), Column::left("A"), Column::prose(&letter.to_string())]);
        for (fact, baseline, candidate) in differences(against) {
            table.row([Cell::styled(fact, look.palette.faint), baseline.into(), candidate.into()]);
        }
        text += &table.render(look);
    }
    text
}

fn tests(against: &Against, letter: char, figures: Figures, look: &Look) -> String {
    let mut table = Columns::new([
        Column::left(""),
        Column::right("A"),
        Column::right(&letter.to_string()),
        Column::right("ratio"),
        Column::right("95 % interval"),
        Column::left(""),
    ]);
    for test in &against.tests {
        table.group(title(test));
        for figure in shown(test, figures) {
            let style = match figure.verdict {
                Verdict::Different { direction: Direction::Better } => look.palette.good,
                Verdict::Different { direction: Direction::Worse } => look.palette.bad,
                Verdict::Open { .. } => look.palette.faint,
            };
            table.row([
                Cell::from(format!("  {}", figure_name(figure.metric))),
                Cell::from(value(figure.metric, figure.baseline)),
                Cell::from(value(figure.metric, figure.candidate)),
                Cell::maybe(figure.ratio, ratio),
                Cell::from(interval(figure)),
                Cell::styled(verdict(figure), style),
            ]);
        }
    }
    if against.tests.is_empty() {
        return hanging("  ", 2, "Both sides have no test in common.", look.columns());
    }
    table.render(look)
}

/// What is not said in the table: why figures have no verdict, and what to know of single tests. Each remark is made once.
fn remarks(against: &Against, figures: Figures) -> Vec<String> {
    let mut reasons: Vec<(Undecided, Vec<String>)> = Vec::new();
    for test in &against.tests {
        for figure in shown(test, figures) {
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
    let mut lines: Vec<String> =
        reasons.into_iter().map(|(because, names)| format!("{}: no verdict, {because}.", names.join(", "))).collect();
    for test in &against.tests {
        lines.extend(test.notes.iter().map(|note| format!("{}: {note}.", test.test)));
    }
    lines
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
    let of = |operation: Operation| {
        let median = Metric::Latency(operation, Point::P50);
        test.metric(median).is_some()
    };
    let waited_for =
        [Operation::Commit, Operation::Write, Operation::Read].into_iter().find(|&operation| of(operation));
    let leads = move |figure: &&MetricComparison| match (figures, figure.metric) {
        (Figures::All, _) => true,
        (Figures::Leading, Metric::Latency(operation, point)) => Some(operation) == waited_for && point != Point::Mean,
        (Figures::Leading, rate) => rate.name() == test.leading,
    };
    test.metrics.iter().filter(leads)
}

fn figure_name(metric: Metric) -> String {
    match metric {
        Metric::Iops => "operations/s".to_owned(),
        Metric::MibPerS => "MiB/s".to_owned(),
        Metric::CommitsPerS => "commits/s".to_owned(),
        Metric::Latency(of, at) => format!("{} {}", of.name(), at.name().replace('_', ".")),
    }
}

fn value(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Iops | Metric::CommitsPerS => rate(value),
        Metric::MibPerS => throughput(value),
        Metric::Latency(..) => latency(value),
    }
}

/// A ratio to three digits: `0.998`, `1.05`, `12.3`.
fn ratio(value: f64) -> String {
    match value {
        value if value < 0.9995 => format!("{value:.3}"),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => rate(value),
    }
}

fn interval(figure: &MetricComparison) -> String {
    figure.interval.map_or(NONE.to_owned(), |interval| format!("{} to {}", ratio(interval.low), ratio(interval.high)))
}

/// The verdict in a word; none where nothing is known.
const fn verdict(figure: &MetricComparison) -> &'static str {
    match (figure.verdict, figure.metric.more_is_better()) {
        (Verdict::Different { direction: Direction::Better }, true) => "faster",
        (Verdict::Different { direction: Direction::Better }, false) => "shorter",
        (Verdict::Different { direction: Direction::Worse }, true) => "slower",
        (Verdict::Different { direction: Direction::Worse }, false) => "longer",
        (Verdict::Open { because }, _) if because.is_noise() => "noise",
        (Verdict::Open { .. }, _) => "",
    }
}

/// What a limit of `--fail-if` was exceeded by, one sentence.
pub fn exceeded(exceeded: &compare::Exceeded<'_>) -> String {
    let compare::Exceeded { condition, candidate, test, figure } = exceeded;
    let change = figure.change().map_or(String::new(), |change| format!(" ({:+.1} %)", change * 100.0));
    let blind = if condition.is_blind_to_noise(figure) {
        "; by its ratio alone, since nothing tells how much it varies"
    } else {
        ""
    };
    let [before, after] = [figure.baseline, figure.candidate].map(|it| value(figure.metric, it));
    format!(
        "{candidate}, {test}: {} went from {before} to {after}{change}, and `{}` fails{blind}",
        figure.metric.name(),
        condition.text
    )
}

fn unpaired(against: &Against, letter: char) -> Vec<(String, String)> {
    let why = |reason: &UnpairedReason| match reason {
        UnpairedReason::OnlyInBaseline => "only in A".to_owned(),
        UnpairedReason::OnlyInCandidate => format!("only in {letter}"),
        UnpairedReason::DifferentWorkload { fields } => {
            format!("it is not the same workload in both: {}", fields.join("; "))
        }
    };
    against.unpaired.iter().map(|test| (test.test.clone(), why(&test.reason))).collect()
}

fn differences(against: &Against) -> Vec<(String, String, String)> {
    let said = |answers: &[String]| if answers.is_empty() { NONE.to_owned() } else { answers.join(", ") };
    let row = |it: &compare::FactDifference| (it.fact.clone(), said(&it.baseline), said(&it.candidate));
    against.differences.iter().map(row).collect()
}

#[cfg(test)]
mod tests;
