//! A rotating disk: arm, rotation, cache and queue.
//!
//! The arm serves the command that it can reach soonest (shortest positioning time first), out of
//! the queued commands and the writes in the cache. This is the gain of native command queueing,
//! and the reason why unsynced writes are fast. FLUSH CACHE waits for all of them in that order and
//! blocks other commands, because SATA cannot queue it. With the cache off, each write waits for
//! its sector to come round. After a read, the disk continues to read into the track buffer while
//! there is nothing else to do.

mod geometry;

use std::collections::VecDeque;

use catalogue::model;
use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Activity, Completion, Device, Identity, Op, Request, SECTOR_BYTES, Stamp};
use crate::events::Agenda;
use crate::medium::{Medium, range};
use crate::time::{Ns, Speed, from_us};
use geometry::{Geometry, settle};

/// Number of candidates considered by the arm: firmware looks at its queue and part of its cache.
const CANDIDATES_MAX: usize = 64;
/// Physical sector size, eight logical sectors. A smaller write reads first, and waits for another
/// rotation.
const MEDIUM_SECTOR_BYTES: u64 = 4096;
/// Read-ahead of the track buffer.
const READ_AHEAD_BYTES: u64 = 2 << 20;

#[derive(Debug, Clone)]
pub struct Disk {
    capacity_bytes: u64,
    geometry: Geometry,
    settle: Ns,
    command: Ns,
    link: Speed,
    queue_depth: u32,
    cache_bytes: u64,
    cache_on: bool,
    track: u64,
    arm: Option<Motion>,
    /// Commands that need the arm: reads, and writes that are not cached.
    for_arm: VecDeque<Waiting>,
    /// Acknowledged writes that wait for the arm.
    cached: VecDeque<Request>,
    cached_bytes: u64,
    /// Writes that wait for space in the cache.
    for_cache: VecDeque<Waiting>,
    /// Commands blocked by a flush.
    blocked: VecDeque<Waiting>,
    flushing: Option<Waiting>,
    under_way: u32,
    link_free: Ns,
    read_ahead: Option<ReadAhead>,
    agenda: Agenda<Event>,
    activity: Activity,
    medium: Medium,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    request: Request,
    since: Ns,
}

/// The current movement of the arm.
#[derive(Debug, Clone, Copy)]
struct Motion {
    request: Request,
    /// The host has already received the completion.
    from_cache: bool,
    transfer_begins: Ns,
    ends: Ns,
}

/// The data that passes under the head after a read.
#[derive(Debug, Clone, Copy)]
struct ReadAhead {
    /// First byte that is or will be in the buffer.
    start: u64,
    /// The time at which the first of these bytes passed.
    since: Ns,
    speed: Speed,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    ArmFree,
    Done { request: Request },
    Flushed,
}

impl Disk {
    /// A new disk. Its platters are ahead by the fraction `ahead` of a rotation. The parameters
    /// must be valid.
    pub fn new(
        parameters: &model::Disk,
        capacity_bytes: u64,
        ahead: f64,
        track_contents: bool,
    ) -> Disk {
        Disk {
            capacity_bytes,
            geometry: Geometry::new(parameters, capacity_bytes, ahead),
            settle: settle(parameters),
            command: from_us(parameters.command_us),
            link: Speed::from_mb_per_s(parameters.link_mb_per_s),
            queue_depth: parameters.queue_depth,
            cache_bytes: parameters.cache.0,
            cache_on: parameters.cache_on,
            track: 0,
            arm: None,
            for_arm: VecDeque::new(),
            cached: VecDeque::new(),
            cached_bytes: 0,
            for_cache: VecDeque::new(),
            blocked: VecDeque::new(),
            flushing: None,
            under_way: 0,
            link_free: 0,
            read_ahead: None,
            agenda: Agenda::new(),
            activity: Activity::default(),
            medium: Medium::new(track_contents),
        }
    }

