//! What takes most of the time of a write to an OSD.

use ceph::latency::{Cause, Decomposition};
use measurement::{Confidence, Evidence, Finding};
use workload::number::{latency, number};

use crate::wording::rounded;

/// From this share on, nothing else can be the main cause.
pub(super) const MAJORITY: f64 = 0.5;
/// Transactions of others per write from which on the means of BlueStore are not those of the
/// writes alone.
const FOREIGN_MAX: f64 = 0.1;

/// Blames the largest share of the latency of writes to `osd` (`osd.3`).
pub fn write_time(osd: &str, writes: &Decomposition) -> Option<Finding> {
    let largest = writes.largest()?;
    let place = place_and_advice(largest.cause).0;
    let foreign = foreign_transactions(writes);
    let unexplained = largest.cause == Cause::Rest;
    Some(Finding {
        id: "ceph-write-time".to_owned(),
        title: format!(
            "A write to {osd} spends {} % of its {} {place}.",
            number((largest.fraction * 100.0).round()),
            latency(writes.latency_us)
        ),
        evidence: writes
            .shares()
            .into_iter()
            .map(|share| Evidence::number(share.cause.label(), rounded(share.us), "us"))
            .collect(),
        confidence: match (unexplained, &foreign) {
            (true, _) => Confidence::Low,
            (false, None) if largest.fraction >= MAJORITY => Confidence::High,
            _ => Confidence::Medium,
        },
        doubt: foreign,
        advice: advice(largest.cause, osd),
    })
}

/// The doubt that others wrote to the OSD meanwhile.
pub(super) fn foreign_transactions(writes: &Decomposition) -> Option<String> {
    let foreign = writes.foreign_transactions.filter(|foreign| *foreign > FOREIGN_MAX)?;
    Some(format!(
        "BlueStore committed {} transactions of others per write, and its means include them.",
        number(foreign)
    ))
}

/// The advice on a cause.
pub(super) fn advice(cause: Cause, osd: &str) -> String {
    place_and_advice(cause).1.replace("OSD dump_ops", &format!("{osd} dump_ops"))
}

/// The place of a cause, and the advice on it; `OSD` is a placeholder for the OSD's name.
const fn place_and_advice(cause: Cause) -> (&'static str, &'static str) {
    match cause {
        Cause::Network => (
            "on the network and in the messengers",
            "A round trip takes 30 to 50 µs between two idle hosts; above 100 µs, look at the path, \
             the driver's interrupt moderation, and the C-states of both hosts \
             (`flushmark host --measure`).",
        ),
        Cause::Queue => (
            "waiting in the OSD",
            "Other work is ahead of it: clients, recovery, scrubs. `ceph tell OSD \
             dump_ops_in_flight` lists it, and mClock's capacity decides how much of it is let \
             through.",
        ),
        Cause::Cpu => (
            "computing and waking threads in the OSD",
            "Look at the OSD's host: other programs on its cores, the governor and C-states \
             (`flushmark host --measure`), fewer than 4 cores per OSD. The clock matters more than \
             the number of cores, because one thread commits all writes of an OSD.",
        ),
        Cause::Flush => (
            "writing to its device and flushing it",
            "Measure a commit of the drive itself with `flushmark check`. With power-loss \
             protection it takes 20 to 100 µs; without, milliseconds. For a hard disk, put \
             block.db on flash with power-loss protection.",
        ),
        Cause::Copies => (
            "waiting for copies on other OSDs",
            "The slowest OSD of each placement group decides. Measure every OSD by itself in a \
             pool of size 1.",
        ),
        Cause::Rest => (
            "where no counter looks",
            "Measure the round trip as well, and look at the client's own host; the OSD's counters \
             do not explain it.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use ceph::latency::{ClientWrites, PerfDump};

    use super::*;

    const BEFORE: &str =
        include_str!("../../../ceph/tests/captures/16.2.15/osd.1-perf-dump-before-bench.json");
    const AFTER: &str =
        include_str!("../../../ceph/tests/captures/16.2.15/osd.1-perf-dump-after-bench.json");

    fn judged(client: ClientWrites) -> Option<Finding> {
        let dump = |text: &str| PerfDump::parse(text.as_bytes()).unwrap_or_default();
        let counted = dump(AFTER).since(&dump(BEFORE)).unwrap_or_default();
        write_time("osd.1", &Decomposition::of(&client, &counted))
    }

    #[test]
    fn the_largest_share_is_blamed() {
        let near =
            ClientWrites { latency_us: 785.5, round_trip_us: None, copies: 1, in_device_us: None };
        let finding = judged(near);
        assert_eq!(finding.as_ref().map(|finding| finding.confidence), Some(Confidence::High));
        insta::assert_snapshot!(
            finding.map_or(String::new(), |finding| finding.title),
            @"A write to osd.1 spends 58 % of its 786 µs writing to its device and flushing it."
        );
        let far = judged(ClientWrites { latency_us: 2785.5, ..near });
        insta::assert_snapshot!(far.map_or(String::new(), |finding| finding.title), @"A write to osd.1 spends 77 % of its 2.79 ms on the network and in the messengers.");
        let unexplained =
            judged(ClientWrites { round_trip_us: Some(100.0), latency_us: 2785.5, ..near });
        assert_eq!(unexplained.map(|finding| finding.confidence), Some(Confidence::Low));
        assert_eq!(judged(ClientWrites { latency_us: 0.0, ..near }), None);
    }
}
