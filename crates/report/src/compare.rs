//! Comparisons of results, as a terminal page or as Markdown for a ticket.

mod answer;
mod markdown;
mod view;
mod words;

use compare::{Comparison, Direction, GroupRecord, Missing};

use crate::columns::{Cell, Column, Columns};
use crate::look::{Look, paint};
use crate::prose::counted;

pub use markdown::compare_markdown;
pub use view::{ComparisonView, FigureView, TestView};
use words::{change, with_unit};

/// Selects the figures shown for each test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figures {
    /// The rate alone, without intervals and remarks.
    Rate,
    /// The rate and the latencies that the application observes.
    Leading,
    /// Every figure that both sides have.
    All,
}

/// The whole page: the answer, the sides, and a line for each test; with more figures than the rate,
/// also intervals, remarks and other differences.
pub fn compare_page(comparison: &Comparison, figures: Figures, look: &Look) -> String {
    let letters: Vec<String> =
        letters().map(String::from).take(comparison.candidates.len() + 1).collect();
    let views = comparison
        .candidates
        .iter()
        .zip(&letters[1..])
        .map(|(against, letter)| ComparisonView { against, names: ["A", letter], figures });
    let mut text = String::new();
    for view in views.clone() {
        text += &look.hanging_in(look.palette.strong, "", &view.answer());
    }
    for view in views.clone() {
        for sentence in [Some(view.addition()), view.advice(&comparison.baseline)] {
            let Some(sentence) = sentence.filter(|sentence| !sentence.is_empty()) else { continue };
            let whose =
                if letters.len() > 2 { format!("{}: ", view.names[1]) } else { String::new() };
            text += &look.paragraph(&(whose + &sentence));
        }
    }
    text += &format!("\n{}", legend(comparison, look));
    for view in views {
        if !view.against.tests.is_empty() {
            text += &format!("\n{}", lines(&view, look));
        }
        text += &match figures {
            Figures::Rate => left_out(&view, look),
            Figures::Leading | Figures::All => details(&view, look),
        };
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
    let sides: Vec<(char, String, &GroupRecord)> = letters()
        .zip(comparison.names())
        .zip(groups)
        .map(|((letter, name), group)| (letter, name, group))
        .collect();
    Columns::<(char, String, &GroupRecord)>::new()
        .with(Column::left(""), |(letter, ..)| {
            Cell::styled(letter.to_string(), look.palette.strong)
        })
        .with(Column::prose(""), |(_, name, _)| name.clone())
        .with(Column::prose(""), |(_, name, group)| described(name, group))
        .of(&sides, look)
}

/// A side in a line: `last~1: 3 runs of check on /srv, 2026-11-20 to 2026-11-21`, without the word
/// that selected it if it is already named so.
fn described(name: &str, group: &GroupRecord) -> String {
    let word = &group.label;
    let is_named = name == word || name.ends_with(&format!("({word})"));
    let word = if is_named { String::new() } else { format!("{word}: ") };
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
    format!(
        "{word}{runs} of {} on {}{when}{smoke}",
        group.suites.join(", "),
        group.targets.join(", ")
    )
}

/// Narrower pages have the name of a test on a separate line.
const ONE_LINE_COLUMNS: usize = 80;

/// A line for each test.
fn lines(view: &ComparisonView<'_>, look: &Look) -> String {
    let lines = view.lines();
    if lines.is_empty() {
        return String::new();
    }
    let [baseline, candidate] = view.names;
    let is_wide = look.columns() >= ONE_LINE_COLUMNS;
    let head = if is_wide { format!("{candidate} against {baseline}") } else { String::new() };
    let name = |line: &TestView| {
        if line.is_further { format!("· {}", line.name) } else { line.name.clone() }
    };
    let mut table = Columns::<TestView>::new()
        .with(Column::prose(&head), |line| if is_wide { name(line) } else { String::new() })
        .with(Column::right(baseline), |line| line.baseline.clone())
        .with(Column::right(candidate), |line| line.candidate.clone())
        .with(Column::left("difference"), |line| {
            Cell::styled(&line.difference, style(line.direction, look))
        })
        .with(Column::left("significance"), |line| {
            Cell::styled(line.significance, style(line.direction, look))
        });
    for line in &lines {
        if !is_wide {
            table.group(name(line));
        }
        table.row(line);
    }
    table.render(look)
}

fn style(direction: Option<Direction>, look: &Look) -> anstyle::Style {
    match direction {
        Some(Direction::Better) => look.palette.good,
        Some(Direction::Worse) => look.palette.bad,
        None => look.palette.faint,
    }
}

/// Tests named in a line.
const NAMED_MAX: usize = 4;

/// A line on what the brief page leaves out: the facts that differ, and tests not compared.
fn left_out(view: &ComparisonView<'_>, look: &Look) -> String {
    let mut parts = Vec::new();
    let facts: Vec<String> = view.differences().into_iter().map(|(fact, ..)| fact).collect();
    if !facts.is_empty() {
        parts.push(format!("Also different: {}", facts.join(", ")));
    }
    let tests: Vec<String> = view.unpaired().into_iter().map(|(test, _)| test).collect();
    let named = &tests[..tests.len().min(NAMED_MAX)];
    if !named.is_empty() {
        let others = match tests.len() - named.len() {
            0 => String::new(),
            others => format!("; and {others} more"),
        };
        parts.push(format!("Not compared: {}{others}", named.join("; ")));
    }
    if !view.against.tests.is_empty() {
        parts.push("Latencies, intervals and remarks: -v".to_owned());
    }
    if parts.is_empty() {
        return String::new();
    }
    format!("\n{}", look.hanging_in(look.palette.faint, "  ", &(parts.join(". ") + ".")))
}

/// Every figure, remarks, and what else differs.
fn details(view: &ComparisonView<'_>, look: &Look) -> String {
    let [baseline, letter] = view.names;
    let mut text = String::new();
    if !view.against.tests.is_empty() {
        text += &format!("\n{}", look.heading("Figures"));
        text += &figures(view, look);
    }
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
            .with(Column::prose(baseline), |(_, baseline, _)| baseline.clone())
            .with(Column::prose(letter), |(_, _, candidate)| candidate.clone())
            .of(&differences, look);
    }
    text
}

fn figures(view: &ComparisonView<'_>, look: &Look) -> String {
    let [baseline, candidate] = view.names;
    let (indent, to) = if look.columns() < ONE_LINE_COLUMNS { ("", "–") } else { ("  ", " to ") };
    let mut table = Columns::<FigureView>::new()
        .with(Column::left(""), |figure| format!("{indent}{}", figure.name))
        .with(Column::right(baseline), |figure| figure.baseline.clone())
        .with(Column::right(candidate), |figure| figure.candidate.clone())
        .with(Column::right("ratio").may_drop(1), |figure| figure.ratio.clone())
        .with(Column::right("95 % interval"), |figure| figure.interval.replace(" to ", to))
        .with(Column::left(""), |figure| {
            Cell::styled(&figure.verdict, style(figure.direction, look))
        });
    for (test, figures) in view.tests() {
        table.group(test);
        figures.iter().for_each(|figure| table.row(figure));
    }
    table.render(look)
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
        Some(ratio) => format!(" ({})", change(ratio, figure.metric)),
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

#[cfg(test)]
mod tests;
