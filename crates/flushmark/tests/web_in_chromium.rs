//! `flushmark web` in a real Chromium: display, accessibility, mouse and keyboard. Pictures are
//! kept in `target/tmp/web`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use chromium::{Browser, Page};
use common::{browser, flushmark, kill, memory, plan, run};
use measurement::RunDocument;
use serde_json::{Value, json};
use store::{Location, Origin, RunId, Store};
use tempfile::TempDir;

const VIEW: (u32, u32) = (1280, 1000);
/// Time for a page on a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(40);

/// A server with a separate store, and a browser.
struct Shown {
    page: Page,
    url: String,
    server: Child,
    store: PathBuf,
    runtime: Option<TempDir>,
    _directory: TempDir,
    _browser: Browser,
}

/// Runs to fill a store with: what to check, and how to change the document before it is kept.
const SAMSUNG: &[&str] = &["check", "sim:samsung-980-1tb,filesystem=ext4"];
const MICRON: &[&str] = &["check", "sim:micron-5100-eco-960gb,filesystem=ext4"];
const SLOG: &[&str] = &["run", "slog", "--target", "sim:samsung-980-1tb"];

impl Shown {
    /// `None`, with a message, if Chromium is not installed.
    fn new(test: &str, runs: &[&[&str]]) -> Option<Shown> {
        Shown::changed(test, runs, |_| {})
    }

    fn changed(test: &str, runs: &[&[&str]], change: impl Fn(&mut Value)) -> Option<Shown> {
        let browser = browser(test)?;
        let directory = tempfile::tempdir().unwrap();
        let runtime = memory(test);
        let path = directory.path().join("results.db");
        let mut store = Store::open(&Location::Sqlite(path.clone())).unwrap();
        for (index, of) in runs.iter().enumerate() {
            let made = run(&[*of, &["--quiet", "--format", "json"]].concat());
            assert_eq!(made.code, Some(0), "{}", made.stderr);
            let mut document = made.document();
            document["started_at"] = json!(format!("2026-11-{:02}T10:00:00Z", index + 1));
            change(&mut document);
            let document = RunDocument::from_json(&document.to_string()).unwrap();
            store.insert(&document, &Origin { host: Some("db1".to_owned()) }).unwrap();
        }
        let mut command = flushmark();
        command
            .args(["web", "--listen", "0", "--store"])
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(runtime) = &runtime {
            command.env("XDG_RUNTIME_DIR", runtime.path());
        }
        let mut server = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        let url = url.trim().trim_end_matches('/').to_owned();
        let mut page = browser.page().unwrap();
        page.prefer("light").unwrap();
        page.resize(VIEW.0, VIEW.1).unwrap();
        Some(Shown {
            page,
            url,
            server,
            store: path,
            runtime,
            _directory: directory,
            _browser: browser,
        })
    }

    fn open(&mut self, path: &str) {
        let address = format!("{}{path}", self.url);
        self.page.open(&address).unwrap();
    }

    fn value(&mut self, script: &str) -> Value {
        self.page.value(script).unwrap()
    }

    /// Waits until an expression is true, across page changes.
    fn until(&mut self, script: &str) {
        let begun = Instant::now();
        while !matches!(self.page.value(script), Ok(Value::Bool(true))) {
            assert!(
                begun.elapsed() < WAIT_MAX,
                "`{script}` did not come true on {:?}",
                self.page.value("document.body.innerText")
            );
            std::thread::sleep(Duration::from_millis(25));
        }
    }

    /// Clicks in the middle of an element.
    fn click(&mut self, selector: &str) {
        let place = format!(
            "(() => {{ const element = document.querySelector({selector:?}); element.scrollIntoView({{ block: 'center' }}); \
             const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + \
             box.height / 2]; }})()"
        );
        let place = self.value(&place);
        self.page.click(place[0].as_f64().unwrap(), place[1].as_f64().unwrap()).unwrap();
    }

