//! Mounts a state's filesystem, and unmounts it for good. Uses system calls: starting a program
//! would cost as much as the mount itself.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use emulate::Filesystem;
use rustix::fs::{Advice, Mode, OFlags, fadvise, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::holders::Holders;

/// A killed process may need a moment to release its files.
const PATIENCE: Duration = Duration::from_secs(2);
/// A busy host may need longer even if no process uses the filesystem.
const TIMEOUT_WITHOUT_HOLDERS: Duration = Duration::from_secs(20);

/// Errors of filesystems about content that they cannot read. All other errors are the host's:
/// memory, descriptors, permissions, a busy device.
///
/// EUCLEAN and EBADMSG are damage shown by a structure or its checksum; EINVAL a missing magic
/// number, or contradictory fields; EIO a broken tree or journal, and ENODATA a block that the
/// drive does not have; ESTALE a deleted inode; EFBIG, EOVERFLOW, ENOSYS and EOPNOTSUPP impossible
/// sizes and features.
const OF_CONTENT: [Errno; 10] = [
    Errno::UCLEAN,
    Errno::BADMSG,
    Errno::INVAL,
    Errno::IO,
    Errno::NODATA,
    Errno::STALE,
    Errno::FBIG,
    Errno::OVERFLOW,
    Errno::NOSYS,
    Errno::OPNOTSUPP,
];

/// Why a filesystem cannot be mounted.
#[derive(Debug)]
pub(crate) enum NotMounted {
    /// The kernel finds no valid filesystem.
    Content(io::Error),
    /// This host cannot mount it, whatever the content.
    Machine(io::Error),
}

impl NotMounted {
    /// Interprets the kernel's answer to `mount`.
    fn by(errno: Errno) -> NotMounted {
        if OF_CONTENT.contains(&errno) {
            NotMounted::Content(errno.into())
        } else {
            NotMounted::Machine(errno.into())
        }
    }
}

#[derive(Debug)]
pub(crate) struct Mounted<'a> {
    device: &'a Path,
    directory: &'a Path,
    taken_away: bool,
}

impl Mounted<'_> {
    /// Mounts the current content of the device.
    pub(crate) fn new<'a>(
        device: &'a Path,
        directory: &'a Path,
        filesystem: Filesystem,
    ) -> Result<Mounted<'a>, NotMounted> {
        // A process that has the device open, such as udev for a moment, keeps its page cache, with
        // blocks of the previous state.
        open(device, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .and_then(|opened| fadvise(&opened, 0, None, Advice::DontNeed))
            .map_err(|error| NotMounted::Machine(error.into()))?;
        let options = std::ffi::CString::new(filesystem.mount_options())
            .map_err(|error| NotMounted::Machine(error.into()))?;
        let mut mounted = Ok(());
        // A new device may be claimed for a moment by a program that examines it.
        let _ = patiently(PATIENCE, || {
            mounted = mount(
                device,
                directory,
                filesystem.name(),
                MountFlags::empty(),
                options.as_c_str(),
            );
            mounted == Err(Errno::BUSY)
        });
        mounted.map_err(NotMounted::by)?;
        Ok(Mounted { device, directory, taken_away: false })
    }

    /// Unmounts it. On success, nothing of the filesystem is left in the kernel. On failure, the
    /// device must not be mounted again: that would return the filesystem that still exists.
    ///
    /// # Errors
    /// The processes that use it.
    pub(crate) fn unmount(mut self) -> Result<(), Holders> {
        self.taken_away = true;
        let busy = || unmount(self.directory, UnmountFlags::empty()) == Err(Errno::BUSY);
        if patiently(PATIENCE, busy) && patiently(PATIENCE, || is_claimed(self.device)) {
            return Ok(());
        }
        // Mount namespaces that only follow this one do not keep it.
        let _ = unmount(self.directory, UnmountFlags::DETACH);
        let holders = Holders::of(self.device);
        if holders.are_none() && patiently(TIMEOUT_WITHOUT_HOLDERS, || is_claimed(self.device)) {
            return Ok(());
        }
        Err(holders)
    }
}

/// Waits while `busy`, up to a limit; returns whether it ended.
fn patiently(most: Duration, mut busy: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + most;
    while busy() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Unmounts a filesystem with the caller's `unmount`; returns whether that succeeded within a
/// while.
pub(crate) fn unmounted_by(mut unmount: impl FnMut() -> bool) -> bool {
    patiently(PATIENCE, || !unmount())
}

/// Returns whether a filesystem holds a device exclusively. It still does after being unmounted
/// here, as long as it is in use, even in another mount namespace.
fn is_claimed(device: &Path) -> bool {
    open(device, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty())
        .is_err_and(|error| error == Errno::BUSY)
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        if !self.taken_away {
            let _ = unmount(self.directory, UnmountFlags::DETACH);
        }
    }
}

#[cfg(test)]
mod tests {
    use emulate::LoopDevice;

    use super::*;
    use crate::served::QUEUE;

    #[test]
    fn patience_ends_with_the_cause_or_after_a_while() {
        let mut left = 3;
        let done = patiently(Duration::from_mins(1), || {
            left -= 1;
            left > 0
        });
        assert!(done && left == 0);
        let (begun, most) = (Instant::now(), Duration::from_millis(20));
        assert!(!patiently(most, || true) && begun.elapsed() >= most);
        let mut tries = 0;
        assert!(unmounted_by(|| {
            tries += 1;
            tries == 2
        }));
    }

    #[test]
    fn a_missing_device_is_not_claimed() {
        let directory = tempfile::tempdir().unwrap();
        assert!(!is_claimed(&directory.path().join("gone")) && !is_claimed(directory.path()));
    }

    #[test]
    fn a_device_is_claimed_while_it_is_open_exclusively() {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(1 << 20).unwrap();
        let device = match LoopDevice::attach(image.path(), QUEUE) {
            Ok(device) => device,
            Err(error) => {
                return eprintln!(
                    "skipped: a_device_is_claimed_while_it_is_open_exclusively: {error}"
                );
            }
        };
        assert!(!is_claimed(device.path()));
        let claim =
            open(device.path(), OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty())
                .unwrap();
        assert!(is_claimed(device.path()));
        drop(claim);
        assert!(!is_claimed(device.path()));
    }

    #[test]
    fn only_content_speaks_against_a_state() {
        let is_content = |errno| matches!(NotMounted::by(errno), NotMounted::Content(_));
        for errno in
            [Errno::UCLEAN, Errno::BADMSG, Errno::INVAL, Errno::IO, Errno::STALE, Errno::FBIG]
        {
            assert!(is_content(errno), "{errno}");
        }
        let machine = [
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOMEM,
            Errno::PERM,
            Errno::ACCESS,
            Errno::BUSY,
            Errno::NODEV,
            Errno::NXIO,
            Errno::NOTBLK,
            Errno::NOENT,
            Errno::INTR,
            Errno::NOSPC,
            Errno::ROFS,
        ];
        for errno in machine {
            assert!(!is_content(errno), "{errno}");
        }
    }
}
