//! The figures of a test that are compared.

use measurement::{Ended, LatencySummary, TestResult};
use serde::{Serialize, Serializer};

/// The operation that a latency belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A write together with what makes it durable.
    Commit,
    /// A write without its sync.
    Write,
    Sync,
    Read,
}

/// A figure of a latency distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    Mean,
    P50,
    /// 90th percentile.
    P90,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P99_9,
}

/// One figure of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Operations per second.
    Iops,
    /// Data read and written, MiB per second.
    MibPerS,
    CommitsPerS,
    /// Time of a sort from its first record to its last row, in seconds.
    SortS,
    /// A latency, in microseconds.
    Latency(Operation, Point),
}

impl Operation {
    const ALL: [Operation; 4] =
        [Operation::Commit, Operation::Write, Operation::Sync, Operation::Read];

    /// The part of a metric's name.
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Commit => "commit",
            Operation::Write => "write",
            Operation::Sync => "sync",
            Operation::Read => "read",
        }
    }

    fn summary(self, result: &TestResult) -> Option<LatencySummary> {
        match self {
            Operation::Commit => result.commit_us,
            Operation::Write => result.write_us,
            Operation::Sync => result.sync_us,
            Operation::Read => result.read_us,
        }
    }
}

impl Point {
    const ALL: [Point; 5] = [Point::Mean, Point::P50, Point::P90, Point::P99, Point::P99_9];

    /// The part of a metric's name.
    pub const fn name(self) -> &'static str {
        match self {
            Point::Mean => "mean",
            Point::P50 => "p50",
            Point::P90 => "p90",
            Point::P99 => "p99",
            Point::P99_9 => "p99_9",
        }
    }

    fn of(self, summary: LatencySummary) -> f64 {
        match self {
            Point::Mean => summary.mean,
            Point::P50 => summary.p50,
            Point::P90 => summary.p90,
            Point::P99 => summary.p99,
            Point::P99_9 => summary.p99_9,
        }
    }
}

/// The pieces of a run of which each has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// A second of a series, which resembles its neighbours.
    Second,
    /// A pass ([`measurement::Pass`]), which varies independently of the others.
    Pass,
}

/// The values of a metric within a run, one per piece.
#[derive(Debug, Clone, PartialEq)]
pub enum Course {
    /// Rates: their arithmetic mean is the rate of the whole run.
    Rates(Vec<f64>),
    /// Percentiles of each piece: compared by their geometric mean, so a single stalled second
    /// does not decide.
    Percentiles(Vec<f64>),
}

impl Metric {
    /// All metrics, in display order.
    pub fn all() -> impl Iterator<Item = Metric> {
        let latencies = Operation::ALL
            .into_iter()
            .flat_map(|of| Point::ALL.into_iter().map(move |at| Metric::Latency(of, at)));
        [Metric::CommitsPerS, Metric::Iops, Metric::MibPerS, Metric::SortS]
            .into_iter()
            .chain(latencies)
    }

    /// The name that users write: `iops`, `commit_p99`.
    ///
    /// ```
    /// # use compare::{Metric, Operation, Point};
    /// assert_eq!(Metric::Latency(Operation::Commit, Point::P99_9).name(), "commit_p99_9");
    /// ```
    pub fn name(self) -> String {
        match self {
            Metric::Iops => "iops".to_owned(),
            Metric::MibPerS => "mib_per_s".to_owned(),
            Metric::CommitsPerS => "commits_per_s".to_owned(),
            Metric::SortS => "sort_s".to_owned(),
            Metric::Latency(of, at) => format!("{}_{}", of.name(), at.name()),
        }
    }

    pub fn named(name: &str) -> Option<Metric> {
        Metric::all().find(|metric| metric.name() == name)
    }

    /// Returns whether higher is better: true for rates, false for times.
    pub const fn more_is_better(self) -> bool {
        !matches!(self, Metric::Latency(..) | Metric::SortS)
    }

