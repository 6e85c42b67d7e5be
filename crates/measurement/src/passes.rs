//! Tests that were made in several passes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TestResult;

/// One of several passes of a test, with other work between them. Unlike neighbouring seconds, passes
/// are far enough apart to vary independently.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pass {
    /// Operations per second.
    pub iops: f64,
    /// Median latency of what the application waits for, in microseconds: the commit, or else the
    /// write, or else the read.
    pub p50_us: Option<f64>,
    /// 99th percentile of the same latencies.
    pub p99_us: Option<f64>,
}

impl Pass {
    fn of(result: &TestResult) -> Pass {
        let us = result.headline_us();
        Pass { iops: result.iops, p50_us: us.map(|us| us.p50), p99_us: us.map(|us| us.p99) }
    }
}

impl TestResult {
    /// The result as one pass of a test, to be merged with the others.
    #[must_use]
    pub fn as_pass(self) -> TestResult {
        TestResult { passes: vec![Pass::of(&self)], ..self }
    }
}
