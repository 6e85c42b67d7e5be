use proptest::prelude::*;

use super::*;
use crate::latency::{Mean, PerfDump};

const BEFORE: &str =
    include_str!("../../../tests/captures/16.2.15/osd.1-perf-dump-before-bench.json");
const AFTER: &str =
    include_str!("../../../tests/captures/16.2.15/osd.1-perf-dump-after-bench.json");

fn captured() -> PerfDifference {
    let dump = |text: &str| PerfDump::parse(text.as_bytes()).unwrap_or_default();
    dump(AFTER).since(&dump(BEFORE)).unwrap_or_default()
}

fn of(means: &[(Counter, u64, f64)]) -> PerfDifference {
    let means = means.iter();
    let means = means.map(|&(counter, count, mean_us)| (counter, Mean { count, mean_us }));
    PerfDifference { means: means.collect(), missing: Vec::new() }
}

fn table(decomposition: &Decomposition) -> String {
    let parts = decomposition.parts.iter();
    let parts = parts.map(|part| {
        format!("{:<22} {:>7.1}  {:<36} {}", part.cause.label(), part.us, part.what, part.from)
    });
    parts.collect::<Vec<_>>().join("\n")
}

#[test]
fn counters_nest_as_documented() {
    let counted = captured();
    let us = |counter| counted.mean_us(counter).unwrap_or_default();
    let close = |whole: f64, parts: f64, tolerance: f64| {
        assert!((whole - parts).abs() <= tolerance * whole, "{whole} and {parts}");
    };
    let states = [
        Counter::StatePrepare,
        Counter::StateAioWait,
        Counter::StateIoDone,
        Counter::StateKvQueued,
        Counter::StateKvCommitting,
    ];
    close(us(Counter::Commit), states.map(us).iter().sum(), 0.001);
    close(us(Counter::KvSync), us(Counter::KvFlush) + us(Counter::KvCommit), 0.001);
    let queue = us(Counter::OpWrite) - us(Counter::OpWriteProcess);
    close(us(Counter::OpBeforeDequeue), queue, 0.01);
    for (inner, outer) in [
        (Counter::OpBeforeQueue, Counter::OpBeforeDequeue),
        (Counter::Submit, Counter::OpWritePrepare),
        (Counter::StatePrepare, Counter::Submit),
        (Counter::Throttle, Counter::StatePrepare),
        (Counter::Commit, Counter::OpWriteProcess),
        (Counter::KvFlush, Counter::StateKvQueued),
        (Counter::KvCommit, Counter::StateKvCommitting),
        (Counter::RocksDbSubmitSync, Counter::KvCommit),
    ] {
        assert!(us(inner) <= us(outer), "{inner:?} in {outer:?}");
    }
}

