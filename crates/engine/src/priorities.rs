//! I/O priorities of a job: that of its thread, and those of single I/Os with their latencies.

use measurement::PriorityLatency;
use rustix::io::Errno;
use workload::{IoPriority, Priorities, PriorityDraws};

use crate::job::Failure;
use crate::recorder::{CELLS, Recorder, histogram_of};

/// `IOPRIO_WHO_PROCESS` of `include/uapi/linux/ioprio.h`; 0 as its number is the calling thread.
const WHO_THREAD: libc::c_int = 1;
/// The kernel's default.
const NO_PRIORITY: u16 = 0;

/// Sets the priority of the calling thread, and checks beforehand that the kernel permits those of
/// single I/Os: io_uring and libaio would refuse an I/O in the middle of a measurement.
pub fn apply(priorities: &Priorities) -> Result<(), Failure> {
    for priority in priorities.all() {
        set(priority.value()).map_err(|errno| Failure::Priority { priority, errno })?;
    }
    if priorities.vary() {
        let thread = priorities.thread.map_or(NO_PRIORITY, IoPriority::value);
        set(thread).map_err(|errno| Failure::of("resetting the I/O priority", errno))?;
    }
    Ok(())
}

#[expect(unsafe_code, reason = "a system call that the C library does not wrap")]
fn set(value: u16) -> Result<(), Errno> {
    // SAFETY: the call takes three numbers.
    let set = unsafe {
        libc::syscall(libc::SYS_ioprio_set, WHO_THREAD, 0 as libc::c_int, libc::c_int::from(value))
    };
    if set == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL))
}

/// The I/Os of one phase that have a separate priority, and the latencies of each kind.
#[derive(Debug)]
pub struct Prioritised {
    draws: PriorityDraws,
    kinds: Vec<Kind>,
    /// The kind of the I/O in each slot.
    slots: Vec<usize>,
}

/// Reads, or writes, of one priority.
#[derive(Debug)]
struct Kind {
    reads: bool,
    priority: Option<IoPriority>,
    latencies: Recorder,
}

impl Prioritised {
    /// For a phase of a job with `depth` slots.
    pub fn new(draws: PriorityDraws, depth: u32) -> Prioritised {
        Prioritised { draws, kinds: Vec::new(), slots: vec![0; depth as usize] }
    }

    /// Draws the priority of the I/O that a slot begins.
    pub fn begin(&mut self, slot: u32, reads: bool, bytes: u32) -> Option<IoPriority> {
        let priority = self.draws.next(reads, bytes);
        let known = |kind: &Kind| kind.reads == reads && kind.priority == priority;
        let kind = self.kinds.iter().position(known).unwrap_or_else(|| {
            self.kinds.push(Kind { reads, priority, latencies: Recorder::new() });
            self.kinds.len() - 1
        });
        self.slots[slot as usize] = kind;
        priority
    }

    /// Counts the latency of the I/O in a slot.
    pub fn record(&self, slot: u32, elapsed_ns: u64) {
        self.kinds[self.slots[slot as usize]].latencies.record(elapsed_ns);
    }

    /// The latencies of each kind that occurred: reads first, and those with the thread's priority
    /// last.
    pub fn latencies(mut self) -> Vec<PriorityLatency> {
        let value = |kind: &Kind| kind.priority.map_or(u16::MAX, IoPriority::value);
        self.kinds.sort_by_key(|kind| (!kind.reads, value(kind)));
        let latency = |kind: Kind| {
            let mut cells = vec![0; CELLS];
            kind.latencies.add_to(&mut cells);
            PriorityLatency::new(kind.reads, kind.priority, histogram_of(&cells))
        };
        self.kinds.into_iter().map(latency).collect()
    }
}

#[cfg(test)]
mod tests {
    use workload::{PriorityClass, PriorityShare};

    use super::*;

    #[test]
    fn a_thread_gets_its_priority_and_the_others_are_only_tried() {
        let idle = |level| IoPriority { class: PriorityClass::Idle, level, hint: 0 };
        let share = PriorityShare { bytes: None, percent: 50, priority: idle(3) };
        let thread = Some(idle(7));
        let of_thread = |priorities: Priorities| {
            std::thread::spawn(move || {
                apply(&priorities).unwrap();
                // SAFETY: the call takes two numbers.
                #[expect(unsafe_code, reason = "the kernel's answer")]
                unsafe {
                    libc::syscall(libc::SYS_ioprio_get, WHO_THREAD, 0)
                }
            })
            .join()
            .unwrap()
        };
        let both = Priorities { thread, reads: vec![share], writes: Vec::new() };
        assert_eq!(of_thread(both.clone()), i64::from(idle(7).value()));
        let single = of_thread(Priorities { thread: None, ..both });
        assert_eq!(single, of_thread(Priorities::default()));
    }
}
