//! A server over a real store, queried over real connections: what it answers, to whom, and what it
//! says when the store fails.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use samples::document::checked;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use measurement::RunDocument;
use store::{Location, Origin, Store};
use web::running::{History, Phase};
use web::{Access, Running, Server};

/// A server that stops when this is dropped.
struct Site {
    address: SocketAddr,
    url: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Site {
    fn over(store: &Path) -> Site {
        Site::listening("127.0.0.1:0", store, Vec::new())
    }

    fn listening(address: &str, store: &Path, running: Vec<Running>) -> Site {
        Site::of(address, Location::Sqlite(store.to_owned()), running)
    }

    fn of(address: &str, location: Location, running: Vec<Running>) -> Site {
        let listener = TcpListener::bind(address).unwrap();
        let bound = listener.local_addr().unwrap();
        let access = Access::new(bound, &bound.to_string(), None).unwrap();
        let url = access.address();
        let server = Server::new(access, location, move || running.clone());
        let stop = Arc::new(AtomicBool::new(false));
        let wanted = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            server.serve(listener, || wanted.load(Ordering::Relaxed)).unwrap();
        });
        let address = SocketAddr::from(([127, 0, 0, 1], bound.port()));
        Site { address, url, stop, thread: Some(thread) }
    }

    fn host(&self) -> String {
        self.address.to_string()
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let own_host = self.host();
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text += &format!("Host: {own_host}\r\n");
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() || method == "POST" {
            text += &format!("Content-Length: {}\r\n", body.len());
            if !headers.iter().any(|(name, _)| *name == "Content-Type") {
                text += "Content-Type: application/x-www-form-urlencoded\r\n";
            }
        }
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    /// Submits a form as this server's page would, with its secret.
    fn post(&self, path: &str, body: &str) -> Answer {
        let page = self.get("/run/1").body;
        let word = page
            .split("name=\"word\" value=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap()
            .to_owned();
        self.ask(
            "POST",
            path,
            &[("Origin", &format!("http://{}", self.host()))],
            &format!("word={word}&{body}"),
        )
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }

    /// The text of the page's notice.
    fn said(&self) -> String {
        let notice =
            self.body.split("class=\"notice\" role=\"alert\">").nth(1).unwrap_or(&self.body);
        notice
            .split("</p>")
            .next()
            .unwrap()
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&")
    }

    /// The numbers of the runs in a list, in order.
    fn runs(&self) -> Vec<u32> {
        self.body
            .split("name=\"run\" value=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
            .collect()
    }
}

/// A store with this many runs, a minute apart, oldest first.
fn filled(path: &Path, count: u32) -> Store {
    filled_at(&Location::Sqlite(path.to_owned()), count)
}

fn filled_at(location: &Location, count: u32) -> Store {
    let mut store = Store::open(location).unwrap();
    for minute in 0..count {
        let mut document = checked();
        document.started_at = format!("2026-11-{:02}T10:{:02}:00Z", 1 + minute / 60, minute % 60);
        document.suite = format!("suite-{}", minute % 3);
        let host = Some(if minute % 2 == 0 { "db1" } else { "<i>db2</i>" }.to_owned());
        store.insert(&document, &Origin { host }).unwrap();
    }
    store
}

#[test]
fn an_empty_store_says_what_to_type() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    let site = Site::over(&path);
    let absent = site.get("/");
    assert_eq!(absent.status, 200);
    assert!(absent.body.contains("flushmark check /var/lib"), "{}", absent.body);
    assert!(!path.exists(), "viewing a page creates no store");
    filled(&path, 0);
    assert!(site.get("/").body.contains("flushmark check /var/lib"));
    // A filter that matches nothing gives another page.
    filled(&path, 1);
    assert!(site.get("/?host=nobody").body.contains("No runs match"));
}

#[test]
fn osds_of_a_cluster_are_shown_like_in_a_report() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    let mut store = filled(&path, 0);
    let mut document = samples::document(samples::osds(2, 3));
    for started_at in ["2026-11-01T10:00:00Z", "2026-11-02T10:00:00Z"] {
        started_at.clone_into(&mut document.started_at);
        store.insert(&document, &Origin { host: None }).unwrap();
    }
    let site = Site::over(&path);
    let run = site.get("/run/1").body;
    for figure in ["osd-map", "write-time", "waterfall-slowest", "waterfall-median"] {
        assert!(run.contains(&format!("data-figure=\"run-1-{figure}\"")), "no {figure}");
    }
    let compared = site.get("/compare?run=1&run=2");
    assert!(compared.body.contains("osd.2: write"), "{} {}", compared.status, compared.body);
}

