//! Reports in a real Chromium: display, accessibility, keyboard and print. Pictures are kept in
//! `target/tmp/report`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use chromium::{Browser, Page};
use common::{browser, run};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The view of most tests.
const VIEW: (u32, u32) = (1280, 1600);
/// Chromium's largest picture has 16384 pixels a side.
const PICTURE_MAX: u32 = 16_000;
/// Opens everything and scrolls past every chart, so that each is drawn.
const READ: &str = "(async () => {
    for (const fold of document.querySelectorAll('details.fold')) fold.open = true;
    for (const place of document.querySelectorAll('[data-figure]')) {
        place.scrollIntoView();
        for (let tries = 0; !place.querySelector('svg'); tries++) {
            if (tries > 2000) throw new Error('not drawn: ' + place.dataset.figure);
            await new Promise((seen) => setTimeout(seen, 5));
        }
    }
    window.scrollTo(0, 0);
})()";

/// Scrolls past the charts of a page on which nothing was opened.
const SKIM: &str = "(async () => {
    for (const place of document.querySelectorAll('[data-figure]')) {
        if (place.closest('details:not([open])')) continue;
        place.scrollIntoView();
        while (!place.querySelector('svg')) await new Promise((seen) => setTimeout(seen, 5));
    }
    window.scrollTo(0, 0);
})()";

/// A report of runs on modelled drives, in a browser.
struct Shown {
    page: Page,
    address: String,
    documents: Vec<Value>,
    _browser: Browser,
    _directory: TempDir,
}

/// The arguments of a run.
const CHECK: &[&str] = &["check", "sim:samsung-980-1tb,filesystem=ext4"];
const CHECK_OTHER: &[&str] = &["check", "sim:micron-5100-eco-960gb,filesystem=ext4"];
const SLOG: &[&str] = &["run", "slog", "--target", "sim:samsung-980-1tb"];
const WRITE_CACHE: &[&str] = &["run", "write-cache", "--target", "sim:micron-5100-eco-960gb"];
const STUDY: &[&str] = &["run", "fsync-study", "--target", "sim:samsung-980-1tb"];
const WAL: &[&str] = &["run", "wal", "--target", "sim:samsung-980-1tb,filesystem=ext4"];
const OPEN_BLOCKS: &[&str] = &["run", "open-blocks", "--target", "sim:usb-stick"];
const READS: &[&str] = &["run", "read-scaling", "--target", "sim:samsung-980-1tb"];

impl Shown {
    /// `None`, with a message, if Chromium is not installed.
    fn new(test: &str, runs: &[&[&str]]) -> Option<Shown> {
        Shown::changed(test, runs, |_| {})
    }

    /// A report from documents that are changed before it is made.
    fn changed(test: &str, runs: &[&[&str]], change: impl Fn(&mut Value)) -> Option<Shown> {
        let document = |args: &&[&str]| {
            let mut document = measured(args);
            change(&mut document);
            document
        };
        Shown::of(test, || runs.iter().map(document).collect())
    }

    /// The report of these documents, with all of its pictures drawn.
    fn of(test: &str, documents: impl FnOnce() -> Vec<Value>) -> Option<Shown> {
        let mut shown = Shown::closed(test, documents)?;
        shown.value(READ);
        Some(shown)
    }

    /// The same as it opens: hundreds of pictures of tests are not drawn.
    fn closed(test: &str, documents: impl FnOnce() -> Vec<Value>) -> Option<Shown> {
        let browser = browser(test)?;
        let directory = tempfile::tempdir().unwrap();
        let mut args = vec!["report".to_owned()];
        let documents = documents();
        for (index, document) in documents.iter().enumerate() {
            let file = directory.path().join(format!("result-{index}.json"));
            std::fs::write(&file, document.to_string()).unwrap();
            args.push(file.to_string_lossy().into_owned());
        }
        let file = directory.path().join("report.html");
        args.extend(["-o".to_owned(), file.to_string_lossy().into_owned()]);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let made = run(&args);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let mut page = browser.page().unwrap();
        page.prefer("light").unwrap();
        page.resize(VIEW.0, VIEW.1).unwrap();
        let address = format!("file://{}", file.display());
        page.open(&address).unwrap();
        Some(Shown { page, address, documents, _browser: browser, _directory: directory })
    }