    /// Presses Tab until the focus is on an element.
    fn tab_to(&mut self, selector: &str) {
        let is_there = format!("document.activeElement.matches({selector:?})");
        for _ in 0..80 {
            self.page.press("Tab").unwrap();
            if self.value(&is_there) == json!(true) {
                let outline = self.value("getComputedStyle(document.activeElement).outlineStyle");
                assert_ne!(outline, json!("none"), "where the focus is has to be seen: {selector}");
                return;
            }
        }
        panic!("no number of tabs leads to {selector}");
    }

    fn type_in(&mut self, text: &str) {
        self.page.command("Input.insertText", &json!({"text": text})).unwrap();
    }

    /// There are no console messages, and no requests to other hosts.
    fn expect_calm(&mut self) {
        assert_eq!(self.page.complaints(), [""; 0]);
        // `data:` addresses are part of the page: the empty icon, and the browser's calendar next
        // to a date.
        let is_foreign =
            |address: &String| !address.starts_with(&self.url) && !address.starts_with("data:");
        let foreign: Vec<String> = self.page.requests().into_iter().filter(is_foreign).collect();
        assert_eq!(foreign, [""; 0]);
    }

    /// Scrolls past every chart, so that each is drawn, and keeps a picture of the whole page.
    fn picture(&mut self, name: &str, width: u32) {
        self.page.resize(width, VIEW.1).unwrap();
        self.value(
            "(async () => { for (const place of document.querySelectorAll('[data-figure]')) {
             if (place.closest('details:not([open])')) continue;
             place.scrollIntoView();
             while (!place.querySelector('svg')) await new Promise((seen) => setTimeout(seen, 5)); } window.scrollTo(0, 0); })()",
        );
        let height = self
            .value("Math.ceil(document.documentElement.getBoundingClientRect().height)")
            .as_u64()
            .unwrap();
        self.page.resize(width, (height as u32).clamp(VIEW.1, 6000)).unwrap();
        self.page.picture(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("web").join(name)).unwrap();
        self.page.resize(VIEW.0, VIEW.1).unwrap();
    }

    fn tags(&self, run: &str) -> Vec<String> {
        let run: RunId = run.parse().unwrap();
        let kept = Store::open(&Location::Sqlite(self.store.clone())).unwrap().get(run).unwrap();
        kept.summary.tags.iter().map(ToString::to_string).collect()
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = kill(&["-INT", &self.server.id().to_string()]);
        let _ = self.server.wait();
    }
}

#[test]
fn runs_are_filtered_compared_and_tagged_by_click() {
    let Some(mut shown) =
        Shown::new("runs_are_filtered_compared_and_tagged_by_click", &[SAMSUNG, MICRON, SLOG])
    else {
        return;
    };
    shown.open("/");
    assert_eq!(shown.value("document.querySelectorAll('.runs tbody tr').length"), json!(3));
    assert_eq!(shown.value("document.querySelector('form.compare button').disabled"), json!(true));
    shown.picture("list.png", 1280);
    shown.picture("list-narrow.png", 400);
    shown.click("input[value='1']");
    shown.click("input[value='2']");
    shown.until("document.querySelector('#selected').textContent === '2 runs selected.'");
    shown.expect_calm();
    shown.click("form.compare button");
    shown.until(
        "location.pathname === '/compare' && document.querySelector('#overlay') !== null \
                 && globalThis.flushmark !== undefined",
    );
    assert_eq!(shown.value("location.search"), json!("?run=2&run=1"));
    // The summary comes first, in the words of `results compare`.
    let deciding = shown.value("document.querySelector('#overlay .deciding').textContent");
    let deciding = deciding.as_str().unwrap().to_owned();
    assert!(
        deciding.contains("“Micron 5100") && deciding.contains("× slower than “Samsung 980"),
        "{deciding}"
    );
    let store = shown.store.to_string_lossy().into_owned();
    let said = run(&["results", "compare", "1", "2", "--store", &store]).stdout;
    let said = said.split("\n\n").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let lettered = |part: &str| match part.split_once('”') {
        Some((name, rest)) => {
            format!("{}{rest}", if name.starts_with("Samsung") { "A" } else { "B" })
        }
        None => part.to_owned(),
    };
    assert_eq!(deciding.split('“').map(lettered).collect::<String>(), said);
    assert_eq!(
        shown.value("document.title.endsWith(' · flushmark') && document.title.includes('Micron')"),
        json!(true)
    );
    // The earlier run is the baseline.
    assert_eq!(
        shown.value(
            "document.querySelector('h1').textContent.startsWith('Samsung 980 1 TB and Micron')"
        ),
        json!(true)
    );
    shown.picture("compare.png", 1280);
    shown.expect_calm();
    // Filter by drive, through the form.
    shown.open("/");
    shown.click(".filter summary");
    shown.until("document.querySelector('.filter').open");
    shown.click("input[name=drive]");
    shown.type_in("micron");
    shown.picture("filter.png", 1280);
    shown.click(".filter button");
    shown.until(
        "location.search.includes('drive=micron') && document.querySelectorAll('.runs \
                 tbody tr').length === 1",
    );
    // Open the run and tag it.
    shown.click(".runs tbody th a");
    shown.until(
        "location.pathname === '/run/2' && document.querySelector('input[name=tag]') !== null",
    );
    shown.click("form[action$='/tag'] input[name=tag]");
    shown.type_in("before-update");
    shown.click("form[action$='/tag'] button");
    shown.until("document.querySelector('.tags a')?.textContent === 'before-update'");
    assert_eq!(shown.tags("2"), ["before-update"]);
    shown.picture("run.png", 1280);
    shown.page.prefer("dark").unwrap();
    shown.picture("run-dark.png", 1280);
    shown.click(".tags button");
    shown.until(
        "document.querySelector('input[name=tag]') !== null && \
                 document.querySelector('.tags') === null",
    );
    shown.expect_calm();
}

