//! A server that runs on this host: its directories and its process.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use database::{Facts, LogPlace};

use crate::keeping::host_name;

/// Seconds between the start that a server reports and the one in its file.
const STARTED_DIFFERENCE_MAX_S: u64 = 2;

pub struct Here {
    /// The directory of the log.
    pub log: PathBuf,
    /// The directory of the tables.
    pub data: PathBuf,
    /// The server's process, or the first of them.
    pub pid: u32,
}

impl Here {
    /// Finds the server on this host.
    ///
    /// # Errors
    /// Why it is not known to run here.
    pub fn of(facts: &Facts) -> Result<Here, String> {
        let place = facts.log.as_ref().map_err(Clone::clone)?;
        let pid = process(place)?;
        let directory = |path: &Path| {
            fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Here { log: directory(&place.directory)?, data: directory(&place.data)?, pid })
    }
}

/// Checks that the log in this place is that of the server: another host, or a container, may have
/// a directory of the same name.
fn process(log: &LogPlace) -> Result<u32, String> {
    if let (Some(host), Some(own)) = (&log.host, host_name())
        && *host != own
    {
        return Err(format!("the server runs on the host {}", unseen::escaped(host)));
    }
    let shown = log.pid_file.display();
    let text = fs::read_to_string(&log.pid_file).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => {
            format!("this user may not read {shown}; run flushmark as root or as the server's user")
        }
        ErrorKind::NotFound => format!(
            "{shown} does not exist here: the server runs on another host or in a container"
        ),
        _ => format!("{shown}: {error}"),
    })?;
    running(&text, log.started_s)
        .ok_or_else(|| format!("{shown} is not that of the server, which runs somewhere else"))
}

/// The file has the server's process ID in its first line; PostgreSQL's has the time of its start in
/// the third.
fn running(pid_file: &str, started_s: Option<u64>) -> Option<u32> {
    let mut lines = pid_file.lines();
    let pid = lines.next().and_then(|line| line.trim().parse::<u32>().ok())?;
    let is_alive = Path::new(&format!("/proc/{pid}")).exists();
    let started_here = lines.nth(1).and_then(|line| line.trim().parse::<u64>().ok());
    let is_same = started_s.is_none_or(|started| {
        started_here.is_some_and(|here| here.abs_diff(started) <= STARTED_DIFFERENCE_MAX_S)
    });
    (is_alive && is_same).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_servers_file() {
        let own = std::process::id();
        let file = format!("{own}\n/data\n1764190000\n5432\n");
        assert_eq!(running(&file, Some(1_764_190_001)), Some(own));
        assert_eq!(running(&format!("{own}\n"), None), Some(own));
        assert_eq!(running(&file, Some(1_764_190_900)), None, "started at another time");
        assert_eq!(running("0\n/data\n1764190000\n", Some(1_764_190_000)), None, "no such process");
        assert_eq!(running("", None), None);
        assert_eq!(running(&format!("{own}\n"), Some(1)), None);
    }
}