    /// The unit as documents write it.
    pub const fn unit(self) -> &'static str {
        match self {
            Metric::MibPerS => "MiB/s",
            Metric::Iops | Metric::CommitsPerS => "1/s",
            Metric::SortS => "s",
            Metric::Latency(..) => "us",
        }
    }

    /// The value of the metric; `None` if the test does not have it.
    pub fn of(self, result: &TestResult) -> Option<f64> {
        match self {
            Metric::Iops => Some(result.iops),
            Metric::MibPerS => Some(result.mib_per_s),
            Metric::CommitsPerS => result.commits_per_s,
            // A sort that was cut off took less time because it did less work.
            Metric::SortS => result
                .sort
                .filter(|sort| sort.sorts > 0 && result.ended == Ended::Limit)
                .map(|sort| sort.total_s() / sort.sorts as f64),
            Metric::Latency(of, at) => of.summary(result).map(|summary| at.of(summary)),
        }
    }

    /// The metric that represents a test in summaries: commits per second, or operations per second
    /// if nothing is made durable.
    pub fn leading(result: &TestResult) -> Metric {
        if result.commits_per_s.is_some() { Metric::CommitsPerS } else { Metric::Iops }
    }

    /// The metric piece by piece; `None` if pieces do not have it.
    ///
    /// A test moves equal blocks at fixed shares of reads, writes and syncs, so all its rates are
    /// proportional to its operations. For latencies, each piece has the median and the 99th
    /// percentile of the operation that the application waits for.
    pub fn course(self, result: &TestResult, piece: Piece) -> Option<Course> {
        let (series, passes) = (&result.series, &result.passes);
        let known = |values: &mut dyn Iterator<Item = Option<f64>>| {
            Course::Percentiles(values.flatten().filter(|value| *value > 0.0).collect())
        };
        match (self, piece) {
            (Metric::Iops | Metric::MibPerS | Metric::CommitsPerS, Piece::Second) => {
                Some(Course::Rates(series.iops.clone()))
            }
            (Metric::Iops | Metric::MibPerS | Metric::CommitsPerS, Piece::Pass) => {
                Some(Course::Rates(passes.iter().map(|pass| pass.iops).collect()))
            }
            (Metric::Latency(of, at), _) if Some(of) == awaited_operation(result) => {
                match (at, piece) {
                    (Point::P50, Piece::Second) => {
                        Some(known(&mut series.commit_p50_us.iter().copied()))
                    }
                    (Point::P99, Piece::Second) => {
                        Some(known(&mut series.commit_p99_us.iter().copied()))
                    }
                    (Point::P50, Piece::Pass) => {
                        Some(known(&mut passes.iter().map(|pass| pass.p50_us)))
                    }
                    (Point::P99, Piece::Pass) => {
                        Some(known(&mut passes.iter().map(|pass| pass.p99_us)))
                    }
                    (Point::Mean | Point::P90 | Point::P99_9, _) => None,
                }
            }
            (Metric::Latency(..) | Metric::SortS, _) => None,
        }
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

/// The operation whose latencies the series has; `None` if it mixes several.
pub fn awaited_operation(result: &TestResult) -> Option<Operation> {
    match (result.commit_us, result.write_us, result.read_us) {
        (Some(_), ..) => Some(Operation::Commit),
        (None, Some(_), None) => Some(Operation::Write),
        (None, None, Some(_)) => Some(Operation::Read),
        // A series that mixes reads and writes.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use measurement::Measured;
    use measurement::{CpuUse, Histograms, Proof, Series, SortFigures, WorkloadRecord};

    use super::*;

    #[test]
    fn names_are_found_again_and_each_is_there_once() {
        let names: Vec<String> = Metric::all().map(Metric::name).collect();
        for name in &names {
            assert_eq!(Metric::named(name).unwrap().name(), *name);
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
        assert_eq!(names.len(), 24);
        assert_eq!(Metric::named("commit"), None);
    }

    #[test]
    fn only_a_completed_sort_has_a_time() {
        let test = workload::suites::named("sort-spill").unwrap().tests[0].clone();
        let of = |ended: Ended, sort: Option<SortFigures>| {
            let measured = Measured {
                workload: WorkloadRecord::of(&test),
                engine: "psync",
                elapsed_s: 10.0,
                turns: None,
                bytes: 0,
                histograms: Histograms::default(),
                series: Series::new(),
                proof: Proof { reads: 0, writes: 0, syncs: 0, commits: 0, device: None },
                cpu: CpuUse { user_s: 0.0, system_s: 0.0 },
                ended,
                notes: Vec::new(),
            };
            Metric::SortS.of(&TestResult { sort, ..TestResult::new("sort", measured) })
        };
        let figures =
            SortFigures { sorts: 4, sorting_s: 12.0, writing_s: 20.0, ..SortFigures::default() };
        assert_eq!(of(Ended::Limit, Some(figures)), Some(8.0));
        assert_eq!(of(Ended::Interrupted, Some(figures)), None);
        assert_eq!(of(Ended::Limit, None), None);
        assert_eq!(of(Ended::Limit, Some(SortFigures { sorts: 0, ..figures })), None);
        assert!(!Metric::SortS.more_is_better());
    }

    /// A test with these summaries, in which all figures differ.
    fn with(operations: &[Operation]) -> TestResult {
        let mut result = samples::series::result("read", 100.0, 3, 1);
        let summary = |of: Operation| {
            let at = operations.iter().position(|operation| *operation == of)?;
            let from = 10.0 * (at as f64 + 1.0);
            let [mean, p50, p90, p99, p99_9] =
                [1.0, 2.0, 3.0, 4.0, 5.0].map(|figure| from + figure);
            Some(LatencySummary {
                mean,
                min: 0.5,
                p50,
                p90,
                p99,
                p99_9,
                p99_99: 98.0,
                max: 99.0,
                count: 7,
            })
        };
        let [commit, write, sync, read] = Operation::ALL.map(summary);
        (result.commit_us, result.write_us, result.sync_us, result.read_us) =
            (commit, write, sync, read);
        result
    }

    #[test]
    fn every_latency_is_its_own_figure_of_its_own_operation() {
        let result = with(&Operation::ALL);
        let latencies = Metric::all().filter(|metric| matches!(metric, Metric::Latency(..)));
        let values: Vec<f64> = latencies.map(|metric| metric.of(&result).unwrap()).collect();
        let expected: Vec<f64> = [10, 20, 30, 40]
            .into_iter()
            .flat_map(|from| (1..=5).map(move |at| f64::from(from + at)))
            .collect();
        assert_eq!(values, expected);
        assert_eq!(
            Metric::Latency(Operation::Sync, Point::P50).of(&with(&[Operation::Read])),
            None
        );
    }

    #[test]
    fn units_are_those_of_rates_and_times() {
        let p99 = Metric::Latency(Operation::Commit, Point::P99);
        let units = [Metric::MibPerS, Metric::Iops, Metric::CommitsPerS, Metric::SortS, p99]
            .map(Metric::unit);
        assert_eq!(units, ["MiB/s", "1/s", "1/s", "s", "us"]);
        assert!(Metric::Iops.more_is_better() && !p99.more_is_better());
    }

    #[test]
    fn a_series_is_of_what_the_application_waits_for() {
        use Operation::{Commit, Read, Sync, Write};
        for (operations, of) in [
            (&[Commit, Write, Sync][..], Some(Commit)),
            (&[Commit, Write, Read], Some(Commit)),
            (&[Write], Some(Write)),
            (&[Read], Some(Read)),
            (&[Write, Read], None),
            (&[], None),
        ] {
            let result = with(operations);
            assert_eq!(awaited_operation(&result), of, "{operations:?}");
            for operation in Operation::ALL {
                for point in [Point::P50, Point::P99] {
                    let seconds = Metric::Latency(operation, point).course(&result, Piece::Second);
                    assert_eq!(
                        seconds.is_some(),
                        Some(operation) == of,
                        "{operations:?}: {operation:?}"
                    );
                }
                assert_eq!(
                    Metric::Latency(operation, Point::Mean).course(&result, Piece::Second),
                    None
                );
            }
        }
    }

    #[test]
    fn seconds_without_a_latency_are_left_out() {
        let mut result = with(&[Operation::Read]);
        result.series.commit_p50_us = vec![Some(2.0), None, Some(0.0), Some(3.0)];
        result.series.commit_p99_us = vec![Some(4.0), None];
        let seconds =
            |point: Point| Metric::Latency(Operation::Read, point).course(&result, Piece::Second);
        assert_eq!(seconds(Point::P50), Some(Course::Percentiles(vec![2.0, 3.0])));
        assert_eq!(seconds(Point::P99), Some(Course::Percentiles(vec![4.0])));
        assert_eq!(Metric::SortS.course(&result, Piece::Second), None);
    }
}
