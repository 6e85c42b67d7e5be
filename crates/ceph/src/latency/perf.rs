//! Latency counters of an OSD, and what they counted between two dumps.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answers::Missing;
use crate::lenient;

macro_rules! counters {
    ($($name:ident = $section:literal $($key:literal)+;)+) => {
        /// A latency that an OSD counts. Some contain others.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum Counter { $($name,)+ }

        impl Counter {
            pub const ALL: &[Counter] = &[$(Counter::$name,)+];

            /// Section and names in `perf dump`, today's name first.
            const fn keys(self) -> (&'static str, &'static [&'static str]) {
                match self { $(Counter::$name => ($section, &[$($key,)+]),)+ }
            }
        }
    };
}

counters! {
    OpBeforeQueue = "osd" "op_before_queue_op_lat";
    OpBeforeDequeue = "osd" "op_before_dequeue_op_lat";
    OpWrite = "osd" "op_w_latency";
    OpWriteProcess = "osd" "op_w_process_latency";
    OpWritePrepare = "osd" "op_w_prepare_latency";
    OpRead = "osd" "op_r_latency";
    OpReadProcess = "osd" "op_r_process_latency";
    SubopWrite = "osd" "subop_w_latency";
    Throttle = "bluestore" "throttle_lat";
    Submit = "bluestore" "submit_lat";
    Commit = "bluestore" "commit_lat";
    StatePrepare = "bluestore" "state_prepare_lat";
    StateAioWait = "bluestore" "state_aio_wait_lat";
    StateIoDone = "bluestore" "state_io_done_lat";
    StateKvQueued = "bluestore" "state_kv_queued_lat";
    // Misspelt up to at least Pacific.
    StateKvCommitting = "bluestore" "state_kv_committing_lat" "state_kv_commiting_lat";
    StateKvDone = "bluestore" "state_kv_done_lat";
    StateDeferredQueued = "bluestore" "state_deferred_queued_lat";
    StateDeferredAioWait = "bluestore" "state_deferred_aio_wait_lat";
    StateDeferredCleanup = "bluestore" "state_deferred_cleanup_lat";
    StateFinishing = "bluestore" "state_finishing_lat";
    StateDone = "bluestore" "state_done_lat";
    KvFlush = "bluestore" "kv_flush_lat";
    KvCommit = "bluestore" "kv_commit_lat";
    // Luminous: `kv_lat`.
    KvSync = "bluestore" "kv_sync_lat" "kv_lat";
    KvFinal = "bluestore" "kv_final_lat";
    RocksDbSubmit = "rocksdb" "submit_latency";
    RocksDbSubmitSync = "rocksdb" "submit_sync_latency";
}

impl Counter {
    /// The name in `perf dump`, with its section if that is RocksDB's.
    pub fn name(self) -> String {
        match self.keys() {
            ("rocksdb", [key, ..]) => format!("rocksdb {key}"),
            (_, [key, ..]) => (*key).to_owned(),
            (section, []) => section.to_owned(),
        }
    }
}

/// Number and sum since the OSD started.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Total {
    count: u64,
    sum_s: f64,
}

/// The latencies of one `perf dump`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PerfDump(BTreeMap<Counter, Total>);

/// A counter went backwards, which means that the OSD was restarted between two dumps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the OSD was restarted during the measurement: {counter} fell from {before} to {after}")]
pub struct Restarted {
    pub counter: String,
    pub before: u64,
    pub after: u64,
}

/// A latency between two dumps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mean {
    pub count: u64,
    pub mean_us: f64,
}

/// The latencies that an OSD counted between two dumps. Counters that did not move are left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerfDifference {
    pub means: BTreeMap<Counter, Mean>,
    /// Counters that the release does not have, or that vanished in between.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Counter>,
}

impl PerfDump {
    /// Parses the answer to `perf dump`; sections and counters that are unknown are ignored.
    pub fn parse(answer: &[u8]) -> Result<PerfDump, Missing> {
        let sections: BTreeMap<String, Value> =
            lenient::parse(answer).map_err(|error| Missing::Unreadable(error.to_string()))?;
        let total = |counter: &Counter| {
            let (section, keys) = counter.keys();
            let section = sections.get(section)?;
            let counted = keys.iter().find_map(|key| section.get(key))?;
            let total = Total {
                count: counted.get("avgcount").and_then(lenient::whole)?,
                sum_s: counted.get("sum").and_then(lenient::number)?,
            };
            Some((*counter, total))
        };
        Ok(PerfDump(Counter::ALL.iter().filter_map(total).collect()))
    }

