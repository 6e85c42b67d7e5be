//! A database server on files in memory, for comparisons.

use std::path::Path;

use anyhow::Context as _;

use super::session::Session;
use super::{Database, Durability, Place, trial};

/// Larger than those of the rig, whose many checkpoints would be the noise of a comparison.
const POSTGRES: [&str; 8] = [
    "-c", "max_connections=100", "-c", "shared_buffers=64MB", "-c", "max_wal_size=1GB", "-c",
    "track_wal_io_timing=on",
];
const MARIADB: [&str; 3] =
    ["--innodb-log-file-size=256M", "--innodb-buffer-pool-size=128M", "--performance-schema=ON"];

/// Stopped when dropped.
pub struct RunningServer {
    pub url: String,
    _session: Session,
    _directory: tempfile::TempDir,
}

impl RunningServer {
    pub fn postgres() -> anyhow::Result<RunningServer> {
        RunningServer::start(&super::postgres::Postgres, &POSTGRES)
    }

    pub fn mariadb() -> anyhow::Result<RunningServer> {
        RunningServer::start(&super::mariadb::Mariadb, &MARIADB)
    }

    fn start(database: &'static dyn Database, arguments: &[&str]) -> anyhow::Result<RunningServer> {
        let directory = super::directory_in(Path::new("/dev/shm"))?;
        let data = trial::template(database, directory.path())?;
        let place = Place { data, elsewhere: directory.path().join("elsewhere") };
        trial::make_elsewhere(database, &place)?;
        let session = Session::open_with(database, &place, Durability::On, arguments)?;
        let url = database.url(&place).context("the database has no server")?;
        Ok(RunningServer { url, _session: session, _directory: directory })
    }
}
