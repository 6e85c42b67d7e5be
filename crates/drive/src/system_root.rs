//! The root directory of procfs, sysfs and `/dev`.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::DeviceNumber;

/// The directory that contains `proc`, `sys` and `dev`: `/`, or a captured tree of another machine.
///
/// ```
/// use drive::SystemRoot;
///
/// let captured = SystemRoot::new("/srv/captures/laptop");
/// assert_eq!(captured.path("/proc/swaps"), std::path::Path::new("/srv/captures/laptop/proc/swaps"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemRoot(PathBuf);

impl Default for SystemRoot {
    /// The machine that runs this program.
    fn default() -> Self {
        SystemRoot::new("/")
    }
}

impl SystemRoot {
    /// A root at `directory`; nothing is read yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        SystemRoot(directory.into())
    }

    /// The real path of `below`, with or without a leading `/`.
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        let below = below.as_ref();
        self.0.join(below.strip_prefix("/").unwrap_or(below))
    }

    /// The attributes in one directory of procfs or sysfs.
    pub(crate) fn attributes(&self, below: impl AsRef<Path>) -> Attributes {
        Attributes { directory: self.path(below) }
    }

    /// The number of the block device with this kernel name (`sda2`, `dm-0`).
    pub(crate) fn device_named(&self, name: &str) -> Option<DeviceNumber> {
        // sysfs writes the slash in names such as `cciss/c0d0` as `!`.
        self.attributes("sys/class/block").parsed(format!("{}/dev", name.replace('/', "!")))
    }

    /// The number of the block device at a path such as `/dev/mapper/vg-root` or `/dev/sda2`, as
    /// written in mount and swap tables.
    pub fn device_at(&self, path: &Path) -> Option<DeviceNumber> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};

        let below_dev = path.strip_prefix("/dev").ok()?;
        let node = fs::canonicalize(self.path(path)).ok();
        if let Some(found) = node.as_ref().and_then(|node| fs::metadata(node).ok())
            && found.file_type().is_block_device()
        {
            return Some(DeviceNumber::from_dev(found.rdev()));
        }
        // Without a node (another namespace's /dev, or a captured tree), fall back to the kernel's
        // names.
        if let Ok(name) = below_dev.strip_prefix("mapper") {
            return self.mapped_device(name.to_str()?);
        }
        let node_name = node.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
        node_name
            .and_then(|name| self.device_named(name))
            .or_else(|| self.device_named(below_dev.to_str()?))
    }

    fn mapped_device(&self, dm_name: &str) -> Option<DeviceNumber> {
        let devices = self.attributes("sys/class/block");
        devices.entries("").into_iter().find_map(|name| {
            (devices.text(format!("{name}/dm/name")).as_deref() == Some(dm_name))
                .then(|| devices.parsed(format!("{name}/dev")))
                .flatten()
        })
    }
}

/// A directory of sysfs or procfs, whose files are short texts. A file that is missing, unreadable,
/// empty or not of the requested type is `None`.
#[derive(Debug, Clone)]
pub(crate) struct Attributes {
    pub(crate) directory: PathBuf,
}

impl Attributes {
    pub(crate) fn bytes(&self, file: impl AsRef<Path>) -> Option<Vec<u8>> {
        fs::read(self.directory.join(file)).ok()
    }

    /// The file's text without the padding that drives add to their names.
    pub(crate) fn text(&self, file: impl AsRef<Path>) -> Option<String> {
        let bytes = self.bytes(file)?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    pub(crate) fn parsed<T: FromStr>(&self, file: impl AsRef<Path>) -> Option<T> {
        self.text(file)?.parse().ok()
    }

    /// A number for which zero means "not reported", such as `optimal_io_size`.
    pub(crate) fn nonzero(&self, file: impl AsRef<Path>) -> Option<u64> {
        self.parsed(file).filter(|&number| number > 0)
    }

    pub(crate) fn flag(&self, file: impl AsRef<Path>) -> Option<bool> {
        match self.text(file)?.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    pub(crate) fn exists(&self, file: impl AsRef<Path>) -> bool {
        self.directory.join(file).exists()
    }

    /// The names in a subdirectory, sorted to make output reproducible.
    pub(crate) fn entries(&self, directory: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.directory.join(directory)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}
