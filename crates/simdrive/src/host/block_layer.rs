//! The kernel's block layer, as far as it affects the cost of a commit: requests of limited size, a
//! limited number of tags, and the flush machinery of every hardware queue.
//!
//! Rules, from `block/blk-flush.c` and `Documentation/block/writeback_cache_control.rst`:
//!
//! - A device without a volatile cache gets neither flush nor FUA. One without FUA gets a flush
//!   after the write instead.
//! - Requests for a flush share one if they wait in the same hardware queue
//!   ([`super::flush_queue`]). A SATA drive has one queue. An NVMe drive has one per processor, so
//!   callers on different processors share nothing, and the drive gets a flush from each.
//! - A request keeps its tag from its first step to its last, so a write followed by a flush
//!   occupies the drive's queue during both.

use std::collections::VecDeque;

use super::flush_queue::FlushQueue;
use crate::device::{Completion, Device, Op, Request, Stamp};
use crate::slab::Slab;
use crate::time::Ns;

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
    /// The processor that submits it, which determines its hardware queue.
    pub processor: u32,
}

impl Bio {
    /// From the first processor, without a flush before it, and not durable by itself.
    #[inline]
    pub const fn of(owner: u32, op: Op, offset: u64, bytes: u64) -> Bio {
        Bio { owner, op, offset, bytes, preflush: false, fua: false, stamp: 0, processor: 0 }
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
    processor: u32,
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

/// The ID of a flush at the device is this minus the number of its hardware queue. Tags are far
/// below.
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
    flush_queues: Vec<FlushQueue>,
    /// Number of tags that wait in them for a flush that was not sent yet.
    waiting: usize,
    completions: Vec<Completion>,
    /// The device's next event, cached until something changes.
    next_event: Option<Ns>,
}

impl BlockLayer {
    /// A block layer on a drive in its current state, with `hardware_queues` of them (at least one).
    pub fn new(
        device: Box<dyn Device>,
        request_bytes_max: u64,
        hardware_queues: u32,
    ) -> BlockLayer {
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
            flush_queues: (0..hardware_queues.max(1)).map(|_| FlushQueue::default()).collect(),
            waiting: 0,
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
        if self.next_event.is_none_or(|next| next > now) {
            return;
        }
        let mut completions = std::mem::take(&mut self.completions);
        self.device.advance(now, &mut completions);
        for completion in completions.drain(..) {
            let queue = (FLUSH_ID - completion.id) as usize;
            if queue < self.flush_queues.len() {
                self.flushed(completion.at, queue, done);
            } else {
                self.transferred(completion.at, completion.id, done);
            }
        }
        self.completions = completions;
        if self.waiting > 0 {
            (0..self.flush_queues.len()).for_each(|queue| self.kick(now, queue));
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
        let Bio { op, offset, bytes, stamp, processor, .. } = request;
        let fua = request.fua && self.fua;
        let tag = self.tags.insert(Tagged {
            bio,
            op,
            offset,
            bytes,
            fua,
            post_flush,
            stamp,
            processor,
            step,
        });
        match step {
            Step::Data { in_sequence } => {
                if in_sequence {
                    self.flush_queue(processor).data_begins();
                }
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

    const fn queue_of(&self, processor: u32) -> usize {
        processor as usize % self.flush_queues.len()
    }

    fn flush_queue(&mut self, processor: u32) -> &mut FlushQueue {
        let queue = self.queue_of(processor);
        &mut self.flush_queues[queue]
    }

    fn wait_for_flush(&mut self, now: Ns, tag: u32) {
        let queue = self.queue_of(self.tags.get(tag).processor);
        self.flush_queues[queue].wait(now, tag);
        self.waiting += 1;
        self.kick(now, queue);
    }

    /// Starts a flush, if one is wanted in this queue and permitted.
    fn kick(&mut self, now: Ns, queue: usize) {
        if let Some(sharing) = self.flush_queues[queue].start(now) {
            self.waiting -= sharing;
            let id = FLUSH_ID - queue as u32;
            self.send(
                now,
                Request { id, op: Op::Flush, offset: 0, bytes: 0, fua: false, stamp: 0 },
            );
        }
    }

    fn flushed(&mut self, now: Ns, queue: usize, done: &mut Vec<u32>) {
        let mut ended = self.flush_queues[queue].ended();
        // The next flush is sent before calls released by this one write again.
        self.kick(now, queue);
        for tag in ended.drain(..) {
            let request = self.tags.get_mut(tag);
            if request.step == Step::PreFlush && request.op != Op::Flush {
                request.step = Step::Data { in_sequence: true };
                let Tagged { op, offset, bytes, fua, stamp, .. } = *request;
                self.flush_queues[queue].data_begins();
                self.send(now, Request { id: tag, op, offset, bytes, fua, stamp });
            } else {
                self.finish(now, tag, done);
            }
        }
        self.flush_queues[queue].recycle(ended);
    }

    #[inline]
    fn transferred(&mut self, now: Ns, tag: u32, done: &mut Vec<u32>) {
        let request = self.tags.get_mut(tag);
        let in_sequence = request.step == Step::Data { in_sequence: true };
        let (post_flush, processor) = (request.post_flush, request.processor);
        if post_flush {
            request.step = Step::PostFlush;
        }
        if in_sequence {
            self.flush_queue(processor).data_ends();
        }
        if post_flush {
            self.wait_for_flush(now, tag);
        } else {
            self.finish(now, tag, done);
        }
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
