//! The test that stands for a run.

use measurement::TestResult;

/// A commit of one client, one at a time: the latency that a database waits for.
pub(crate) fn is_commit_alone(result: &TestResult) -> bool {
    let work = &result.workload;
    result.commit_us.is_some() && work.jobs == 1 && work.depth <= 1 && work.sync_every <= 1
}

/// The first such test; otherwise the first that has latencies.
pub(crate) fn leading(results: &[TestResult]) -> Option<&TestResult> {
    let timed = || results.iter().filter(|result| result.headline_us().is_some());
    timed().find(|result| is_commit_alone(result)).or_else(|| timed().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_of_one_client_stands_for_a_run() {
        assert_eq!(leading(&samples::check()).unwrap().test, "write + fsync");
        let reads = samples::suite("read-scaling", 80.0, 0.0);
        assert_eq!(leading(&reads).unwrap().test, reads[0].test);
        assert!(leading(&[]).is_none());
    }
}
