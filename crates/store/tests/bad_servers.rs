//! PostgreSQL servers that cannot be reached, reject the login or close the connection: each is
//! reported in one sentence.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use samples::document::checked;
use std::time::{Duration, Instant};

use measurement::RunDocument;
use postgresql::Server;
use store::{Filter, Location, Origin, Problem, State, Store};

fn refusal(url: &str) -> String {
    Store::open_waiting(&Location::Postgres(url.to_owned()), true, Duration::from_secs(2))
        .unwrap_err()
        .to_string()
}

#[test]
fn what_is_wrong_with_an_address() {
    insta::assert_snapshot!(refusal("postgres://u:secret@127.0.0.1:1/d"), @"the store postgres://u@127.0.0.1:1/d cannot be reached: Connection refused (os error 111)");
    insta::assert_snapshot!(refusal("postgres://u:secret@no-such-host.invalid/d").split(": ").next().unwrap(), @"the store postgres://u@no-such-host.invalid/d cannot be reached");
    insta::assert_snapshot!(refusal("postgres://u:secret@h/d?connect_timeout=soon"), @"the store postgres://u@h/d?connect_timeout=soon has an invalid URL: invalid value for option `connect_timeout`; expected postgres://USER@HOST/DATABASE");
    insta::assert_snapshot!(refusal("postgres://u:secret@h/d?sslmode=full"), @"the store postgres://u@h/d?sslmode=full has an invalid URL: unknown sslmode `full`, expected disable, prefer, require, verify-ca or verify-full; expected postgres://USER@HOST/DATABASE");
    insta::assert_snapshot!(refusal("postgres://u:secret@h/d?sslmode=verify-full"), @"the store postgres://u@h/d?sslmode=verify-full cannot be connected to with this sslmode: sslmode=verify-full needs a trusted CA certificate: sslrootcert=FILE or ~/.postgresql/root.crt");
    insta::assert_snapshot!(refusal("postgres://u:secret@h/d?sslmode=verify-ca&sslrootcert=/nowhere.crt"), @"the store postgres://u@h/d?sslmode=verify-ca&sslrootcert=/nowhere.crt cannot be connected to with this sslmode: sslrootcert=/nowhere.crt: I/O error: No such file or directory (os error 2)");
    insta::assert_snapshot!(refusal("postgres://u:secret@h/d?sslmode=verify-ca&sslrootcert=/dev/null"), @"the store postgres://u@h/d?sslmode=verify-ca&sslrootcert=/dev/null cannot be connected to with this sslmode: sslrootcert=/dev/null: it contains no certificate");
}

/// libpq's table of what each mode accepts (its documentation, "Protection Provided in Different
/// Modes"), and whether the connection is then encrypted.
#[test]
fn connections_are_encrypted_as_the_url_asks() {
    let Some(server) = Server::start_encrypting("connections_are_encrypted_as_the_url_asks") else {
        return;
    };
    server.database("fleet");
    let by = |host: &str, query: &str| -> Result<(), String> {
        let url = server
            .url_over_tcp(host, "fleet")
            .replace("postgres@", &format!("postgres:{}@", "p%40ss%3Aword"));
        Store::open_waiting(&Location::Postgres(url + query), true, Duration::from_secs(2))
            .map(drop)
            .map_err(|error| {
                error
                    .problem
                    .to_string()
                    .replace(&server.directory().display().to_string(), "SERVER")
            })
    };
    let certificate = server.certificate();
    let files = [&certificate.authority, &certificate.certificate]
        .map(|path| path.display().to_string().replace('/', "%2F"));
    let [authority, own] = files.each_ref();
    for mode in ["prefer", "require"] {
        by("localhost", &format!("?sslmode={mode}")).unwrap();
        // The certificate does not name the address 127.0.0.1.
        by("127.0.0.1", &format!("?sslmode={mode}")).unwrap();
    }
    for root in [authority, own] {
        by("localhost", &format!("?sslmode=verify-full&sslrootcert={root}")).unwrap();
        by("127.0.0.1", &format!("?sslmode=verify-ca&sslrootcert={root}")).unwrap();
        let misnamed =
            by("127.0.0.1", &format!("?sslmode=verify-full&sslrootcert={root}")).unwrap_err();
        assert!(misnamed.contains("not valid for name"), "{misnamed}");
    }
    insta::assert_snapshot!(by("127.0.0.1", &format!("?sslmode=verify-full&sslrootcert={authority}")).unwrap_err(), @r#"cannot be connected to with this sslmode: invalid peer certificate: certificate not valid for name "127.0.0.1"; certificate is only valid for DnsName("localhost")"#);
    // Another CA, also if only encryption was requested.
    let stranger = Server::start_encrypting("connections_are_encrypted_as_the_url_asks").unwrap();
    let stranger = stranger.certificate().authority.display().to_string();
    for mode in ["require", "verify-ca", "verify-full"] {
        let untrusted =
            by("localhost", &format!("?sslmode={mode}&sslrootcert={stranger}")).unwrap_err();
        assert!(untrusted.starts_with("cannot be connected to with this sslmode: "), "{untrusted}");
    }
    insta::assert_snapshot!(by("localhost", &format!("?sslmode=require&sslrootcert={stranger}")).unwrap_err(), @"cannot be connected to with this sslmode: invalid peer certificate: BadSignature");

    // Over TCP, the server accepts first only encrypted and then only unencrypted connections.
    let rules = server.directory().join("data/pg_hba.conf");
    let reload = |rule: &str| {
        std::fs::write(
            &rules,
            format!("local all all scram-sha-256\n{rule} all all all scram-sha-256\n"),
        )
        .unwrap();
        assert_eq!(server.sql("postgres", "SELECT pg_reload_conf()"), "t");
        std::thread::sleep(Duration::from_millis(500));
    };
    reload("hostssl");
    by("localhost", "").unwrap();
    assert!(by("localhost", "?sslmode=disable").unwrap_err().contains("no encryption"));
    reload("hostnossl");
    by("localhost", "?sslmode=disable").unwrap();
    assert!(by("localhost", "?sslmode=require").unwrap_err().contains("SSL encryption"));
}

#[test]
fn encryption_that_a_server_does_not_offer() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        // A server without encryption answers the request for it (eight bytes) with N.
        let (mut client, _) = listener.accept().unwrap();
        client.read_exact(&mut [0; 8]).unwrap();
        client.write_all(b"N").unwrap();
    });
    let url = format!("postgres://u@127.0.0.1:{port}/d?sslmode=require");
    insta::assert_snapshot!(refusal(&url).replace(&port.to_string(), "PORT"), @"the store postgres://u@127.0.0.1:PORT/d?sslmode=require cannot be connected to with this sslmode: server does not support TLS");
    server.join().unwrap();
}

