//! A step as a test's result.

use measurement::{
    CpuUse, DatabaseProduct, Ended, Histogram, Histograms, InsertBenchmarkStep, Measured,
    OperationKind, Proof, TestResult, WorkloadRecord,
};

use super::rows::ROW_BYTES;
use super::run::StepSeen;
use super::statements::ROWS_PER_QUERY;
use super::step::{QueryKind, Step};
use crate::commits::Finish;
use crate::error::DatabaseError;
use crate::result::series_of;

/// A step, and what its clients did.
pub struct StepMeasured {
    /// The server's URL.
    pub server: String,
    pub product: DatabaseProduct,
    pub step: Step,
    pub clients: u32,
    /// Rows that each client has loaded.
    pub rows: u64,
    pub seen: StepSeen,
    /// Processor time of this program meanwhile.
    pub cpu: CpuUse,
}

impl StepMeasured {
    /// The operations by which the costs of the step are divided.
    pub fn operations(&self) -> (OperationKind, u64) {
        match self.step {
            Step::Index => (OperationKind::IndexedRow, self.rows_indexed()),
            Step::Queries { .. } => (OperationKind::Query, self.seen.queries.count()),
            Step::Load | Step::BigChanges | Step::SmallChanges => {
                (OperationKind::InsertedRow, self.seen.inserts.rows())
            }
        }
    }

    fn rows_indexed(&self) -> u64 {
        match self.seen.ended {
            Finish::Complete => self.rows_loaded() * u64::from(self.clients),
            Finish::Interrupted | Finish::Failed(_) => 0,
        }
    }

    /// Rows in the table of each client: whole inserts.
    fn rows_loaded(&self) -> u64 {
        let inserts = Step::Load.inserts(self.rows).unwrap_or_default();
        inserts * u64::from(Step::Load.rows_per_commit())
    }

    pub fn result(self) -> TestResult {
        let rows_indexed = (self.step == Step::Index).then(|| self.rows_indexed());
        let size_bytes = self.rows_loaded() * u64::from(self.clients) * ROW_BYTES;
        let StepMeasured { server, product, step, clients, seen, cpu, .. } = self;
        let StepSeen { elapsed_s, inserts, deletes, queries, ended } = seen;
        let commits = merged([inserts.latencies().0, deletes.latencies().0]);
        let seconds: Vec<Histogram> = inserts
            .latencies()
            .1
            .iter()
            .zip(deletes.latencies().1)
            .map(|(inserts, deletes)| merged([inserts, deletes]))
            .collect();
        let ended = match ended {
            Finish::Complete => Ended::Limit,
            Finish::Interrupted => Ended::Interrupted,
            Finish::Failed(problem) => {
                Ended::Failed { error: DatabaseError { server, problem }.to_string() }
            }
        };
        let rows_per_commit = step.rows_per_commit();
        let workload = WorkloadRecord {
            block_bytes: u64::from(rows_per_commit) * ROW_BYTES,
            depth: 1,
            jobs: clients,
            size_bytes,
            steps: statements(step),
            ..WorkloadRecord::unknown()
        };
        let count = commits.count();
        let proof = Proof { reads: 0, writes: 0, syncs: 0, commits: count, device: None };
        let changes_rows = step != Step::Index;
        let insert_benchmark = InsertBenchmarkStep {
            rows_per_commit,
            indexed_rows: rows_indexed,
            inserts: inserts.figures(elapsed_s),
            deletes: deletes.figures(elapsed_s),
            queries: queries.figures(elapsed_s),
            background_rows_per_s: match step {
                Step::Queries { rate, .. } => Some(f64::from(rate.get()) * f64::from(clients)),
                _ => None,
            },
            costs: None,
        };
        let histograms =
            Histograms { commit: changes_rows.then_some(commits), ..Histograms::default() };
        let result = TestResult::new(
            &step.to_string(),
            Measured {
                workload,
                engine: product.engine(),
                elapsed_s,
                turns: Some(count),
                bytes: (inserts.rows() + deletes.rows()) * ROW_BYTES,
                histograms,
                series: series_of(&seconds),
                proof,
                cpu,
                ended,
                notes: Vec::new(),
            },
        );
        TestResult { insert_benchmark: Some(Box::new(insert_benchmark)), ..result }
    }
}

