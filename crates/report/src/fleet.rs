//! The drives of many hosts compared.

use fleet::outliers::PEERS_MIN;
use fleet::{Cause, Fact, FactValue, Outlier, Outliers, Shape, Specimen};
use jiff::Timestamp;
use workload::number::latency;

use crate::columns::{Column, Columns};
use crate::look::Look;

/// A drive that became slower.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftRow {
    pub host: String,
    pub drive: String,
    pub model: Option<String>,
    pub test: String,
    pub shape: Shape,
    /// The first run that was slow.
    pub since: Timestamp,
    pub before_us: f64,
    pub since_us: f64,
    /// Facts that differ from the run before, with the value before and after.
    pub changes: Vec<(Fact, FactValue, FactValue)>,
}

/// Drives that are slower than others of their model, and what differs.
pub fn outliers_page(specimens: &[Specimen], outliers: &Outliers, look: &Look) -> String {
    let of = |outlier: &Outlier| &specimens[outlier.specimen];
    let compared = specimens.len() - outliers.not_compared;
    let mut text = match outliers.found.len() {
        0 => format!("No drive is slower than others of its model ({compared} compared).\n"),
        found => {
            let table = Columns::<Outlier>::new()
                .with(Column::left("host"), |outlier| harmless(&of(outlier).host))
                .with(Column::left("drive"), |outlier| harmless(&of(outlier).name))
                .with(Column::prose("model").may_drop(1), |outlier| {
                    harmless(&of(outlier).kind.model)
                })
                .with(Column::prose("test"), |outlier| harmless(&outlier.test))
                .with(Column::right("p50"), |outlier| latency(outlier.p50_us))
                .with(Column::right("usual"), |outlier| latency(outlier.usual_us))
                .with(Column::right("slower"), |outlier| {
                    format!("{:.1}x", outlier.p50_us / outlier.usual_us)
                })
                .with(Column::prose("what differs"), |outlier| differs(&outlier.causes))
                .of(&outliers.found, look);
            format!(
                "{found} of {compared} drives are slower than others of their model:\n\n{table}"
            )
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
    look.finish(text)
}

fn differs(causes: &[Cause]) -> String {
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
pub fn drift_page(rows: &[DriftRow], drives: usize, look: &Look) -> String {
    if rows.is_empty() {
        return look.finish(format!("No drive became slower ({drives} with a history).\n"));
    }
    let table = Columns::<DriftRow>::new()
        .with(Column::left("host"), |row| harmless(&row.host))
        .with(Column::left("drive"), |row| harmless(&row.drive))
        .with(Column::prose("model").may_drop(1), |row| row.model.as_deref().map(harmless))
        .with(Column::prose("test"), |row| harmless(&row.test))
        .with(Column::left("since (UTC)"), |row| row.since.strftime("%Y-%m-%d").to_string())
        .with(Column::right("before"), |row| latency(row.before_us))
        .with(Column::right("since"), |row| latency(row.since_us))
        .with(Column::right("slower"), |row| format!("{:.1}x", row.since_us / row.before_us))
        .with(Column::left("how"), |row| match row.shape {
            Shape::Step => "at once",
            Shape::Gradual => "gradually",
        })
        .with(Column::prose("what changed then"), |row| changed(&row.changes))
        .of(rows, look);
    let count = rows.len();
    look.finish(format!("{count} of {drives} drives became slower:\n\n{table}"))
}

fn changed(changes: &[(Fact, FactValue, FactValue)]) -> String {
    if changes.is_empty() {
        return "no known fact".to_owned();
    }
    let words = |(fact, before, after): &(Fact, FactValue, FactValue)| {
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
