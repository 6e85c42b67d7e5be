//! A job of a workload: the engine's loops as state machines in virtual time.

use workload::access::{Access as _, Gaps, Mix, Operations, Order, Region, Sizes};
use workload::{
    BelowRateMin, Bounds, Commits, Flow, JobPart, Layout, RateCheck, Submission, SyncMethod,
    SyncTiming, Workload,
};

use super::{Job, JobIndex, SLOT_BITS, Step, World, idle};
use crate::host::file::File;
use crate::host::{Call, Durable, Write};
use crate::time::Ns;

/// Time after which a job that has exceeded its share of a flow tries again, if the flow does not
/// set a pause.
const FLOW_RETRY_NS: Ns = 20_000;

pub struct BlockJob {
    workload: Workload,
    commits: Commits,
    index: JobIndex,
    /// Index of the first file.
    file: usize,
    part: JobPart,
    region: Region,
    depth: u32,
    order: Order,
    /// The offset of the next operation, if it was drawn early.
    upcoming: Option<u64>,
    sizes: Option<Sizes>,
    mix: Mix,
    gaps: Option<Gaps>,
    due: f64,
    pause_end: Ns,
    /// Number of operations before the next pause.
    think_at: u64,
    check: Option<RateCheck>,
    /// Bytes read and written.
    moved: [u64; 2],
    failure: Option<BelowRateMin>,
    flow_operations: u64,
    bounds: Bounds,
    slots: Vec<Slot>,
    free: Vec<u32>,
    unsynced: u32,
    commit_begun: Ns,
    syncing_since: Option<Ns>,
    until_renewal: u64,
    /// Number of operations that can still be issued.
    left: u64,
    ops: u64,
    ending: bool,
    last_write: u64,
    /// Number of files that the job must still sync at its end.
    owed_syncs: u32,
    waits_for_due: bool,
    stamp: u64,
}

/// An operation in flight.
#[derive(Debug, Clone, Copy)]
struct Slot {
    begun: Ns,
    /// The time at which the write with a linked sync ended, or at which the commit that a queued
    /// sync completes began.
    written: Ns,
    bytes: u64,
    /// The file of a write, for the sync linked to it.
    file: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    /// The sync linked to this slot's write.
    LinkedSync,
    Sync,
    /// A sync that is one of several operations in flight.
    QueuedSync,
    /// The final sync of a job.
    EndSync,
}

impl BlockJob {
    /// A job of a workload, on its part of the files from `file` on.
    pub fn new(
        workload: &Workload,
        seed: u64,
        index: JobIndex,
        file: usize,
        part: JobPart,
    ) -> BlockJob {
        let workload = Workload { seed: workload.seed.wrapping_add(seed), ..workload.clone() };
        let operations = Operations::new(&workload, part, index.job);
        let depth = workload.depth_effective();
        BlockJob {
            commits: operations.commits(),
            index,
            file,
            part,
            region: operations.region(),
            depth,
            order: operations.order(),
            upcoming: None,
            sizes: operations.sizes(),
            mix: operations.mix(),
            gaps: operations.gaps(),
            due: 0.0,
            pause_end: 0,
            think_at: u64::MAX,
            check: None,
            moved: [0; 2],
            failure: None,
            flow_operations: 0,
            bounds: idle(),
            slots: vec![
                Slot { begun: 0, written: 0, bytes: 0, file, kind: Kind::Sync };
                depth as usize + 1
            ],
            free: Vec::new(),
            unsynced: 0,
            commit_begun: 0,
            syncing_since: None,
            until_renewal: u64::MAX,
            left: 0,
            ops: 0,
            ending: true,
            last_write: part.start,
            owed_syncs: 0,
            waits_for_due: false,
            stamp: 0,
            workload,
        }
    }

    /// The slot of the sync call, above those of reads and writes.
    const fn sync_slot(&self) -> u32 {
        self.depth
    }

    /// The file of one of the job's offsets, and the offset within it.
    const fn locate(&self, offset: u64) -> (usize, u64) {
        let (file, within) = self.part.locate(offset);
        (self.file + file as usize, within)
    }

    fn in_flight(&self) -> u32 {
        self.depth - self.free.len() as u32
    }