#[test]
fn runs_are_listed_newest_first_filtered_by_link_and_leafed_through() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    filled(&path, 60);
    let site = Site::over(&path);
    let first = site.get("/");
    assert_eq!(first.runs(), (11..=60).rev().collect::<Vec<_>>());
    assert!(first.body.contains("href=\"/?page=1\"") && !first.body.contains("Newer runs"));
    let second = site.get("/?page=1");
    assert_eq!(second.runs(), (1..=10).rev().collect::<Vec<_>>());
    assert!(second.body.contains("rel=\"prev\" href=\"/\"") && !second.body.contains("Older runs"));
    assert_eq!(
        site.get("/?suite=suite-1&host=DB1").runs(),
        [59, 53, 47, 41, 35, 29, 23, 17, 11, 5]
    );
    assert_eq!(site.get("/?host=%3Ci%3Edb2%3C%2Fi%3E").runs().len(), 30);
    assert!(first.body.contains("&lt;i&gt;db2&lt;/i&gt;") && !first.body.contains("<i>db2"));
    assert_eq!(site.get("/?until=2026-10-31").runs(), [0_u32; 0]);
    assert_eq!(site.get("/?page=9").runs(), [0_u32; 0]);
    let wrong = site.get("/?since=yesterday");
    assert_eq!(wrong.status, 400);
    assert!(
        wrong.body.contains("invalid date `yesterday`")
            && wrong.body.contains("aria-invalid=\"true\"")
    );
}

#[test]
fn a_host_and_a_model_have_their_history_with_what_changed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    let mut store = filled(&path, 0);
    for (day, kernel) in [(1, "6.1.0"), (2, "6.1.0"), (3, "6.12.0")] {
        let mut document = checked();
        document.started_at = format!("2026-11-{day:02}T10:00:00Z");
        document.host.kernel_release = Some(kernel.to_owned());
        store.insert(&document, &Origin { host: Some("db1".to_owned()) }).unwrap();
    }
    let model = store.list(&store::Filter::default()).unwrap()[0].drives[0].model.clone();
    let site = Site::over(&path);
    let index = site.get("/history");
    assert!(index.body.contains("<a href=\"/history?host=db1\">db1</a>"), "{}", index.body);
    let host = site.get("/history?host=db1");
    assert_eq!(host.status, 200);
    assert!(host.body.contains("<h1>History of db1</h1>"), "{}", host.body);
    assert!(host.body.contains("data-figure=\"trend-1\""), "{}", host.body);
    assert!(host.body.contains("(1) Before run 3: kernel: 6.1.0 to 6.12.0."), "{}", host.body);
    assert!(site.get("/run/1").body.contains("href=\"/history?host=db1\""));
    if let Some(model) = model {
        let address = format!("/history?model={}", model.replace(' ', "%20"));
        assert!(site.get(&address).body.contains("data-figure=\"trend-1\""));
        assert!(index.body.contains(&address), "{}", index.body);
    }
    assert!(site.get("/history?host=nobody").body.contains("Nothing to draw"));
    let wrong = site.get("/history?since=yesterday");
    assert_eq!(wrong.status, 400);
    assert!(wrong.body.contains("invalid date `yesterday`"));
    let newest = site.get("/history?host=db1&since=2026-11-03");
    assert!(newest.body.contains("Not drawn for lack of a second run: 1 test."), "{}", newest.body);
    assert!(
        filled(&place.path().join("empty.db"), 0)
            .list(&store::Filter::default())
            .unwrap()
            .is_empty()
    );
    let empty = Site::over(&place.path().join("empty.db")).get("/history");
    assert!(empty.body.contains("No complete run of a known host."), "{}", empty.body);
}

