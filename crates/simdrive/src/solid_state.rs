//! A solid-state drive: link, cache, flush and flash combined.
//!
//! | part | effect |
//! | --- | --- |
//! | link | each command occupies the controller for some time, and its data the link; the rest of the latency overlaps with other commands |
//! | throttle | some drives let only so much data in per tick of their firmware |
//! | cache | a write is acknowledged once it is in the cache, and waits while the cache is full: over a longer time, a drive is as fast as its flash |
//! | flush | one round at a time; a round covers the writes acknowledged before it started, and later flushes join the next round |
//! | flash | [`crate::flash`] |
//!
//! A flush waits for the data (partially filled word lines are written as they are) and for the
//! journal of the mapping table, including its changed pages. A flush after scattered writes is
//! therefore slower than one after the same number of sequential bytes. With a protected cache, a
//! flush waits for nothing, except on drives whose firmware writes everything out anyway. With the
//! cache off, an unprotected drive acknowledges a write once it is in the flash. It needs no
//! journal, because each page records its own unit; this can be much faster than a flush for each
//! write.

use std::collections::VecDeque;

use catalogue::model::{self, Fua, Journalled, WaitsFor};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Activity, Completion, Device, Identity, Op, Request, SECTOR_BYTES, Stamp};
use crate::events::Agenda;
use crate::flash::contents::{SECTORS, UNIT_BYTES};
use crate::flash::dies::Sense;
use crate::flash::page_map::Unit;
use crate::flash::{Flash, Wear};
use crate::throttle::Throttle;
use crate::time::{Ns, Speed, from_us};

/// Data arrives in chunks of this size, so a large write need not wait until all of it fits in the
/// cache.
const PIECE_BYTES: u64 = 64 << 10;
/// Units of 4 KiB mapped by one page of the mapping table: 4 KiB of 4-byte entries.
const MAP_PAGE_UNITS: u32 = 1024;

#[derive(Debug)]
pub struct SolidState {
    capacity_bytes: u64,
    timing: Timing,
    cache: model::Cache,
    cache_on: bool,
    fua: Fua,
    flush: model::Flush,
    /// Units written by the host when the last round of flushes began.
    flushed_units: u64,
    queue_depth: u32,
    flash: Flash,
    throttle: Option<Throttle>,
    link_free: Ns,
    /// The time at which the other direction of the link is free.
    back_free: Ns,
    full_duplex: bool,
    /// Number of reads and writes in progress.
    under_way: u32,
    /// Commands that wait because a flush cannot overlap with others.
    blocked: VecDeque<Pending>,
    /// The flushes of the current round.
    round: Vec<Pending>,
    /// The flushes of the next round.
    waiting: Vec<Pending>,
    dirty_map: DirtyMap,
    agenda: Agenda<Event>,
    activity: Activity,
}

#[derive(Debug, Clone, Copy)]
struct Timing {
    command: Ns,
    write: Ns,
    read: Ns,
    link: Speed,
    flush: Ns,
    journal: Ns,
    map_page: Ns,
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    request: Request,
    since: Ns,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    /// The data of a read is at the controller and goes over the link.
    Sensed { id: u32, bytes: u64 },
    /// A read or write is complete.
    Done { id: u32, written_bytes: Option<u64> },
    /// A round of flushes is complete.
    RoundOver,
}

/// Pages of the mapping table that have changed since the journal was last written.
#[derive(Debug, Clone)]
struct DirtyMap {
    /// The journal's sequence number when each page was last changed.
    changed_in: Vec<u32>,
    journal: u32,
    pages: u32,
}

impl DirtyMap {
    fn new(units: u64) -> DirtyMap {
        let pages = units.div_ceil(u64::from(MAP_PAGE_UNITS)) as usize;
        DirtyMap { changed_in: vec![0; pages], journal: 1, pages: 0 }
    }

    #[inline]
    fn change(&mut self, unit: Unit) {
        let page = &mut self.changed_in[(unit / MAP_PAGE_UNITS) as usize];
        self.pages += u32::from(*page != self.journal);
        *page = self.journal;
    }

