//! A USB stick or memory card: a translation layer that maps whole erase blocks and keeps a few of
//! them open.
//!
//! After Bergmann's flashbench and the Linaro flash card survey (LWN 428584). The cost of a write
//! to an open block depends only on its size. A write elsewhere must close the least recently
//! written block: the parts that were not overwritten are copied to a fresh block, and the old one
//! is erased. A stick is therefore fast while writes append in few places, and collapses to a few
//! writes per second with one place more than it keeps open. Going back within a block also closes
//! it, because pages are written in order. There is no write cache, so a flush has nothing to do.
//! If power fails while a block is being closed, the map may still refer to the old one: everything
//! written to the block since it was opened is lost, even if it was acknowledged long ago.

use std::collections::VecDeque;

use catalogue::model;
use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Activity, Completion, Device, Identity, Op, Request, Stamp};
use crate::medium::{Medium, range};
use crate::time::{Ns, Speed, from_us};

/// A USB stick or memory card.
#[derive(Debug, Clone)]
pub struct Stick {
    capacity_bytes: u64,
    block_bytes: u64,
    open_most: usize,
    command: Ns,
    erase: Ns,
    write: Speed,
    read: Speed,
    copy: Speed,
    /// Open blocks, with the most recently written one at the end.
    open: Vec<OpenBlock>,
    queue: VecDeque<Waiting>,
    /// The current command: a stick executes one at a time.
    current: Option<Current>,
    free_at: Ns,
    activity: Activity,
    copied_bytes: u64,
    medium: Medium,
}

#[derive(Debug, Clone)]
struct OpenBlock {
    number: u64,
    /// Bytes from the start of the block that have been written or skipped since it was opened.
    next: u64,
    /// Bytes of these that the host wrote.
    written: u64,
    /// Contents of the overwritten sectors at the time when the block was opened.
    before: Vec<(u64, Stamp)>,
    /// The first write since the block was opened.
    first: Stamp,
}

impl OpenBlock {
    fn new(number: u64, first: Stamp) -> OpenBlock {
        OpenBlock { number, next: 0, written: 0, before: Vec::new(), first }
    }
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    request: Request,
    since: Ns,
}

#[derive(Debug, Clone)]
struct Current {
    waiting: Waiting,
    ends: Ns,
    /// The blocks being closed, with start and end of the operation.
    closing: Vec<(Ns, Ns, OpenBlock)>,
}

impl Stick {
    /// A new stick. The parameters must be valid.
    pub fn new(parameters: &model::Stick, capacity_bytes: u64, track_contents: bool) -> Stick {
        Stick {
            capacity_bytes,
            block_bytes: parameters.block.0,
            open_most: parameters.open_blocks as usize,
            command: from_us(parameters.command_us),
            erase: from_us(parameters.erase_us),
            write: Speed::from_mb_per_s(parameters.write_mb_per_s),
            read: Speed::from_mb_per_s(parameters.read_mb_per_s),
            copy: Speed::from_mb_per_s(parameters.copy_mb_per_s),
            open: Vec::new(),
            queue: VecDeque::new(),
            current: None,
            free_at: 0,
            activity: Activity::default(),
            copied_bytes: 0,
            medium: Medium::new(track_contents),
        }
    }

    fn begin_next(&mut self) {
        let Some(waiting) = self.queue.pop_front() else { return };
        let begin = self.free_at.max(waiting.since) + self.command;
        let mut closing = Vec::new();
        let ends = match waiting.request.op {
            Op::Read => begin + self.read.time(waiting.request.bytes),
            Op::Flush => begin,
            Op::Write => self.write_through(begin, &waiting.request, &mut closing),
        };
        self.free_at = ends;
        self.current = Some(Current { waiting, ends, closing });
    }

