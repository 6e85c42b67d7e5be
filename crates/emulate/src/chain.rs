//! From the served file to a mounted filesystem: loop device, filesystem, mount; and back in
//! reverse order.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use drive::{DeviceNumber, Signature, SignatureKind};
use rustix::fs::{Mode, OFlags};

use crate::drive_mounts::{drive_mounts, loops_on, mounts_of};
use crate::fuse::mount::has_lost_its_process;
use crate::fuse::server::{self, ServerState};

/// Filesystems that can be created on an emulated drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filesystem {
    Ext4,
    Xfs,
}

impl Filesystem {
    /// The name for `mount -t`.
    pub const fn name(self) -> &'static str {
        match self {
            Filesystem::Ext4 => "ext4",
            Filesystem::Xfs => "xfs",
        }
    }

    /// The smallest drive that can hold it, in bytes: mke2fs has no room for the smallest journal
    /// below that, and mkfs.xfs refuses (`calculate_initial_geometry`: 300 MB).
    pub const fn capacity_bytes_min(self) -> u64 {
        match self {
            Filesystem::Ext4 => 16 << 20,
            Filesystem::Xfs => 300 << 20,
        }
    }

    /// Mount options for a filesystem on an emulated drive.
    pub const fn mount_options(self) -> &'static str {
        match self {
            // Inode tables are not initialised in the background, which would be measured with
            // everything else.
            Filesystem::Ext4 => "noinit_itable",
            // A process that still uses the filesystem from before a power cut keeps it alive, and
            // XFS refuses to mount a second one with the same UUID.
            Filesystem::Xfs => "nouuid",
        }
    }
}

/// A step that failed.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    #[error("`{command}` failed: {said}")]
    Failed {
        command: String,
        /// The first line of its error output.
        said: String,
    },
    #[error("`{0}` is not installed")]
    Missing(String),
    #[error(
        "the drive contains {}, not {}, and is not overwritten: pass --fs {} or another --image",
        found.name(), wanted.name(), found.name()
    )]
    OtherFilesystem {
        found: Filesystem,
        /// The filesystem requested with `--fs`.
        wanted: Filesystem,
    },
    #[error(
        "the drive contains {0} and no filesystem, and is not overwritten: pass another --image, \
         or serve it with --fuse DIR --loop and mount the partition that you want"
    )]
    Partitions(SignatureKind),
    #[error("the drive contains {} and is not overwritten: pass another --image", listed(.0))]
    OtherContent(Vec<SignatureKind>),
    #[error(transparent)]
    Unreadable(#[from] drive::DriveError),
    #[error(
        "the drive was written to but contains no known filesystem, and is not overwritten: \
         examine it with --fuse DIR --loop, or pass another --image"
    )]
    Nothing,
    #[error("{0} is in use")]
    InUse(String),
    #[error("{what}")]
    System {
        /// The operation that failed.
        what: String,
        source: io::Error,
    },
}

fn listed(kinds: &[SignatureKind]) -> String {
    kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

fn run(program: &str, arguments: &[&std::ffi::OsStr]) -> Result<String, ChainError> {
    let words: Vec<String> =
        arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let command = || format!("{program} {}", words.join(" "));
    // The PATH of ordinary users lacks these directories.
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    match Command::new(program).args(arguments).env("PATH", path).output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr)
                .trim()
                .lines()
                .next()
                .unwrap_or("no message")
                .to_owned();
            Err(ChainError::Failed { command: command(), said })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(ChainError::Missing(program.to_owned()))
        }
        Err(source) => Err(ChainError::System { what: command(), source }),
    }
}

macro_rules! words {
    ($($word:expr),* $(,)?) => { &[$(std::ffi::OsStr::new($word)),*] };
}

/// The properties that a kernel would have read from the drive itself.
#[derive(Debug, Clone, Copy)]
pub struct LoopQueue {
    /// True if it has a volatile cache and needs flushes.
    pub flushes: bool,
    /// True if it rotates.
    pub rotational: bool,
    /// Number of commands that it accepts at a time.
    pub depth: u32,
}

