//! The models reproduce every published row of their drives, and rank like the drives.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use catalogue::{Drive, Row};
use simdrive::sample::{Comparison, compare, median_error};
use simdrive::{Machine, published};

/// Limit of the median error of a drive.
const MEDIAN_MAX: f64 = 0.08;
/// Published values that differ by more than this are ranked.
const ORDERED: f64 = 1.10;

fn reproduced() -> Vec<(&'static Drive, Vec<Comparison>)> {
    let of = |drive: &'static Drive| {
        let machine = Machine::new(catalogue::find_model(&drive.name).unwrap().clone());
        (drive, compare(&machine, &published::samples(drive).unwrap()).unwrap())
    };
    catalogue::drives().iter().map(of).collect()
}

#[test]
fn models_do_what_was_published() {
    let all = reproduced();
    for (drive, comparisons) in &all {
        let median = median_error(comparisons);
        assert!(median <= MEDIAN_MAX, "{}: median error {:.1} %", drive.name, median * 100.0);
        for comparison in comparisons {
            let error = comparison.error() * 100.0;
            assert!(
                comparison.holds(),
                "{}: {}: {error:+.1} %",
                drive.name,
                comparison.result.test
            );
        }
    }
    // For the same test on two drives in any table, the faster drive is not slower in the model.
    let mut compared = 0;
    let rows = || all.iter().flat_map(|(drive, comparisons)| drive.rows.iter().zip(comparisons));
    for (one, modelled) in rows() {
        for (_, slower) in rows().filter(|(other, _)| same_test(one, other)) {
            // For repeated tests, the slowest run of one and the fastest of the other.
            if modelled.sample.span.0 > slower.sample.span.1 * ORDERED {
                compared += 1;
                let both = (modelled.modelled, slower.modelled);
                assert!(
                    both.0 > both.1,
                    "{}: {both:?}, {:?}",
                    slower.result.test,
                    (one, slower.sample.span)
                );
            }
        }
    }
    assert!(compared > 100, "only {compared} pairs were compared");
}

fn same_test(one: &Row, other: &Row) -> bool {
    let test = |row: &Row| {
        (
            row.workload.clone(),
            row.pattern,
            row.block_bytes,
            row.depth,
            row.jobs,
            row.sync.name(),
            row.write_cache,
        )
    };
    test(one) == test(other)
}
