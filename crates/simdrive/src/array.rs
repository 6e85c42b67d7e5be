//! Several drives as one: RAID 0, 1, 5 and 6.
//!
//! A write that does not fill a stripe of RAID 5 or 6 first reads the old data and parity, then
//! writes data and parity: four commands to two drives, in two consecutive rounds. Writes to the
//! same stripe are serialised. A flush goes to all members and completes with the last one. With a
//! journal (md's write journal, an additional drive), data and parity are written there first, and
//! the members are updated only once that is durable; after a power cut, the contents of the
//! journal are written again. Without a journal, a cut between the writes of data and parity leaves
//! a stripe with wrong parity. It is harmless while all members work, but if a member is lost, it
//! corrupts a block that was never written: the RAID write hole.

pub mod layout;

use std::collections::VecDeque;

use catalogue::model::Level;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Activity, Completion, Device, Identity, Op, Request, SECTOR_BYTES, Stamp};
use crate::slab::Slab;
use crate::time::Ns;
use layout::{Layout, Piece};

/// Bytes of the journal drive that are used, as a ring.
const JOURNAL_BYTES: u64 = 1 << 30;
/// The header block that the journal writes before data and parity.
const JOURNAL_BLOCK_BYTES: u64 = 4096;

pub struct Array {
    layout: Layout,
    members: Vec<Box<dyn Device>>,
    /// Commands waiting for each member, which accepts a limited number at once, and the number
    /// outstanding.
    queues: Vec<Queue>,
    journal: Option<Journal>,
    lost: Vec<bool>,
    tracks_contents: bool,
    requests: Slab<Parent>,
    parts: Slab<Part>,
    /// Stripes that are being written, and the parts waiting for them.
    busy: Vec<u64>,
    waiting: VecDeque<u32>,
    next_mirror: usize,
    /// Offset of the members' clocks: after a power cut the array is available only once the
    /// journal has been replayed, and that time does not count.
    lead: Ns,
    done: Vec<Completion>,
    scratch: Vec<Completion>,
    activity: Activity,
}

#[derive(Debug, Clone, Default)]
struct Queue {
    waiting: VecDeque<Request>,
    in_flight: u32,
    most: u32,
}

struct Journal {
    drive: Box<dyn Device>,
    head: u64,
    /// Entries not known to be durable on the members, in journal order.
    entries: Vec<Entry>,
}

struct Entry {
    part: u32,
    stage: Stage,
    writes: Vec<Write>,
}

/// The progress of a journal entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Being written to the journal.
    OnItsWay,
    /// Durable in the journal; the members are being updated.
    Safe,
    /// The members have acknowledged the update, which may still be in their caches.
    OnMembers,
    /// This host flush makes the members' update durable.
    Covered { by: u32 },
}

impl Entry {
    /// Returns `true` if the entry belongs to this unfinished part. Part numbers are reused.
    const fn belongs_to(&self, part: u32) -> bool {
        self.part == part && matches!(self.stage, Stage::OnItsWay | Stage::Safe)
    }
}

/// A host request, and the number of its unfinished parts.
#[derive(Debug, Clone, Copy)]
struct Parent {
    request: Request,
    since: Ns,
    parts: u32,
}

/// The part of a request within one stripe.
#[derive(Debug, Clone, Copy)]
struct Part {
    parent: u32,
    offset: u64,
    bytes: u64,
    phase: Phase,
    outstanding: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Waiting for its stripe.
    Queued,
    /// Reading old data and parity.
    ReadsOld,
    Journals,
    /// Flushing the journal drive, if it has a volatile cache and no FUA.
    FlushesJournal,
    /// The last round, after which the part is done.
    Last,
}

/// A write to a member, with the same stamp in all sectors.
#[derive(Debug, Clone, Copy)]
struct Write {
    member: usize,
    offset: u64,
    bytes: u64,
    stamp: Stamp,
}

