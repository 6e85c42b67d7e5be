//! Answers over many hosts.

use fleet::outliers::PEERS_MIN;
use fleet::{
    Answer, By, Cause, Change, Drift, Drifts, FactValue, HostFigure, Outlier, Outliers, Scaling,
    Shape, Step, Summary, SummaryRow, Table,
};
use fleet::{HISTORY_MIN, NO_RUN};
use workload::number::{latency, number, throughput};

use crate::columns::{Column, Columns, NONE};
use crate::look::{Look, visible};
use crate::prose::counted;

/// The answer of `flushmark fleet`.
pub fn fleet_page(answer: &Answer, look: &Look) -> String {
    look.finish(match answer {
        Answer::Summary(summary) => summary_page(summary, look),
        Answer::Outliers(outliers) => outliers_page(outliers, look),
        Answer::Drift(drifts) => drift_page(drifts, look),
        Answer::Table(table) => table_page(table, look),
        Answer::Scaling(scaling) => scaling_page(scaling, look),
    })
}

/// Percentiles of each test over all hosts, over the drives of each model, or for each host.
fn summary_page(summary: &Summary, look: &Look) -> String {
    let Some([first, last]) = summary.began else {
        return format!("{NO_RUN}\n");
    };
    let day = |at: jiff::Timestamp| at.strftime("%Y-%m-%d").to_string();
    let (first, last) = (day(first), day(last));
    let when = if first == last { first } else { format!("{first} to {last}") };
    let mut text = format!(
        "{} of {}, the newest of each suite and target ({when}, UTC)\n",
        counted(summary.runs as u64, "run"),
        counted(summary.hosts as u64, "host"),
    );
    let figure = |of: &HostFigure| format!("{} ({})", latency(of.p50_us), harmless(&of.host));
    let is_together = |one: &SummaryRow, other: &SummaryRow| {
        (&one.group, &one.suite) == (&other.group, &other.suite)
    };
    for rows in summary.rows.chunk_by(is_together) {
        let [SummaryRow { group, suite, .. }, ..] = rows else { continue };
        let unknown = || "unknown model".to_owned();
        let group = match summary.by {
            By::All => String::new(),
            By::Model | By::Host => {
                format!("{}: ", group.as_deref().map_or_else(unknown, harmless))
            }
        };
        text += "\n";
        text += &look.heading(&format!("{group}{}", harmless(suite)));
        let mut columns =
            Columns::<SummaryRow>::new().with(Column::prose("test"), |row| harmless(&row.test));
        if summary.by != By::Host {
            columns = columns.with(Column::right("hosts"), |row| number(row.hosts as f64));
        }
        columns = columns
            .with(Column::right("operations").may_drop(2), |row| {
                number(row.latency_us.count as f64)
            })
            .with(Column::right("p50"), |row| latency(row.latency_us.p50))
            .with(Column::right("p99"), |row| latency(row.latency_us.p99))
            .with(Column::right("max").may_drop(3), |row| latency(row.latency_us.max));
        if summary.by != By::Host {
            columns = columns
                .with(Column::left("lowest p50").may_drop(1), move |row| figure(&row.fastest))
                .with(Column::left("highest p50"), move |row| figure(&row.slowest));
        }
        text += &columns.of(rows, look);
    }
    text
}

/// Lines of the table: its header, then a row for each sync.
fn table_lines(table: &Table) -> Vec<Vec<String>> {
    let line = |title: &str, cell: &dyn Fn(usize) -> String| -> Vec<String> {
        std::iter::once(title.to_owned()).chain((0..table.places.len()).map(cell)).collect()
    };
    let mut lines = vec![
        line("mean sync latency, one job", &|at| harmless(&table.places[at].host)),
        line("drive", &|at| harmless(&table.places[at].drive)),
        line("filesystem", &|at| {
            table.places[at].filesystem.as_deref().map_or_else(|| NONE.to_owned(), harmless)
        }),
    ];
    for row in &table.rows {
        let title =
            format!("{} after {}", row.sync.name(), workload::format_bytes(row.block_bytes));
        lines.push(line(&title, &|at| row.sync_us[at].map_or_else(|| NONE.to_owned(), latency)));
    }
    lines
}