    const fn tag(&self, slot: u32) -> u32 {
        self.index.number << SLOT_BITS | slot
    }

    /// Issues all operations that are permitted at `now`.
    #[inline]
    fn fill(&mut self, now: Ns, world: &mut World) {
        while !self.ending && self.syncing_since.is_none() && !self.free.is_empty() {
            let mut begun = now;
            if self.gaps.is_some() {
                begun = self.due as Ns;
            }
            let earliest = begun.max(self.pause_end);
            if earliest > now {
                if !self.waits_for_due {
                    self.waits_for_due = true;
                    world.dues.enter(earliest.min(self.bounds.deadline()), self.index.number);
                }
                return;
            }
            if self.sync_is_due() && self.workload.queued_sync().is_some() {
                self.queue_sync(now, world);
                continue;
            }
            if self.sync_is_due() || self.left == 0 {
                return;
            }
            if self.until_renewal == 0 {
                if self.in_flight() > 0 {
                    return;
                }
                self.renew(world);
            }
            if let Some(flow) = self.workload.flow
                && !self.takes_share(flow, world)
            {
                let pause = if flow.sleep_us > 0 { flow.sleep_us * 1000 } else { FLOW_RETRY_NS };
                if !self.waits_for_due {
                    self.waits_for_due = true;
                    world.dues.enter(
                        (now + pause).min(self.bounds.deadline().max(now)),
                        self.index.number,
                    );
                }
                return;
            }
            let Some(slot) = self.free.pop() else { return };
            // Advance only now: an operation that cannot be issued yet is late, not dropped.
            if let Some(gaps) = &mut self.gaps {
                self.due += gaps.next_s() * 1e9;
            }
            self.issue(slot, now, begun, world);
            if self.workload.sync_timing == SyncTiming::Undrained
                && self.sync_is_due()
                && self.depth > 1
            {
                self.sync(now, world);
            }
        }
    }

    /// Counts the next operation of a flow, unless the job has had more than its share.
    fn takes_share(&mut self, flow: Flow, world: &mut World) -> bool {
        let counters = world.flows.entry(flow.id).or_default();
        let has_share =
            !flow.is_exceeded(self.flow_operations, counters.operations, counters.weight);
        if has_share {
            counters.operations += 1;
            self.flow_operations += 1;
        }
        has_share
    }

    #[inline]
    fn issue(&mut self, slot: u32, now: Ns, begun: Ns, world: &mut World) {
        self.left -= 1;
        let reads = self.mix.next_reads();
        let (offset, bytes) = match &mut self.sizes {
            None => (self.next_offset(world), self.region.block_bytes),
            Some(sizes) => {
                let (offset, bytes) = sizes.next_block(reads, &mut self.order);
                (offset, u64::from(bytes))
            }
        };
        let workload = &self.workload;
        let (file, within) = self.part.locate(offset);
        let file = self.file + file as usize;
        let queued = workload.submission() == Submission::Asynchronous;
        let call = if reads {
            Call::Read { file, offset: within, bytes }
        } else {
            if self.unsynced == 0 {
                self.commit_begun = begun;
            }
            self.unsynced += 1;
            self.until_renewal -= 1;
            let durable = match workload.sync {
                SyncMethod::OSync => Durable::All { queued },
                SyncMethod::ODsync | SyncMethod::RwfDsync => Durable::Data { queued },
                _ => Durable::No,
            };
            self.stamp += 1;
            self.last_write = offset;
            Call::Write(Write { file, offset: within, bytes, durable, stamp: self.stamp })
        };
        let slot_now = &mut self.slots[slot as usize];
        slot_now.begun = begun;
        slot_now.bytes = bytes;
        slot_now.file = file;
        slot_now.kind = if reads { Kind::Read } else { Kind::Write };
        world.host.call(now, self.index.number, self.tag(slot), call);
    }

    /// The offset of the next operation. The one after it is drawn at the same time: the
    /// drive's map is loaded meanwhile.
    #[inline]
    fn next_offset(&mut self, world: &World) -> u64 {
        if self.part.files > 1 {
            // A sync can take a turn in the order of files.
            return self.order.next();
        }
        let offset = self.upcoming.unwrap_or_else(|| self.order.next());
        let upcoming = self.order.next();
        self.upcoming = Some(upcoming);
        world.host.anticipate(self.file, upcoming);
        offset
    }

