//! A run for tickets and forum posts: Markdown that is also readable as plain text.

use measurement::{LatencySummary, RunDocument, TestResult};
use unseen::mask;

use crate::sorting::{SORT_COLUMNS, sort_sentence};
use workload::number::{latency, number, throughput};

/// Placeholder for a missing value.
const NONE: &str = "-";

/// The target, a table with one row for each latency of a test, and the findings.
pub fn markdown(document: &RunDocument) -> String {
    let mut text = format!("**{}**", escaped(&document.suite));
    let source = document.source.as_ref();
    let drive = source.and_then(|source| source.drive.clone()).or_else(|| model(document));
    if let Some(drive) = drive {
        text += &format!(" on {}", escaped(&drive));
    }
    // The day is enough for a ticket.
    let day = document.began().map(|began| began.strftime("%Y-%m-%d"));
    let tool = source.map(|source| source.tool.as_str()).filter(|tool| *tool != "flushmark");
    let own = format!("flushmark {}", escaped(&document.flushmark));
    let by = tool.map_or(own.clone(), |tool| format!("{}, read by {own}", escaped(tool)));
    text += &format!(
        " ({}, {}{})\n\n",
        escaped(&document.target.given),
        by,
        day.map_or(String::new(), |day| format!(", {day}"))
    );
    let header =
        ["test", "per second", "MiB/s", "commits/s", "latency of", "p50", "p99", "p99.9", "max"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for result in &document.results {
        rows.extend(test_rows(result));
    }
    text += &table(&rows, &[0, 4]);
    text += &sorts(&document.results);
    for skipped in &document.skipped {
        text += &format!("\nSkipped: {}: {}\n", escaped(&skipped.test), escaped(&skipped.because));
    }
    if !document.findings.is_empty() {
        text += "\nFindings:\n\n";
        for finding in &document.findings {
            text += &format!("- {}\n", escaped(&finding.title));
        }
    }
    text
}

/// The time of each sort by cause; empty if there is no sort.
fn sorts(results: &[TestResult]) -> String {
    let header =
        std::iter::once("sort").chain(SORT_COLUMNS.map(|column| column.name)).map(str::to_owned);
    let mut rows = vec![header.collect::<Vec<_>>()];
    let mut sentences = String::new();
    for (result, figures) in results.iter().filter_map(|result| Some((result, result.sort?))) {
        let cells = SORT_COLUMNS
            .iter()
            .map(|column| column.cell(&figures).unwrap_or_else(|| NONE.to_owned()));
        rows.push(std::iter::once(escaped(&result.test)).chain(cells).collect());
        let said = sort_sentence(result).unwrap_or_default();
        sentences += &format!("\n{}: {said}\n", escaped(&result.test));
    }
    if rows.len() > 1 { format!("\n{}{sentences}", table(&rows, &[0])) } else { String::new() }
}

fn model(document: &RunDocument) -> Option<String> {
    match document.drive.as_ref().map(|place| &place.backing) {
        Some(drive::Backing::BlockDevice(device)) => device.model.clone(),
        _ => None,
    }
}

/// One row for the commit if it was timed; otherwise one row per operation.
fn test_rows(result: &TestResult) -> Vec<Vec<String>> {
    let each = [("read", result.read_us), ("write", result.write_us), ("sync", result.sync_us)];
    let timed: Vec<(&str, LatencySummary)> = match result.commit_us {
        Some(commit) => vec![("commit", commit)],
        None => each.into_iter().filter_map(|(name, us)| Some((name, us?))).collect(),
    };
    let figures = |us: Option<LatencySummary>, figure: fn(LatencySummary) -> f64| {
        us.map_or_else(|| NONE.to_owned(), |us| latency(figure(us)))
    };
    let row = |first: bool, name: &str, us: Option<LatencySummary>| {
        let once = |text: String| if first { text } else { String::new() };
        vec![
            once(escaped(&result.test)),
            once(number(result.iops)),
            once(throughput(result.mib_per_s)),
            once(result.commits_per_s.map_or_else(|| NONE.to_owned(), number)),
            name.to_owned(),
            figures(us, |us| us.p50),
            figures(us, |us| us.p99),
            figures(us, |us| us.p99_9),
            figures(us, |us| us.max),
        ]
    };
    if timed.is_empty() {
        return vec![row(true, NONE, None)];
    }
    timed.iter().enumerate().map(|(index, (name, us))| row(index == 0, name, Some(*us))).collect()
}

/// A table whose columns `left` are aligned left and the others right, each as wide as its widest
/// cell.
pub(crate) fn table(rows: &[Vec<String>], left: &[usize]) -> String {
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).max(3)
    };
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        for (column, cell) in row.iter().enumerate() {
            let room = widths[column];
            text += &if left.contains(&column) {
                format!("| {cell:<room$} ")
            } else {
                format!("| {cell:>room$} ")
            };
        }
        text += "|\n";
        if index == 0 {
            for (column, &width) in widths.iter().enumerate() {
                text += &if left.contains(&column) {
                    format!("|{}", "-".repeat(width + 2))
                } else {
                    format!("|{}:", "-".repeat(width + 1))
                };
            }
            text += "|\n";
        }
    }
    text
}