/// The shortest queue that the kernel allows (`BLKDEV_MIN_RQ`).
const DEPTH_MIN: u32 = 4;

/// The default queue depth of a loop device.
fn depth_by_default() -> u32 {
    let parameter = std::fs::read_to_string("/sys/module/loop/parameters/hw_queue_depth");
    parameter.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(128)
}

/// A loop device, detached on drop.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
}

impl LoopDevice {
    /// Attaches a loop device to a served file, with direct I/O: otherwise the page cache would
    /// acknowledge what the drive did not.
    ///
    /// # Errors
    /// Without root, or without a free loop device.
    pub fn attach(file: &Path, queue: LoopQueue) -> Result<LoopDevice, ChainError> {
        let path = run("losetup", words!["--find", "--show", "--direct-io=on", "--", file])?;
        let device = LoopDevice { path: PathBuf::from(path) };
        // From here on, a failure detaches it again.
        set(&device.path, "write_cache", if queue.flushes { WRITE_BACK } else { "write through" })?;
        set(&device.path, "rotational", if queue.rotational { "1" } else { "0" })?;
        let depth = queue.depth.clamp(DEPTH_MIN, depth_by_default());
        set(&device.path, "nr_requests", &depth.to_string())?;
        Ok(device)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = let_go(&self.path);
    }
}

/// The cache mode of a loop device that sends flushes.
const WRITE_BACK: &str = "write back";

fn set(device: &Path, attribute: &str, value: &str) -> Result<(), ChainError> {
    let name = device.file_name().unwrap_or_default();
    let path = Path::new("/sys/block").join(name).join("queue").join(attribute);
    std::fs::write(&path, value)
        .map_err(|source| ChainError::System { what: path.display().to_string(), source })
}

/// Detaches a loop device. The kernel keeps the queue settings for the device's next user (seen on
/// 6.18), who would send no flushes and lose data.
fn let_go(device: &Path) -> Result<(), ChainError> {
    let told = set(device, "write_cache", WRITE_BACK);
    let told = told.and(set(device, "nr_requests", &depth_by_default().to_string()));
    run("losetup", words!["--detach", device])?;
    told
}

/// The action on a drive that contains nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blank {
    /// Create a filesystem: the drive is new.
    GetsAFilesystem,
    /// Refuse: the drive contained a filesystem, and its remains are not overwritten.
    IsRefused,
}

/// A mounted filesystem. Dropping it unmounts it, even if it is in use.
#[derive(Debug)]
pub struct MountedFilesystem {
    /// Absolute and without symlinks, as in the kernel's list of mounts.
    directory: PathBuf,
    /// Distinguishes this filesystem from others mounted on the same directory.
    device: DeviceNumber,
    mounted: bool,
}

/// The entry that the kernel's list of mounts has at the place of a filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AtPlace {
    /// The filesystem, visible.
    Itself,
    /// The filesystem, hidden by another one mounted on top of it.
    Hidden,
    /// Nothing, or only other filesystems.
    Others,
}

impl AtPlace {
    fn of(mounts: &[drive::Mount], directory: &Path, device: DeviceNumber) -> AtPlace {
        let here: Vec<_> = mounts.iter().filter(|mount| mount.mount_point == directory).collect();
        match here.iter().rposition(|mount| mount.device == device) {
            Some(index) if index + 1 == here.len() => AtPlace::Itself,
            Some(_) => AtPlace::Hidden,
            None => AtPlace::Others,
        }
    }
}