impl Array {
    /// An array of these members. If there is a `journal` drive, stripes are written to it first.
    pub fn new(
        layout: Layout,
        members: Vec<Box<dyn Device>>,
        journal: Option<Box<dyn Device>>,
        tracks_contents: bool,
    ) -> Array {
        Array {
            layout,
            lost: vec![false; members.len()],
            queues: members
                .iter()
                .map(|member| Queue { most: member.identity().queue_depth, ..Queue::default() })
                .collect(),
            members,
            journal: journal.map(|drive| Journal { drive, head: 0, entries: Vec::new() }),
            tracks_contents,
            requests: Slab::new(),
            parts: Slab::new(),
            busy: Vec::new(),
            waiting: VecDeque::new(),
            next_mirror: 0,
            lead: 0,
            done: Vec::new(),
            scratch: Vec::new(),
            activity: Activity::default(),
        }
    }

    /// Fails a member: its contents must be reconstructed from the others.
    pub fn fail_member(&mut self, member: usize) {
        self.lost[member] = true;
    }

    pub fn members(&self) -> &[Box<dyn Device>] {
        &self.members
    }

    fn start_part(&mut self, now: Ns, index: u32) {
        let Part { parent, offset, bytes, .. } = *self.parts.get(index);
        let op = self.requests.get(parent).request.op;
        match (op, self.layout.level) {
            (Op::Read, Level::Raid1) => {
                let mirror = self.next_mirror % self.members.len();
                self.next_mirror += 1;
                self.send(
                    now,
                    index,
                    mirror,
                    Op::Read,
                    Write { member: mirror, offset, bytes, stamp: 0 },
                );
            }
            (Op::Read, _) => {
                for piece in self.layout.data(offset, bytes) {
                    self.send(now, index, piece.member, Op::Read, plain(piece));
                }
            }
            (_, Level::Raid0 | Level::Raid1) => self.write_members(now, index),
            (_, Level::Raid5 | Level::Raid6) => {
                let stripe = offset / self.layout.stripe_bytes();
                if self.busy.contains(&stripe) {
                    self.waiting.push_back(index);
                    return;
                }
                self.busy.push(stripe);
                if bytes == self.layout.stripe_bytes() {
                    self.write_stripe(now, index);
                    return;
                }
                self.parts.get_mut(index).phase = Phase::ReadsOld;
                let mut pieces = self.layout.data(offset, bytes);
                pieces.extend(self.layout.parity(offset, bytes));
                for piece in pieces {
                    self.send(now, index, piece.member, Op::Read, plain(piece));
                }
            }
        }
    }

    /// Old data and parity are known: writes the journal first, if there is one.
    fn write_stripe(&mut self, now: Ns, index: u32) {
        if self.journal.is_none() {
            self.write_members(now, index);
            return;
        }
        let writes = self.member_writes(index);
        let bytes = JOURNAL_BLOCK_BYTES + writes.iter().map(|write| write.bytes).sum::<u64>();
        let part = self.parts.get_mut(index);
        part.phase = Phase::Journals;
        part.outstanding = 1;
        if let Some(journal) = &mut self.journal {
            if journal.head + bytes > JOURNAL_BYTES.min(journal.drive.identity().capacity_bytes) {
                journal.head = 0;
            }
            let offset = journal.head;
            journal.head += bytes;
            journal.entries.push(Entry { part: index, stage: Stage::OnItsWay, writes });
            journal.drive.submit(
                now + self.lead,
                Request { id: index, op: Op::Write, offset, bytes, fua: true, stamp: 0 },
            );
        }
    }

    fn journal_needs_flush(&self) -> bool {
        let identity = self.journal.as_ref().map(|journal| journal.drive.identity());
        identity.is_some_and(|identity| identity.volatile_cache && !identity.fua)
    }

    fn write_members(&mut self, now: Ns, index: u32) {
        self.parts.get_mut(index).phase = Phase::Last;
        for write in self.member_writes(index) {
            self.send(now, index, write.member, Op::Write, write);
        }
    }

    fn member_writes(&self, index: u32) -> Vec<Write> {
        let Part { parent, offset, bytes, .. } = *self.parts.get(index);
        let stamp = self.requests.get(parent).request.stamp;
        let data = self.layout.data(offset, bytes);
        if self.layout.level == Level::Raid1 {
            let copy = |member| Write { member, offset, bytes, stamp };
            return (0..self.members.len()).map(copy).collect();
        }
        let mut writes: Vec<Write> =
            data.iter().map(|&piece| Write { stamp, ..plain(piece) }).collect();
        for parity in self.layout.parity(offset, bytes) {
            if self.tracks_contents {
                writes.extend(self.parity_writes(parity, &data, stamp));
            } else {
                writes.push(plain(parity));
            }
        }
        writes
    }