const NOTHING_TO_TABULATE: &str = "No run has a test with one job that syncs after each write of \
                                   16 KiB or 2 MiB; `flushmark run fsync-study` has.\n";

/// A page of a table: as many places side by side as fit.
fn table_page(table: &Table, look: &Look) -> String {
    if table.places.is_empty() {
        return NOTHING_TO_TABULATE.to_owned();
    }
    let lines = table_lines(table);
    let width = |column: usize| lines.iter().map(|line| visible(&line[column])).max().unwrap_or(0);
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut used = usize::MAX;
    for column in 1..=table.places.len() {
        used = used.saturating_add(width(column) + 2);
        if used > look.columns() {
            blocks.push(Vec::new());
            used = 2 + width(0) + 2 + width(column);
        }
        if let Some(block) = blocks.last_mut() {
            block.push(column);
        }
    }
    let block = |block: &Vec<usize>| {
        let [head, rows @ ..] = &lines[..] else { return String::new() };
        let mut columns =
            Columns::<Vec<String>>::new().with(Column::left(&head[0]), |line| line[0].clone());
        for &column in block {
            columns = columns
                .with(Column::right(&head[column]), move |line: &Vec<String>| line[column].clone());
        }
        columns.of(rows, look)
    };
    blocks.iter().map(block).collect::<Vec<_>>().join("\n")
}

/// The table for a page or an issue.
pub fn fleet_table_markdown(table: &Table) -> String {
    if table.places.is_empty() {
        return NOTHING_TO_TABULATE.to_owned();
    }
    crate::markdown::table(&table_lines(table), &[0])
}

/// Rates of each test with different numbers of hosts.
fn scaling_page(scaling: &[Scaling], look: &Look) -> String {
    if scaling.is_empty() {
        return "No complete runs of a group of hosts (`flushmark run --group`).\n".to_owned();
    }
    let mut text = String::new();
    for Scaling { group, suite, test, steps, saturated_at } in scaling {
        let heading = format!("{}, {}: {}", harmless(group), harmless(suite), harmless(test));
        text += if text.is_empty() { "" } else { "\n" };
        text += &look.heading(&heading);
        let each = |step: &Step| step.per_second / step.hosts as f64;
        let first = steps.first().map(each);
        text += &Columns::<Step>::new()
            .with(Column::right("hosts"), |step| step.hosts.to_string())
            .with(Column::right("per second"), |step| number(step.per_second))
            .with(Column::right("MiB/s"), |step| throughput(step.mib_per_s))
            .with(Column::right("each host"), move |step| number(each(step)))
            .with(Column::right("of the fewest"), move |step| {
                first
                    .filter(|first| *first > 0.0)
                    .map(|first| format!("{:.0} %", each(step) / first * 100.0))
            })
            .with(Column::right("p50"), |step| step.latency_us.map(|of| latency(of.p50)))
            .with(Column::right("p99"), |step| step.latency_us.map(|of| latency(of.p99)))
            .with(Column::left("began (UTC)"), |step| {
                step.at.strftime("%Y-%m-%d %H:%M").to_string()
            })
            .of(steps, look);
        text += &match saturated_at {
            Some(1) => "A second host adds less than a tenth to the rate.\n".to_owned(),
            Some(hosts) => format!("More than {hosts} hosts add less than a tenth to the rate.\n"),
            None if steps.len() < 2 => "One number of hosts shows no limit.\n".to_owned(),
            None => "The rate rises up to the largest number of hosts.\n".to_owned(),
        };
    }
    text
}

