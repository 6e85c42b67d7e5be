//! The parts of procfs and sysfs that a machine is made of.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A machine in a temporary directory, removed on drop. Paths are those on the machine, with or without the first slash;
/// devices are directories below `sys/devices`.
///
/// Every method panics when the temporary directory cannot be written.
#[derive(Debug)]
pub struct Machine(TempDir);

#[allow(clippy::missing_panics_doc, clippy::new_without_default, reason = "a test fails by panicking")]
impl Machine {
    /// One of which nothing is known.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory can be made"))
    }

    /// What stands for `/`.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Where to write `path`; the directory above it exists.
    fn place(&self, path: &str) -> PathBuf {
        let place = self.path().join(path.trim_start_matches('/'));
        let parent = place.parent().expect("a path below the root has a parent");
        fs::create_dir_all(parent).unwrap_or_else(|error| panic!("cannot lay out {path}: {error}"));
        place
    }

    /// Writes one file, over the one that is there.
    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        fs::write(self.place(path), content).unwrap_or_else(|error| panic!("cannot lay out {path}: {error}"));
        self
    }

    /// Writes a file of one line, to see what a single setting changes.
    pub fn set(&self, path: &str, value: &str) -> &Self {
        self.file(path, format!("{value}\n"))
    }

    /// Links `path` to `target`, relatively, as sysfs does: an absolute link would lead to this machine's `/sys`.
    pub fn link(&self, path: &str, target: &str) -> &Self {
        let up = "../".repeat(path.trim_start_matches('/').matches('/').count());
        let target = format!("{up}{}", target.trim_start_matches('/'));
        symlink(target, self.place(path)).unwrap_or_else(|error| panic!("cannot lay out {path}: {error}"));
        self
    }

    /// Writes one file of a device.
    pub fn attribute(&self, device: &str, file: &str, content: impl AsRef<[u8]>) -> &Self {
        self.file(&format!("sys/devices/{device}/{file}"), content)
    }

    /// Writes the table of mounts.
    pub fn mounts(&self, lines: &str) -> &Self {
        self.file("proc/self/mountinfo", lines)
    }

    /// Writes the table of swap areas below its heading.
    pub fn swaps(&self, lines: &str) -> &Self {
        self.file("proc/swaps", format!("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n{lines}"))
    }

    /// Adds a disk (or, with the attribute `partition`, a partition) of this number, with its links in `sys/dev/block`,
    /// `sys/class/block` and `sys/block`.
    pub fn disk(&self, device: &str, number: &str, attributes: &[(&str, &str)]) -> &Self {
        self.attribute(device, "dev", format!("{number}\n"));
        for (file, value) in attributes {
            self.attribute(device, file, format!("{value}\n"));
        }
        let (name, target) = (name(device), format!("sys/devices/{device}"));
        self.link(&format!("sys/dev/block/{number}"), &target);
        self.link(&format!("sys/class/block/{name}"), &target);
        if !attributes.iter().any(|(file, _)| *file == "partition") {
            self.link(&format!("sys/block/{name}"), &target);
        }
        self
    }

    /// Puts the device `upper` on the device `lower`: `slaves` downwards, `holders` upwards.
    pub fn stack(&self, upper: &str, lower: &str) -> &Self {
        self.link(&format!("sys/devices/{upper}/slaves/{}", name(lower)), &format!("sys/devices/{lower}"));
        self.link(&format!("sys/devices/{lower}/holders/{}", name(upper)), &format!("sys/devices/{upper}"))
    }
}

fn name(device: &str) -> &str {
    device.rsplit('/').next().unwrap_or(device)
}
