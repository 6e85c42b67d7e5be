//! Mounting the directory: by the kernel's own call as root, through `fusermount3` otherwise. And what killed processes left mounted.

use std::fs::File;
use std::io;
use std::io::{IoSliceMut, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::{Access, access};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::wire::PAYLOAD_BYTES_MOST;
use super::{FILESYSTEM, server};

/// A process that serves a directory says at once how full it is.
const ANSWER_MOST: Duration = Duration::from_secs(1);

/// A mounted directory. Dropping it takes it away.
#[derive(Debug)]
pub struct Mounted {
    directory: PathBuf,
    /// It is not there any more.
    gone: bool,
}

/// Why nothing could be mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The kernel has no FUSE.
    #[error("/dev/fuse cannot be opened ({0}): the kernel's FUSE is needed (`modprobe fuse`)")]
    NoFuse(io::Error),
    /// The directory is not there.
    #[error("`{}` is no directory that something can be mounted on: {because}", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// Why.
        because: io::Error,
    },
    /// A mount of a process that was killed.
    #[error("`{}` is still mounted by an emulated drive whose process was killed; `flushmark emulate clean-up {}` takes it away", .0.display(), .0.display())]
    Left(PathBuf),
    /// A mount of a process that is stopped. No call on it returns.
    #[error("`{}` is mounted by an emulated drive that is stopped; name another directory, or continue that drive with `kill -CONT {process}`", directory.display())]
    Stopped {
        /// The directory.
        directory: PathBuf,
        /// The process.
        process: u32,
    },
    /// Mounting failed.
    #[error("`{}` could not be mounted: {because}", directory.display())]
    Failed {
        /// The directory.
        directory: PathBuf,
        /// Why.
        because: String,
    },
}

/// Mounts a FUSE directory, and gives the file through which the kernel speaks.
///
/// # Errors
/// When the directory or the machine does not allow it.
pub fn attach(directory: &Path) -> Result<(File, Mounted), MountError> {
    let failed = |because: String| MountError::Failed { directory: directory.to_owned(), because };
    expect_free(directory)?;
    let metadata = std::fs::metadata(directory).and_then(|metadata| {
        if metadata.is_dir() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::NotADirectory)) }
    });
    if let Err(because) = metadata {
        return Err(MountError::Directory { directory: directory.to_owned(), because });
    }
    let directory = directory.canonicalize().map_err(|error| failed(error.to_string()))?;
    let connection = if rustix::process::geteuid().is_root() {
        let connection = File::options().read(true).write(true).open("/dev/fuse").map_err(MountError::NoFuse)?;
        let options =
            format!("fd={},rootmode=40000,user_id=0,group_id=0,max_read={PAYLOAD_BYTES_MOST}", connection.as_raw_fd());
        let options = std::ffi::CString::new(options).map_err(|error| failed(error.to_string()))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("flushmark", &directory, FILESYSTEM, flags, options.as_c_str())
            .map_err(|error| failed(io::Error::from(error).to_string()))?;
        connection
    } else {
        by_helper(&directory).map_err(failed)?
    };
    Ok((connection, Mounted { directory, gone: false }))
}

/// `fusermount3` may mount for ordinary users, and sends the open file back.
fn by_helper(directory: &Path) -> Result<File, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let (ours, theirs) = UnixStream::pair().map_err(|error| said(&error))?;
    fcntl_setfd(&theirs, FdFlags::empty()).map_err(|error| said(&error))?;
    let helper = Command::new("fusermount3")
        .args(["-o", &format!("fsname=flushmark,subtype=flushmark,nosuid,nodev,max_read={PAYLOAD_BYTES_MOST}"), "--"])
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
    // Not for children: a command that outlives this process would keep the mount waiting for answers.
    recvmsg(&ours, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        .map_err(|error| said(&error))?;
    let mut files = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let file: Option<OwnedFd> = files.next().and_then(|mut files| files.next());
    file.map(File::from).ok_or_else(|| "fusermount3 sent no file".to_owned())
}

