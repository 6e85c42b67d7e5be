//! The table of a probe: the parameter that varies, and the rate for each value.

use measurement::{LatencySummary, TestResult};
use workload::format_bytes;
use workload::number::{about_bytes, latency, number, throughput};

use crate::columns::{Column, Columns};
use crate::look::{Detail, Glyphs, Look};

/// Length of the longest bar in characters.
const BAR: f64 = 24.0;

/// In brief, neighbours whose rates and latencies differ by less share a row.
const ALIKE: f64 = 0.05;

/// Tests that share a row: one, or in brief several in a row with about the same figures. The
/// middle one stands for them.
type Alike<'a> = &'a [TestResult];

/// A parameter that tests may differ in: its heading, and its value in a test.
type Aspect = (&'static str, fn(&TestResult) -> String);

const ASPECTS: [Aspect; 6] = [
    ("pattern", |result| {
        result.workload.pattern.map_or_else(String::new, |pattern| pattern.name().to_owned())
    }),
    ("size", |result| format_bytes(result.workload.block_bytes)),
    ("places", |result| result.workload.streams.to_string()),
    ("writes a sync", |result| result.workload.sync_every.to_string()),
    ("area", |result| about_bytes(result.workload.size_bytes)),
    ("written", |result| about_bytes(written(result))),
];

fn written(result: &TestResult) -> u64 {
    result.proof.writes * result.workload.block_bytes
}

/// The parameters that vary, the rate with a bar, and the latency that the application waits for.
pub(super) fn table(results: &[TestResult], look: &Look) -> String {
    // The amount written is informative only if the tests do not run for a fixed time.
    let counted = results.iter().any(|result| result.workload.rest_s > 0.0);
    let differs = |aspect: &&Aspect| {
        let mut seen = results.iter().map(aspect.1);
        let first = seen.next();
        (aspect.0 != "written" || counted) && seen.any(|other| Some(&other) != first.as_ref())
    };
    let aspects: Vec<&Aspect> = ASPECTS.iter().filter(differs).collect();
    let synced = results.iter().any(|result| result.sync_us.is_some());
    let us = |result: &TestResult| if synced { result.sync_us } else { result.headline_us() };
    let rows = rows(results, look.detail, us);
    let most = results.iter().map(|result| result.mib_per_s).fold(0.0, f64::max);
    let block = if look.glyphs == Glyphs::Ascii { "#" } else { "█" };
    let bar = |result: &TestResult| -> String {
        let length = (result.mib_per_s / most.max(f64::MIN_POSITIVE) * BAR).round().max(1.0);
        block.repeat(length as usize)
    };
    // A drive that has not settled ends a test at another rate than the mean of the whole.
    let changes = results.iter().any(TestResult::ends_at_another_rate);
    let mut table = Columns::<Alike<'_>>::new();
    for (name, of) in aspects {
        let column = if *name == "pattern" { Column::left(name) } else { Column::right(name) };
        table = table.with(column, move |alike: &Alike<'_>| {
            match [alike.first().map(of), alike.last().map(of)].map(Option::unwrap_or_default) {
                [first, last] if first == last => first,
                [first, last] => format!("{first} to {last}"),
            }
        });
    }
    let [p50, p99] = if synced { ["sync p50", "sync p99"] } else { ["p50", "p99"] };
    table
        .with(Column::right("IOPS"), |alike| number(middle(alike).iops))
        .with(Column::right("at the end").optional().may_drop(2), |alike| {
            changes.then(|| number(middle(alike).iops_at_the_end()))
        })
        .with(Column::right("MiB/s").may_drop(1), |alike| throughput(middle(alike).mib_per_s))
        .with(Column::left("").may_drop(3), |alike| bar(middle(alike)))
        .with(Column::right(p50), |alike| us(middle(alike)).map(|us| latency(us.p50)))
        .with(Column::right(p99), |alike| us(middle(alike)).map(|us| latency(us.p99)))
        .of(&rows, look)
}

fn middle<'a>(alike: &Alike<'a>) -> &'a TestResult {
    &alike[alike.len() / 2]
}

/// The tests of each row.
fn rows(
    results: &[TestResult],
    detail: Detail,
    us: impl Fn(&TestResult) -> Option<LatencySummary>,
) -> Vec<Alike<'_>> {
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < ALIKE;
    let is_like = |one: &TestResult, other: &TestResult| {
        let latencies = match (us(one), us(other)) {
            (Some(one), Some(other)) => near(one.p50, other.p50) && near(one.p99, other.p99),
            (None, None) => true,
            _ => false,
        };
        one.workload.pattern == other.workload.pattern
            && near(one.iops, other.iops)
            && near(one.iops_at_the_end(), other.iops_at_the_end())
            && near(one.mib_per_s, other.mib_per_s)
            && latencies
    };
    let mut rows = Vec::new();
    let mut begin = 0;
    for end in 1..=results.len() {
        let joins = |next: &TestResult| detail == Detail::Brief && is_like(&results[begin], next);
        if !results.get(end).is_some_and(joins) {
            rows.push(&results[begin..end]);
            begin = end;
        }
    }
    rows
}

#[cfg(test)]
mod golden {
    use super::*;

    #[test]
    fn in_brief_neighbours_with_the_same_figures_share_a_row() {
        let mut results = samples::suite("open-blocks", 15.0, 890.0);
        let half = results.len() / 2;
        for result in &mut results[half..] {
            result.iops /= 2.0;
            result.mib_per_s /= 2.0;
        }
        let brief = Look { detail: Detail::Brief, ..Look::plain() };
        insta::assert_snapshot!(table(&results, &brief), @"
         places   IOPS  MiB/s                               p50     p99
         1 to 8  7,843    490  ████████████████████████  128 µs  133 µs
        9 to 32  3,922    245  ████████████              128 µs  133 µs
        ");
        assert_eq!(table(&results, &Look::plain()).lines().count(), results.len() + 1);
    }
}
