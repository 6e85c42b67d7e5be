//! CPU affinity of a job's thread.

use rustix::io::Errno;
use rustix::thread::{
    CpuSet, UnshareFlags, sched_getaffinity, sched_getcpu, sched_setaffinity, unshare_unsafe,
};

/// Processors available to this process, starting with the current one: the scheduler chose it
/// because it was idle.
pub fn allowed() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    let mut allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect();
    let here = allowed.iter().position(|&cpu| cpu == sched_getcpu());
    allowed.rotate_left(here.unwrap_or(0));
    allowed
}

/// Pins the calling thread to one processor, so migrations do not show up as latency. Failure to
/// pin is ignored.
pub fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}

/// Restricts the calling thread to these processors.
pub fn restrict(cpus: &[u32]) -> Result<(), Errno> {
    let mut set = CpuSet::new();
    // `CpuSet` has room for 1024.
    for cpu in cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU) {
        set.set(cpu);
    }
    sched_setaffinity(None, &set)
}

/// Gives the calling thread a separate descriptor table. The kernel then looks up descriptors
/// without counting references, as in a single-threaded program (`fdget` in `fs/file.c`): about 20
/// ns per call.
#[expect(unsafe_code, reason = "descriptors opened afterwards are unknown to other threads")]
pub fn unshare_descriptors() {
    // SAFETY: a job opens what it needs itself and hands no descriptor to another thread; what was
    // open before stays open in both tables.
    let _ = unsafe { unshare_unsafe(UnshareFlags::FILES) };
}
