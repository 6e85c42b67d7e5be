//! Finds the processes that keep a filesystem in use.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// Maximum number of processes named in a message.
const NAMED_MAX: usize = 5;

/// Processes that use a filesystem.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holders {
    processes: Vec<(u32, String)>,
}

impl Holders {
    pub const fn are_none(&self) -> bool {
        self.processes.is_empty()
    }

    /// The users of the filesystem on a device: by an open or mapped file, by their directory, or
    /// by a mount in another namespace.
    pub fn of(device: &Path) -> Holders {
        let Ok(device) = std::fs::metadata(device).map(|metadata| metadata.rdev()) else {
            return Holders::default();
        };
        let Ok(entries) = std::fs::read_dir("/proc") else { return Holders::default() };
        let own_mounts = std::fs::read_link("/proc/self/ns/mnt").ok();
        let mut processes: Vec<(u32, String)> = entries
            .flatten()
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
            .filter(|(_, process)| uses(process, device, own_mounts.as_deref()))
            .map(|(pid, process)| {
                let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
                (pid, name.trim_end().to_owned())
            })
            .collect();
        processes.sort_unstable();
        Holders { processes }
    }
}

fn uses(process: &Path, device: u64, own_mounts: Option<&Path>) -> bool {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    // Without asking the server of a network or FUSE file, which may never answer.
    let on_it = |path: PathBuf| {
        statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::empty())
            .is_ok_and(|found| (found.stx_dev_major, found.stx_dev_minor) == (major, minor))
    };
    let any_of = |directory: &str| {
        let entries = std::fs::read_dir(process.join(directory)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(on_it)
    };
    if ["cwd", "root", "exe"].iter().any(|link| on_it(process.join(link)))
        || any_of("fd")
        || any_of("map_files")
    {
        return true;
    }
    // A copy of the mount in another mount namespace.
    let mounts = std::fs::read_link(process.join("ns/mnt")).ok();
    mounts.as_deref() != own_mounts && {
        let number = format!(" {major}:{minor} ");
        std::fs::read_to_string(process.join("mountinfo"))
            .is_ok_and(|mounts| mounts.contains(&number))
    }
}

impl fmt::Display for Holders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.processes.is_empty() {
            return f.write_str("a process that is not found in /proc");
        }
        for (index, (pid, name)) in self.processes.iter().take(NAMED_MAX).enumerate() {
            write!(f, "{}`{name}` (process {pid})", if index > 0 { ", " } else { "" })?;
        }
        match self.processes.len().saturating_sub(NAMED_MAX) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_are_named() {
        let named = |count: u32| Holders {
            processes: (1..=count).map(|pid| (pid, "postgres".to_owned())).collect(),
        };
        assert_eq!(named(0).to_string(), "a process that is not found in /proc");
        assert_eq!(named(2).to_string(), "`postgres` (process 1), `postgres` (process 2)");
        assert!(named(7).to_string().ends_with("(process 5) and 2 more"));
    }
}