    fn value(&mut self, script: &str) -> Value {
        self.page.value(script).unwrap()
    }

    fn number(&mut self, script: &str) -> f64 {
        let value = self.value(script);
        value.as_f64().unwrap_or_else(|| panic!("{script} is {value}"))
    }

    /// Points of a chart's series, as the library drew them.
    fn points(&mut self, figure: &str) -> Vec<u64> {
        let script = format!(
            "echarts.getInstanceByDom(document.querySelector('[data-figure=\"{figure}\"]')).getOption().series.map((one) => one.data.length)"
        );
        serde_json::from_value(self.value(&script)).unwrap()
    }

    /// Points at the place that the script computes, and waits for a tooltip with these words.
    fn expect_tip(&mut self, place: &str, words: &str) {
        let at: [f64; 2] = serde_json::from_value(self.value(place)).unwrap();
        self.page.point(at[0] - 1.0, at[1]).unwrap();
        self.page.point(at[0], at[1]).unwrap();
        let tip = format!(
            "[...document.querySelectorAll('.tip')].some((tip) => \
             tip.textContent.includes({words:?}))"
        );
        self.page.wait_for(&tip).unwrap();
    }

    /// A picture of the whole page at this width.
    fn picture(&mut self, name: &str, width: u32) {
        self.page.resize(width, VIEW.1).unwrap();
        self.page.value(READ).unwrap();
        let height = self.number("document.documentElement.getBoundingClientRect().height");
        self.page.resize(width, (height as u32).min(PICTURE_MAX)).unwrap();
        self.page.picture(&kept(name)).unwrap();
    }
}

/// The document of a run with these arguments.
fn measured(args: &[&str]) -> Value {
    let made = run(&[args, &["--quiet", "--format", "json"]].concat());
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    made.document()
}

/// The height of a page on which nothing was opened, with a picture of it.
fn closed_height(shown: &mut Shown, name: &str, width: u32) -> f64 {
    shown.page.resize(width, VIEW.1).unwrap();
    let address = shown.address.clone();
    shown.page.open(&address).unwrap();
    shown.value(SKIM);
    let height = shown.number("document.documentElement.getBoundingClientRect().height");
    shown.page.resize(width, (height as u32).min(PICTURE_MAX)).unwrap();
    shown.page.picture(&kept(&format!("closed-{name}-{width}.png"))).unwrap();
    height
}

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("report").join(name)
}

#[test]
fn a_report_loads_without_a_complaint_and_asks_nothing_of_the_network() {
    let name = "a_report_loads_without_a_complaint_and_asks_nothing_of_the_network";
    let Some(mut shown) = Shown::new(name, &[CHECK, CHECK_OTHER, SLOG, WRITE_CACHE, READS]) else {
        return;
    };
    assert_eq!(shown.page.complaints(), [""; 0]);
    assert_eq!(
        shown.page.requests(),
        [shown.address.clone()],
        "a page that holds everything asks for itself alone"
    );
    // The policy is effective: it blocks foreign scripts and requests.
    let intruder = "new Promise((done) => \
                    { const script = document.createElement('script'); script.textContent = 'window.intruded = 1'; \
                    document.body.append(script); fetch('http://127.0.0.1:9/').catch(() => \
                    0).finally(() => done(window.intruded === undefined)); })";
    assert_eq!(shown.value(intruder), json!(true));
    assert!(
        shown
            .page
            .complaints()
            .iter()
            .any(|complaint| complaint.contains("Content Security Policy"))
    );
    shown.picture("many-light.png", 1280);
}

