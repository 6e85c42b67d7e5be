//! The flush machinery of one hardware queue.
//!
//! Rules, from `block/blk-flush.c`, which keeps this state once per hardware queue:
//!
//! - One flush is in flight at a time (C1). Later requests for a flush wait and share the next one.
//! - No flush is started while data of a flush sequence is in flight (C2), for at most five seconds
//!   (C3).

use crate::time::Ns;

/// C3: after this time, a flush no longer waits for data in flight.
const PENDING_MAX_NS: Ns = 5_000_000_000;

/// The requests of a hardware queue that need a flush, by tag.
#[derive(Debug, Default)]
pub struct FlushQueue {
    /// Wait for the next flush, and the start of the wait.
    pending: Vec<u32>,
    pending_since: Ns,
    /// Wait for the flush in flight.
    running: Vec<u32>,
    in_flight: bool,
    sequences_in_data: u32,
}

impl FlushQueue {
    /// A request needs the next flush.
    pub fn wait(&mut self, now: Ns, tag: u32) {
        if self.pending.is_empty() {
            self.pending_since = now;
        }
        self.pending.push(tag);
    }

    /// If a flush must be sent now: the number of waiting requests, which share it.
    pub fn start(&mut self, now: Ns) -> Option<usize> {
        let held_by_data = self.sequences_in_data > 0 && now < self.pending_since + PENDING_MAX_NS;
        if self.in_flight || self.pending.is_empty() || held_by_data {
            return None;
        }
        self.in_flight = true;
        std::mem::swap(&mut self.pending, &mut self.running);
        Some(self.running.len())
    }

    /// The flush in flight has ended. Returns the requests that shared it.
    pub fn ended(&mut self) -> Vec<u32> {
        self.in_flight = false;
        std::mem::take(&mut self.running)
    }

    /// Takes back the emptied list of [`FlushQueue::ended`], to use its memory again.
    pub fn recycle(&mut self, emptied: Vec<u32>) {
        if self.running.is_empty() {
            self.running = emptied;
        }
    }

    /// The data of a flush sequence is sent.
    pub const fn data_begins(&mut self) {
        self.sequences_in_data += 1;
    }

    /// The data of a flush sequence is complete.
    pub const fn data_ends(&mut self) {
        self.sequences_in_data -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_come_during_a_flush_share_the_next() {
        let mut queue = FlushQueue::default();
        assert_eq!(queue.start(0), None);
        queue.wait(0, 1);
        assert_eq!((queue.start(0), queue.start(0)), (Some(1), None));
        queue.wait(1, 2);
        queue.wait(2, 3);
        assert_eq!(queue.start(2), None, "one flush at a time");
        assert_eq!(queue.ended(), [1]);
        assert_eq!((queue.start(3), queue.start(3)), (Some(2), None));
        assert_eq!(queue.ended(), [2, 3]);
    }

    #[test]
    fn data_of_a_sequence_delays_a_flush_for_five_seconds_at_most() {
        let mut queue = FlushQueue::default();
        queue.data_begins();
        queue.wait(10, 1);
        assert_eq!(queue.start(10 + PENDING_MAX_NS - 1), None);
        assert_eq!(queue.start(10 + PENDING_MAX_NS), Some(1));
        let mut queue = FlushQueue::default();
        queue.data_begins();
        queue.wait(10, 1);
        queue.data_ends();
        assert_eq!(queue.start(11), Some(1));
    }
}