#[test]
fn keys_alone_filter_select_and_compare() {
    let Some(mut shown) =
        Shown::new("keys_alone_filter_select_and_compare", &[SAMSUNG, MICRON, SLOG])
    else {
        return;
    };
    shown.open("/");
    shown.page.press("Tab").unwrap();
    assert_eq!(shown.value("document.activeElement.textContent"), json!("Skip to the results"));
    shown.tab_to(".filter summary");
    shown.page.press("Enter").unwrap();
    shown.until("document.querySelector('.filter').open");
    shown.tab_to("input[name=suite]");
    shown.type_in("check");
    shown.page.press("Enter").unwrap();
    shown.until(
        "location.search.includes('suite=check') && document.querySelectorAll('.runs tbody \
                 tr').length === 2",
    );
    for run in ["2", "1"] {
        shown.tab_to(&format!("input[type=checkbox][value='{run}']"));
        shown.page.press(" ").unwrap();
    }
    shown.until("document.querySelector('#selected').textContent === '2 runs selected.'");
    shown.tab_to("form.compare button");
    shown.page.press("Enter").unwrap();
    shown.until("location.pathname === '/compare' && document.querySelector('#overlay') !== null");
    shown.expect_calm();
}

#[test]
fn a_screen_reader_hears_the_list_and_every_chart() {
    let Some(mut shown) =
        Shown::new("a_screen_reader_hears_the_list_and_every_chart", &[SAMSUNG, MICRON])
    else {
        return;
    };
    let named = |shown: &mut Shown, role: &str| -> Vec<String> {
        let heard = shown.page.accessible().unwrap();
        heard.into_iter().filter(|(of, _)| of == role).map(|(_, name)| name).collect()
    };
    shown.open("/");
    assert_eq!(named(&mut shown, "checkbox"), ["Compare run 2", "Compare run 1"]);
    assert_eq!(named(&mut shown, "navigation"), ["Site"]);
    for path in ["/run/1", "/compare?run=1&run=2"] {
        shown.open(path);
        shown.value(
            "for (const fold of document.querySelectorAll('details.fold')) fold.open = true",
        );
        let charts = named(&mut shown, "image");
        let places =
            shown.value("document.querySelectorAll('[data-figure]').length").as_u64().unwrap();
        assert!(places > 3, "{path} has {places} charts");
        assert_eq!(charts.len() as u64, places, "{path}");
        assert!(charts.iter().all(|name| name.len() > 40), "{path}: {charts:#?}");
        assert!(named(&mut shown, "textbox").iter().all(|name| !name.is_empty()), "{path}");
    }
    shown.expect_calm();
}

