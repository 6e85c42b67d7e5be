//! The time of an OSD's writes: by cause for several OSDs, and part by part for one.

use ceph::latency::{Cause, Decomposition, Part};
use judge::OsdRow;
use serde::Serialize;
use workload::number::{latency, number};

use super::figure::Figure;
use super::osd_map::ROWS_MAX;
use super::{Chart, Line, Stacks, Unit};
use crate::table::{Table, or_dash};

/// The parts of a mean latency in their order; each bar starts where the previous one ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Waterfall {
    pub causes: Vec<&'static str>,
    pub parts: Vec<Step>,
    /// The end of the axis, which is the same for charts that are compared.
    pub axis_us: f64,
}

/// A bar.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    pub what: String,
    /// Index in the list of causes.
    pub cause: usize,
    pub start_us: f64,
    pub us: f64,
    /// The figures that it was calculated from.
    pub from: String,
}

/// The causes that have a part in any of the times. The rest is always among them: it is the last
/// one, which is drawn in a weaker colour.
fn causes(times: &[&Decomposition]) -> Vec<Cause> {
    let occurs = |cause: &Cause| {
        let mut parts = times.iter().flat_map(|time| &time.parts);
        *cause == Cause::Rest || parts.any(|part| part.cause == *cause)
    };
    Cause::ALL.into_iter().filter(occurs).collect()
}

fn share(time: &Decomposition, cause: Cause) -> Option<f64> {
    time.shares().into_iter().find(|share| share.cause == cause).map(|share| share.us)
}

