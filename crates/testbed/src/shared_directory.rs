//! A directory like `/tmp`.

use std::os::unix::fs::PermissionsExt as _;

use crate::needs_root;

/// A directory that every user can write to, like `/tmp`, on a kernel that does not follow other
/// users' links there. `None`, with a message, without root or on another kernel.
pub fn shared_directory(test: &str) -> Option<tempfile::TempDir> {
    if !needs_root(test) {
        return None;
    }
    if std::fs::read_to_string("/proc/sys/fs/protected_symlinks").unwrap_or_default().trim() != "1"
    {
        eprintln!("skipped: {test}: the kernel follows every link here (fs.protected_symlinks)");
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o1777)).unwrap();
    Some(directory)
}
