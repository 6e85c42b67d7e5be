//! The PostgreSQL server that keeps the runs, on the controller's address in the hosts' network.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::Interruption;

/// The directory in which Debian installs the programs of this version.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// The store, without the password.
pub const URL: &str = "postgres://postgres@10.213.0.1:5433/postgres";
/// Its characters are quoted in some way by each file that contains it.
pub const PASSWORD: &str = r"a:b\c";

/// A server, stopped when dropped.
pub struct Server {
    directory: PathBuf,
    interruption: Interruption,
}

impl Server {
    pub fn start(parent: &Path, interruption: &Interruption) -> anyhow::Result<Server> {
        let directory = parent.join("postgres");
        let server = Server { directory, interruption: interruption.clone() };
        let data = server.data();
        let password = parent.join("postgres-password");
        std::fs::create_dir(&server.directory)
            .with_context(|| format!("cannot create {}", server.directory.display()))?;
        std::fs::write(&password, format!("{PASSWORD}\n"))?;
        let owner = std::process::Command::new("chown")
            .arg("postgres")
            .args([&server.directory, &password])
            .output()?;
        anyhow::ensure!(owner.status.success(), "{}", super::said(&owner));
        let password = format!("--pwfile={}", password.display());
        server.run("initdb", &["-D", &data, "--auth=scram-sha-256", "--no-sync", &password])?;
        let rules = Path::new(&data).join("pg_hba.conf");
        let mut text = std::fs::read_to_string(&rules)?;
        text += "host all all 10.213.0.0/24 scram-sha-256\n";
        std::fs::write(&rules, text)?;
        server.up()?;
        Ok(server)
    }

    pub fn up(&self) -> anyhow::Result<()> {
        let socket = self.directory.display();
        let options = format!("-h 10.213.0.1 -p 5433 -k {socket}");
        let log = format!("{socket}/log");
        self.run("pg_ctl", &["-D", &self.data(), "-w", "-l", &log, "-o", &options, "start"])
    }

    /// Ends it as a crash does: connections are lost, and nothing is written any more.
    pub fn crash(&self) -> anyhow::Result<()> {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"])
    }

    /// The value that a query returns.
    pub fn answer(&self, query: &str) -> anyhow::Result<String> {
        let mut psql = Command::new("psql");
        psql.env("PGPASSWORD", PASSWORD).args([URL, "--no-psqlrc", "-qtAc", query]);
        Ok(self.interruption.text(&mut psql)?.trim().to_owned())
    }

    fn data(&self) -> String {
        self.directory.join("data").to_string_lossy().into_owned()
    }

    fn run(&self, program: &str, args: &[&str]) -> anyhow::Result<()> {
        let program = Path::new(PROGRAMS).join(program);
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program).args(args).current_dir("/");
        self.interruption.text(&mut command).map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !Path::new(&self.data()).join("postmaster.pid").exists() {
            return;
        }
        let stop = ["-D", &self.data(), "-m", "immediate", "stop"];
        let program = Path::new(PROGRAMS).join("pg_ctl");
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program).args(stop).current_dir("/");
        if !command.output().is_ok_and(|output| output.status.success()) {
            eprintln!("PostgreSQL could not be stopped");
        }
    }
}
