//! Finds the process that serves a FUSE mount without a call on the mount: a stopped server would
//! never answer, and the caller would wait in the kernel, beyond the reach of signals.

use std::path::Path;

use drive::{DeviceNumber, Mount, MountTable, SystemRoot};

use super::FILESYSTEM;

/// A process that has a connection open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Server {
    pub process: u32,
    /// True if a signal or a debugger has stopped it.
    pub is_stopped: bool,
}

/// The topmost mount of an emulated drive on this directory.
pub(crate) fn mount_on(directory: &Path) -> Result<Option<Mount>, drive::DriveError> {
    let table = MountTable::read(&SystemRoot::default())?;
    // If a mount does not answer, not even the path can be made canonical.
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let on_it = table.mounts().iter().rfind(|mount| mount.mount_point == directory);
    Ok(on_it.filter(|mount| mount.fs_type == FILESYSTEM).cloned())
}

/// The process that serves the mount with this device number. `None` if it is not visible: it has
/// ended, belongs to another user or PID namespace, or the kernel does not report it (before Linux
/// 6.16).
pub(crate) fn of_connection(device: DeviceNumber) -> Option<Server> {
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|&process| serves(process, device)).find_map(|process| {
        let status = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        Some(Server { process, is_stopped: is_stopped(&status) })
    })
}

fn serves(process: u32, device: DeviceNumber) -> bool {
    let descriptors =
        std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let mut connections = descriptors
        .filter(|descriptor| {
            std::fs::read_link(descriptor.path()).is_ok_and(|file| file == Path::new("/dev/fuse"))
        })
        .filter_map(|descriptor| {
            let number = descriptor.file_name().into_string().ok()?;
            std::fs::read_to_string(format!("/proc/{process}/fdinfo/{number}")).ok()
        });
    // fs/fuse/inode.c: the connection's number is the minor number of its filesystem's device.
    connections.any(|facts| connection_in(&facts) == Some(device.minor))
}

fn connection_in(facts: &str) -> Option<u32> {
    facts.lines().find_map(|line| line.strip_prefix("fuse_connection:")?.trim().parse().ok())
}

/// The state follows the name, which may contain spaces and parentheses (proc_pid_stat(5)).
fn is_stopped(status: &str) -> bool {
    let state = status.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    matches!(state, Some('T' | 't'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_connection_is_read() {
        assert_eq!(
            connection_in("pos:\t0\nflags:\t02104002\nmnt_id:\t24\nfuse_connection:\t51\n"),
            Some(51)
        );
        assert_eq!(connection_in("pos:\t0\nmnt_id:\t24\n"), None);
    }

    #[test]
    fn the_state_is_found_behind_any_name() {
        assert!(is_stopped("7 (a) R (x) T 1 7 7 0 -1"));
        assert!(is_stopped("7 (traced) t 1"));
        assert!(!is_stopped("7 (T) S 1"));
        assert!(!is_stopped(""));
    }

    #[test]
    fn an_ordinary_directory_is_not_our_mount() {
        assert!(mount_on(Path::new("/")).unwrap().is_none());
        assert_eq!(of_connection(DeviceNumber { major: 0, minor: u32::MAX }), None);
    }
}
