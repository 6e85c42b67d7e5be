//! A drive that takes the same time for every command and loses nothing. With zero latency it is
//! the ideal drive, which leaves only the cost of the transport; with a known latency it is used to
//! measure that cost.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use simdrive::{Activity, Completion, Device, Identity, Ns, Op, Request, SECTOR_BYTES, Stamp};

/// The model name of the ideal drive.
pub const IDEAL: &str = "ideal";

/// A drive with a fixed latency.
#[derive(Debug, Clone)]
pub(crate) struct Fixed {
    capacity_bytes: u64,
    takes: Ns,
    volatile_cache: bool,
    done: VecDeque<Completion>,
    activity: Activity,
}

impl Fixed {
    /// A drive that takes no time.
    pub(crate) fn ideal(capacity_bytes: u64) -> Fixed {
        Fixed::new(capacity_bytes, 0, false)
    }

    /// A drive whose every command takes `takes`, and which reports a volatile cache or none.
    pub(crate) fn new(capacity_bytes: u64, takes: Ns, volatile_cache: bool) -> Fixed {
        Fixed {
            capacity_bytes,
            takes,
            volatile_cache,
            done: VecDeque::new(),
            activity: Activity::default(),
        }
    }
}

impl Device for Fixed {
    fn identity(&self) -> Identity {
        Identity {
            capacity_bytes: self.capacity_bytes,
            volatile_cache: self.volatile_cache,
            fua: false,
            queue_depth: u32::MAX,
            rotational: false,
            switchable: false,
        }
    }

    fn set_write_cache(&mut self, _now: Ns, _on: bool) {}

    fn precondition(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Ns, request: Request) {
        match request.op {
            Op::Read => self.activity.reads += 1,
            Op::Write => {
                self.activity.writes += 1;
                self.activity.written_bytes += request.bytes;
                self.activity.medium_bytes += request.bytes;
            }
            Op::Flush => self.activity.flushes += 1,
        }
        self.done.push_back(Completion { id: request.id, at: now + self.takes });
    }

    fn next_event(&self) -> Option<Ns> {
        self.done.front().map(|completion| completion.at)
    }

    fn advance(&mut self, now: Ns, done: &mut Vec<Completion>) {
        let due = self.done.iter().take_while(|completion| completion.at <= now).count();
        done.extend(self.done.drain(..due));
    }

    fn power_cut(&mut self, _now: Ns, _chance: &mut Xoshiro256PlusPlus) {
        self.done.clear();
    }

    /// Stamps are not tracked: whatever was written is there.
    fn contents(&self, _offset: u64, bytes: u64) -> Vec<Stamp> {
        vec![Stamp::MAX; (bytes / SECTOR_BYTES) as usize]
    }

    fn at_risk_from(&self, _now: Ns) -> Option<Stamp> {
        None
    }

    fn dirty_bytes(&self, _now: Ns) -> u64 {
        0
    }

    fn activity(&self) -> Activity {
        self.activity
    }
}