/// A bar for each of the slowest OSDs; `None` if no time is known.
pub fn by_cause(id: String, rows: &[OsdRow<'_>]) -> Option<Figure> {
    let known: Vec<(String, &Decomposition)> = rows
        .iter()
        .filter_map(|row| Some((row.osd.name(), row.osd.write_time.as_ref()?)))
        .collect();
    let shown = &known[..known.len().min(ROWS_MAX)];
    let (slowest, time) = shown.first()?;
    let causes = causes(&shown.iter().map(|(_, time)| *time).collect::<Vec<_>>());
    let parts = causes.iter().map(|cause| Line {
        name: cause.label().to_owned(),
        values: shown.iter().map(|(_, time)| Some(share(time, *cause).unwrap_or(0.0))).collect(),
    });
    let stacks = Stacks {
        unit: Unit::Us,
        tests: shown.iter().map(|(name, _)| name.clone()).collect(),
        parts: parts.collect(),
    };
    let mut table = Table::new(["OSD", "mean"]);
    table.columns.extend(causes.iter().map(|cause| cause.label().to_owned()));
    table.rows = shown
        .iter()
        .map(|(name, time)| {
            let cells = causes.iter().map(|cause| or_dash(share(time, *cause), latency));
            [name.clone(), latency(time.latency_us)].into_iter().chain(cells).collect()
        })
        .collect();
    let largest = time.largest().map_or(String::new(), |share| {
        format!(", of which {:.0} % are {}", share.fraction * 100.0, share.cause.label())
    });
    let mut summary =
        format!("Slowest first: {slowest}, {} on average{largest}.", latency(time.latency_us));
    if known.len() > shown.len() {
        summary += &format!(" The slowest {} of {} OSDs.", shown.len(), known.len());
    }
    let title = "Where the time of a write goes".to_owned();
    Some(Figure { id, title, summary, chart: Chart::Stacks(stacks), table })
}

/// The OSD that is slowest in comparison with its class, and the median one of that class; each
/// only if the time of its writes is known.
pub fn waterfalls(id: &str, rows: &[OsdRow<'_>]) -> Vec<Figure> {
    let known = || rows.iter().filter(|row| row.osd.write_time.is_some());
    let ratio = |row: &OsdRow<'_>| row.standing.map_or(0.0, |standing| standing.ratio);
    let Some(slowest) = known().max_by(|a, b| ratio(a).total_cmp(&ratio(b))) else {
        return Vec::new();
    };
    let median = known().find(|row| is_median(row) && row.osd.class == slowest.osd.class);
    let shown: Vec<(&str, &OsdRow<'_>)> = [("slowest", Some(slowest)), ("median", median)]
        .into_iter()
        .filter_map(|(which, row)| Some((which, row?)))
        .filter(|(which, row)| *which == "slowest" || row.osd.id != slowest.osd.id)
        .collect();
    let times: Vec<&Decomposition> =
        shown.iter().filter_map(|(_, row)| row.osd.write_time.as_ref()).collect();
    let scale = Scale {
        causes: causes(&times),
        rows: union(&times),
        axis_us: times.iter().map(|time| time.latency_us).fold(0.0, f64::max),
    };
    shown
        .iter()
        .filter_map(|(which, row)| {
            let time = row.osd.write_time.as_ref()?;
            Some(waterfall(format!("{id}-{which}"), which, row, time, &scale))
        })
        .collect()
}

/// Returns whether it is the median of its device class.
pub(crate) fn is_median(row: &OsdRow<'_>) -> bool {
    row.standing.is_some_and(|standing| standing.is_median())
}

/// The scale that compared waterfalls share.
struct Scale<'a> {
    causes: Vec<Cause>,
    /// Causes and names of the parts.
    rows: Vec<(Cause, &'a str)>,
    axis_us: f64,
}

/// The parts that occur in any of the times, in the order that they have there.
fn union<'a>(times: &[&'a Decomposition]) -> Vec<(Cause, &'a str)> {
    let mut union: Vec<(Cause, &str)> = Vec::new();
    for time in times {
        let mut after = 0;
        for part in &time.parts {
            let row = (part.cause, part.what.as_str());
            let known = union.iter().position(|known| *known == row);
            let at = known.unwrap_or(after);
            if known.is_none() {
                union.insert(at, row);
            }
            after = at + 1;
        }
    }
    union
}

impl Scale<'_> {
    /// A bar for each row, without a length if the time has no such part.
    fn steps(&self, time: &Decomposition) -> Vec<Step> {
        let mut end_us = 0.0;
        let step = |&(cause, what): &(Cause, &str)| {
            let part = time.parts.iter().find(|part| part.cause == cause && part.what == what);
            let (start_us, us) = (end_us, part.map_or(0.0, |part| part.us));
            end_us += us;
            Step {
                what: what.to_owned(),
                cause: self.causes.iter().position(|one| *one == cause).unwrap_or_default(),
                start_us,
                us,
                from: part.map(|part| part.from.clone()).unwrap_or_default(),
            }
        };
        self.rows.iter().map(step).collect()
    }
}

fn parts_table(time: &Decomposition) -> Table {
    let mut table = Table::new(["part", "cause", "time", "share", "from"]);
    let row = |part: &Part| {
        let percent = if time.latency_us > 0.0 { part.us / time.latency_us * 100.0 } else { 0.0 };
        vec![
            part.what.clone(),
            part.cause.label().to_owned(),
            latency(part.us),
            format!("{percent:.0} %"),
            part.from.clone(),
        ]
    };
    table.rows = time.parts.iter().map(row).collect();
    table
}

