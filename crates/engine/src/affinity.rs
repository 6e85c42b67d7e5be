//! Which processor a job's thread runs on.

use rustix::thread::{CpuSet, UnshareFlags, sched_getaffinity, sched_getcpu, sched_setaffinity, unshare_unsafe};

/// Processors that this process may use, beginning with the one it is on: the scheduler chose that one because it was idle.
pub fn allowed() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    let mut allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect();
    let here = allowed.iter().position(|&cpu| cpu == sched_getcpu());
    allowed.rotate_left(here.unwrap_or(0));
    allowed
}

/// Keeps the calling thread on one processor, so that no migration shows as latency. A refusal costs nothing but that.
pub fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}

/// Gives the calling thread a descriptor table of its own. The kernel then looks up a descriptor without counting a reference, as it does for a
/// program of one thread (`fdget` in `fs/file.c`): about 20 ns for each call.
#[expect(unsafe_code, reason = "descriptors opened afterwards are unknown to other threads")]
pub fn own_descriptors() {
    // SAFETY: a job opens what it needs itself and hands no descriptor to another thread; what was open before stays open in both tables.
    let _ = unsafe { unshare_unsafe(UnshareFlags::FILES) };
}
