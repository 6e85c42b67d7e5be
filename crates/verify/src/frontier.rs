//! The progress of each lane. Lanes and the reporting thread share it without locks or system
//! calls.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::geometry::{Geometry, LaneKind};

/// The state of one lane. Aligned to pairs of cache lines, which processors fetch together, so that
/// lanes do not slow each other.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cell {
    completed: AtomicU64,
    durable: AtomicU64,
    lease: AtomicU64,
}

#[derive(Debug)]
pub struct Frontiers(Vec<Cell>);

/// The progress of a lane, as sequence numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frontier {
    /// The last operation that succeeded.
    pub completed: u64,
    /// The last successful operation that made everything before it durable. 0 if there is none, as
    /// always for control lanes.
    pub durable: u64,
}

impl Frontiers {
    /// Frontiers of lanes that have not begun and have no lease yet.
    pub fn new(geometry: &Geometry) -> Frontiers {
        Frontiers((0..geometry.lanes()).map(|_| Cell::default()).collect())
    }

    /// Records that an operation succeeded. Readers that see it also see everything stored before.
    #[inline]
    pub fn complete(&self, lane: u16, seq: u64, durable: bool) {
        let cell = &self.0[usize::from(lane)];
        // Stored in this order and read in the reverse order, so that no reader sees more durable
        // than completed.
        cell.completed.store(seq, Ordering::Release);
        if durable {
            cell.durable.store(seq, Ordering::Release);
        }
    }

    #[inline]
    pub fn of(&self, lane: u16) -> Frontier {
        let cell = &self.0[usize::from(lane)];
        let durable = cell.durable.load(Ordering::Acquire);
        let completed = cell.completed.load(Ordering::Acquire);
        debug_assert!(durable <= completed, "what is durable has completed");
        Frontier { completed, durable }
    }

    /// The sequence number that another lane's record may state about this lane: the last durable
    /// one, or for a control lane, the last completed one.
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

    /// Allows a lane to continue up to operation `seq`.
    pub fn extend(&self, lane: u16, seq: u64) {
        self.0[usize::from(lane)].lease.fetch_max(seq, Ordering::AcqRel);
    }
}
