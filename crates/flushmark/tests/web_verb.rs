//! `flushmark web` from start to end, and what running tests publish.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{Run, entries, flushmark, interrupt, memory, plan, run};
use serde_json::Value;

const SOON: Duration = Duration::from_secs(20);

fn started(args: &[&str]) -> (Child, String) {
    let mut child =
        flushmark().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
    (child, url.trim().to_owned())
}

#[test]
fn it_says_where_it_is_and_ends_cleanly() {
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("results.db");
    for (signal, listen) in [("-INT", "0"), ("-TERM", "[::1]:0")] {
        let (child, url) =
            started(&["web", "--listen", listen, "--store", store.to_str().unwrap()]);
        assert!(url.starts_with("http://127.0.0.1:") || url.starts_with("http://[::1]:"), "{url}");
        let ended = interrupt(child, signal, SOON);
        assert_eq!(ended.code, Some(0));
        insta::allow_duplicates! {
            insta::assert_snapshot!(ended.said(&store, "results.db"), @"flushmark: showing the runs in results.db; press Ctrl-C to stop");
        }
        assert!(!store.exists(), "looking makes no store");
    }
}

#[test]
fn the_browser_is_opened_at_its_address_and_where_there_is_none_that_is_said() {
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("results.db");
    let script = place.path().join("browser");
    // Renamed into place, so that it is complete when it appears.
    std::fs::write(&script, "printf %s \"$2\" > \"$1.new\" && mv \"$1.new\" \"$1\"").unwrap();
    let opened = place.path().join("opened");
    let web = |name: &str, value: &str| {
        let mut command = flushmark();
        command
            .args(["web", "--open", "--listen", "0", "--store"])
            .arg(&store)
            .env_remove("BROWSER")
            .env(name, value);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        (child, url.trim().to_owned())
    };
    let (child, url) = web("BROWSER", &format!("sh {} {}", script.display(), opened.display()));
    let begun = Instant::now();
    while !opened.exists() {
        assert!(begun.elapsed() < SOON, "no browser was opened");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(std::fs::read_to_string(&opened).unwrap(), url);
    assert_eq!(interrupt(child, "-INT", SOON).code, Some(0));
    let (mut child, url) = web("PATH", "");
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let sentence = said.find(|line| line.contains("browser")).unwrap().replace(&url, "URL");
    insta::assert_snapshot!(sentence, @"flushmark: no browser could be opened: `xdg-open` is not installed; open URL yourself, or set BROWSER");
    assert_eq!(
        interrupt(child, "-INT", SOON).code,
        Some(0),
        "it serves all the same, and ends as ever"
    );
}

#[test]
fn the_token_can_be_chosen() {
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("results.db");
    let file = place.path().join("token");
    let words = ["web", "--listen", "0", "--token-file", file.to_str().unwrap(), "--store"];
    let words = [&words[..], &[store.to_str().unwrap()]].concat();
    let said = |run: Run| run.stderr.replace(place.path().to_str().unwrap(), "PLACE");
    insta::assert_snapshot!(said(run(&words)), @"flushmark: cannot read the token in PLACE/token: No such file or directory (os error 2)");
    std::fs::write(&file, "too short\n").unwrap();
    let refused = run(&words);
    assert_eq!(refused.code, Some(2));
    insta::assert_snapshot!(said(refused), @"flushmark: PLACE/token has no token: expected at least 32 letters, digits and any of - . _ ~, such as `openssl rand -hex 32` prints");
    let token = "0123456789abcdef0123456789abcdef";
    std::fs::write(&file, format!("{token}\n")).unwrap();
    let (child, url) = started(&words);
    assert!(url.ends_with(&format!("/?token={token}")), "{url}");
    assert_eq!(interrupt(child, "-INT", SOON).code, Some(0));
}

#[test]
fn on_another_address_it_prints_a_token() {
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("results.db");
    let (child, url) =
        started(&["web", "--listen", "0.0.0.0:0", "--store", store.to_str().unwrap()]);
    interrupt(child, "-INT", SOON);
    let (address, token) = url.split_once("/?token=").unwrap();
    assert!(!address.contains("0.0.0.0"), "nobody can open {address}");
    assert!(token.len() == 64 && token.chars().all(|c| c.is_ascii_hexdigit()), "{token}");
}

#[test]
fn where_it_cannot_listen_is_said() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut said = Vec::new();
    for listen in [port.to_string(), "192.0.2.1:80".to_owned(), "localhost".to_owned()] {
        let refused = run(&["web", "--store", "none.db", "--listen", &listen]);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        let text = refused
            .words()
            .replace(&port.to_string(), "PORT")
            .replace(&(port + 1).to_string(), "NEXT");
        said.push(text.lines().next().unwrap_or_default().to_owned());
    }
    insta::assert_snapshot!(said.join("\n"), @"
    flushmark: 127.0.0.1:PORT is in use, perhaps by another `flushmark web`; use another port, such as --listen NEXT, or --listen 0 for a free one
    flushmark: 192.0.2.1:80 is not an address of this machine; run `ip address` to list them
    error: invalid value 'localhost' for '--listen <ADDRESS>': expected PORT, ADDRESS or ADDRESS:PORT with a numeric address, such as 127.0.0.1:8080 or [::1]:8080
    ");
}

/// Number of connections with half-sent requests.
const HALVES: u64 = 1500;

/// A server with a limited number of open files, as a shell would start it.
fn limited(descriptors: u64, store: &std::path::Path) -> (Child, String) {
    let script = format!("ulimit -n {descriptors} && exec \"$0\" web --listen 0 --store \"$1\"");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).arg(flushmark().get_program()).arg(store);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
    (child, url.trim().trim_start_matches("http://").trim_end_matches('/').to_owned())
}