    /// The new parity, in runs of sectors with the same stamp: the old parity with the old data
    /// removed and the new data added.
    fn parity_writes(&self, parity: Piece, data: &[Piece], stamp: Stamp) -> Vec<Write> {
        let mut stamps = self.members[parity.member].contents(parity.offset, parity.bytes);
        for piece in data {
            let old = self.members[piece.member].contents(piece.offset, piece.bytes);
            let first = ((piece.offset - parity.offset) / SECTOR_BYTES) as usize;
            for (sum, old) in stamps[first..].iter_mut().zip(old) {
                *sum ^= old ^ stamp;
            }
        }
        let mut writes: Vec<Write> = Vec::new();
        for (sector, stamp) in stamps.into_iter().enumerate() {
            match writes.last_mut() {
                Some(write) if write.stamp == stamp => write.bytes += SECTOR_BYTES,
                _ => writes.push(Write {
                    member: parity.member,
                    offset: parity.offset + sector as u64 * SECTOR_BYTES,
                    bytes: SECTOR_BYTES,
                    stamp,
                }),
            }
        }
        writes
    }

    fn send(&mut self, now: Ns, part: u32, member: usize, op: Op, write: Write) {
        let parent = self.parts.get(part).parent;
        let fua = op == Op::Write && self.requests.get(parent).request.fua;
        self.parts.get_mut(part).outstanding += 1;
        let Write { offset, bytes, stamp, .. } = write;
        self.submit_to(now, member, Request { id: part, op, offset, bytes, fua, stamp });
    }

    fn submit_to(&mut self, now: Ns, member: usize, request: Request) {
        let queue = &mut self.queues[member];
        if queue.in_flight < queue.most {
            queue.in_flight += 1;
            self.members[member].submit(now + self.lead, request);
        } else {
            queue.waiting.push_back(request);
        }
    }

    /// Called when a member has completed a command: submits the next one.
    fn next_of(&mut self, now: Ns, member: usize) {
        let queue = &mut self.queues[member];
        match queue.waiting.pop_front() {
            Some(request) => self.members[member].submit(now + self.lead, request),
            None => queue.in_flight -= 1,
        }
    }

    fn member_done(&mut self, now: Ns, index: u32) {
        let part = self.parts.get_mut(index);
        part.outstanding -= 1;
        if part.outstanding > 0 {
            return;
        }
        let phase = part.phase;
        match phase {
            Phase::Queued => {}
            Phase::ReadsOld => self.write_stripe(now, index),
            Phase::Journals if self.journal_needs_flush() => {
                let part = self.parts.get_mut(index);
                part.phase = Phase::FlushesJournal;
                part.outstanding = 1;
                if let Some(journal) = &mut self.journal {
                    let flush = Request {
                        id: index,
                        op: Op::Flush,
                        offset: 0,
                        bytes: 0,
                        fua: false,
                        stamp: 0,
                    };
                    journal.drive.submit(now + self.lead, flush);
                }
            }
            Phase::Journals | Phase::FlushesJournal => {
                if let Some(journal) = &mut self.journal {
                    let entry = journal.entries.iter_mut().find(|entry| entry.belongs_to(index));
                    entry.into_iter().for_each(|entry| entry.stage = Stage::Safe);
                }
                self.write_members(now, index);
            }
            Phase::Last => self.part_done(now, index),
        }
    }

