//! The time of traced commits, stage by stage.

use measurement::{Anatomy, Histogram, Layer, Stage};
use report::{AnatomyWords, stage_name};
use workload::number::latency;

use super::figure::Figure;
use super::percentiles::{self, NamedDistribution};
use super::write_time::{Step, Waterfall};
use super::{Chart, Line, Stacks, Unit};
use crate::table::{Table, or_dash};

/// Stages with a curve: with more, two would have the same colour.
const CURVES_MAX: usize = 5;

/// A kind of traced commits, and the test that made them.
pub struct Traced<'a> {
    pub name: String,
    /// The length of the trace, and whether events were lost.
    pub recorded: String,
    pub anatomy: &'a Anatomy,
}

/// Stages combined into one part of a bar: with more parts, two would have the same colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Thread,
    Journal,
    BlockLayer,
    Write,
    Flush,
    Unexplained,
}

impl Part {
    /// Unexplained time is drawn last, in a weaker colour.
    const ALL: [Part; 6] = [
        Part::Thread,
        Part::Journal,
        Part::BlockLayer,
        Part::Write,
        Part::Flush,
        Part::Unexplained,
    ];

    const fn of(stage: Stage) -> Part {
        match (stage, stage.layer()) {
            (Stage::Unexplained, _) => Part::Unexplained,
            (Stage::Flush, _) => Part::Flush,
            (_, Layer::Thread) => Part::Thread,
            (_, Layer::Journal) => Part::Journal,
            (_, Layer::BlockLayer) => Part::BlockLayer,
            (_, Layer::Drive) => Part::Write,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Part::Thread => "thread and its wake-up",
            Part::Journal => "journal",
            Part::BlockLayer => "waits in the block layer",
            Part::Write => "write",
            Part::Flush => "flush",
            Part::Unexplained => "unexplained",
        }
    }

    /// Its share of the mean commit.
    fn mean_us(self, anatomy: &Anatomy) -> f64 {
        let stages = Stage::ALL.into_iter().filter(|stage| Part::of(*stage) == self);
        stages.map(|stage| anatomy.mean_us(stage)).sum()
    }
}

/// A bar of the mean commit for each kind of them; `None` if there is none.
pub fn by_part(id: String, traced: &[Traced<'_>]) -> Option<Figure> {
    let longest = traced
        .iter()
        .max_by(|one, other| one.anatomy.commit_us().total_cmp(&other.anatomy.commit_us()))?;
    let line = |part: Part| Line {
        name: part.name().to_owned(),
        values: traced.iter().map(|one| Some(part.mean_us(one.anatomy))).collect(),
    };
    let stacks = Stacks {
        unit: Unit::Us,
        tests: traced.iter().map(|one| one.name.clone()).collect(),
        parts: Part::ALL.map(line).to_vec(),
    };
    let mut table = Table::new(["commits", "mean"]);
    table.columns.extend(Part::ALL.map(|part| part.name().to_owned()));
    let row = |one: &Traced<'_>| {
        let parts = Part::ALL.map(|part| latency(part.mean_us(one.anatomy)));
        [one.name.clone(), latency(one.anatomy.commit_us())].into_iter().chain(parts).collect()
    };
    table.rows = traced.iter().map(row).collect();
    let all_us = longest.anatomy.commit_us();
    let shares = Part::ALL.map(|part| (part, part.mean_us(longest.anatomy) / all_us * 100.0));
    let largest = shares.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
    let largest = largest.filter(|_| all_us > 0.0).map_or(String::new(), |(part, percent)| {
        format!(", of which {percent:.0} % are “{}”", part.name())
    });
    let summary =
        format!("The longest mean is that of {}: {}{largest}.", longest.name, latency(all_us));
    let title = "Where the time of a commit goes".to_owned();
    Some(Figure { id, title, summary, chart: Chart::Stacks(stacks), table })
}

/// The medians of the stages, one after the other; `None` without commits.
pub fn waterfall(id: String, traced: &Traced<'_>) -> Option<Figure> {
    let anatomy = traced.anatomy;
    let all = anatomy.commits.summary()?;
    let mut end_us = 0.0;
    let mut table = Table::new(["stage", "mean", "share", "median", "p99", "slowest 1 %"]);
    let mean_us = anatomy.commit_us();
    let mut parts = Vec::new();
    for (&stage, times) in &anatomy.stages {
        let Some(us) = times.times.summary() else { continue };
        let what = stage_name(stage).to_owned();
        table.rows.push(vec![
            what.clone(),
            latency(anatomy.mean_us(stage)),
            format!("{:.1} %", anatomy.mean_us(stage) / mean_us * 100.0),
            latency(us.p50),
            latency(us.p99),
            or_dash(anatomy.slowest_us.get(&stage).copied(), latency),
        ]);
        parts.push(Step {
            what,
            cause: match stage {
                Stage::Unexplained => Layer::ALL.len(),
                stage => {
                    Layer::ALL.iter().position(|one| *one == stage.layer()).unwrap_or_default()
                }
            },
            start_us: end_us,
            us: us.p50,
            from: format!("99 % within {}", latency(us.p99)),
        });
        end_us += us.p50;
    }
    "The medians of the stages do not add up to the median commit; the means add up to the mean \
     one."
        .clone_into(&mut table.note);
    Some(Figure {
        id,
        title: format!("Medians of the stages: {}", traced.name),
        summary: format!("{}{}", AnatomyWords::of(anatomy).commits, slowest(anatomy)),
        chart: Chart::Waterfall(Waterfall {
            causes: Layer::ALL.map(Layer::name).into_iter().chain(["unexplained"]).collect(),
            parts,
            axis_us: end_us.max(all.p50),
        }),
        table,
    })
}