    fn written(&mut self) -> u32 {
        self.journal += 1;
        std::mem::take(&mut self.pages)
    }
}

impl SolidState {
    /// A new drive. The parameters must be valid.
    pub fn new(
        parameters: &model::SolidState,
        capacity_bytes: u64,
        track_contents: bool,
    ) -> SolidState {
        let model::SolidState { link, throttle, cache, flush, fua, flash, .. } = *parameters;
        let units = capacity_bytes / UNIT_BYTES;
        let shape = crate::flash::Shape::of(&flash, units);
        let sense = Sense::new(flash.read_us, flash.read_spread);
        let channel_speed = Speed::from_mb_per_s(flash.channel_mb_per_s);
        SolidState {
            capacity_bytes,
            timing: Timing {
                command: from_us(link.command_us),
                write: from_us(link.write_us),
                read: from_us(link.read_us),
                link: Speed::from_mb_per_s(link.mb_per_s),
                flush: from_us(flush.command_us),
                journal: from_us(flush.journal_us),
                map_page: from_us(flush.map_page_us),
            },
            cache,
            cache_on: true,
            fua,
            flush,
            flushed_units: 0,
            queue_depth: link.queue_depth,
            flash: Flash::new(shape, flash.channels, channel_speed, sense, track_contents),
            throttle: throttle.as_ref().map(Throttle::new),
            link_free: 0,
            back_free: 0,
            full_duplex: link.full_duplex,
            under_way: 0,
            blocked: VecDeque::new(),
            round: Vec::new(),
            waiting: Vec::new(),
            dirty_map: DirtyMap::new(units),
            agenda: Agenda::new(),
            activity: Activity::default(),
        }
    }

    #[inline]
    fn start(&mut self, now: Ns, request: Request) {
        self.flash.catch_up(now);
        match request.op {
            Op::Write => {
                let end = self.write(now, request);
                self.under_way += 1;
                self.agenda
                    .enter(end, Event::Done { id: request.id, written_bytes: Some(request.bytes) });
            }
            Op::Read => {
                let at_controller = self.read(now, request);
                self.under_way += 1;
                self.agenda
                    .enter(at_controller, Event::Sensed { id: request.id, bytes: request.bytes });
            }
            Op::Flush => {
                let held = Pending { request, since: now };
                if self.round.is_empty() {
                    self.round.push(held);
                    self.begin_round(now);
                } else {
                    self.waiting.push(held);
                }
            }
        }
    }

    /// The time at which a write is acknowledged.
    #[inline]
    fn write(&mut self, now: Ns, request: Request) -> Ns {
        let mut arrived = now.max(self.link_free) + self.timing.command;
        if let (true, Fua::Cached { extra_us }) = (request.fua, self.fua) {
            arrived += from_us(extra_us);
        }
        let end = request.offset + request.bytes;
        let mut offset = request.offset;
        let mut chunk_end = offset;
        self.flash.begin_request(request.bytes);
        let one_bit = self.flash.writes_one_bit();
        while offset < end {
            let piece_end = end.min(offset + PIECE_BYTES.min(self.cache.size.0 / 2));
            // An unaligned write still occupies whole units of the cache.
            let units_bytes =
                piece_end.div_ceil(UNIT_BYTES) * UNIT_BYTES - offset / UNIT_BYTES * UNIT_BYTES;
            if let Some(throttle) = &mut self.throttle
                && offset >= chunk_end
            {
                chunk_end = end.min(offset + throttle.chunk_bytes);
                arrived = throttle.admit(arrived, chunk_end - offset);
            }
            arrived = self.flash.room_at(arrived, units_bytes, self.cache.size.0);
            arrived += self.timing.link.time(piece_end - offset);
            while offset < piece_end {
                let unit = (offset / UNIT_BYTES) as Unit;
                let unit_end = (u64::from(unit) + 1) * UNIT_BYTES;
                let part_end = piece_end.min(unit_end);
                let sectors = sectors(offset, part_end);
                let stamp = request.stamp;
                self.flash.write(
                    unit,
                    arrived,
                    Some(|mut held: [Stamp; SECTORS]| {
                        held[sectors].fill(stamp);
                        held
                    }),
                );
                if self.flush.waits_for == WaitsFor::Map {
                    self.dirty_map.change(unit);
                }
                offset = part_end;
            }
        }
        self.link_free = arrived;
        arrived + self.timing.write + self.durable_at(arrived, request.fua, one_bit)
    }

