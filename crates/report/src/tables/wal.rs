//! The format of `pg_test_fsync`, with percentiles in addition to the mean.

use judge::capitalised;
use measurement::TestResult;
use workload::number::number;

use super::{max, p50, p99, per_second};
use crate::columns::{Cell, Column, Columns};
use crate::look::Look;

/// Rates that differ by less are called equal.
const EQUAL: f64 = 1.05;

/// Groups by test name (`group: row`). In groups that compare sync methods, the fastest durable rows
/// are marked, unless all are equal.
pub(super) fn table(results: &[TestResult], look: &Look) -> String {
    let mut table = Columns::<TestResult>::new()
        .with(Column::left(""), |result| format!("  {}", title_and_row(result).1))
        .with(Column::right("ops/sec"), |result| format!("{:.3}", per_second(result)))
        .with(Column::right("usecs/op").may_drop(2), |result| {
            format!("{:.0}", if result.iops > 0.0 { 1e6 / per_second(result) } else { 0.0 })
        })
        .with(Column::right("p50").may_drop(1), p50)
        .with(Column::right("p99"), p99)
        .with(Column::right("max").may_drop(3), max)
        .with(Column::left(""), |result| {
            let fastest = is_fastest(result, title_and_row(result).0, results);
            Cell::styled(if fastest { "fastest" } else { "" }, look.palette.good)
        });
    let mut group = None;
    for result in results {
        let (title, _) = title_and_row(result);
        if group != Some(title) {
            group = Some(title);
            table.group(title);
        }
        table.row(result);
    }
    let answer = answer(results).map(|answer| format!("\n{}", look.paragraph(&answer)));
    table.render(look) + &answer.unwrap_or_default()
}

/// The fastest sync method of the first group that compares them, and whether it matters that the
/// log advances; `None` if no group compares methods.
pub fn answer(results: &[TestResult]) -> Option<String> {
    let first = results.iter().find(|result| compares_methods(results, title_and_row(result).0))?;
    let (title, _) = title_and_row(first);
    let (slowest, fastest) = ends(results, title)?;
    let [low, high] = [slowest, fastest].map(|result| number(per_second(result)));
    let (slow, fast) = (title_and_row(slowest).1, title_and_row(fastest).1);
    let methods = if is_equal(slowest, fastest) {
        format!("all sync methods are equally fast ({low} to {high} commits/s)")
    } else {
        format!("{fast} is the fastest with {high} commits/s, {slow} makes {low}")
    };
    let advancing = results
        .iter()
        .find(|result| result.test.starts_with(ADVANCING) && title_and_row(result).1 == fast);
    let advancing = advancing.filter(|_| !title.starts_with(ADVANCING)).map(|advancing| {
        let ratio = per_second(fastest) / per_second(advancing).max(f64::MIN_POSITIVE);
        if is_equal(fastest, advancing) {
            " It makes no difference that the log advances.".to_owned()
        } else if ratio > 1.0 {
            format!(" In a log that advances, it is {} times slower.", number(ratio))
        } else {
            format!(" In a log that advances, it is {} times faster.", number(1.0 / ratio))
        }
    });
    Some(capitalised(&format!("{title}: {methods}.{}", advancing.unwrap_or_default())))
}

/// The beginning of the tests whose log advances.
const ADVANCING: &str = "advancing log";

fn is_equal(one: &TestResult, other: &TestResult) -> bool {
    let (one, other) = (per_second(one), per_second(other));
    one.max(other) < EQUAL * one.min(other)
}

fn title_and_row(result: &TestResult) -> (&str, &str) {
    result.test.split_once(": ").unwrap_or(("", &result.test))
}

/// Returns whether the group has a row for each sync method.
fn compares_methods(results: &[TestResult], title: &str) -> bool {
    results.iter().any(|result| result.test.split_once(": ") == Some((title, "fdatasync")))
}

/// The slowest and the fastest row of a group (the first, of equals).
fn ends<'a>(results: &'a [TestResult], title: &str) -> Option<(&'a TestResult, &'a TestResult)> {
    let rows = || results.iter().filter(|result| title_and_row(result).0 == title);
    let slowest =
        rows().reduce(|least, row| if per_second(row) < per_second(least) { row } else { least });
    let fastest =
        rows().reduce(|best, row| if per_second(row) > per_second(best) { row } else { best });
    slowest.zip(fastest)
}

/// Returns whether the row is as fast as the fastest of its group, and another is slower.
fn is_fastest(result: &TestResult, title: &str, results: &[TestResult]) -> bool {
    compares_methods(results, title)
        && ends(results, title).is_some_and(|(slowest, fastest)| {
            is_equal(result, fastest) && !is_equal(slowest, fastest)
        })
}

#[cfg(test)]
mod golden {
    use super::*;

    #[test]
    fn reads_like_pg_test_fsync() {
        insta::assert_snapshot!(table(&samples::suite("wal", 15.0, 1700.0), &Look::plain()), @"
                                   ops/sec  usecs/op      p50      p99      max
          one 8 KiB write
            open_datasync          644.122      1552  1.55 ms  1.61 ms  7.77 ms  fastest
            fdatasync              580.552      1722  1.72 ms  1.79 ms  8.62 ms
            fsync                  484.848      2062  2.06 ms  2.15 ms  10.3 ms
            open_sync              447.928      2232  2.23 ms  2.32 ms  11.2 ms
          two 8 KiB writes
            open_datasync          637.959      1567  1.57 ms  1.63 ms  7.84 ms  fastest
            fdatasync              575.540      1738  1.74 ms  1.81 ms  8.69 ms
            fsync                  481.348      2078  2.08 ms  2.16 ms  10.4 ms
            open_sync              444.939      2248  2.25 ms  2.34 ms  11.2 ms
          open_sync, 16 KiB
            1 x 16 KiB             444.939      2248  2.25 ms  2.34 ms  11.2 ms
            2 x 8 KiB              444.939      2248  2.25 ms  2.34 ms  11.2 ms
            4 x 4 KiB              444.939      2248  2.25 ms  2.34 ms  11.2 ms
            8 x 2 KiB              444.939      2248  2.25 ms  2.34 ms  11.2 ms
            16 x 1 KiB             444.939      2248  2.25 ms  2.34 ms  11.2 ms
          another handle
            write, fsync, close    484.848      2062  2.06 ms  2.15 ms  10.3 ms
            write, close, fsync    484.848      2062  2.06 ms  2.15 ms  10.3 ms
          not synced
            write                44444.444        22  22.5 µs  23.4 µs   113 µs
          advancing log, 8 KiB
            open_datasync          644.122      1552  1.55 ms  1.61 ms  7.77 ms  fastest
            fdatasync              580.552      1722  1.72 ms  1.79 ms  8.62 ms
            fsync                  484.848      2062  2.06 ms  2.15 ms  10.3 ms
            open_sync              447.928      2232  2.23 ms  2.32 ms  11.2 ms

        One 8 KiB write: open_datasync is the fastest with 644 commits/s, open_sync makes 448. It makes no
        difference that the log advances.
        ");
    }
}
