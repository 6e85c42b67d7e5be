//! Where sockets and mounts of a user lie that were given no place: names that tell whose they are, so that those of killed processes are found.

use std::io;
use std::path::{Path, PathBuf};

/// What all names begin with.
const OURS: &str = "flushmark-";

/// Where sockets and mounts of a user belong.
pub fn directory() -> PathBuf {
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let root = rustix::process::geteuid().is_root().then(|| PathBuf::from("/run")).filter(|path| path.is_dir());
    named.or(root).unwrap_or_else(std::env::temp_dir)
}

/// The path of a socket of this process.
pub fn socket(name: &str, ending: &str) -> PathBuf {
    directory().join(format!("{OURS}{name}-{}.{ending}", std::process::id()))
}

/// A new directory that only this process uses.
///
/// # Errors
/// When it cannot be made.
pub fn private_directory() -> io::Result<PathBuf> {
    let path = directory().join(format!("{OURS}{}", std::process::id()));
    match std::fs::create_dir(&path) {
        // Of a killed process that had the same number. It is empty, or still mounted and not ours to take.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_dir(&path).and_then(|()| std::fs::create_dir(&path))?;
        }
        other => other?,
    }
    Ok(path)
}

/// Whether it is a directory that [`private_directory`] made.
pub fn is_private(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    path.parent() == Some(&directory()) && name.is_some_and(|name| process_of(name).is_some())
}

/// Sockets and empty directories of processes that are gone.
///
/// # Errors
/// When the directory cannot be read.
pub fn left_behind() -> io::Result<Vec<PathBuf>> {
    let is_gone = |pid: u32| !Path::new("/proc").join(pid.to_string()).exists();
    let entries = std::fs::read_dir(directory())?.flatten();
    let left = entries.filter(|entry| entry.file_name().to_str().and_then(process_of).is_some_and(is_gone));
    Ok(left.map(|entry| entry.path()).collect())
}

/// The process whose name this is.
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
    fn names_tell_whose_they_are() {
        let own = socket("consumer-nvme", "ctl");
        assert_eq!(process_of(own.file_name().unwrap().to_str().unwrap()), Some(std::process::id()));
        assert_eq!(process_of("flushmark-17"), Some(17));
        for other in ["flushmark", "flushmark-ideal", "flushmark-a-17.txt", "other-17", "flushmark-.ctl"] {
            assert_eq!(process_of(other), None, "{other}");
        }
    }
}
