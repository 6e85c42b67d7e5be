//! The loop for depths above 1: many operations in flight from one thread.
//!
//! One system call submits the refilled slots and waits. Then the clock is read once, the completed
//! operations are counted, and each free slot is refilled. A slot's next operation starts at the
//! time at which the previous one was seen to end. No slot is ever idle off the clock, so
//! throughput times mean latency equals the depth (Little's law). The loop is compiled once per
//! block order and direction, with and without the features that only some workloads need (offered
//! load, sync calls, layouts that are used up).

use std::time::Duration;

use rustix::io::Errno;

use crate::batching::Batching;
use crate::buffers::Buffers;
use crate::checkpoints::Checkpoints;
use crate::clock::Clock;
use crate::disk::{Block, BlockDisk, Placing};
use crate::flow::{FlowShare, RETRY};
use crate::job::{Failure, Forgiven, JobEnd, Stop, Tally};
use crate::pace::Pace;
use crate::priorities::Prioritised;
use crate::queue::{Completion, Operation, Queue};
use workload::access::{Access, Direction, Loop, Operations};
use workload::{Bounds, Commits, DepthSearch, SyncCall, SyncTiming, Workload};

/// Maximum length of a wait, so a stop is noticed on a device that does not respond.
const WAIT_MAX: Duration = Duration::from_millis(200);

/// One phase (warm-up or measurement) of a job at depth.
pub struct Queued<'a, Q, D> {
    pub queue: &'a mut Q,
    /// The same storage, for blocking calls while nothing is in flight: syncs and renewals.
    pub disk: &'a mut D,
    /// Number of slots, with one block of memory each.
    pub depth: u32,
    pub clock: Clock,
    pub operations: Operations<'a>,
    /// The end of the phase.
    pub bounds: Bounds,
    /// Selects the number of completions per wait.
    pub batching: &'a mut Batching,
    pub buffers: &'a mut Buffers,
    /// Receives the latencies.
    pub tally: &'a Tally,
    /// Checked after each batch.
    pub stop: &'a Stop,
    /// The job's share of a flow, if it is limited.
    pub flow: Option<&'a mut FlowShare>,
    /// Draws the priority of each I/O, if some have a separate one.
    pub priorities: Option<&'a mut Prioritised>,
    /// Limits the depth; the phase ends once a search has settled.
    pub search: Option<&'a mut DepthSearch>,
}

impl<Q: Queue, T: BlockDisk> Queued<'_, Q, T> {
    /// Runs until the bounds, a stop, or an error. Nothing is in flight afterwards.
    pub fn run(self) -> JobEnd {
        let operations = self.operations;
        let workload = operations.workload();
        let synced = workload.sync.call().is_some() || workload.sync.linked_call().is_some();
        let paced = workload.rate.is_some() || operations.renew_every().is_some();
        let varied = workload.sizes.is_some() || T::VERIFIES || self.priorities.is_some();
        let checked = workload.rate_min.is_some() || self.flow.is_some() || self.search.is_some();
        if T::PLACES {
            operations.run_any(Specialised::<_, false>(self))
        } else if synced || paced || varied || checked {
            operations.run(Specialised::<_, false>(self))
        } else {
            operations.run(Specialised::<_, true>(self))
        }
    }
}

/// The loop; `PLAIN` omits the features that only some workloads need.
struct Specialised<T, const PLAIN: bool>(T);

impl<Q: Queue, T: BlockDisk, const PLAIN: bool> Loop for Specialised<Queued<'_, Q, T>, PLAIN> {
    type End = JobEnd;

    fn run<A: Access, D: Direction>(self, access: A, direction: D) -> JobEnd {
        let Specialised(mut job) = self;
        let mut end = JobEnd::new();
        let mut flight = Flight::new(job.depth);
        end.failure = job.repeat::<PLAIN, A, D>(access, direction, &mut flight, &mut end).err();
        if end.failure.is_some() {
            job.drain(&mut flight);
        }
        end
    }
}