#[test]
fn every_chart_shows_as_many_points_as_were_measured() {
    let name = "every_chart_shows_as_many_points_as_were_measured";
    let Some(mut shown) = Shown::new(name, &[CHECK, SLOG, WRITE_CACHE, READS]) else { return };
    let tests: Vec<usize> = shown
        .documents
        .iter()
        .map(|document| document["results"].as_array().unwrap().len())
        .collect();
    assert_eq!(
        shown.points("run-1-glance"),
        [tests[0] as u64; 4],
        "the spans, and three figures of each test"
    );
    assert_eq!(
        shown.points("run-2-sizes").last(),
        Some(&(tests[1] as u64)),
        "a point for each block size"
    );
    assert_eq!(shown.points("run-3-cache-small"), [30; 3], "a line between two settings");
    assert_eq!(shown.points("run-3-cache-large"), [3; 3]);
    assert_eq!(shown.points("run-4-depth"), [5, 5], "rate and latency");
    let mut maps = 0;
    for (run, document) in shown.documents.clone().iter().enumerate() {
        for (index, result) in document["results"].as_array().unwrap().iter().enumerate() {
            let anchor = format!("run-{}-test-{}", run + 1, index + 1);
            let parts = ["read", "write", "sync", "commit"]
                .iter()
                .filter(|part| result["histograms"][part].is_string())
                .count();
            let lines =
                shown.number(&format!("flushmark.figures['{anchor}-latency'].lines.length"));
            assert!(
                lines as usize <= parts && lines >= 1.0,
                "{anchor}: {lines} lines of {parts} distributions"
            );
            let bins = result["series"]["commit_bins"].as_array().cloned().unwrap_or_default();
            if bins.len() >= 3 {
                let cells: usize = bins.iter().map(|second| second.as_array().unwrap().len()).sum();
                let stalls =
                    bins.iter().filter(|second| second.as_array().unwrap().is_empty()).count();
                assert_eq!(
                    shown.points(&format!("{anchor}-heat")),
                    [cells as u64, stalls as u64],
                    "{anchor}"
                );
                let drawn = shown.number(&format!(
                    "document.querySelectorAll('#{anchor}-heat svg path').length"
                ));
                assert!(drawn as usize >= cells, "{anchor}: {drawn} shapes for {cells} cells");
                maps += 1;
            }
            let seconds = result["series"]["iops"].as_array().unwrap().len();
            if seconds >= 3 {
                // One more, because the last second is drawn to its end.
                assert_eq!(
                    shown.points(&format!("{anchor}-rate")),
                    [seconds as u64 + 1],
                    "{anchor}"
                );
            }
        }
    }
    assert!(maps > 0, "no heat map was looked at");
}

#[test]
fn a_day_of_seconds_opens_at_once_and_shows_its_stall() {
    /// When nothing completed for three seconds.
    const STALL: usize = 50_000;
    let a_day = |document: &mut Value| {
        for result in document["results"].as_array_mut().unwrap() {
            let of_day = |value: Value, stalled: Value| {
                let mut day = vec![value; 86_400];
                day[STALL..STALL + 3].fill(stalled);
                json!(day)
            };
            result["series"] = json!({
                "interval_s": 1.0,
                "iops": of_day(json!(1234.5), json!(0.0)),
                "commit_p50_us": of_day(json!(85.1), Value::Null),
                "commit_p99_us": of_day(json!(130.2), Value::Null),
                "commit_bins": of_day(json!([[48, 9], [49, 1100], [50, 120], [51, 4]]), json!([])),
            });
        }
    };
    let Some(mut shown) =
        Shown::changed("a_day_of_seconds_opens_at_once_and_shows_its_stall", &[CHECK], a_day)
    else {
        return;
    };
    let file = PathBuf::from(shown.address.trim_start_matches("file://"));
    let bytes = std::fs::metadata(file).unwrap().len();
    assert!(bytes < 3 << 20, "{bytes} bytes");
    let address = shown.address.clone();
    let begun = Instant::now();
    shown.page.open(&address).unwrap();
    shown.page.wait_for("document.querySelector('[data-figure] svg') !== null").unwrap();
    // It takes a second on an idle machine (`cargo xtask bench report`); this one may be busy.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    shown.page.value(READ).unwrap();
    let anchor = "run-1-test-2";
    // Means and slowest seconds, each drawn to the end of its last step.
    assert_eq!(shown.points(&format!("{anchor}-rate")), [481, 481]);
    let slowest = format!("Math.min(...flushmark.figures['{anchor}-rate'].least_per_s)");
    assert!(shown.number(&slowest).abs() < 0.5);
    assert_eq!(
        shown.points(&format!("{anchor}-heat")),
        [480, 1],
        "four cells a column, and a mark for the stall"
    );
    let rows = format!("document.querySelectorAll('#{anchor}-heat tbody tr').length");
    assert!((shown.number(&rows) - 120.0).abs() < 0.5);
    let said = shown.value(&format!("document.querySelector('#{anchor}-heat').textContent"));
    for sentence in [
        "For 3 s nothing completed at all.",
        "Each row covers 12 min; the result document has every 1 s.",
    ] {
        assert!(said.as_str().unwrap().contains(sentence), "{said}");
    }
    // Pointing at it shows the same.
    let mark = format!(
        "(() => {{ const place = document.querySelector('[data-figure=\"{anchor}-heat\"]'); place.scrollIntoView({{ block: 'center' }});
         const box = place.getBoundingClientRect(); const x = echarts.getInstanceByDom(place).convertToPixel({{ xAxisIndex: 0 }}, {});
         return [box.left + x, box.top + 7]; }})()",
        STALL / 720
    );
    shown.expect_tip(&mark, "nothing completed3 s");
    shown.picture("day-light.png", 1280);
    shown.page.prefer("dark").unwrap();
    shown.picture("day-dark.png", 1280);
    assert_eq!(shown.page.complaints(), [""; 0]);
}