fn merged(parts: [&Histogram; 2]) -> Histogram {
    let mut all = Histogram::new();
    parts.into_iter().for_each(|part| all.merge(part));
    all.compact();
    all
}

/// The statements of each client, in words.
fn statements(step: Step) -> Vec<String> {
    let rows = step.rows_per_commit();
    let mut statements = Vec::new();
    if let Step::Queries { kind, rate } = step {
        statements.push(match kind {
            QueryKind::Range => format!("read {ROWS_PER_QUERY} rows of a secondary index"),
            QueryKind::Point => format!("read {ROWS_PER_QUERY} rows by primary key"),
        });
        statements.push(format!("beside it, at {rate} rows/s:"));
    }
    if step == Step::Index {
        statements.push("create three secondary indexes".to_owned());
    } else {
        statements.push(format!("insert {rows} rows, commit"));
    }
    if step.deletes() {
        statements.push(format!("delete the {rows} oldest rows, commit"));
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::super::tally::Tally;
    use super::*;
    use crate::error::Problem;

    fn tally(us: u64, per_second: u64, rows: u64) -> Tally {
        let mut tally = Tally::default();
        for second in 0..3 {
            let mut latencies = Histogram::new();
            latencies.record_n(us * 1000, per_second);
            tally.add(second, &latencies, per_second * rows);
        }
        tally.end(std::time::Duration::from_millis(2500));
        tally
    }

    fn measured(name: &str, seen: StepSeen) -> StepMeasured {
        StepMeasured {
            server: "mysql://h/".to_owned(),
            product: DatabaseProduct::Mariadb,
            step: name.parse().unwrap(),
            clients: 2,
            rows: 1050,
            seen,
            cpu: CpuUse { user_s: 0.0, system_s: 0.0 },
        }
    }

    #[test]
    fn inserts_and_deletes_are_the_commits() {
        let seen = StepSeen {
            elapsed_s: 2.5,
            inserts: tally(1000, 20, 50),
            deletes: tally(3000, 10, 50),
            queries: tally(100, 500, 10),
            ended: Finish::Failed(Problem::Gone("terminated".to_owned())),
        };
        let step = measured("qp1000", seen);
        assert_eq!(step.operations(), (OperationKind::Query, 1500));
        let result = step.result();
        assert_eq!((result.test.as_str(), result.engine.as_str()), ("qp1000", "mariadb"));
        assert_eq!((result.commits_per_s, result.workload.jobs), (Some(36.0), 2));
        assert_eq!(result.series.iops, [30.0, 30.0]);
        assert_eq!(
            result.workload.steps,
            [
                "read 10 rows by primary key",
                "beside it, at 1000 rows/s:",
                "insert 50 rows, commit",
                "delete the 50 oldest rows, commit",
            ]
        );
        assert!(matches!(result.ended, Ended::Failed { .. }));
        let benchmark = result.insert_benchmark.unwrap();
        assert_eq!(benchmark.background_rows_per_s, Some(2000.0));
        assert_eq!(benchmark.background_share(), Some(0.3));
        let inserts = benchmark.inserts.unwrap();
        assert_eq!((inserts.rows, inserts.rows_per_s, inserts.per_s), (3000, 1200.0, 24.0));
        assert_eq!((inserts.seconds, inserts.slowest_us.len()), (vec![20, 20], 2));
    }

    #[test]
    fn indexed_rows_are_whole_inserts_of_all_clients() {
        let nothing = Tally::default;
        let seen = |ended| StepSeen {
            elapsed_s: 2.0,
            inserts: nothing(),
            deletes: nothing(),
            queries: nothing(),
            ended,
        };
        let step = measured("l.x", seen(Finish::Complete));
        assert_eq!(step.operations(), (OperationKind::IndexedRow, 2200));
        let result = step.result();
        assert_eq!((result.commits_per_s, result.commit_us), (None, None));
        assert_eq!(result.insert_benchmark.unwrap().indexed_rows, Some(2200));
        let interrupted = measured("l.x", seen(Finish::Interrupted));
        assert_eq!(interrupted.operations(), (OperationKind::IndexedRow, 0));
    }
}