#[test]
fn a_server_rejects_a_login_or_closes_the_connection() {
    let Some(mut server) = Server::start("a_server_rejects_a_login_or_closes_the_connection")
    else {
        return;
    };
    let shown = |server: &Server, text: String| {
        text.replace(&server.directory().display().to_string().replace('/', "%2F"), "SOCKET")
    };
    insta::assert_snapshot!(shown(&server, refusal(&server.url_with("wrong", "postgres"))), @r#"the store postgres://postgres@SOCKET/postgres rejected the login: password authentication failed for user "postgres". Give the password in PGPASSWORD, in the file named by PGPASSFILE or ~/.pgpass, or in the URL"#);
    // No password at all, which the client detects by itself.
    let silent = server.url_with("", "postgres").replace(":@", "@");
    let silent = refusal(&format!("{silent}?passfile=%2Fnowhere"));
    assert!(silent.contains("rejected the login: password missing"), "{silent}");
    insta::assert_snapshot!(shown(&server, refusal(&server.url("absent"))), @r#"the store postgres://postgres@SOCKET/absent does not exist: database "absent" does not exist. Create it with `createdb`"#);

    let location = Location::Postgres(server.database("fleet"));
    let mut store = Store::open(&location).unwrap();
    let whole = checked();
    let run = store
        .begin(&RunDocument { results: Vec::new(), ..whole.clone() }, &Origin::default())
        .unwrap();
    store.append(run, &whole.results[0]).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap()[0].state, State::Running);

    // Locks of another session.
    let mut impatient = Store::open_waiting(&location, true, Duration::from_millis(200)).unwrap();
    let locked = std::thread::scope(|scope| {
        let server = &server;
        scope.spawn(|| {
            server.sql("fleet", "BEGIN; LOCK TABLE flushmark.runs; SELECT pg_sleep(2); COMMIT")
        });
        std::thread::sleep(Duration::from_millis(700));
        impatient.note(run, "waits").unwrap_err()
    });
    insta::assert_snapshot!(shown(&server, locked.to_string()), @"the store postgres://postgres@SOCKET/fleet has been locked by another process for 0.2 s; try again when that process is done");
    impatient.note(run, "goes on").unwrap();

    // A newer schema.
    server.sql("fleet", "UPDATE flushmark.schema_version SET version = 99");
    insta::assert_snapshot!(shown(&server, Store::open(&location).unwrap_err().to_string()), @"the store postgres://postgres@SOCKET/fleet has schema 99, from a newer flushmark; this version supports schemas up to 3. Use that version or another store");
    server.sql("fleet", "UPDATE flushmark.schema_version SET version = 3");

    // The server stops in the middle of a run and is started again.
    server.down();
    let begun = Instant::now();
    let gone = store.append(run, &whole.results[1]).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(matches!(gone.problem, Problem::Gone(_)), "{gone}");
    insta::assert_snapshot!(shown(&server, gone.to_string()).split(": ").next().unwrap(), @"the store postgres://postgres@SOCKET/fleet closed the connection");
    assert!(matches!(store.append(run, &whole.results[1]).unwrap_err().problem, Problem::Gone(_)));
    let absent = refusal(&server.url("fleet"));
    assert!(absent.contains("cannot be reached"), "{absent}");

    server.up();
    let mut store = Store::open(&location).unwrap();
    let kept = store.get(run).unwrap();
    assert_eq!(kept.summary.state, State::Interrupted);
    assert!(kept.document.results == whole.results[..1], "an acknowledged test is missing");
}