    fn part_done(&mut self, now: Ns, index: u32) {
        let Part { parent, offset, .. } = self.parts.remove(index);
        let is_write = self.requests.get(parent).request.op == Op::Write;
        if let Some(journal) = &mut self.journal {
            // Without tracked contents, the journal is never read.
            let volatile = self.tracks_contents && self.members[0].identity().volatile_cache;
            if volatile {
                let entry = journal.entries.iter_mut().find(|entry| entry.belongs_to(index));
                entry.into_iter().for_each(|entry| entry.stage = Stage::OnMembers);
            } else {
                journal.entries.retain(|entry| !entry.belongs_to(index));
            }
            journal.entries.retain(|entry| entry.stage != Stage::Covered { by: parent });
        }
        // Reads and flushes do not lock stripes.
        if is_write && self.layout.parities() > 0 {
            let stripe = offset / self.layout.stripe_bytes();
            self.busy.retain(|busy| *busy != stripe);
            if let Some(place) = self.waiting.iter().position(|&waiting| {
                self.parts.get(waiting).offset / self.layout.stripe_bytes() == stripe
            }) && let Some(next) = self.waiting.remove(place)
            {
                self.start_part(now, next);
            }
        }
        let open = self.requests.get_mut(parent);
        open.parts -= 1;
        if open.parts == 0 {
            let Parent { request, since, .. } = self.requests.remove(parent);
            match request.op {
                Op::Read => self.activity.reads += 1,
                Op::Write => {
                    self.activity.writes += 1;
                    self.activity.written_bytes += request.bytes;
                }
                Op::Flush => {
                    self.activity.flushes += 1;
                    self.activity.flush_ns += now - since;
                }
            }
            self.done.push(Completion { id: request.id, at: now });
        }
    }
}

const fn plain(piece: Piece) -> Write {
    Write { member: piece.member, offset: piece.offset, bytes: piece.bytes, stamp: 0 }
}

impl Device for Array {
    fn identity(&self) -> Identity {
        let member = self.members[0].identity();
        let queue_depth = self.queues.iter().map(|queue| queue.most).sum();
        Identity {
            capacity_bytes: self.layout.capacity(member.capacity_bytes),
            queue_depth,
            ..member
        }
    }

    fn set_write_cache(&mut self, now: Ns, on: bool) {
        let journal = self.journal.iter_mut().map(|journal| &mut journal.drive);
        self.members
            .iter_mut()
            .chain(journal)
            .for_each(|drive| drive.set_write_cache(now + self.lead, on));
    }

    fn precondition(&mut self, bytes: u64) {
        let on_each = bytes.div_ceil(self.layout.stripe_bytes()) * self.layout.chunk;
        self.members.iter_mut().for_each(|member| member.precondition(on_each));
    }

    fn wear(&mut self, now: Ns, overwrites: f64, chance: &mut Xoshiro256PlusPlus) -> bool {
        let lead = self.lead;
        // All members, not only until the first one that wears.
        self.members
            .iter_mut()
            .filter_map(|member| member.wear(now + lead, overwrites, chance).then_some(()))
            .count()
            > 0
    }

    fn submit(&mut self, now: Ns, request: Request) {
        if request.op == Op::Flush {
            let parent = self.requests.insert(Parent { request, since: now, parts: 1 });
            let outstanding = self.members.len() as u32;
            let part = self.parts.insert(Part {
                parent,
                offset: 0,
                bytes: 0,
                phase: Phase::Last,
                outstanding,
            });
            for member in 0..self.members.len() {
                self.submit_to(now, member, Request { id: part, ..request });
            }
            let entries = self.journal.iter_mut().flat_map(|journal| &mut journal.entries);
            for entry in entries.filter(|entry| entry.stage == Stage::OnMembers) {
                entry.stage = Stage::Covered { by: parent };
            }
            return;
        }
        let ranges = self.layout.by_stripe(request.offset, request.bytes);
        let parent =
            self.requests.insert(Parent { request, since: now, parts: ranges.len() as u32 });
        for (offset, bytes) in ranges {
            let phase = if request.op == Op::Read { Phase::Last } else { Phase::Queued };
            let part = self.parts.insert(Part { parent, offset, bytes, phase, outstanding: 0 });
            self.start_part(now, part);
        }
    }

    fn next_event(&self) -> Option<Ns> {
        let journal = self.journal.iter().map(|journal| &journal.drive);
        self.members
            .iter()
            .chain(journal)
            .filter_map(|member| member.next_event())
            .min()
            .map(|at| at - self.lead)
    }

