//! The change of rate and latency with one parameter, for tests that differ in nothing else: the
//! load of a drive, or the parameter that a probe varies to find a limit.

use measurement::{Finding, RunDocument, TestResult, WorkloadRecord};
use workload::number::about_bytes;
use workload::{Pattern, SyncMethod, format_bytes};

use super::curves::{Curves, Mark, Panel, position, times};
use super::figure::Figure;
use super::{Chart, Line, Unit, positive};

/// The parameter that varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// I/Os in flight per job.
    Depth,
    /// Concurrent jobs.
    Jobs,
    /// Places that are appended to in turn.
    Places,
    /// Bytes of one unsynced random write.
    WriteSize,
    /// Bytes of a burst after a rest.
    Burst,
    /// Writes before each flush.
    WritesPerFlush,
    /// Size of the area that is written to.
    Area,
}

/// Fewest steps that make a curve.
const STEPS_MIN: usize = 3;
/// A burst that is longer than another by less than this may be a repetition of it.
const LONGER_MIN: f64 = 1.5;
/// A smaller difference between the ends of a curve is not worth a note.
const DIFFERENCE_MIN: f64 = 1.2;

type Value = fn(&TestResult) -> Option<f64>;

impl Over {
    /// Parameters of the load.
    pub const LOADS: [Over; 2] = [Over::Jobs, Over::Depth];
    /// Parameters of probes.
    pub const PROBES: [Over; 5] =
        [Over::Places, Over::WriteSize, Over::Burst, Over::WritesPerFlush, Over::Area];

    const fn id(self) -> &'static str {
        match self {
            Over::Depth => "depth",
            Over::Jobs => "jobs",
            Over::Places => "places",
            Over::WriteSize => "write-size",
            Over::Burst => "burst",
            Over::WritesPerFlush => "writes-per-flush",
            Over::Area => "area",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Over::Depth => "depth",
            Over::Jobs => "jobs",
            Over::Places => "places written to in turn",
            Over::WriteSize => "size of a random write",
            Over::Burst => "bytes of a burst",
            Over::WritesPerFlush => "writes before each flush",
            Over::Area => "area written to",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Over::Depth => "Rate and latency by depth",
            Over::Jobs => "Rate and latency by jobs",
            Over::Places => "Throughput by places that are written to in turn",
            Over::WriteSize => "Throughput of random writes by their size",
            Over::Burst => "Throughput of a burst by its length",
            Over::WritesPerFlush => "Time of a flush by the writes before it",
            Over::Area => "Random writes per second by the area in use",
        }
    }

    /// The figures that are plotted, one panel each.
    const fn panels(self) -> &'static [(&'static str, Unit, Value)] {
        const RATE: Value = |result| Some(result.commits_per_s.unwrap_or(result.iops));
        const P99: Value = |result| Some(result.headline_us()?.p99);
        const THROUGHPUT: Value = |result| Some(result.mib_per_s);
        const FLUSH: Value = |result| Some(result.sync_us?.mean);
        const AT_THE_END: Value = |result| Some(result.iops_at_the_end());
        match self {
            Over::Depth | Over::Jobs => {
                &[("per second", Unit::PerS, RATE), ("99 % within", Unit::Us, P99)]
            }
            Over::Places | Over::WriteSize | Over::Burst => {
                &[("throughput", Unit::MibPerS, THROUGHPUT)]
            }
            Over::WritesPerFlush => &[("time of a flush", Unit::Us, FLUSH)],
            Over::Area => &[("per second at the end", Unit::PerS, AT_THE_END)],
        }
    }

    /// The value of the parameter; `None` for a test that does not show what it changes.
    fn of(self, result: &TestResult) -> Option<f64> {
        let work = &result.workload;
        let unsynced = work.sync == Some(SyncMethod::None) && work.jobs == 1;
        let random = work.pattern == Some(Pattern::RandWrite);
        let in_row = work.pattern == Some(Pattern::Write);
        match self {
            Over::Depth => Some(f64::from(work.depth)),
            Over::Jobs => Some(f64::from(work.jobs)),
            Over::Places => (unsynced && in_row).then_some(f64::from(work.streams)),
            Over::WriteSize => {
                (unsynced && random && work.depth == 1).then_some(work.block_bytes as f64)
            }
            Over::Burst => {
                let bytes = result.proof.writes * work.block_bytes;
                (unsynced && in_row && work.rest_s > 0.0 && bytes > 0).then_some(bytes as f64)
            }
            Over::WritesPerFlush => work
                .sync
                .is_some_and(|sync| sync.call().is_some())
                .then_some(f64::from(work.sync_every)),
            Over::Area => (unsynced && random).then_some(work.size_bytes as f64),
        }
    }

    /// The workload without the parameter.
    fn key(self, result: &TestResult) -> WorkloadRecord {
        let mut key = WorkloadRecord { size_bytes: 0, seed: 0, ..result.comparable_workload() };
        match self {
            Over::Depth => key.depth = 0,
            Over::Jobs => key.jobs = 0,
            Over::Places => key.streams = 0,
            Over::WriteSize => key.block_bytes = 0,
            Over::WritesPerFlush => key.sync_every = 0,
            Over::Burst | Over::Area => {}
        }
        key
    }

    fn step_name(self, step: f64, capacity_bytes: Option<f64>) -> String {
        match (self, capacity_bytes) {
            (Over::WriteSize | Over::Burst, _) => format_bytes(step as u64),
            (Over::Area, None) => about_bytes(step as u64),
            (Over::Area, Some(capacity)) => format!("{:.0} %", step / capacity * 100.0),
            _ => format!("{step:.0}"),
        }
    }

    /// The mark that a probe's finding puts on the curve.
    fn mark(self, findings: &[Finding], steps: &[f64]) -> Option<Mark> {
        let (id, limit) = match self {
            Over::Places => ("open-blocks", "open blocks"),
            Over::WriteSize => ("erase-block", "erase block"),
            Over::Burst => ("cache-size", "cache size"),
            Over::Depth | Over::Jobs | Over::WritesPerFlush | Over::Area => return None,
        };
        let finding = findings.iter().find(|finding| finding.id == id)?;
        let number = |what: &dyn Fn(&str) -> bool| {
            finding.evidence.iter().find(|piece| what(&piece.what))?.value.as_f64()
        };
        let value = number(&|what| what == limit)?;
        let at = position(value, steps)?;
        let numbers: Vec<f64> =
            finding.evidence.iter().skip(1).filter_map(|piece| piece.value.as_f64()).collect();
        let [one, other] = numbers[..] else { return None };
        let ratio = times(one.max(other) / one.min(other));
        let text = match self {
            Over::Places => format!("{value:.0} at once; with more, {ratio} slower"),
            Over::WriteSize => {
                format!("erase block {}: {ratio} as fast as half", format_bytes(value as u64))
            }
            _ => format!("cache of {}; beyond it, {ratio} slower", about_bytes(value as u64)),
        };
        Some(Mark { at, text })
    }
}