#[test]
fn a_real_write_at_depth_one() {
    // `rados bench` reports the mean over both OSDs; this one served 7,306 of 10,156 writes.
    let client =
        ClientWrites { latency_us: 785.5, round_trip_us: None, copies: 1, in_device_us: None };
    let decomposition = Decomposition::of(&client, &captured());
    insta::assert_snapshot!(table(&decomposition), @"
    network                  137.0  network, messengers, client          client - op_w_latency
    OSD queue                 30.5  operation queue                      op_w_latency - op_w_process_latency
    device flush               0.1  data written                         state_aio_wait_lat
    device flush               0.0  data flushed                         kv_flush_lat
    device flush             451.8  log written and flushed              rocksdb submit_sync_latency
    OSD queue                  0.4  BlueStore throttle                   throttle_lat
    OSD queue                  0.2  earlier writes of the PG             state_io_done_lat
    OSD and BlueStore CPU     27.6  BlueStore: prepare                   state_prepare_lat - throttle_lat
    OSD and BlueStore CPU     17.7  BlueStore: waking the commit thread  (state_kv_queued_lat - kv_flush_lat) / b
    OSD and BlueStore CPU     42.2  BlueStore: RocksDB, finishing        (state_kv_committing_lat - commit) / b
    OSD and BlueStore CPU     75.4  placement group                      op_w_prepare_latency - submit_lat
    OSD and BlueStore CPU      2.7  completion and reply                 op_w_process_latency - all of the above
    ");
    assert_eq!(decomposition.largest().map(|share| share.cause), Some(Cause::Flush));
    assert_eq!(decomposition.foreign_transactions, Some(0.0));
}

#[test]
fn a_slow_network_a_busy_processor_and_copies_are_blamed() {
    let base = [
        (Counter::OpWrite, 100, 600.0),
        (Counter::OpWriteProcess, 100, 570.0),
        (Counter::OpWritePrepare, 100, 140.0),
        (Counter::Submit, 100, 65.0),
        (Counter::StatePrepare, 100, 28.0),
        (Counter::StateKvQueued, 100, 18.0),
        (Counter::StateKvCommitting, 100, 440.0),
        (Counter::KvFlush, 100, 0.1),
        (Counter::KvCommit, 100, 420.0),
    ];
    let client = ClientWrites {
        latency_us: 750.0,
        round_trip_us: Some(120.0),
        copies: 1,
        in_device_us: None,
    };
    let blame = |client: &ClientWrites, means: &[(Counter, u64, f64)]| {
        Decomposition::of(client, &of(means)).largest().map(|share| share.cause)
    };
    assert_eq!(blame(&client, &base), Some(Cause::Flush));
    let far = ClientWrites {
        latency_us: 2700.0,
        round_trip_us: Some(2000.0),
        copies: 1,
        in_device_us: None,
    };
    assert_eq!(blame(&far, &base), Some(Cause::Network));

    let changed = |changes: &[(Counter, f64)]| {
        base.map(|(counter, count, us)| {
            let change = changes.iter().find(|(changed, _)| *changed == counter);
            (counter, count, change.map_or(us, |(_, us)| *us))
        })
    };
    let slow = ClientWrites { latency_us: 3150.0, ..client };
    let busy = changed(&[
        (Counter::OpWrite, 3000.0),
        (Counter::OpWriteProcess, 2700.0),
        (Counter::OpWritePrepare, 700.0),
        (Counter::Submit, 300.0),
        (Counter::StateKvQueued, 700.0),
        (Counter::StateKvCommitting, 1100.0),
    ]);
    assert_eq!(blame(&slow, &busy), Some(Cause::Cpu));
    let queued = changed(&[(Counter::OpWrite, 3000.0)]);
    assert_eq!(blame(&slow, &queued), Some(Cause::Queue));
    let waiting = changed(&[(Counter::OpWrite, 3000.0), (Counter::OpWriteProcess, 2970.0)]);
    let replicated = ClientWrites { copies: 3, ..slow };
    assert_eq!(blame(&replicated, &waiting), Some(Cause::Copies));
}

#[test]
fn what_the_kernel_did_not_see_of_the_device_is_a_thread_that_waits_for_a_cpu() {
    let means = of(&[
        (Counter::OpWrite, 100, 3000.0),
        (Counter::OpWriteProcess, 100, 2980.0),
        (Counter::StateKvCommitting, 100, 2800.0),
        (Counter::KvCommit, 100, 2700.0),
    ]);
    let client = ClientWrites {
        latency_us: 3100.0,
        round_trip_us: Some(80.0),
        copies: 1,
        in_device_us: Some(300.0),
    };
    let flush = |client: &ClientWrites| {
        let shares = Decomposition::of(client, &means).shares();
        shares.iter().find(|share| share.cause == Cause::Flush).map(|share| share.us)
    };
    assert!(flush(&client).is_some_and(|us| (us - 300.0).abs() < 1e-9));
    assert_eq!(Decomposition::of(&client, &means).largest().map(|one| one.cause), Some(Cause::Cpu));
    // The OSD need not wait for all that its drive does.
    assert_eq!(flush(&ClientWrites { in_device_us: Some(9000.0), ..client }), Some(2700.0));
    assert_eq!(flush(&ClientWrites { in_device_us: None, ..client }), Some(2700.0));
}

#[test]
fn waiting_for_the_commits_of_others_is_the_devices_time() {
    // Sixteen transactions are committed together.
    let deep = of(&[
        (Counter::OpWrite, 1600, 8000.0),
        (Counter::OpWriteProcess, 1600, 7900.0),
        (Counter::StateKvQueued, 1600, 3600.0),
        (Counter::StateKvCommitting, 1600, 4000.0),
        (Counter::KvFlush, 100, 10.0),
        (Counter::KvCommit, 100, 3500.0),
    ]);
    let client =
        ClientWrites { latency_us: 8100.0, round_trip_us: None, copies: 1, in_device_us: None };
    let shares = Decomposition::of(&client, &deep).shares();
    let flush = shares.iter().find(|share| share.cause == Cause::Flush);
    assert!(flush.is_some_and(|share| share.fraction > 0.85), "{shares:?}");
}

#[test]
fn without_counters_all_is_rest() {
    let client =
        ClientWrites { latency_us: 800.0, round_trip_us: None, copies: 3, in_device_us: None };
    let none = Decomposition::of(&client, &of(&[]));
    assert_eq!(none.largest().map(|share| share.cause), Some(Cause::Rest));
    let only_op = Decomposition::of(&client, &of(&[(Counter::OpWrite, 10, 700.0)]));
    let shares = only_op.shares();
    let causes: Vec<Cause> = shares.iter().map(|share| share.cause).collect();
    assert_eq!(causes, [Cause::Network, Cause::Rest]);
}

proptest! {
    #[test]
    fn parts_add_up_and_none_is_negative(
        latency_us in 0.0..1e6f64,
        round_trip_us in proptest::option::of(0.0..1e6f64),
        in_device_us in proptest::option::of(0.0..1e6f64),
        copies in 0u64..4,
        means in proptest::collection::vec((1u64..10_000, 0.0..1e6f64), Counter::ALL.len()),
        present in proptest::collection::vec(any::<bool>(), Counter::ALL.len()),
    ) {
        let means: Vec<(Counter, u64, f64)> = Counter::ALL
            .iter()
            .zip(means)
            .zip(present)
            .filter(|(_, present)| *present)
            .map(|((counter, (count, us)), _)| (*counter, count, us))
            .collect();
        let client = ClientWrites { latency_us, round_trip_us, copies, in_device_us };
        let decomposition = Decomposition::of(&client, &of(&means));
        let sum: f64 = decomposition.parts.iter().map(|part| part.us).sum();
        prop_assert!((sum - latency_us).abs() <= 1e-6 * latency_us.max(1.0), "{sum} {latency_us}");
        prop_assert!(decomposition.parts.iter().all(|part| part.us > 0.0));
        let fractions: f64 = decomposition.shares().iter().map(|share| share.fraction).sum();
        prop_assert!(latency_us == 0.0 || (fractions - 1.0).abs() < 1e-6);
    }
}
