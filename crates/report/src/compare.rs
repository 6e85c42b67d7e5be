//! Comparisons of results, as a terminal page or as Markdown for a ticket.

mod markdown;
mod sentence;
mod view;

use compare::{Comparison, Direction, GroupRecord, Metric, MetricComparison, Missing, Verdict};

use crate::columns::{Cell, Column, Columns, NONE};
use crate::look::{Look, paint};
use crate::prose::counted;

pub use markdown::compare_markdown;
pub use view::{ComparisonView, FigureView};
use workload::number::{latency, number, seconds, throughput};

/// Selects the figures shown for each test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figures {
    /// The rate and the latencies that the application observes.
    Leading,
    /// Every figure that both sides have.
    All,
}

/// The whole page: the sides, other differences, the tests, and a closing sentence with the result.
pub fn compare_page(comparison: &Comparison, figures: Figures, look: &Look) -> String {
    let mut text = look.heading("Compared") + &legend(comparison, look);
    for (against, letter) in comparison.candidates.iter().zip(letters().skip(1)) {
        let letter = letter.to_string();
        text += &section(&ComparisonView { against, names: ["A", &letter], figures }, look);
    }
    for (against, letter) in comparison.candidates.iter().zip(letters().skip(1)) {
        let letter = letter.to_string();
        text.push('\n');
        text +=
            &look.paragraph(&ComparisonView { against, names: ["A", &letter], figures }.sentence());
    }
    look.finish(text)
}

/// Names of the sides in tables: the baseline is A.
fn letters() -> impl Iterator<Item = char> {
    ('A'..='Z').chain(std::iter::repeat('?'))
}

fn legend(comparison: &Comparison, look: &Look) -> String {
    let groups = std::iter::once(&comparison.baseline)
        .chain(comparison.candidates.iter().map(|one| &one.candidate));
    let sides: Vec<(char, &GroupRecord)> = letters().zip(groups).collect();
    Columns::<(char, &GroupRecord)>::new()
        .with(Column::left(""), |(letter, _)| Cell::styled(letter.to_string(), look.palette.strong))
        .with(Column::left(""), |(_, group)| group.label.clone())
        .with(Column::prose(""), |(_, group)| described(group))
        .with(Column::left(""), |(letter, _)| if *letter == 'A' { "baseline" } else { "" })
        .of(&sides, look)
}

/// A side in a line: `3 runs of check on /srv, 2026-11-20 to 2026-11-21`.
fn described(group: &GroupRecord) -> String {
    let runs = counted(u64::from(group.runs), "run");
    let day = |time: &str| time.split('T').next().unwrap_or(time).to_owned();
    let when = match (day(&group.from), day(&group.until)) {
        _ if measurement::started_at::read(&group.from).is_none() => String::new(),
        (from, until) if from == until => {
            format!(", {}", group.from.replace('T', " ").replace('Z', " UTC"))
        }
        (from, until) => format!(", {from} to {until}"),
    };
    let smoke = if group.smoke { "; a smoke run, whose numbers are meaningless" } else { "" };
    format!("{runs} of {} on {}{when}{smoke}", group.suites.join(", "), group.targets.join(", "))
}

fn section(view: &ComparisonView<'_>, look: &Look) -> String {
    let letter = view.names[1];
    let mut text = format!("\n{}", look.heading(&format!("{letter} against A")));
    text += &tests(view, look);
    let said: String = view.remarks().iter().map(|line| look.hanging("  ", line)).collect();
    if !said.is_empty() {
        text += &format!("\n{}\n", paint(look.palette.faint, said.trim_end()));
    }
    let unpaired = view.unpaired();
    if !unpaired.is_empty() {
        text += &format!("\n{}", look.heading("Not compared"));
        for (test, why) in unpaired {
            text += &look.hanging("  ", &format!("{test}: {why}"));
        }
    }
    let differences = view.differences();
    if !differences.is_empty() {
        text += &format!("\n{}", look.heading("What else differs"));
        text += &Columns::<(String, String, String)>::new()
            .with(Column::left(""), |(fact, _, _)| Cell::styled(fact, look.palette.faint))
            .with(Column::left("A"), |(_, baseline, _)| baseline.clone())
            .with(Column::prose(letter), |(_, _, candidate)| candidate.clone())
            .of(&differences, look);
    }
    text
}

fn tests(view: &ComparisonView<'_>, look: &Look) -> String {
    let mut table = Columns::<FigureView>::new()
        .with(Column::left(""), |figure| format!("  {}", figure.name))
        .with(Column::right("A"), |figure| figure.baseline.clone())
        .with(Column::right(view.names[1]), |figure| figure.candidate.clone())
        .with(Column::right("ratio"), |figure| figure.ratio.clone())
        .with(Column::right("95 % interval"), |figure| figure.interval.clone())
        .with(Column::left(""), |figure| {
            let style = match figure.direction {
                Some(Direction::Better) => look.palette.good,
                Some(Direction::Worse) => look.palette.bad,
                None => look.palette.faint,
            };
            Cell::styled(&figure.verdict, style)
        });
    for (test, figures) in view.tests() {
        table.group(test);
        figures.iter().for_each(|figure| table.row(figure));
    }
    if view.against.tests.is_empty() {
        return look.hanging("  ", "The two sides have no test in common.");
    }
    table.render(look)
}