/// The first line of the answer to a complete request.
fn asked(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

/// Makes sure that this process can open the clients' ends.
fn may_open(descriptors: u64) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= descriptors) {
        return Ok(());
    }
    if maximum.is_some_and(|maximum| maximum < descriptors) {
        return Err(format!(
            "this user may open {} files at once, and it takes {descriptors}",
            maximum.unwrap_or(0)
        ));
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(descriptors), maximum })
        .map_err(|error| error.to_string())
}

#[test]
fn half_sent_requests_keep_nobody_out() {
    if let Err(reason) = may_open(HALVES + 200) {
        return eprintln!("skipped: half_sent_requests_keep_nobody_out: {reason}");
    }
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("results.db");
    for descriptors in [40, 256, 1024] {
        let (child, address) = limited(descriptors, &store);
        let halves: Vec<TcpStream> = (0..HALVES)
            .map(|_| {
                let mut stream = TcpStream::connect(&address).unwrap();
                // An error means that the server has already dropped this connection.
                let _ = write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\nX-Half");
                stream
            })
            .collect();
        let begun = Instant::now();
        assert_eq!(asked(&address), "HTTP/1.1 200 OK", "with {descriptors} descriptors");
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?} with {descriptors} descriptors",
            begun.elapsed()
        );
        let held = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().count() as u64;
        assert!(held <= descriptors.min(300), "{held} descriptors of {descriptors}");
        drop(halves);
        assert_eq!(interrupt(child, "-INT", SOON).code, Some(0));
    }
}

#[test]
fn a_request_that_is_never_finished_is_ended() {
    let place = tempfile::tempdir().unwrap();
    let (child, address) = limited(256, &place.path().join("results.db"));
    let begun = Instant::now();
    let halves = [
        String::new(),
        "GET /".to_owned(),
        format!("GET / HTTP/1.1\r\nHost: {address}\r\nX-Half"),
        format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n"),
    ];
    let mut streams: Vec<TcpStream> = halves
        .iter()
        .map(|half| {
            let mut stream = TcpStream::connect(&address).unwrap();
            stream.set_read_timeout(Some(SOON)).unwrap();
            stream.write_all(half.as_bytes()).unwrap();
            stream
        })
        .collect();
    for (stream, half) in streams.iter_mut().zip(halves) {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        // The last one is answered, and closed if no other request follows.
        assert_eq!(
            answer.starts_with("HTTP/1.1 200"),
            half.ends_with("\r\n\r\n"),
            "{half:?}: {answer}"
        );
    }
    assert!(
        begun.elapsed() > Duration::from_secs(5),
        "a slow client has its time: {:?}",
        begun.elapsed()
    );
    assert_eq!(interrupt(child, "-INT", SOON).code, Some(0));
}

