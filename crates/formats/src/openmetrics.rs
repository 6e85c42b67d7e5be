//! A run, or a watched machine, as metrics for Prometheus.
//!
//! node_exporter's textfile collector reads the Prometheus text format, the predecessor of
//! OpenMetrics, and accepts no timestamps. The output is valid in both: base units in the names,
//! `HELP` and `TYPE` once before all samples of a name, summaries with quantiles, and `# EOF` at
//! the end, a comment in the older format. No two samples have the same labels.

mod watch;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use measurement::{Ended, Grade, LatencySummary, RunDocument, TestResult};

use crate::columns::{Operation, drive, operations, tool};

pub use watch::watched;

/// The metrics of one run, or of several, distinguished by a label `run`.
///
/// ```
/// let document = formats::import("a", "Synchronous random writes:\n 8192 kbytes: 46779.5 usec/IO = 171.0 Mbytes/s", None)?.documents;
/// let text = formats::openmetrics::text(&document);
/// assert!(text.contains("flushmark_commits_per_second{suite=\"slog\","));
/// assert!(text.ends_with("# EOF\n"));
/// # Ok::<(), formats::ImportError>(())
/// ```
pub fn text(documents: &[RunDocument]) -> String {
    let several = documents.len() > 1;
    let runs = documents.iter().enumerate().map(|(index, document)| {
        let number = (index + 1).to_string();
        Run::of(document, several.then_some(("run", number.as_str())))
    });
    of_runs(&runs.collect::<Vec<_>>())
}

/// The metrics of runs of several machines, distinguished by a label `machine`. No two may be of the
/// same machine, suite and target.
pub fn of_machines(runs: &[(String, RunDocument)]) -> String {
    let runs = runs.iter().map(|(machine, document)| Run::of(document, Some(("machine", machine))));
    of_runs(&runs.collect::<Vec<_>>())
}

fn of_runs(runs: &[Run<'_>]) -> String {
    let mut text = String::new();
    for (family, value) in TESTS {
        let tests = runs.iter().flat_map(|run| &run.tests);
        family.write(
            &mut text,
            tests.filter_map(|(labels, result)| Some((labels.clone(), value(result)?))),
        );
    }
    sort_parts(&mut text, runs);
    latencies(&mut text, runs);
    let start = Family {
        name: "flushmark_run_start_time_seconds",
        help: "When the run began, in seconds since 1970.",
    };
    start.write(
        &mut text,
        runs.iter().filter_map(|run| {
            let began = run.document.began()?;
            Some((run.labels.clone(), began.as_second() as f64))
        }),
    );
    let grade = Family {
        name: "flushmark_fitness_grade",
        help: "What the storage is fit for: 0 unfit, 1 poor, 2 fair, 3 good, 4 excellent; no \
               sample where it is not known.",
    };
    grade.write(
        &mut text,
        runs.iter().flat_map(|run| {
            run.document.fitness.iter().filter_map(|(used, fitness)| {
                Some((
                    format!("{},use=\"{}\"", run.labels, escaped(used.name())),
                    grade_value(fitness.grade)?,
                ))
            })
        }),
    );
    let finding =
        Family { name: "flushmark_finding_info", help: "A finding of the run; always 1." };
    finding.write(
        &mut text,
        runs.iter().flat_map(|run| {
            let ids: BTreeSet<&str> =
                run.document.findings.iter().map(|finding| finding.id.as_str()).collect();
            ids.into_iter()
                .map(|id| (format!("{},finding=\"{}\"", run.labels, escaped(id)), 1.0))
                .collect::<Vec<_>>()
        }),
    );
    text += "# EOF\n";
    text
}

/// A metric that has samples.
struct Family {
    name: &'static str,
    help: &'static str,
}

/// The type of a metric, and what follows its name in a sample.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Gauge,
    Counter,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        }
    }

    const fn suffix(self) -> &'static str {
        match self {
            Kind::Gauge => "",
            Kind::Counter => "_total",
        }
    }
}

type Figure = fn(&TestResult) -> Option<f64>;

const TESTS: [(Family, Figure); 10] = [
    (
        Family {
            name: "flushmark_operations_per_second",
            help: "Reads and writes per second; of a step program, turns.",
        },
        |result| Some(result.iops),
    ),
    (
        Family {
            name: "flushmark_commits_per_second",
            help: "Commits per second, where anything was made durable.",
        },
        |result| result.commits_per_s,
    ),
    (
        Family {
            name: "flushmark_throughput_bytes_per_second",
            help: "Bytes read and written per second.",
        },
        |result| Some(result.mib_per_s * f64::from(1 << 20)),
    ),
    (
        Family { name: "flushmark_test_duration_seconds", help: "How long the test was measured." },
        |result| Some(result.elapsed_s),
    ),
    (
        Family {
            name: "flushmark_test_completed",
            help: "Whether the test reached its limit: 1, or 0 when it was interrupted or failed.",
        },
        |result| Some(f64::from(u8::from(result.ended == Ended::Limit))),
    ),
    (Family { name: "flushmark_sort_records", help: "Records that were sorted." }, |result| {
        result.sort.map(|sort| sort.records as f64)
    }),
    (
        Family {
            name: "flushmark_sort_runs",
            help: "Runs that the sort wrote, merged ones included.",
        },
        |result| result.sort.map(|sort| sort.runs as f64),
    ),
    (
        Family { name: "flushmark_sort_written_bytes", help: "Bytes of runs that were written." },
        |result| result.sort.map(|sort| sort.written_bytes as f64),
    ),
    (
        Family { name: "flushmark_sort_read_bytes", help: "Bytes of runs that were read back." },
        |result| result.sort.map(|sort| sort.read_bytes as f64),
    ),
    (
        Family {
            name: "flushmark_sort_first_row_seconds",
            help: "How long it took until the first row came out; of several sorts the mean.",
        },
        |result| result.sort.and_then(|sort| sort.first_row_s),
    ),
];

