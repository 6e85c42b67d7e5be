//! The kernel's block layer, as far as it affects the cost of a commit: requests of limited size, a
//! limited number of tags, and the flush machinery.
//!
//! Rules, from `block/blk-flush.c` and `Documentation/block/writeback_cache_control.rst`:
//!
//! - A device without a volatile cache gets neither flush nor FUA. One without FUA gets a flush
//!   after the write instead.
//! - One flush is in flight at a time (C1). Later requests for a flush wait and share the next one:
//!   two clients commit no faster than one.
//! - No flush is started while data of a flush sequence is in flight (C2), for at most five seconds
//!   (C3).
//! - A request keeps its tag from its first step to its last, so a write followed by a flush
//!   occupies the drive's queue during both.

use std::collections::VecDeque;

use crate::device::{Completion, Device, Op, Request, Stamp};
use crate::slab::Slab;
use crate::time::Ns;

/// C3: after this time, a flush no longer waits for data in flight.
const FLUSH_PENDING_MAX_NS: Ns = 5_000_000_000;

/// A block I/O: a read, a write, or a request for durability.
#[derive(Debug, Clone, Copy)]
pub struct Bio {
    /// The owner, returned on completion.
    pub owner: u32,
    /// Read or write; a flush has no bytes.
    pub op: Op,
    pub offset: u64,
    pub bytes: u64,
    /// Flush earlier writes first.
    pub preflush: bool,
    /// The write itself must be durable on completion.
    pub fua: bool,
    /// The content of a write.
    pub stamp: Stamp,
}

impl Bio {
    /// Without a flush before it, and not durable by itself.
    #[inline]
    pub const fn of(owner: u32, op: Op, offset: u64, bytes: u64) -> Bio {
        Bio { owner, op, offset, bytes, preflush: false, fua: false, stamp: 0 }
    }
}

/// The event that a request is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    PreFlush,
    Data { in_sequence: bool },
    PostFlush,
}

#[derive(Debug, Clone, Copy)]
struct Tagged {
    bio: u32,
    op: Op,
    offset: u64,
    bytes: u64,
    fua: bool,
    post_flush: bool,
    stamp: Stamp,
    step: Step,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    owner: u32,
    pieces: u32,
}

/// A piece of a bio waiting for a tag.
#[derive(Debug, Clone, Copy)]
struct Queued {
    bio: u32,
    request: Bio,
}

/// The ID of flushes at the device, above every tag.
const FLUSH_ID: u32 = u32::MAX;

/// The block layer on top of one drive.
pub struct BlockLayer {
    device: Box<dyn Device>,
    volatile_cache: bool,
    fua: bool,
    request_bytes_max: u64,
    bios: Slab<Open>,
    tags: Slab<Tagged>,
    tags_most: usize,
    queue: VecDeque<Queued>,
    /// Tags waiting for the next flush, and the start of the wait.
    pending: Vec<u32>,
    pending_since: Ns,
    /// Tags waiting for the flush in flight.
    running: Vec<u32>,
    flush_in_flight: bool,
    sequences_in_data: u32,
    completions: Vec<Completion>,
    /// The device's next event, cached until something changes.
    next_event: Option<Ns>,
}

impl BlockLayer {
    /// A block layer on a drive in its current state.
    pub fn new(device: Box<dyn Device>, request_bytes_max: u64) -> BlockLayer {
        let identity = device.identity();
        BlockLayer {
            volatile_cache: identity.volatile_cache,
            fua: identity.fua,
            tags_most: identity.queue_depth as usize,
            device,
            request_bytes_max,
            bios: Slab::new(),
            tags: Slab::new(),
            queue: VecDeque::new(),
            pending: Vec::new(),
            pending_since: 0,
            running: Vec::new(),
            flush_in_flight: false,
            sequences_in_data: 0,
            completions: Vec::new(),
            next_event: None,
        }
    }

    /// The drive under the block layer.
    pub fn device(&self) -> &dyn Device {
        &*self.device
    }

    /// Returns `true` if writes with FUA are passed on unchanged.
    pub const fn passes_fua(&self) -> bool {
        self.volatile_cache && self.fua
    }

    /// Submits a bio; the owners of bios that complete immediately are appended to `done`.
    #[inline]
    pub fn submit(&mut self, now: Ns, mut bio: Bio, done: &mut Vec<u32>) {
        if !self.volatile_cache {
            bio.preflush = false;
            bio.fua = false;
            if bio.op == Op::Flush {
                done.push(bio.owner);
                return;
            }
        }
        if bio.bytes <= self.request_bytes_max {
            let index = self.bios.insert(Open { owner: bio.owner, pieces: 1 });
            self.enter(now, Queued { bio: index, request: bio });
            return;
        }
        let pieces = bio.bytes.div_ceil(self.request_bytes_max);
        let index = self.bios.insert(Open { owner: bio.owner, pieces: pieces as u32 });
        for piece in 0..pieces {
            let start = piece * self.request_bytes_max;
            let bytes = self.request_bytes_max.min(bio.bytes - start);
            let request = Bio {
                offset: bio.offset + start,
                bytes,
                preflush: bio.preflush && piece == 0,
                ..bio
            };
            self.enter(now, Queued { bio: index, request });
        }
    }

