//! Traced commits: the stages of all of them, and single ones drawn to scale.

use maud::{Markup, html};
use measurement::{
    Anatomy, Drawn, DrawnRequest, DrawnStage, Layer, Stage, TestResult, TraceRecord,
};
use report::{AnatomyWords, TrafficColumn, TrafficRow, request_words, stage_name};
use workload::number::latency;

use super::RunSection;
use super::overview::names;
use crate::charts::commit_time::{self, Traced};
use crate::charts::figure::Figures;
use crate::fold::fold;
use crate::heading::{Level, Look};
use crate::table::{Table, or_dash};

/// Size of a drawing in the units of its `viewBox`.
const WIDTH: f64 = 960.0;
const LABELS: f64 = 96.0;
const ROW: f64 = 26.0;
const BAR: f64 = 18.0;
/// Narrower bars have no room for a name of this many units for each character.
const PER_CHARACTER: f64 = 7.0;
/// Requests of a drawn commit that have a row.
const REQUESTS_MAX: usize = 12;

/// Returns whether any test was traced.
pub(super) fn are_there(results: &[TestResult]) -> bool {
    results.iter().any(|result| result.trace.is_some())
}

/// The commits of all tests that were traced; nothing if none was.
pub(super) fn section(place: &RunSection<'_>, figures: &mut Figures) -> Markup {
    let results = &place.document.results;
    let names = names(results);
    let traces: Vec<(&str, &TraceRecord)> = results
        .iter()
        .zip(&names)
        .filter_map(|(result, name)| Some((name.as_str(), result.trace.as_ref()?)))
        .collect();
    if traces.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby=(place.within("commits")) {
            (place.part("commits", "Commits, layer by layer"))
            (commits(&place.within("commits"), place.level().below(), &traces, figures))
        }
    }
}

/// The commits of traces with their names, below an anchor.
pub(super) fn commits(
    anchor: &str,
    level: Level,
    traces: &[(&str, &TraceRecord)],
    figures: &mut Figures,
) -> Markup {
    let all: Vec<Traced<'_>> =
        traces.iter().flat_map(|(name, trace)| traced(name, trace)).collect();
    let by_part = commit_time::by_part(format!("{anchor}-parts"), &all);
    let is_only = all.len() == 1;
    let each = all.iter().enumerate().map(|(index, one)| {
        let anchor = format!("{anchor}-{}", index + 1);
        kind(&anchor, level, one, is_only, figures)
    });
    let each: Vec<Markup> = each.collect();
    html! {
        @if let Some(figure) = by_part { (figures.place(figure, level)) }
        @for one in &each { (one) }
        (commands_given(&format!("{anchor}-commands"), level, traces))
    }
}

/// The commands that drives were given in all traces; nothing if no driver reports them.
fn commands_given(anchor: &str, level: Level, traces: &[(&str, &TraceRecord)]) -> Markup {
    let rows: Vec<(&str, TrafficRow<'_>)> = traces
        .iter()
        .flat_map(|(name, trace)| {
            report::traffic_rows(&trace.traffic).into_iter().map(|row| (*name, row))
        })
        .collect();
    if rows.is_empty() {
        return html! {};
    }
    let counts: Vec<TrafficRow<'_>> = rows.iter().map(|(_, row)| *row).collect();
    let columns: Vec<TrafficColumn> = TrafficColumn::of_rows(&counts).collect();
    let mut table = Table::new(["drive", "level"]);
    table.columns.extend(columns.iter().map(|column| column.name.to_owned()));
    for (name, row) in &rows {
        let drive = match *name {
            "" => row.device.to_owned(),
            name => format!("{name}: {}", row.device),
        };
        let counts = columns.iter().map(|column| or_dash(column.cell(row), |count| count));
        table.rows.push([drive, row.level.to_owned()].into_iter().chain(counts).collect());
    }
    html! {
        article.test id=(anchor) aria-labelledby={ (anchor) "-name" } {
            (level.heading(Look::Title, Some(&format!("{anchor}-name")), &html! {
                (report::COMMANDS_GIVEN)
            }))
            (table.markup(report::COMMANDS_GIVEN))
        }
    }
}

/// The kinds of commits of a trace, each with a unique name.
fn traced<'a>(name: &str, trace: &'a TraceRecord) -> Vec<Traced<'a>> {
    let several = trace.anatomies.len() > 1;
    let named = |anatomy: &'a Anatomy| Traced {
        name: match (name, several) {
            ("", _) => AnatomyWords::of(anatomy).title,
            (name, true) => format!("{name}: {}", AnatomyWords::of(anatomy).title),
            (name, false) => name.to_owned(),
        },
        recorded: report::recorded(trace),
        anatomy,
    };
    trace.anatomies.iter().map(named).collect()
}