    /// The time at which a write that has arrived can be acknowledged, given what is required in
    /// addition to the cache.
    #[inline]
    fn durable_at(&mut self, arrived: Ns, fua: bool, one_bit: bool) -> Ns {
        let through = !self.cache_on && !self.cache.protected;
        if !fua && !through {
            return 0;
        }
        match self.fua {
            Fua::Cached { .. } | Fua::Ignored if fua && !through => 0,
            Fua::Programmed { extra_us, journal } if fua && !through => {
                let with_journal = match journal {
                    Journalled::Never => false,
                    Journalled::MultiBit => !one_bit,
                    Journalled::Always => true,
                };
                let pages = if with_journal { self.dirty_map.written() } else { 0 };
                self.flash.force(arrived) - arrived
                    + from_us(extra_us)
                    + self.journal_time(with_journal, pages)
            }
            _ => self.flash.force(arrived) - arrived,
        }
    }

    fn journal_time(&self, written: bool, pages: u32) -> Ns {
        if written {
            self.timing.journal + u64::from(pages.saturating_sub(1)) * self.timing.map_page
        } else {
            0
        }
    }

    /// The time at which the data of a read is at the controller.
    fn read(&mut self, now: Ns, request: Request) -> Ns {
        let begin = now.max(self.link_free) + self.timing.command;
        self.link_free = begin;
        let (mut unit, last) =
            (request.offset / UNIT_BYTES, (request.offset + request.bytes).div_ceil(UNIT_BYTES));
        let mut at_controller = begin;
        while unit < last {
            match self.flash.read(unit as Unit, (last - unit) as u32, begin) {
                Some((at, units)) => {
                    at_controller = at_controller.max(at);
                    unit += u64::from(units);
                }
                // Never written: the controller returns zeros without accessing flash.
                None => unit += 1,
            }
        }
        at_controller
    }

    fn begin_round(&mut self, now: Ns) {
        let end = match self.flush.waits_for {
            WaitsFor::Nothing => now,
            WaitsFor::Data => self.flash.force(now),
            WaitsFor::Map => {
                let dirty = self.flush.journals_clean
                    || self.flash.is_dirty(now)
                    || self.dirty_map.pages > 0;
                let pages = self.dirty_map.written();
                let units = self.flash.wear().host_units;
                let since = units - std::mem::replace(&mut self.flushed_units, units);
                let describes_itself = self.flush.trusts_stripes
                    && since > 0
                    && since.is_multiple_of(self.flash.stripe_units());
                let journal = self.journal_time(!describes_itself, pages);
                if dirty { self.flash.force(now) + journal } else { now }
            }
        };
        let end = end + self.timing.flush;
        self.flash.keep_busy(end);
        self.agenda.enter(end, Event::RoundOver);
    }

    /// Starts blocked commands, as far as flushes allow.
    fn release(&mut self, now: Ns) {
        while let Some(held) = self.blocked.front().copied() {
            if !self.round.is_empty() || (held.request.op == Op::Flush && self.under_way > 0) {
                return;
            }
            self.blocked.pop_front();
            self.start(now, held.request);
            if let Some(flush) = self.round.last_mut() {
                flush.since = flush.since.min(held.since);
            }
        }
    }
}

impl Device for SolidState {
    fn identity(&self) -> Identity {
        Identity {
            capacity_bytes: self.capacity_bytes,
            volatile_cache: self.cache_on && self.cache.told_volatile,
            fua: self.fua != Fua::Absent,
            queue_depth: self.queue_depth,
            rotational: false,
            switchable: self.cache.told_volatile,
        }
    }

    fn set_write_cache(&mut self, now: Ns, on: bool) {
        if self.cache.told_volatile {
            if self.cache_on && !on && !self.cache.protected {
                self.flash.force(now);
            }
            self.cache_on = on;
        }
    }

