//! The table of a probe: the parameter that varies, and the rate for each value.

use measurement::TestResult;
use workload::format_bytes;
use workload::number::{about_bytes, latency, number, throughput};

use crate::columns::{Column, Columns};
use crate::look::{Glyphs, Look};

/// Length of the longest bar in characters.
const BAR: f64 = 24.0;

/// From this change on, the rate at the end of a test is shown beside that of the whole.
const CHANGE_MIN: f64 = 0.05;

/// A parameter that tests may differ in: its heading, and its value in a test.
type Aspect = (&'static str, fn(&TestResult) -> String);

const ASPECTS: [Aspect; 6] = [
    ("pattern", |result| {
        result.workload.pattern.map_or_else(String::new, |pattern| pattern.name().to_owned())
    }),
    ("size", |result| format_bytes(result.workload.block_bytes)),
    ("places", |result| result.workload.streams.to_string()),
    ("writes a sync", |result| result.workload.sync_every.to_string()),
    ("on", |result| about_bytes(result.workload.size_bytes)),
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
    let most = results.iter().map(|result| result.mib_per_s).fold(0.0, f64::max);
    let block = if look.glyphs == Glyphs::Ascii { "#" } else { "█" };
    let bar = |result: &TestResult| {
        let length = (result.mib_per_s / most.max(f64::MIN_POSITIVE) * BAR).round().max(1.0);
        block.repeat(length as usize)
    };
    // A drive that has not settled ends a test at another rate than the mean of the whole.
    let changes = results
        .iter()
        .any(|result| (result.iops_at_the_end() / result.iops - 1.0).abs() >= CHANGE_MIN);
    let mut table = Columns::<TestResult>::new();
    for (name, of) in aspects {
        let column = if *name == "pattern" { Column::left(name) } else { Column::right(name) };
        table = table.with(column, *of);
    }
    let [p50, p99] = if synced { ["sync p50", "sync p99"] } else { ["p50", "p99"] };
    table
        .with(Column::right("IOPS"), |result| number(result.iops))
        .with(Column::right("at the end").optional(), |result| {
            changes.then(|| number(result.iops_at_the_end()))
        })
        .with(Column::right("MiB/s"), |result| throughput(result.mib_per_s))
        .with(Column::left(""), bar)
        .with(Column::right(p50), |result| us(result).map(|us| latency(us.p50)))
        .with(Column::right(p99), |result| us(result).map(|us| latency(us.p99)))
        .of(results, look)
}