/// A kind of commits. Of several, each is closed at first.
fn kind(
    anchor: &str,
    level: Level,
    traced: &Traced<'_>,
    is_only: bool,
    figures: &mut Figures,
) -> Markup {
    let words = AnatomyWords::of(traced.anatomy);
    let charts = [
        commit_time::waterfall(format!("{anchor}-waterfall"), traced),
        commit_time::distributions(format!("{anchor}-percentiles"), traced),
    ];
    let Anatomy { median, longest, .. } = traced.anatomy;
    let name =
        level.heading(Look::Title, Some(&format!("{anchor}-name")), &html! { (traced.name) });
    let content = html! {
        p.key { (words.title) ". " (words.commits) " " (traced.recorded) }
        ul.notes {
            li { "Per commit: " (words.per_commit) }
            @if let Some(others) = &words.others { li { "Others: " (others) } }
        }
        div.figures {
            @for figure in charts.into_iter().flatten() {
                (figures.place(figure, level.below()))
            }
        }
        (drawing("The median commit", median, level.below()))
        @if longest.ns > median.ns { (drawing("The longest commit", longest, level.below())) }
    };
    html! {
        article.test id=(anchor) aria-labelledby={ (anchor) "-name" } {
            @if is_only { (name) (content) } @else { (fold(&name, &content)) }
        }
    }
}

/// One commit to scale: a row for each layer, then one for each request.
fn drawing(title: &str, drawn: &Drawn, level: Level) -> Markup {
    if drawn.ns == 0 {
        return html! {};
    }
    let layers: Vec<(Layer, Vec<&DrawnStage>)> = Layer::ALL
        .into_iter()
        .map(|layer| {
            (layer, drawn.stages.iter().filter(|stage| stage.stage.layer() == layer).collect())
        })
        .filter(|(_, stages): &(Layer, Vec<_>)| !stages.is_empty())
        .collect();
    let requests = &drawn.requests[..drawn.requests.len().min(REQUESTS_MAX)];
    let rows = layers.len() + requests.len();
    let height = ROW * rows as f64 + ROW;
    let scale = Scale { ns: drawn.ns as f64 };
    let title = format!("{title}, {} to scale", latency(drawn.ns as f64 / 1e3));
    html! {
        figure.commit {
            figcaption { (level.heading(Look::Title, None, &html! { (title) })) }
            div.scroll role="region" aria-label=(title) tabindex="0" {
                svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(title) {
                    @for (row, (layer, stages)) in layers.iter().enumerate() {
                        (label(row, layer.name()))
                        @for stage in stages { (scale.bar(row, stage, stage_name(stage.stage))) }
                    }
                    @for (index, request) in requests.iter().enumerate() {
                        @let row = layers.len() + index;
                        (label(row, &request.flags))
                        @let words = request_words(request);
                        @for span in &request.spans { (scale.bar(row, span, &words)) }
                    }
                    (scale.ticks(rows))
                }
            }
            details.data {
                summary {
                    (drawn.requests.len()) " requests" span.of { " of “" (title) "”" }
                }
                ul.notes { @for request in &drawn.requests { li { (words_of(request)) } } }
            }
        }
    }
}

fn words_of(request: &DrawnRequest) -> String {
    request_words(request) + "."
}