    fn precondition(&mut self, bytes: u64) {
        let units = bytes.min(self.capacity_bytes).div_ceil(UNIT_BYTES) as Unit;
        if units > self.flash.laid_out() {
            self.flash.lay_out(units);
        }
    }

    /// A drive that was never preconditioned is filled first.
    fn wear(&mut self, now: Ns, overwrites: f64, chance: &mut Xoshiro256PlusPlus) -> bool {
        if self.flash.laid_out() == 0 {
            self.precondition(self.capacity_bytes);
        }
        self.flash.wear_out(now, overwrites, chance);
        true
    }

    #[inline]
    fn submit(&mut self, now: Ns, request: Request) {
        let blocked = !self.round.is_empty() || !self.blocked.is_empty();
        if self.flush.drains_queue && (blocked || (request.op == Op::Flush && self.under_way > 0)) {
            self.blocked.push_back(Pending { request, since: now });
        } else {
            self.start(now, request);
        }
    }

    #[inline]
    fn anticipate(&self, offset: u64) {
        self.flash.anticipate((offset / UNIT_BYTES) as Unit);
    }

    #[inline]
    fn next_event(&self) -> Option<Ns> {
        self.agenda.next_at()
    }

    #[inline]
    fn advance(&mut self, now: Ns, done: &mut Vec<Completion>) {
        while let Some((at, event)) = self.agenda.take(now) {
            match event {
                Event::Sensed { id, bytes } => {
                    let lane =
                        if self.full_duplex { &mut self.back_free } else { &mut self.link_free };
                    *lane = (*lane).max(at) + self.timing.link.time(bytes);
                    let end = *lane + self.timing.read;
                    self.agenda.enter(end, Event::Done { id, written_bytes: None });
                }
                Event::Done { id, written_bytes } => {
                    self.under_way -= 1;
                    match written_bytes {
                        Some(bytes) => {
                            self.activity.writes += 1;
                            self.activity.written_bytes += bytes;
                        }
                        None => self.activity.reads += 1,
                    }
                    done.push(Completion { id, at });
                    self.release(at);
                }
                Event::RoundOver => {
                    for flush in self.round.drain(..) {
                        self.activity.flushes += 1;
                        self.activity.flush_ns += at - flush.since;
                        done.push(Completion { id: flush.request.id, at });
                    }
                    if !self.waiting.is_empty() {
                        std::mem::swap(&mut self.round, &mut self.waiting);
                        self.begin_round(at);
                    }
                    self.release(at);
                }
            }
        }
    }

    fn power_cut(&mut self, now: Ns, chance: &mut Xoshiro256PlusPlus) {
        self.flash.catch_up(now);
        self.flash.power_cut(now, self.cache.protected, chance);
        self.agenda.clear();
        self.blocked.clear();
        self.round.clear();
        self.waiting.clear();
        self.under_way = 0;
        self.link_free = now;
        self.back_free = now;
    }

    fn contents(&self, offset: u64, bytes: u64) -> Vec<Stamp> {
        let sectors = offset / SECTOR_BYTES..(offset + bytes) / SECTOR_BYTES;
        let per_unit = SECTORS as u64;
        sectors
            .map(|sector| {
                self.flash.contents((sector / per_unit) as Unit)[(sector % per_unit) as usize]
            })
            .collect()
    }

    fn at_risk_from(&self, now: Ns) -> Option<Stamp> {
        self.flash.at_risk_from(now, self.cache.protected)
    }

    fn dirty_bytes(&self, now: Ns) -> u64 {
        self.flash.dirty_bytes(now)
    }

    fn activity(&self) -> Activity {
        let Wear { host_units, moved_units, padded_units, .. } = self.flash.wear();
        Activity {
            medium_bytes: (host_units + moved_units + padded_units) * UNIT_BYTES,
            ..self.activity
        }
    }
}

/// The sectors of a unit covered by the bytes from `offset` to `end`.
#[inline]
fn sectors(offset: u64, end: u64) -> std::ops::Range<usize> {
    let first = (offset % UNIT_BYTES / SECTOR_BYTES) as usize;
    first..first + ((end - offset) / SECTOR_BYTES) as usize
}