fn waterfall(
    id: String,
    which: &str,
    row: &OsdRow<'_>,
    time: &Decomposition,
    scale: &Scale<'_>,
) -> Figure {
    let standing = row.standing.map_or(String::new(), |standing| {
        format!(", {} times the median of its class at p50", number(standing.ratio))
    });
    let longest = time.parts.iter().max_by(|a, b| a.us.total_cmp(&b.us));
    let longest = longest.map_or(String::new(), |part| {
        format!(" The longest part is “{}”, {}.", part.what, latency(part.us))
    });
    Figure {
        id,
        title: format!("A write on the {which} OSD, {}", row.osd.name()),
        summary: format!("{} on average{standing}.{longest}", latency(time.latency_us)),
        chart: Chart::Waterfall(Waterfall {
            causes: scale.causes.iter().map(|cause| cause.label()).collect(),
            parts: scale.steps(time),
            axis_us: scale.axis_us,
        }),
        table: parts_table(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(figure: &Figure) -> &Stacks {
        let Chart::Stacks(stacks) = &figure.chart else { panic!("{figure:?}") };
        stacks
    }

    #[test]
    fn the_causes_of_each_osd_add_up() {
        let results = samples::osds(1, 4);
        let figure = by_cause("time".to_owned(), &judge::osd_rows(&results)).unwrap();
        let stacks = stacks(&figure);
        assert_eq!(stacks.tests[0], "osd.2");
        let slowest_us: f64 = stacks.parts.iter().filter_map(|part| part.values[0]).sum();
        assert!((slowest_us - 3000.0).abs() < 1e-6, "{slowest_us}");
        let names: Vec<&str> = stacks.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names.last(), Some(&"rest"), "{names:?}");
        assert!(!names.contains(&"copies on other OSDs"), "{names:?}");
        insta::assert_snapshot!(figure.summary, @"Slowest first: osd.2, 3 ms on average, of which 87 % are device flush.");
        insta::assert_snapshot!(figure.table.rows[0].join(" | "), @"osd.2 | 3 ms | 90 µs | 40 µs | 270 µs | 2.6 ms | –");
    }

    #[test]
    fn only_the_slowest_of_many_have_a_bar() {
        let results = samples::osds(10, 6);
        let figure = by_cause(String::new(), &judge::osd_rows(&results)).unwrap();
        assert_eq!(stacks(&figure).tests.len(), ROWS_MAX);
        assert!(figure.summary.ends_with(" The slowest 40 of 60 OSDs."), "{}", figure.summary);
    }

    #[test]
    fn each_part_begins_where_the_previous_one_ended() {
        let results = samples::osds(1, 5);
        let figures = waterfalls("waterfall", &judge::osd_rows(&results));
        let falls: Vec<&Waterfall> = figures
            .iter()
            .map(|figure| match &figure.chart {
                Chart::Waterfall(waterfall) => waterfall,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!((falls.len(), falls[0].parts.len()), (2, 6));
        assert!((falls[1].axis_us - falls[0].axis_us).abs() < 1e-9, "one axis for both");
        for parts in falls.iter().flat_map(|fall| fall.parts.windows(2)) {
            assert!((parts[0].start_us + parts[0].us - parts[1].start_us).abs() < 1e-9);
        }
        insta::assert_snapshot!(figures[0].title, @"A write on the slowest OSD, osd.2");
        insta::assert_snapshot!(figures[0].summary, @"3 ms on average, 4.05 times the median of its class at p50. The longest part is “log written and flushed”, 1.95 ms.");
        insta::assert_snapshot!(figures[1].title, @"A write on the median OSD, osd.1");
        insta::assert_snapshot!(figures[0].table.rows[3].join(" | "), @"log written and flushed | device flush | 1.95 ms | 65 % | rocksdb submit_sync_latency");
    }

    #[test]
    fn parts_that_only_one_osd_has_keep_their_row() {
        let mut results = samples::osds(1, 3);
        let times =
            results.iter_mut().filter_map(|result| result.osd.as_mut()?.write_time.as_mut());
        let mut times: Vec<&mut Decomposition> = times.collect();
        times[2].parts.remove(3);
        times[0].parts.remove(1);
        times[1].parts.remove(1);
        let times: Vec<&Decomposition> = times.iter().map(|time| &**time).collect();
        let rows: Vec<&str> = union(&times).into_iter().map(|(_, what)| what).collect();
        assert_eq!(rows[1..4], ["operation queue", "data written", "log written and flushed"]);
        assert_eq!(rows.len(), 6);
    }

    #[test]
    fn nothing_is_drawn_without_the_counters_of_an_osd() {
        let mut results = samples::osds(1, 3);
        for osd in results.iter_mut().filter_map(|result| result.osd.as_mut()) {
            osd.write_time = None;
        }
        let rows = judge::osd_rows(&results);
        assert!(by_cause(String::new(), &rows).is_none());
        assert!(waterfalls("", &rows).is_empty());
    }
}