    fn start(&mut self, now: Ns, waiting: Waiting) {
        let request = waiting.request;
        match request.op {
            Op::Flush => {
                self.flushing = Some(waiting);
                self.end_flush_if_clean(now);
            }
            Op::Read => {
                self.under_way += 1;
                match self.buffered_at(now, &request) {
                    Some(at) => {
                        let ends = self.link_transfer(at, request.bytes);
                        self.agenda.enter(ends, Event::Done { request });
                    }
                    None => self.queue_for_arm(now, waiting),
                }
            }
            Op::Write if self.cache_on => {
                self.under_way += 1;
                if self.cached_bytes + request.bytes > self.cache_bytes && !self.cached.is_empty() {
                    self.for_cache.push_back(waiting);
                } else {
                    self.cache(now, request);
                }
            }
            Op::Write => {
                self.under_way += 1;
                self.queue_for_arm(now, waiting);
            }
        }
    }

    fn link_transfer(&mut self, now: Ns, bytes: u64) -> Ns {
        self.link_free = self.link_free.max(now) + self.command + self.link.time(bytes);
        self.link_free
    }

    fn cache(&mut self, now: Ns, request: Request) {
        let ends = self.link_transfer(now, request.bytes);
        self.cached_bytes += request.bytes;
        self.cached.push_back(request);
        self.agenda.enter(ends, Event::Done { request });
        self.move_arm(now);
    }

    fn queue_for_arm(&mut self, now: Ns, waiting: Waiting) {
        self.for_arm.push_back(waiting);
        self.move_arm(now);
    }

    /// The time at which the track buffer will contain the data of a read, if read-ahead reaches
    /// it.
    fn buffered_at(&self, now: Ns, request: &Request) -> Option<Ns> {
        let end = request.offset + request.bytes;
        if self
            .cached
            .iter()
            .any(|write| write.offset <= request.offset && end <= write.offset + write.bytes)
        {
            return Some(now);
        }
        let ahead = self.read_ahead?;
        let in_reach = request.offset >= ahead.start
            && request.offset + request.bytes <= ahead.start + READ_AHEAD_BYTES
            && self.arm.is_none()
            && self.for_arm.is_empty();
        in_reach.then(|| {
            now.max(ahead.since + ahead.speed.time(request.offset + request.bytes - ahead.start))
        })
    }

    /// Moves the idle arm to the candidate that it reaches soonest.
    fn move_arm(&mut self, now: Ns) {
        if self.arm.is_some() {
            return;
        }
        let wanted = self.for_arm.iter().map(|waiting| &waiting.request).take(CANDIDATES_MAX);
        // Reads go before cached writes, because the host waits for them. So do writes that wait
        // for a full cache.
        let cached =
            if self.for_arm.is_empty() || !self.for_cache.is_empty() { CANDIDATES_MAX } else { 0 };
        let candidates = wanted.chain(self.cached.iter().take(cached));
        let best = candidates
            .map(|request| self.positioning(now, request))
            .enumerate()
            .min_by_key(|&(index, time)| (time, index));
        let Some((index, positioning)) = best else { return };
        let uncached = self.for_arm.len().min(CANDIDATES_MAX);
        let (request, from_cache) = if index < uncached {
            (self.for_arm.remove(index).map(|waiting| waiting.request), false)
        } else {
            (self.cached.remove(self.oldest_conflict(index - uncached)), true)
        };
        let Some(request) = request else { return };
        let spot = self.geometry.spot(request.offset);
        let transfer_begins = now + positioning;
        let ends = transfer_begins + self.geometry.transfer(spot, request.bytes);
        self.read_ahead = None;
        self.arm = Some(Motion { request, from_cache, transfer_begins, ends });
        self.agenda.enter(ends, Event::ArmFree);
    }

    /// An older write to the same sectors must reach the medium first, and before that any write
    /// older than that one.
    fn oldest_conflict(&self, mut index: usize) -> usize {
        loop {
            let chosen = self.cached[index];
            let overlaps = |older: &Request| {
                older.offset < chosen.offset + chosen.bytes
                    && chosen.offset < older.offset + older.bytes
            };
            match self.cached.iter().take(index).position(overlaps) {
                Some(older) => index = older,
                None => return index,
            }
        }
    }

    /// Seek and rotation to the start of a request. A write smaller than a physical sector reads it
    /// first, and waits for another rotation.
    fn positioning(&self, now: Ns, request: &Request) -> Ns {
        let spot = self.geometry.spot(request.offset);
        let settle = if request.op == Op::Write { self.settle } else { 0 };
        let same_track = spot.track == self.track;
        let seek = self.geometry.seek(self.track, spot.track) + if same_track { 0 } else { settle };
        let whole = request.bytes.is_multiple_of(MEDIUM_SECTOR_BYTES)
            && request.offset.is_multiple_of(MEDIUM_SECTOR_BYTES);
        let partial = request.op == Op::Write && !whole;
        let again = if partial { self.geometry.turn() } else { 0 };
        seek + self.geometry.rotation(now + seek, spot.angle) + again
    }

