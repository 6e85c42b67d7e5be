//! The directory of a server's log, if the server runs on this host.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use database::{Facts, LogPlace};

use crate::keeping::host_name;

/// Seconds between the start that a server reports and the one in its file.
const STARTED_DIFFERENCE_MAX_S: u64 = 2;

/// # Errors
/// If it is not known, or not on this host, with the reason.
pub fn log_directory(facts: &Facts) -> Result<PathBuf, String> {
    let log = facts.log.as_ref().map_err(Clone::clone)?;
    is_here(log)?;
    fs::canonicalize(&log.directory)
        .map_err(|error| format!("{}: {error}", log.directory.display()))
}

/// Checks that the log in this place is that of the server: another host, or a container, may have
/// a directory of the same name.
fn is_here(log: &LogPlace) -> Result<(), String> {
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
    is_running(&text, log.started_s)
        .then_some(())
        .ok_or_else(|| format!("{shown} is not that of the server, which runs somewhere else"))
}

/// The file has the server's process ID in its first line; PostgreSQL's has the time of its start in
/// the third.
fn is_running(pid_file: &str, started_s: Option<u64>) -> bool {
    let mut lines = pid_file.lines();
    let pid = lines.next().and_then(|line| line.trim().parse::<u32>().ok());
    let is_alive = pid.is_some_and(|pid| Path::new(&format!("/proc/{pid}")).exists());
    let started_here = lines.nth(1).and_then(|line| line.trim().parse::<u64>().ok());
    let is_same = started_s.is_none_or(|started| {
        started_here.is_some_and(|here| here.abs_diff(started) <= STARTED_DIFFERENCE_MAX_S)
    });
    is_alive && is_same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_servers_file() {
        let own = std::process::id();
        let file = format!("{own}\n/data\n1764190000\n5432\n");
        assert!(is_running(&file, Some(1_764_190_001)) && is_running(&format!("{own}\n"), None));
        assert!(!is_running(&file, Some(1_764_190_900)), "started at another time");
        assert!(!is_running("0\n/data\n1764190000\n", Some(1_764_190_000)), "no such process");
        assert!(!is_running("", None) && !is_running(&format!("{own}\n"), Some(1)));
    }
}