fn label(row: usize, words: &str) -> Markup {
    html! { text.label x="0" y=(baseline(row)) { (words) } }
}

fn baseline(row: usize) -> f64 {
    ROW * row as f64 + BAR - 4.0
}

/// Times on the axis of a drawing.
struct Scale {
    ns: f64,
}

impl Scale {
    fn x(&self, ns: f64) -> f64 {
        let x = LABELS + ns / self.ns * (WIDTH - LABELS - 1.0);
        (x * 10.0).round() / 10.0
    }

    /// A bar with its words on hover, and its name in it if there is room.
    fn bar(&self, row: usize, span: &DrawnStage, words: &str) -> Markup {
        let (from, to) = (self.x(span.from_ns as f64), self.x(span.to_ns as f64));
        let name = stage_name(span.stage);
        let us = latency((span.to_ns - span.from_ns) as f64 / 1e3);
        let hover =
            if words == name { format!("{name}, {us}") } else { format!("{name}, {us}\n{words}") };
        let (y, width) = (ROW * row as f64, ((to - from) * 10.0).round() / 10.0);
        html! {
            rect class=(ink(span.stage)) x=(from) y=(y) width=(width.max(1.0)) height=(BAR) {
                title { (hover) }
            }
            @if width > name.len() as f64 * PER_CHARACTER {
                text.inside x=(from + 4.0) y=(baseline(row)) { (name) }
            }
        }
    }

    /// Times below the rows.
    fn ticks(&self, rows: usize) -> Markup {
        let y = ROW * rows as f64 + BAR - 4.0;
        html! {
            @for quarter in 0..=4_u8 {
                @let ns = self.ns * f64::from(quarter) / 4.0;
                @let anchor = match quarter { 0 => "start", 4 => "end", _ => "middle" };
                text.tick x=(self.x(ns)) y=(y) text-anchor=(anchor) { (latency(ns / 1e3)) }
            }
        }
    }
}

/// The class of a bar in the style sheet.
const fn ink(stage: Stage) -> &'static str {
    match stage {
        Stage::Thread | Stage::Journal => "works",
        Stage::DataWrite | Stage::LogWrite | Stage::OtherWrites => "writes",
        Stage::Flush => "flushes",
        Stage::WakeUp
        | Stage::EarlierCommit
        | Stage::JournalStart
        | Stage::DataQueue
        | Stage::LogQueue
        | Stage::FlushQueue => "waits",
        Stage::Unexplained => "unexplained",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> String {
        let mut results = samples::check();
        let anatomies = vec![samples::fsync_on_ext4(100)];
        results[1].trace = Some(TraceRecord { anatomies, events: 1000, ..TraceRecord::default() });
        let document = samples::document(results);
        crate::report(&[crate::Run::new("check", &document)])
    }

    #[test]
    fn a_traced_test_has_its_stages_and_two_commits_to_scale() {
        let page = page();
        for id in ["commits", "commits-parts", "commits-1-waterfall", "commits-1-percentiles"] {
            assert!(page.contains(&format!("id=\"run-1-{id}\"")), "no {id}");
        }
        assert!(page.contains("href=\"#run-1-commits\""));
        assert!(page.contains("The median commit, 8.99 ms to scale"));
        assert!(page.contains("after 22 µs: WS write of 4 KiB at sector 2048 by postgres"));
    }

    #[test]
    fn bars_are_within_the_drawing_and_without_gaps() {
        let scale = Scale { ns: 1000.0 };
        assert!((scale.x(0.0) - LABELS).abs() < 1e-9 && scale.x(1000.0) < WIDTH);
        let stages = samples::fsync_on_ext4(1).median.stages;
        let ends = stages.windows(2).map(|two| (two[0].to_ns, two[1].from_ns));
        assert!(ends.into_iter().all(|(end, begin)| end == begin));
    }

    #[test]
    fn a_run_without_traces_has_no_such_section() {
        let document = samples::document(samples::check());
        let page = crate::report(&[crate::Run::new("check", &document)]);
        assert!(!page.contains("-commits\""));
    }
}
