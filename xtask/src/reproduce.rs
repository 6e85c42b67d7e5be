//! `cargo xtask reproduce`: every published figure, and what the models make of it.

use std::borrow::Cow;

use anyhow::anyhow;
use catalogue::{Drive, Model, Part, Quantity, Row, Statistic, Table};
use measurement::TestResult;
use simdrive::published::{self, PublishedTest};
use simdrive::sample::{ERROR_MAX, Sample, compare};
use workload::{Test, format_bytes};

/// A drive with the results of its model.
struct Reproduced {
    drive: &'static Drive,
    model: Cow<'static, Model>,
    tables: Vec<(&'static Table, Vec<ReproducedRow>)>,
}

struct ReproducedRow {
    row: &'static Row,
    held_out: bool,
    figures: Vec<Figure>,
}

/// A published figure, and the model's.
#[derive(Clone, Copy)]
struct Figure {
    quantity: Quantity,
    published: f64,
    /// `None` if the model's test has no such figure.
    modelled: Option<f64>,
    /// The lowest and the highest of repeated runs.
    span: (f64, f64),
}

impl Figure {
    fn error(self) -> Option<f64> {
        Some(self.modelled? / self.published - 1.0)
    }

    /// Within 30 %, or within the span of repeated runs if that is wider.
    fn holds(self) -> bool {
        let (low, high) = self.span;
        let in_span = |modelled| high / low > 1.0 + ERROR_MAX && (low..=high).contains(&modelled);
        self.error().is_some_and(|error| error.abs() <= ERROR_MAX)
            || self.modelled.is_some_and(in_span)
    }

    const fn is_rate(self) -> bool {
        matches!(self.quantity, Quantity::Iops | Quantity::MibPerS)
    }
}

impl Reproduced {
    fn rows(&self) -> impl Iterator<Item = &ReproducedRow> {
        self.tables.iter().flat_map(|(_, rows)| rows)
    }

    fn figures(&self) -> impl Iterator<Item = Figure> {
        self.rows().flat_map(|row| row.figures.iter().copied())
    }
}

pub fn run() -> anyhow::Result<()> {
    print!("{}", page()?);
    Ok(())
}

/// The page of the documentation: Markdown whose columns also line up on a terminal.
pub fn page() -> anyhow::Result<String> {
    let mut all = Vec::new();
    for drive in catalogue::drives() {
        all.push(reproduce(drive, simdrive::model(&drive.name)?)?);
    }
    let (fitted, adjusted): (Vec<_>, Vec<_>) =
        all.iter().partition(|reproduced| matches!(reproduced.model, Cow::Borrowed(_)));
    let sections: String = all.iter().map(section).collect();
    Ok(format!(
        "{INTRODUCTION}## Fitted models\n\n{}\n{CLASS_MODELS}{}{sections}",
        summary(&fitted),
        summary(&adjusted)
    ))
}

fn reproduce(drive: &'static Drive, model: Cow<'static, Model>) -> anyhow::Result<Reproduced> {
    let tests = published::tests(drive).map_err(|row| anyhow!("no test corresponds to {row:?}"))?;
    let results = results(&model, &tests)?;
    let adjusted_to = match model {
        Cow::Borrowed(_) => Vec::new(),
        Cow::Owned(_) => simdrive::adjusted_to(drive),
    };
    let is_held_out = |test: &PublishedTest<'_>| match model {
        Cow::Borrowed(_) => !test.is_for_fitting() || test.filesystem != model.host.filesystem,
        Cow::Owned(_) => !adjusted_to.iter().any(|other| std::ptr::eq(other.row, test.row)),
    };
    let mut tests = tests.iter().zip(&results);
    let mut tables = Vec::new();
    for table in &drive.tables {
        let rows = tests.by_ref().take(table.rows.len()).map(|(test, result)| ReproducedRow {
            row: test.row,
            held_out: is_held_out(test),
            figures: figures(table, test.row, result),
        });
        tables.push((table, rows.collect()));
    }
    Ok(Reproduced { drive, model, tables })
}

