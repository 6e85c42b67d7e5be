//! A modelled drive that stores data, and whose power can be cut. It has no clock: its server
//! passes the time, real or virtual.

mod command;
mod status;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use simdrive::device::{Activity, Completion, Device, Identity, Op, Request, SECTOR_BYTES, Stamp};
use simdrive::slab::Slab;
use simdrive::time::Ns;

use crate::faults::Faults;
use crate::history::{Before, History};
use crate::honesty::{Fault, Honesty};
use crate::image::Image;
use crate::promises::Promises;

pub use command::{Command, Done, Refused};
pub use status::{Cut, Power, Status};

/// Safe writes are forgotten each time the log of writes has grown by this much.
const FORGET_EVERY_BYTES: u64 = 256 << 10;
/// With a longer log, no more writes are accepted until the drive has stored something: no drive's
/// cache is larger.
const HISTORY_BYTES_MAX: u64 = 512 << 20;
/// A larger range of zeros is written in pieces of this size, one after the other.
const ZEROS_BYTES_MAX: u64 = 8 << 20;

/// A command in progress.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    tag: u64,
    kind: Op,
    parts: u32,
    /// The first and last stamp of a write.
    stamps: Option<(Stamp, Stamp)>,
    fua: bool,
    /// Zeros still to be written after the current piece.
    zeros: Option<Zeros>,
}

/// A range to be zeroed.
#[derive(Debug, Clone, Copy)]
struct Zeros {
    offset: u64,
    bytes: u64,
    keeps_space: bool,
}

/// A modelled drive with its data.
pub struct Drive {
    device: Box<dyn Device>,
    identity: Identity,
    image: Image,
    honesty: Honesty,
    faults: Faults,
    history: History,
    /// Length of the log when it was last shortened.
    history_was: u64,
    keeps_history: bool,
    promises: Promises,
    request_bytes_max: u64,
    /// The model's time, which never runs backwards.
    clock: Ns,
    chance: Xoshiro256PlusPlus,
    power: Power,
    read_only: bool,
    next_stamp: Stamp,
    under_way: Slab<UnderWay>,
    /// For zeros written in several pieces: the stamps of the finished pieces.
    pieces_done: BTreeMap<u32, Vec<(Stamp, Stamp)>>,
    /// Commands that do not fit into the drive's queue.
    waiting: VecDeque<Request>,
    in_flight: u32,
    /// Finished commands that were not reported yet.
    finished: Vec<Done>,
    scratch: Vec<Completion>,
    writes: u64,
    flushes: u64,
    cuts: u64,
    last_cut: Option<Cut>,
}

