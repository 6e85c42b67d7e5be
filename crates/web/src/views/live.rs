//! The running tests, each with a chart that grows.

use std::time::Duration;

use maud::{Markup, html};
use pages::charts::Chart;
use pages::charts::figure::Figure;
use pages::charts::rate_over_time::RateOverTime;
use pages::heading::Level;
use pages::table::Table;
use pages::{Content, Figures};
use store::Location;
use workload::number::{latency, number, span};

use super::frame::{Here, with_charts};
use crate::assets::Needs;
use crate::running::{Phase, Running};

const INTERVALS_MIN: usize = 2;

/// The page, which its script keeps up to date. `here` is the store that this server shows: only
/// its runs are linked.
pub fn page(running: &[Running], here: &Location) -> String {
    let mut figures = Figures::default();
    let runs: Vec<Markup> = running.iter().map(|run| section(run, here, &mut figures)).collect();
    let main = html! {
        header.page {
            h1 { "Running now" }
            p.meta { (counted(running.len())) }
        }
        // Without scripts, users reload the page to see progress.
        noscript { p { a href="/live" { "Refresh" } } }
        div #running {
            @if running.is_empty() {
                p { "Nothing is being measured by this user on this machine. A test that you \
                     start, such as" }
                pre { code { "flushmark run fsync-study /var/lib" } }
                p { "appears here within a second. Finished runs are listed under " a href="/" { "Runs" } "." }
            }
            @for run in &runs { (run) }
        }
        p #stale .notice role="status" hidden { "The server no longer answers; this page is out of \
                                                 date." }
    };
    with_charts("Running now", Here::Live, &Content { markup: main, figures }, Needs::Live)
}

fn counted(count: usize) -> String {
    match count {
        0 => "Nothing".to_owned(),
        1 => "1 run".to_owned(),
        count => format!("{count} runs"),
    }
}

/// The id of a run's section: each test has a different one.
fn anchor(run: &Running) -> String {
    format!("process-{}-test-{}", run.process, run.position)
}

fn section(run: &Running, here: &Location, figures: &mut Figures) -> Markup {
    let id = anchor(run);
    let value =
        |name: &str, words: String| html! { dd id={ (id) "-" (name) } data-live { (words) } };
    let or_dash =
        |figure: Option<f64>, show: fn(f64) -> String| figure.map_or_else(|| "–".to_owned(), show);
    let is_here = run.store.as_ref().is_some_and(|store| *store == here.to_string());
    html! {
        section.running id=(id) aria-labelledby={ (id) "-name" } {
            h2.run-name id={ (id) "-name" } { (run.test) }
            p.meta {
                "Test " (run.position) " of " (run.tests) " of " b { (run.suite) } " on " b { (run.target) } " · process " (run.process)
                @if let Some(began) = measurement::started_at::read(&run.started_at) {
                    " · begun " time datetime=(began) { (began.strftime("%F %T UTC")) }
                }
                @if let (Some(kept), true) = (run.run, is_here) { " · kept as " a href={ "/run/" (kept) } { "run " (kept) } }
            }
            (bar(run, &id))
            dl.figures-now {
                dt { "Operations" } (value("iops", or_dash(run.iops, |iops| format!("{}/s", number(iops)))))
                dt { "p99 of the last second" } (value("p99", or_dash(run.commit_p99_us, latency)))
                dt { "Time" } (value("time", time(run)))
            }
            (chart(run, &id, figures))
        }
    }
}

fn time(run: &Running) -> String {
    let words =
        |seconds: f64| Duration::try_from_secs_f64(seconds.max(0.0)).map(span).unwrap_or_default();
    match (run.phase, run.expected_s) {
        (Phase::Preparing, _) => "preparing".to_owned(),
        (Phase::WarmingUp, _) => "warming up".to_owned(),
        (Phase::Measuring { elapsed_s }, Some(expected_s)) => {
            format!("{} of {}", words(elapsed_s), words(expected_s))
        }
        (Phase::Measuring { elapsed_s }, None) => words(elapsed_s),
    }
}

/// The progress bar; without a value if the duration is unknown.
fn bar(run: &Running, id: &str) -> Markup {
    let done = match (run.phase, run.expected_s) {
        (Phase::Measuring { elapsed_s }, Some(expected_s)) if expected_s > 0.0 => {
            Some(format!("{:.3}", (elapsed_s / expected_s).clamp(0.0, 1.0)))
        }
        _ => None,
    };
    html! { progress id={ (id) "-bar" } data-live-bar max="1" value=[done] aria-label={ "Progress \
    of “" (run.test) "”" } {} }
}

fn chart(run: &Running, id: &str, figures: &mut Figures) -> Markup {
    let history = &run.history;
    if history.iops.len() < INTERVALS_MIN {
        return html! { p.faint { "The chart appears after two measured seconds." } };
    }
    let least = history.iops.iter().copied().fold(f64::MAX, f64::min);
    let most = history.iops.iter().copied().fold(0.0, f64::max);
    let mut table = Table::new(["from", "per second", "99 % within"]);
    for (index, (per_s, p99)) in history.iops.iter().zip(&history.commit_p99_us).enumerate() {
        let from = format!("{} s", index as f64 * history.interval_s);
        table.rows.push(vec![from, number(*per_s), p99.map_or_else(|| "–".to_owned(), latency)]);
    }
    let chart = RateOverTime::of(history.interval_s, history.iops.clone());
    let figure = Figure {
        id: format!("{id}-chart"),
        title: "Operations per second, so far".to_owned(),
        summary: format!("Between {} and {} a second.", number(least), number(most)),
        chart: Chart::RateOverTime(chart),
        table,
    };
    figures.place(figure, Level::TOP.below())
}