fn figure_name(metric: Metric) -> String {
    match metric {
        Metric::Iops => "operations/s".to_owned(),
        Metric::MibPerS => "MiB/s".to_owned(),
        Metric::CommitsPerS => "commits/s".to_owned(),
        Metric::SortS => "time of a sort".to_owned(),
        Metric::Latency(of, at) => format!("{} {}", of.name(), at.name().replace('_', ".")),
    }
}

fn value(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Iops | Metric::CommitsPerS => number(value),
        Metric::MibPerS => throughput(value),
        Metric::SortS => seconds(value),
        Metric::Latency(..) => latency(value),
    }
}

/// A ratio to three digits: `0.0157`, `0.998`, `1.05`, `12.3`.
fn ratio(value: f64) -> String {
    match value {
        value if value > 0.0 && value < 0.0995 => {
            let zeros = (-value.log10()).floor() as usize;
            format!("{value:.0$}", zeros + 3)
        }
        value if value < 0.9995 => format!("{value:.3}"),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => number(value),
    }
}

fn interval(figure: &MetricComparison) -> String {
    figure.interval.map_or(NONE.to_owned(), |interval| {
        format!("{} to {}", ratio(interval.low), ratio(interval.high))
    })
}

/// The verdict in words: `2.1 times as fast`; empty if nothing is known.
fn verdict(figure: &MetricComparison) -> String {
    match (figure.verdict, figure.ratio) {
        (Verdict::Different { .. }, Some(ratio)) => times(ratio, figure.metric),
        (Verdict::Open { because }, _) if because.is_noise() => "noise".to_owned(),
        _ => String::new(),
    }
}

/// A ratio in words, never below 1: `2.1 times as fast`, `64 times as slow`, `1.3 times as long`.
fn times(ratio: f64, metric: Metric) -> String {
    let how = match (metric.more_is_better(), ratio < 1.0) {
        (true, false) => "fast",
        (true, true) => "slow",
        (false, false) => "long",
        (false, true) => "short",
    };
    format!("{} times as {how}", fold(ratio))
}

/// The factor in either direction: `1.05`, `2.1`, `64`.
fn fold(ratio: f64) -> String {
    let fold = if ratio < 1.0 { 1.0 / ratio } else { ratio };
    match fold {
        fold if fold < 1.995 => format!("{fold:.2}"),
        fold if fold < 9.95 => format!("{fold:.1}"),
        fold => number(fold),
    }
}

/// Why a condition of `--fail-if` failed, as one sentence.
pub fn failure(failure: &compare::Failure<'_>) -> String {
    match failure {
        compare::Failure::Exceeded(it) => exceeded(it),
        compare::Failure::Unchecked(it) => unheld(it),
    }
}

fn unheld(unheld: &compare::Unchecked<'_>) -> String {
    let compare::Unchecked { condition, candidate, test, because } = unheld;
    let metric = condition.metric.name();
    let why = match because {
        Missing::Test => format!(
            "the baseline has {metric} of this test, but the candidate does not have the test"
        ),
        Missing::DifferentWorkload(fields) => {
            format!("the workloads differ ({})", fields.join("; "))
        }
        Missing::Figure => format!("the baseline has {metric}, but the candidate does not"),
        Missing::BrokenOff => "a run of it ended too early to be conclusive".to_owned(),
        Missing::Zero => format!("the baseline's {metric} is 0 and allows no relative change"),
    };
    format!("{candidate}, {test}: {why}, so `{}` fails", condition.text)
}

fn exceeded(exceeded: &compare::Exceeded<'_>) -> String {
    let compare::Exceeded { condition, candidate, test, figure } = exceeded;
    // Conditions are written in percent, and changes are shown in percent.
    let change = match figure.ratio {
        Some(ratio) if (0.5..2.0).contains(&ratio) || ratio <= 0.0 => {
            format!(" ({:+.1} %)", (ratio - 1.0) * 100.0)
        }
        Some(ratio) => format!(" ({})", times(ratio, figure.metric)),
        None => String::new(),
    };
    let blind = if condition.is_blind_to_noise(figure) {
        "; judged only by the ratio because its variation is unknown"
    } else {
        ""
    };
    let [before, after] =
        [figure.baseline, figure.candidate].map(|it| with_unit(figure.metric, it));
    format!(
        "{candidate}, {test}: {} went from {before} to {after}{change}, and `{}` fails{blind}",
        figure.metric.name(),
        condition.text
    )
}

fn with_unit(metric: Metric, number: f64) -> String {
    let number = value(metric, number);
    match metric {
        Metric::Iops | Metric::CommitsPerS => format!("{number}/s"),
        Metric::MibPerS => format!("{number} MiB/s"),
        Metric::SortS | Metric::Latency(..) => number,
    }
}

#[cfg(test)]
mod tests;