    #[inline]
    pub const fn next_event(&self) -> Option<Ns> {
        self.next_event
    }

    /// Advances to `now`; the owners of completed bios are appended to `done`.
    #[inline]
    pub fn advance(&mut self, now: Ns, done: &mut Vec<u32>) {
        if self.next_event.is_none_or(|next| next > now) && self.pending.is_empty() {
            return;
        }
        let mut completions = std::mem::take(&mut self.completions);
        self.device.advance(now, &mut completions);
        for completion in completions.drain(..) {
            if completion.id == FLUSH_ID {
                self.flushed(completion.at, done);
            } else {
                self.transferred(completion.at, completion.id, done);
            }
        }
        self.completions = completions;
        if !self.pending.is_empty() {
            self.kick(now);
        }
        self.next_event = self.device.next_event();
    }

    /// Assigns a tag to a piece, or queues it.
    #[inline]
    fn enter(&mut self, now: Ns, queued: Queued) {
        if self.tags.count() >= self.tags_most || !self.queue.is_empty() {
            self.queue.push_back(queued);
        } else {
            self.start(now, queued);
        }
    }

    #[inline]
    fn start(&mut self, now: Ns, Queued { bio, request }: Queued) {
        let post_flush = request.fua && !self.fua;
        let in_sequence = post_flush || request.preflush;
        let is_flush = request.op == Op::Flush;
        let step =
            if request.preflush || is_flush { Step::PreFlush } else { Step::Data { in_sequence } };
        let Bio { op, offset, bytes, stamp, .. } = request;
        let fua = request.fua && self.fua;
        let tag = self.tags.insert(Tagged { bio, op, offset, bytes, fua, post_flush, stamp, step });
        match step {
            Step::Data { in_sequence } => {
                self.sequences_in_data += u32::from(in_sequence);
                self.send(now, Request { id: tag, op, offset, bytes, fua, stamp });
            }
            Step::PreFlush | Step::PostFlush => self.wait_for_flush(now, tag),
        }
    }

    #[inline]
    fn send(&mut self, now: Ns, request: Request) {
        self.device.submit(now, request);
        self.next_event = self.device.next_event();
    }

    fn wait_for_flush(&mut self, now: Ns, tag: u32) {
        if self.pending.is_empty() {
            self.pending_since = now;
        }
        self.pending.push(tag);
        self.kick(now);
    }

    /// Starts a flush, if one is pending and permitted.
    fn kick(&mut self, now: Ns) {
        let held_by_data =
            self.sequences_in_data > 0 && now < self.pending_since + FLUSH_PENDING_MAX_NS;
        if self.flush_in_flight || self.pending.is_empty() || held_by_data {
            return;
        }
        self.flush_in_flight = true;
        std::mem::swap(&mut self.pending, &mut self.running);
        let flush =
            Request { id: FLUSH_ID, op: Op::Flush, offset: 0, bytes: 0, fua: false, stamp: 0 };
        self.send(now, flush);
    }

    fn flushed(&mut self, now: Ns, done: &mut Vec<u32>) {
        self.flush_in_flight = false;
        let mut running = std::mem::take(&mut self.running);
        // The next flush is sent before calls released by this one write again.
        self.kick(now);
        for tag in running.drain(..) {
            let request = self.tags.get_mut(tag);
            if request.step == Step::PreFlush && request.op != Op::Flush {
                request.step = Step::Data { in_sequence: true };
                let Tagged { op, offset, bytes, fua, stamp, .. } = *request;
                self.sequences_in_data += 1;
                self.send(now, Request { id: tag, op, offset, bytes, fua, stamp });
            } else {
                self.finish(now, tag, done);
            }
        }
        if self.running.is_empty() {
            self.running = running;
        }
    }

    #[inline]
    fn transferred(&mut self, now: Ns, tag: u32, done: &mut Vec<u32>) {
        let request = self.tags.get_mut(tag);
        let in_sequence = request.step == Step::Data { in_sequence: true };
        if request.post_flush {
            request.step = Step::PostFlush;
            self.sequences_in_data -= 1;
            self.wait_for_flush(now, tag);
            return;
        }
        if in_sequence {
            self.sequences_in_data -= 1;
        }
        self.finish(now, tag, done);
    }

    #[inline]
    fn finish(&mut self, now: Ns, tag: u32, done: &mut Vec<u32>) {
        let bio = self.tags.remove(tag).bio;
        let open = self.bios.get_mut(bio);
        open.pieces -= 1;
        if open.pieces == 0 {
            done.push(self.bios.remove(bio).owner);
        }
        if let Some(queued) = self.queue.pop_front() {
            self.start(now, queued);
        }
    }
}