    fn sync_is_due(&self) -> bool {
        self.workload.sync.call().is_some() && self.unsynced >= self.workload.sync_every
    }

    fn sync(&mut self, now: Ns, world: &mut World) {
        let covered = self.order.synced(self.last_write);
        let data_only = self.workload.sync == SyncMethod::Fdatasync;
        self.call_sync(Kind::Sync, data_only, covered, now, world);
    }

    /// Issues a sync that is in flight together with writes.
    fn queue_sync(&mut self, now: Ns, world: &mut World) {
        let Some(slot) = self.free.pop() else { return };
        self.unsynced = 0;
        let written = self.commit_begun;
        let covered = self.order.synced(self.last_write);
        let (file, _) = self.locate(covered);
        self.slots[slot as usize] =
            Slot { begun: now, written, bytes: 0, file, kind: Kind::QueuedSync };
        let data_only = self.workload.sync == SyncMethod::Fdatasync;
        world.host.call(now, self.index.number, self.tag(slot), Call::Sync { file, data_only });
    }

    /// Makes the final call of a job that ends with a sync.
    fn finish(&mut self, now: Ns, world: &mut World) {
        if self.owed_syncs > 0
            && self.ending
            && self.in_flight() == 0
            && self.syncing_since.is_none()
        {
            let covered =
                self.part.start + u64::from(self.part.files - self.owed_syncs) * self.part.bytes;
            self.owed_syncs -= 1;
            self.call_sync(Kind::EndSync, false, covered, now, world);
        }
    }

    fn call_sync(&mut self, kind: Kind, data_only: bool, covered: u64, now: Ns, world: &mut World) {
        self.syncing_since = Some(now);
        let slot = self.sync_slot();
        self.slots[slot as usize].begun = now;
        self.slots[slot as usize].kind = kind;
        let (file, _) = self.locate(covered);
        world.host.call(now, self.index.number, self.tag(slot), Call::Sync { file, data_only });
    }

    /// Resets the file between two commits, at no cost to them.
    fn renew(&mut self, world: &mut World) {
        self.until_renewal = self.region.blocks;
        let size = self.part.start + self.part.bytes;
        for file in self.file..self.file + self.part.files as usize {
            let base = world.host.file(file).base;
            let renewed = match self.workload.layout {
                Layout::Overwrite | Layout::PreallocatedOnce | Layout::Empty => return,
                Layout::Append => File::empty(base, self.workload.direct),
                Layout::Preallocated => File::reserved(base, size, self.workload.direct),
            };
            world.host.replace_file(file, renewed);
        }
    }

    /// Begins a pause, or fails if the job is too slow, as the engine's `Checkpoints` do.
    #[inline]
    fn pass_checkpoint(&mut self, now: Ns) {
        if self.ending {
            return;
        }
        if let Some(check) = self.check.as_mut().filter(|check| now >= check.due())
            && let Err(below) = check.check(now, self.moved[0], self.moved[1])
        {
            self.failure = Some(below);
            self.ending = true;
        }
        if let Some(think) = self.workload.think.filter(|_| self.ops >= self.think_at) {
            self.think_at = self.ops + u64::from(think.every);
            self.pause_end = now + think.time().as_nanos() as Ns;
        }
    }

    /// Called after each operation: issues a due sync, or ends the job.
    #[inline]
    fn next(&mut self, now: Ns, world: &mut World) {
        let sync_due = self.sync_is_due();
        let queues = self.workload.queued_sync().is_some();
        if sync_due && !queues && self.syncing_since.is_none() && self.in_flight() == 0 {
            self.sync(now, world);
            return;
        }
        if !self.ending && (!sync_due || queues) {
            self.ending = self.bounds.reached(now, self.ops);
        }
        self.pass_checkpoint(now);
        self.fill(now, world);
        self.finish(now, world);
    }
}

