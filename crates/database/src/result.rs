//! The measurements of clients, as a test's result.

use measurement::{
    CpuUse, DatabaseProduct, Ended, Histogram, Histograms, Measured, Proof, Series, ServerActivity,
    TestResult, WorkloadRecord, series,
};

use crate::commits::{Finish, ROW_BYTES, Seen};
use crate::error::DatabaseError;

/// Clients of a server, and what they did.
pub struct Clients<'a> {
    /// The server's URL.
    pub server: String,
    pub product: DatabaseProduct,
    pub clients: u32,
    pub statement: &'a str,
    pub seen: Seen,
    /// The server's own counters from the start of the clients to their end.
    pub server_activity: Result<ServerActivity, String>,
    /// Processor time of this program meanwhile.
    pub cpu: CpuUse,
}

impl Clients<'_> {
    /// The name of the test.
    pub fn name(clients: u32) -> String {
        if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") }
    }

    pub fn result(self) -> TestResult {
        let Seen { elapsed_s, all, seconds, ended, .. } = self.seen;
        let commits = all.count();
        let ended = match ended {
            Finish::Complete => Ended::Limit,
            Finish::Interrupted => Ended::Interrupted,
            Finish::Failed(problem) => {
                let error = DatabaseError { server: self.server, problem };
                Ended::Failed { error: error.to_string() }
            }
        };
        let workload = WorkloadRecord {
            block_bytes: ROW_BYTES,
            depth: 1,
            jobs: self.clients,
            steps: vec![without_names(self.statement)],
            ..WorkloadRecord::unknown()
        };
        let proof = Proof { reads: 0, writes: 0, syncs: 0, commits, device: None };
        let histograms = Histograms { commit: Some(all), ..Histograms::default() };
        let active_clients = Some(f64::from(self.clients));
        let (server, notes) = match self.server_activity {
            Ok(activity) => (Some(ServerActivity { active_clients, ..activity }), Vec::new()),
            // The error that ended the run explains both.
            Err(_) if matches!(ended, Ended::Failed { .. }) => (None, Vec::new()),
            Err(why) => (None, vec![format!("syncs of the server are unknown: {why}")]),
        };
        let result = TestResult::new(
            &Clients::name(self.clients),
            Measured {
                workload,
                engine: self.product.engine(),
                elapsed_s,
                turns: Some(commits),
                bytes: commits * ROW_BYTES,
                histograms,
                series: series_of(&seconds),
                proof,
                cpu: self.cpu,
                ended,
                notes,
            },
        );
        TestResult { server, ..result }
    }
}

/// The statement without the name of the schema, which differs from run to run, and without the
/// text of the row.
fn without_names(statement: &str) -> String {
    let columns = statement.find('(').map_or(statement, |at| &statement[at..]);
    let end = columns.find(" VALUES").unwrap_or(columns.len());
    format!("INSERT INTO commits {}", &columns[..end])
}

pub(crate) fn series_of(seconds: &[Histogram]) -> Series {
    let quantile = |second: &Histogram, share| {
        (!second.is_empty()).then(|| second.quantile_ns(share) as f64 / 1e3)
    };
    Series {
        iops: seconds.iter().map(|second| second.count() as f64).collect(),
        commit_p50_us: seconds.iter().map(|second| quantile(second, 0.5)).collect(),
        commit_p99_us: seconds.iter().map(|second| quantile(second, 0.99)).collect(),
        commit_bins: seconds.iter().map(|second| series::binned(second.buckets())).collect(),
        ..Series::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result() {
        let mut second = Histogram::new();
        second.record_n(1_000_000, 900);
        second.record_n(9_000_000, 100);
        let mut all = second.clone();
        all.record_n(2_000_000, 500);
        let seen = Seen {
            elapsed_s: 1.5,
            committing_s: 1.7,
            all,
            seconds: vec![second],
            ended: Finish::Failed(crate::Problem::Gone("terminated".to_owned())),
        };
        let result = Clients {
            server: "postgres://h/d".to_owned(),
            product: DatabaseProduct::Postgresql,
            clients: 4,
            statement: "INSERT INTO flushmark_1.commits (client, turn) VALUES ($1, $2)",
            seen,
            server_activity: Err("the statistics of the server were reset".to_owned()),
            cpu: CpuUse { user_s: 0.0, system_s: 0.0 },
        }
        .result();
        assert_eq!((result.test.as_str(), result.engine.as_str()), ("4 clients", "postgresql"));
        assert_eq!((result.commits_per_s, result.workload.jobs), (Some(1000.0), 4));
        assert_eq!(result.series.iops, [1000.0]);
        assert_eq!(result.workload.steps, ["INSERT INTO commits (client, turn)"]);
        let Ended::Failed { error } = result.ended else { panic!("{:?}", result.ended) };
        insta::assert_snapshot!(error, @"the server postgres://h/d closed the connection: terminated. It was stopped or restarted, or the connection was killed");
    }
}
