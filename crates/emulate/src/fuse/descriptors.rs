//! Keeps a FUSE connection out of reach of the threads that use its files.

use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Gives the calling thread, and the threads that it starts from now on, a separate descriptor
/// table. A killed process ends thread by thread. A thread that waits in the kernel for a served
/// file waits for the replies of the serving threads; if it shared their descriptors, it would keep
/// their connection open, and thereby wait forever.
///
/// Descriptors that other threads opened before stay valid here. Those that they open afterwards
/// are not, nor the other way round: descriptors must not be passed to or from this thread any
/// more.
#[expect(unsafe_code, reason = "descriptors opened afterwards are unknown to other threads")]
pub fn separate_descriptors() {
    // SAFETY: the callers pass no descriptor opened afterwards to or from this thread. Where
    // seccomp forbids the call, the table stays shared, which only matters when killed.
    let _ = unsafe { unshare_unsafe(UnshareFlags::FILES) };
}