#[test]
fn a_run_has_a_card() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    filled(&path, 1);
    let site = Site::over(&path);
    let card = site.get("/run/1/card.svg");
    assert_eq!((card.status, card.header("content-type")), (200, Some("image/svg+xml")));
    assert!(pages::is_card(&card.body), "{}", card.body);
    assert!(site.get("/run/1").body.contains("href=\"/run/1/card.svg\""));
    assert_eq!(site.get("/run/9/card.svg").status, 404);
}

#[test]
fn runs_are_read_saved_and_compared() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    let kept = filled(&path, 9).get("3".parse().unwrap()).unwrap();
    let site = Site::over(&path);
    let run = site.get("/run/3");
    assert_eq!(run.status, 200);
    assert!(run.body.contains("data-figure=") && run.body.contains("id=\"chart-data\""));
    let json = site.get("/run/3.json");
    assert_eq!(json.header("content-type"), Some("application/json"));
    assert_eq!(RunDocument::from_json(&json.body).unwrap(), kept.document);
    let report = site.get("/run/3/report.html");
    assert!(pages::is_report(&report.body) && !report.body.contains("/assets/"));
    assert!(report.header("content-security-policy").unwrap().contains("sandbox allow-scripts"));
    assert!(site.get("/compare?run=3&run=5").body.contains("id=\"overlay\""));
    for (path, status, said) in [
        ("/compare", 400, "Select two or more runs in the list, then press Compare."),
        ("/compare?run=3&run=3", 400, "Select two or more runs in the list, then press Compare."),
        (
            "/compare?run=1&run=2&run=3&run=4&run=5&run=6&run=7&run=8",
            400,
            "At most 7 runs are drawn side by side; select fewer.",
        ),
        (
            "/compare?run=3&run=x",
            404,
            "“x” is not the number of a run; the list shows the numbers.",
        ),
        ("/run/last", 404, "“last” is not the number of a run; the list shows the numbers."),
        ("/nowhere", 404, "There is no page at this address."),
        ("/assets/nothing.css", 404, "There is no page at this address."),
    ] {
        let answer = site.get(path);
        assert_eq!((answer.status, answer.said().as_str()), (status, said), "{path}");
    }
    let gone = site.get("/run/77");
    assert_eq!(gone.status, 404);
    assert!(gone.said().contains("has no run 77"), "{}", gone.said());
}

#[test]
fn tags_and_notes_are_changed_by_our_own_forms_only() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    let mut store = filled(&path, 1);
    let site = Site::over(&path);
    let run = "1".parse().unwrap();
    let mut marks = || {
        let summary = store.get(run).unwrap().summary;
        (summary.tags.iter().map(ToString::to_string).collect::<Vec<_>>(), summary.note)
    };
    let done = site.post("/run/1/tag", "tag=+before-update+");
    assert_eq!((done.status, done.header("location")), (303, Some("/run/1")));
    assert_eq!(site.post("/run/1/note", "note=new+firmware%0D%0A%3Cb%3E").status, 303);
    assert_eq!(marks(), (vec!["before-update".to_owned()], "new firmware\n<b>".to_owned()));
    assert!(site.get("/run/1").body.contains("&lt;b&gt;</textarea>"));
    assert_eq!(site.get("/?tag=before-update").runs(), [1]);
    let no_tag = site.post("/run/1/tag", "tag=a+b");
    assert_eq!(no_tag.status, 400);
    assert!(no_tag.said().starts_with("invalid tag `a b`"), "{}", no_tag.said());
    // From another site, without an origin, without the secret, or by a link: refused, and nothing
    // changes.
    let page = site.get("/run/1").body;
    let word = page.split("name=\"word\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let own = format!("http://{}", site.host());
    let body = format!("word={word}&tag=evil");
    for (origin, body) in [
        (Some("http://evil.example"), body.as_str()),
        (Some("null"), &body),
        (None, &body),
        (Some(own.as_str()), "tag=evil"),
        (Some(&own), "word=guess&tag=evil"),
    ] {
        let headers: Vec<(&str, &str)> =
            origin.map(|origin| ("Origin", origin)).into_iter().collect();
        assert_eq!(site.ask("POST", "/run/1/tag", &headers, body).status, 403, "{origin:?} {body}");
    }
    assert_eq!(site.get("/run/1/tag?tag=evil").status, 405);
    assert_eq!(marks().0, ["before-update"]);
    assert_eq!(site.post("/run/1/untag", "tag=before-update").status, 303);
    assert_eq!(marks().0, [""; 0]);
    assert_eq!(site.post("/run/5/note", "note=x").status, 404);
}