impl MountedFilesystem {
    /// Mounts the filesystem on the device; `blank` decides what happens if there is none.
    /// `options` are those of `mount -o`.
    pub fn mount(
        device: &Path,
        directory: &Path,
        filesystem: Filesystem,
        options: &str,
        blank: Blank,
    ) -> Result<MountedFilesystem, ChainError> {
        let name = filesystem.name();
        match (Content::of(&drive::read_signatures(device)?), blank) {
            (Content::Nothing, Blank::GetsAFilesystem) => make(device, filesystem)?,
            (Content::Nothing, Blank::IsRefused) => return Err(ChainError::Nothing),
            (Content::Filesystem(found), _) if found == filesystem => {}
            (Content::Filesystem(found), _) => {
                return Err(ChainError::OtherFilesystem { found, wanted: filesystem });
            }
            (Content::Partitions(table), _) => return Err(ChainError::Partitions(table)),
            (Content::Other(content), _) => return Err(ChainError::OtherContent(content)),
        }
        let system = |what: &Path| {
            let what = what.display().to_string();
            move |source| ChainError::System { what, source }
        };
        let directory = directory.canonicalize().map_err(system(directory))?;
        let number = rustix::fs::stat(device).map_err(io::Error::from).map_err(system(device))?;
        let number = DeviceNumber::from_dev(number.st_rdev);
        run("mount", words!["-t", name, "-o", options, "--", device, &directory])?;
        Ok(MountedFilesystem { directory, device: number, mounted: true })
    }

    /// The mount point, absolute and without symlinks.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Unmounts it unless it is in use.
    pub fn unmount(&mut self) -> Result<(), ChainError> {
        match self.at_place() {
            // `umount` would remove the other filesystem.
            AtPlace::Hidden => {
                let place = self.directory.display();
                return Err(ChainError::InUse(format!(
                    "{place}, mounted over by another filesystem,"
                )));
            }
            // It was already unmounted by someone else.
            AtPlace::Others => {}
            AtPlace::Itself => match run("umount", words!["--", &self.directory]) {
                Err(_) if self.at_place() == AtPlace::Others => {}
                other => drop(other?),
            },
        }
        self.mounted = false;
        Ok(())
    }

    fn at_place(&self) -> AtPlace {
        let table = drive::MountTable::read(&drive::SystemRoot::default());
        // If the list cannot be read, `umount` finds out.
        table.map_or(AtPlace::Itself, |table| {
            AtPlace::of(table.mounts(), &self.directory, self.device)
        })
    }

    /// Removes it from the directory tree; its users keep it.
    pub fn unmount_lazily(&mut self) {
        if self.at_place() == AtPlace::Itself {
            let _ = run("umount", words!["--lazy", "--", &self.directory]);
        }
        self.mounted = false;
    }
}