    fn arm_free(&mut self, now: Ns) {
        let Some(Motion { request, from_cache, .. }) = self.arm.take() else { return };
        let end = request.offset + request.bytes;
        self.track = self.geometry.spot(end.min(self.capacity_bytes) - 1).track;
        if request.op == Op::Write {
            self.store(&request, request.bytes);
        } else {
            let spot = self.geometry.spot(request.offset);
            let mb_per_s = spot.track_bytes as f64 * 1e3 / self.geometry.turn() as f64;
            self.read_ahead =
                Some(ReadAhead { start: end, since: now, speed: Speed::from_mb_per_s(mb_per_s) });
        }
        if from_cache {
            self.cached_bytes -= request.bytes;
            while let Some(waiting) = self.for_cache.front().copied() {
                if self.cached_bytes + waiting.request.bytes > self.cache_bytes
                    && !self.cached.is_empty()
                {
                    break;
                }
                self.for_cache.pop_front();
                self.cache(now, waiting.request);
            }
        } else {
            let ends =
                self.link_transfer(now, if request.op == Op::Read { request.bytes } else { 0 });
            self.agenda.enter(ends, Event::Done { request });
        }
        self.move_arm(now);
        self.end_flush_if_clean(now);
    }

    fn end_flush_if_clean(&mut self, now: Ns) {
        let clean = self.cached.is_empty() && self.arm.is_none_or(|motion| !motion.from_cache);
        if self.flushing.is_some() && clean {
            self.agenda.enter(now + self.command, Event::Flushed);
        } else {
            self.move_arm(now);
        }
    }

    /// Acknowledged writes that have not reached the medium.
    fn unwritten(&self) -> impl Iterator<Item = &Request> {
        let moving =
            self.arm.iter().filter(|motion| motion.from_cache).map(|motion| &motion.request);
        self.cached.iter().chain(moving)
    }

    fn store(&mut self, request: &Request, bytes: u64) {
        self.medium.write(request.offset, bytes, request.stamp);
    }

    fn release(&mut self, now: Ns) {
        while self.flushing.is_none() {
            match self.blocked.front() {
                Some(waiting) if waiting.request.op != Op::Flush || self.under_way == 0 => {}
                _ => return,
            }
            if let Some(waiting) = self.blocked.pop_front() {
                self.start(now, waiting);
            }
        }
    }
}

impl Device for Disk {
    fn identity(&self) -> Identity {
        Identity {
            capacity_bytes: self.capacity_bytes,
            volatile_cache: self.cache_on,
            fua: false,
            queue_depth: self.queue_depth,
            rotational: true,
            switchable: true,
        }
    }

    fn set_write_cache(&mut self, now: Ns, on: bool) {
        if self.cache_on && !on {
            // The standard requires the drive to write its cache first; no command is outstanding
            // while a setting changes.
            for request in std::mem::take(&mut self.cached) {
                self.store(&request, request.bytes);
            }
            self.cached_bytes = 0;
            self.arm = None;
            self.agenda.clear();
            self.link_free = self.link_free.max(now);
        }
        self.cache_on = on;
    }

    fn precondition(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Ns, request: Request) {
        let waiting = Waiting { request, since: now };
        let blocked = self.flushing.is_some() || !self.blocked.is_empty();
        if blocked || (request.op == Op::Flush && self.under_way > 0) {
            self.blocked.push_back(waiting);
        } else {
            self.start(now, waiting);
        }
    }

    fn next_event(&self) -> Option<Ns> {
        self.agenda.next_at()
    }

    fn advance(&mut self, now: Ns, done: &mut Vec<Completion>) {
        while let Some((at, event)) = self.agenda.take(now) {
            match event {
                Event::ArmFree => self.arm_free(at),
                Event::Done { request } => {
                    self.under_way -= 1;
                    if request.op == Op::Read {
                        self.activity.reads += 1;
                    } else {
                        self.activity.writes += 1;
                        self.activity.written_bytes += request.bytes;
                    }
                    done.push(Completion { id: request.id, at });
                    self.release(at);
                }
                Event::Flushed => {
                    if let Some(waiting) = self.flushing.take() {
                        self.activity.flushes += 1;
                        self.activity.flush_ns += at - waiting.since;
                        done.push(Completion { id: waiting.request.id, at });
                    }
                    self.release(at);
                }
            }
        }
    }

