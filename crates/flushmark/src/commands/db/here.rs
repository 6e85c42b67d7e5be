//! A server that runs on this host: its directories and its process.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use database::{Facts, LogPlace};

use crate::keeping::host_name;

/// Names of the processes of servers.
const PROGRAMS: [&str; 3] = ["postgres", "mariadbd", "mysqld"];
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
    written(&text, log.started_s)
        .and_then(|pid| process_of(pid, &processes(), &log.data))
        .ok_or_else(|| format!("{shown} is not that of the server, which runs somewhere else"))
}

/// The process ID in the file's first line; `None` if the file is older than the server.
/// PostgreSQL's has the time of its start in the third line.
fn written(pid_file: &str, started_s: Option<u64>) -> Option<u32> {
    let mut lines = pid_file.lines();
    let pid = lines.next().and_then(|line| line.trim().parse::<u32>().ok())?;
    let started_here = lines.nth(1).and_then(|line| line.trim().parse::<u64>().ok());
    let is_same = started_s.is_none_or(|started| {
        started_here.is_some_and(|here| here.abs_diff(started) <= STARTED_DIFFERENCE_MAX_S)
    });
    is_same.then_some(pid)
}

/// A process of a database server on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ServerProcess {
    pid: u32,
    /// Its ID for itself, which differs in a container.
    own_pid: u32,
    /// The directory in which it works: that of its tables. `None` if this user may not see it.
    directory: Option<PathBuf>,
}

impl ServerProcess {
    fn parse(pid: u32, status: &str, directory: Option<PathBuf>) -> Option<ServerProcess> {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        if !PROGRAMS.contains(&field("Name:")?.trim()) {
            return None;
        }
        let own = field("NSpid:").and_then(|pids| pids.split_whitespace().last()?.parse().ok());
        Some(ServerProcess { pid, own_pid: own.unwrap_or(pid), directory })
    }
}

fn processes() -> Vec<ServerProcess> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let process = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        ServerProcess::parse(pid, &status, fs::read_link(entry.path().join("cwd")).ok())
    };
    entries.filter_map(process).collect()
}

/// The process that has this ID in its own namespace and works in the directory of the tables, or
/// the only one that may.
fn process_of(own_pid: u32, processes: &[ServerProcess], data: &Path) -> Option<u32> {
    let data = fs::canonicalize(data).unwrap_or_else(|_| data.to_owned());
    let mut those = processes.iter().filter(|process| process.own_pid == own_pid);
    let there = those.clone().find(|process| process.directory.as_ref() == Some(&data));
    there.map(|process| process.pid).or_else(|| match (those.next(), those.next()) {
        (Some(only), None) if only.directory.is_none() => Some(only.pid),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_servers_file() {
        let file = "4711\n/data\n1764190000\n5432\n";
        assert_eq!(written(file, Some(1_764_190_001)), Some(4711));
        assert_eq!(written("4711\n", None), Some(4711));
        assert_eq!(written(file, Some(1_764_190_900)), None, "started at another time");
        assert_eq!((written("", None), written("4711\n", Some(1))), (None, None));
    }

    #[test]
    fn a_server_in_a_container_has_another_number_outside() {
        let status = "Name:\tpostgres\nPid:\t4711\nNSpid:\t4711\t1\n";
        let process = |pid, status: &str, directory: Option<&str>| {
            ServerProcess::parse(pid, status, directory.map(PathBuf::from))
        };
        let here = process(4711, status, Some("/srv/pg")).unwrap();
        assert_eq!((here.pid, here.own_pid), (4711, 1));
        assert_eq!(process(1, "Name:\tsystemd\nNSpid:\t1\n", None), None);
        let there = process(90, "Name:\tpostgres\nNSpid:\t90\t1\n", Some("/srv/other")).unwrap();
        let unseen = process(91, "Name:\tmariadbd\nNSpid:\t91\n", None).unwrap();
        let all = [there, here, unseen];
        let data = Path::new("/srv/pg");
        assert_eq!(process_of(1, &all, data), Some(4711));
        assert_eq!(process_of(91, &all, data), Some(91), "the only one with this number");
        assert_eq!(process_of(1, &all[..1], data), None, "it works in another directory");
        assert_eq!(process_of(7, &all, data), None, "no such process");
    }
}