#[test]
fn every_fault_has_its_page_with_a_sentence() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    filled(&path, 1);
    let site = Site::over(&path);
    let json = [("Content-Type", "application/json")];
    let large = format!("note={}", "x".repeat(3 << 20));
    let mut said = Vec::new();
    for (method, path, headers, body, status) in [
        ("GET", "/run/%FF", &[][..], "", 400),
        ("GET", "/run/%FF.json", &[], "", 400),
        ("GET", "/run/77.json", &[], "", 404),
        ("GET", "/run/77/report.html", &[], "", 404),
        ("GET", "/run/-1", &[], "", 404),
        ("GET", "/run/", &[], "", 404),
        ("GET", "/%FF", &[], "", 404),
        ("GET", "/run/1/tag", &[], "", 405),
        ("POST", "/", &[], "a=b", 405),
        ("DELETE", "/run/1", &[], "", 405),
        ("BREW", "/live", &[], "", 405),
        ("POST", "/run/1/tag", &json, "{}", 415),
        ("POST", "/run/1/note", &[], &large, 413),
        ("POST", "/run/1/note", &[], "", 403),
        ("GET", "/", &[("Host", "evil.example")], "", 421),
    ] {
        let answer = site.ask(method, path, headers, body);
        let kind = answer.header("content-type").unwrap_or_default();
        assert_eq!((answer.status, kind), (status, "text/html; charset=utf-8"), "{method} {path}");
        assert!(
            answer.body.contains("<h1>") && answer.body.contains("href=\"/\""),
            "{method} {path}: {}",
            answer.body
        );
        assert_eq!(answer.header("allow").is_some(), status == 405, "{method} {path}");
        said.push(format!("{method} {path}: {}", answer.said()));
    }
    let said = said
        .join("\n")
        .replace(&*path.to_string_lossy(), "results.db")
        .replace(&site.host(), "HOST");
    insta::assert_snapshot!(said, @"
    GET /run/%FF: This address, or the submitted form, is invalid; start from the list of runs.
    GET /run/%FF.json: This address, or the submitted form, is invalid; start from the list of runs.
    GET /run/77.json: The store results.db has no run 77; `flushmark results list` lists its runs.
    GET /run/77/report.html: The store results.db has no run 77; `flushmark results list` lists its runs.
    GET /run/-1: “-1” is not the number of a run; the list shows the numbers.
    GET /run/: There is no page at this address.
    GET /%FF: There is no page at this address.
    GET /run/1/tag: This address only accepts the form on a run's page; open the run from the list.
    POST /: This address does not accept POST; open it in a browser, or use the forms on a run's page.
    DELETE /run/1: This address does not accept DELETE; open it in a browser, or use the forms on a run's page.
    BREW /live: This address does not accept BREW; open it in a browser, or use the forms on a run's page.
    POST /run/1/tag: This request is not a form of these pages, and nothing was changed; use the forms on a run's page.
    POST /run/1/note: The note is too long, and nothing was changed; shorten it and try again.
    POST /run/1/note: Tags and notes can only be changed from this server's own pages. If you came from one, the server was restarted since: reload the run's page and try again.
    GET /: This server answers only requests from this machine under its own host name. Open http://HOST/
    ");
}