#[test]
fn the_history_of_a_host_shows_when_its_kernel_changed() {
    let name = "the_history_of_a_host_shows_when_its_kernel_changed";
    let Some(mut shown) = Shown::changed(name, &[SAMSUNG, SAMSUNG, SAMSUNG], |document| {
        let is_last = document["started_at"] == json!("2026-11-03T10:00:00Z");
        document["host"]["kernel_release"] = json!(if is_last { "6.12.5" } else { "6.1.0" });
    }) else {
        return;
    };
    shown.open("/history");
    shown.click("a[href='/history?host=db1']");
    shown.until("document.querySelector('[data-figure] svg') !== null");
    let drawn = shown.value("document.querySelector('[data-figure]').textContent");
    assert!(drawn.as_str().unwrap().contains("(1)"), "{drawn}");
    let said = shown.value("document.querySelector('figure').textContent");
    assert!(said.as_str().unwrap().contains("kernel: 6.1.0 to 6.12.5"), "{said}");
    for width in [400, 1280] {
        shown.page.resize(width, VIEW.1).unwrap();
        let wide = shown.value("document.documentElement.scrollWidth").as_u64().unwrap();
        assert!(wide <= u64::from(width), "{wide} px in a view of {width}");
    }
    shown.picture("history.png", 1280);
    shown.picture("history-narrow.png", 400);
    shown.expect_calm();
}

#[test]
fn without_scripts_the_list_filters_and_compares_all_the_same() {
    let name = "without_scripts_the_list_filters_and_compares_all_the_same";
    let Some(mut shown) = Shown::new(name, &[SAMSUNG, MICRON]) else { return };
    shown.page.scripts(false).unwrap();
    shown.open("/?drive=samsung");
    let rows =
        |shown: &mut Shown| shown.value("document.querySelectorAll('.runs tbody tr').length");
    assert_eq!(rows(&mut shown), json!(1));
    shown.open("/");
    shown.click("input[value='1']");
    shown.click("form.compare button");
    shown.until(
        "document.querySelector('[role=alert]')?.textContent.startsWith('Select two or \
                 more runs') === true",
    );
    shown.open("/");
    shown.click("input[value='1']");
    shown.click("input[value='2']");
    shown.click("form.compare button");
    shown.until(
        "location.pathname === '/compare' && document.querySelectorAll('#overlay \
                 table').length > 0",
    );
}

/// A drive name of the worst kind.
const HOSTILE: &str =
    "</script><script>window.owned = 1</script><img src=x onerror='window.owned = 1'>";

#[test]
fn a_drive_that_calls_itself_a_script_is_a_name() {
    let name = "a_drive_that_calls_itself_a_script_is_a_name";
    let Some(mut shown) = Shown::changed(name, &[SAMSUNG, SAMSUNG], |document| {
        document["suite"] = json!(HOSTILE);
        document["target"]["given"] = json!(HOSTILE);
        document["results"][0]["test"] = json!(HOSTILE);
        rename_models(document, HOSTILE);
    }) else {
        return;
    };
    let run: RunId = "1".parse().unwrap();
    let mut store = Store::open(&Location::Sqlite(shown.store.clone())).unwrap();
    store.note(run, HOSTILE).unwrap();
    assert_eq!(store.get(run).unwrap().summary.drives[0].model.as_deref(), Some(HOSTILE));
    for path in ["/", "/run/1", "/compare?run=1&run=2"] {
        shown.open(path);
        assert!(
            shown
                .value("document.body.innerText")
                .as_str()
                .unwrap()
                .contains("<script>window.owned"),
            "{path}"
        );
        shown.picture(
            &format!("hostile{}.png", path.split('?').next().unwrap().replace('/', "-")),
            1280,
        );
        assert_eq!(shown.value("window.owned === undefined"), json!(true), "{path}");
        assert_eq!(shown.value("document.querySelectorAll('img').length"), json!(0), "{path}");
        shown.expect_calm();
    }
}

/// Gives every drive of a document this model.
fn rename_models(value: &mut Value, model: &str) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "model" && (value.is_string() || value.is_null()) {
                    *value = json!(model);
                }
                rename_models(value, model);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename_models(value, model)),
        _ => {}
    }
}

