//! Asks the kernel which file backs a loop device (`LOOP_GET_STATUS64`).
//!
//! Opening a loop device may read its partitions, and the ioctl accesses its file. If that file is
//! on FUSE or NFS and the server has stopped, neither call returns; the waiting thread cannot be
//! killed, and its process cannot exit. So a child process asks, and is abandoned if necessary.

#![expect(unsafe_code, reason = "fork and the ioctl have no safe wrappers")]

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Access;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::DeviceNumber;
use crate::file_identity::FileIdentity;

/// The backing file of a loop device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoopStatus {
    pub(crate) file: FileIdentity,
    /// The block device's number, if the file is a device node.
    pub(crate) block_device: Option<DeviceNumber>,
}

/// An answer normally takes microseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// include/uapi/linux/loop.h.
const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;

/// `struct loop_info64`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    block_device: u64,
    offset_bytes: u64,
    limit_bytes: u64,
    number: u32,
    encryption: [u32; 2],
    flags: u32,
    names: [[u8; 64]; 2],
    key: [u8; 32],
    init: [u64; 2],
}

const _: () = assert!(size_of::<LoopInfo>() == 232);

/// The child writes this for each node: whether the rest is valid, device, inode, block device.
/// Smaller than `PIPE_BUF`, so it arrives in one piece.
type Answer = [u64; 4];

pub(super) struct Node {
    pub(super) path: PathBuf,
    /// The node must have this number from sysfs: in a container, names may differ.
    pub(super) number: Option<DeviceNumber>,
}

/// The status of each device; `None` where this user may not ask, or no answer came.
pub(super) fn ask(nodes: &[Node]) -> Vec<Option<LoopStatus>> {
    let mut found = vec![None; nodes.len()];
    let mut open: Vec<(usize, CString, libc::dev_t)> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let allowed = rustix::fs::access(&node.path, Access::READ_OK).is_ok();
        if let (true, Some(number), Ok(path)) =
            (allowed, node.number, CString::new(node.path.as_os_str().as_bytes()))
        {
            open.push((index, path, libc::makedev(number.major, number.minor)));
        }
    }
    let mut left = &open[..];
    while !left.is_empty() {
        let Ok(mut child) = Child::start(left) else { break };
        while let [(index, ..), rest @ ..] = left {
            let answer = child.next();
            found[*index] = answer.as_ref().ok().copied().flatten();
            left = rest;
            if answer.is_err() {
                break;
            }
        }
    }
    found
}

/// No answer came; another child may ask about the next device.
struct Silent;

struct Child {
    pipe: OwnedFd,
    pid: libc::pid_t,
}

impl Child {
    fn start(nodes: &[(usize, CString, libc::dev_t)]) -> Result<Child, Errno> {
        let (pipe, answers) = pipe_with(PipeFlags::CLOEXEC)?;
        // SAFETY: the child calls nothing but `answer`, which makes system calls on memory that
        // exists already: no allocation, and no lock that another thread might have held.
        match unsafe { libc::fork() } {
            -1 => {
                Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::AGAIN))
            }
            // SAFETY: a freshly forked child with an open descriptor.
            0 => unsafe { answer(answers.as_fd(), nodes) },
            pid => Ok(Child { pipe, pid }),
        }
    }

    fn next(&mut self) -> Result<Option<LoopStatus>, Silent> {
        let patience = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        let ready = loop {
            match poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&patience)) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        let mut bytes = [0; size_of::<Answer>()];
        if !matches!(ready, Ok(1)) || rustix::io::read(&self.pipe, &mut bytes) != Ok(bytes.len()) {
            return Err(Silent);
        }
        let mut words = bytes
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        let mut next = || words.next().unwrap_or_default();
        let (holds, device, inode, block_device) = (next(), next(), next(), next());
        // Before Linux 5.16, a regular file's "block device" was the device that contains it.
        let is_block = block_device != 0 && block_device != device;
        Ok((holds == 1).then(|| LoopStatus {
            file: FileIdentity { device: DeviceNumber::from_dev(device), inode },
            block_device: is_block.then(|| DeviceNumber::from_dev(block_device)),
        }))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: ends and reaps this process's child. A child that the kernel does not let end is
        // not waited for.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            for _ in 0..100 {
                if libc::waitpid(self.pid, std::ptr::null_mut(), libc::WNOHANG) != 0 {
                    return;
                }
                libc::usleep(1000);
            }
        }
    }
}

/// The entire code of the child.
///
/// # Safety
/// Call this only in a freshly forked child.
unsafe fn answer(answers: BorrowedFd<'_>, nodes: &[(usize, CString, libc::dev_t)]) -> ! {
    // SAFETY: system calls on descriptors of this process and on memory of this stack frame.
    unsafe {
        // Signal handlers belong to the parent.
        let mut every = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(every.as_mut_ptr());
        libc::sigprocmask(libc::SIG_BLOCK, every.as_ptr(), std::ptr::null_mut());
        // An abandoned child must not keep a directory busy, or a pipe or lock open. Kernels before
        // 5.9 lack the last call.
        libc::chdir(c"/".as_ptr());
        if libc::dup2(answers.as_raw_fd(), 0) != 0 {
            libc::_exit(1);
        }
        libc::syscall(
            libc::SYS_close_range,
            1 as libc::c_uint,
            libc::c_uint::MAX,
            0 as libc::c_uint,
        );
        for (_, path, number) in nodes {
            let mut answer: Answer = [0; 4];
            let node =
                libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC);
            let mut found = MaybeUninit::<libc::stat>::zeroed();
            let mut info = MaybeUninit::<LoopInfo>::zeroed();
            if node >= 0
                && libc::fstat(node, found.as_mut_ptr()) == 0
                && found.assume_init_ref().st_mode & libc::S_IFMT == libc::S_IFBLK
                && found.assume_init_ref().st_rdev == *number
                && libc::ioctl(node, LOOP_GET_STATUS64 as _, info.as_mut_ptr()) == 0
            {
                let info = info.assume_init_ref();
                answer = [1, info.device, info.inode, info.block_device];
            }
            if node >= 0 {
                libc::close(node);
            }
            libc::write(0, answer.as_ptr().cast(), size_of::<Answer>());
        }
        libc::_exit(0)
    }
}
