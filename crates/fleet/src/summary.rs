//! Latencies of many runs added up: percentiles of all operations together, not means of
//! percentiles.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use measurement::{Histogram, LatencySummary};
use schemars::JsonSchema;
use serde::Serialize;
use store::{Figures, RunFigures, RunId};

/// The runs that are added up together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Those of all hosts.
    #[default]
    All,
    /// Those on drives of one model.
    Model,
    /// Those of one host.
    Host,
}

impl By {
    /// The group that a run is added to; `None` for the only one, or a drive without a model.
    fn group(self, run: &RunFigures) -> Option<&str> {
        match self {
            By::All => None,
            By::Model => run.drive.as_ref()?.model.as_deref(),
            By::Host => Some(&run.host),
        }
    }
}

/// A host with its median latency in a test.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostFigure {
    pub host: String,
    pub p50_us: f64,
}

/// One test of a suite, over the runs of a group.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SummaryRow {
    /// The model or host; `null` for all hosts, and for drives whose model is unknown.
    pub group: Option<String>,
    pub suite: String,
    pub test: String,
    pub hosts: usize,
    pub runs: usize,
    /// Headline latency of all operations together, in microseconds.
    pub latency_us: LatencySummary,
    /// The runs with the lowest and the highest median.
    pub fastest: HostFigure,
    pub slowest: HostFigure,
}

/// The newest runs of all hosts, added up.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    pub by: By,
    pub hosts: usize,
    pub runs: usize,
    /// When the oldest and the newest of these runs began; `null` without runs.
    #[schemars(with = "Option<[String; 2]>")]
    pub began: Option<[Timestamp; 2]>,
    /// By group, suite, and the order of tests in the suite.
    pub rows: Vec<SummaryRow>,
}

/// Adds distributions up, group by group: only those of one group are in memory.
#[derive(Debug)]
pub struct Summing<'a> {
    by: By,
    figures: &'a Figures,
    /// Positions of the runs, group by group.
    order: Vec<usize>,
    at: HashMap<RunId, usize>,
    names: HashMap<&'a str, usize>,
    group: Option<&'a str>,
    /// The tests of the group that is being added up, in the order in which they came.
    tests: Vec<Test<'a>>,
    rows: Vec<SummaryRow>,
}

#[derive(Debug)]
struct Test<'a> {
    suite: &'a str,
    name: usize,
    histogram: Histogram,
    /// The runs that have it, each with its median.
    runs: Vec<(usize, f64)>,
}

impl<'a> Summing<'a> {
    pub fn new(figures: &'a Figures, by: By) -> Summing<'a> {
        let mut order: Vec<usize> = (0..figures.runs.len()).collect();
        order.sort_by_key(|&at| (by.group(&figures.runs[at]), at));
        Summing {
            by,
            figures,
            at: figures.runs.iter().enumerate().map(|(at, run)| (run.id, at)).collect(),
            names: figures.names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect(),
            group: order.first().and_then(|&at| by.group(&figures.runs[at])),
            order,
            tests: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// The runs in the order in which their distributions must come.
    pub fn runs(&self) -> Vec<RunId> {
        self.order.iter().map(|&at| self.figures.runs[at].id).collect()
    }

    /// Adds the distribution of one test of a run. A test whose name or run is unknown was stored
    /// after the figures were read, and is left out.
    ///
    /// # Panics
    /// If the runs come in another order than [`Summing::runs`] has them.
    pub fn add(&mut self, run: RunId, test: &str, histogram: &Histogram) {
        let (Some(&at), Some(&name)) = (self.at.get(&run), self.names.get(test)) else { return };
        let run = &self.figures.runs[at];
        let group = self.by.group(run);
        if group != self.group {
            assert!(group > self.group, "runs come group by group");
            self.end_group();
            self.group = group;
        }
        let Some(&(_, p50_us)) = run.tests.iter().find(|(own, _)| *own == name) else { return };
        let suite = run.suite.as_str();
        let is_same = |test: &Test<'_>| (test.suite, test.name) == (suite, name);
        let place = self.tests.iter().position(is_same).unwrap_or_else(|| {
            self.tests.push(Test { suite, name, histogram: Histogram::new(), runs: Vec::new() });
            self.tests.len() - 1
        });
        let test = &mut self.tests[place];
        test.histogram.merge(histogram);
        test.runs.push((at, p50_us));
    }

    fn end_group(&mut self) {
        let runs = &self.figures.runs;
        let mut tests = std::mem::take(&mut self.tests);
        // Stable: the tests of a suite stay in its order.
        tests.sort_by_key(|test| test.suite);
        for test in tests {
            let host =
                |&(at, p50_us): &(usize, f64)| HostFigure { host: runs[at].host.clone(), p50_us };
            let by_median = |one: &&(usize, f64), other: &&(usize, f64)| one.1.total_cmp(&other.1);
            let fastest = test.runs.iter().min_by(by_median).map(host);
            let slowest = test.runs.iter().max_by(by_median).map(host);
            let (Some(fastest), Some(slowest), Some(latency_us)) =
                (fastest, slowest, test.histogram.summary())
            else {
                continue;
            };
            let hosts: BTreeSet<&str> =
                test.runs.iter().map(|&(at, _)| runs[at].host.as_str()).collect();
            self.rows.push(SummaryRow {
                group: self.group.map(str::to_owned),
                suite: test.suite.to_owned(),
                test: self.figures.names[test.name].clone(),
                hosts: hosts.len(),
                runs: test.runs.len(),
                latency_us,
                fastest,
                slowest,
            });
        }
    }

    pub fn finish(mut self) -> Summary {
        self.end_group();
        let hosts: BTreeSet<&str> = self.figures.runs.iter().map(|run| run.host.as_str()).collect();
        let times = || self.figures.runs.iter().map(|run| run.at);
        Summary {
            by: self.by,
            hosts: hosts.len(),
            runs: self.figures.runs.len(),
            began: times().min().zip(times().max()).map(|(first, last)| [first, last]),
            rows: self.rows,
        }
    }
}
