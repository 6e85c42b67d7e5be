//! The queue of a drive: when each command is done, and what a power cut leaves of each sector.
//!
//! Commands are split into parts of at most `part_bytes_max`, as a host's block layer would do; the
//! model has no more than its queue depth of them at a time, and a command is done with its last
//! part.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use simdrive::{Activity, Completion, Device, Identity, Ns, Op, Request, SECTOR_BYTES, Stamp};

use super::contents::Stamps;

/// A model with the commands that it has not finished. IDs are chosen by the caller, who should
/// keep them small: they are indices.
pub(super) struct CommandQueue {
    device: Box<dyn Device>,
    identity: Identity,
    part_bytes_max: u64,
    /// The time of the latest event or command. The model cannot look back before it.
    clock: Ns,
    chance: Xoshiro256PlusPlus,
    /// Parts that the model has no place for yet.
    waiting: VecDeque<Request>,
    in_flight: u32,
    /// Unfinished parts of each command.
    parts_left: Vec<u32>,
    completions: Vec<Completion>,
}

impl CommandQueue {
    /// An empty queue at time 0. `seed` determines what the model's cache loses.
    pub(super) fn new(device: Box<dyn Device>, part_bytes_max: u64, seed: u64) -> CommandQueue {
        CommandQueue {
            identity: device.identity(),
            device,
            part_bytes_max,
            clock: 0,
            // A separate random sequence: adding a fault must not change what the cache loses.
            chance: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x0c07_5eed),
            waiting: VecDeque::new(),
            in_flight: 0,
            parts_left: Vec::new(),
            completions: Vec::new(),
        }
    }

    pub(super) const fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(super) const fn clock(&self) -> Ns {
        self.clock
    }

    /// Lets time pass without an event. All events due by `now` must have been processed.
    #[inline]
    pub(super) const fn wait_until(&mut self, now: Ns) {
        self.clock = now;
    }

    /// Offset and length of each part of a range.
    #[inline]
    pub(super) fn parts(
        &self,
        offset: u64,
        bytes: u64,
    ) -> impl ExactSizeIterator<Item = (u64, u64)> + use<> {
        let most = self.part_bytes_max;
        (0..bytes.div_ceil(most) as u32).map(move |part| {
            let from = u64::from(part) * most;
            (offset + from, most.min(bytes - from))
        })
    }

    #[inline]
    pub(super) fn read(&mut self, id: u32, offset: u64, bytes: u64) {
        let read = Request { id, op: Op::Read, offset, bytes, fua: false, stamp: 0 };
        self.send_parts(read, 0);
    }

    /// Either all parts have the same stamp, or each has its own.
    #[inline]
    pub(super) fn write(&mut self, id: u32, offset: u64, bytes: u64, stamps: Stamps, fua: bool) {
        let write = Request { id, op: Op::Write, offset, bytes, fua, stamp: stamps.first };
        self.send_parts(write, stamps.last);
    }

    #[inline]
    pub(super) fn flush(&mut self, id: u32) {
        self.expect_parts(id, 1);
        self.send(Request { id, op: Op::Flush, offset: 0, bytes: 0, fua: false, stamp: 0 });
    }

    fn send_parts(&mut self, whole: Request, last: Stamp) {
        let parts = self.parts(whole.offset, whole.bytes);
        self.expect_parts(whole.id, parts.len() as u32);
        for ((offset, bytes), stamp) in parts.zip(whole.stamp..) {
            self.send(Request { offset, bytes, stamp: stamp.min(last), ..whole });
        }
    }

    #[inline]
    fn expect_parts(&mut self, id: u32, parts: u32) {
        let index = id as usize;
        if index >= self.parts_left.len() {
            self.parts_left.resize(index + 1, 0);
        }
        self.parts_left[index] = parts;
    }

    #[inline]
    fn send(&mut self, request: Request) {
        if self.in_flight < self.identity.queue_depth {
            self.in_flight += 1;
            self.device.submit(self.clock, request);
        } else {
            self.waiting.push_back(request);
        }
    }

    /// Time of the next event; `None` if no command is in progress.
    #[inline]
    pub(super) fn next_event(&self) -> Option<Ns> {
        self.device.next_event()
    }

    /// Processes the next event, if it is due by `now`, and appends the IDs of the commands that it
    /// finished to `done`. Parts that were waiting take the places that it freed. Returns whether
    /// there was an event, whose time is then on the clock.
    #[inline]
    pub(super) fn step(&mut self, now: Ns, done: &mut Vec<u32>) -> bool {
        let Some(at) = self.device.next_event().filter(|&at| at <= now) else { return false };
        self.clock = at;
        self.device.advance(at, &mut self.completions);
        for Completion { id, .. } in self.completions.drain(..) {
            match self.waiting.pop_front() {
                Some(request) => self.device.submit(at, request),
                None => self.in_flight -= 1,
            }
            let left = &mut self.parts_left[id as usize];
            *left -= 1;
            if *left == 0 {
                done.push(id);
            }
        }
        true
    }

    /// Cuts the power: no command in progress finishes.
    pub(super) fn power_cut(&mut self) {
        self.device.power_cut(self.clock, &mut self.chance);
        self.waiting.clear();
        self.in_flight = 0;
    }

    /// The stamp of the write whose data the model finds in a sector.
    pub(super) fn stamp_of(&self, sector: u64) -> Stamp {
        self.device.contents(sector * SECTOR_BYTES, SECTOR_BYTES)[0]
    }

    /// The oldest acknowledged write that a cut at `now` could lose, according to the model.
    pub(super) fn at_risk_from(&self, now: Ns) -> Option<Stamp> {
        self.device.at_risk_from(now)
    }

    /// Preconditions the first `percent` of the drive: see [`Device::precondition`].
    pub(super) fn precondition(&mut self, percent: f64) {
        let capacity_bytes = self.identity.capacity_bytes;
        let bytes = (capacity_bytes as f64 * percent / 100.0) as u64;
        self.device.precondition(bytes.min(capacity_bytes) / SECTOR_BYTES * SECTOR_BYTES);
    }

    /// Overwrites the drive this many times; `false` if it does not wear: see [`Device::wear`].
    pub(super) fn wear(&mut self, overwrites: f64) -> bool {
        self.device.wear(self.clock, overwrites, &mut self.chance)
    }

    pub(super) fn activity(&self) -> Activity {
        self.device.activity()
    }

    /// Acknowledged bytes that are not on the medium at `now`.
    pub(super) fn dirty_bytes(&self, now: Ns) -> u64 {
        self.device.dirty_bytes(now.max(self.clock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixed::Fixed;

    const TAKES_NS: Ns = 1000;

    fn queue(depth: u32) -> CommandQueue {
        let mut queue = CommandQueue::new(Box::new(Fixed::new(1 << 20, TAKES_NS, false)), 4096, 0);
        queue.identity.queue_depth = depth;
        queue
    }

    /// The commands done by `now`, each with its time.
    fn done(queue: &mut CommandQueue, now: Ns) -> Vec<(Ns, u32)> {
        let (mut all, mut done) = (Vec::new(), Vec::new());
        while queue.step(now, &mut done) {
            all.extend(done.drain(..).map(|id| (queue.clock(), id)));
        }
        all
    }

    #[test]
    fn a_command_is_done_with_its_last_part() {
        let mut queue = queue(2);
        // Three parts, of which two fit into the queue at a time.
        queue.write(5, 0, 12_288, Stamps { first: 1, last: 1 }, false);
        queue.read(2, 0, 512);
        assert_eq!(done(&mut queue, TAKES_NS), []);
        assert_eq!(done(&mut queue, Ns::MAX), [(2 * TAKES_NS, 5), (2 * TAKES_NS, 2)]);
        assert_eq!((queue.activity().writes, queue.activity().reads), (3, 1));
        assert_eq!(queue.next_event(), None);
    }

    #[test]
    fn parts_cover_the_range_once() {
        let parts: Vec<(u64, u64)> = queue(1).parts(512, 8704).collect();
        assert_eq!(parts, [(512, 4096), (4608, 4096), (8704, 512)]);
    }

    #[test]
    fn what_waits_for_a_place_never_happens_after_a_cut() {
        let mut queue = queue(1);
        queue.flush(0);
        queue.flush(1);
        queue.power_cut();
        assert_eq!(done(&mut queue, Ns::MAX), []);
        // The queue is empty, so the next command starts at once.
        queue.wait_until(7);
        queue.flush(0);
        assert_eq!(done(&mut queue, Ns::MAX), [(7 + TAKES_NS, 0)]);
    }
}