    /// Counts and means since `before`, an earlier dump of the same OSD.
    pub fn since(&self, before: &PerfDump) -> Result<PerfDifference, Restarted> {
        let mut difference = PerfDifference::default();
        for counter in Counter::ALL {
            let (Some(now), Some(then)) = (self.0.get(counter), before.0.get(counter)) else {
                difference.missing.push(*counter);
                continue;
            };
            // A sum is a whole number of nanoseconds; printing rounds it.
            if now.count < then.count || now.sum_s < then.sum_s - 1e-6 {
                return Err(Restarted {
                    counter: counter.name(),
                    before: then.count,
                    after: now.count,
                });
            }
            let count = now.count - then.count;
            if count > 0 {
                let mean_us = (now.sum_s - then.sum_s).max(0.0) / count as f64 * 1e6;
                difference.means.insert(*counter, Mean { count, mean_us });
            }
        }
        Ok(difference)
    }
}

impl PerfDifference {
    pub fn count(&self, counter: Counter) -> u64 {
        self.means.get(&counter).map_or(0, |mean| mean.count)
    }

    /// Both together: what was counted in two spans of time.
    #[must_use]
    pub fn plus(mut self, other: &PerfDifference) -> PerfDifference {
        for (counter, other) in &other.means {
            let mean = self.means.entry(*counter).or_insert(Mean { count: 0, mean_us: 0.0 });
            let count = mean.count + other.count;
            let sum_us = mean.mean_us * mean.count as f64 + other.mean_us * other.count as f64;
            *mean = Mean { count, mean_us: sum_us / count.max(1) as f64 };
        }
        let new = other.missing.iter().filter(|one| !self.missing.contains(one));
        let new: Vec<Counter> = new.copied().collect();
        self.missing.extend(new);
        self
    }

    /// The mean latency; unknown if the counter is missing or did not move.
    pub fn mean_us(&self, counter: Counter) -> Option<f64> {
        self.means.get(&counter).map(|mean| mean.mean_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(text: &str) -> PerfDump {
        PerfDump::parse(text.as_bytes()).unwrap_or_default()
    }

    #[test]
    fn means_are_those_of_the_time_between_two_dumps() {
        let before = dump(r#"{"bluestore": {"kv_sync_lat": {"avgcount": 10, "sum": 0.05}}}"#);
        let after = dump(r#"{"bluestore": {"kv_sync_lat": {"avgcount": 30, "sum": 0.07}}}"#);
        let between = after.since(&before).unwrap_or_default();
        assert_eq!(between.count(Counter::KvSync), 20);
        assert!(between.mean_us(Counter::KvSync).is_some_and(|us| (us - 1000.0).abs() < 1e-6));
        assert!(between.missing.contains(&Counter::KvFlush));
        assert_eq!(before.since(&before).map(|none| none.means.len()), Ok(0));
    }

    #[test]
    fn spans_of_time_add_up() {
        let mean = |count, mean_us| PerfDifference {
            means: [(Counter::KvSync, Mean { count, mean_us })].into(),
            missing: vec![Counter::KvFlush],
        };
        let both = mean(10, 100.0).plus(&mean(30, 200.0));
        assert_eq!(both, mean(40, 175.0));
        assert_eq!(PerfDifference::default().plus(&both), both);
    }

    #[test]
    fn a_restart_is_recognised() {
        let before = dump(r#"{"osd": {"op_w_latency": {"avgcount": 1000, "sum": 2.5}}}"#);
        let fewer = dump(r#"{"osd": {"op_w_latency": {"avgcount": 12, "sum": 0.1}}}"#);
        insta::assert_snapshot!(
            fewer.since(&before).map_or_else(|error| error.to_string(), |_| String::new()), @"the OSD was restarted during the measurement: op_w_latency fell from 1000 to 12");
        // More operations than before in less time: also a new start.
        let less = dump(r#"{"osd": {"op_w_latency": {"avgcount": 1200, "sum": 0.1}}}"#);
        assert!(less.since(&before).is_err());
    }

    #[test]
    fn a_counter_that_vanishes_is_missing() {
        let before = dump(r#"{"osd": {"op_w_latency": {"avgcount": 1, "sum": 0.1}}}"#);
        let difference = dump("{}").since(&before).unwrap_or_default();
        assert!(difference.missing.contains(&Counter::OpWrite));
        assert!(PerfDump::parse(b"not json").is_err());
    }

    #[test]
    fn both_spellings_and_old_names_are_read() {
        let old = dump(
            r#"{"bluestore": {"state_kv_commiting_lat": {"avgcount": 1, "sum": 0.1},
                              "kv_lat": {"avgcount": 2, "sum": 0.1}}}"#,
        );
        let new = dump(
            r#"{"bluestore": {"state_kv_committing_lat": {"avgcount": 3, "sum": 0.3},
                              "kv_sync_lat": {"avgcount": 5, "sum": 0.3}}}"#,
        );
        let difference = new.since(&old).unwrap_or_default();
        assert_eq!(difference.count(Counter::StateKvCommitting), 2);
        assert_eq!(difference.count(Counter::KvSync), 3);
    }
}
