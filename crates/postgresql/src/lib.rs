//! A private PostgreSQL server for a test, in a temporary directory, on a socket that no other
//! program uses; on request also with TLS on a local port. Failures panic, because a test fails by
//! panicking.
//!
//! ```
//! let Some(server) = postgresql::Server::start("of the documentation") else { return };
//! server.database("fleet");
//! assert_eq!(server.sql("fleet", "SELECT 1 + 1"), "2");
//! ```

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testbed::{Certificate, is_root};

/// The directory in which Debian installs the programs of this version.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// Password of this cluster's superuser.
pub const PASSWORD: &str = "p@ss:word";
const PASSWORD_IN_URL: &str = "p%40ss%3Aword";

/// The port that encrypts.
struct Encrypted {
    port: u16,
    certificate: Certificate,
}

/// A server that is stopped on drop.
pub struct Server {
    directory: tempfile::TempDir,
    process: Option<Child>,
    /// If it also listens on a TCP port.
    encrypted: Option<Encrypted>,
}

impl Server {
    /// Starts a server that listens only on a socket. Returns `None`, with a message on stderr, if
    /// PostgreSQL is not installed.
    ///
    /// # Panics
    /// If it is installed but does not start.
    pub fn start(test: &str) -> Option<Server> {
        Server::start_in(&std::env::temp_dir(), test)
    }

    /// Like [`Server::start`], with its files in a new directory in `place`.
    ///
    /// # Panics
    /// If it is installed but does not start.
    pub fn start_in(place: &Path, test: &str) -> Option<Server> {
        let mut server = Server::set_up(test, place)?;
        server.up();
        Some(server)
    }

    /// Starts a server that also listens on a port of 127.0.0.1, with TLS and a certificate for
    /// `localhost` that is signed by its own CA.
    ///
    /// # Panics
    /// If it is installed but does not start.
    pub fn start_encrypting(test: &str) -> Option<Server> {
        if Command::new("openssl").arg("version").output().is_err() {
            eprintln!("skipped: {test}: `openssl` not found (package openssl)");
            return None;
        }
        let mut server = Server::set_up(test, &std::env::temp_dir())?;
        let certificate = Certificate::make(server.directory.path());
        if is_root() {
            let files = [&certificate.certificate, &certificate.key];
            done(Command::new("chown").arg("postgres:postgres").args(files));
        }
        // The port was free a moment ago; if it is taken in the meantime, the server reports it and
        // the test fails.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        server.encrypted = Some(Encrypted { port, certificate });
        server.up();
        Some(server)
    }

    fn set_up(test: &str, place: &Path) -> Option<Server> {
        if !Path::new(PROGRAMS).join("initdb").exists() {
            eprintln!("skipped: {test}: PostgreSQL 15 not found (package postgresql-15)");
            return None;
        }
        if is_root() && !account_exists() {
            eprintln!(
                "skipped: {test}: PostgreSQL does not run as root, and the account `postgres` does \
                 not exist"
            );
            return None;
        }
        let directory = tempfile::tempdir_in(place).unwrap();
        let password = directory.path().join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        if is_root() {
            done(Command::new("chown").arg("-R").arg("postgres:postgres").arg(directory.path()));
        }
        let server = Server { directory, process: None, encrypted: None };
        done(
            as_owner("initdb")
                .arg("--pgdata")
                .arg(server.data())
                .arg("--pwfile")
                .arg(&password)
                .args([
                    "--username=postgres", "--auth=scram-sha-256", "--no-sync", "--no-locale",
                    "--encoding=UTF8",
                ]),
        );
        Some(server)
    }

    /// The certificate with which it encrypts.
    ///
    /// # Panics
    /// If the server was not started with a port.
    pub fn certificate(&self) -> &Certificate {
        &self.encrypted.as_ref().unwrap().certificate
    }

    /// The TCP port.
    ///
    /// # Panics
    /// If the server was not started with a port.
    pub fn port(&self) -> u16 {
        self.encrypted.as_ref().unwrap().port
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Starts the server (again).
    ///
    /// # Panics
    /// If it does not become ready within a minute.
    pub fn up(&mut self) {
        let sockets = format!("unix_socket_directories={}", self.directory.path().display());
        let mut postgres = as_owner("postgres");
        postgres.arg("-D").arg(self.data());
        let listening = match &self.encrypted {
            None => vec!["listen_addresses=".to_owned()],
            Some(Encrypted { port, certificate }) => vec![
                "listen_addresses=127.0.0.1".to_owned(),
                format!("port={port}"),
                "ssl=on".to_owned(),
                format!("ssl_cert_file={}", certificate.certificate.display()),
                format!("ssl_key_file={}", certificate.key.display()),
            ],
        };
        let settings = [sockets, "fsync=on".to_owned(), "max_connections=40".to_owned()];
        for setting in settings.into_iter().chain(listening) {
            postgres.args(["-c", &setting]);
        }
        let log = std::fs::File::create(self.directory.path().join("log")).unwrap();
        postgres.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.process = Some(postgres.spawn().unwrap());
        let begun = Instant::now();
        while !self.is_ready() {
            assert!(
                begun.elapsed() < Duration::from_mins(1),
                "{}",
                std::fs::read_to_string(self.log()).unwrap()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    fn is_ready(&self) -> bool {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        log.contains("database system is ready to accept connections")
    }

    /// Stops the server immediately, like a crash.
    ///
    /// # Panics
    /// If it cannot be stopped.
    pub fn down(&mut self) {
        if let Some(mut process) = self.process.take() {
            // SIGQUIT: no checkpoint, no waiting for clients.
            done(Command::new("sh").args(["-c", &format!("kill -QUIT {}", process.id())]));
            process.wait().unwrap();
        }
    }

    pub fn url(&self, database: &str) -> String {
        self.url_with(PASSWORD_IN_URL, database)
    }

    /// The URL of a database with another password.
    pub fn url_with(&self, password: &str, database: &str) -> String {
        let host = self.directory.path().display().to_string().replace('/', "%2F");
        let port = self.encrypted.as_ref().map(|encrypted| format!(":{}", encrypted.port));
        let port = port.unwrap_or_default();
        format!("postgres://postgres:{password}@{host}{port}/{database}")
    }

    /// The URL of a database by host name, without a password.
    ///
    /// # Panics
    /// If the server was not started with a port.
    pub fn url_over_tcp(&self, host: &str, database: &str) -> String {
        format!("postgres://postgres@{host}:{}/{database}", self.port())
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Creates an empty database; returns its URL.
    pub fn database(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(name)
    }

    /// The output of psql for a statement.
    ///
    /// # Panics
    /// If the statement fails.
    pub fn sql(&self, database: &str, statement: &str) -> String {
        let mut psql = Command::new(Path::new(PROGRAMS).join("psql"));
        psql.args([
            "--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1", "-U",
            "postgres",
        ]);
        psql.arg("-h")
            .arg(self.directory.path())
            .args(["-d", database, "-c", statement])
            .env("PGPASSWORD", PASSWORD);
        psql.env(
            "PGPORT",
            self.encrypted.as_ref().map_or(5432, |encrypted| encrypted.port).to_string(),
        );
        done(&mut psql)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.down();
    }
}

fn account_exists() -> bool {
    Command::new("id").arg("postgres").output().is_ok_and(|output| output.status.success())
}

/// A program of PostgreSQL, run as a user other than root, which it refuses.
fn as_owner(program: &str) -> Command {
    let path = Path::new(PROGRAMS).join(program);
    if !is_root() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
        .arg(path)
        .current_dir("/");
    command
}

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
