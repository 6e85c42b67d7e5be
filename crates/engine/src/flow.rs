//! The share of each job in the operations of all jobs of a flow.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use workload::{Flow, Test, Work};

/// Pause of a job that has exceeded its share, if the flow does not set one: fio asks again at
/// once, which on a machine with few processors keeps the other jobs from running.
pub const RETRY: Duration = Duration::from_micros(20);

/// The operations of all jobs of a flow, and the sum of their weights.
#[derive(Debug, Default)]
pub struct FlowCounters {
    operations: AtomicU64,
    weight: AtomicU64,
}

/// The counters of each flow, by number. A job belongs to its flow from the start on.
pub type Flows = BTreeMap<u32, Arc<FlowCounters>>;

/// The flows of tests that run at the same time.
pub fn flows(tests: &[Test]) -> Flows {
    let mut flows = Flows::new();
    for test in tests {
        if let Work::Blocks(workload) = &test.work
            && let Some(flow) = workload.flow
        {
            let weight = u64::from(flow.weight) * u64::from(workload.jobs.get());
            flows.entry(flow.id).or_default().weight.fetch_add(weight, Ordering::Relaxed);
        }
    }
    flows
}

/// One job's share. When it is dropped, the others divide what it leaves.
#[derive(Debug)]
pub struct FlowShare {
    flow: Flow,
    counters: Arc<FlowCounters>,
    own: u64,
}

impl FlowShare {
    pub fn new(flow: Flow, counters: Arc<FlowCounters>) -> FlowShare {
        FlowShare { flow, counters, own: 0 }
    }

    /// Counts the next operation, unless the job has had more than its share.
    pub fn take(&mut self) -> bool {
        let (all, weights) = (&self.counters.operations, &self.counters.weight);
        if self.flow.is_exceeded(
            self.own,
            all.load(Ordering::Relaxed),
            weights.load(Ordering::Relaxed),
        ) {
            return false;
        }
        all.fetch_add(1, Ordering::Relaxed);
        self.own += 1;
        true
    }

    /// Returns `true` if a job that has exceeded its share waits for its operations in flight.
    pub const fn drains(&self) -> bool {
        self.flow.sleep_us > 0
    }

    /// Leaves time to the other jobs.
    pub fn wait(&self) {
        std::thread::sleep(if self.drains() {
            Duration::from_micros(self.flow.sleep_us)
        } else {
            RETRY
        });
    }
}

impl Drop for FlowShare {
    fn drop(&mut self) {
        self.counters.operations.fetch_sub(self.own, Ordering::Relaxed);
        self.counters.weight.fetch_sub(u64::from(self.flow.weight), Ordering::Relaxed);
    }
}
