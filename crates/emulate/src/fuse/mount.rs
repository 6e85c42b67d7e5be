//! Mounts the directory: with the system call as root, through `fusermount3` otherwise. Also finds
//! mounts left behind by killed processes.

use std::fs::File;
use std::io;
use std::io::{IoSliceMut, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use drive::emulated::{self, FILESYSTEM, SOURCE};
use rustix::fs::{Access, access};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::server::{self, ServerState};
use super::wire::PAYLOAD_BYTES_MAX;

/// Timeout of a serving process for answering `statvfs`.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// A mounted directory, unmounted on drop.
#[derive(Debug)]
pub struct Mounted {
    directory: PathBuf,
    /// True if it has already been unmounted.
    gone: bool,
}

/// Why mounting failed.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    #[error("cannot open /dev/fuse: {0}; load the kernel's FUSE module (`modprobe fuse`)")]
    NoFuse(io::Error),
    #[error("cannot mount on `{}`: {because}", directory.display())]
    Directory { directory: PathBuf, because: io::Error },
    #[error("`{}` is still mounted by an emulated drive whose process was killed: run `flushmark \
             emulate clean-up {}` to unmount it", .0.display(), .0.display())]
    Left(PathBuf),
    /// The mount belongs to a stopped process. No call on it returns.
    #[error("`{}` is mounted by an emulated drive that is stopped: choose another directory, or \
             continue that drive with `kill -CONT {process}`", directory.display())]
    Stopped {
        directory: PathBuf,
        /// Process that serves it.
        process: u32,
    },
    #[error("cannot mount `{}`: {because}", directory.display())]
    Failed {
        directory: PathBuf,
        /// The error of the system call or of `fusermount3`.
        because: String,
    },
}

/// Mounts a FUSE directory, and returns the file for talking to the kernel. The mount names the
/// model of its drive; `None` if it has several.
pub fn attach(directory: &Path, model: Option<&str>) -> Result<(File, Mounted), MountError> {
    let failed = |because: String| MountError::Failed { directory: directory.to_owned(), because };
    expect_free(directory)?;
    let metadata = std::fs::metadata(directory).and_then(|metadata| {
        if metadata.is_dir() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::NotADirectory)) }
    });
    if let Err(because) = metadata {
        return Err(MountError::Directory { directory: directory.to_owned(), because });
    }
    let directory = directory.canonicalize().map_err(|error| failed(error.to_string()))?;
    let source = model.map_or_else(|| SOURCE.to_owned(), emulated::source);
    let connection = if rustix::process::geteuid().is_root() {
        let connection =
            File::options().read(true).write(true).open("/dev/fuse").map_err(MountError::NoFuse)?;
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0,max_read={PAYLOAD_BYTES_MAX}",
            connection.as_raw_fd()
        );
        let options = std::ffi::CString::new(options).map_err(|error| failed(error.to_string()))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount(source.as_str(), &directory, FILESYSTEM, flags, options.as_c_str())
            .map_err(|error| failed(io::Error::from(error).to_string()))?;
        connection
    } else {
        by_helper(&directory, &source).map_err(failed)?
    };
    Ok((connection, Mounted { directory, gone: false }))
}

/// Mounts through `fusermount3`, which may mount for ordinary users and sends back the open file.
fn by_helper(directory: &Path, source: &str) -> Result<File, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let (ours, theirs) = UnixStream::pair().map_err(|error| said(&error))?;
    fcntl_setfd(&theirs, FdFlags::empty()).map_err(|error| said(&error))?;
    let helper = Command::new("fusermount3")
        .args([
            "-o",
            &format!("fsname={source},subtype=flushmark,nosuid,nodev,max_read={PAYLOAD_BYTES_MAX}"),
            "--",
        ])
        .arg(directory)
        .env("_FUSE_COMMFD", theirs.as_raw_fd().to_string())
        .output();
    drop(theirs);
    let output = helper.map_err(|error| unavailable(&error))?;
    if !output.status.success() {
        let because = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(forbidden().unwrap_or(because));
    }
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0; 1];
    // Not inherited by children: a command that outlives this process would keep the mount waiting
    // for answers.
    recvmsg(&ours, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        .map_err(|error| said(&error))?;
    let mut files = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let file: Option<OwnedFd> = files.next().and_then(|mut files| files.next());
    file.map(File::from).ok_or_else(|| "fusermount3 did not send the FUSE file".to_owned())
}

/// Advice for when only root may open the device: the helper opens it as the calling user.
fn forbidden() -> Option<String> {
    let denied = access("/dev/fuse", Access::READ_OK | Access::WRITE_OK) == Err(Errno::ACCESS);
    let mode = std::fs::metadata("/dev/fuse").ok().filter(|_| denied)?.permissions().mode() & 0o777;
    Some(format!(
        "this user may not open /dev/fuse, whose mode is {mode:o}; run `chmod 666 /dev/fuse` as \
         root (the mode that udev \
         gives it), or run flushmark as root"
    ))
}

/// Why `fusermount3` does not start. A PATH directory without search permission gives "permission
/// denied" even for a program that is in no directory at all.
fn unavailable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "without root, mounting needs `fusermount3`, which is not installed (Debian package \
             fuse3)"
                .to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            "without root, mounting needs `fusermount3`, which is not installed (Debian package \
             fuse3), \
             or which this user may not run"
                .to_owned()
        }
        _ => {
            format!(
                "without root, mounting needs `fusermount3` (Debian package fuse3), which does \
                     not start: {error}"
            )
        }
    }
}

/// Refuses a directory that a killed process left mounted, or that a stopped process serves.
///
/// # Errors
/// [`MountError::Left`] and [`MountError::Stopped`].
pub(crate) fn expect_free(directory: &Path) -> Result<(), MountError> {
    let found = server::mount_on(directory).ok().flatten();
    match found.as_ref().and_then(|mount| server::of_connection(mount.device)) {
        Some(server) if server.state == ServerState::Stopped => {
            Err(MountError::Stopped { directory: directory.to_owned(), process: server.process })
        }
        Some(server) if server.state == ServerState::Killed => {
            Err(MountError::Left(directory.to_owned()))
        }
        None if does_not_lead_to_a_process(directory) => {
            Err(MountError::Left(directory.to_owned()))
        }
        _ => Ok(()),
    }
}

/// Returns whether the process that served this mount has ended.
///
/// A living process has not lost its mount, even if it is stopped and does not answer.
pub(crate) fn has_lost_its_process(mount: &drive::Mount) -> bool {
    match server::of_connection(mount.device) {
        Some(server) => server.state == ServerState::Killed,
        None => does_not_lead_to_a_process(&mount.mount_point),
    }
}

/// Asks the filesystem itself, because processes in other containers are not visible here. The
/// kernel answers `stat` from its cache; `statvfs` always reaches the server.
fn does_not_lead_to_a_process(directory: &Path) -> bool {
    let directory = directory.to_owned();
    let (tell, told) = std::sync::mpsc::channel();
    let asks = move || {
        let is_lost =
            rustix::fs::statvfs(&directory).is_err_and(|error| error == rustix::io::Errno::NOTCONN);
        // The caller may have stopped waiting.
        let _ = tell.send(is_lost);
    };
    std::thread::Builder::new().name("left behind".to_owned()).spawn(asks).is_ok()
        && told.recv_timeout(ANSWER_TIMEOUT).unwrap_or(false)
}

/// Ends a connection: all requests fail, those in progress too.
///
/// # Errors
/// When the kernel refuses, as without root where `/sys/fs/fuse/connections` is not mounted.
pub(crate) fn abort(directory: &Path, connection: u32) -> io::Result<()> {
    let path = format!("/sys/fs/fuse/connections/{connection}/abort");
    let aborted = File::options().write(true).open(path).and_then(|mut file| file.write_all(b"1"));
    if aborted.is_err() && rustix::process::geteuid().is_root() {
        // Fails if the directory is in use, after the connection was aborted.
        match unmount(directory, UnmountFlags::FORCE) {
            Ok(()) | Err(Errno::BUSY) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    aborted
}

/// Unmounts a directory; with `lazily`, even if it is in use.
pub(crate) fn detach(directory: &Path, lazily: bool) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        let flags = if lazily { UnmountFlags::DETACH } else { UnmountFlags::empty() };
        return Ok(unmount(directory, flags)?);
    }
    let mut helper = Command::new("fusermount3");
    helper.arg("-u").args(lazily.then_some("-z")).arg("--").arg(directory);
    let output =
        helper.output().map_err(|error| io::Error::new(error.kind(), unavailable(&error)))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

impl Mounted {
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Unmounts the directory. All further operations on its files fail, and open files do not keep
    /// the connection alive.
    ///
    /// # Errors
    /// When the connection cannot be aborted, as without root where `/sys/fs/fuse/connections` is
    /// not mounted. The directory is unmounted anyway.
    pub fn abort(mut self) -> io::Result<()> {
        if rustix::process::geteuid().is_root() {
            self.gone = true;
            return Ok(unmount(&self.directory, UnmountFlags::FORCE | UnmountFlags::DETACH)?);
        }
        let device = rustix::fs::stat(&self.directory)?.st_dev;
        abort(&self.directory, rustix::fs::minor(device))
    }
}

impl Mounted {
    /// Notes that the directory was unmounted from outside.
    pub fn forget(mut self) {
        self.gone = true;
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Even if it is in use: its server is about to exit.
        if !self.gone {
            let _ = detach(&self.directory, true);
        }
    }
}