    /// Data that has passed under the head is written; the sector under the head may be old or new;
    /// data that was only in the cache is lost.
    fn power_cut(&mut self, now: Ns, chance: &mut Xoshiro256PlusPlus) {
        if let Some(Motion { request, transfer_begins, ends, .. }) = self.arm.take()
            && request.op == Op::Write
            && now > transfer_begins
        {
            let share = (now - transfer_begins) as f64 / (ends - transfer_begins).max(1) as f64;
            let passed =
                (request.bytes as f64 * share.min(1.0)) as u64 / SECTOR_BYTES * SECTOR_BYTES;
            let torn = if chance.next_u64() & 1 == 1 { SECTOR_BYTES } else { 0 };
            self.store(&request, (passed + torn).min(request.bytes));
        }
        self.for_arm.clear();
        self.cached.clear();
        self.cached_bytes = 0;
        self.for_cache.clear();
        self.blocked.clear();
        self.flushing = None;
        self.under_way = 0;
        self.link_free = now;
        self.read_ahead = None;
        self.agenda.clear();
    }

    fn contents(&self, offset: u64, bytes: u64) -> Vec<Stamp> {
        let at = |sector: u64| {
            // A read returns cached data first; the latest write of a sector counts.
            let holds = |request: &&Request| {
                (request.offset..request.offset + request.bytes).contains(&(sector * SECTOR_BYTES))
            };
            let moving = self
                .arm
                .as_ref()
                .filter(|motion| motion.request.op == Op::Write)
                .map(|motion| &motion.request);
            let waiting = self.cached.iter().rev().find(holds).or(moving.filter(holds));
            waiting.map_or_else(|| self.medium.at(sector), |request| request.stamp)
        };
        range(offset, bytes).map(at).collect()
    }

    fn at_risk_from(&self, _now: Ns) -> Option<Stamp> {
        self.unwritten().map(|request| request.stamp).min()
    }

    fn dirty_bytes(&self, _now: Ns) -> u64 {
        self.unwritten().map(|request| request.bytes).sum()
    }