/// The state that a run publishes.
fn told(directory: &std::path::Path) -> Option<Value> {
    // The file that replaces it exists next to it for a moment.
    let file = entries(directory)
        .into_iter()
        .map(|name| directory.join(name))
        .find(|file| file.extension().is_some_and(|ending| ending == "json"))?;
    serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()
}

fn until_told(directory: &std::path::Path, what: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        if let Some(told) = told(directory).filter(&what) {
            return told;
        }
        assert!(begun.elapsed() < SOON, "{:?}", told(directory));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_run_tells_what_it_does_in_memory_and_nobody_else() {
    let Some(runtime) = memory("a_run_tells_what_it_does_in_memory_and_nobody_else") else {
        return;
    };
    let plans = tempfile::tempdir().unwrap();
    let plan = plan(
        plans.path(),
        "[[test]]\nname = \"commits\"\npattern = \"randwrite\"\nsync = \"fdatasync\"\nsize \
         = \"1MiB\"\nwarm_up = \"0s\"\ntime = \"60s\"\n",
    );
    let target = tempfile::tempdir().unwrap();
    let start = || {
        flushmark()
            .args(["run", &plan, "--quiet", "--target", target.path().to_str().unwrap()])
            .env("XDG_RUNTIME_DIR", runtime.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let child = start();
    let told = until_told(runtime.path(), |told| told["iops"].is_f64());
    assert_eq!(
        (&told["test"], &told["position"], &told["tests"]),
        (&"commits".into(), &1.into(), &1.into())
    );
    assert_eq!(
        (told["process"].as_u64(), told["expected_s"].as_f64()),
        (Some(u64::from(child.id())), Some(60.0))
    );
    let name = format!("flushmark-live-{}-0.json", child.id());
    let mode = std::fs::metadata(runtime.path().join(&name)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(interrupt(child, "-INT", SOON).code, Some(130));
    assert_eq!(entries(runtime.path()), [""; 0], "the file goes with the run");
    // A killed run leaves its file, which is not shown.
    let killed = start();
    until_told(runtime.path(), |told| told["iops"].is_f64());
    interrupt(killed, "-KILL", SOON);
    assert_eq!(entries(runtime.path()).len(), 1);
}

/// As in a container: nothing says where sockets and the like belong, and /run cannot be written.
#[test]
fn without_a_writable_run_directory_shared_memory_is_used() {
    if !testbed::needs_root("without_a_writable_run_directory_shared_memory_is_used") {
        return;
    }
    let plans = tempfile::tempdir().unwrap();
    let plan = plan(
        plans.path(),
        "[[test]]\npattern = \"randwrite\"\nsize = \"1MiB\"\nwarm_up = \"0s\"\ntime = \"60s\"\n",
    );
    let target = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o ro none /run && mount -t tmpfs none /dev/shm && exec \"$@\"";
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"]);
    command.arg(flushmark().get_program());
    command.args(["run", &plan, "--quiet", "--target", target.path().to_str().unwrap()]);
    let child = command
        .env_remove("XDG_RUNTIME_DIR")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let place = std::path::PathBuf::from(format!("/proc/{}/root/dev/shm", child.id()));
    // Before the mounts, the place is that of all processes.
    let process = u64::from(child.id());
    until_told(&place, |told| told["process"] == process && told["iops"].is_f64());
    assert_eq!(interrupt(child, "-INT", SOON).code, Some(130));
}

#[test]
fn on_a_disk_nothing_is_told() {
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = tempfile::tempdir().unwrap();
    let plan = plan(
        disk.path(),
        "[[test]]\npattern = \"randwrite\"\nsize = \"1MiB\"\nwarm_up = \"0s\"\ntime = \"1500ms\"\n",
    );
    let mut command = flushmark();
    command.args(["run", &plan, "--quiet", "--target", target.path().to_str().unwrap()]);
    let mut child = command
        .env("XDG_RUNTIME_DIR", disk.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut looks = 0;
    while child.try_wait().unwrap().is_none() {
        assert_eq!(entries(disk.path()), ["plan.toml"]);
        looks += 1;
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(Run::of(child.wait_with_output().unwrap()).code, Some(0));
    assert!(looks > 10, "{looks}");
}
