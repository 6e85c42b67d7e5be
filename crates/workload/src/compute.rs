//! Work for processors instead of storage, like that of other programs on a busy host.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The computations of a job, and the share of a processor that they take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compute {
    /// Percentage of the time in which the job computes, 1 to 100.
    pub load_percent: u8,
    /// Duration of each computation in microseconds; a sort takes as long as it takes.
    pub chunk_us: u64,
    /// What is computed.
    pub task: ComputeTask,
    /// The jobs end once all tests that do I/O at the same time have ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub while_io: bool,
}

/// A computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComputeTask {
    /// Reads the clock until the time is over.
    Spin,
    /// Draws 1 MiB of random numbers and sorts them, which needs caches and memory as
    /// well.
    Sort,
}

impl ComputeTask {
    /// The numbers of a sort: 1 MiB, as in fio.
    pub const NUMBERS: usize = 256 << 10;
}

impl Compute {
    /// All of a processor, in fio's chunks.
    pub const DEFAULT: Compute =
        Compute { load_percent: 100, chunk_us: 50_000, task: ComputeTask::Spin, while_io: false };

    pub const fn chunk(&self) -> Duration {
        Duration::from_micros(self.chunk_us)
    }

    /// The pause after a computation that took this many ticks of a clock.
    pub const fn pause(&self, busy: u64) -> u64 {
        let load = if self.load_percent == 0 { 1 } else { self.load_percent as u64 };
        (busy as u128 * (100 - load) as u128 / load as u128) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_leaves_the_share_that_is_requested() {
        let pause = |load_percent| Compute { load_percent, ..Compute::DEFAULT }.pause(1000);
        assert_eq!([100, 80, 50, 25, 1].map(pause), [0, 250, 1000, 3000, 99_000]);
        assert_eq!(Compute::DEFAULT.pause(u64::MAX), 0);
        assert_eq!(Compute::DEFAULT.chunk(), Duration::from_millis(50));
    }
}