/// Escapes Markdown and HTML. Names come from outside: job files, drives, paths.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '|' | '`' | '*' | '[' | ']' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '<' => escaped += "&lt;",
            '&' => escaped += "&amp;",
            c => escaped.push(mask(c)),
        }
    }
    escaped
}

#[cfg(test)]
mod golden {
    use super::*;

    #[test]
    fn reads_as_plain_text() {
        let mut document = samples::document(samples::check());
        // Another tool's commit has two latencies that must not be added.
        document.results[1].commit_us = None;
        insta::assert_snapshot!(markdown(&document), @"
        **check** (/var/lib/db, flushmark 0.1.0, 2026-11-20)

        | test                      | per second | MiB/s | commits/s | latency of |     p50 |     p99 |   p99.9 |     max |
        |---------------------------|-----------:|------:|----------:|------------|--------:|--------:|--------:|--------:|
        | write                     |     66,667 |   260 |         - | write      |   15 µs | 15.6 µs |   24 µs |   75 µs |
        | write + fsync             |        487 |  1.90 |       487 | write      |   15 µs | 15.6 µs |   24 µs |   75 µs |
        |                           |            |       |           | sync       | 2.04 ms | 2.12 ms | 3.26 ms | 10.2 ms |
        | write + fdatasync         |        583 |  2.28 |       583 | commit     | 1.72 ms | 1.78 ms | 2.74 ms | 8.58 ms |
        | write O_DSYNC             |        647 |  2.53 |       647 | commit     | 1.55 ms | 1.61 ms | 2.47 ms | 7.73 ms |
        | read                      |     66,667 |   260 |         - | read       |   15 µs | 15.6 µs |   24 µs |   75 µs |
        | 16 KiB write + fsync      |        481 |  7.52 |       481 | commit     | 2.08 ms | 2.16 ms | 3.33 ms | 10.4 ms |
        | write + fdatasync, 4 jobs |      1,768 |  6.90 |     1,768 | commit     | 1.72 ms | 1.78 ms | 2.74 ms | 8.58 ms |
        | write, depth 32           |  1,066,667 | 4,167 |         - | write      |   30 µs | 31.2 µs |   48 µs |  150 µs |
        ");
    }

    #[test]
    fn the_time_of_a_sort_is_broken_down() {
        let document =
            samples::document(vec![samples::sorts().remove(3), samples::check().remove(0)]);
        insta::assert_snapshot!(markdown(&document), @"
        **check** (/var/lib/db, flushmark 0.1.0, 2026-11-20)

        | test                  | per second | MiB/s | commits/s | latency of |    p50 |     p99 |  p99.9 |     max |
        |-----------------------|-----------:|------:|----------:|------------|-------:|--------:|-------:|--------:|
        | urls, 4 sorts at once |      6,218 | 1,555 |         - | write      | 488 µs |  507 µs | 780 µs | 2.44 ms |
        | write                 |     66,667 |   260 |         - | write      |  15 µs | 15.6 µs |  24 µs |   75 µs |

        | sort                  |   records | runs | written | MiB/s each |    read | MiB/s each | first row | sorting | coding | merging | sort's own | kernel's | write waits | read waits | drive's | processor waits | making records |     all |
        |-----------------------|----------:|-----:|--------:|-----------:|--------:|-----------:|----------:|--------:|-------:|--------:|-----------:|---------:|------------:|-----------:|--------:|----------------:|---------------:|--------:|
        | urls, 4 sorts at once | 9,300,000 |   92 | 884 MiB |       58.2 | 884 MiB |       82.6 |    5.40 s |  1.42 s | 0.81 s |  1.63 s |     3.86 s |   0.14 s |     15.12 s |    10.64 s | 25.76 s |          2.36 s |         0.62 s | 32.74 s |

        urls, 4 sorts at once: of a total of 32.74 s in 4 sorts, the sort itself took 3.86 s (12 %), the kernel's work for writes and reads 0.14 s (0 %), waiting for the drive 25.76 s (79 %): 15.12 s in writes and 10.64 s in reads, waiting for a processor 2.36 s (7 %); the rest made the records. The drive limits: a faster one would save up to 25.76 s.
        ");
    }

    #[test]
    fn names_from_outside_are_escaped() {
        let mut document = samples::document(samples::check()[..1].to_vec());
        document.results[0].test = "a|b`c`<script>*[x](y)\nnext & last".to_owned();
        document.suite = "<b>".to_owned();
        insta::assert_snapshot!(markdown(&document), @r"
        **&lt;b>** (/var/lib/db, flushmark 0.1.0, 2026-11-20)

        | test                                           | per second | MiB/s | commits/s | latency of |   p50 |     p99 | p99.9 |   max |
        |------------------------------------------------|-----------:|------:|----------:|------------|------:|--------:|------:|------:|
        | a\|b\`c\`&lt;script>\*\[x\](y) next &amp; last |     66,667 |   260 |         - | write      | 15 µs | 15.6 µs | 24 µs | 75 µs |
        ");
    }
}