#[test]
fn a_postgresql_store_is_shown_like_any_other_and_reported_when_unreachable() {
    let Some(mut server) = postgresql::Server::start(
        "a_postgresql_store_is_shown_like_any_other_and_reported_when_unreachable",
    ) else {
        return;
    };
    let location = Location::Postgres(server.database("fleet"));
    filled_at(&location, 60);
    let site = Site::of("127.0.0.1:0", location, Vec::new());
    assert_eq!(site.get("/").runs(), (11..=60).rev().collect::<Vec<_>>());
    assert_eq!(
        site.get("/?suite=suite-1&host=DB1").runs(),
        [59, 53, 47, 41, 35, 29, 23, 17, 11, 5]
    );
    assert!(site.get("/run/3").body.contains("data-figure="));
    assert!(RunDocument::from_json(&site.get("/run/3.json").body).is_ok());
    assert!(site.get("/compare?run=3&run=5").body.contains("class=\"deciding\""));
    assert_eq!(site.post("/run/1/tag", "tag=fleet").status, 303);
    assert_eq!(site.get("/?tag=fleet").runs(), [1]);
    assert_eq!(site.get("/run/77").status, 404);
    server.down();
    let gone = site.get("/run/3");
    assert_eq!(gone.status, 503);
    let said =
        gone.said().replace(&server.directory().to_string_lossy().replace('/', "%2F"), "DIR");
    assert!(
        !gone.body.contains(postgresql::PASSWORD) && !gone.body.contains("p%40ss"),
        "{}",
        gone.body
    );
    insta::assert_snapshot!(said, @"The store postgres://postgres@DIR/fleet cannot be reached: No such file or directory (os error 2).");
    server.up();
    assert_eq!(site.get("/run/3").status, 200, "a repaired store is shown again");
}

#[test]
fn under_another_name_nothing_is_answered() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    filled(&path, 1);
    let site = Site::over(&path);
    let port = site.address.port();
    for host in
        ["evil.example".to_owned(), format!("evil.example:{port}"), "127.0.0.1:1".to_owned()]
    {
        for path in ["/", "/run/1.json", "/live"] {
            let answer = site.ask("GET", path, &[("Host", &host)], "");
            assert_eq!(answer.status, 421, "{host}{path}");
            assert!(!answer.body.contains("db1"));
        }
    }
    assert_eq!(site.ask("GET", "/", &[("Host", &format!("localhost:{port}"))], "").status, 200);
}

#[test]
fn a_request_with_two_names_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    filled(&path, 1);
    let site = Site::over(&path);
    let own = site.host();
    for other in [own.as_str(), "evil.example"] {
        for hosts in
            [[("Host", own.as_str()), ("Host", other)], [("Host", other), ("Host", own.as_str())]]
        {
            let answer = site.ask("GET", "/run/1", &hosts, "");
            assert_eq!(answer.status, 400, "{hosts:?}");
            assert!(!answer.body.contains("db1"));
            insta::allow_duplicates! {
                insta::assert_snapshot!(answer.said(), @"This request has more than one `Host` header, so it is not answered.");
            }
        }
    }
}

