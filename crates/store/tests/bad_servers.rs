//! PostgreSQL that cannot be reached, does not let one in, or goes away: a sentence each.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod postgres_server;

use std::time::{Duration, Instant};

use measurement::RunDocument;
use postgres_server::Server;
use store::{Filter, Location, Origin, Problem, State, Store};

fn document() -> RunDocument {
    RunDocument::from_json(include_str!("../../measurement/tests/documents/run-1-check.json")).unwrap()
}

fn refusal(url: &str) -> String {
    Store::open_waiting(&Location::Postgres(url.to_owned()), true, Duration::from_secs(2)).unwrap_err().to_string()
}

#[test]
fn what_is_wrong_with_an_address() {
    insta::assert_snapshot!(refusal("postgres://u:secret@127.0.0.1:1/d"), @"the store postgres://u@127.0.0.1:1/d cannot be reached: Connection refused (os error 111)");
    insta::assert_snapshot!(refusal("postgres://u:secret@no-such-host.invalid/d").split(": ").next().unwrap(), @"the store postgres://u@no-such-host.invalid/d cannot be reached");
    insta::assert_snapshot!(refusal("postgres://u:secret@h/d?connect_timeout=soon"), @"the store postgres://u@h/d?connect_timeout=soon is not named rightly: invalid value for option `connect_timeout`. Write postgres://USER@HOST/DATABASE");
    insta::assert_snapshot!(refusal("postgres://u:secret@h/d?sslmode=require"), @"the store postgres://u@h/d?sslmode=require asks for sslmode=require, and flushmark does not encrypt connections to PostgreSQL. Use a local socket, or an encrypted tunnel and sslmode=disable");
    insta::assert_snapshot!(refusal("postgres://u:secret@h/d?sslmode=verify-full"), @"the store postgres://u@h/d?sslmode=verify-full asks for sslmode=verify, and flushmark does not encrypt connections to PostgreSQL. Use a local socket, or an encrypted tunnel and sslmode=disable");
}

#[test]
fn a_server_says_no_or_goes_away() {
    let Some(mut server) = Server::start("a_server_says_no_or_goes_away") else { return };
    let shown = |server: &Server, text: String| {
        text.replace(&server.directory().display().to_string().replace('/', "%2F"), "SOCKET")
    };
    insta::assert_snapshot!(shown(&server, refusal(&server.url_with("wrong", "postgres"))), @r#"the store postgres://postgres@SOCKET/postgres does not let this user in: password authentication failed for user "postgres". A password is taken from the URL, or from PGPASSWORD"#);
    insta::assert_snapshot!(shown(&server, refusal(&server.url("absent"))), @r#"the store postgres://postgres@SOCKET/absent is not there: database "absent" does not exist. Make it with `createdb`"#);

    let location = Location::Postgres(server.database("fleet"));
    let mut store = Store::open(&location).unwrap();
    let whole = document();
    let run = store.begin(&RunDocument { results: Vec::new(), ..whole.clone() }, &Origin::default()).unwrap();
    store.append(run, &whole.results[0]).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap()[0].state, State::Running);

    // Somebody else's locks.
    let mut impatient = Store::open_waiting(&location, true, Duration::from_millis(200)).unwrap();
    let locked = std::thread::scope(|scope| {
        let server = &server;
        scope.spawn(|| server.sql("fleet", "BEGIN; LOCK TABLE flushmark.runs; SELECT pg_sleep(2); COMMIT"));
        std::thread::sleep(Duration::from_millis(700));
        impatient.note(run, "waits").unwrap_err()
    });
    insta::assert_snapshot!(shown(&server, locked.to_string()), @"the store postgres://postgres@SOCKET/fleet has been locked by another process for 0.2 s; try again when that has ended");
    impatient.note(run, "goes on").unwrap();

    // A newer schema.
    server.sql("fleet", "UPDATE flushmark.schema_version SET version = 99");
    insta::assert_snapshot!(shown(&server, Store::open(&location).unwrap_err().to_string()), @"the store postgres://postgres@SOCKET/fleet has schema 99, of a newer flushmark; this one knows schemas up to 1. Use that version, or another store");
    server.sql("fleet", "UPDATE flushmark.schema_version SET version = 1");

    // The server goes away in the middle of a run, and comes back.
    server.down();
    let begun = Instant::now();
    let gone = store.append(run, &whole.results[1]).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(matches!(gone.problem, Problem::Gone(_)), "{gone}");
    insta::assert_snapshot!(shown(&server, gone.to_string()).split(": ").next().unwrap(), @"the store postgres://postgres@SOCKET/fleet went away");
    assert!(matches!(store.append(run, &whole.results[1]).unwrap_err().problem, Problem::Gone(_)));
    let absent = refusal(&server.url("fleet"));
    assert!(absent.contains("cannot be reached"), "{absent}");

    server.up();
    let mut store = Store::open(&location).unwrap();
    let kept = store.get(run).unwrap();
    assert_eq!(kept.summary.state, State::Interrupted);
    assert!(kept.document.results == whole.results[..1], "what was acknowledged before is there");
}
