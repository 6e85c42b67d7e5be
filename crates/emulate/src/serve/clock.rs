//! Waking up at the right moment: sleeping most of the way and watching the clock for the rest.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use simdrive::time::Ns;

/// The longest that is watched for: on a machine that wakes up later than this, latencies are late.
const WATCH_NS_MOST: Ns = 120_000;
/// What a sleep is tried with.
const TRIAL: Duration = Duration::from_micros(200);

/// The clock of a server: nanoseconds since its start.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    /// How long before a moment to wake up.
    pub watch_ns: Ns,
}

impl Clock {
    /// Starts, and finds out how late this thread wakes up.
    pub fn start() -> Clock {
        // The kernel lets a thread oversleep by 50 µs by default, so that it may wake several at once (PR_SET_TIMERSLACK).
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
        // Nine in ten are in time then.
        let watch_ns = late_ns[late_ns.len() * 9 / 10].min(WATCH_NS_MOST);
        Clock { start: Instant::now(), watch_ns }
    }

    /// Nanoseconds since the start.
    #[inline]
    pub fn now(&self) -> Ns {
        self.start.elapsed().as_nanos() as Ns
    }

    /// How long to sleep until `at`: not at all when it is near.
    pub fn sleep_until(&self, at: Ns) -> Duration {
        Duration::from_nanos(at.saturating_sub(self.now()).saturating_sub(self.watch_ns))
    }
}