/// A document of the OSDs of a cluster.
fn osds(hosts: u32, osds_per_host: u32) -> Value {
    let document = samples::document(samples::osds(hosts, osds_per_host));
    serde_json::to_value(document).unwrap()
}

#[test]
fn osds_are_shown_in_a_map_a_ranking_and_a_waterfall() {
    const NAME: &str = "osds_are_shown_in_a_map_a_ranking_and_a_waterfall";
    let Some(mut shown) = Shown::of(NAME, || vec![osds(2, 3)]) else { return };
    assert_eq!(shown.points("run-1-osd-map"), [30], "a cell for each OSD and pass");
    assert_eq!(shown.points("run-1-write-time"), [6; 5], "a bar for each OSD, in five causes");
    for which in ["slowest", "median"] {
        let parts = shown.points(&format!("run-1-waterfall-{which}"));
        assert_eq!(parts, [6; 6], "what each of six parts begins after, and five causes");
    }
    let cell = "(() => {
        const place = document.querySelector('[data-figure=\"run-1-osd-map\"]');
        place.scrollIntoView({ block: 'center' });
        const [x, y] = echarts.getInstanceByDom(place).convertToPixel({ gridIndex: 0 }, [4, 2]);
        const box = place.getBoundingClientRect();
        return [box.left + x, box.top + y];
    })()";
    shown.expect_tip(cell, "osd.2, pass 5");
    shown.picture("osds-light.png", 1280);
    shown.page.prefer("dark").unwrap();
    shown.picture("osds-dark.png", 1280);
    assert_eq!(shown.page.complaints(), [""; 0]);
}

#[test]
fn a_thousand_osds_fit_on_a_page() {
    const NAME: &str = "a_thousand_osds_fit_on_a_page";
    let Some(mut shown) = Shown::of(NAME, || vec![osds(40, 25)]) else { return };
    assert_eq!(shown.points("run-1-osd-map"), [1000]);
    assert_eq!(shown.points("run-1-write-time")[0], 40);
    let height = shown.number("document.documentElement.getBoundingClientRect().height");
    assert!(height < 40_000.0, "{height} px");
    for width in [320, 400, 800, 1280] {
        shown.page.resize(width, 900).unwrap();
        let wide = shown.number("document.documentElement.scrollWidth");
        assert!(wide <= f64::from(width), "{wide} px in a view of {width}");
    }
    shown.picture("osds-many-narrow.png", 400);
    assert_eq!(shown.page.complaints(), [""; 0]);
}