/// Tests that differ only in the parameter.
struct Group<'a> {
    key: WorkloadRecord,
    results: Vec<(f64, &'a TestResult)>,
}

/// The figure; `None` if no tests vary only in this parameter.
pub fn figure(id: &str, over: Over, document: &RunDocument) -> Option<Figure> {
    let groups: Vec<Group<'_>> = groups(over, &document.results)
        .into_iter()
        .filter(|group| steps(over, std::slice::from_ref(group)).len() >= STEPS_MIN)
        .collect();
    let steps = steps(over, &groups);
    if steps.is_empty() {
        return None;
    }
    let capacity = document.drive.as_ref().and_then(|place| place.size_bytes).map(|it| it as f64);
    let mut sizes: Vec<u64> = groups.iter().map(|group| group.key.block_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    // Lines of very different sizes would lie far apart, so each size has its panels.
    let by_size = sizes.len() > 1 && groups.len() > sizes.len();
    let of_panels: Vec<(String, Vec<&Group<'_>>)> = if by_size {
        let of =
            |size: &u64| groups.iter().filter(|group| group.key.block_bytes == *size).collect();
        sizes.iter().map(|size| (format_bytes(*size), of(size))).collect()
    } else {
        vec![(String::new(), groups.iter().collect())]
    };
    let mut panels = Vec::new();
    for (what, unit, value) in over.panels() {
        for (name, groups) in &of_panels {
            let lines = groups.iter().map(|group| Line {
                name: self::name(over, &group.key, by_size),
                values: steps.iter().map(|step| mean_at(over, *step, group, *value)).collect(),
            });
            let lines: Vec<Line> = lines.collect();
            let mark = over.mark(&document.findings, &steps).or_else(|| ends(over, *unit, &lines));
            panels.push(Panel {
                name: name.clone(),
                what: (*what).to_owned(),
                unit: *unit,
                lines,
                published: Vec::new(),
                mark,
            });
        }
    }
    panels.retain(|panel| panel.count() > 0);
    let columns = if by_size { of_panels.len() } else { panels.len() };
    let steps = steps.iter().map(|step| over.step_name(*step, capacity)).collect();
    let curves = Curves { over: over.name().to_owned(), steps, columns, panels };
    (!curves.panels.is_empty()).then(|| Figure {
        id: format!("{id}-{}", over.id()),
        title: over.title().to_owned(),
        summary: summary(over, document, &curves),
        table: curves.table(),
        chart: Chart::Curves(curves),
    })
}

fn groups(over: Over, results: &[TestResult]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for result in results {
        let Some(step) = over.of(result).and_then(positive) else { continue };
        let key = over.key(result);
        match groups.iter_mut().find(|group| group.key == key) {
            Some(group) => group.results.push((step, result)),
            None => groups.push(Group { key, results: vec![(step, result)] }),
        }
    }
    groups
}

/// `16 KiB write, fdatasync`, with the other one of depth and jobs if it is not 1.
fn name(over: Over, key: &WorkloadRecord, without_size: bool) -> String {
    let mut words: Vec<String> = Vec::new();
    let otherwise = if key.sort.is_some() { "sort" } else { "steps" };
    let pattern = key.pattern.map_or(otherwise, Pattern::name).to_owned();
    words.push(if without_size || key.block_bytes == 0 {
        pattern
    } else {
        format!("{} {pattern}", format_bytes(key.block_bytes))
    });
    words.extend(key.sync.filter(|sync| sync.is_durable()).map(|sync| sync.name().to_owned()));
    if over != Over::Jobs && key.jobs > 1 {
        words.push(format!("{} jobs", key.jobs));
    }
    if over != Over::Depth && key.depth > 1 {
        words.push(format!("depth {}", key.depth));
    }
    if key.write_cache != workload::WriteCache::Unchanged {
        words.push(format!("cache {}", key.write_cache.name()));
    }
    words.join(", ")
}

fn steps(over: Over, groups: &[Group<'_>]) -> Vec<f64> {
    let mut steps: Vec<f64> =
        groups.iter().flat_map(|group| &group.results).map(|(step, _)| *step).collect();
    steps.sort_by(f64::total_cmp);
    steps.dedup_by(|after, before| is_same(over, *before, *after));
    steps
}

/// Returns whether two values are one step. Bursts of one length never have exactly the same bytes.
fn is_same(over: Over, before: f64, after: f64) -> bool {
    if over == Over::Burst { after < before * LONGER_MIN } else { after <= before }
}

/// The geometric mean over repetitions.
fn mean_at(over: Over, step: f64, group: &Group<'_>, value: Value) -> Option<f64> {
    let at = group.results.iter().filter(|(own, _)| {
        let (before, after) = if *own < step { (*own, step) } else { (step, *own) };
        is_same(over, before, after) && *own >= step
    });
    let logarithms: Vec<f64> =
        at.filter_map(|(_, result)| positive(value(result)?)).map(f64::ln).collect();
    (!logarithms.is_empty())
        .then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

/// A mark with the ratio of a single line's ends; `None` if they hardly differ.
fn ends(over: Over, unit: Unit, lines: &[Line]) -> Option<Mark> {
    let [line] = lines else { return None };
    let known = || line.values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)));
    let ((_, first), (at, last)) = (known().next()?, known().next_back()?);
    let ratio = last.max(first) / last.min(first);
    if ratio < DIFFERENCE_MIN {
        return None;
    }
    let rises = last > first;
    let how = match (unit, rises) {
        (Unit::Us | Unit::S, true) => "longer",
        (Unit::Us | Unit::S, false) => "shorter",
        (Unit::PerS | Unit::MibPerS, true) => "faster",
        (Unit::PerS | Unit::MibPerS, false) => "slower",
    };
    let than = match over {
        Over::Depth | Over::Jobs => "than one",
        _ => "than the first",
    };
    Some(Mark { at: at as f64, text: format!("{} {how} {than}", times(ratio)) })
}