impl Drive {
    /// A drive of a model that tracks contents, over an image of the same size. `request_bytes_max`
    /// is the largest command in bytes that it takes in one piece; larger ones are split, as a
    /// host's block layer would do. `seed` determines all random decisions.
    pub fn new(device: Box<dyn Device>, image: Image, honesty: Honesty, request_bytes_max: u64, seed: u64) -> Drive {
        let faults = Faults::new(&honesty, seed);
        let promises = Promises::new(honesty.ack_early.map(|early| early.as_nanos() as Ns));
        Drive {
            identity: device.identity(),
            device,
            image,
            honesty,
            faults,
            history: History::default(),
            history_was: 0,
            keeps_history: true,
            promises,
            request_bytes_max,
            clock: 0,
            // A separate random sequence: adding a fault must not change what the cache loses.
            chance: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x0c07_5eed),
            power: Power::On,
            read_only: false,
            next_stamp: 1,
            under_way: Slab::new(),
            pieces_done: BTreeMap::new(),
            waiting: VecDeque::new(),
            in_flight: 0,
            finished: Vec::new(),
            scratch: Vec::new(),
            writes: 0,
            flushes: 0,
            cuts: 0,
            last_cut: None,
        }
    }

    /// Turns it into a drive that never loses anything, not even commands in progress; no undo log
    /// is kept.
    #[must_use]
    pub fn without_history(mut self) -> Drive {
        self.keeps_history = false;
        self
    }

    /// The model's identity.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns whether a host has to send flushes; if not, neither FLUSH nor FUA is offered.
    pub const fn wants_flushes(&self) -> bool {
        self.identity.volatile_cache
    }

    /// Returns whether a host may request FUA.
    pub const fn takes_fua(&self) -> bool {
        self.identity.volatile_cache && self.identity.fua
    }

    /// Its power state: on, off or dead.
    pub const fn power(&self) -> Power {
        self.power
    }

    /// Returns whether it refuses writes.
    pub const fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Returns whether its log is so long that a host should wait before it sends more.
    pub fn is_crowded(&self) -> bool {
        // Waiting would not help if nothing is ever stored without a flush.
        self.history.bytes() >= HISTORY_BYTES_MAX && self.device.next_event().is_some()
    }

    /// Number of commands in progress.
    pub fn under_way(&self) -> usize {
        self.under_way.count()
    }

    /// Accepts a command that arrived at `now`. When it is done, [`Drive::advance`] returns its
    /// `tag`. If `now` is before the latest event already processed, that event's time counts
    /// instead.
    ///
    /// # Errors
    /// When the command fails immediately; its tag is not returned then.
    #[inline]
    pub fn submit(&mut self, now: Ns, tag: u64, command: Command<'_>) -> Result<(), Refused> {
        if self.power != Power::On {
            return Err(Refused::NoPower);
        }
        // The model cannot look back before events that it has already processed.
        let now = now.max(self.clock);
        self.go_on(now);
        self.clock = now;
        match command {
            Command::Read { offset, bytes } => {
                self.check(offset, bytes)?;
                let id = self.under_way.insert(UnderWay::new(tag, Op::Read));
                self.send_parts(now, id, Request { id, op: Op::Read, offset, bytes, fua: false, stamp: 0 });
            }
            Command::Write { offset, data, fua } => {
                self.check_write(offset, data.len() as u64)?;
                let stamp = self.store(offset, data)?;
                let id = self.under_way.insert(UnderWay { fua, ..UnderWay::new(tag, Op::Write) });
                self.send_write(now, id, offset, data.len() as u64, stamp);
            }
            Command::Zero { offset, bytes, fua, keeps_space } => {
                self.check_write(offset, bytes)?;
                let zeros = Zeros { offset, bytes: bytes.min(ZEROS_BYTES_MAX), keeps_space };
                let first = self.store_zeros(zeros)?;
                let (offset, bytes) = (offset + zeros.bytes, bytes - zeros.bytes);
                let rest = (bytes > 0).then_some(Zeros { offset, bytes, keeps_space });
                let id = self.under_way.insert(UnderWay { fua, zeros: rest, ..UnderWay::new(tag, Op::Write) });
                self.send_write(now, id, zeros.offset, zeros.bytes, first);
            }
            Command::Trim { offset, bytes, fua } => {
                self.check_write(offset, bytes)?;
                self.image.clear(offset, bytes)?;
                if fua { self.flush(now, tag) } else { self.finished.push(Done { tag, at: now, failed: None }) }
            }
            Command::Flush => self.flush(now, tag),
        }
        Ok(())
    }

    /// Time of the next event; `None` if no command is in progress.
    #[inline]
    pub fn next_event(&self) -> Option<Ns> {
        if self.finished.is_empty() { self.device.next_event() } else { Some(0) }
    }

    /// Advances time, and appends the commands finished by `now` to `done`.
    #[inline]
    pub fn advance(&mut self, now: Ns, done: &mut Vec<Done>) {
        self.go_on(now);
        done.append(&mut self.finished);
        if self.history.bytes() >= self.history_was + FORGET_EVERY_BYTES {
            self.forget(now);
        }
    }

    /// Runs the model up to `now`, one event after the other: a command that waits for a place in
    /// the queue starts when a place becomes free.
    #[inline]
    fn go_on(&mut self, now: Ns) {
        while let Some(at) = self.device.next_event().filter(|&at| at <= now) {
            self.clock = at;
            let mut completions = std::mem::take(&mut self.scratch);
            self.device.advance(at, &mut completions);
            for Completion { id, .. } in completions.drain(..) {
                match self.waiting.pop_front() {
                    Some(request) => self.device.submit(at, request),
                    None => self.in_flight -= 1,
                }
                self.part_done(id, at);
            }
            self.scratch = completions;
        }
    }

    /// Appends the data of a finished read to `out`.
    ///
    /// # Errors
    /// Those of the image, and when the power was cut meanwhile; `out` is unchanged then.
    #[inline]
    pub fn fetch(&self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> Result<(), Refused> {
        if self.power != Power::On {
            return Err(Refused::NoPower);
        }
        Ok(self.image.append(offset, bytes, out)?)
    }

    /// Cuts the power: commands in progress never finish, and data that was not safe is lost,
    /// according to the model and the drive's honesty.
    ///
    /// # Errors
    /// Those of the image: its content is undefined then, so the drive is dead.
    pub fn cut(&mut self, now: Ns) -> Result<Cut, Refused> {
        if self.power != Power::On {
            return Err(Refused::NoPower);
        }
        let now = now.max(self.clock);
        self.go_on(now);
        self.clock = now;
        self.cuts += 1;
        self.under_way = Slab::new();
        self.pieces_done.clear();
        self.waiting.clear();
        self.in_flight = 0;
        self.finished.clear();
        self.power = Power::Dead;
        let cut = self.lose(now)?;
        let struck = |fault| cut.injected.iter().any(|injected| injected.fault == fault);
        self.read_only |= struck(Fault::ReadOnly);
        self.power = if struck(Fault::Dead) { Power::Dead } else { Power::Off };
        self.last_cut = Some(cut.clone());
        Ok(cut)
    }

    fn lose(&mut self, now: Ns) -> Result<Cut, Refused> {
        self.device.power_cut(now, &mut self.chance);
        self.promises.go_on(now);
        let newest = self.history.newest();
        let left = self.left(&newest);
        let mut cut = Cut::default();
        let mut lost: BTreeSet<Stamp> = newest
            .iter()
            .filter(|(sector, newest)| left.get(sector) != Some(newest))
            .map(|(_, newest)| *newest)
            .collect();
        // Data that was called safe, and then overwritten by data that was not, is also lost when
        // an older version comes back.
        let promised = self.history.newest_of(|stamp| self.promises.is_made(stamp));
        let is_gone = |(sector, stamp): &(u64, Stamp)| left.get(sector).is_none_or(|left| left < stamp);
        lost.extend(promised.into_iter().filter(is_gone).map(|(_, stamp)| stamp));
        for stamp in lost {
            if self.promises.is_open(stamp) {
                cut.lost_unacknowledged += 1;
            } else if self.promises.is_made(stamp) {
                cut.lost_promised += 1;
            } else {
                cut.lost_unflushed += 1;
            }
        }
        for restored in self.history.take_back(&left) {
            self.image.restore(restored.offset, &restored.data)?;
        }
        self.history_was = 0;
        self.promises.reset();
        cut.injected = self.faults.strike(&mut self.image)?;
        Ok(cut)
    }

    /// For each of these sectors, the write whose data it contains after a cut.
    fn left(&self, sectors: &BTreeMap<u64, Stamp>) -> BTreeMap<u64, Stamp> {
        let by_model = |sector: u64| self.device.contents(sector * SECTOR_BYTES, SECTOR_BYTES)[0];
        if !self.promises.are_early() {
            return sectors.keys().map(|&sector| (sector, by_model(sector))).collect();
        }
        let kept = self.history.newest_of(|stamp| self.promises.fulfilled(stamp));
        let left = |sector: u64| {
            let kept = kept.get(&sector).copied().unwrap_or_default();
            // In a drive without a volatile cache, every acknowledgement is a promise, and the
            // model does not know of any.
            if self.identity.volatile_cache { kept.max(by_model(sector)) } else { kept }
        };
        sectors.keys().map(|&sector| (sector, left(sector))).collect()
    }

    /// Switches it on again after a cut.
    ///
    /// # Errors
    /// When it is dead.
    pub fn power_on(&mut self) -> Result<(), Refused> {
        match self.power {
            Power::On => Ok(()),
            Power::Off => {
                self.power = Power::On;
                Ok(())
            }
            Power::Dead => Err(Refused::NoPower),
        }
    }

    /// Number of acknowledged writes.
    pub const fn writes(&self) -> u64 {
        self.writes
    }

    /// Number of acknowledged flushes, including ignored ones.
    pub const fn flushes(&self) -> u64 {
        self.flushes
    }

    /// Number of power cuts.
    pub const fn cuts(&self) -> u64 {
        self.cuts
    }

    /// Overwrites the drive randomly this many times, in no time. Its data stays, and is safe.
    ///
    /// # Errors
    /// When it is off, or has no flash.
    pub fn wear(&mut self, now: Ns, overwrites: f64) -> Result<(), Refused> {
        if self.power != Power::On {
            return Err(Refused::NoPower);
        }
        let now = now.max(self.clock);
        self.go_on(now);
        self.clock = now;
        if !self.device.wear(now, overwrites, &mut self.chance) {
            return Err(Refused::DoesNotWear);
        }
        self.forget_all();
        Ok(())
    }

    /// Preconditions the first `percent` of it, as if it had been written once, long ago. Its data
    /// stays, and is safe.
    ///
    /// # Errors
    /// When it is off.
    pub fn fill(&mut self, percent: f64) -> Result<(), Refused> {
        if self.power != Power::On {
            return Err(Refused::NoPower);
        }
        let bytes = self.identity.capacity_bytes as f64 * percent / 100.0;
        self.device.precondition((bytes as u64).min(self.identity.capacity_bytes) / SECTOR_BYTES * SECTOR_BYTES);
        self.forget_all();
        Ok(())
    }

    /// Marks everything written so far as safe.
    fn forget_all(&mut self) {
        self.history = History::default();
        self.history_was = 0;
        self.promises.forget_all();
    }

    /// State and counters.
    pub fn status(&self, now: Ns) -> Status {
        let activity: Activity = self.device.activity();
        Status {
            power: self.power,
            read_only: self.read_only,
            honesty: self.honesty.to_string(),
            capacity_bytes: self.identity.capacity_bytes,
            reads: activity.reads,
            writes: self.writes,
            written_bytes: activity.written_bytes,
            flushes: self.flushes,
            dirty_bytes: self.device.dirty_bytes(now.max(self.clock)),
            write_amplification: activity.write_amplification(),
            cuts: self.cuts,
            last_cut: self.last_cut.clone(),
        }
    }

    /// Makes the image survive a crash of this host.
    ///
    /// # Errors
    /// Those of the file.
    pub fn sync_image(&self) -> io::Result<()> {
        self.image.sync()
    }

    fn check(&self, offset: u64, bytes: u64) -> Result<(), Refused> {
        let capacity_bytes = self.identity.capacity_bytes;
        if offset.checked_add(bytes).is_none_or(|end| end > capacity_bytes) {
            return Err(Refused::BeyondEnd { capacity_bytes });
        }
        if bytes == 0 || !(offset | bytes).is_multiple_of(SECTOR_BYTES) {
            return Err(Refused::Alignment);
        }
        Ok(())
    }

    fn check_write(&self, offset: u64, bytes: u64) -> Result<(), Refused> {
        self.check(offset, bytes)?;
        if self.read_only { Err(Refused::ReadOnly) } else { Ok(()) }
    }

    /// Writes into the image, and logs the previous content.
    fn store(&mut self, offset: u64, data: &[u8]) -> Result<Stamp, Refused> {
        let stamp = self.remember(offset, data.len() as u64)?;
        let told = if self.faults.are_none() { Ok(()) } else { self.faults.write(&self.image, offset, data) };
        let written = told.and_then(|()| self.image.write(offset, data));
        self.unless_refused(stamp, written)?;
        Ok(stamp)
    }

    /// The same for zeros, in pieces that the drive takes at once. Returns the first stamp.
    fn store_zeros(&mut self, zeros: Zeros) -> Result<Stamp, Refused> {
        let first = self.next_stamp;
        for (offset, bytes) in self.parts(zeros.offset, zeros.bytes) {
            let stored = self.remember(offset, bytes).and_then(|_| self.clear(offset, bytes, zeros.keeps_space));
            self.unless_refused(first, stored)?;
        }
        Ok(first)
    }

    fn clear(&mut self, offset: u64, bytes: u64, keeps_space: bool) -> io::Result<()> {
        if !self.faults.are_none() {
            self.faults.write(&self.image, offset, &vec![0; bytes as usize])?;
        }
        if keeps_space { self.image.zero(offset, bytes) } else { self.image.clear(offset, bytes) }
    }

    /// A write that the image refused, from stamp `first` on, never happened and cannot be lost in
    /// a cut.
    fn unless_refused(&mut self, first: Stamp, written: io::Result<()>) -> Result<(), Refused> {
        let Err(error) = written else { return Ok(()) };
        while let Some(before) = self.history.take_back_newest(first) {
            // A part of it may have been written. If even that cannot be undone, the content is
            // undefined, as on a drive that failed to write.
            let _ = self.image.restore(before.offset, &before.data);
        }
        Err(Refused::Image(error))
    }

    fn remember(&mut self, offset: u64, bytes: u64) -> io::Result<Stamp> {
        if self.keeps_history {
            let before = if self.image.is_untouched(offset, bytes) {
                Before::Zeros(bytes)
            } else {
                let mut before = Vec::with_capacity(bytes as usize);
                self.image.append(offset, bytes as usize, &mut before)?;
                Before::of(before)
            };
            self.history.record(self.next_stamp, offset, before);
        }
        self.next_stamp += 1;
        Ok(self.next_stamp - 1)
    }

    fn flush(&mut self, now: Ns, tag: u64) {
        if self.honesty.ignores_flush || self.promises.are_early() {
            self.flushes += 1;
            self.promises.flush_waved_through(self.next_stamp, now);
            self.finished.push(Done { tag, at: now, failed: None });
            return;
        }
        let id = self.under_way.insert(UnderWay { parts: 1, ..UnderWay::new(tag, Op::Flush) });
        self.promises.flush_came(id, self.next_stamp);
        self.send(now, Request { id, op: Op::Flush, offset: 0, bytes: 0, fua: false, stamp: 0 });
    }

    /// Submits a stored write, from this stamp to the latest one.
    fn send_write(&mut self, now: Ns, id: u32, offset: u64, bytes: u64, first: Stamp) {
        let last = self.next_stamp - 1;
        if self.keeps_history {
            self.promises.write_came(first..=last);
        }
        let write = self.under_way.get_mut(id);
        write.stamps = Some((first, last));
        let forced = write.fua && self.identity.fua && !self.honesty.ignores_fua && !self.promises.are_early();
        self.send_parts(now, id, Request { id, op: Op::Write, offset, bytes, fua: forced, stamp: first });
    }

    fn send_parts(&mut self, now: Ns, id: u32, whole: Request) {
        // Zeros were logged part by part, other data as a whole.
        let last = self.under_way.get(id).stamps.map_or(whole.stamp, |(_, last)| last);
        let parts = self.parts(whole.offset, whole.bytes);
        self.under_way.get_mut(id).parts = parts.len() as u32;
        for ((offset, bytes), stamp) in parts.zip(whole.stamp..) {
            self.send(now, Request { offset, bytes, stamp: stamp.min(last), ..whole });
        }
    }

    /// Splits a range into parts that the drive takes as one command.
    fn parts(&self, offset: u64, bytes: u64) -> impl ExactSizeIterator<Item = (u64, u64)> + use<> {
        let most = self.request_bytes_max;
        (0..bytes.div_ceil(most) as u32).map(move |part| {
            let from = u64::from(part) * most;
            (offset + from, most.min(bytes - from))
        })
    }

    fn send(&mut self, now: Ns, request: Request) {
        if self.in_flight < self.identity.queue_depth {
            self.in_flight += 1;
            self.device.submit(now, request);
        } else {
            self.waiting.push_back(request);
        }
    }

    fn part_done(&mut self, id: u32, at: Ns) {
        let command = self.under_way.get_mut(id);
        command.parts -= 1;
        if command.parts > 0 {
            return;
        }
        let failed = match command.zeros.take() {
            Some(zeros) => match self.go_on_with_zeros(id, at, zeros) {
                Ok(()) => return,
                Err(kind) => Some(kind),
            },
            None => None,
        };
        let UnderWay { tag, kind, stamps, fua, .. } = self.under_way.remove(id);
        match kind {
            Op::Write => self.writes += u64::from(failed.is_none()),
            Op::Flush => {
                self.flushes += 1;
                self.promises.flush_done(id);
            }
            Op::Read => {}
        }
        if let (true, Some((first, last))) = (self.keeps_history, stamps) {
            let as_safe = failed.is_none() && (fua || !self.identity.volatile_cache);
            let pieces = self.pieces_done.remove(&id).unwrap_or_default();
            for (first, last) in pieces.into_iter().chain([(first, last)]) {
                self.promises.write_done(first..=last, as_safe, at);
            }
        }
        self.finished.push(Done { tag, at, failed });
    }

    fn go_on_with_zeros(&mut self, id: u32, at: Ns, rest: Zeros) -> Result<(), io::ErrorKind> {
        let now = Zeros { bytes: rest.bytes.min(ZEROS_BYTES_MAX), ..rest };
        let first = self.store_zeros(now).map_err(|refused| match refused {
            Refused::Image(error) => error.kind(),
            _ => io::ErrorKind::Other,
        })?;
        let (offset, bytes) = (rest.offset + now.bytes, rest.bytes - now.bytes);
        let command = self.under_way.get_mut(id);
        command.zeros = (bytes > 0).then_some(Zeros { offset, bytes, ..rest });
        // Other commands have written meanwhile: their stamps are between those of the pieces.
        if let (true, Some(done)) = (self.keeps_history, command.stamps) {
            self.pieces_done.entry(id).or_default().push(done);
        }
        self.send_write(at, id, now.offset, now.bytes, first);
        Ok(())
    }

    /// Forgets writes that are safe by now.
    pub fn forget(&mut self, now: Ns) {
        self.promises.go_on(now);
        self.forget_safe(now);
        // Applies even to very early promises: no cache is larger.
        while self.history.bytes() >= HISTORY_BYTES_MAX && self.promises.fulfil_oldest() {
            self.forget_safe(now);
        }
        self.history_was = self.history.bytes();
    }

    fn forget_safe(&mut self, now: Ns) {
        // Asks the model what is safe; it knows nothing in a drive that makes early promises and
        // has no volatile cache.
        let knows = self.identity.volatile_cache || !self.promises.are_early();
        let at_risk = if knows { self.device.at_risk_from(now).unwrap_or(Stamp::MAX) } else { 0 };
        let open = self.promises.oldest_open().unwrap_or(self.next_stamp);
        let promises = &self.promises;
        self.history.forget_while(|stamp| stamp < open && (stamp < at_risk || promises.fulfilled(stamp)));
        self.promises.forget_before(self.history.oldest().unwrap_or(self.next_stamp).min(open));
    }
}

impl UnderWay {
    const fn new(tag: u64, kind: Op) -> UnderWay {
        UnderWay { tag, kind, parts: 0, stamps: None, fua: false, zeros: None }
    }
}
