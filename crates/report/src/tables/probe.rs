//! The table of a probe: the parameter that varies, and the rate for each value.

use measurement::TestResult;
use workload::format_bytes;
use workload::number::{about_bytes, latency, number, throughput};

use crate::columns::{Cell, Column, Columns};
use crate::look::{Glyphs, Look};

/// Length of the longest bar in characters.
const BAR: f64 = 24.0;

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
    let heads = aspects
        .iter()
        .map(|(name, _)| if *name == "pattern" { Column::left(name) } else { Column::right(name) });
    let figures = [
        Column::right("IOPS"),
        Column::right("MiB/s"),
        Column::left(""),
        Column::right(if synced { "sync p50" } else { "p50" }),
        Column::right(if synced { "sync p99" } else { "p99" }),
    ];
    let mut table = Columns::new(heads.chain(figures).collect::<Vec<_>>());
    let most = results.iter().map(|result| result.mib_per_s).fold(0.0, f64::max);
    let block = if look.glyphs == Glyphs::Ascii { "#" } else { "█" };
    for result in results {
        let us = if synced { result.sync_us } else { result.headline_us() };
        let bar =
            block
                .repeat((result.mib_per_s / most.max(f64::MIN_POSITIVE) * BAR).round().max(1.0)
                    as usize);
        let figures = [
            Cell::from(number(result.iops)),
            Cell::from(throughput(result.mib_per_s)),
            Cell::from(bar),
            Cell::maybe(us, |us| latency(us.p50)),
            Cell::maybe(us, |us| latency(us.p99)),
        ];
        table.row(
            aspects.iter().map(|(_, of)| Cell::from(of(result))).chain(figures).collect::<Vec<_>>(),
        );
    }
    table.render(look)
}
