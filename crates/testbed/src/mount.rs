//! Mounted filesystems.

use std::path::{Path, PathBuf};

use crate::system;

/// A mount that is unmounted at the end.
pub struct Mount {
    pub path: PathBuf,
    directory: Option<tempfile::TempDir>,
}

impl Mount {
    /// `None`, with a message, if it cannot be mounted.
    pub fn new(test: &str, args: &[&str]) -> Option<Mount> {
        let directory = tempfile::tempdir().unwrap();
        let mut mount = Mount::at(test, args, directory.path())?;
        mount.directory = Some(directory);
        Some(mount)
    }

    /// A mount on a directory of the test.
    pub fn at(test: &str, args: &[&str], path: &Path) -> Option<Mount> {
        let path = path.to_owned();
        match system("mount", &[args, &[&*path.to_string_lossy()]].concat()) {
            Ok(_) => Some(Mount { path, directory: None }),
            Err(reason) => {
                eprintln!("skipped: {test}: {reason}");
                None
            }
        }
    }

    pub fn text(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = system("umount", &["--lazy", self.text()]);
    }
}