impl<Q: Queue, T: BlockDisk> Queued<'_, Q, T> {
    #[expect(clippy::too_many_lines, reason = "the parts of the loop share all of its state")]
    fn repeat<const PLAIN: bool, A: Access, D: Direction>(
        &mut self,
        mut access: A,
        mut direction: D,
        flight: &mut Flight,
        end: &mut JobEnd,
    ) -> Result<(), Failure> {
        let clock = self.clock;
        let workload = self.operations.workload();
        let usual_bytes = workload.block_bytes.get();
        let mut sizes = if PLAIN { None } else { self.operations.sizes() };
        let undrained = workload.sync_timing == SyncTiming::Undrained && self.depth > 1;
        let mut pace = self.operations.gaps().map(|gaps| Pace::new(gaps, clock, clock.ticks()));
        let mut group = Group::new(&self.operations);
        self.batching.begin_phase();
        // A block that has been drawn but has no place yet.
        let mut waiting: Option<Block> = None;
        let mut started = 0;
        let searches = self.search.as_ref().is_some_and(|search| !search.is_settled());
        let mut now = clock.ticks();
        let mut checkpoints = Checkpoints::new(&self.operations, self.bounds, clock, now, None);
        loop {
            let mut stopping =
                checkpoints.reached(now, end.reads + end.writes) || self.stop.is_requested();
            if stopping && !PLAIN {
                stopping = checkpoints.pass(now, end, self.stop)?.is_none();
            }
            if !PLAIN
                && searches
                && let Some(search) = &mut self.search
            {
                search.check(now);
                stopping |= search.is_settled();
            }
            let mut has_share = true;
            let mut place_is_taken = false;
            let check_due = T::VERIFIES && self.disk.check_is_due();
            let mut room = if stopping { 0 } else { self.bounds.room(started) };
            // A sync is also due after the last write.
            while (room > 0 && (PLAIN || !group.is_full()) && !check_due)
                || (!PLAIN && group.queues_sync())
            {
                if !PLAIN && group.queues_sync() {
                    let Some(slot) = flight.free.pop() else { break };
                    group.note_begin(now);
                    self.queue.push(slot, Operation::Sync, access.synced(group.last_write), 0);
                    flight.begin_sync(slot, now, group.begun);
                    group.unsynced = 0;
                    continue;
                }
                let due = if PLAIN { None } else { pace.as_ref().map(Pace::due) };
                if due.is_some_and(|due| due > now) {
                    break;
                }
                let limited = self.search.as_ref().filter(|_| !PLAIN);
                let full = limited.is_some_and(|search| flight.count >= search.depth());
                if full || flight.free.is_empty() {
                    break;
                }
                if !PLAIN
                    && waiting.is_none()
                    && let Some(flow) = &mut self.flow
                {
                    has_share = flow.take();
                    if !has_share {
                        break;
                    }
                }
                let Some(slot) = flight.free.pop() else { break };
                let mut begun = now;
                let (reads, offset, bytes);
                if T::PLACES {
                    let drawn = waiting.take().unwrap_or_else(|| {
                        let reads = direction.next_reads();
                        let (offset, bytes) = match &mut sizes {
                            None => (access.next(), usual_bytes),
                            Some(sizes) => sizes.next_block(reads, &mut access),
                        };
                        Block { reads, offset, bytes }
                    });
                    match self.disk.place(drawn)? {
                        Placing::At(block) => Block { reads, offset, bytes } = block,
                        Placing::Later => {
                            waiting = Some(drawn);
                            flight.free.push(slot);
                            place_is_taken = true;
                            break;
                        }
                        Placing::Nowhere => {
                            flight.free.push(slot);
                            self.bounds = Bounds::PASSED;
                            break;
                        }
                    }
                    // A reset may have come first.
                    begun = clock.ticks();
                } else {
                    reads = direction.next_reads();
                    (offset, bytes) = match &mut sizes {
                        None if T::VERIFIES => (flight.next_idle_block(&mut access), usual_bytes),
                        None => (access.next(), usual_bytes),
                        Some(sizes) => sizes.next_block(reads, &mut access),
                    };
                }
                if reads {
                    self.push::<PLAIN>(slot, Operation::Read, offset, bytes);
                } else {
                    self.buffers.stamped(slot as usize, offset);
                    self.push::<PLAIN>(slot, Operation::Write, offset, bytes);
                }
                flight.begin(slot, reads, offset, bytes, due.unwrap_or(begun));
                if !PLAIN {
                    group.add(reads, offset);
                    if let Some(pace) = &mut pace {
                        pace.advance();
                    }
                }
                started += 1;
                room -= 1;
            }
            if !PLAIN && D::WRITES {
                group.note_begin(now);
            }
            if !PLAIN && undrained && group.needs_sync() {
                // Submit prepared operations first, because the sync does not wait for them.
                self.submit(0, None)?;
                let covered = access.synced(group.last_write);
                now = self.sync(&mut group, covered, now, end)?;
                continue;
            }
            if flight.count == 0 {
                if !PLAIN && group.is_full() {
                    now = self.close(&mut group, &mut access, now, end)?;
                    continue;
                }
                if check_due {
                    let on_mismatch = &mut |failure| end.forgive(workload, failure).map(drop);
                    self.disk.check_written(self.stop, on_mismatch)?;
                    now = clock.ticks();
                    continue;
                }
                if place_is_taken {
                    self.disk.await_place();
                    now = clock.ticks();
                    continue;
                }
                if !has_share && let Some(flow) = &self.flow {
                    flow.wait();
                    now = clock.ticks();
                    continue;
                }
                let Some(pace) =
                    pace.as_ref().filter(|_| !stopping && self.bounds.room(started) > 0)
                else {
                    return Ok(());
                };
                pace.wait(self.bounds.deadline());
                now = clock.ticks();
                continue;
            }
            let until_due =
                pace.as_ref().filter(|_| !stopping).map(|pace| pace.due().saturating_sub(now));
            if PLAIN {
                self.submit(self.batching.size().min(flight.count), None)?;
            } else {
                self.submit_until(until_due, has_share, flight.count)?;
            }
            now = clock.ticks();
            while let Some(completion) = self.queue.next_completion() {
                if !PLAIN {
                    self.note_priority(completion, now, flight);
                }
                self.count(completion, now, flight, end)?;
            }
            if PLAIN {
                self.batching.note(now, end.reads + end.writes);
            }
        }
    }

    #[inline]
    fn push<const PLAIN: bool>(
        &mut self,
        slot: u32,
        operation: Operation,
        offset: u64,
        bytes: u32,
    ) {
        if !PLAIN && let Some(priorities) = &mut self.priorities {
            let priority = priorities.begin(slot, operation == Operation::Read, bytes);
            self.queue.push_prioritised(slot, operation, offset, bytes, priority);
        } else {
            self.queue.push(slot, operation, offset, bytes);
        }
    }

    /// Counts a completed read or write among those of its priority.
    fn note_priority(&self, completion: Completion, now: u64, flight: &Flight) {
        let slot = &flight.slots[completion.slot as usize];
        if let Some(priorities) = &self.priorities
            && !completion.linked_sync
            && !slot.syncs
            && completion.moved.is_ok()
        {
            priorities.record(completion.slot, self.clock.ns(now.saturating_sub(slot.begun)));
        }
    }

    /// Submits, and waits for a completion, but no longer than until the next operation is due in
    /// this many ticks, or until a job without a share of the flow may try again.
    fn submit_until(
        &mut self,
        until_due: Option<u64>,
        has_share: bool,
        in_flight: u32,
    ) -> Result<(), Failure> {
        let timeout =
            until_due.map(|ticks| Duration::from_nanos(self.clock.ns(ticks)).min(WAIT_MAX));
        let timeout = if has_share { timeout } else { Some(RETRY) };
        let drains = !has_share && self.flow.as_ref().is_some_and(|flow| flow.drains());
        self.submit(if drains { in_flight } else { 1 }, timeout)
    }

    fn submit(&mut self, least: u32, timeout: Option<Duration>) -> Result<(), Failure> {
        self.queue.submit_and_wait(least, timeout).map_err(|errno| Failure::of("submitting", errno))
    }

    #[inline]
    fn count(
        &mut self,
        completion: Completion,
        now: u64,
        flight: &mut Flight,
        end: &mut JobEnd,
    ) -> Result<(), Failure> {
        let clock = self.clock;
        let slot = &mut flight.slots[completion.slot as usize];
        let elapsed = clock.ns(now.saturating_sub(slot.begun));
        if completion.linked_sync {
            flight.free.push(completion.slot);
            flight.count -= 1;
            if completion.moved == Err(Errno::CANCELED) {
                // The write before it failed and reported that itself.
                return Ok(());
            }
            completion.moved.map_err(|errno| Failure::of("fsync", errno))?;
            self.tally.sync.record(clock.ns(now - slot.written));
            self.tally.commit.record(elapsed);
            end.syncs += 1;
            return Ok(());
        }
        if slot.syncs {
            let commit_begun = slot.written;
            flight.free.push(completion.slot);
            flight.count -= 1;
            let operation = self.operations.workload().sync.call().map_or("fsync", SyncCall::name);
            completion.moved.map_err(|errno| Failure::Errno { operation, offset: None, errno })?;
            self.tally.sync.record(elapsed);
            if self.operations.commits() == Commits::EachSync {
                self.tally.commit.record(clock.ns(now.saturating_sub(commit_begun)));
            }
            end.syncs += 1;
            return Ok(());
        }
        let reads = slot.reads;
        let (offset, bytes) = (slot.offset, slot.bytes);
        slot.written = now;
        slot.in_flight = false;
        if !self.linked() || reads {
            flight.free.push(completion.slot);
            flight.count -= 1;
        }
        if let Some(search) = &mut self.search {
            search.note(elapsed);
        }
        if T::PLACES {
            let done = completion.moved == Ok(bytes as usize);
            self.disk.performed(Block { reads, offset, bytes }, done);
        }
        let operation = if reads { "read" } else { "write" };
        if let Err(failure) = Failure::check(operation, offset, bytes as usize, completion.moved) {
            return self.ignore(failure, end);
        }
        if T::VERIFIES {
            self.verify(completion.slot, reads, offset, bytes, end)?;
        }
        if reads {
            self.tally.read.record(elapsed);
            end.reads += 1;
            end.read_bytes += u64::from(bytes);
        } else {
            self.tally.write.record(elapsed);
            end.writes += 1;
            end.written_bytes += u64::from(bytes);
        }
        Ok(())
    }

    /// Continues after a failed operation, if the workload ignores such failures.
    #[cold]
    fn ignore(&mut self, failure: Failure, end: &mut JobEnd) -> Result<(), Failure> {
        if end.forgive(self.operations.workload(), failure)? == Forgiven::Full {
            self.bounds = Bounds::PASSED;
        }
        Ok(())
    }

    /// Passes a completed block to a disk that checks blocks.
    fn verify(
        &mut self,
        slot: u32,
        reads: bool,
        offset: u64,
        bytes: u32,
        end: &mut JobEnd,
    ) -> Result<(), Failure> {
        let block = &self.buffers.slot_mut(slot as usize)[..bytes as usize];
        if !reads {
            self.disk.has_written(block, offset);
            return Ok(());
        }
        let checked = self.disk.has_read(block, offset);
        checked.or_else(|failure| end.forgive(self.operations.workload(), failure).map(drop))
    }

    /// Called with nothing in flight and a full group of writes: makes them durable, renews a
    /// layout that is used up, or both. Returns the time.
    fn close(
        &mut self,
        group: &mut Group,
        access: &mut impl Access,
        now: u64,
        end: &mut JobEnd,
    ) -> Result<u64, Failure> {
        let clock = self.clock;
        let mut done = now;
        if group.needs_sync() {
            done = self.sync(group, access.synced(group.last_write), now, end)?;
            if self.operations.commits() == Commits::EachSync {
                self.tally.commit.record(clock.ns(done.saturating_sub(group.begun)));
            }
        }
        if group.needs_renewal() {
            self.disk.renew().map_err(|errno| Failure::of("emptying the file", errno))?;
            done = clock.ticks();
        }
        group.close();
        Ok(done)
    }

    /// Syncs the completed writes to the file that contains `covered`. Returns the time.
    fn sync(
        &mut self,
        group: &mut Group,
        covered: u64,
        now: u64,
        end: &mut JobEnd,
    ) -> Result<u64, Failure> {
        let Some(call) = self.operations.workload().sync.call() else { return Ok(now) };
        let clock = self.clock;
        let synced = self.disk.sync(call, covered);
        let done = clock.ticks();
        synced.map_err(|errno| Failure::of(call.name(), errno))?;
        self.tally.sync.record(clock.ns(done.saturating_sub(now)));
        end.syncs += 1;
        group.unsynced = 0;
        Ok(done)
    }

    /// Returns `true` if a sync is linked to each write.
    const fn linked(&self) -> bool {
        self.operations.workload().sync.linked_call().is_some()
    }

    /// After a failure, waits for the operations in flight, so their memory can be released.
    fn drain(&mut self, flight: &mut Flight) {
        loop {
            // Collect available completions first: no further wait would return them.
            while let Some(completion) = self.queue.next_completion() {
                let last = completion.linked_sync
                    || !self.linked()
                    || flight.slots[completion.slot as usize].reads;
                flight.count -= u32::from(last);
            }
            if flight.count == 0 || self.queue.submit_and_wait(1, None).is_err() {
                return;
            }
        }
    }
}