#[test]
fn pages_are_short_until_something_is_opened() {
    const NAME: &str = "pages_are_short_until_something_is_opened";
    let pages: [(&str, &[&[&str]]); 7] = [
        ("check", &[CHECK]),
        ("slog", &[SLOG]),
        ("study", &[STUDY]),
        ("write-cache", &[WRITE_CACHE]),
        ("wal", &[WAL]),
        ("open-blocks", &[OPEN_BLOCKS]),
        ("comparison", &[CHECK, CHECK_OTHER]),
    ];
    for (name, runs) in pages {
        let documents = || runs.iter().map(|run| measured(run)).collect();
        let Some(mut shown) = Shown::closed(NAME, documents) else { return };
        for (width, most) in [(1280, 8_000.0), (420, 12_000.0)] {
            let height = closed_height(&mut shown, name, width);
            assert!(height < most, "{name} at {width}: {height} px");
            let wide = shown.number("document.documentElement.scrollWidth");
            assert!(wide <= f64::from(width), "{name}: {wide} px in a view of {width}");
        }
        assert_eq!(shown.page.complaints(), [""; 0], "{name}");
        shown.page.prefer("dark").unwrap();
        closed_height(&mut shown, &format!("{name}-dark"), 1280);
    }
    // A thousand OSDs and a comparison of many tests.
    let mut shown = Shown::closed(NAME, || vec![osds(40, 25)]).unwrap();
    let height = closed_height(&mut shown, "osds", 1280);
    assert!(height < 8_000.0, "{height} px");
    let twice = || vec![measured(WRITE_CACHE), measured(WRITE_CACHE)];
    let mut shown = Shown::closed(NAME, twice).unwrap();
    let height = closed_height(&mut shown, "comparison-of-66", 1280);
    assert!(height < 8_000.0, "{height} px");
}

#[test]
fn a_picture_answers_each_suite_s_question_first() {
    const NAME: &str = "a_picture_answers_each_suite_s_question_first";
    let Some(mut shown) = Shown::new(NAME, &[OPEN_BLOCKS]) else { return };
    let first = "document.querySelector('[data-figure]').dataset.figure";
    assert_eq!(shown.value(first), json!("run-1-places"));
    let mark = shown.value("flushmark.figures['run-1-places'].panels[0].mark.text");
    assert!(mark.as_str().unwrap().contains("at once; with more, "), "{mark}");
    let drawn = "document.querySelector('[data-figure=\"run-1-places\"]').textContent";
    let drawn = shown.value(drawn);
    assert!(drawn.as_str().unwrap().contains("at once"), "{drawn}");
    let Some(mut shown) = Shown::new(NAME, &[WAL]) else { return };
    assert_eq!(shown.value(first), json!("run-1-rates"));
    let drawn = shown.value("document.querySelector('[data-figure=\"run-1-rates\"]').textContent");
    let drawn = drawn.as_str().unwrap();
    assert!(drawn.contains("99 % within") && !drawn.contains("etcd"), "{drawn}");
    let Some(mut shown) = Shown::new(NAME, &[STUDY]) else { return };
    assert_eq!(shown.value(first), json!("run-1-jobs"));
    assert_eq!(shown.points("run-1-jobs"), [6; 12], "four panels of three lines");
    let rows = "document.querySelectorAll('.numbers tbody tr').length";
    assert!((shown.number(rows) - 36.0).abs() < 0.5, "repetitions are one row");
}