impl Job for BlockJob {
    fn begin(&mut self, now: Ns, bounds: Bounds, warm_up: bool, world: &mut World) {
        let measured = Operations::new(&self.workload, self.part, self.index.job);
        let operations = if warm_up { measured.warm_up() } else { measured };
        self.order = operations.order();
        self.upcoming = None;
        self.sizes = operations.sizes();
        self.mix = operations.mix();
        self.gaps = operations.gaps();
        self.due = now as f64;
        self.pause_end = 0;
        self.think_at = self.workload.think.map_or(u64::MAX, |think| u64::from(think.every));
        self.check =
            operations.rate_min().map(|min| RateCheck::new(min, now, |time| time.as_nanos() as Ns));
        self.failure = None;
        self.flow_operations = 0;
        self.moved = [0; 2];
        self.bounds = bounds;
        self.free = (0..self.depth).rev().collect();
        self.unsynced = 0;
        self.syncing_since = None;
        self.left = bounds.room(0);
        self.ops = 0;
        self.ending = false;
        self.owed_syncs = if self.workload.end_fsync && !warm_up { self.part.files } else { 0 };
        self.waits_for_due = false;
        self.until_renewal = u64::MAX;
        if self.workload.layout.starts_over() {
            self.renew(world);
        }
        self.fill(now, world);
    }

    fn resume(&mut self, step: Step, world: &mut World) {
        let (slot, at) = match step {
            Step::Returned { slot, at } => (slot, at),
            Step::Due { at } => {
                self.waits_for_due = false;
                if !self.ending {
                    self.ending = self.bounds.reached(at, self.ops);
                }
                self.fill(at, world);
                self.finish(at, world);
                return;
            }
        };
        let begun = self.slots[slot as usize].begun;
        let kind = self.slots[slot as usize].kind;
        let bytes = self.slots[slot as usize].bytes;
        match kind {
            Kind::Read => {
                world.tallies[self.index.team].read(at - begun, bytes);
                self.moved[0] += bytes;
            }
            Kind::Write => {
                self.moved[1] += bytes;
                world.tallies[self.index.team].write(at - begun, bytes);
                if let Some(call) = self.workload.sync.linked_call() {
                    self.slots[slot as usize].written = at;
                    self.slots[slot as usize].kind = Kind::LinkedSync;
                    let data_only = call == workload::SyncCall::Fdatasync;
                    let file = self.slots[slot as usize].file;
                    world.host.call(
                        at,
                        self.index.number,
                        self.tag(slot),
                        Call::Sync { file, data_only },
                    );
                    return;
                }
            }
            Kind::LinkedSync => {
                let written = self.slots[slot as usize].written;
                world.tallies[self.index.team].sync(at - written);
                world.tallies[self.index.team].commit(at - begun);
            }
            Kind::Sync => {
                world.tallies[self.index.team].sync(at - begun);
                if self.commits == Commits::EachSync {
                    world.tallies[self.index.team].commit(at - self.commit_begun);
                }
                self.syncing_since = None;
                self.unsynced = 0;
                self.next(at, world);
                return;
            }
            Kind::QueuedSync => {
                world.tallies[self.index.team].sync(at - begun);
                if self.commits == Commits::EachSync {
                    world.tallies[self.index.team].commit(at - self.slots[slot as usize].written);
                }
                self.free.push(slot);
                self.next(at, world);
                return;
            }
            Kind::EndSync => {
                world.tallies[self.index.team].sync(at - begun);
                self.syncing_since = None;
                self.finish(at, world);
                return;
            }
        }
        self.ops += 1;
        self.free.push(slot);
        self.next(at, world);
    }

    fn is_done(&self) -> bool {
        self.ending && self.in_flight() == 0 && self.syncing_since.is_none() && self.owed_syncs == 0
    }

    fn index(&self) -> JobIndex {
        self.index
    }

    fn stop(&mut self) {
        self.ending = true;
    }

    fn flow(&self) -> Option<Flow> {
        self.workload.flow
    }

    fn leave_flow(&mut self, world: &mut World) {
        if let Some(flow) = self.workload.flow
            && let Some(counters) = world.flows.get_mut(&flow.id)
        {
            counters.operations -= std::mem::take(&mut self.flow_operations);
            counters.weight -= u64::from(flow.weight);
        }
    }

    fn failure(&self) -> Option<&BelowRateMin> {
        self.failure.as_ref()
    }
}
