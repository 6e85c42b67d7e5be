//! A result as a picture of 1200 × 630 for a forum or a ticket: SVG that is complete in itself.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};
use measurement::{Fitness, Grade, TestResult, Use};
use unseen::masked;
use workload::number::{latency, number};

use crate::charts::percentiles;
use crate::sections::{head, verdict};
use crate::{Run, naming};

/// Identifies a card at its start, so flushmark may overwrite it.
const MARKER: &str = "<metadata>flushmark card</metadata>";
/// The marker is within this many bytes of the start.
const MARKER_WITHIN_BYTES: usize = 1024;

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 630.0;
const MARGIN: f64 = 60.0;
/// Mean width of a letter, relative to the font's size; bold capitals are wider.
const LETTER: f64 = 0.56;

/// The same for bold digits.
const DIGIT: f64 = 0.7;

/// The light colours of the style sheet; a card looks the same everywhere.
const GROUND: &str = "#ffffff";
const RAISED: &str = "#f6f8fa";
const TEXT: &str = "#1f2328";
const FAINT: &str = "#5b6470";
const LINE: &str = "#d5dae0";
const ACCENT: &str = "#0062a3";
const GOOD: &str = "#0b6b50";
const MIDDLING: &str = "#7d6000";
const BAD: &str = "#b13b00";
const WORST: &str = "#a3143d";

/// The place of the curve.
const PLOT: Plot = Plot { left: 700.0, top: 220.0, width: 430.0, height: 180.0 };

/// Drive, host, the leading figure, the grades and the curve behind the figure.
pub fn card(run: &Run<'_>) -> String {
    let document = run.document;
    let drive = masked(&naming::drive(run)).to_string();
    let place = masked(&head::place_line(document, run.host.as_deref())).to_string();
    let leading = TestResult::leading(&document.results).map(|at| &document.results[at]);
    let grades: Vec<(Use, &Fitness)> = Use::ALL
        .into_iter()
        .filter_map(|fit_for| Some((fit_for, document.fitness.get(&fit_for)?)))
        .filter(|(_, fitness)| fitness.grade != Grade::Unknown)
        .collect();
    let drawn = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(HEIGHT) viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
            role="img" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif" {
            (PreEscaped(MARKER))
            title { (drive) ", measured by flushmark" }
            rect width=(WIDTH) height=(HEIGHT) fill=(GROUND) {}
            rect width=(WIDTH) height="12" fill=(ACCENT) {}
            (text(MARGIN, 100.0, fitting(&drive, 54.0, WIDTH - 2.0 * MARGIN), TEXT, 700, &drive))
            (text(MARGIN, 146.0, fitting(&place, 24.0, WIDTH - 2.0 * MARGIN), FAINT, 400, &place))
            @match leading {
                Some(result) => { (figure(result)) (curve(result)) },
                None => (text(MARGIN, 300.0, 32.0, FAINT, 400, "No latency was measured.")),
            }
            @for (index, (fit_for, fitness)) in grades.iter().enumerate() {
                (grade(index, grades.len(), *fit_for, fitness.grade))
            }
            (foot(run))
        }
    };
    format!("{}\n", drawn.into_string())
}

/// Returns whether the start of a file shows that it is a card made by flushmark.
pub fn is_card(text: &str) -> bool {
    let most = text.len().min(MARKER_WITHIN_BYTES);
    let head = text.as_bytes().get(..most).unwrap_or_default();
    head.windows(MARKER.len()).any(|window| window == MARKER.as_bytes())
}

fn text(x: f64, y: f64, size: f64, colour: &str, weight: u32, words: &str) -> Markup {
    html! { text x=(x) y=(y) font-size=(size) fill=(colour) font-weight=(weight) { (words) } }
}

/// The largest size up to `size` at which the words fit.
fn fitting(words: &str, size: f64, width: f64) -> f64 {
    let letters = words.chars().count().max(1) as f64;
    (size.min(width / letters / LETTER) * 10.0).floor() / 10.0
}

