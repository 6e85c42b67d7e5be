//! The progress that is shown while a test runs.

use workload::Commits;

/// One update of the progress line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Seconds of this test so far, in the target's own time, warm-up excluded; negative during the
    /// warm-up.
    pub elapsed_s: f64,
    /// Operations (turns of a step program) per second in the last whole second.
    pub iops: Option<f64>,
    /// 99th percentile of the commit (or operation) latency in the last whole second.
    pub commit_p99_us: Option<f64>,
}

impl Progress {
    /// Several tests that run at the same time: their rates added up, and the highest of their
    /// latencies.
    pub fn together(tests: impl Iterator<Item = Progress>) -> Progress {
        let both = |all: Progress, one: Progress| Progress {
            elapsed_s: all.elapsed_s.max(one.elapsed_s),
            iops: all.iops.into_iter().chain(one.iops).reduce(|one, other| one + other),
            commit_p99_us: all.commit_p99_us.into_iter().chain(one.commit_p99_us).reduce(f64::max),
        };
        tests.reduce(both).unwrap_or(Progress { elapsed_s: 0.0, iops: None, commit_p99_us: None })
    }
}

/// The operation whose latency an application waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headline {
    /// Commits that take a separate sync call; operations are counted as reads and writes.
    Commits,
    /// Turns of a step program, which are also its operations.
    Turns,
    /// Reads and writes.
    Operations,
}

impl From<Commits> for Headline {
    fn from(commits: Commits) -> Headline {
        match commits {
            Commits::EachSync => Headline::Commits,
            Commits::EachWrite | Commits::None => Headline::Operations,
        }
    }
}
