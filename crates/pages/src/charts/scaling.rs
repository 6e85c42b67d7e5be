//! How rate and latency grow with depth or jobs, for tests that differ in nothing else.

use measurement::{TestResult, WorkloadRecord};

use super::figure::Figure;
use super::{Chart, Curve, Line, Unit, positive};

/// The parameter that grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// I/Os in flight per job.
    Depth,
    /// Concurrent jobs.
    Jobs,
}

impl Over {
    /// Both parameters.
    pub const ALL: [Over; 2] = [Over::Depth, Over::Jobs];

    pub const fn name(self) -> &'static str {
        match self {
            Over::Depth => "depth",
            Over::Jobs => "jobs",
        }
    }

    const fn of(self, workload: &WorkloadRecord) -> u32 {
        match self {
            Over::Depth => workload.depth,
            Over::Jobs => workload.jobs,
        }
    }
}

/// Fewest steps that make a curve.
const STEPS_MIN: usize = 3;

/// Tests that differ only in the parameter.
struct Group<'a> {
    name: String,
    results: Vec<&'a TestResult>,
}

/// The two figures, rate and latency; none if no tests vary only in this parameter.
pub fn figures(id: &str, over: Over, results: &[TestResult]) -> Vec<Figure> {
    let groups: Vec<Group<'_>> = groups(over, results)
        .into_iter()
        .filter(|group| steps(over, &group.results).len() >= STEPS_MIN)
        .collect();
    let all: Vec<&TestResult> =
        groups.iter().flat_map(|group| group.results.iter().copied()).collect();
    let steps = steps(over, &all);
    if steps.is_empty() {
        return Vec::new();
    }
    let curve = |what: &str, unit, figure_of: fn(&TestResult) -> Option<f64>| Curve {
        over: over.name().to_owned(),
        steps: steps.iter().map(u32::to_string).collect(),
        what: what.to_owned(),
        unit,
        lines: groups
            .iter()
            .map(|group| Line {
                name: group.name.clone(),
                values: steps
                    .iter()
                    .map(|step| mean_at(over, *step, &group.results, figure_of))
                    .collect(),
            })
            .collect(),
        published: Vec::new(),
    };
    let rate =
        curve("per second", Unit::PerS, |result| Some(result.commits_per_s.unwrap_or(result.iops)));
    let latency = curve("latency, 99 % within", Unit::Us, |result| Some(result.headline_us()?.p99));
    let title = |what: &str| format!("{what} by {}", over.name());
    [("rate", title("Rate"), rate), ("latency", title("Latency (p99)"), latency)]
        .into_iter()
        .filter(|(_, _, curve)| curve.count() > 0)
        .map(|(what, title, curve)| Figure {
            id: format!("{id}-{}-{what}", over.name()),
            title,
            summary: summary(&curve),
            table: curve.table(),
            chart: Chart::Curve(curve),
        })
        .collect()
}

/// The workload of a test without the parameter.
fn key(over: Over, result: &TestResult) -> WorkloadRecord {
    let mut key = WorkloadRecord { size_bytes: 0, seed: 0, ..result.comparable_workload() };
    match over {
        Over::Depth => key.depth = 0,
        Over::Jobs => key.jobs = 0,
    }
    key
}

fn groups(over: Over, results: &[TestResult]) -> Vec<Group<'_>> {
    let mut groups: Vec<(WorkloadRecord, Group<'_>)> = Vec::new();
    for result in results {
        let key = key(over, result);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.results.push(result),
            None => groups
                .push((key, Group { name: name(over, &result.workload), results: vec![result] })),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// `16 KiB write, fdatasync`, with the other one of depth and jobs if it is not 1.
fn name(over: Over, workload: &WorkloadRecord) -> String {
    let block = workload::format_bytes(workload.block_bytes);
    let otherwise = if workload.sort.is_some() { "sort" } else { "steps" };
    let pattern = workload.pattern.map_or(otherwise, workload::Pattern::name);
    let mut name = format!("{block} {pattern}");
    if let Some(sync) = workload.sync.filter(|sync| sync.is_durable()) {
        name += &format!(", {}", sync.name());
    }
    match over {
        Over::Depth if workload.jobs > 1 => name += &format!(", {} jobs", workload.jobs),
        Over::Jobs if workload.depth > 1 => name += &format!(", depth {}", workload.depth),
        Over::Depth | Over::Jobs => {}
    }
    match workload.write_cache {
        workload::WriteCache::Unchanged => {}
        setting => name += &format!(", cache {}", setting.name()),
    }
    name
}

fn steps(over: Over, results: &[&TestResult]) -> Vec<u32> {
    let mut steps: Vec<u32> = results.iter().map(|result| over.of(&result.workload)).collect();
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// The geometric mean over repetitions.
fn mean_at(
    over: Over,
    step: u32,
    results: &[&TestResult],
    figure: fn(&TestResult) -> Option<f64>,
) -> Option<f64> {
    let at = results.iter().filter(|result| over.of(&result.workload) == step);
    let logarithms: Vec<f64> =
        at.filter_map(|result| positive(figure(result)?)).map(f64::ln).collect();
    (!logarithms.is_empty())
        .then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

fn summary(curve: &Curve) -> String {
    let of_line = |line: &Line| Some(format!("{}: {}", line.name, curve.ends(line)?));
    let mut said: Vec<String> = curve.lines.iter().take(2).filter_map(of_line).collect();
    if curve.lines.len() > said.len() {
        said.push(format!("{} more lines", curve.lines.len() - said.len()));
    }
    said.join("; ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_the_study_make_a_line_for_each_size_and_method() {
        let figures = figures("run-1", Over::Jobs, &samples::suite("fsync-study", 15.0, 890.0));
        assert_eq!(
            figures.iter().map(|figure| figure.id.as_str()).collect::<Vec<_>>(),
            ["run-1-jobs-rate", "run-1-jobs-latency"]
        );
        insta::assert_snapshot!(figures[0].summary, @"16 KiB write: 26,667/s at 1, 426,667/s at 32; 16 KiB write, fsync: 905/s at 1, 14,473/s at 32; 4 more lines.");
        let Chart::Curve(curve) = &figures[0].chart else { panic!() };
        assert_eq!((curve.lines.len(), curve.count()), (6, 36));
        assert_eq!(curve.steps, ["1", "2", "4", "8", "16", "32"]);
    }

    #[test]
    fn two_steps_make_no_curve() {
        let results: Vec<_> = samples::suite("fsync-study", 15.0, 890.0)
            .into_iter()
            .filter(|result| result.workload.jobs <= 2)
            .collect();
        assert!(figures("run-1", Over::Jobs, &results).is_empty());
        assert!(figures("run-1", Over::Depth, &results).is_empty());
    }
}
