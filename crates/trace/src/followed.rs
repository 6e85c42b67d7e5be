//! The threads whose calls a trace passes on.

use std::collections::HashSet;

use crate::decode::Tracepoint;
use crate::event::{Event, What};

/// Threads, with all that they create.
///
/// The kernel can do this by itself (`set_event_pid`), but then looks at each switch and each
/// wake-up of any thread: 4 µs per commit where one takes 20. So it only leaves out threads with
/// lower numbers than all of these and all that they may create, which most daemons have.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    threads: HashSet<u32>,
    lowest: Option<u32>,
}

impl Followed {
    pub fn add(&mut self, threads: &[u32]) {
        self.threads.extend(threads);
        self.lowest = self.lowest.into_iter().chain(threads.iter().copied()).min();
    }

    /// The lowest number so far, also of threads that have ended.
    pub fn lowest(&self) -> Option<u32> {
        self.lowest
    }

    /// True if a followed thread did this, or if it also matters of other threads. Events must come
    /// in the order of time.
    pub fn passes(&mut self, event: &Event) -> bool {
        match event.what {
            What::Create { thread } => {
                let by_followed = self.threads.contains(&event.thread);
                if by_followed {
                    self.add(&[thread]);
                }
                by_followed
            }
            What::End => self.threads.remove(&event.thread),
            What::Switch { from, to, .. } => {
                self.threads.contains(&from) || self.threads.contains(&to)
            }
            What::Enter { .. }
            | What::Return { .. }
            | What::UringSubmit { .. }
            | What::Open { .. }
            | What::Opened { .. }
            | What::Duplicate { .. } => self.threads.contains(&event.thread),
            _ => true,
        }
    }
}

/// The kernel's filter for what threads from this number on do.
pub(crate) fn filter(tracepoint: Tracepoint, lowest: u32) -> String {
    match tracepoint {
        Tracepoint::Switch => format!("prev_pid >= {lowest} || next_pid >= {lowest}"),
        // Workers and interrupt handlers do this for threads.
        Tracepoint::UringQueue | Tracepoint::UringComplete => String::new(),
        _ => match tracepoint.condition() {
            "" => format!("common_pid >= {lowest}"),
            condition => format!("{condition} && common_pid >= {lowest}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Left, Syscall};

    fn passes(followed: &mut Followed, thread: u32, what: What) -> bool {
        followed.passes(&Event { at: 0, thread, what })
    }

    #[test]
    fn what_followed_threads_create_is_followed_until_it_ends() {
        let mut followed = Followed::default();
        assert_eq!(followed.lowest(), None);
        followed.add(&[70, 71]);
        let enter = What::Enter { call: Syscall::Fsync, file: 3, flags: 0 };
        assert!(passes(&mut followed, 70, enter) && !passes(&mut followed, 90, enter));
        assert!(!passes(&mut followed, 50, What::Create { thread: 90 }));
        assert!(!passes(&mut followed, 90, enter));
        assert!(passes(&mut followed, 71, What::Create { thread: 91 }));
        assert!(passes(&mut followed, 91, What::Create { thread: 92 }));
        assert!(passes(&mut followed, 92, What::Return { result: 0 }));
        assert!(passes(&mut followed, 92, What::End));
        assert!(!passes(&mut followed, 92, enter) && !passes(&mut followed, 92, What::End));
        assert_eq!(followed.lowest(), Some(70));
        // Numbers begin anew at some time.
        assert!(passes(&mut followed, 91, What::Create { thread: 12 }));
        assert_eq!(followed.lowest(), Some(12));
    }

    #[test]
    fn what_matters_of_all_threads() {
        let mut followed = Followed::default();
        followed.add(&[70]);
        let switch = |from, to| What::Switch { from, from_state: Left::Waiting, to };
        assert!(
            passes(&mut followed, 0, switch(0, 70)) && passes(&mut followed, 70, switch(70, 5))
        );
        assert!(!passes(&mut followed, 0, switch(0, 5)));
        for what in [What::Lost { until: 9 }, What::UringComplete { request: 1, result: 0 }] {
            assert!(passes(&mut followed, 5, what));
        }
    }

    #[test]
    fn filters_of_the_kernel() {
        let filters = [
            Tracepoint::Return(Syscall::Fsync),
            Tracepoint::Enter(Syscall::Msync),
            Tracepoint::Switch,
            Tracepoint::UringQueue,
        ]
        .map(|tracepoint| filter(tracepoint, 70));
        assert_eq!(
            filters,
            [
                "common_pid >= 70",
                "flags & 4 && common_pid >= 70",
                "prev_pid >= 70 || next_pid >= 70",
                ""
            ]
        );
    }
}