    fn activity(&self) -> Activity {
        Activity { medium_bytes: self.activity.written_bytes, ..self.activity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(cache_on: bool) -> Disk {
        let parameters = model::Disk { cache_on, ..geometry::tests::seven_two() };
        Disk::new(&parameters, 4_000_000_000_000, 0.0, true)
    }

    fn request(id: u32, op: Op, offset: u64, stamp: Stamp) -> Request {
        let bytes = if op == Op::Flush { 0 } else { 4096 };
        Request { id, op, offset, bytes, fua: false, stamp }
    }

    /// Completion time of each command in microseconds, in command order.
    fn ends(disk: &mut Disk, commands: usize) -> Vec<(u32, Ns)> {
        let mut done = Vec::new();
        while let (true, Some(at)) = (done.len() < commands, disk.next_event()) {
            disk.advance(at, &mut done);
        }
        done.iter().map(|completion| (completion.id, completion.at / 1000)).collect()
    }

    #[test]
    fn a_read_waits_for_its_place_and_what_follows_is_in_the_buffer() {
        let mut disk = disk(true);
        // The head is at the right position. 4096 of 1720320 bytes of a rotation of 8333 us take
        // 19.8 us; then the command's 100 us, and 7.4 us at 550 MB/s.
        disk.submit(0, request(1, Op::Read, 0, 0));
        assert_eq!(ends(&mut disk, 1), [(1, 127)]);
        // The next page has passed in the meantime.
        disk.submit(127_288, request(2, Op::Read, 4096, 0));
        assert_eq!(ends(&mut disk, 1), [(2, 127 + 107)]);
        // A sector that has passed returns after one rotation.
        disk.submit(300_000, request(3, Op::Read, 0, 0));
        assert_eq!(ends(&mut disk, 1), [(3, 8333 + 127)]);
        assert_eq!((disk.activity().reads, disk.activity().writes), (3, 0));
    }

    #[test]
    fn a_write_is_acknowledged_by_the_cache_or_waits_for_its_place() {
        let mut cached = disk(true);
        cached.submit(0, request(1, Op::Write, 0, 7));
        assert_eq!((cached.dirty_bytes(0), cached.at_risk_from(0)), (4096, Some(7)));
        assert_eq!(ends(&mut cached, 1), [(1, 107)]);
        assert_eq!(
            (cached.dirty_bytes(0), cached.at_risk_from(0)),
            (0, None),
            "the head was there"
        );
        let mut through = disk(false);
        through.submit(100_000, request(1, Op::Write, 0, 7));
        // It passes once per rotation of 8333.3 us, 19.8 us of it under the head, and the response
        // contains no data.
        assert_eq!(ends(&mut through, 1), [(1, 8453)]);
        // A part of a physical sector is read first, one rotation earlier: three rotations, 2.5 us
        // and the command.
        let part = Request { bytes: 512, ..request(2, Op::Write, 0, 8) };
        through.submit(8_454_000, part);
        assert_eq!(ends(&mut through, 1), [(2, 25_102)]);
    }

    #[test]
    fn a_flush_runs_alone() {
        let mut disk = disk(true);
        for command in [
            request(1, Op::Write, 0, 7),
            request(2, Op::Flush, 0, 0),
            request(3, Op::Write, 40_960, 8),
            request(4, Op::Read, 81_920, 0),
        ] {
            disk.submit(0, command);
        }
        let ends = ends(&mut disk, 4);
        let order: Vec<u32> = ends.iter().map(|(id, _)| *id).collect();
        assert_eq!((order[..2].to_vec(), ends[0].1), (vec![1, 2], 107));
        // Everything is on the medium when the write is acknowledged: only the command time
        // remains.
        assert_eq!(ends[1].1, 107 + 100);
        assert!(ends[2].1 > ends[1].1 && disk.activity().flushes == 1);
        assert_eq!(disk.activity().flush_ns / 1000, 207);
    }

    #[test]
    fn what_is_under_way_is_what_a_read_gets() {
        let mut disk = disk(true);
        disk.submit(0, request(1, Op::Write, 0, 7));
        disk.submit(0, request(2, Op::Write, 1 << 40, 8));
        // The head is moving to the first, the second waits in the cache.
        assert_eq!((disk.contents(0, 4096), disk.contents(1 << 40, 512)), (vec![7; 8], vec![8]));
        disk.submit(0, request(3, Op::Write, 1 << 40, 9));
        assert_eq!(disk.contents(1 << 40, 512), [9], "the latest write");
        assert_eq!(disk.contents((1 << 40) + 4096, 512), [0]);
        ends(&mut disk, 3);
        while let Some(at) = disk.next_event() {
            disk.advance(at, &mut Vec::new());
        }
        let at = 1 << 31;
        disk.submit(at, request(4, Op::Read, 1 << 40, 0));
        assert_eq!(disk.contents(1 << 40, 512), [9], "a read changes nothing");
    }

    #[test]
    fn a_cut_leaves_what_passed_under_the_head_and_switching_the_cache_off_writes_it_out() {
        let mut chance = rand_xoshiro::rand_core::SeedableRng::seed_from_u64(1);
        for share in [0.0, 0.5, 1.0] {
            let mut disk = disk(true);
            let bytes = 512 << 10;
            disk.submit(0, Request { bytes, ..request(1, Op::Write, 0, 7) });
            disk.submit(0, request(2, Op::Write, 1 << 40, 8));
            let ends = disk.arm.unwrap().ends;
            disk.power_cut((ends as f64 * share) as Ns, &mut chance);
            let there = disk.contents(0, bytes).iter().filter(|stamp| **stamp == 7).count() as f64;
            // The sector under the head may be old or new.
            assert!((there / 1024.0 - share).abs() <= 1.0 / 1024.0, "{share}: {there}");
            assert_eq!((disk.contents(1 << 40, 512), disk.dirty_bytes(0)), (vec![0], 0));
        }
        let mut disk = disk(true);
        disk.submit(0, request(1, Op::Write, 1 << 30, 7));
        disk.submit(0, request(2, Op::Write, 1 << 40, 8));
        ends(&mut disk, 2);
        disk.set_write_cache(1_000_000, false);
        disk.power_cut(1_000_000, &mut chance);
        assert_eq!(disk.contents(1 << 40, 512), [8]);
    }
}