/// The state of one slot.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    begun: u64,
    written: u64,
    offset: u64,
    bytes: u32,
    reads: bool,
    syncs: bool,
    in_flight: bool,
}

#[derive(Debug)]
struct Flight {
    slots: Vec<Slot>,
    free: Vec<u32>,
    count: u32,
}

impl Flight {
    fn new(depth: u32) -> Flight {
        Flight {
            slots: vec![Slot::default(); depth as usize],
            free: (0..depth).rev().collect(),
            count: 0,
        }
    }

    #[inline]
    fn begin(&mut self, slot: u32, reads: bool, offset: u64, bytes: u32, begun: u64) {
        self.slots[slot as usize] =
            Slot { begun, written: 0, offset, bytes, reads, syncs: false, in_flight: true };
        self.count += 1;
    }

    /// The next block that no operation in flight is accessing: of two concurrent writes to a
    /// block, either can be the last. If all blocks are in flight, any block.
    fn next_idle_block(&self, access: &mut impl Access) -> u64 {
        let mut offset = access.next();
        for _ in 0..8 * self.slots.len() {
            if !self.slots.iter().any(|slot| slot.in_flight && slot.offset == offset) {
                break;
            }
            offset = access.next();
        }
        offset
    }

    /// Starts a sync. `commit_begun` is the start of the commit that it completes.
    fn begin_sync(&mut self, slot: u32, begun: u64, commit_begun: u64) {
        let (offset, bytes) = (0, 0);
        self.slots[slot as usize] = Slot {
            begun,
            written: commit_begun,
            offset,
            bytes,
            reads: false,
            syncs: true,
            in_flight: false,
        };
        self.count += 1;
    }
}

