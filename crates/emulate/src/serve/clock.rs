//! Wakes up at the right moment: sleeps most of the time and polls the clock for the rest.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use simdrive::Ns;

/// Longest time to poll the clock: on a host that wakes up later than this, latencies are too long.
const WATCH_NS_MAX: Ns = 120_000;
/// Length of the trial sleeps.
const TRIAL: Duration = Duration::from_micros(200);

/// The clock of a server: nanoseconds since its start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    /// The lead time for waking up before a moment.
    pub watch_ns: Ns,
}

impl Clock {
    /// Starts the clock, and measures how late this thread wakes up.
    pub(crate) fn start() -> Clock {
        // By default, the kernel lets a thread oversleep by 50 µs to wake several at once
        // (PR_SET_TIMERSLACK).
        if let Some(slack) = NonZeroU64::new(1) {
            let _ = rustix::thread::set_current_timer_slack(Some(slack));
        }
        let mut late_ns: Vec<Ns> = (0..40)
            .map(|_| {
                let begun = Instant::now();
                std::thread::sleep(TRIAL);
                begun.elapsed().saturating_sub(TRIAL).as_nanos() as Ns
            })
            .collect();
        late_ns.sort_unstable();
        // The 90th percentile: nine in ten wake-ups are in time.
        let watch_ns = late_ns[late_ns.len() * 9 / 10].min(WATCH_NS_MAX);
        Clock { start: Instant::now(), watch_ns }
    }

    /// Nanoseconds since the start.
    #[inline]
    pub(crate) fn now(&self) -> Ns {
        self.start.elapsed().as_nanos() as Ns
    }

    /// The time to sleep until `at`: zero when it is near.
    pub(crate) fn sleep_until(&self, at: Ns) -> Duration {
        Duration::from_nanos(at.saturating_sub(self.now()).saturating_sub(self.watch_ns))
    }
}
