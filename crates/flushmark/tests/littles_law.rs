//! Operations per second times mean latency equal the queue depth, through every interface.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{plan, run};

/// The `in_flight` of a run of one test on this target. The queue is not full while it drains at
/// the end, so a run has to be long compared with the latency at its depth.
fn in_flight(target: &str, test: &str) -> f64 {
    let directory = tempfile::tempdir().unwrap();
    let plan =
        plan(directory.path(), &format!("[[test]]\ntime = \"2s\"\nsize = \"16MiB\"\n{test}\n"));
    let measured = run(&["run", &plan, "--quiet", "--format", "json", "--target", target]);
    assert_eq!(measured.code, Some(0), "{}", measured.stderr);
    let document = measured.document();
    assert!(!measured.stdout.contains("latencies-do-not-add-up"), "{}", document["findings"]);
    document["results"][0]["in_flight"].as_f64().unwrap()
}

fn assert_near(in_flight: f64, depth: f64, what: &str) {
    assert!((in_flight / depth - 1.0).abs() <= 0.02, "{what}: {in_flight} in flight, not {depth}");
}

#[test]
fn a_full_queue_holds_its_depth() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path().to_str().unwrap();
    for engine in ["io_uring", "libaio"] {
        for (pattern, depth) in [("randread", 128.0), ("randwrite", 32.0), ("randrw", 8.0)] {
            let test = format!("pattern = \"{pattern}\"\ndepth = {depth}\nengine = \"{engine}\"");
            assert_near(in_flight(target, &test), depth, &test);
        }
    }
    for (target, depth) in
        [("null:", 32.0), ("sim:consumer-nvme", 32.0), ("sim:enterprise-sata", 4.0)]
    {
        let test = format!("pattern = \"randwrite\"\ndepth = {depth}");
        assert_near(in_flight(target, &test), depth, target);
    }
}

#[test]
fn one_at_a_time_is_one_in_flight() {
    let place = tempfile::tempdir().unwrap();
    for sync in ["none", "fdatasync", "o_dsync"] {
        let test = format!("pattern = \"randwrite\"\nsync = \"{sync}\"");
        assert_near(in_flight(place.path().to_str().unwrap(), &test), 1.0, sync);
    }
}