impl Family {
    fn write(&self, text: &mut String, samples: impl Iterator<Item = (String, f64)>) {
        self.write_as(Kind::Gauge, text, samples);
    }

    fn write_as(
        &self,
        kind: Kind,
        text: &mut String,
        samples: impl Iterator<Item = (String, f64)>,
    ) {
        let mut samples = samples.filter(|(_, value)| value.is_finite()).peekable();
        if samples.peek().is_none() {
            return;
        }
        let (name, help) = (self.name, self.help);
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {}", kind.name());
        for (labels, value) in samples {
            let _ = writeln!(text, "{name}{}{{{labels}}} {value}", kind.suffix());
        }
    }
}

/// The time of sorts by cause; the parts add up to the total.
fn sort_parts(text: &mut String, runs: &[Run<'_>]) {
    let family = Family {
        name: "flushmark_sort_part_seconds",
        help: "Where the time of the sort went; the parts of all its sorts add up to the whole.",
    };
    let sorts = runs
        .iter()
        .flat_map(|run| &run.tests)
        .filter_map(|(labels, result)| Some((labels, result.sort?)));
    let parts = sorts.flat_map(|(labels, sort)| {
        sort.parts().map(|(part, part_s)| (format!("{labels},part=\"{part}\""), part_s))
    });
    family.write(text, parts);
}

/// Quantiles, and the extremes as separate metrics because OpenMetrics' summary has none.
fn latencies(text: &mut String, runs: &[Run<'_>]) {
    let mut timed: Vec<(String, LatencySummary)> = Vec::new();
    for (labels, result) in runs.iter().flat_map(|run| &run.tests) {
        for Operation { name, summary, .. } in operations(result) {
            timed
                .extend(summary.map(|summary| (format!("{labels},operation=\"{name}\""), summary)));
        }
    }
    if timed.is_empty() {
        return;
    }
    let name = "flushmark_latency_seconds";
    let _ = writeln!(text, "# HELP {name} Latency of one operation.\n# TYPE {name} summary");
    for (labels, us) in &timed {
        let quantiles = [
            ("0.5", us.p50),
            ("0.9", us.p90),
            ("0.99", us.p99),
            ("0.999", us.p99_9),
            ("0.9999", us.p99_99),
        ];
        for (quantile, value) in quantiles {
            let _ = writeln!(text, "{name}{{{labels},quantile=\"{quantile}\"}} {}", value / 1e6);
        }
        let _ = writeln!(text, "{name}_sum{{{labels}}} {}", us.mean * us.count as f64 / 1e6);
        let _ = writeln!(text, "{name}_count{{{labels}}} {}", us.count);
    }
    let lowest = Family { name: "flushmark_latency_min_seconds", help: "The shortest latency." };
    lowest.write(text, timed.iter().map(|(labels, us)| (labels.clone(), us.min / 1e6)));
    let highest = Family { name: "flushmark_latency_max_seconds", help: "The longest latency." };
    highest.write(text, timed.iter().map(|(labels, us)| (labels.clone(), us.max / 1e6)));
}

fn grade_value(grade: Grade) -> Option<f64> {
    match grade {
        Grade::Unknown => None,
        Grade::Unfit => Some(0.0),
        Grade::Poor => Some(1.0),
        Grade::Fair => Some(2.0),
        Grade::Good => Some(3.0),
        Grade::Excellent => Some(4.0),
    }
}

/// A run with its labels, and those of its tests.
struct Run<'a> {
    document: &'a RunDocument,
    labels: String,
    tests: Vec<(String, &'a TestResult)>,
}

impl Run<'_> {
    /// With a label that distinguishes it from others.
    fn of<'a>(document: &'a RunDocument, own: Option<(&str, &str)>) -> Run<'a> {
        let mut labels = format!(
            "suite=\"{}\",target=\"{}\",drive=\"{}\",tool=\"{}\"",
            escaped(&document.suite),
            escaped(&document.target.given),
            escaped(&drive(document).unwrap_or_default()),
            escaped(tool(document)),
        );
        if let Some((name, value)) = own {
            let _ = write!(labels, ",{name}=\"{}\"", escaped(value));
        }
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let tests = document.results.iter().map(|result| {
            // The collector would reject the whole file if two samples had the same labels.
            let again = (2..).map(|times| format!("{} ({times})", result.test));
            let mut names = std::iter::once(result.test.clone()).chain(again);
            let test = names.find(|name| taken.insert(name.clone())).unwrap_or_default();
            (format!("{labels},test=\"{}\"{}", escaped(&test), osd_labels(result)), result)
        });
        Run { document, tests: tests.collect(), labels: labels.clone() }
    }
}

/// The OSD that served the test, its host and its device class, as far as known.
fn osd_labels(result: &TestResult) -> String {
    let Some(osd) = &result.osd else { return String::new() };
    let mut labels = format!(",osd=\"{}\"", osd.id);
    for (name, value) in [("host", &osd.host), ("class", &osd.class)] {
        if let Some(value) = value {
            let _ = write!(labels, ",{name}=\"{}\"", escaped(value));
        }
    }
    labels
}

/// Escapes a label's value: backslash, quotation mark and line feed become two characters each.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