#[test]
fn a_link_opens_what_it_leads_to_and_keys_close_it_again() {
    const NAME: &str = "a_link_opens_what_it_leads_to_and_keys_close_it_again";
    let Some(mut shown) = Shown::new(NAME, &[STUDY]) else { return };
    let address = shown.address.clone();
    shown.page.open(&address).unwrap();
    let test = "document.querySelector('#run-1-test-5')";
    let folds = format!(
        "(() => {{ const test = {test}; return [test.querySelector('details.fold').open, test.closest('details.fold').open]; }})()"
    );
    assert_eq!(shown.value(&folds), json!([false, false]), "closed at first");
    shown.value("document.querySelector('.numbers a[href=\"#run-1-test-5\"]').focus()");
    shown.page.press("Enter").unwrap();
    shown.page.wait_for(&format!("JSON.stringify({folds}) === '[true,true]'")).unwrap();
    shown.page.wait_for(&format!("{test}.querySelector('[data-figure] svg') !== null")).unwrap();
    // Close it with the keyboard, and follow the same link again.
    shown.value(&format!("{test}.querySelector('summary').focus()"));
    let outline = shown.value("getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!(outline, json!("solid"), "where the focus is has to be seen");
    shown.page.press("Enter").unwrap();
    shown.page.wait_for(&format!("!{test}.querySelector('details.fold').open")).unwrap();
    shown.value("document.querySelector('.numbers a[href=\"#run-1-test-5\"]').focus()");
    shown.page.press("Enter").unwrap();
    shown.page.wait_for(&format!("{test}.querySelector('details.fold').open")).unwrap();
    // An address with a fragment opens it, too.
    shown.page.open("about:blank").unwrap();
    shown.page.open(&format!("{address}#run-1-test-9")).unwrap();
    shown.page.wait_for("document.querySelector('#run-1-test-9 details.fold').open").unwrap();
    assert_eq!(shown.page.complaints(), [""; 0]);
}

#[test]
fn a_screen_reader_hears_every_chart_and_every_table() {
    let name = "a_screen_reader_hears_every_chart_and_every_table";
    let Some(mut shown) = Shown::new(name, &[CHECK, SLOG]) else { return };
    let heard = shown.page.accessible().unwrap();
    let named = |role: &str| -> Vec<String> {
        heard.iter().filter(|(of, _)| of == role).map(|(_, name)| name.clone()).collect()
    };
    let charts = named("image");
    let places = shown.number("document.querySelectorAll('[data-figure]').length");
    assert_eq!(charts.len(), places as usize);
    assert!(charts.iter().all(|name| name.len() > 40), "{charts:#?}");
    let mut different = charts.clone();
    different.sort();
    different.dedup();
    // Both runs have their overview, and tests with the same name differ in number.
    assert_eq!(different.len(), charts.len(), "two charts of one name");
    assert!(charts.iter().any(|name| {
        name.starts_with("Latency by percentile: write + fsync. commit: half within ")
    }));
    assert_eq!(named("main").len(), 1);
    assert_eq!(named("navigation"), ["Contents"]);
    let headings = named("heading");
    for heading in ["Side by side", "Verdict", "Numbers", "Tests", "Findings", "Drive and host"] {
        assert!(
            headings.iter().any(|heard| heard == heading),
            "no heading `{heading}` in {headings:#?}"
        );
    }
    assert!(named("region").iter().all(|name| !name.is_empty()));
    let unnamed = "[...document.querySelectorAll('table')].filter((table) => \
                   !table.closest('[aria-label]')).length";
    assert_eq!(shown.value(unnamed), json!(0));
}

#[test]
fn keys_alone_open_a_table_and_scroll_it() {
    let Some(mut shown) = Shown::new("keys_alone_open_a_table_and_scroll_it", &[CHECK]) else {
        return;
    };
    shown.page.resize(400, 800).unwrap();
    // Newer versions of Chromium start at the place that a script has scrolled to; start as a user
    // does.
    let address = shown.address.clone();
    shown.page.open(&address).unwrap();
    let focused =
        "document.activeElement.tagName + ' ' + document.activeElement.textContent.slice(0, 20)";
    shown.page.press("Tab").unwrap();
    assert_eq!(
        shown.value(focused),
        json!("A Skip to the results"),
        "the first stop leads past everything"
    );
    let mut stops = Vec::new();
    while shown.value("document.activeElement.tagName") != json!("SUMMARY") {
        shown.page.press("Tab").unwrap();
        stops.push(shown.value(focused));
        assert!(stops.len() < 60, "{stops:#?}");
    }
    let outline = shown.value("getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!(outline, json!("solid"), "where the focus is has to be seen");
    shown.page.press("Enter").unwrap();
    shown.page.wait_for("document.activeElement.parentElement.open").unwrap();
    shown.page.press("Tab").unwrap();
    assert_eq!(shown.value("document.activeElement.className"), json!("scroll"));
    // The next tab stop is the table of all numbers, which is wider than the view.
    shown.value("document.querySelector('.scroll:has(.numbers)').focus()");
    shown.page.press("ArrowRight").unwrap();
    shown.page.wait_for("document.activeElement.scrollLeft > 0").unwrap();
}

#[test]
fn charts_follow_light_and_dark_while_the_page_is_open() {
    let Some(mut shown) =
        Shown::new("charts_follow_light_and_dark_while_the_page_is_open", &[CHECK])
    else {
        return;
    };
    let inks = "[...document.querySelectorAll('[data-figure] svg text')].map((text) => \
                text.getAttribute('fill'))";
    let ground = "getComputedStyle(document.body).backgroundColor";
    let (light_inks, light) = (shown.value(inks), shown.value(ground));
    shown.picture("check-light.png", 1280);
    shown.page.prefer("dark").unwrap();
    shown
        .page
        .wait_for("getComputedStyle(document.body).backgroundColor === 'rgb(23, 27, 33)'")
        .unwrap();
    let dark_inks = shown.value(inks);
    assert_eq!(light, json!("rgb(255, 255, 255)"));
    for (light, dark) in light_inks.as_array().unwrap().iter().zip(dark_inks.as_array().unwrap()) {
        assert_ne!(light, dark, "a text kept its colour");
    }
    shown.picture("check-dark.png", 1280);
    assert_eq!(shown.page.complaints(), [""; 0]);
}

#[test]
fn a_narrow_view_holds_everything() {
    let Some(mut shown) = Shown::new("a_narrow_view_holds_everything", &[CHECK, SLOG, WRITE_CACHE])
    else {
        return;
    };
    for width in [320, 400, 800, 1280] {
        shown.page.resize(width, 900).unwrap();
        let wide = shown.number("document.documentElement.scrollWidth");
        assert!(wide <= f64::from(width), "{wide} px in a view of {width}");
    }
    shown.picture("many-mobile.png", 400);
}

#[test]
fn a_comparison_in_a_narrow_view_breaks_no_word() {
    let Some(mut shown) =
        Shown::new("a_comparison_in_a_narrow_view_breaks_no_word", &[CHECK, CHECK_OTHER])
    else {
        return;
    };
    shown.page.resize(400, 900).unwrap();
    let highest = shown.number(
        "Math.max(...[...document.querySelectorAll('.compared th[scope=row]')].map((cell) => {
            const words = document.createRange();
            words.selectNodeContents(cell);
            return words.getBoundingClientRect().height;
        }))",
    );
    assert!(
        highest > 0.0 && highest < 40.0,
        "the name of a test or figure is {highest} px high, which is more than one line"
    );
    assert!(shown.number("document.documentElement.scrollWidth") <= 400.0);
    shown.picture("comparison-narrow.png", 400);
}

