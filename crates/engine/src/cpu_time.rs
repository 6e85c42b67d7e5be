//! Processor time of this process.

use measurement::CpuUse;

/// What all threads of this process have used so far, the kernel's work on their behalf and io_uring's workers included.
#[expect(unsafe_code, reason = "getrusage has no safe wrapper among the project's crates")]
pub fn cpu_use() -> CpuUse {
    // SAFETY: the kernel fills the structure, for which all zeros is a valid value, within the call.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    CpuUse { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime) }
}