#[test]
fn a_server_that_others_reach_wants_its_token() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    filled(&path, 1);
    let site = Site::listening("0.0.0.0:0", &path, Vec::new());
    let token = site.url.split_once("?token=").unwrap().1;
    for path in ["/", "/run/1", "/run/1.json", "/live", "/?token=0123", "/nowhere"] {
        let refused = site.get(path);
        assert_eq!(refused.status, 401, "{path}");
        assert!(
            refused.header("www-authenticate").is_some_and(|scheme| scheme.starts_with("token ")),
            "{path}"
        );
        assert!(
            refused.said().starts_with("Open the complete address that `flushmark web` printed"),
            "{}",
            refused.said()
        );
    }
    assert_eq!(site.ask("POST", "/run/1/tag", &[], "tag=x").status, 401);
    let welcomed = site.get(&format!("//evil.example/run/1?suite=a&token={token}&page=1"));
    assert_eq!(welcomed.status, 303);
    assert_eq!(welcomed.header("location"), Some("/evil.example/run/1?suite=a&page=1"));
    let cookie = welcomed.header("set-cookie").unwrap();
    assert!(cookie.contains("httponly") && cookie.contains("samesite=lax"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(site.ask("GET", "/run/1", &[("Cookie", pair)], "").status, 200);
    assert_eq!(site.ask("GET", "/run/1", &[("Cookie", &format!("{pair}0"))], "").status, 401);
}

#[test]
fn every_answer_keeps_itself_to_itself() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    filled(&path, 2);
    let site = Site::over(&path);
    for path in [
        "/", "/run/1", "/run/1.json", "/run/1/report.html", "/compare?run=1&run=2", "/live",
        "/nowhere",
    ] {
        let answer = site.get(path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'") && !policy.contains("http"),
            "{path}: {policy}"
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
    }
    // The assets of a page exist, may be cached forever, and are named by their content.
    let page = site.get("/run/1").body;
    let links: Vec<&str> = page.split('"').filter(|part| part.starts_with("/assets/")).collect();
    assert_eq!(links.len(), 4, "{links:?}");
    for link in links {
        let asset = site.get(link);
        assert_eq!(asset.status, 200, "{link}");
        assert_eq!(asset.header("cache-control"), Some("public, max-age=31536000, immutable"));
        assert!(!asset.body.is_empty());
    }
}

#[test]
fn a_broken_store_is_explained() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    let site = Site::over(&path);
    let mut said = Vec::new();
    let mut note = |answer: &Answer| {
        assert_eq!(answer.status, 503, "{}", answer.body);
        said.push(answer.said().replace(&*path.to_string_lossy(), "results.db"));
    };
    std::fs::write(&path, "someone's text").unwrap();
    note(&site.get("/"));
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    note(&site.get("/"));
    std::fs::remove_dir(&path).unwrap();
    filled(&path, 1);
    assert_eq!(site.get("/").runs(), [1], "a repaired store is shown again");
    // A store that was deleted.
    std::fs::remove_file(&path).unwrap();
    note(&site.get("/run/1"));
    insta::assert_snapshot!(said.join("\n"), @"
    The store results.db is not an SQLite database; nothing was changed. Name another store (--store, FLUSHMARK_STORE).
    The store results.db is a directory; name a file in it, such as results.db.
    The store results.db does not exist; `flushmark check` and `flushmark run` create it when they store a run.
    ");
}

#[test]
fn a_locked_store_is_waited_for_and_then_reported() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    filled(&path, 1);
    let site = Site::over(&path);
    let page = site.get("/run/1");
    assert_eq!(page.status, 200);
    let lock = rusqlite::Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let begun = Instant::now();
    let refused = site.post("/run/1/tag", "tag=x");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(refused.status, 503);
    assert!(
        refused.said().contains("has been locked by another process for 3 s"),
        "{}",
        refused.said()
    );
    lock.execute_batch("COMMIT").unwrap();
    assert_eq!(site.post("/run/1/tag", "tag=x").status, 303);
}

#[test]
fn running_tests_are_shown_and_what_they_are_called_is_text() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    let mut history = History::default();
    for second in 1..=3 {
        history.see(f64::from(second), 1000.0 * f64::from(second), Some(80.0));
    }
    let running = Running {
        process: 4711,
        started_at: "2026-11-21T10:00:00Z".to_owned(),
        suite: "fsync-study".to_owned(),
        target: "/srv/<script>".to_owned(),
        run: Some(7),
        store: Some(path.to_string_lossy().into_owned()),
        test: "</script><img src=x onerror=alert(1)>".to_owned(),
        position: 2,
        tests: 36,
        phase: Phase::Measuring { elapsed_s: 3.2 },
        expected_s: Some(5.0),
        iops: Some(3000.0),
        commit_p99_us: Some(80.0),
        history,
    };
    let elsewhere =
        Running { store: Some("elsewhere.db".to_owned()), process: 4712, ..running.clone() };
    let site = Site::listening("127.0.0.1:0", &path, vec![running, elsewhere]);
    let page = site.get("/live").body;
    assert!(!page.contains("<img src=x") && !page.contains("</script><img"), "{page}");
    for shown in
        ["3,000/s", "80 µs", "3 s of 5 s", "2 runs", "value=\"0.640\"", "[1000.0,2000.0,3000.0]"]
    {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert_eq!(page.matches("href=\"/run/7\"").count(), 1, "a run of another store is not linked");
    let quiet = Site::over(&path);
    assert!(quiet.get("/live").body.contains("Nothing is being measured"));
}