/// The stage in which the slowest commits spend most time.
fn slowest(anatomy: &Anatomy) -> String {
    let most = anatomy.slowest_us.iter().max_by(|one, other| one.1.total_cmp(other.1));
    most.map_or(String::new(), |(stage, us)| {
        format!(
            " The slowest 1 % took {} on average, {} of it in “{}”.",
            latency(anatomy.slowest_us.values().sum()),
            latency(*us),
            stage_name(*stage)
        )
    })
}

/// The distribution of the commits and of the stages that the slowest of them spend most time in;
/// `None` without commits.
pub fn distributions(id: String, traced: &Traced<'_>) -> Option<Figure> {
    let anatomy = traced.anatomy;
    let named = |name: &str, histogram| NamedDistribution { name: name.to_owned(), histogram };
    let slowest_us = |stage: Stage| anatomy.slowest_us.get(&stage).copied().unwrap_or_default();
    let mut stages: Vec<(&Stage, &Histogram)> =
        anatomy.stages.iter().map(|(stage, times)| (stage, &times.times)).collect();
    stages.sort_by(|one, other| slowest_us(*other.0).total_cmp(&slowest_us(*one.0)));
    let curves = stages.into_iter().take(CURVES_MAX);
    let all: Vec<NamedDistribution<'_>> = std::iter::once(named("commit", &anatomy.commits))
        .chain(curves.map(|(stage, times)| named(stage_name(*stage), times)))
        .collect();
    let title = format!("Stages by percentile: {}", traced.name);
    percentiles::figure(id, title, &all, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced(name: &str) -> Traced<'static> {
        let anatomy = Box::leak(Box::new(samples::fsync_on_ext4(100)));
        Traced { name: name.to_owned(), recorded: String::new(), anatomy }
    }

    #[test]
    fn the_stages_of_each_bar_add_up_to_the_mean_commit() {
        let all = [traced("a"), traced("b")];
        let figure = by_part("id".to_owned(), &all).unwrap();
        let Chart::Stacks(stacks) = &figure.chart else { panic!("{figure:?}") };
        let sum: f64 = stacks.parts.iter().filter_map(|part| part.values[1]).sum();
        assert!((sum - 8990.0).abs() < 1e-6, "{sum}");
        assert_eq!(stacks.parts.last().unwrap().name, "unexplained");
        insta::assert_snapshot!(figure.summary, @"The longest mean is that of b: 8.99 ms, of which 92 % are “flush”.");
        insta::assert_snapshot!(figure.table.rows[0].join(" | "), @"a | 8.99 ms | 40 µs | 42 µs | 8 µs | 600 µs | 8.3 ms | 0 ns");
        assert!(by_part("id".to_owned(), &[]).is_none());
    }

    #[test]
    fn each_stage_begins_where_the_previous_one_ended() {
        let figure = waterfall("id".to_owned(), &traced("write + fsync")).unwrap();
        let Chart::Waterfall(fall) = &figure.chart else { panic!("{figure:?}") };
        for two in fall.parts.windows(2) {
            assert!((two[0].start_us + two[0].us - two[1].start_us).abs() < 1e-9);
        }
        insta::assert_snapshot!(figure.summary, @"100 commits by postgres (4711): median 8.99 ms, p99 8.99 ms, longest 8.99 ms. The slowest 1 % took 8.99 ms on average, 8.3 ms of it in “flush”.");
        insta::assert_snapshot!(figure.table.rows[2].join(" | "), @"data write | 340 µs | 3.8 % | 340 µs | 340 µs | 340 µs");
        let empty = Anatomy::default();
        let nothing = Traced { name: String::new(), recorded: String::new(), anatomy: &empty };
        assert!(waterfall(String::new(), &nothing).is_none());
        assert!(distributions(String::new(), &nothing).is_none());
    }

    #[test]
    fn the_stages_that_make_commits_slow_have_curves() {
        let figure = distributions("id".to_owned(), &traced("x")).unwrap();
        let Chart::Percentiles(curves) = &figure.chart else { panic!("{figure:?}") };
        let names: Vec<&str> = curves.lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names[..3], ["commit", "flush", "data write"]);
        assert_eq!(names.len(), 1 + CURVES_MAX);
    }
}
