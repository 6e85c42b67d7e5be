//! `cargo xtask versus insert-benchmark`: the load step of `flushmark db bench` beside the method of
//! the published client, which is written in Python, with one client each, on servers that do not
//! sync. Rows per second, and the client's processor time for a row.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use measurement::RunDocument;
use rustix::process::{Pid, Signal, kill_process};

use super::{Compared, Shared, Wanted, and_build, in_turns, print};
use crate::build;
use crate::command::output;
use crate::packages;

const PEER: &str = include_str!("insert_load.py");
/// Debian's own Python, which has the packages.
const PYTHON: &str = "/usr/bin/python3";
const PACKAGES: [&str; 4] =
    ["postgresql-15", "mariadb-server", "python3-psycopg2", "python3-mysqldb"];
const POSTGRES_PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    #[command(flatten)]
    shared: Shared,

    /// Rows that each contestant loads
    #[arg(long, default_value_t = 200_000)]
    rows: u64,
}

/// A loaded row.
#[derive(Debug, Clone, Copy)]
struct Load {
    rows_per_s: f64,
    cpu_us: f64,
}

#[derive(Debug, Clone, Copy)]
enum Contestant<'a> {
    Flushmark(&'a Path),
    Python,
}

#[derive(Debug, Clone, Copy)]
enum Product {
    Postgres,
    Mariadb,
}

/// Runs both on each server, and prints the table.
pub fn run(options: &Options) -> anyhow::Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "the servers run as their own users; run this as root"
    );
    packages::install(&PACKAGES)?;
    let mut contestants = vec![Contestant::Flushmark(build::flushmark()?), Contestant::Python];
    contestants.extend(options.shared.builds.iter().map(|build| Contestant::Flushmark(build)));
    let mut table = Vec::new();
    for product in [Product::Postgres, Product::Mariadb] {
        let row = format!("load, {}", product.name());
        if !options.shared.wants(&row) {
            continue;
        }
        eprintln!("{row}");
        let server = Server::start(product)?;
        let samples = in_turns(
            options.shared.rounds,
            &contestants,
            |load: &Load| load.rows_per_s,
            |who| server.load(*who, options.rows),
        )?;
        let ours = &samples[0];
        for (contestant, theirs) in contestants.iter().zip(&samples).skip(1) {
            let sides = [ours.as_slice(), theirs.as_slice()];
            let rate: fn(&Load) -> f64 = |load| load.rows_per_s;
            let cpu: fn(&Load) -> f64 = |load| load.cpu_us;
            match contestant {
                Contestant::Python => {
                    let wanted = Wanted::AtLeast(2.0);
                    table.push(Compared::medians(&row, "rows a second", sides, rate, wanted));
                    let wanted = Wanted::AtMost(1.0);
                    table
                        .push(Compared::medians(&row, "client's CPU us a row", sides, cpu, wanted));
                }
                Contestant::Flushmark(build) => table.push(Compared::medians(
                    &row,
                    and_build("rows", build),
                    sides,
                    rate,
                    Wanted::BUILD_RATE,
                )),
            }
        }
    }
    print(&table);
    Ok(())
}

impl Product {
    const fn name(self) -> &'static str {
        match self {
            Product::Postgres => "PostgreSQL",
            Product::Mariadb => "MariaDB",
        }
    }

    const fn user(self) -> &'static str {
        match self {
            Product::Postgres => "postgres",
            Product::Mariadb => "mysql",
        }
    }
}

/// A server without syncs in memory, stopped when dropped.
struct Server {
    product: Product,
    directory: tempfile::TempDir,
    child: Child,
}

