//! A dashboard for Grafana over the metrics of [`openmetrics`](crate::openmetrics).

use serde_json::{Value, json};

/// A panel: its title, what it shows, and where.
struct Panel {
    title: &'static str,
    help: &'static str,
    kind: Kind,
    unit: &'static str,
    /// Queries with their legends.
    queries: &'static [(&'static str, &'static str)],
    /// The width in columns, of which there are 24.
    width: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    TimeSeries,
    BarGauge,
    Table,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Kind::TimeSeries => "timeseries",
            Kind::BarGauge => "bargauge",
            Kind::Table => "table",
        }
    }
}

/// The machines, suites and tests that the variables select.
macro_rules! chosen {
    ($metric:literal $(, $more:literal)?) => {
        concat!($metric, "{machine=~\"$machine\",suite=~\"$suite\"", $(",", $more,)? "}")
    };
}

const PANELS: [Panel; 7] = [
    Panel {
        title: "Commit latency, p99",
        help: "Of each machine's newest run, by test.",
        kind: Kind::BarGauge,
        unit: "s",
        queries: &[(
            chosen!(
                "flushmark_latency_seconds",
                "test=~\"$test\",operation=\"commit\",quantile=\"0.99\""
            ),
            "{{machine}} {{test}}",
        )],
        width: 12,
    },
    Panel {
        title: "Commits per second",
        help: "Of each machine's newest run, by test.",
        kind: Kind::BarGauge,
        unit: "ops",
        queries: &[(
            chosen!("flushmark_commits_per_second", "test=~\"$test\""),
            "{{machine}} {{test}}",
        )],
        width: 12,
    },
    Panel {
        title: "Commit latency over time",
        help: "A step is a change of the drive or its host; `flushmark fleet drift` names it.",
        kind: Kind::TimeSeries,
        unit: "s",
        queries: &[
            (
                chosen!(
                    "flushmark_latency_seconds",
                    "test=~\"$test\",operation=\"commit\",quantile=\"0.5\""
                ),
                "{{machine}} {{test}} p50",
            ),
            (
                chosen!(
                    "flushmark_latency_seconds",
                    "test=~\"$test\",operation=\"commit\",quantile=\"0.99\""
                ),
                "{{machine}} {{test}} p99",
            ),
        ],
        width: 24,
    },
    Panel {
        title: "Slower than the middle of its model",
        help: "Median commit latency, times that of all machines with the same drive.",
        kind: Kind::BarGauge,
        unit: "none",
        queries: &[(
            concat!(
                chosen!(
                    "flushmark_latency_seconds",
                    "test=~\"$test\",operation=\"commit\",quantile=\"0.5\""
                ),
                " / on (drive, suite, test) group_left quantile by (drive, suite, test) (0.5, ",
                "flushmark_latency_seconds{operation=\"commit\",quantile=\"0.5\"})"
            ),
            "{{machine}} {{test}}",
        )],
        width: 12,
    },
    Panel {
        title: "Age of the newest run",
        help: "A machine whose timer stopped, or whose store is not reached, gets old.",
        kind: Kind::BarGauge,
        unit: "s",
        queries: &[(
            concat!("time() - ", chosen!("flushmark_run_start_time_seconds")),
            "{{machine}} {{suite}}",
        )],
        width: 12,
    },
    Panel {
        title: "Fitness",
        help: "0 unfit, 1 poor, 2 fair, 3 good, 4 excellent.",
        kind: Kind::Table,
        unit: "none",
        queries: &[(chosen!("flushmark_fitness_grade"), "")],
        width: 12,
    },
    Panel {
        title: "Findings",
        help: "What `flushmark results show` explains.",
        kind: Kind::Table,
        unit: "none",
        queries: &[(chosen!("flushmark_finding_info"), "")],
        width: 12,
    },
];

/// The variables of the dashboard, each the values of a label.
const VARIABLES: [&str; 3] = ["machine", "suite", "test"];

