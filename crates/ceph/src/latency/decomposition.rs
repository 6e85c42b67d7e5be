//! A client's mean latency, divided among its causes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::perf::{Counter, PerfDifference};

/// A cause of latency.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The wire, the messengers of both sides, and the client's library.
    Network,
    /// Waiting inside the OSD: its operation queue, BlueStore's throttle, earlier writes of the PG.
    Queue,
    /// Computing and waking threads, in the OSD and in BlueStore.
    Cpu,
    /// The device: data written and flushed, RocksDB's log written and flushed.
    Flush,
    /// Copies on other OSDs that took longer than the primary's.
    Copies,
    /// Time that the counters do not explain.
    Rest,
}

impl Cause {
    /// In the order in which a write meets them.
    pub const ALL: [Cause; 6] =
        [Cause::Network, Cause::Queue, Cause::Cpu, Cause::Flush, Cause::Copies, Cause::Rest];

    pub const fn label(self) -> &'static str {
        match self {
            Cause::Network => "network",
            Cause::Queue => "OSD queue",
            Cause::Cpu => "OSD and BlueStore CPU",
            Cause::Flush => "device flush",
            Cause::Copies => "copies on other OSDs",
            Cause::Rest => "rest",
        }
    }
}

/// The client's side of a measurement of one OSD.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClientWrites {
    /// The mean.
    pub latency_us: f64,
    /// The mean of an operation that touches no device, to the same OSD. Without it, the network is
    /// all of the latency that the OSD did not see.
    pub round_trip_us: Option<f64>,
    /// Copies that the pool keeps.
    pub copies: u64,
    /// The time that the kernel of the OSD's host counted for its drive, per write of the client.
    /// It bounds the device's share: beyond that, an OSD waits for a thread that is not woken.
    pub in_device_us: Option<f64>,
}

/// A piece of the latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    pub cause: Cause,
    pub what: String,
    pub us: f64,
    /// The counters or measurements that it was calculated from.
    pub from: String,
}

/// All parts with one cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    pub cause: Cause,
    pub us: f64,
    /// Of the client's latency.
    pub fraction: f64,
}

/// A client's mean latency in parts that add up to it. None is negative.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decomposition {
    pub latency_us: f64,
    pub parts: Vec<Part>,
    /// Transactions that BlueStore committed besides the client's writes, per write. Above about
    /// 0.1, the means of BlueStore are partly those of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_transactions: Option<f64>,
    /// Counters that would have explained more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Counter>,
}

/// The unexplained remainder of a span of time, from which parts are taken.
struct Budget<'a> {
    left_us: f64,
    parts: &'a mut Vec<Part>,
}

impl Budget<'_> {
    /// Takes at most what is left. Means of different populations may add up to more than the whole
    /// by a few microseconds; the last part pays for that.
    fn take(&mut self, cause: Cause, what: &str, us: Option<f64>, from: &str) {
        let us = us.unwrap_or(0.0).clamp(0.0, self.left_us);
        if us > 0.0 {
            self.left_us -= us;
            let (what, from) = (what.to_owned(), from.to_owned());
            self.parts.push(Part { cause, what, us, from });
        }
    }

    fn take_all(&mut self, cause: Cause, what: &str, from: &str) {
        self.take(cause, what, Some(self.left_us), from);
    }
}

impl Decomposition {
    /// Divides the latency of writes that only this OSD served as the primary.
    pub fn of(client: &ClientWrites, osd: &PerfDifference) -> Decomposition {
        let latency_us =
            if client.latency_us.is_finite() { client.latency_us.max(0.0) } else { 0.0 };
        let mut parts = Vec::new();
        let in_osd_us = osd.mean_us(Counter::OpWrite).map(|us| us.min(latency_us));
        let mut outside =
            Budget { left_us: latency_us - in_osd_us.unwrap_or(0.0), parts: &mut parts };
        match (client.round_trip_us, in_osd_us) {
            (Some(us), _) => {
                outside.take(
                    Cause::Network,
                    "round trip without a device",
                    Some(us),
                    "measured by the client",
                );
                outside.take_all(
                    Cause::Rest,
                    "client and messengers",
                    "client - op_w_latency - round trip",
                );
            }
            (None, Some(_)) => {
                outside.take_all(
                    Cause::Network,
                    "network, messengers, client",
                    "client - op_w_latency",
                );
            }
            (None, None) => outside.take_all(Cause::Rest, "all", "no counters of the OSD"),
        }
        if let Some(us) = in_osd_us {
            inside(us, client, osd, &mut Budget { left_us: us, parts: &mut parts });
        }
        if let Some(us) = client.in_device_us {
            limit_flush(us, &mut parts);
        }
        Decomposition {
            latency_us,
            parts,
            foreign_transactions: foreign(osd),
            missing: osd.missing.iter().copied().filter(|one| USED.contains(one)).collect(),
        }
    }

    /// The parts by cause, in the order of [`Cause::ALL`].
    pub fn shares(&self) -> Vec<Share> {
        let of_cause = |cause| {
            let us: f64 =
                self.parts.iter().filter(|part| part.cause == cause).map(|part| part.us).sum();
            Share { cause, us, fraction: if us > 0.0 { us / self.latency_us } else { 0.0 } }
        };
        Cause::ALL.into_iter().map(of_cause).filter(|share| share.us > 0.0).collect()
    }

    /// The share to blame.
    pub fn largest(&self) -> Option<Share> {
        self.shares().into_iter().max_by(|a, b| a.us.total_cmp(&b.us))
    }
}