#[test]
fn numbers_need_no_script() {
    let Some(mut shown) = Shown::new("numbers_need_no_script", &[CHECK]) else { return };
    shown.page.scripts(false).unwrap();
    let address = shown.address.clone();
    shown.page.open(&address).unwrap();
    let heard = shown.page.accessible().unwrap();
    let result = &shown.documents[0]["results"][1];
    let p99 = workload::number::latency(result["commit_us"]["p99"].as_f64().unwrap());
    assert!(heard.iter().any(|(role, name)| role == "cell" && *name == p99), "no cell says {p99}");
    assert!(
        heard
            .iter()
            .any(|(_, name)| name.starts_with("Samsung 980 1 TB shows no power-loss protection"))
    );
    assert!(!heard.iter().any(|(role, _)| role == "image"), "an empty chart is announced");
    shown.page.picture(&kept("check-no-script.png")).unwrap();
}

#[test]
fn every_chart_is_on_paper() {
    let Some(mut shown) = Shown::new("every_chart_is_on_paper", &[CHECK]) else { return };
    // Opened again in a small view, where most charts were never visible.
    shown.page.resize(1280, 600).unwrap();
    shown.page.prefer("dark").unwrap();
    let address = shown.address.clone();
    shown.page.open(&address).unwrap();
    let pdf = kept("check-print.pdf");
    let bytes = shown.page.print(&pdf).unwrap();
    assert!(bytes.starts_with(b"%PDF-"));
    let charts = shown.number(
        "Object.values(flushmark.figures).filter((chart) => chart.kind === 'percentiles').length",
    );
    let Ok(text) = Command::new("pdftotext").arg("-layout").arg(&pdf).arg("-").output() else {
        eprintln!(
            "skipped: every_chart_is_on_paper: no pdftotext to read the paper with (package \
             poppler-utils)"
        );
        return;
    };
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let axes = text.matches("share of operations within this time").count();
    assert_eq!(axes, charts as usize, "{text}");
    assert!(text.contains("Database log") || text.contains("database log"));
}