/// Runs of drives of two models, one of which is slow, and its metrics.
#[test]
fn drives_of_all_hosts_are_a_heat_map_that_can_be_narrowed_and_sorted() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    let location = Location::Sqlite(path.clone());
    let mut store = Store::open(&location).unwrap();
    for host in 0..12 {
        let us = if host == 5 { 9_000.0 } else { 2_900.0 + f64::from(host) };
        let machine = samples::machine::consumer_nvme();
        let mut place = machine.place.unwrap();
        let drive::Backing::BlockDevice(device) = &mut place.backing else { panic!("a drive") };
        device.serial = Some(format!("S{host}"));
        device.firmware = Some(if host % 2 == 0 { "1.0" } else { "1.1" }.to_owned());
        if host > 8 {
            device.model = Some("another & older".to_owned());
        }
        let write = samples::machine::write(workload::SyncMethod::Fsync, 20.0, us);
        let document = RunDocument {
            started_at: format!("2026-11-{:02}T00:00:00Z", host + 1),
            drive: Some(place),
            host: machine.host,
            ..samples::document(vec![write.result()])
        };
        let origin = Origin { host: Some(format!("db{host:02}")) };
        store.insert(&document, &origin).unwrap();
    }
    let site = Site::over(&path);
    let hosts = |path: &str| -> Vec<String> {
        let page = site.get(path);
        assert_eq!(page.status, 200, "{}", page.body);
        let rows = page.body.split("<th scope=\"row\"><a href=\"/run/").skip(1);
        rows.map(|row| row.split(['>', '<']).nth(1).unwrap().to_owned()).collect()
    };
    let all = hosts("/fleet");
    assert_eq!((all.len(), all[0].as_str()), (12, "db05"));
    let page = site.get("/fleet").body;
    assert!(page.contains("class=\"hot-3\""), "{page}");
    assert!(page.contains("3.1×"), "{page}");
    assert!(page.contains("/fleet?model=another%20%26%20older\">another &amp; older</a> (3)"));
    let older = site.get("/fleet?model=another%20%26%20older").body;
    assert!(older.contains("<h1>another &amp; older</h1>"), "{older}");
    assert_eq!(hosts("/fleet?model=another&sort=host"), ["db09", "db10", "db11"]);
    assert_eq!(hosts("/fleet?firmware=1.1&host=db05"), ["db05"]);
    assert_eq!(hosts("/fleet?model=nothing"), [""; 0]);
    assert_eq!(site.get("/fleet?tag=a%20b").status, 400);
    assert_eq!(hosts("/fleet?page=7"), [""; 0]);

    let metrics = site.get("/metrics?firmware=1.1&host=db05");
    assert_eq!(metrics.status, 200);
    assert!(metrics.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    let rates: Vec<&str> = metrics
        .body
        .lines()
        .filter(|line| line.starts_with("flushmark_commits_per_second{"))
        .collect();
    assert_eq!(rates.len(), 1, "{}", metrics.body);
    assert!(rates[0].contains("machine=\"db05\""), "{}", rates[0]);
    assert_eq!(site.get("/metrics?tag=a%20b").status, 400);
}

#[test]
fn an_empty_fleet_says_so() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.db");
    Store::open(&Location::Sqlite(path.clone())).unwrap();
    let page = Site::over(&path).get("/fleet");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("No complete run of a known host."), "{}", page.body);
}