/// The writes between two points at which nothing may be in flight: before a sync, which covers
/// only completed writes, and before a layout is renewed.
#[derive(Debug)]
struct Group {
    sync_every: Option<u32>,
    queued: bool,
    renew_every: Option<u64>,
    unsynced: u32,
    unrenewed: u64,
    begun: u64,
    begins: bool,
    last_write: u64,
}

impl Group {
    fn new(operations: &Operations<'_>) -> Group {
        let workload: &Workload = operations.workload();
        Group {
            sync_every: workload.sync.call().map(|_| workload.sync_every),
            queued: workload.queued_sync().is_some(),
            renew_every: operations.renew_every(),
            unsynced: 0,
            unrenewed: 0,
            begun: 0,
            begins: false,
            last_write: operations.region().start,
        }
    }

    fn add(&mut self, reads: bool, offset: u64) {
        if !reads {
            self.last_write = offset;
            self.begins |= self.unsynced == 0;
            self.unsynced += 1;
            self.unrenewed += 1;
        }
    }

    fn note_begin(&mut self, now: u64) {
        if std::mem::take(&mut self.begins) {
            self.begun = now;
        }
    }

    fn needs_sync(&self) -> bool {
        self.sync_every.is_some_and(|every| self.unsynced >= every)
    }

    /// Returns `true` if a sync is due that is queued among the operations in flight.
    fn queues_sync(&self) -> bool {
        self.queued && self.needs_sync()
    }