/// Drives that are slower than others of their model, and what differs.
fn outliers_page(outliers: &Outliers, look: &Look) -> String {
    let compared = outliers.compared;
    let mut text = match outliers.found.len() {
        0 if compared == 0 => format!(
            "Nothing to compare: `fleet outliers` needs {PEERS_MIN} drives of one model, measured \
             with the same suite and filesystem.\n"
        ),
        0 => format!("No drive is slower than others of its model ({compared} compared).\n"),
        found => {
            let table = Columns::<Outlier>::new()
                .with(Column::left("host"), |outlier| harmless(&outlier.host))
                .with(Column::left("drive"), |outlier| harmless(&outlier.drive))
                .with(Column::prose("model").may_drop(1), |outlier| harmless(&outlier.kind.model))
                .with(Column::prose("test"), |outlier| harmless(&outlier.test))
                .with(Column::right("p50"), |outlier| latency(outlier.p50_us))
                .with(Column::right("usual"), |outlier| latency(outlier.usual_us))
                .with(Column::right("slower"), |outlier| {
                    format!("{:.1}x", outlier.p50_us / outlier.usual_us)
                })
                .with(Column::prose("what differs"), |outlier| what_differs(&outlier.causes))
                .of(&outliers.found, look);
            let slower = match found {
                1 => "is slower than others of its model",
                _ => "are slower than others of their model",
            };
            format!("{found} of {compared} drives {slower}:\n\n{table}")
        }
    };
    if outliers.comparisons > 0 {
        text += &format!(
            "\nCompared within model, suite and filesystem: {} figures, limit {:.1} robust \
             deviations.\n",
            outliers.comparisons, outliers.limit
        );
    }
    text += &match outliers.not_compared {
        0 => String::new(),
        1 => format!(
            "One drive was not compared: fewer than {PEERS_MIN} of its kind were measured.\n"
        ),
        count => format!(
            "{count} drives were not compared: fewer than {PEERS_MIN} of their kind were measured.\n"
        ),
    };
    text
}

/// The two likeliest facts that may explain why a drive is slow.
pub fn what_differs(causes: &[Cause]) -> String {
    if causes.is_empty() {
        return "no known fact".to_owned();
    }
    let words = |cause: &Cause| {
        format!(
            "{} {} (usually {})",
            cause.fact.name(),
            escaped(&cause.value),
            escaped(&cause.usual)
        )
    };
    causes.iter().take(2).map(words).collect::<Vec<_>>().join("; ")
}

/// Drives that became slower, since when, and what changed then.
fn drift_page(Drifts { found, drives }: &Drifts, look: &Look) -> String {
    if *drives == 0 {
        return format!(
            "Nothing to compare: `fleet drift` needs {HISTORY_MIN} runs of the same test on a drive.\n"
        );
    }
    if found.is_empty() {
        return format!("No drive became slower ({drives} with {HISTORY_MIN} runs or more).\n");
    }
    let table = Columns::<Drift>::new()
        .with(Column::left("host"), |row| harmless(&row.host))
        .with(Column::left("drive"), |row| harmless(&row.drive))
        .with(Column::prose("model").may_drop(1), |row| row.model.as_deref().map(harmless))
        .with(Column::prose("test"), |row| {
            format!("{}: {}", harmless(&row.suite), harmless(&row.test))
        })
        .with(Column::left("since (UTC)"), |row| row.since.strftime("%Y-%m-%d").to_string())
        .with(Column::right("before"), |row| latency(row.before_us))
        .with(Column::right("since"), |row| latency(row.since_us))
        .with(Column::right("slower"), |row| format!("{:.1}x", row.since_us / row.before_us))
        .with(Column::left("how"), |row| match row.shape {
            Shape::Step => "at once",
            Shape::Gradual => "gradually",
        })
        .with(Column::prose("what changed then"), |row| what_changed(&row.changes))
        .of(found, look);
    let count = found.len();
    format!("{count} of {drives} drives became slower:\n\n{table}")
}

/// Facts that differ between two runs of a drive.
pub fn what_changed(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "no known fact".to_owned();
    }
    let words = |Change { fact, before, after }: &Change| {
        format!("{}: {} to {}", fact.name(), escaped(before), escaped(after))
    };
    changes.iter().map(words).collect::<Vec<_>>().join("; ")
}

fn harmless(text: &str) -> String {
    unseen::escaped(text).to_string()
}

fn escaped(value: &FactValue) -> String {
    harmless(&value.to_string())
}