/// What to do where only root may open the device: the helper opens it as the user who runs it.
fn forbidden() -> Option<String> {
    let denied = access("/dev/fuse", Access::READ_OK | Access::WRITE_OK) == Err(Errno::ACCESS);
    let mode = std::fs::metadata("/dev/fuse").ok().filter(|_| denied)?.permissions().mode() & 0o777;
    Some(format!(
        "this user may not open /dev/fuse, whose mode is {mode:o}; run `chmod 666 /dev/fuse` as root (the mode that udev \
         gives it), or run flushmark as root"
    ))
}

/// Why `fusermount3` does not run. A directory of `PATH` that may not be searched gives "permission
/// denied" for a program that is in none of them.
fn unavailable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "without root it takes `fusermount3`, which is not installed (Debian package fuse3)".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            "without root it takes `fusermount3`, which is not installed (Debian package fuse3), \
             or which this user may not run"
                .to_owned()
        }
        _ => format!("without root it takes `fusermount3` (Debian package fuse3), which does not start: {error}"),
    }
}

/// Refuses a directory on which another process has left a mount, or has one and does not answer.
///
/// # Errors
/// [`MountError::Left`] and [`MountError::Stopped`].
pub fn expect_free(directory: &Path) -> Result<(), MountError> {
    let found = server::mount_on(directory).ok().flatten();
    match found.as_ref().and_then(|mount| server::of_connection(mount.device)) {
        Some(server) if server.is_stopped => {
            Err(MountError::Stopped { directory: directory.to_owned(), process: server.process })
        }
        None if does_not_lead_to_a_process(directory) => Err(MountError::Left(directory.to_owned())),
        _ => Ok(()),
    }
}

/// Whether the process that served this mount has ended.
///
/// A living process has not lost its mount, even one that is stopped and does not answer.
pub fn has_lost_its_process(mount: &drive::Mount) -> bool {
    server::of_connection(mount.device).is_none() && does_not_lead_to_a_process(&mount.mount_point)
}

/// Asks the filesystem itself, because other containers' processes are not visible here. The kernel
/// answers `stat` from its cache; `statvfs` always reaches the server.
fn does_not_lead_to_a_process(directory: &Path) -> bool {
    let directory = directory.to_owned();
    let (tell, told) = std::sync::mpsc::channel();
    let asks = move || {
        let is_lost = rustix::fs::statvfs(&directory).is_err_and(|error| error == rustix::io::Errno::NOTCONN);
        // Whoever asked may have stopped waiting.
        let _ = tell.send(is_lost);
    };
    std::thread::Builder::new().name("left behind".to_owned()).spawn(asks).is_ok()
        && told.recv_timeout(ANSWER_MOST).unwrap_or(false)
}

/// Takes a mount away; `lazily`, although something still uses it.
///
/// # Errors
/// When the kernel refuses, for example because it is in use.
pub fn detach(directory: &Path, lazily: bool) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        let flags = if lazily { UnmountFlags::DETACH } else { UnmountFlags::empty() };
        return Ok(unmount(directory, flags)?);
    }
    let mut helper = Command::new("fusermount3");
    helper.arg("-u").args(lazily.then_some("-z")).arg("--").arg(directory);
    let output = helper.output().map_err(|error| io::Error::new(error.kind(), unavailable(&error)))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

impl Mounted {
    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Takes it away, and whatever somebody still does with its files fails from now on: whoever has one open does not keep the connection alive.
    ///
    /// # Errors
    /// When the connection cannot be ended, as without root where `/sys/fs/fuse/connections` is not mounted. The directory is taken away all the same.
    pub fn abort(mut self) -> io::Result<()> {
        if rustix::process::geteuid().is_root() {
            self.gone = true;
            return Ok(unmount(&self.directory, UnmountFlags::FORCE | UnmountFlags::DETACH)?);
        }
        let device = rustix::fs::stat(&self.directory)?.st_dev;
        let connection = format!("/sys/fs/fuse/connections/{}/abort", rustix::fs::minor(device));
        std::fs::OpenOptions::new().write(true).open(connection)?.write_all(b"1")
    }
}

impl Mounted {
    /// Somebody has taken it away.
    pub fn forget(mut self) {
        self.gone = true;
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // In use or not: whoever serves it is about to go.
        if !self.gone {
            let _ = detach(&self.directory, true);
        }
    }
}
