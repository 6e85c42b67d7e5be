//! A drive that takes no time and loses nothing: what is left is the transport's own cost.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use simdrive::device::{Activity, Completion, Device, Identity, Op, Request, SECTOR_BYTES, Stamp};
use simdrive::time::Ns;

/// The name by which a person asks for it.
pub const NAME: &str = "ideal";

/// The ideal drive.
#[derive(Debug, Clone)]
pub struct Ideal {
    capacity_bytes: u64,
    done: VecDeque<Completion>,
    activity: Activity,
}

impl Ideal {
    /// A new one.
    pub fn new(capacity_bytes: u64) -> Ideal {
        Ideal { capacity_bytes, done: VecDeque::new(), activity: Activity::default() }
    }
}

impl Device for Ideal {
    fn identity(&self) -> Identity {
        Identity {
            capacity_bytes: self.capacity_bytes,
            volatile_cache: false,
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
        self.done.push_back(Completion { id: request.id, at: now });
    }

    fn next_event(&self) -> Option<Ns> {
        self.done.front().map(|completion| completion.at)
    }

    fn advance(&mut self, _now: Ns, done: &mut Vec<Completion>) {
        done.extend(self.done.drain(..));
    }

    fn power_cut(&mut self, _now: Ns, _chance: &mut Xoshiro256PlusPlus) {
        self.done.clear();
    }

    /// Of no write it is told which one it was: whatever was written is there.
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
