//! How far each lane is: what lanes tell each other and the thread that reports, without locks and without a system call.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::geometry::{Geometry, LaneKind};

/// One lane's. On cache lines of its own, so that lanes do not slow each other (processors fetch lines in pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cell {
    completed: AtomicU64,
    durable: AtomicU64,
    lease: AtomicU64,
}

/// All lanes'.
#[derive(Debug)]
pub struct Frontiers(Vec<Cell>);

/// What one lane has got to, as sequence numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frontier {
    /// The last operation that returned success.
    pub completed: u64,
    /// The last operation that made everything before it durable, and returned success; 0 for none, as always in control lanes.
    pub durable: u64,
}

impl Frontiers {
    /// Of lanes that have not begun and may not.
    pub fn new(geometry: &Geometry) -> Frontiers {
        Frontiers((0..geometry.lanes()).map(|_| Cell::default()).collect())
    }

    /// An operation returned success. What was stored before is seen by whoever sees this.
    #[inline]
    pub fn complete(&self, lane: u16, seq: u64, durable: bool) {
        let cell = &self.0[usize::from(lane)];
        // In this order, and read in the other: nobody ever sees more durable than completed.
        cell.completed.store(seq, Ordering::Release);
        if durable {
            cell.durable.store(seq, Ordering::Release);
        }
    }

    /// How far a lane is.
    #[inline]
    pub fn of(&self, lane: u16) -> Frontier {
        let cell = &self.0[usize::from(lane)];
        let durable = cell.durable.load(Ordering::Acquire);
        Frontier { completed: cell.completed.load(Ordering::Acquire), durable }
    }

    /// What a record of another lane may say of a lane: what is durable of it, or of a control lane what is complete.
    #[inline]
    pub fn seen(&self, lane: u16, kind: LaneKind) -> u64 {
        let frontier = self.of(lane);
        if kind == LaneKind::Control { frontier.completed } else { frontier.durable }
    }

    /// The last operation that a lane may begin.
    #[inline]
    pub fn lease(&self, lane: u16) -> u64 {
        self.0[usize::from(lane)].lease.load(Ordering::Acquire)
    }

    /// Lets a lane go on to operation `seq`.
    pub fn extend(&self, lane: u16, seq: u64) {
        self.0[usize::from(lane)].lease.fetch_max(seq, Ordering::AcqRel);
    }
}
