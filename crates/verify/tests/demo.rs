//! The drives of the demonstration: an honest one passes, a liar is caught, and both lose power.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use engine::Stop;
use simdrive::Machine;
use verify::Class;
use verify::demo::{Cycles, DemoCycle, DemoError, expect_volatile_cache};

fn machine(model: &str) -> Machine {
    Machine::new(catalogue::find_model(model).unwrap().clone())
}

/// The last cycle, and the number of cycles.
fn cycles(lies: &[&str], patience: Duration) -> Result<(DemoCycle, u64), DemoError> {
    let place = tempfile::tempdir().unwrap();
    let lies: Vec<_> = lies.iter().map(|lie| lie.parse().unwrap()).collect();
    let (time, until) = (Duration::from_millis(200), Instant::now() + patience);
    let (machine, stop) = (&machine("consumer-nvme"), &Stop::new());
    let cycles = Cycles { machine, lies: &lies, time, seed: 3, place: place.path(), stop };
    let done = cycles.conclusive(until);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "journals are removed");
    done
}

#[test]
fn an_honest_drive_is_cut_until_a_cut_proves_something() {
    let (cycle, cuts) = cycles(&[], Duration::from_mins(1)).unwrap();
    assert!(
        cycle.verdict.is_kept() && cycle.voids.is_empty(),
        "{:?} {:?}",
        cycle.verdict.findings,
        cycle.voids
    );
    let cut = cycle.cut.unwrap();
    assert!(cut.lost_promised == 0 && cut.lost_unflushed > 0, "{cut:?}");
    assert!(cuts < 50 && cycle.verdict.acknowledged_writes() > 0);
}

#[test]
fn a_drive_that_ignores_flushes_is_caught() {
    let (cycle, _) = cycles(&["ignore-flush"], Duration::from_mins(1)).unwrap();
    let classes = [Class::Lost, Class::Unserializable, Class::RolledBack];
    assert!(
        cycle.verdict.findings.iter().any(|finding| classes.contains(&finding.class)),
        "{:?}",
        cycle.verdict
    );
    assert!(cycle.cut.unwrap().lost_promised > 0);
    // If there is no time for another cycle, the first is the last.
    assert_eq!(cycles(&[], Duration::ZERO).unwrap().1, 1);
}

#[test]
fn a_drive_without_a_volatile_cache_demonstrates_nothing() {
    expect_volatile_cache(&machine("consumer-nvme")).unwrap();
    let refused = expect_volatile_cache(&machine("enterprise-nvme")).unwrap_err();
    assert!(matches!(refused, DemoError::NoVolatileCache { .. }), "{refused}");
}

#[test]
fn a_demonstration_ends_when_it_is_asked_to() {
    let (place, stop) = (tempfile::tempdir().unwrap(), Stop::new());
    stop.request();
    let until = Instant::now() + Duration::from_mins(1);
    let (machine, time) = (&machine("consumer-nvme"), Duration::from_millis(50));
    let cycles = Cycles { machine, lies: &[], time, seed: 3, place: place.path(), stop: &stop };
    let ended = cycles.conclusive(until);
    assert!(matches!(ended, Err(DemoError::Interrupted)), "{ended:?}");
}
