//! A PostgreSQL server of a test's own, in a temporary directory, on a socket that nobody else sees.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where Debian keeps the programs of this version.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// Its own administrator's, of this cluster only.
const PASSWORD: &str = "p@ss:word";
const PASSWORD_IN_URL: &str = "p%40ss%3Aword";

/// A server that is stopped when the test is over.
pub struct Server {
    directory: tempfile::TempDir,
    process: Option<Child>,
}

impl Server {
    /// `None` where there is no PostgreSQL; that is said.
    pub fn start(test: &str) -> Option<Server> {
        if !Path::new(PROGRAMS).join("initdb").exists() {
            eprintln!("skipped: {test}: there is no PostgreSQL 15 (package postgresql-15)");
            return None;
        }
        if is_root() && !account_exists() {
            eprintln!("skipped: {test}: PostgreSQL does not run as root, and there is no account `postgres`");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let password = directory.path().join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        if is_root() {
            done(Command::new("chown").arg("-R").arg("postgres:postgres").arg(directory.path()));
        }
        let mut server = Server { directory, process: None };
        done(as_owner("initdb").arg("--pgdata").arg(server.data()).arg("--pwfile").arg(&password).args([
            "--username=postgres",
            "--auth=scram-sha-256",
            "--no-sync",
            "--no-locale",
            "--encoding=UTF8",
        ]));
        server.up();
        Some(server)
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Starts it (again).
    pub fn up(&mut self) {
        let sockets = format!("unix_socket_directories={}", self.directory.path().display());
        let mut postgres = as_owner("postgres");
        postgres.arg("-D").arg(self.data());
        for setting in [sockets.as_str(), "listen_addresses=", "fsync=on", "shared_buffers=16MB", "max_connections=40"]
        {
            postgres.args(["-c", setting]);
        }
        let log = std::fs::File::create(self.directory.path().join("log")).unwrap();
        postgres.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.process = Some(postgres.spawn().unwrap());
        let begun = Instant::now();
        while !self.is_ready() {
            assert!(begun.elapsed() < Duration::from_mins(1), "{}", std::fs::read_to_string(self.log()).unwrap());
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

    /// Stops it at once, as a crash does.
    pub fn down(&mut self) {
        if let Some(mut process) = self.process.take() {
            // SIGQUIT: no checkpoint, no waiting for clients.
            done(Command::new("kill").args(["-QUIT", &process.id().to_string()]));
            process.wait().unwrap();
        }
    }

    /// A database's URL.
    pub fn url(&self, database: &str) -> String {
        self.url_with(PASSWORD_IN_URL, database)
    }

    /// With another password.
    pub fn url_with(&self, password: &str, database: &str) -> String {
        let host = self.directory.path().display().to_string().replace('/', "%2F");
        format!("postgres://postgres:{password}@{host}/{database}")
    }

    /// Where its socket is.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// An empty database of this name.
    pub fn database(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(name)
    }

    /// What psql prints.
    pub fn sql(&self, database: &str, statement: &str) -> String {
        let mut psql = Command::new(Path::new(PROGRAMS).join("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1", "-U", "postgres"]);
        psql.arg("-h").arg(self.directory.path()).args(["-d", database, "-c", statement]).env("PGPASSWORD", PASSWORD);
        done(&mut psql)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.down();
    }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

fn account_exists() -> bool {
    Command::new("id").arg("postgres").output().is_ok_and(|output| output.status.success())
}

/// One of its programs as somebody who may run it: it refuses root.
fn as_owner(program: &str) -> Command {
    let path = Path::new(PROGRAMS).join(program);
    if !is_root() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path).current_dir("/");
    command
}

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