fn summary(over: Over, document: &RunDocument, curves: &Curves) -> String {
    // The finding says more than the two ends of a curve.
    let ids: &[&str] = match over {
        Over::Depth | Over::Jobs => &[],
        Over::Places => &["open-blocks"],
        Over::WriteSize => &["erase-block"],
        Over::Burst => &["cache-size"],
        Over::WritesPerFlush => &["flush-cost"],
        Over::Area => &["fill"],
    };
    let found = document.findings.iter().find(|finding| ids.contains(&finding.id.as_str()));
    if let Some(finding) = found {
        return finding.title.replace('`', "");
    }
    let Some(panel) = curves.panels.first() else { return String::new() };
    let of_line = |line: &Line| Some(format!("{}: {}", line.name, curves.ends(panel.unit, line)?));
    let mut said: Vec<String> = panel.lines.iter().take(2).filter_map(of_line).collect();
    let lines: usize =
        curves.panels.iter().filter(|one| one.unit == panel.unit).map(|one| one.lines.len()).sum();
    if lines > said.len() {
        said.push(format!("{} more lines", lines - said.len()));
    }
    let of_panel = if panel.name.is_empty() { String::new() } else { format!("{} ", panel.name) };
    of_panel + &said.join("; ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(over: Over, suite: &str, sync_us: f64) -> Option<(Figure, Curves)> {
        let document = samples::document(samples::suite(suite, 15.0, sync_us));
        let figure = figure("run-1", over, &document)?;
        let Chart::Curves(curves) = figure.chart.clone() else { panic!("{figure:?}") };
        Some((figure, curves))
    }

    #[test]
    fn jobs_of_the_study_have_a_panel_for_each_size_and_figure() {
        let (figure, curves) = of(Over::Jobs, "fsync-study", 890.0).unwrap();
        assert_eq!(figure.id, "run-1-jobs");
        insta::assert_snapshot!(figure.summary, @"16 KiB write: 26,667/s at 1, 426,667/s at 32; write, fsync: 905/s at 1, 14,473/s at 32; 4 more lines.");
        let panels: Vec<(&str, &str, usize, usize)> = curves
            .panels
            .iter()
            .map(|panel| {
                (panel.name.as_str(), panel.what.as_str(), panel.lines.len(), panel.count())
            })
            .collect();
        assert_eq!(
            panels,
            [
                ("16 KiB", "per second", 3, 18),
                ("2 MiB", "per second", 3, 18),
                ("16 KiB", "99 % within", 3, 18),
                ("2 MiB", "99 % within", 3, 18)
            ]
        );
        assert_eq!(curves.columns, 2);
        assert_eq!(curves.steps, ["1", "2", "4", "8", "16", "32"]);
    }

    #[test]
    fn two_steps_make_no_curve() {
        let mut document = samples::document(samples::suite("fsync-study", 15.0, 890.0));
        document.results.retain(|result| result.workload.jobs <= 2);
        assert!(figure("run-1", Over::Jobs, &document).is_none());
        assert!(figure("run-1", Over::Depth, &document).is_none());
    }

    #[test]
    fn probes_have_a_curve_over_what_they_vary() {
        let said = |over, suite| {
            let (figure, curves) = of(over, suite, 1700.0).unwrap();
            let steps = [curves.steps.first().unwrap(), curves.steps.last().unwrap()];
            format!(
                "{}: {} to {}, {} lines",
                figure.id,
                steps[0],
                steps[1],
                curves.panels[0].lines.len()
            )
        };
        insta::assert_snapshot!(said(Over::Places, "open-blocks"), @"run-1-places: 1 to 32, 1 lines");
        insta::assert_snapshot!(said(Over::WriteSize, "erase-block"), @"run-1-write-size: 16 KiB to 32 MiB, 1 lines");
        insta::assert_snapshot!(said(Over::WritesPerFlush, "flush-cost"), @"run-1-writes-per-flush: 1 to 1024, 2 lines");
    }

    #[test]
    fn a_finding_marks_the_knee() {
        let mut document = samples::document(samples::suite("open-blocks", 15.0, 0.0));
        document.findings = vec![Finding {
            id: "open-blocks".to_owned(),
            title: "The stick appends to 5 locations at once.".to_owned(),
            evidence: vec![
                measurement::Evidence::number("open blocks", 5.0, ""),
                measurement::Evidence::number("at 5 locations", 12.0, "MiB/s"),
                measurement::Evidence::number("at 6 locations", 0.6, "MiB/s"),
            ],
            confidence: measurement::Confidence::High,
            doubt: None,
            advice: String::new(),
        }];
        let figure = figure("run-1", Over::Places, &document).unwrap();
        let Chart::Curves(curves) = &figure.chart else { panic!("{figure:?}") };
        assert_eq!(
            curves.panels[0].mark,
            Some(Mark { at: 4.0, text: "5 at once; with more, 20 × slower".to_owned() })
        );
        assert_eq!(figure.summary, "The stick appends to 5 locations at once.");
        document.findings.clear();
        let figure = super::figure("run-1", Over::Places, &document).unwrap();
        let Chart::Curves(curves) = &figure.chart else { panic!("{figure:?}") };
        assert_eq!(curves.panels[0].mark, None, "equally fast everywhere");
    }

    #[test]
    fn the_ends_of_a_single_line_are_compared() {
        let line = |values: &[f64]| Line {
            name: String::new(),
            values: values.iter().copied().map(Some).collect(),
        };
        let said =
            |unit, values: &[f64]| ends(Over::Area, unit, &[line(values)]).map(|mark| mark.text);
        assert_eq!(said(Unit::PerS, &[90.0, 30.0]).as_deref(), Some("3 × slower than the first"));
        assert_eq!(said(Unit::Us, &[10.0, 125.0]).as_deref(), Some("12.5 × longer than the first"));
        assert_eq!(said(Unit::PerS, &[90.0, 80.0]), None);
        assert_eq!(ends(Over::Area, Unit::Us, &[line(&[1.0, 9.0]), line(&[1.0, 9.0])]), None);
    }
}