#[test]
fn texts_of_a_drive_a_host_or_a_file_stay_text() {
    const EVIL: &str = "</script><script>window.owned = 1</script><img src=x onerror='window.owned \
                        = 2'>\"'&<!-- \u{2028}";
    let evil = |document: &mut Value| {
        document["suite"] = json!(EVIL);
        document["target"]["given"] = json!(EVIL);
        document["host"]["kernel_release"] = json!(EVIL);
        document["host"]["cpu_model"] = json!(EVIL);
        for device in ["model", "vendor", "firmware"] {
            document["drive"]["backing"]["block_device"][device] = json!(EVIL);
        }
        for result in document["results"].as_array_mut().unwrap() {
            result["test"] = json!(format!("{} {EVIL}", result["test"].as_str().unwrap()));
            result["notes"] = json!([EVIL]);
        }
        for finding in document["findings"].as_array_mut().unwrap() {
            finding["title"] = json!(EVIL);
            finding["advice"] = json!(EVIL);
            finding["evidence"][0]["what"] = json!(EVIL);
        }
        for grade in document["fitness"].as_object_mut().unwrap().values_mut() {
            grade["because"] = json!(EVIL);
        }
    };
    let Some(mut shown) =
        Shown::changed("texts_of_a_drive_a_host_or_a_file_stay_text", &[CHECK], evil)
    else {
        return;
    };
    assert!(
        shown.documents[0].to_string().contains("\"model\":\"</script>"),
        "no model string was changed"
    );
    // A tooltip shows a test's name, too.
    let first = "(() => {
        const place = document.querySelector('[data-figure=\"run-1-glance\"]');
        const [x, y] = echarts.getInstanceByDom(place).convertToPixel({ gridIndex: 0 }, [Math.log10(flushmark.figures['run-1-glance'].tests[0].p50_us), 0]);
        const box = place.getBoundingClientRect();
        return [box.left + x, box.top + y];
    })()";
    shown.expect_tip(first, "<img");
    assert_eq!(shown.value("window.owned === undefined"), json!(true));
    assert_eq!(shown.value("document.querySelectorAll('img').length"), json!(0));
    assert_eq!(shown.value("document.scripts.length"), json!(3), "data, chart library and ours");
    let text = shown.value("document.body.innerText");
    let text = text.as_str().unwrap();
    assert!(
        text.matches("<script>window.owned = 1</script>").count() > 20,
        "the text is shown as it is"
    );
    assert_eq!(shown.page.complaints(), [""; 0]);
    assert_eq!(shown.page.requests().len(), 1);
}

#[test]
fn evidence_leads_to_the_test_that_shows_it() {
    let Some(mut shown) = Shown::new("evidence_leads_to_the_test_that_shows_it", &[CHECK]) else {
        return;
    };
    let broken = "[...document.querySelectorAll('a[href^=\"#\"]')].filter((link) => \
                  !document.querySelector(link.hash)).map((link) => link.hash)";
    assert_eq!(shown.value(broken), json!([]));
    let seen = "[...document.querySelectorAll('.finding a.seen')].map((link) => \
                document.querySelector(link.hash).tagName)";
    let seen = shown.value(seen);
    assert!(seen.as_array().unwrap().contains(&json!("ARTICLE")), "{seen}");
}

#[test]
fn the_page_writes_numbers_as_the_terminal_does() {
    let Some(mut shown) = Shown::new("the_page_writes_numbers_as_the_terminal_does", &[CHECK])
    else {
        return;
    };
    for value in [
        0.0, 0.0432, 0.09994, 0.1, 0.9, 0.9996, 1.234, 9.999, 85.0, 99.96, 100.0, 200.0, 999.4,
        999.6, 1742.0, 2.1e6, 3.6e9,
    ] {
        assert_eq!(
            shown.value(&format!("flushmark.numbers.latency({value})")),
            json!(workload::number::latency(value))
        );
    }
    for value in [0.25, 10.0, 84.3, 100.0, 574.2, 999.6, 36_600.4, 4.6e6] {
        assert_eq!(
            shown.value(&format!("flushmark.numbers.rate({value})")),
            json!(workload::number::number(value))
        );
    }
}