    fn needs_renewal(&self) -> bool {
        self.renew_every.is_some_and(|every| self.unrenewed >= every)
    }

    fn is_full(&self) -> bool {
        self.needs_sync() || self.needs_renewal()
    }

    fn close(&mut self) {
        if self.needs_sync() {
            self.unsynced = 0;
        }
        if self.needs_renewal() {
            self.unrenewed = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use workload::{
        BlockBytes, Content, Depth, IoPriority, JobPart, Limit, Pattern, PriorityClass,
        PriorityDraws, PriorityShare, SyncMethod, Workload,
    };

    use super::*;
    use crate::disk::NullDisk;
    use crate::queue::NullQueue;
    use workload::random::generator;

    fn writes(sync: SyncMethod) -> Workload {
        let mut workload = Workload::new(Pattern::RandWrite, BlockBytes::new(4096).unwrap());
        workload.sync = sync;
        workload
    }

    fn run(queue: &mut impl Queue, depth: u32, workload: &Workload, count: u64) -> (JobEnd, Tally) {
        let mut workload = workload.clone();
        workload.depth = Depth::new(depth.into()).unwrap();
        let tally = Tally::new();
        let mut buffers =
            Buffers::new(depth as usize, 4096, Content::Random, &mut generator(1, 0)).unwrap();
        let clock = Clock::calibrated();
        let mut batching = Batching::new(depth, clock);
        let mut priorities = PriorityDraws::new(&workload.priorities, 1, 0)
            .map(|draws| Prioritised::new(draws, depth));
        let job = Queued {
            batching: &mut batching,
            queue,
            disk: &mut NullDisk,
            depth,
            clock,
            operations: Operations::new(&workload, JobPart::within_one_file(0, 1000 * 4096), 0),
            bounds: clock.bounds(Limit::Count(count), clock.ticks()),
            buffers: &mut buffers,
            tally: &tally,
            stop: &Stop::new(),
            flow: None,
            priorities: priorities.as_mut(),
            search: None,
        };
        let end = job.run();
        (JobEnd { priorities: priorities.map_or(Vec::new(), Prioritised::latencies), ..end }, tally)
    }

    /// Completes all operations on each wait, the last request first, and drops completions that
    /// are not collected by the next wait, like libaio's event buffer. Checks that the depth is
    /// never exceeded, and fails one request.
    #[derive(Default)]
    struct Checking {
        in_flight: Vec<(u32, Operation)>,
        most: usize,
        answered: u64,
        fail_at: Option<u64>,
        linked: bool,
        /// Operations that had a priority.
        prioritised: u64,
        answers: std::collections::VecDeque<Completion>,
    }

    impl Queue for Checking {
        fn push_prioritised(
            &mut self,
            slot: u32,
            operation: Operation,
            offset: u64,
            bytes: u32,
            priority: Option<IoPriority>,
        ) {
            self.prioritised += u64::from(priority.is_some());
            self.push(slot, operation, offset, bytes);
        }

        fn push(&mut self, slot: u32, operation: Operation, _: u64, _: u32) {
            assert!(
                !self.in_flight.iter().any(|&(other, _)| other == slot),
                "slot {slot} is in flight already"
            );
            self.in_flight.push((slot, operation));
            self.most = self.most.max(self.in_flight.len());
        }

        fn submit_and_wait(&mut self, least: u32, _: Option<Duration>) -> Result<(), Errno> {
            if least == 0 {
                return Ok(());
            }
            assert!(!self.in_flight.is_empty(), "waits for what is not in flight");
            self.answers.clear();
            while let Some((slot, operation)) = self.in_flight.pop() {
                self.answered += 1;
                let failed = self.fail_at == Some(self.answered);
                let moved = if failed { Err(Errno::IO) } else { Ok(4096) };
                self.answers.push_back(Completion { slot, linked_sync: false, moved });
                if self.linked && operation == Operation::Write {
                    let moved = if failed { Err(Errno::CANCELED) } else { Ok(0) };
                    self.answers.push_back(Completion { slot, linked_sync: true, moved });
                }
            }
            Ok(())
        }

        fn next_completion(&mut self) -> Option<Completion> {
            self.answers.pop_front()
        }
    }

    #[test]
    fn keeps_the_depth_and_counts_every_operation() {
        let mut queue = Checking::default();
        let (end, tally) = run(&mut queue, 8, &writes(SyncMethod::None), 500);
        assert_eq!((end.writes, tally.write.count(), queue.most), (500, 500, 8));
    }

    #[test]
    fn drains_before_each_sync() {
        let mut workload = writes(SyncMethod::Fdatasync);
        workload.sync_every = 5;
        let mut queue = Checking::default();
        let (end, tally) = run(&mut queue, 8, &workload, 500);
        assert_eq!((end.writes, end.syncs, tally.commit.count(), queue.most), (500, 100, 100, 5));
    }

    #[test]
    fn an_undrained_sync_waits_for_a_single_operation_in_flight() {
        let mut workload = writes(SyncMethod::Fsync);
        workload.sync_timing = SyncTiming::Undrained;
        let (end, tally) = run(&mut Checking::default(), 1, &workload, 10);
        assert_eq!((end.writes, end.syncs, tally.commit.count()), (10, 10, 10));
        let (end, tally) = run(&mut Checking::default(), 4, &workload, 10);
        assert_eq!((end.writes, end.syncs, tally.commit.count()), (10, 10, 0));
    }

    #[test]
    fn a_queued_sync_is_one_operation_of_those_in_flight() {
        let mut workload = writes(SyncMethod::Fsync);
        workload.sync_timing = SyncTiming::Queued;
        workload.sync_every = 3;
        let mut queue = Checking::default();
        let (end, tally) = run(&mut queue, 8, &workload, 500);
        assert_eq!((end.writes, end.syncs, tally.commit.count(), queue.most), (500, 166, 0, 8));
        assert_eq!((tally.write.count(), tally.sync.count()), (500, 166));
        let mut queue = Checking::default();
        let (end, tally) = run(&mut queue, 1, &workload, 6);
        assert_eq!((end.writes, end.syncs, tally.commit.count(), queue.most), (6, 2, 2, 1));
        let mut queue = Checking { fail_at: Some(4), ..Checking::default() };
        let (end, _) = run(&mut queue, 1, &workload, 6);
        assert!(matches!(
            end.failure,
            Some(Failure::Errno { operation: "fsync", errno: Errno::IO, .. })
        ));
    }

    #[test]
    fn a_linked_sync_follows_each_write() {
        let mut queue = Checking { linked: true, ..Checking::default() };
        let (end, tally) = run(&mut queue, 4, &writes(SyncMethod::LinkedFsync), 100);
        assert_eq!((end.writes, end.syncs), (100, 100));
        assert_eq!((tally.sync.count(), tally.commit.count()), (100, 100));
    }

    #[test]
    fn an_error_ends_it_and_nothing_stays_in_flight() {
        for linked in [false, true] {
            let mut queue = Checking { fail_at: Some(10), linked, ..Checking::default() };
            let (end, _) = run(
                &mut queue,
                4,
                &writes(if linked { SyncMethod::LinkedFsync } else { SyncMethod::None }),
                100,
            );
            assert_eq!(end.writes, 9);
            assert!(matches!(
                end.failure,
                Some(Failure::Errno { operation: "write", errno: Errno::IO, .. })
            ));
            assert!(queue.in_flight.is_empty());
        }
    }

    #[test]
    fn some_operations_have_a_priority_and_are_counted_apart() {
        let priority = IoPriority { class: PriorityClass::Idle, level: 7, hint: 0 };
        for sync in [SyncMethod::None, SyncMethod::LinkedFsync] {
            let mut workload = writes(sync);
            workload.priorities.writes = vec![PriorityShare { bytes: None, percent: 20, priority }];
            let linked = sync == SyncMethod::LinkedFsync;
            let mut queue = Checking { linked, ..Checking::default() };
            let (end, tally) = run(&mut queue, 8, &workload, 5000);
            assert_eq!((end.writes, tally.write.count()), (5000, 5000));
            let counts: Vec<(bool, Option<IoPriority>, u64)> = (end.priorities.iter())
                .map(|of| (of.reads, of.priority, of.histogram.count()))
                .collect();
            // Four standard deviations are 113.
            assert!(queue.prioritised.abs_diff(1000) < 113, "{}", queue.prioritised);
            let others = 5000 - queue.prioritised;
            assert_eq!(counts, [(false, Some(priority), queue.prioritised), (false, None, others)]);
        }
    }

    #[test]
    fn null_takes_everything_at_any_depth() {
        let (end, tally) = run(&mut NullQueue::new(32), 32, &writes(SyncMethod::None), 10_000);
        assert_eq!((end.writes, tally.write.count()), (10_000, 10_000));
    }
}
