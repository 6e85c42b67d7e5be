//! Loop devices.

use std::path::{Path, PathBuf};

use crate::system;

/// A loop device on a sparse file, detached at the end.
pub struct LoopDevice {
    /// Such as `/dev/loop3`.
    pub path: String,
    directory: tempfile::TempDir,
}

impl LoopDevice {
    /// `None`, with a message, if the system has no free loop device.
    pub fn new(test: &str, bytes: u64, args: &[&str]) -> Option<LoopDevice> {
        LoopDevice::within(test, &std::env::temp_dir(), bytes, args)
    }

    /// A loop device whose file is in this directory.
    pub fn within(test: &str, parent: &Path, bytes: u64, args: &[&str]) -> Option<LoopDevice> {
        let directory = tempfile::tempdir_in(parent).unwrap();
        let image = directory.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        let image = image.to_string_lossy().into_owned();
        match system("losetup", &[&["--find", "--show"], args, &[&image]].concat()) {
            Ok(path) => Some(LoopDevice { path, directory }),
            Err(reason) => {
                eprintln!("skipped: {test}: {reason}");
                None
            }
        }
    }

    /// The file behind it.
    pub fn image(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("image")
    }

    /// Sets its size to zero, like a drive that lost its mapping table.
    pub fn lose_size(&self) {
        std::fs::OpenOptions::new().write(true).truncate(true).open(self.image()).unwrap();
        system("losetup", &["--set-capacity", &self.path]).unwrap();
    }

    /// The kernel's name, such as `loop3`.
    pub fn name(&self) -> &str {
        self.path.trim_start_matches("/dev/")
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = system("losetup", &["--detach", &self.path]);
    }
}
