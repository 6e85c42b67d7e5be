//! Which processor a job's thread runs on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

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
