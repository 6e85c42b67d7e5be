//! Finds the process that serves a FUSE mount without a call on the mount: a stopped server would
//! never answer, and the caller would wait in the kernel, beyond the reach of signals.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use drive::emulated::FILESYSTEM;
use drive::{DeviceNumber, Mount, MountTable, SystemRoot};

use crate::drive_mounts::places_of_drives;

/// A process that has a connection open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Server {
    pub process: u32,
    pub state: ServerState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerState {
    Running,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// It was killed. It replies to nothing, but still exists because a thread of it waits in the
    /// kernel, often for another reply.
    Killed,
}

/// The topmost mount of an emulated drive on this directory.
pub(crate) fn mount_on(directory: &Path) -> Result<Option<Mount>, drive::DriveError> {
    let table = MountTable::read(&SystemRoot::default())?;
    // If a mount does not answer, not even the path can be made canonical.
    let directory = resolved(directory);
    let on_it = table.mounts().iter().rfind(|mount| mount.mount_point == directory);
    Ok(on_it.filter(|mount| mount.fs_type == FILESYSTEM).cloned())
}

/// The process that serves the mount with this device number. `None` if it is not visible: it has
/// ended, belongs to another user or PID namespace, or the kernel does not report it (before Linux
/// 6.16).
pub(crate) fn of_connection(device: DeviceNumber) -> Option<Server> {
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|&process| serves(process, device))
        .find_map(|process| Some(Server { process, state: state_of(process)? }))
}

/// The serving thread may have a separate descriptor table.
fn serves(process: u32, device: DeviceNumber) -> bool {
    threads_of(process).any(|thread| {
        let descriptors = std::fs::read_dir(thread.join("fd")).into_iter().flatten().flatten();
        let mut connections = descriptors
            .filter(|descriptor| {
                std::fs::read_link(descriptor.path())
                    .is_ok_and(|file| file == Path::new("/dev/fuse"))
            })
            .filter_map(|descriptor| {
                std::fs::read_to_string(thread.join("fdinfo").join(descriptor.file_name())).ok()
            });
        // fs/fuse/inode.c: the connection's number is the minor number of its filesystem's device.
        connections.any(|facts| connection_in(&facts) == Some(device.minor))
    })
}

fn threads_of(process: u32) -> impl Iterator<Item = PathBuf> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    threads.into_iter().flatten().flatten().map(|thread| thread.path())
}

/// `None` if it does not exist.
fn state_of(process: u32) -> Option<ServerState> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let mut of_threads = threads_of(process)
        .filter_map(|thread| std::fs::read_to_string(thread.join("status")).ok());
    let is_dead = matches!(state_in(&status), Some('Z' | 'X'));
    Some(if is_dead || of_threads.any(|status| has_kill_pending(&status)) {
        ServerState::Killed
    } else if matches!(state_in(&status), Some('T' | 't')) {
        ServerState::Stopped
    } else {
        ServerState::Running
    })
}

/// Returns whether this process has ended or was killed, even if it still has a process ID.
pub(crate) fn has_ended(process: u32) -> bool {
    matches!(state_of(process), None | Some(ServerState::Killed))
}

fn connection_in(facts: &str) -> Option<u32> {
    facts.lines().find_map(|line| line.strip_prefix("fuse_connection:")?.trim().parse().ok())
}

/// The letter of a process's or thread's state (proc_pid_status(5)).
fn state_in(status: &str) -> Option<char> {
    status.lines().find_map(|line| line.strip_prefix("State:")?.trim_start().chars().next())
}

/// A killed thread has SIGKILL pending until it leaves the kernel.
fn has_kill_pending(status: &str) -> bool {
    let kill = 1 << (rustix::process::Signal::KILL.as_raw() - 1);
    let mut sets = status
        .lines()
        .filter_map(|line| line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:")));
    sets.any(|set| u64::from_str_radix(set.trim(), 16).is_ok_and(|set| set & kill != 0))
}

/// The absolute path without symlinks, found without a call that an emulated drive would have to
/// answer: a stopped one never does. Below such a drive, symlinks are kept.
pub fn resolved(path: &Path) -> PathBuf {
    // Like the kernel (MAXSYMLINKS).
    const LINKS_MAX: usize = 40;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let drives = places_of_drives();
    let names = |path: &Path| -> Vec<OsString> {
        path.components().rev().map(|name| name.as_os_str().to_owned()).collect()
    };
    let (mut ahead, mut here, mut links) = (names(&absolute), PathBuf::from("/"), 0);
    while let Some(name) = ahead.pop() {
        if name == ".." {
            here.pop();
            continue;
        }
        let next = here.join(name);
        let is_in_drive = drives.iter().any(|drive| here.starts_with(drive));
        let target = (!is_in_drive && links < LINKS_MAX).then(|| std::fs::read_link(&next).ok());
        match target.flatten() {
            Some(target) => {
                links += 1;
                ahead.extend(names(&target));
            }
            None => here = next,
        }
    }
    here
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
    fn a_killed_process_is_recognised() {
        let status = |state: &str, own: &str, shared: &str| {
            format!("Name:\tT (Z)\nState:\t{state}\nSigPnd:\t{own}\nShdPnd:\t{shared}\n")
        };
        let (none, kill, term) = ("0000000000000000", "0000000000000100", "0000000000004000");
        assert!(has_kill_pending(&status("D (disk sleep)", kill, none)));
        assert!(has_kill_pending(&status("D (disk sleep)", none, kill)));
        assert!(!has_kill_pending(&status("D (disk sleep)", term, none)));
        assert_eq!(state_in(&status("T (stopped)", none, none)), Some('T'));
        assert!(!has_ended(std::process::id()) && has_ended(u32::MAX >> 1));
    }

    #[test]
    fn symlinks_are_resolved() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("a/b")).unwrap();
        std::os::unix::fs::symlink("a/b", real.join("relative")).unwrap();
        std::os::unix::fs::symlink(real.join("relative"), real.join("absolute")).unwrap();
        std::os::unix::fs::symlink("loop", real.join("loop")).unwrap();
        assert_eq!(resolved(&real.join("absolute/../b/./new")), real.join("a/b/new"));
        assert_eq!(resolved(&real.join("loop")), real.join("loop"));
        assert_eq!(resolved(Path::new(".")), std::env::current_dir().unwrap());
    }

    #[test]
    fn an_ordinary_directory_is_not_our_mount() {
        assert!(mount_on(Path::new("/")).unwrap().is_none());
        assert_eq!(of_connection(DeviceNumber { major: 0, minor: u32::MAX }), None);
    }
}
