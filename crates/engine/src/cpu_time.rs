//! CPU time of this process.

use measurement::CpuUse;

/// CPU time of all threads of this process so far, including kernel time and io_uring's worker
/// threads.
#[expect(unsafe_code, reason = "getrusage has no safe wrapper among the project's crates")]
pub fn cpu_use() -> CpuUse {
    // SAFETY: the kernel fills in the structure within the call; all zeros is a valid value for it.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    CpuUse { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime) }
}

/// CPU time of this process since `before`.
pub fn cpu_use_since(before: CpuUse) -> CpuUse {
    let now = cpu_use();
    CpuUse { user_s: now.user_s - before.user_s, system_s: now.system_s - before.system_s }
}
