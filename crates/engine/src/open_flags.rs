//! Open flags that make writes durable.

use rustix::fs::OFlags;
use workload::OpenFlag;

/// The kernel's open flags for `flag`; empty for `None`.
///
/// `OFlags::DSYNC` is not used: rustix 1.1.6 defines it as `O_SYNC` on its `linux_raw` backend
/// (`src/backend/linux_raw/fs/types.rs`), and `O_RSYNC` likewise. On ext4, `O_SYNC` commits a
/// journal transaction with each write where `O_DSYNC` needs none.
pub fn open_flags(flag: Option<OpenFlag>) -> OFlags {
    match flag {
        None => OFlags::empty(),
        Some(OpenFlag::OSync) => OFlags::from_bits_retain(libc::O_SYNC as u32),
        Some(OpenFlag::ODsync) => OFlags::from_bits_retain(libc::O_DSYNC as u32),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{AtFlags, FallocateFlags, FlockOperation, Mode, StatxFlags};
    use rustix::io::ReadWriteFlags;
    use rustix::mm::{MapFlags, ProtFlags};
    use workload::SyncMethod;

    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "rustix has no F_GETFL that leaves the bits as they are")]
    fn the_kernel_reports_the_flags_of_each_method() {
        // `O_SYNC` is 0x101000: `__O_SYNC` and `O_DSYNC` (`include/uapi/asm-generic/fcntl.h`).
        let wanted = |method| match method {
            SyncMethod::OSync => 0x10_1000,
            SyncMethod::ODsync => 0x1000,
            _ => 0,
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        for method in SyncMethod::ALL {
            let flags = open_flags(method.open_flag()) | OFlags::RDWR | OFlags::CLOEXEC;
            let opened = rustix::fs::open(file.path(), flags, Mode::empty()).unwrap();
            // SAFETY: F_GETFL takes no argument and touches no memory.
            let reported = unsafe { libc::fcntl(opened.as_raw_fd(), libc::F_GETFL) };
            assert_eq!(reported & 0x10_1000, wanted(method), "{}", method.name());
        }
    }

    /// Other flags that are passed through rustix, compared with the C library's values.
    #[test]
    fn other_constants_are_the_kernel_s() {
        let open = [
            (OFlags::RDONLY, libc::O_RDONLY),
            (OFlags::RDWR, libc::O_RDWR),
            (OFlags::CREATE, libc::O_CREAT),
            (OFlags::EXCL, libc::O_EXCL),
            (OFlags::CLOEXEC, libc::O_CLOEXEC),
            (OFlags::DIRECT, libc::O_DIRECT),
            (OFlags::DIRECTORY, libc::O_DIRECTORY),
            (OFlags::NOFOLLOW, libc::O_NOFOLLOW),
            (OFlags::NONBLOCK, libc::O_NONBLOCK),
            (OFlags::TMPFILE, libc::O_TMPFILE),
        ];
        open.iter().for_each(|&(ours, theirs)| assert_eq!(ours.bits() as i32, theirs, "{ours:?}"));
        let fallocate = [
            (FallocateFlags::KEEP_SIZE, libc::FALLOC_FL_KEEP_SIZE),
            (FallocateFlags::PUNCH_HOLE, libc::FALLOC_FL_PUNCH_HOLE),
            (FallocateFlags::ZERO_RANGE, libc::FALLOC_FL_ZERO_RANGE),
        ];
        fallocate
            .iter()
            .for_each(|&(ours, theirs)| assert_eq!(ours.bits() as i32, theirs, "{ours:?}"));
        let at = [
            (AtFlags::EMPTY_PATH, libc::AT_EMPTY_PATH),
            (AtFlags::REMOVEDIR, libc::AT_REMOVEDIR),
            (AtFlags::SYMLINK_FOLLOW, libc::AT_SYMLINK_FOLLOW),
            (AtFlags::SYMLINK_NOFOLLOW, libc::AT_SYMLINK_NOFOLLOW),
            (AtFlags::STATX_DONT_SYNC, libc::AT_STATX_DONT_SYNC),
        ];
        at.iter().for_each(|&(ours, theirs)| assert_eq!(ours.bits() as i32, theirs, "{ours:?}"));
        assert_eq!(ReadWriteFlags::DSYNC.bits() as i32, libc::RWF_DSYNC);
        assert_eq!(StatxFlags::DIOALIGN.bits(), libc::STATX_DIOALIGN);
        assert_eq!(FlockOperation::NonBlockingLockExclusive as i32, libc::LOCK_EX | libc::LOCK_NB);
        assert_eq!(FlockOperation::NonBlockingLockShared as i32, libc::LOCK_SH | libc::LOCK_NB);
        assert_eq!((MapFlags::SHARED.bits(), MapFlags::PRIVATE.bits()), (1, 2));
        assert_eq!(MapFlags::POPULATE.bits() as i32, libc::MAP_POPULATE);
        assert_eq!(
            (ProtFlags::READ | ProtFlags::WRITE).bits() as i32,
            libc::PROT_READ | libc::PROT_WRITE
        );
    }
}