impl Drop for MountedFilesystem {
    fn drop(&mut self) {
        if self.mounted && self.unmount().is_err() {
            self.unmount_lazily();
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Content {
    Nothing,
    Filesystem(Filesystem),
    Partitions(SignatureKind),
    Other(Vec<SignatureKind>),
}

impl Content {
    /// A partition table counts as content only if nothing else does: a filesystem may keep its
    /// remains. If a device has more than one signature, none of them is trusted.
    fn of(signatures: &[Signature]) -> Content {
        let is_table = |kind: &SignatureKind| {
            matches!(kind, SignatureKind::Mbr | SignatureKind::Gpt | SignatureKind::GptBackup)
        };
        let (tables, others): (Vec<_>, Vec<_>) =
            signatures.iter().map(|signature| signature.kind).partition(is_table);
        match (&others[..], tables.first()) {
            ([], None) => Content::Nothing,
            ([], Some(&table)) => Content::Partitions(table),
            ([SignatureKind::Ext4], _) => Content::Filesystem(Filesystem::Ext4),
            ([SignatureKind::Xfs], _) => Content::Filesystem(Filesystem::Xfs),
            _ => Content::Other(others),
        }
    }
}

fn make(device: &Path, filesystem: Filesystem) -> Result<(), ChainError> {
    match filesystem {
        // Inode tables are written neither now nor later in the background (`noinit_itable`), where
        // they would be measured with everything else. The journal is only as large as needed,
        // because all of it is written here.
        Filesystem::Ext4 => {
            let journal = format!("size={}", ext4_journal_mib(size_bytes(device)?));
            run(
                "mkfs.ext4",
                words![
                    "-q",
                    "-E",
                    "lazy_itable_init=1,lazy_journal_init=0,nodiscard",
                    "-J",
                    &journal,
                    "--",
                    device
                ],
            )
        }
        Filesystem::Xfs => run("mkfs.xfs", words!["-q", "-K", device]),
    }
    .map(drop)
}

/// Size of the journal, in MiB. On a small drive it must leave room for files.
const fn ext4_journal_mib(capacity_bytes: u64) -> u64 {
    match capacity_bytes >> 20 {
        0..64 => capacity_bytes.div_ceil(4 << 20),
        64..8192 => 16,
        _ => 128,
    }
}

fn size_bytes(device: &Path) -> Result<u64, ChainError> {
    let name = device.file_name().unwrap_or_default();
    let path = Path::new("/sys/block").join(name).join("size");
    let read = std::fs::read_to_string(&path);
    // The kernel counts sectors of 512 bytes here, whatever the device's sector size.
    let sectors = read.and_then(|text| text.trim().parse::<u64>().map_err(io::Error::other));
    sectors
        .map(|sectors| sectors * 512)
        .map_err(|source| ChainError::System { what: path.display().to_string(), source })
}

/// A user of the drive that is served in this directory, other than its loop device `own`.
pub(crate) fn user_of(directory: &Path, own: Option<&Path>) -> Option<String> {
    let loops = loops_on(directory);
    if let Some(other) = loops.iter().find(|device| own != Some(device.as_path())) {
        return Some(format!("the drive's file, by {}", other.display()));
    }
    let own = own?;
    let table = drive::MountTable::read(&drive::SystemRoot::default()).ok();
    if let Some(mount) =
        table.iter().flat_map(drive::MountTable::mounts).find(|mount| mount.source == own)
    {
        return Some(format!("{}, mounted on {}", own.display(), mount.mount_point.display()));
    }
    // Swap, part of another device, or mounted in another mount namespace: the kernel grants
    // exclusive access to nobody else meanwhile.
    let opened =
        rustix::fs::open(own, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty());
    opened.is_err_and(|error| error == rustix::io::Errno::BUSY).then(|| own.display().to_string())
}

/// A mount whose process was killed, with the devices and mounts on top of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftMount {
    /// The FUSE directory.
    pub directory: PathBuf,
    /// Loop devices attached to its file.
    pub loops: Vec<PathBuf>,
    /// Filesystems mounted from those devices.
    pub mounts: Vec<PathBuf>,
    /// The connection of a killed process that waits in the kernel for its own replies.
    connection: Option<u32>,
}

/// A mount whose process is stopped: it is in use, not left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedMount {
    /// The FUSE directory.
    pub directory: PathBuf,
    /// Filesystems mounted from the drive.
    pub mounts: Vec<PathBuf>,
    /// Process that serves it.
    pub process: u32,
}

impl StoppedMount {
    pub fn find_all() -> Result<Vec<StoppedMount>, drive::DriveError> {
        let table = drive::MountTable::read(&drive::SystemRoot::default())?;
        let stopped = drive_mounts(&table).filter_map(|mount| {
            let server = server::of_connection(mount.device)
                .filter(|server| server.state == ServerState::Stopped)?;
            let directory = mount.mount_point.clone();
            let mounts = mounts_of(&table, &loops_on(&directory));
            Some(StoppedMount { directory, mounts, process: server.process })
        });
        Ok(stopped.collect())
    }
}

impl LeftMount {
    pub fn find_all() -> Result<Vec<LeftMount>, drive::DriveError> {
        let table = drive::MountTable::read(&drive::SystemRoot::default())?;
        let left = drive_mounts(&table).filter(|mount| has_lost_its_process(mount)).map(|mount| {
            let directory = mount.mount_point.clone();
            let loops = loops_on(&directory);
            let mounts = mounts_of(&table, &loops);
            let connection = server::of_connection(mount.device).map(|_| mount.device.minor);
            LeftMount { directory, loops, mounts, connection }
        });
        Ok(left.collect())
    }

