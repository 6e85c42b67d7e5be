//! Default paths of a user's sockets and mounts. Their names contain the process ID, so those of
//! killed processes can be found.

use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// The prefix of all names.
const OURS: &str = "flushmark-";

/// The directory for a user's sockets and mounts.
pub fn directory() -> PathBuf {
    own_directories().into_iter().next().unwrap_or_else(std::env::temp_dir)
}

/// The user's private directories that last until shutdown, preferred first: according to the XDG
/// base directory specification, and root's. A container may have neither, or be unable to write
/// to them.
fn own_directories() -> Vec<PathBuf> {
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let root = rustix::process::geteuid().is_root().then(|| PathBuf::from("/run"));
    named.into_iter().chain(root).filter(|path| is_writable_directory(path)).collect()
}

fn is_writable_directory(path: &Path) -> bool {
    path.is_dir() && rustix::fs::access(path, Access::WRITE_OK).is_ok()
}

/// Shared memory (shm_overview(7)): in memory on each host and in each container, and writable for
/// all users.
const SHARED: &str = "/dev/shm";

/// Directories in memory, preferred first: writing there touches no drive under test. The last one
/// is shared by all users, who cannot replace each other's files.
pub fn in_memory() -> Vec<PathBuf> {
    // linux/magic.h: TMPFS_MAGIC, RAMFS_MAGIC.
    const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    let is_memory = |path: &PathBuf| {
        rustix::fs::statfs(path).is_ok_and(|fs| IN_MEMORY.contains(&(fs.f_type as u64)))
    };
    let shared = Some(PathBuf::from(SHARED)).filter(|path| is_writable_directory(path));
    own_directories().into_iter().chain(shared).filter(is_memory).collect()
}

pub fn socket(name: &str, ending: &str) -> PathBuf {
    directory().join(format!("{OURS}{name}-{}.{ending}", std::process::id()))
}

/// Creates a directory for this process only.
pub fn private_directory() -> io::Result<PathBuf> {
    let path = directory().join(format!("{OURS}{}", std::process::id()));
    match std::fs::create_dir(&path) {
        // Left by a killed process with the same ID. It is empty, or still mounted and must not be
        // touched.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_dir(&path).and_then(|()| std::fs::create_dir(&path))?;
        }
        other => other?,
    }
    Ok(path)
}

/// Returns whether [`private_directory`] created it.
pub fn is_private(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    path.parent() == Some(&directory()) && name.is_some_and(|name| process_of(name).is_some())
}

/// Sockets and directories left behind by this user's processes.
pub fn left_behind() -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory())?.flatten().map(|entry| entry.path());
    Ok(entries.filter(|path| is_left(path).unwrap_or(false)).collect())
}

/// The name alone proves nothing: unrelated files may have such a name. Nor does an unused process
/// ID, if processes of another container share the directory.
fn is_left(path: &Path) -> io::Result<bool> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(process) = process_of(name) else { return Ok(false) };
    // Checked first: a call on a mount, or a connection to a socket, may wait for a stopped
    // process. A mount belongs to its emulation, running or not.
    if !crate::fuse::server::has_ended(process) || is_mounted(path) {
        return Ok(false);
    }
    let metadata = std::fs::symlink_metadata(path)?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    let is_dead = if name.contains('.') {
        metadata.file_type().is_socket() && nobody_listens(path)
    } else {
        metadata.is_dir() && std::fs::read_dir(path)?.next().is_none()
    };
    Ok(is_ours && is_dead)
}

fn is_mounted(path: &Path) -> bool {
    let table = drive::MountTable::read(&drive::SystemRoot::default());
    table.map_or(true, |table| table.mounts().iter().any(|mount| mount.mount_point == path))
}

/// Checks without waiting: the connection queue of a stopped process fills up.
fn nobody_listens(path: &Path) -> bool {
    let connected = || {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(path)?)
    };
    connected() == Err(Errno::CONNREFUSED)
}

fn process_of(name: &str) -> Option<u32> {
    let name = name.strip_prefix(OURS)?;
    match name.strip_suffix(".sock").or_else(|| name.strip_suffix(".ctl")) {
        Some(socket) => socket.rsplit_once('-')?.1.parse().ok(),
        None => name.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_contain_their_process() {
        let own = socket("consumer-nvme", "ctl");
        assert_eq!(
            process_of(own.file_name().unwrap().to_str().unwrap()),
            Some(std::process::id())
        );
        assert_eq!(process_of("flushmark-17"), Some(17));
        for other in
            ["flushmark", "flushmark-ideal", "flushmark-a-17.txt", "other-17", "flushmark-.ctl"]
        {
            assert_eq!(process_of(other), None, "{other}");
        }
    }

    #[test]
    fn only_what_is_dead_and_ours_is_left() {
        use std::os::unix::net::UnixListener;
        let directory = tempfile::tempdir().unwrap();
        // Above the kernel's limit, so no process has this ID.
        let path = |name: &str| directory.path().join(name.replace("PID", "4194999"));
        let dead = path("flushmark-ideal-PID.sock");
        drop(UnixListener::bind(&dead).unwrap());
        let live = path("flushmark-ideal-PID.ctl");
        let listener = UnixListener::bind(&live).unwrap();
        std::fs::write(path("flushmark-notes-PID.ctl"), "mine").unwrap();
        std::fs::create_dir(path("flushmark-PID")).unwrap();
        assert!(is_left(&dead).unwrap() && is_left(&path("flushmark-PID")).unwrap());
        assert!(!is_left(&live).unwrap() && !is_left(&path("flushmark-notes-PID.ctl")).unwrap());
        std::fs::write(path("flushmark-PID").join("file"), "mine").unwrap();
        assert!(!is_left(&path("flushmark-PID")).unwrap());
        drop(listener);
        let own = directory.path().join(format!("flushmark-{}", std::process::id()));
        std::fs::create_dir(&own).unwrap();
        assert!(!is_left(&own).unwrap());
    }
}