/// The rate and the latencies of the leading test.
fn figure(result: &TestResult) -> Markup {
    let (rate, what) = match result.commits_per_s {
        Some(commits) => (number(commits), "commits/s"),
        None => (number(result.iops), "operations/s"),
    };
    let us = result.headline_us();
    let latencies = us.map_or_else(String::new, |us| {
        format!("p50 {} · p99 {} · max {}", latency(us.p50), latency(us.p99), latency(us.max))
    });
    let width = PLOT.left - MARGIN - 40.0;
    let test = masked(&result.test).to_string();
    let what_x = MARGIN + rate.chars().count() as f64 * 96.0 * DIGIT + 18.0;
    html! {
        (text(MARGIN, 310.0, 96.0, TEXT, 700, &rate))
        (text(what_x, 310.0, 34.0, FAINT, 400, what))
        (text(MARGIN, 362.0, fitting(&latencies, 28.0, width), TEXT, 500, &latencies))
        (text(MARGIN, 402.0, fitting(&test, 24.0, width), FAINT, 400, &test))
    }
}

/// A box on the card.
struct Plot {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// The latency by percentile, on a logarithmic scale.
fn curve(result: &TestResult) -> Markup {
    let Some(histogram) = percentiles::headline(result) else { return html! {} };
    let points = percentiles::points(histogram);
    let logarithms = || points.iter().map(|(_, us)| us.log10());
    let (low, high) =
        (logarithms().fold(f64::MAX, f64::min), logarithms().fold(f64::MIN, f64::max));
    let range = format!("{} to {}", latency(10_f64.powf(low)), latency(10_f64.powf(high)));
    let space = ((high - low) * 0.08).max(0.05);
    let (low, high) = (low - space, high + space);
    let last = points.last().map_or(1.0, |(nines, _)| nines.max(1.0));
    let x = |nines: f64| PLOT.left + nines / last * PLOT.width;
    let y = |us: f64| PLOT.top + (high - us.log10()) / (high - low) * PLOT.height;
    let mut line = String::new();
    for (nines, us) in &points {
        let _ = write!(line, "{:.1},{:.1} ", x(*nines), y(*us));
    }
    let bottom = PLOT.top + PLOT.height;
    let shares = [(0.301, "50 %"), (1.0, "90 %"), (2.0, "99 %"), (3.0, "99.9 %"), (4.0, "99.99 %")];
    let us = histogram.summary();
    html! {
        rect x=(PLOT.left) y=(PLOT.top) width=(PLOT.width) height=(PLOT.height) fill=(RAISED) {}
        @for (nines, name) in shares.iter().filter(|(nines, _)| *nines <= last) {
            line x1=(tenth(x(*nines))) x2=(tenth(x(*nines))) y1=(PLOT.top) y2=(bottom) stroke=(LINE) {}
            text x=(tenth(x(*nines))) y=(bottom + 24.0) font-size="18" fill=(FAINT) text-anchor="middle" { (name) }
        }
        @if let Some(us) = us {
            @for (us, name) in [(us.p50, "half within"), (us.p99, "99 % within")] {
                circle cx=(tenth(x(if name == "half within" { 0.301 } else { 2.0_f64.min(last) }))) cy=(tenth(y(us.max(1e-3)))) r="6" fill=(ACCENT) {}
            }
        }
        polyline points=(line.trim_end()) fill="none" stroke=(ACCENT) stroke-width="3.5" stroke-linejoin="round" {}
        text x=(PLOT.left) y=(PLOT.top - 12.0) font-size="18" fill=(FAINT) { "Latency by percentile" }
        text x=(PLOT.left + PLOT.width) y=(PLOT.top - 12.0) font-size="18" fill=(FAINT) text-anchor="end" {
            (range)
        }
    }
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The grade of a use: its word, a sign, and as many marks as it is worth.
fn grade(index: usize, count: usize, fit_for: Use, grade: Grade) -> Markup {
    const TOP: f64 = 452.0;
    const BETWEEN: f64 = 20.0;
    let width = (WIDTH - 2.0 * MARGIN - BETWEEN * (count - 1) as f64) / count as f64;
    let left = MARGIN + (width + BETWEEN) * index as f64;
    let colour = match grade {
        Grade::Excellent | Grade::Good => GOOD,
        Grade::Fair => MIDDLING,
        Grade::Poor => BAD,
        Grade::Unfit => WORST,
        Grade::Unknown => FAINT,
    };
    html! {
        rect x=(tenth(left)) y=(TOP) width=(tenth(width)) height="96" rx="8" fill=(RAISED) stroke=(LINE) {}
        rect x=(tenth(left)) y=(TOP) width=(tenth(width)) height="6" fill=(colour) {}
        (text(tenth(left + 18.0), TOP + 40.0, 20.0, FAINT, 400, fit_for.label()))
        (text(tenth(left + 18.0), TOP + 76.0, 28.0, colour, 700, &format!("{} {}", verdict::sign(grade), grade.name())))
        @for step in 0..verdict::STEPS {
            @let x = tenth(left + width - 14.0 - 16.0 * (verdict::STEPS - step) as f64);
            @let fill = if step < verdict::filled(grade) { colour } else { "none" };
            rect x=(x) y=(TOP + 28.0) width="12" height="12" rx="2" fill=(fill) stroke=(colour) stroke-width="1.5" {}
        }
    }
}

/// The time and the tool of the measurement.
fn foot(run: &Run<'_>) -> Markup {
    let document = run.document;
    let when = document.began().map(|began| format!(" · {}", began.strftime("%F")));
    let with = match &document.source {
        Some(source) => source.tool.clone(),
        None => format!("flushmark {}", document.flushmark),
    };
    let smoke = if document.smoke { " · SMOKE RUN: the numbers are meaningless" } else { "" };
    let model = if document.target.kind == measurement::TargetKind::Model {
        " · a model, in virtual time"
    } else {
        ""
    };
    let words =
        format!("{with} · suite {}{}{model}{smoke}", document.suite, when.unwrap_or_default());
    let words = masked(&words).to_string();
    html! {
        (text(MARGIN, 600.0, fitting(&words, 20.0, WIDTH - 2.0 * MARGIN), FAINT, 400, &words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> String {
        let document = samples::document(samples::check());
        let case = judge::Case::new(&document.results, None, &document.host);
        let fitness = judge::judge(&case).fitness;
        let document = measurement::RunDocument { fitness, ..document };
        card(&Run::new("check", &document))
    }

    /// The texts of a card, one per line.
    fn texts(card: &str) -> String {
        let pieces = card
            .split("<text")
            .skip(1)
            .filter_map(|piece| Some(piece.split_once('>')?.1.split_once("</text>")?.0.to_owned()));
        pieces.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_card_has_the_drive_the_figure_and_the_grades() {
        insta::assert_snapshot!(texts(&made()), @"
        /var/lib/db
        /var/lib/db
        487
        commits/s
        p50 2.06 ms · p99 2.14 ms · max 10.3 ms
        write + fsync
        50 %
        90 %
        99 %
        99.9 %
        Latency by percentile
        1.95 ms to 10.3 ms
        Ceph OSD
        ! poor
        ZFS SLOG
        ! poor
        database log
        ~ fair
        general use
        ✓ good
        flushmark 0.1.0 · suite check · 2026-11-20
        ");
        assert!(is_card(&made()));
        assert!(!is_card("<svg></svg>"));
    }

    #[test]
    fn its_colours_are_those_of_the_style_sheet() {
        let style = crate::assets::STYLE.text;
        for colour in [GROUND, RAISED, TEXT, FAINT, LINE, ACCENT, GOOD, MIDDLING, BAD, WORST] {
            assert!(style.contains(colour), "{colour}");
        }
    }

    #[test]
    fn long_and_hostile_names_stay_on_the_card() {
        let mut document = samples::document(samples::check());
        document.source = Some(measurement::Source {
            tool: "fio".to_owned(),
            drive: Some("</svg><script>x</script>\u{202e}".repeat(5)),
            ..measurement::Source::default()
        });
        let card = card(&Run::new("x", &document));
        assert!(!card.contains("<script>") && !card.contains('\u{202e}'));
        assert_eq!(card.matches("</svg>").count(), 1);
        let size = fitting(&"m".repeat(140), 54.0, 1080.0);
        assert!(size * 140.0 * LETTER <= 1080.0, "{size}");
    }

    #[test]
    fn a_result_without_latencies_says_so() {
        let document = samples::document(Vec::new());
        assert!(card(&Run::new("x", &document)).contains("No latency was measured."));
    }
}
