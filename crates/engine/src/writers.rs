//! Jobs that write the same blocks, which can only be checked once none of them writes any more.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::job::Stop;

/// Interval at which a stop is noticed.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The number of jobs that may still write.
#[derive(Debug)]
pub struct Writers {
    left: Mutex<u32>,
    changed: Condvar,
}

impl Writers {
    pub const fn new(jobs: u32) -> Writers {
        Writers { left: Mutex::new(jobs), changed: Condvar::new() }
    }

    /// Waits until no job writes any more, or a stop is requested.
    pub fn wait(&self, stop: &Stop) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        while *left > 0 && !stop.is_requested() {
            let waited = self.changed.wait_timeout(left, LOOK_INTERVAL);
            left = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// One of the jobs, which writes until this is dropped.
#[derive(Debug)]
pub struct Writing(pub Arc<Writers>);

impl Drop for Writing {
    fn drop(&mut self) {
        *self.0.left.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_writers_end_before_the_first_check_unless_the_user_stops() {
        let writers = Arc::new(Writers::new(2));
        let (one, two) = (Writing(Arc::clone(&writers)), Writing(Arc::clone(&writers)));
        drop(one);
        let stop = Stop::new();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| writers.wait(&stop));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            drop(two);
        });
        let endless = Writers::new(1);
        stop.request();
        endless.wait(&stop);
    }
}
