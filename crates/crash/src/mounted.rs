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
    /// The kernel's.
    pub fn new<'a>(device: &'a Path, directory: &'a Path, filesystem: Filesystem) -> io::Result<Mounted<'a>> {
        // Whoever has the device open, as udev for a moment, keeps its page cache: with blocks of the state before.
        let opened = open(device, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        fadvise(&opened, 0, None, Advice::DontNeed)?;
        drop(opened);
        let options = std::ffi::CString::new(filesystem.mount_options())?;
        mount(device, directory, filesystem.name(), MountFlags::empty(), options.as_c_str())?;
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