/// The dashboard as Grafana imports it.
///
/// ```
/// let dashboard = formats::grafana::dashboard();
/// assert_eq!(dashboard["title"], "flushmark");
/// ```
pub fn dashboard() -> Value {
    const HEIGHT: u32 = 9;
    let (mut x, mut y) = (0, 0);
    let mut panels = Vec::new();
    for (number, panel) in PANELS.iter().enumerate() {
        if x + panel.width > 24 {
            (x, y) = (0, y + HEIGHT);
        }
        panels.push(
            panel.json(number + 1, &json!({ "x": x, "y": y, "w": panel.width, "h": HEIGHT })),
        );
        x += panel.width;
    }
    let variables: Vec<Value> = [datasource()].into_iter().chain(VARIABLES.map(variable)).collect();
    json!({
        "title": "flushmark",
        "uid": "flushmark",
        "description": "The newest run of each machine: what a durable write costs there.",
        "tags": ["flushmark", "storage"],
        "schemaVersion": 39,
        "editable": true,
        "time": { "from": "now-90d", "to": "now" },
        "refresh": "5m",
        "templating": { "list": variables },
        "panels": panels,
    })
}

fn datasource() -> Value {
    json!({ "name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus" })
}

fn variable(label: &str) -> Value {
    json!({
        "name": label,
        "type": "query",
        "datasource": { "type": "prometheus", "uid": "${source}" },
        "query": format!("label_values(flushmark_test_duration_seconds, {label})"),
        "includeAll": true,
        "multi": true,
        "allValue": ".*",
        "refresh": 2,
        "sort": 1,
    })
}

impl Panel {
    fn json(&self, id: usize, place: &Value) -> Value {
        let format = if self.kind == Kind::Table { "table" } else { "time_series" };
        let targets: Vec<Value> = self
            .queries
            .iter()
            .zip('A'..)
            .map(|((query, legend), name)| {
                json!({
                    "refId": name,
                    "expr": query,
                    "legendFormat": legend,
                    "instant": self.kind != Kind::TimeSeries,
                    "format": format,
                    "datasource": { "type": "prometheus", "uid": "${source}" },
                })
            })
            .collect();
        let mut options = json!({});
        if self.kind == Kind::BarGauge {
            options = json!({
                "orientation": "horizontal",
                "displayMode": "basic",
                "reduceOptions": { "calcs": ["lastNotNull"] },
            });
        }
        json!({
            "id": id,
            "title": self.title,
            "description": self.help,
            "type": self.kind.name(),
            "datasource": { "type": "prometheus", "uid": "${source}" },
            "gridPos": place,
            "targets": targets,
            "options": options,
            "fieldConfig": { "defaults": { "unit": self.unit }, "overrides": [] },
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_committed_dashboard_is_this_one() {
        let committed: Value =
            serde_json::from_str(include_str!("../../../fleet/grafana/flushmark.json")).unwrap();
        assert!(committed == dashboard(), "run `cargo xtask docs` and review the difference");
    }

    /// The words of a query that are neither functions nor part of a string or a label's name.
    fn metrics(query: &str) -> BTreeSet<&str> {
        query
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .filter(|word| word.starts_with("flushmark_"))
            .collect()
    }

    #[test]
    fn every_metric_is_exported_with_the_labels_that_are_asked_for() {
        let document = samples::document::checked();
        let exported = crate::openmetrics::of_machines(&[("db1".to_owned(), document)]);
        let names: BTreeSet<&str> = exported
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
            .collect();
        let queries = PANELS.iter().flat_map(|panel| panel.queries).map(|(query, _)| *query);
        for query in queries {
            let metrics = metrics(query);
            assert!(!metrics.is_empty(), "{query}");
            for metric in metrics {
                assert!(names.contains(metric), "{metric} is not exported");
                let sample = exported
                    .lines()
                    .find(|line| line.starts_with(&format!("{metric}{{")))
                    .unwrap_or_else(|| panic!("no sample of {metric}"));
                for label in ["machine", "suite", "drive"] {
                    assert!(sample.contains(&format!("{label}=\"")), "{label}: {sample}");
                }
            }
        }
        for label in VARIABLES {
            assert!(exported.contains(&format!("{label}=\"")), "{label}");
        }
    }
}
