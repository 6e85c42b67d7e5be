//! A state's filesystem, mounted and taken away for good. By the kernel's own calls: each program that is started for it costs as much as the mount.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use emulate::chain::Filesystem;
use rustix::fs::{Advice, Mode, OFlags, fadvise, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::holders::Holders;

/// What was killed may need a moment to let go.
const PATIENCE: Duration = Duration::from_secs(2);
/// A busy machine may need longer; nobody is to blame then.
const PATIENCE_WITH_NOBODY: Duration = Duration::from_secs(20);

/// What filesystems say of content that they cannot read. Whatever else keeps them from being mounted is the machine's: memory, descriptors, rights, a device that is busy.
///
/// EUCLEAN and EBADMSG are damage that a structure or its checksum shows; EINVAL no magic number, or fields that contradict each other; EIO a tree or journal that leads nowhere, and ENODATA a block
/// that the drive does not have; ESTALE an inode that was deleted; EFBIG, EOVERFLOW, ENOSYS and EOPNOTSUPP sizes and features that nobody made.
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

/// Why a filesystem is not mounted.
#[derive(Debug)]
pub enum NotMounted {
    /// The kernel finds none that it can read.
    Content(io::Error),
    /// The machine cannot, whatever there is.
    Machine(io::Error),
}

impl NotMounted {
    /// What the kernel's answer to `mount` means.
    fn by(errno: Errno) -> NotMounted {
        if OF_CONTENT.contains(&errno) { NotMounted::Content(errno.into()) } else { NotMounted::Machine(errno.into()) }
    }
}

/// A mounted filesystem.
#[derive(Debug)]
pub struct Mounted<'a> {
    device: &'a Path,
    directory: &'a Path,
    taken_away: bool,
}

impl Mounted<'_> {
    /// Mounts what the device holds now.
    ///
    /// # Errors
    /// The kernel's, told apart.
    pub fn new<'a>(device: &'a Path, directory: &'a Path, filesystem: Filesystem) -> Result<Mounted<'a>, NotMounted> {
        // Whoever has the device open, as udev for a moment, keeps its page cache: with blocks of the state before.
        open(device, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .and_then(|opened| fadvise(&opened, 0, None, Advice::DontNeed))
            .map_err(|error| NotMounted::Machine(error.into()))?;
        let options =
            std::ffi::CString::new(filesystem.mount_options()).map_err(|error| NotMounted::Machine(error.into()))?;
        let mut mounted = Ok(());
        // Somebody may claim each new device for a moment to look what is on it.
        let _ = patiently(PATIENCE, || {
            mounted = mount(device, directory, filesystem.name(), MountFlags::empty(), options.as_c_str());
            mounted == Err(Errno::BUSY)
        });
        mounted.map_err(NotMounted::by)?;
        Ok(Mounted { device, directory, taken_away: false })
    }

    /// Takes it away. If that succeeds, nothing is left of the filesystem in the kernel. If it does not, the device must not be mounted again: that would give the filesystem that is there still.
    ///
    /// # Errors
    /// Those who keep it.
    pub fn unmount(mut self) -> Result<(), Holders> {
        self.taken_away = true;
        let busy = || unmount(self.directory, UnmountFlags::empty()) == Err(Errno::BUSY);
        if patiently(PATIENCE, busy) && patiently(PATIENCE, || is_claimed(self.device)) {
            return Ok(());
        }
        // Other mount namespaces that only follow this one keep nothing.
        let _ = unmount(self.directory, UnmountFlags::DETACH);
        let holders = Holders::of(self.device);
        if holders.are_none() && patiently(PATIENCE_WITH_NOBODY, || is_claimed(self.device)) {
            return Ok(());
        }
        Err(holders)
    }
}

/// Waits while it is busy, so long at most; whether that came to an end.
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

/// Takes a filesystem away by the `unmount` of whoever mounted it; whether that succeeded within a while.
pub fn unmounted_by(mut unmount: impl FnMut() -> bool) -> bool {
    patiently(PATIENCE, || !unmount())
}

/// Whether a filesystem has a device for itself: it does also after it was unmounted here, as long as somebody uses it, if only in another mount namespace.
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
    use emulate::chain::LoopDevice;

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
    fn nobody_claims_what_is_not_there() {
        let directory = tempfile::tempdir().unwrap();
        assert!(!is_claimed(&directory.path().join("gone")) && !is_claimed(directory.path()));
    }

    #[test]
    fn a_device_is_claimed_while_it_is_open_exclusively() {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(1 << 20).unwrap();
        let device = match LoopDevice::attach(image.path(), QUEUE) {
            Ok(device) => device,
            Err(error) => return eprintln!("skipped: a_device_is_claimed_while_it_is_open_exclusively: {error}"),
        };
        assert!(!is_claimed(device.path()));
        let claim = open(device.path(), OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty()).unwrap();
        assert!(is_claimed(device.path()));
        drop(claim);
        assert!(!is_claimed(device.path()));
    }

    #[test]
    fn only_content_speaks_against_a_state() {
        let is_content = |errno| matches!(NotMounted::by(errno), NotMounted::Content(_));
        for errno in [Errno::UCLEAN, Errno::BADMSG, Errno::INVAL, Errno::IO, Errno::STALE, Errno::FBIG] {
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
