//! Removes the test files of a run that was killed.
//!
//! Unnamed files would vanish by themselves, but they are unsuitable: Btrfs and ZFS skip the log
//! for files with a link count of zero, so their `fsync` would cost nothing. Test files therefore
//! have names, in a separate directory per run, and a child process waits at the end of a pipe.
//! However the run ends, `kill -9` included, the kernel closes the pipe and the child removes the
//! files that are left.

#![expect(
    unsafe_code,
    reason = "fork has no safe wrapper, and the child may only make system calls"
)]

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

/// A child process that removes a directory when this process ends.
#[derive(Debug)]
pub struct Janitor {
    /// Closing it signals the child that the run is over.
    pipe: Option<OwnedFd>,
    child: libc::pid_t,
}

impl Janitor {
    /// Starts a child that removes the directory `name` within `parent`, including its files
    /// and empty subdirectories, when this process ends or the janitor is dropped.
    ///
    /// # Errors
    /// Fails if the system cannot create a pipe or process.
    pub fn watch(parent: BorrowedFd<'_>, name: &CStr) -> Result<Janitor, Errno> {
        let (end_of_run, pipe) = pipe_with(PipeFlags::CLOEXEC)?;
        let name = CString::from(name);
        // SAFETY: the child calls nothing but `wait_and_clean_up`, which makes system calls on
        // existing memory: no allocation, and no lock that another thread could have held at the
        // time of the fork.
        match unsafe { libc::fork() } {
            -1 => {
                Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::AGAIN))
            }
            // SAFETY: the descriptors are open, and the name is a C string that is copied into the
            // child by the fork.
            0 => unsafe {
                wait_and_clean_up(
                    end_of_run.as_raw_fd(),
                    pipe.as_raw_fd(),
                    parent.as_raw_fd(),
                    name.as_ptr(),
                )
            },
            child => Ok(Janitor { pipe: Some(pipe), child }),
        }
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // SAFETY: waits for a child of this process, which exits once the pipe is closed.
        unsafe { libc::waitpid(self.child, std::ptr::null_mut(), 0) };
    }
}

/// The main function of the child.
///
/// # Safety
/// Must only be called in a freshly forked child, with two open descriptors and a C string.
unsafe fn wait_and_clean_up(
    end_of_run: libc::c_int,
    pipe: libc::c_int,
    parent: libc::c_int,
    name: *const libc::c_char,
) -> ! {
    // SAFETY: system calls on descriptors of this process and on memory of this stack frame.
    unsafe {
        // A separate session that ignores the terminal's signals: whatever ends the run must not
        // end the child first.
        libc::setsid();
        let mut every = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut every);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const every, std::ptr::null_mut());
        // The child's copy of the write end would keep the pipe open forever.
        libc::close(pipe);
        // Keeps only two descriptors, as 0 and 1: the child must not hold locks and pipes to other
        // programs open. Kernels before 5.9 do not have this call; there, closing 2 at least
        // releases the terminal.
        if libc::dup2(end_of_run, 0) != 0 || libc::dup2(parent, 1) != 1 {
            libc::_exit(1);
        }
        libc::close(2);
        libc::syscall(
            libc::SYS_close_range,
            2 as libc::c_uint,
            libc::c_uint::MAX,
            0 as libc::c_uint,
        );
        let mut byte = [0u8; 1];
        while libc::read(0, byte.as_mut_ptr().cast(), 1) > 0 {}
        let directory = libc::openat(1, name, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC);
        if directory >= 0 {
            remove_files(directory);
            libc::unlinkat(1, name, libc::AT_REMOVEDIR);
        }
        libc::_exit(0)
    }
}

/// Removes every file and empty directory in a directory, without allocating.
///
/// # Safety
/// `directory` must be an open directory.
unsafe fn remove_files(directory: libc::c_int) {
    /// Offsets of the name and of the record length within `struct linux_dirent64`.
    const NAME: usize = 19;
    const LENGTH: usize = 16;
    let mut buffer = [0u8; 4096];
    loop {
        let mut removed = false;
        // SAFETY: system calls on this frame's buffer; the kernel fills whole records of the stated
        // length, each with a terminated name.
        unsafe {
            libc::lseek(directory, 0, libc::SEEK_SET);
            loop {
                let filled = libc::syscall(
                    libc::SYS_getdents64,
                    directory,
                    buffer.as_mut_ptr(),
                    buffer.len(),
                );
                if filled <= 0 {
                    break;
                }
                let mut start = 0;
                while start < filled as usize {
                    let length =
                        u16::from_ne_bytes([buffer[start + LENGTH], buffer[start + LENGTH + 1]]);
                    let name = buffer.as_ptr().add(start + NAME);
                    // Directories, too, which are always empty. `.` and `..` cannot be removed.
                    removed |= libc::unlinkat(directory, name.cast(), 0) == 0
                        || libc::unlinkat(directory, name.cast(), libc::AT_REMOVEDIR) == 0;
                    start += usize::from(length).max(1);
                }
            }
        }
        if !removed {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn sweeps_the_directory_when_dropped() {
        let parent = tempfile::tempdir().unwrap();
        let inside = parent.path().join("run");
        fs::create_dir(&inside).unwrap();
        for index in 0..300 {
            fs::write(inside.join(format!("a-file-with-a-longer-name-{index}")), "x").unwrap();
        }
        for index in 0..300 {
            fs::create_dir(inside.join(format!("a-directory-{index}"))).unwrap();
        }
        fs::write(parent.path().join("not-ours"), "x").unwrap();
        let handle = File::open(parent.path()).unwrap();
        drop(Janitor::watch(handle.as_fd(), c"run").unwrap());
        assert!(!inside.exists());
        assert!(parent.path().join("not-ours").exists());
    }

    #[test]
    fn does_nothing_when_everything_is_gone_already() {
        let parent = tempfile::tempdir().unwrap();
        let handle = File::open(parent.path()).unwrap();
        drop(Janitor::watch(handle.as_fd(), c"run").unwrap());
    }
}