#[test]
fn a_running_test_is_seen_to_grow_and_to_end() {
    let Some(mut shown) = Shown::new("a_running_test_is_seen_to_grow_and_to_end", &[]) else {
        return;
    };
    let Some(runtime) = shown.runtime.as_ref().map(|runtime| runtime.path().to_owned()) else {
        return;
    };
    // Other runs of this user are on the page, too, for a while.
    let empty = "document.body.innerText.includes('Nothing is being measured')";
    shown.open("/live");
    shown.until(empty);
    let directory = tempfile::tempdir().unwrap();
    let text = "[[test]]\nname = \"<img src=x onerror='window.owned = 1'>\"\npattern \
                = \"randwrite\"\nsync = \"fdatasync\"\nsize = \"4MiB\"\nwarm_up = \"0s\"\ntime \
                = \"15s\"\n\
                [[test]]\nname = \"second\"\npattern = \"randwrite\"\nsize = \"4MiB\"\nwarm_up \
                = \"0s\"\ntime = \"4s\"\n";
    let plan = plan(directory.path(), text);
    let target = tempfile::tempdir().unwrap();
    let mut running = flushmark()
        .args(["run", &plan, "--quiet", "--target", target.path().to_str().unwrap()])
        .env("XDG_RUNTIME_DIR", &runtime)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let process = running.id();
    let [first_test, second_test] =
        [1, 2].map(|number| format!("#process-{process}-test-{number}"));
    // By itself, without a reload.
    shown.until(&format!(
        "document.querySelector('{first_test} h2')?.textContent.startsWith('<img src=x') === true"
    ));
    shown.until(&format!("document.querySelector('{first_test} [data-figure] svg') !== null"));
    // All of one moment, because the page changes every second.
    let seen = format!(
        "({{ points: echarts.getInstanceByDom(document.querySelector('{first_test} \
         [data-figure]')).getOption().series[0].data.length, rows: \
         document.querySelectorAll('{first_test} tbody tr').length, bar: \
         document.querySelector('{first_test} progress').value, iops: \
         document.querySelector('{first_test}-iops').textContent }})"
    );
    let first = shown.value(&seen);
    shown.until(&format!("{seen}.points >= {} + 2", first["points"]));
    let later = shown.value(&seen);
    assert!(later["bar"].as_f64().unwrap() > first["bar"].as_f64().unwrap(), "{first} {later}");
    assert!(later["iops"].as_str().unwrap().ends_with("/s"), "{later}");
    assert_eq!(later["rows"].as_u64().unwrap() + 1, later["points"].as_u64().unwrap(), "{later}");
    assert_eq!(
        shown.value("window.owned === undefined && document.querySelectorAll('img').length === 0"),
        json!(true)
    );
    let heard = shown.page.accessible().unwrap();
    assert!(heard.iter().any(|(role, name)| role == "image"
        && name.starts_with("Operations per second, so far. Between ")));
    shown.picture("live.png", 1280);
    shown.page.prefer("dark").unwrap();
    shown.picture("live-dark-narrow.png", 400);
    shown.until(&format!("document.querySelector('{second_test} h2')?.textContent === 'second'"));
    running.wait().unwrap();
    shown.until(&format!("document.querySelector('[id^=process-{process}-]') === null"));
    shown.until(empty);
    shown.expect_calm();
    assert_eq!(common::entries(&runtime), [""; 0], "nothing is left");
}

#[test]
fn a_page_that_outlives_its_server_says_that_it_is_old() {
    let Some(mut shown) = Shown::new("a_page_that_outlives_its_server_says_that_it_is_old", &[])
    else {
        return;
    };
    shown.open("/");
    assert!(
        shown
            .value("document.body.innerText")
            .as_str()
            .unwrap()
            .contains("flushmark check /var/lib")
    );
    shown.picture("empty.png", 1280);
    shown.open("/live");
    kill(&["-INT", &shown.server.id().to_string()]).unwrap();
    shown.until("!document.getElementById('stale').hidden");
    assert_eq!(shown.server.wait().unwrap().code(), Some(0), "Ctrl-C is how it ends");
}