/// The counters that [`Decomposition::of`] uses.
const USED: [Counter; 13] = [
    Counter::OpWrite,
    Counter::OpWriteProcess,
    Counter::OpWritePrepare,
    Counter::Submit,
    Counter::Throttle,
    Counter::StatePrepare,
    Counter::StateAioWait,
    Counter::StateIoDone,
    Counter::StateKvQueued,
    Counter::StateKvCommitting,
    Counter::KvFlush,
    Counter::KvCommit,
    Counter::RocksDbSubmitSync,
];

/// `op_w_latency`, from what is known best to what is left over.
fn inside(op_us: f64, client: &ClientWrites, osd: &PerfDifference, budget: &mut Budget<'_>) {
    let us = |counter| osd.mean_us(counter);
    let beyond = |whole, inner| Some((us(whole)? - us(inner).unwrap_or(0.0)).max(0.0));
    let at_most = |inner, whole| Some(us(inner)?.min(us(whole).unwrap_or(f64::INFINITY)));

    budget.take(
        Cause::Queue,
        "operation queue",
        us(Counter::OpWriteProcess).map(|process| op_us - process),
        "op_w_latency - op_w_process_latency",
    );
    // Transactions in a pass of the commit thread, and the share of them that found it busy.
    let together = match osd.count(Counter::KvCommit) {
        0 => 1.0,
        passes => (osd.count(Counter::StateKvCommitting) as f64 / passes as f64).max(1.0),
    };
    let found_busy = 1.0 - 1.0 / together;

    budget.take(Cause::Flush, "data written", us(Counter::StateAioWait), "state_aio_wait_lat");
    let flush = at_most(Counter::KvFlush, Counter::StateKvQueued);
    budget.take(Cause::Flush, "data flushed", flush, "kv_flush_lat");
    let synced = at_most(Counter::RocksDbSubmitSync, Counter::KvCommit);
    let commit = synced.or_else(|| us(Counter::KvCommit));
    let commit = commit.map(|commit| commit.min(us(Counter::StateKvCommitting).unwrap_or(commit)));
    let from = if synced.is_some() { "rocksdb submit_sync_latency" } else { "kv_commit_lat" };
    budget.take(Cause::Flush, "log written and flushed", commit, from);

    let waiting = us(Counter::StateKvQueued).map(|queued| (queued - flush.unwrap_or(0.0)).max(0.0));
    budget.take(
        Cause::Flush,
        "commits of others",
        waiting.map(|us| us * found_busy),
        "(state_kv_queued_lat - kv_flush_lat) × (1 - 1/b)",
    );
    let committing =
        us(Counter::StateKvCommitting).map(|all| (all - commit.unwrap_or(0.0)).max(0.0));
    budget.take(
        Cause::Flush,
        "longer commits",
        committing.map(|us| us * found_busy),
        "(state_kv_committing_lat - commit) × (1 - 1/b)",
    );

    budget.take(Cause::Queue, "BlueStore throttle", us(Counter::Throttle), "throttle_lat");
    budget.take(
        Cause::Queue,
        "earlier writes of the PG",
        us(Counter::StateIoDone),
        "state_io_done_lat",
    );
    budget.take(
        Cause::Cpu,
        "BlueStore: prepare",
        beyond(Counter::StatePrepare, Counter::Throttle),
        "state_prepare_lat - throttle_lat",
    );
    budget.take(
        Cause::Cpu,
        "BlueStore: waking the commit thread",
        waiting.map(|us| us * (1.0 - found_busy)),
        "(state_kv_queued_lat - kv_flush_lat) / b",
    );
    budget.take(
        Cause::Cpu,
        "BlueStore: RocksDB, finishing",
        committing.map(|us| us * (1.0 - found_busy)),
        "(state_kv_committing_lat - commit) / b",
    );
    budget.take(
        Cause::Cpu,
        "placement group",
        us(Counter::Submit).and_then(|_| beyond(Counter::OpWritePrepare, Counter::Submit)),
        "op_w_prepare_latency - submit_lat",
    );
    let explained =
        us(Counter::OpWriteProcess).is_some() && us(Counter::StateKvCommitting).is_some();
    let (cause, what, from) = match (explained, client.copies) {
        (false, _) => (Cause::Rest, "OSD", "op_w_latency, of which parts are missing"),
        (true, 0 | 1) => {
            (Cause::Cpu, "completion and reply", "op_w_process_latency - all of the above")
        }
        (true, _) => (
            Cause::Copies,
            "waiting for copies, completion",
            "op_w_process_latency - all of the above",
        ),
    };
    budget.take_all(cause, what, from);
}

/// Leaves the device what the kernel saw of it.
fn limit_flush(in_device_us: f64, parts: &mut Vec<Part>) {
    let flush = |part: &&mut Part| part.cause == Cause::Flush;
    let total_us: f64 = parts.iter_mut().filter(flush).map(|part| part.us).sum();
    let beyond_us = total_us - in_device_us.max(0.0);
    if beyond_us <= 0.0 {
        return;
    }
    let kept = 1.0 - beyond_us / total_us;
    parts.iter_mut().filter(flush).for_each(|part| part.us *= kept);
    parts.retain(|part| part.us > 0.0);
    parts.push(Part {
        cause: Cause::Cpu,
        what: "woken after the device".to_owned(),
        us: beyond_us,
        from: "counters of the OSD - those of the kernel for its drive".to_owned(),
    });
}

fn foreign(osd: &PerfDifference) -> Option<f64> {
    let writes = osd.count(Counter::OpWrite);
    let transactions = osd.count(Counter::StateKvCommitting);
    (writes > 0).then(|| transactions.saturating_sub(writes) as f64 / writes as f64)
}

#[cfg(test)]
mod tests;