impl Server {
    fn start(product: Product) -> anyhow::Result<Server> {
        let directory = tempfile::Builder::new().prefix("versus-").tempdir_in("/dev/shm")?;
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755))?;
        let data = directory.path().join("data");
        std::fs::create_dir(&data)?;
        std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o700))?;
        let id = |flag| -> anyhow::Result<u32> {
            Ok(output("id", &[flag, product.user()])?.trim().parse()?)
        };
        let ids = (id("-u")?, id("-g")?);
        chown(&data, Some(ids.0), Some(ids.1))?;
        let data = data.display().to_string();
        let as_user = |words: &[String]| {
            let (user, group) = (format!("--reuid={}", ids.0), format!("--regid={}", ids.1));
            let mut command = Command::new("setpriv");
            command
                .args([user.as_str(), &group, "--clear-groups", "--pdeathsig=KILL", "--"])
                .args(words);
            command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
            command
        };
        let (initialise, serve) = product.commands(&data);
        let status = as_user(&initialise).stderr(Stdio::null()).status()?;
        ensure!(status.success(), "`{}` ended with {status}", initialise.join(" "));
        let log = std::fs::File::create(directory.path().join("log"))?;
        let child = as_user(&serve).stderr(log).spawn().context("cannot start the server")?;
        let server = Server { product, directory, child };
        server.wait()?;
        Ok(server)
    }

    /// Waits until it accepts clients, and creates the peer's database.
    fn wait(&self) -> anyhow::Result<()> {
        let socket = self.socket().display().to_string();
        let begun = Instant::now();
        loop {
            let answer = match self.product {
                Product::Postgres => output(
                    &format!("{POSTGRES_PROGRAMS}/psql"),
                    &["--host", &socket, "--username", "postgres", "--command", "SELECT 1"],
                ),
                Product::Mariadb => output(
                    "mariadb",
                    &[
                        "--no-defaults", "--user", "root", "--socket", &socket, "--execute",
                        "CREATE DATABASE peer",
                    ],
                ),
            };
            match answer {
                Ok(_) => return Ok(()),
                Err(error) if begun.elapsed() > PATIENCE => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    /// PostgreSQL's directory of the socket, MariaDB's socket.
    fn socket(&self) -> PathBuf {
        let data = self.directory.path().join("data");
        match self.product {
            Product::Postgres => data,
            Product::Mariadb => data.join("socket"),
        }
    }

    fn load(&self, contestant: Contestant<'_>, rows: u64) -> anyhow::Result<Load> {
        let rows = rows.to_string();
        match contestant {
            Contestant::Flushmark(binary) => self.flushmark(binary, &rows),
            Contestant::Python => self.python(&rows),
        }
    }

    fn flushmark(&self, binary: &Path, rows: &str) -> anyhow::Result<Load> {
        let socket = self.socket().display().to_string().replace('/', "%2F");
        let url = match self.product {
            Product::Postgres => format!("postgres://postgres@{socket}/postgres"),
            Product::Mariadb => format!("mysql://root@{socket}/"),
        };
        let text = output(
            &binary.to_string_lossy(),
            &[
                "db", "bench", &url, "--rows", rows, "--steps", "l.i0", "--busy", "--quiet",
                "--no-store", "--format", "json",
            ],
        )?;
        let document = RunDocument::from_json(&text)?;
        let result = document.results.first().context("flushmark measured nothing")?;
        let inserts = result.insert_benchmark.as_ref().and_then(|step| step.inserts.as_ref());
        let inserts = inserts.context("flushmark inserted nothing")?;
        let cpu_s = result.cpu.user_s + result.cpu.system_s;
        Ok(Load { rows_per_s: inserts.rows_per_s, cpu_us: cpu_s * 1e6 / inserts.rows as f64 })
    }

    fn python(&self, rows: &str) -> anyhow::Result<Load> {
        let product = match self.product {
            Product::Postgres => "postgres",
            Product::Mariadb => "mysql",
        };
        let socket = self.socket().display().to_string();
        let text = output(PYTHON, &["-c", PEER, product, &socket, rows])?;
        let figures: Vec<f64> =
            text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let &[rows_per_s, cpu_us] = figures.as_slice() else {
            anyhow::bail!("the client in Python printed {text}");
        };
        Ok(Load { rows_per_s, cpu_us })
    }
}

impl Product {
    /// What lays out a data directory, and what serves it.
    fn commands(self, data: &str) -> (Vec<String>, Vec<String>) {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match self {
            Product::Postgres => (
                owned(&[
                    &format!("{POSTGRES_PROGRAMS}/initdb"),
                    "--pgdata",
                    data,
                    "--username=postgres",
                    "--auth=trust",
                    "--no-sync",
                ]),
                owned(&[
                    &format!("{POSTGRES_PROGRAMS}/postgres"),
                    "-D",
                    data,
                    "-c",
                    "listen_addresses=",
                    "-c",
                    &format!("unix_socket_directories={data}"),
                    "-c",
                    "fsync=off",
                    "-c",
                    "shared_buffers=256MB",
                ]),
            ),
            Product::Mariadb => (
                owned(&[
                    "mariadb-install-db",
                    "--no-defaults",
                    &format!("--datadir={data}"),
                    "--auth-root-authentication-method=normal",
                    "--skip-test-db",
                ]),
                owned(&[
                    "mariadbd",
                    "--no-defaults",
                    &format!("--datadir={data}"),
                    &format!("--socket={data}/socket"),
                    "--skip-networking",
                    "--skip-grant-tables",
                    "--innodb-flush-log-at-trx-commit=0",
                    "--innodb-buffer-pool-size=256M",
                ]),
            ),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            // PostgreSQL's fast shutdown ends its other processes too.
            let _ = kill_process(pid, Signal::INT);
            if matches!(self.product, Product::Mariadb) {
                let _ = kill_process(pid, Signal::TERM);
            }
        }
        let _ = self.child.wait();
    }
}