    fn advance(&mut self, now: Ns, done: &mut Vec<Completion>) {
        while let Some(at) = self.next_event().filter(|&at| at <= now) {
            let mut completions = std::mem::take(&mut self.scratch);
            for member in 0..self.members.len() {
                let before = completions.len();
                self.members[member].advance(at + self.lead, &mut completions);
                for _ in before..completions.len() {
                    self.next_of(at, member);
                }
            }
            if let Some(journal) = &mut self.journal {
                journal.drive.advance(at + self.lead, &mut completions);
            }
            for completion in completions.drain(..) {
                self.member_done(completion.at - self.lead, completion.id);
            }
            self.scratch = completions;
        }
        done.append(&mut self.done);
    }

    /// All members lose power at the same time. The journal is read at the next start, and its
    /// durable entries are written again.
    fn power_cut(&mut self, now: Ns, chance: &mut Xoshiro256PlusPlus) {
        let cut = now + self.lead;
        self.members.iter_mut().for_each(|member| member.power_cut(cut, chance));
        self.requests = Slab::new();
        self.parts = Slab::new();
        self.busy.clear();
        self.waiting.clear();
        for queue in &mut self.queues {
            queue.waiting.clear();
            queue.in_flight = 0;
        }
        let Some(journal) = &mut self.journal else { return };
        journal.drive.power_cut(cut, chance);
        let mut ready = cut;
        let mut carry_out = |member: &mut Box<dyn Device>, request: Request| {
            member.submit(ready, request);
            while let Some(at) = member.next_event() {
                ready = at;
                member.advance(at, &mut Vec::new());
            }
        };
        for entry in std::mem::take(&mut journal.entries)
            .into_iter()
            .filter(|entry| entry.stage != Stage::OnItsWay)
        {
            for Write { member, offset, bytes, stamp } in entry.writes {
                let request = Request { id: 0, op: Op::Write, offset, bytes, fua: false, stamp };
                carry_out(&mut self.members[member], request);
            }
        }
        // The journal can be reused only after this.
        for member in &mut self.members {
            carry_out(
                member,
                Request { id: 0, op: Op::Flush, offset: 0, bytes: 0, fua: false, stamp: 0 },
            );
        }
        self.lead = ready - now;
    }

    fn contents(&self, offset: u64, bytes: u64) -> Vec<Stamp> {
        let mut stamps = Vec::new();
        for (start, length) in self.layout.by_stripe(offset, bytes) {
            for piece in self.layout.data(start, length) {
                let member = if self.layout.level == Level::Raid1 {
                    self.lost.iter().position(|lost| !lost).unwrap_or(0)
                } else {
                    piece.member
                };
                if !self.lost[member] || self.layout.parities() == 0 {
                    stamps.extend(self.members[member].contents(piece.offset, piece.bytes));
                } else {
                    stamps.extend(self.reconstructed(piece));
                }
            }
        }
        stamps
    }

    /// Parity has stamps without meaning here, but the data that endangers it is on another member.
    fn at_risk_from(&self, now: Ns) -> Option<Stamp> {
        self.members.iter().filter_map(|member| member.at_risk_from(now + self.lead)).min()
    }

    fn dirty_bytes(&self, now: Ns) -> u64 {
        self.members.iter().map(|member| member.dirty_bytes(now + self.lead)).sum()
    }

    fn activity(&self) -> Activity {
        let medium_bytes = self.members.iter().map(|member| member.activity().medium_bytes).sum();
        Activity { medium_bytes, ..self.activity }
    }
}

impl Array {
    /// Reconstructs the contents of a lost member: the XOR of the first parity and all other data
    /// of the stripe.
    fn reconstructed(&self, piece: Piece) -> Vec<Stamp> {
        let stripe = piece.offset / self.layout.chunk;
        let second_parity =
            (self.layout.parities() == 2).then(|| self.layout.parity_member(stripe, 1));
        let others = (0..self.members.len())
            .filter(|&member| member != piece.member && Some(member) != second_parity);
        let mut sum = vec![0; (piece.bytes / SECTOR_BYTES) as usize];
        for member in others {
            for (sum, stamp) in
                sum.iter_mut().zip(self.members[member].contents(piece.offset, piece.bytes))
            {
                *sum ^= stamp;
            }
        }
        sum
    }
}
