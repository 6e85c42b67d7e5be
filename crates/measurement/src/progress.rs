//! What is told of a test while it runs.

/// What a person sees while a test runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Seconds of this test so far, in the target's own time, warm-up excluded; negative while it warms up.
    pub elapsed_s: f64,
    /// Operations (turns of a step program) per second in the last whole second.
    pub iops: Option<f64>,
    /// 99th percentile of the commit (or operation) latency in the last whole second.
    pub commit_p99_us: Option<f64>,
}

/// Whose latency a person waits for in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headline {
    /// Of commits that take a call of their own; operations are counted as reads and writes.
    Commits,
    /// Of turns of a step program, which are its operations, too.
    Turns,
    /// Of reads and writes.
    Operations,
}