    /// Removes everything, from top to bottom.
    pub fn clean_up(&self) -> Result<(), ChainError> {
        if let Some(connection) = self.connection {
            // First, because every request to the drive would wait as its own process does.
            crate::fuse::mount::abort(&self.directory, connection).map_err(|source| {
                let what = format!("abort the requests to {}", self.directory.display());
                ChainError::System { what, source }
            })?;
        }
        for mount in self.mounts.iter().rev() {
            run("umount", words!["--lazy", "--", mount])?;
        }
        for device in &self.loops {
            let_go(device)?;
        }
        crate::fuse::mount::detach(&self.directory, true).map_err(|source| ChainError::System {
            what: format!("unmount {}", self.directory.display()),
            source,
        })?;
        if crate::runtime::is_private(&self.directory) {
            // Files that someone has put there are kept.
            let _ = std::fs::remove_dir(&self.directory);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filesystem_is_told_from_others_at_its_place() {
        let mount = |place: &str, minor| {
            let line = format!("1 0 7:{minor} / {place} rw - ext4 /dev/loop{minor} rw\n");
            drive::MountTable::parse(line.as_bytes()).unwrap().mounts()[0].clone()
        };
        let ours = DeviceNumber { major: 7, minor: 1 };
        let at = |mounts: &[drive::Mount]| AtPlace::of(mounts, Path::new("/m"), ours);
        assert_eq!(at(&[mount("/m", 1)]), AtPlace::Itself);
        assert_eq!(at(&[mount("/m", 2), mount("/m", 1), mount("/n", 3)]), AtPlace::Itself);
        assert_eq!(at(&[mount("/m", 1), mount("/m", 2)]), AtPlace::Hidden);
        assert_eq!(at(&[mount("/m", 2), mount("/n", 1)]), AtPlace::Others);
    }

    #[test]
    fn a_filesystem_alone_is_recognised() {
        use SignatureKind::{Btrfs, Ext4, Gpt, GptBackup, Luks2, Mbr, Md10, Xfs};
        let content = |kinds: &[SignatureKind]| {
            let signature = |&kind: &SignatureKind| Signature { kind, offset_bytes: 0 };
            Content::of(&kinds.iter().map(signature).collect::<Vec<_>>())
        };
        assert_eq!(content(&[]), Content::Nothing);
        assert_eq!(content(&[Ext4]), Content::Filesystem(Filesystem::Ext4));
        assert_eq!(content(&[GptBackup, Xfs]), Content::Filesystem(Filesystem::Xfs));
        assert_eq!(content(&[Mbr, Gpt]), Content::Partitions(Mbr));
        assert_eq!(content(&[Btrfs]), Content::Other(vec![Btrfs]));
        assert_eq!(content(&[Mbr, Luks2]), Content::Other(vec![Luks2]));
        // A member of a two-drive RAID shows the filesystem of the whole array.
        assert_eq!(content(&[Ext4, Md10]), Content::Other(vec![Ext4, Md10]));
    }

    #[test]
    fn what_is_not_overwritten_is_named() {
        let other =
            ChainError::OtherFilesystem { found: Filesystem::Xfs, wanted: Filesystem::Ext4 };
        insta::assert_snapshot!(other, @"the drive contains xfs, not ext4, and is not overwritten: pass --fs xfs or another --image");
        insta::assert_snapshot!(ChainError::Partitions(SignatureKind::Mbr), @"the drive contains an MBR partition table and no filesystem, and is not overwritten: pass another --image, or serve it with --fuse DIR --loop and mount the partition that you want");
        let several = ChainError::OtherContent(vec![SignatureKind::Ext4, SignatureKind::Md10]);
        insta::assert_snapshot!(several, @"the drive contains an ext4 filesystem and a member of a Linux RAID (md 1.0) and is not overwritten: pass another --image");
        insta::assert_snapshot!(ChainError::Nothing, @"the drive was written to but contains no known filesystem, and is not overwritten: examine it with --fuse DIR --loop, or pass another --image");
    }
}