/// The model's results of the tests, in order. Equal tests run once.
fn results(model: &Model, tests: &[PublishedTest<'_>]) -> anyhow::Result<Vec<TestResult>> {
    let mut results: Vec<Option<TestResult>> = vec![None; tests.len()];
    while let Some(first) = results.iter().position(Option::is_none) {
        // All tests on the same filesystem, each once.
        let filesystem = tests[first].filesystem;
        let mut once: Vec<&Sample> = Vec::new();
        for test in tests.iter().filter(|test| test.filesystem == filesystem) {
            if once.iter().all(|sample| sample.test != test.sample.test) {
                once.push(&test.sample);
            }
        }
        let samples: Vec<Sample> = once.into_iter().cloned().collect();
        let compared = compare(&tests[first].machine(model), &samples)?;
        let result = |test: &Test| {
            let found = compared.iter().find(|comparison| comparison.sample.test == *test);
            found.map(|comparison| comparison.result.clone())
        };
        for (test, place) in tests.iter().zip(&mut results) {
            if test.filesystem == filesystem {
                *place = result(&test.sample.test);
            }
        }
    }
    Ok(results.into_iter().flatten().collect())
}

fn figures(table: &Table, row: &Row, result: &TestResult) -> Vec<Figure> {
    let figure = |(quantity, published)| {
        let runs = table.rows.iter().filter(|other| row.is_same_test(other));
        let same = runs.flat_map(Row::figures).filter(|(other, _)| *other == quantity);
        let span = same
            .fold((published, published), |(low, high), (_, run)| (run.min(low), run.max(high)));
        Figure { quantity, published, modelled: modelled(result, quantity), span }
    };
    row.figures().map(figure).collect()
}

fn modelled(result: &TestResult, quantity: Quantity) -> Option<f64> {
    match quantity {
        Quantity::Iops => Some(result.iops),
        Quantity::MibPerS => Some(result.mib_per_s),
        Quantity::Latency(part, statistic) => {
            let summary = match part {
                Part::Write => result.write_us,
                Part::Sync => result.sync_us,
                Part::Whole => result.commit_us,
            }?;
            Some(match statistic {
                Statistic::Mean => summary.mean,
                Statistic::P50 => summary.p50,
                Statistic::P99 => summary.p99,
            })
        }
    }
}

const INTRODUCTION: &str = "\
# What the models make of published measurements

Made by `cargo xtask reproduce`; a test compares this page with what it prints. Every published row
of every drive is here, with every published figure as it was published, and what the drive's model
does in the same test. Where a suite was derived from the source's method, that is the suite's test,
as `flushmark run SUITE sim:MODEL` runs it; otherwise it is made from what the source says
of its method, with a virtual second and 250 operations of each job at least. All filesystems are
modelled as ext4. The parameters are in `crates/catalogue/models`, fitted by `cargo xtask fit MODEL`
and starting from what is typical of the drive's class or printed in its datasheet.

**Bold**: off by more than 30 %, and outside the span of repeated runs if they differ by more. These
are the figures \"too far off\" of the summary. *Held out*: rows that the model was neither fitted nor
adjusted to, because they check it, are doubtful, or were measured on another filesystem.

";

const CLASS_MODELS: &str = "\
## Class models

The other drives have the model of their class, in which everything that a commit waits for is
multiplied by one factor to meet the drive's first commits. The other published rows show how far
that goes.

";

fn summary(all: &[&Reproduced]) -> String {
    let median = |errors: Vec<f64>| {
        median(errors).map_or(String::new(), |error| format!("{:.1} %", error * 100.0))
    };
    let line = |reproduced: &Reproduced| {
        let errors = |is_rate: bool| -> Vec<f64> {
            let figures = reproduced.figures().filter(|figure| figure.is_rate() == is_rate);
            figures.filter_map(Figure::error).map(f64::abs).collect()
        };
        let worst = reproduced
            .figures()
            .filter_map(Figure::error)
            .fold(0.0f64, |worst, error| if error.abs() > worst.abs() { error } else { worst });
        vec![
            reproduced.model.model.clone(),
            reproduced.rows().count().to_string(),
            reproduced.rows().filter(|row| row.held_out).count().to_string(),
            reproduced.figures().count().to_string(),
            median(errors(true)),
            median(errors(false)),
            percent(worst),
            reproduced.figures().filter(|figure| !figure.holds()).count().to_string(),
        ]
    };
    let head = [
        "model", "rows", "held out", "figures", "median error: rates", "latencies", "largest",
        "figures too far off",
    ];
    table(&head, &all.iter().map(|reproduced| line(reproduced)).collect::<Vec<_>>())
}

fn median(mut errors: Vec<f64>) -> Option<f64> {
    errors.sort_by(f64::total_cmp);
    match errors.len() {
        0 => None,
        count if count % 2 == 1 => Some(errors[count / 2]),
        count => Some(f64::midpoint(errors[count / 2 - 1], errors[count / 2])),
    }
}

/// All tables of a drive.
fn section(reproduced: &Reproduced) -> String {
    let Reproduced { drive, model, tables } = reproduced;
    let mut text = format!("\n## {}\n\nModel `{}`.\n", drive.label, model.model);
    for (table, rows) in tables {
        text += &format!("\n### {}\n\n{}\n", table.workload, method(table, rows));
        text += &draw(rows);
    }
    text
}

/// The source and the method of a table, in Markdown.
fn method(table: &Table, rows: &[ReproducedRow]) -> String {
    let year = table.year.map(|year| format!(", {year}")).unwrap_or_default();
    let mut text = format!(
        "[{}]({}){year}; {}, {}.",
        table.source,
        table.source_url,
        table.tool.name(),
        table.filesystem.label()
    );
    let phrases = [("Note", &table.note), ("Doubt", &table.doubt)];
    for (name, phrase) in phrases {
        if let Some(phrase) = phrase {
            text += &format!(" {name}: {phrase}.");
        }
    }
    match rows.iter().filter(|row| row.held_out).count() {
        0 => {}
        held_out if held_out == rows.len() => text += " *Held out.*",
        _ => text += " *Held out*: the rows marked with ×.",
    }
    text + "\n"
}

/// One line per row, with three columns for each quantity that the table has.
fn draw(rows: &[ReproducedRow]) -> String {
    let mut quantities: Vec<Quantity> = Vec::new();
    for quantity in QUANTITIES {
        if rows.iter().any(|row| row.figures.iter().any(|figure| figure.quantity == quantity)) {
            quantities.push(quantity);
        }
    }
    let mut head = vec!["test".to_owned()];
    for quantity in &quantities {
        head.extend([name(*quantity), "modelled".to_owned(), "error".to_owned()]);
    }
    let is_all = rows.iter().all(|row| row.held_out);
    let line = |row: &ReproducedRow| {
        let mark = if row.held_out && !is_all { " ×" } else { "" };
        let mut line = vec![test(row.row) + mark];
        for quantity in &quantities {
            match row.figures.iter().find(|figure| figure.quantity == *quantity) {
                Some(figure) => line.extend(cells(*figure)),
                None => line.extend([const { String::new() }; 3]),
            }
        }
        line
    };
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    table(&head, &rows.iter().map(line).collect::<Vec<_>>())
}

/// The order of columns.
const QUANTITIES: [Quantity; 10] = [
    Quantity::Iops,
    Quantity::MibPerS,
    Quantity::Latency(Part::Write, Statistic::Mean),
    Quantity::Latency(Part::Write, Statistic::P50),
    Quantity::Latency(Part::Write, Statistic::P99),
    Quantity::Latency(Part::Sync, Statistic::Mean),
    Quantity::Latency(Part::Sync, Statistic::P50),
    Quantity::Latency(Part::Sync, Statistic::P99),
    Quantity::Latency(Part::Whole, Statistic::Mean),
    Quantity::Latency(Part::Whole, Statistic::P99),
];

fn name(quantity: Quantity) -> String {
    let (part, statistic) = match quantity {
        Quantity::Iops => return "IOPS".to_owned(),
        Quantity::MibPerS => return "MiB/s".to_owned(),
        Quantity::Latency(part, statistic) => (part, statistic),
    };
    let part = match part {
        Part::Write => "write",
        Part::Sync => "sync",
        Part::Whole => "usec/IO",
    };
    match (part, statistic) {
        ("usec/IO", Statistic::Mean) => part.to_owned(),
        (_, Statistic::Mean) => format!("{part} µs"),
        (_, Statistic::P50) => format!("{part} p50"),
        (_, Statistic::P99) => format!("{part} p99"),
    }
}

/// A row's test, in the words of its table.
fn test(row: &Row) -> String {
    let pattern = row.pattern.map_or("write", workload::Pattern::name);
    let mut text = format!("{pattern} {}", format_bytes(row.block_bytes));
    if row.sync.is_durable() {
        text += &format!(", {}", row.sync.name());
    }
    if let Some(every) = row.sync_every.filter(|every| *every > 1) {
        text += &format!("={every}");
    }
    if row.depth > 1 {
        text += &format!(", depth {}", row.depth);
    }
    if row.jobs > 1 {
        text += &format!(", {} jobs", row.jobs);
    }
    if row.write_cache.is_known() {
        text += &format!(", cache {}", row.write_cache.name());
    }
    text
}

/// The published figure as published, the model's, and the error.
fn cells(figure: Figure) -> [String; 3] {
    let error = match figure.error() {
        None => "**none**".to_owned(),
        Some(error) if figure.holds() => percent(error),
        Some(error) => format!("**{}**", percent(error)),
    };
    let modelled = figure.modelled.map_or(String::new(), |value| match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 1000.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    });
    [figure.published.to_string(), modelled, error]
}

fn percent(error: f64) -> String {
    format!("{:+.1} %", error * 100.0)
}

/// A Markdown table: the first column is left-aligned, all others are right-aligned.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let is_words = |column: usize| column == 0;
    let line = |cells: &[String]| {
        let padded = cells.iter().enumerate().map(|(column, cell)| {
            let width = widths[column];
            if is_words(column) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
    };
    let rule = widths.iter().enumerate().map(|(column, width)| {
        if is_words(column) { "-".repeat(*width) } else { format!("{}:", "-".repeat(width - 1)) }
    });
    let head: Vec<String> = head.iter().map(|&name| name.to_owned()).collect();
    let body: String = rows.iter().map(|row| line(row)).collect();
    format!("{}{}{body}", line(&head), line(&rule.collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_page_is_what_the_models_make() {
        let committed = include_str!("../../docs/models.md");
        assert!(
            page().unwrap() == committed,
            "docs/models.md is out of date; run `cargo xtask docs`"
        );
    }
}
