//! A database server on files in memory, for comparisons.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::mariadb::USUAL_REDO_LOG;
use super::session::Session;
use super::{Database, Durability, LogSize, Place, trial};

/// Larger than those of the rig, whose many checkpoints would be the noise of a comparison.
pub const POSTGRES: [&str; 10] = [
    "-c", "max_connections=100", "-c", "shared_buffers=64MB", "-c", "min_wal_size=80MB", "-c",
    "max_wal_size=1GB", "-c", "track_wal_io_timing=on",
];
pub const MARIADB: [&str; 3] =
    [USUAL_REDO_LOG, "--innodb-buffer-pool-size=128M", "--performance-schema=ON"];

/// Stopped when dropped.
pub struct RunningServer {
    pub url: String,
    /// PostgreSQL's directory of the socket, MariaDB's socket.
    pub socket: PathBuf,
    session: Session,
    _directory: tempfile::TempDir,
}

impl RunningServer {
    pub fn postgres(durability: Durability) -> anyhow::Result<RunningServer> {
        RunningServer::start(&super::postgres::Postgres, durability, &POSTGRES, None)
    }

    pub fn mariadb(durability: Durability) -> anyhow::Result<RunningServer> {
        let socket = Some("mariadb.sock");
        RunningServer::start(&super::mariadb::Mariadb, durability, &MARIADB, socket)
    }

    /// Executes statements.
    pub fn execute(&mut self, sql: &str) -> anyhow::Result<()> {
        self.session.ask(sql).map(drop)
    }

    fn start(
        database: &'static dyn Database,
        durability: Durability,
        arguments: &[&str],
        socket: Option<&str>,
    ) -> anyhow::Result<RunningServer> {
        let directory = super::directory_in(Path::new("/dev/shm"))?;
        let data = trial::template(database, directory.path(), LogSize::Usual)?;
        let place = Place { data, elsewhere: directory.path().join("elsewhere"), port: None };
        trial::make_elsewhere(database, &place)?;
        let session = Session::open_with(database, &place, durability, arguments)?;
        let url = database.url(&place).context("the database has no server")?;
        let socket =
            socket.map_or_else(|| place.elsewhere.clone(), |name| place.elsewhere.join(name));
        Ok(RunningServer { url, socket, session, _directory: directory })
    }
}