    /// The time at which a write is complete, block by block.
    fn write_through(
        &mut self,
        begin: Ns,
        request: &Request,
        closing: &mut Vec<(Ns, Ns, OpenBlock)>,
    ) -> Ns {
        let mut now = begin;
        let mut offset = request.offset;
        let end = request.offset + request.bytes;
        while offset < end {
            let number = offset / self.block_bytes;
            let within = offset - number * self.block_bytes;
            let bytes = (end - offset).min(self.block_bytes - within);
            let place = self.open.iter().position(|open| open.number == number);
            let mut open = match place {
                Some(index) if self.open[index].next <= within => self.open.remove(index),
                // Going back: the block is closed and reopened.
                Some(index) => {
                    let block = self.open.remove(index);
                    self.close(block, &mut now, closing);
                    OpenBlock::new(number, request.stamp)
                }
                None => {
                    if self.open.len() == self.open_most {
                        let block = self.open.remove(0);
                        self.close(block, &mut now, closing);
                    }
                    OpenBlock::new(number, request.stamp)
                }
            };
            // The skipped part is copied from the old block, because pages are written in order.
            now += self.copy.time(within - open.next) + self.write.time(bytes);
            self.copied_bytes += within - open.next;
            open.written += bytes;
            open.next = within + bytes;
            self.store(&mut open, offset, bytes, request.stamp);
            self.open.push(open);
            offset += bytes;
        }
        now
    }

    /// Copies what was not overwritten, and erases the old block.
    fn close(&mut self, block: OpenBlock, now: &mut Ns, closing: &mut Vec<(Ns, Ns, OpenBlock)>) {
        let begin = *now;
        *now += self.copy.time(self.block_bytes - block.next) + self.erase;
        self.copied_bytes += self.block_bytes - block.next;
        if self.medium.is_tracked() {
            closing.push((begin, *now, block));
        }
    }

    fn store(&mut self, open: &mut OpenBlock, offset: u64, bytes: u64, stamp: Stamp) {
        if self.medium.is_tracked() {
            open.before.extend(
                range(offset, bytes).map(|sector| (sector, self.medium.replace(sector, stamp))),
            );
        }
    }
}

impl Device for Stick {
    fn identity(&self) -> Identity {
        Identity {
            capacity_bytes: self.capacity_bytes,
            volatile_cache: false,
            fua: false,
            queue_depth: 1,
            rotational: false,
            switchable: false,
        }
    }

    fn set_write_cache(&mut self, _now: Ns, _on: bool) {}

    fn precondition(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Ns, request: Request) {
        self.queue.push_back(Waiting { request, since: now });
        if self.current.is_none() {
            self.begin_next();
        }
    }

    fn next_event(&self) -> Option<Ns> {
        self.current.as_ref().map(|current| current.ends)
    }

    fn advance(&mut self, now: Ns, done: &mut Vec<Completion>) {
        while let Some(Current { waiting, ends, .. }) =
            self.current.take_if(|current| current.ends <= now)
        {
            match waiting.request.op {
                Op::Read => self.activity.reads += 1,
                Op::Write => {
                    self.activity.writes += 1;
                    self.activity.written_bytes += waiting.request.bytes;
                }
                Op::Flush => {
                    self.activity.flushes += 1;
                    self.activity.flush_ns += ends - waiting.since;
                }
            }
            done.push(Completion { id: waiting.request.id, at: ends });
            self.begin_next();
        }
    }

    fn power_cut(&mut self, now: Ns, chance: &mut Xoshiro256PlusPlus) {
        if let Some(current) = self.current.take() {
            // The data of the interrupted command is written or not, sector by sector.
            let Request { op, offset, bytes, .. } = current.waiting.request;
            if op == Op::Write {
                let touched = range(offset, bytes);
                for open in &mut self.open {
                    open.before.retain(|&(sector, before)| {
                        let lost = touched.contains(&sector) && chance.next_u64() & 1 == 0;
                        if lost {
                            self.medium.replace(sector, before);
                        }
                        !lost
                    });
                }
            }
            for (begin, end, block) in current.closing {
                if begin < now && now < end && chance.next_u64() & 1 == 0 {
                    // The first entry of a sector is its contents when the block was opened.
                    for (sector, before) in block.before.into_iter().rev() {
                        self.medium.replace(sector, before);
                    }
                }
            }
        }
        self.open.clear();
        self.queue.clear();
        self.current = None;
        self.free_at = now;
    }

    fn contents(&self, offset: u64, bytes: u64) -> Vec<Stamp> {
        self.medium.read(offset, bytes)
    }

    /// Closing a block endangers it, with everything written since it was opened.
    fn at_risk_from(&self, _now: Ns) -> Option<Stamp> {
        let closing =
            self.current.iter().flat_map(|current| &current.closing).map(|(_, _, block)| block);
        self.open.iter().chain(closing).map(|block| block.first).min()
    }

    fn dirty_bytes(&self, _now: Ns) -> u64 {
        0
    }

    fn activity(&self) -> Activity {
        Activity { medium_bytes: self.activity.written_bytes + self.copied_bytes, ..self.activity }
    }
}
