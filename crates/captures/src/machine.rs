//! The files of procfs and sysfs that make up a machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A machine in a temporary directory, which is removed on drop. Paths are those on the machine,
/// with or without the leading slash; devices are directories below `sys/devices`.
///
/// Every method panics if the temporary directory cannot be written to.
#[derive(Debug)]
pub struct Machine(TempDir);

#[allow(
    clippy::missing_panics_doc,
    clippy::new_without_default,
    reason = "a test fails by panicking"
)]
impl Machine {
    /// Creates a machine without any files.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory can be made"))
    }

    /// The directory that represents `/`.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The place to write `path`; creates the directory above it.
    fn place(&self, path: &str) -> PathBuf {
        let place = self.path().join(path.trim_start_matches('/'));
        let parent = place.parent().expect("a path below the root has a parent");
        fs::create_dir_all(parent).unwrap_or_else(|error| panic!("cannot lay out {path}: {error}"));
        place
    }

    /// Writes a file, replacing an existing one.
    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        fs::write(self.place(path), content)
            .unwrap_or_else(|error| panic!("cannot lay out {path}: {error}"));
        self
    }

    /// Writes a file of one line, to test the effect of a single setting.
    pub fn set(&self, path: &str, value: &str) -> &Self {
        self.file(path, format!("{value}\n"))
    }

    /// Links `path` to `target`, relatively like sysfs: an absolute link would lead to this
    /// machine's `/sys`.
    pub fn link(&self, path: &str, target: &str) -> &Self {
        let up = "../".repeat(path.trim_start_matches('/').matches('/').count());
        let target = format!("{up}{}", target.trim_start_matches('/'));
        symlink(target, self.place(path))
            .unwrap_or_else(|error| panic!("cannot lay out {path}: {error}"));
        self
    }

    pub fn attribute(&self, device: &str, file: &str, content: impl AsRef<[u8]>) -> &Self {
        self.file(&format!("sys/devices/{device}/{file}"), content)
    }

    /// Writes `/proc/self/mountinfo`.
    pub fn mounts(&self, lines: &str) -> &Self {
        self.file("proc/self/mountinfo", lines)
    }

    /// Writes the lines of `/proc/swaps` below its heading.
    pub fn swaps(&self, lines: &str) -> &Self {
        self.file(
            "proc/swaps",
            format!("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n{lines}"),
        )
    }

    /// Adds a disk (or, with the attribute `partition`, a partition) with this number, and its
    /// links in `sys/dev/block`, `sys/class/block` and `sys/block`.
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

    /// Stacks the device `upper` on the device `lower`, with links in `slaves` and `holders`.
    pub fn stack(&self, upper: &str, lower: &str) -> &Self {
        self.link(
            &format!("sys/devices/{upper}/slaves/{}", name(lower)),
            &format!("sys/devices/{lower}"),
        );
        self.link(
            &format!("sys/devices/{lower}/holders/{}", name(upper)),
            &format!("sys/devices/{upper}"),
        )
    }
}

fn name(device: &str) -> &str {
    device.rsplit('/').next().unwrap_or(device)
}
