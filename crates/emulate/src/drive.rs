//! A modelled drive that stores data, and whose power can be cut. It has no clock: its server
//! passes the time, real or virtual.
//!
//! A drive is a stack. A command passes down; its completion, and what a power cut leaves, pass up.
//! Each layer works without those above it.
//!
//! | layer | question |
//! | --- | --- |
//! | [`power`] | does the drive accept commands at all? |
//! | [`in_progress`], [`zeros`] | which commands were accepted and are not done? |
//! | [`promises`] | which writes did the drive call safe, and when is that true? |
//! | [`barriers`] | is a FLUSH or FUA performed, ignored, or acknowledged early? |
//! | [`faults`] | which writes will a cut damage? |
//! | [`contents`], [`history`] | what does a read return, and what did each write replace? |
//! | [`queue`] | when is a command done, and what does the model's cache lose? |
//!
//! [`losses`] compares what is left after a cut with what was promised.

mod barriers;
mod command;
mod contents;
mod faults;
mod history;
mod in_progress;
mod losses;
mod power;
mod promises;
mod queue;
mod status;
mod zeros;

use std::io;

use simdrive::{Activity, Device, Identity, Ns, Op, SECTOR_BYTES, Stamp};

use crate::honesty::Honesty;
use crate::image::Image;
use barriers::Barriers;
use contents::{Contents, Durability, Stamps};
use faults::Faults;
use in_progress::{Commands, InProgress};
use power::PowerSupply;
use promises::Promises;
use queue::CommandQueue;
use zeros::{LargeZeros, Zeros};

pub use command::{Command, Done, Refused};
pub use faults::InjectedFault;
pub use status::{Cut, Power, Status};

/// A modelled drive with its data.
pub struct Drive {
    honesty: Honesty,
    // From top to bottom.
    power: PowerSupply,
    commands: Commands,
    zeros: LargeZeros,
    promises: Promises,
    barriers: Barriers,
    faults: Faults,
    contents: Contents,
    queue: CommandQueue,
    /// Memory for the IDs of finished commands.
    scratch: Vec<u32>,
}

impl Drive {
    /// A drive of a model that tracks contents, over an image of the same size. `request_bytes_max`
    /// is the largest command in bytes that it takes in one piece; larger ones are split, as a
    /// host's block layer would do. `seed` determines all random decisions.
    pub fn new(
        device: Box<dyn Device>,
        image: Image,
        honesty: Honesty,
        request_bytes_max: u64,
        seed: u64,
    ) -> Drive {
        let queue = CommandQueue::new(device, request_bytes_max, seed);
        Drive {
            power: PowerSupply::on(),
            commands: Commands::new(),
            zeros: LargeZeros::default(),
            promises: Promises::new(honesty.ack_early.map(|early| early.as_nanos() as Ns)),
            barriers: Barriers::new(&honesty, queue.identity()),
            faults: Faults::new(&honesty, seed),
            contents: Contents::new(image, Durability::Logged),
            queue,
            honesty,
            scratch: Vec::new(),
        }
    }

    /// Turns it into a drive that never loses anything, not even commands in progress; no undo log
    /// is kept.
    #[must_use]
    pub fn without_history(mut self) -> Drive {
        self.contents.set_durability(Durability::Perfect);
        self
    }

    /// The model's identity.
    pub const fn identity(&self) -> &Identity {
        self.queue.identity()
    }

    /// Returns whether a host has to send flushes; if not, neither FLUSH nor FUA is offered.
    pub const fn wants_flushes(&self) -> bool {
        self.identity().volatile_cache
    }

    /// Returns whether a host may request FUA.
    pub const fn takes_fua(&self) -> bool {
        self.identity().volatile_cache && self.identity().fua
    }

    /// Its power state: on, off or dead.
    pub const fn power(&self) -> Power {
        self.power.state()
    }

    /// Returns whether it refuses writes.
    pub const fn is_read_only(&self) -> bool {
        self.power.is_read_only()
    }

    /// Returns whether its log is so long that a host should wait before it sends more.
    pub fn is_crowded(&self) -> bool {
        // Waiting would not help if nothing is ever stored without a flush.
        self.contents.is_full() && self.queue.next_event().is_some()
    }

    /// Number of commands in progress.
    pub fn under_way(&self) -> usize {
        self.commands.count()
    }

    /// Number of acknowledged writes.
    pub const fn writes(&self) -> u64 {
        self.commands.writes()
    }

    /// Number of acknowledged flushes, including ignored ones.
    pub const fn flushes(&self) -> u64 {
        self.commands.flushes()
    }

    /// Number of power cuts.
    pub const fn cuts(&self) -> u64 {
        self.power.cuts()
    }

    /// State and counters.
    pub fn status(&self, now: Ns) -> Status {
        let activity: Activity = self.queue.activity();
        Status {
            power: self.power.state(),
            read_only: self.power.is_read_only(),
            honesty: self.honesty.to_string(),
            capacity_bytes: self.identity().capacity_bytes,
            reads: activity.reads,
            writes: self.commands.writes(),
            written_bytes: activity.written_bytes,
            fua_writes: self.commands.fua_writes(),
            flushes: self.commands.flushes(),
            dirty_bytes: self.queue.dirty_bytes(now),
            write_amplification: activity.write_amplification(),
            cuts: self.power.cuts(),
            last_cut: self.power.last_cut().cloned(),
        }
    }

    /// Accepts a command that arrived at `now`. When it is done, [`Drive::advance`] returns its
    /// `tag`. If `now` is before the latest event already processed, that event's time counts
    /// instead.
    ///
    /// # Errors
    /// When the command fails immediately; its tag is not returned then.
    #[inline]
    pub fn submit(&mut self, now: Ns, tag: u64, command: Command<'_>) -> Result<(), Refused> {
        self.power.expect_on()?;
        self.catch_up(now);
        match command {
            Command::Read { offset, bytes } => {
                self.check(offset, bytes)?;
                let id = self.commands.begin(InProgress::new(tag, Op::Read));
                self.queue.read(id, offset, bytes);
            }
            Command::Write { offset, data, fua } => {
                self.check_write(offset, data.len() as u64)?;
                self.faults.write(self.contents.image(), offset, data)?;
                let stamp = self.contents.write(offset, data)?;
                let id = self.commands.begin(InProgress { fua, ..InProgress::new(tag, Op::Write) });
                self.send_write(
                    id,
                    offset,
                    data.len() as u64,
                    Stamps { first: stamp, last: stamp },
                );
            }
            Command::Zero { offset, bytes, fua, keeps_space } => {
                self.check_write(offset, bytes)?;
                let (piece, rest) = Zeros { offset, bytes, keeps_space }.split();
                let stamps = self.store_zeros(piece)?;
                let id = self.commands.begin(InProgress { fua, ..InProgress::new(tag, Op::Write) });
                if let Some(rest) = rest {
                    self.zeros.begin(id, rest);
                }
                self.send_write(id, piece.offset, piece.bytes, stamps);
            }
            Command::Trim { offset, bytes, fua } => {
                self.check_write(offset, bytes)?;
                self.contents.discard(offset, bytes)?;
                if fua {
                    self.flush(tag);
                } else {
                    self.commands.acknowledge_discard(tag, self.queue.clock());
                }
            }
            Command::Flush => self.flush(tag),
        }
        Ok(())
    }

    /// Time of the next event; `None` if no command is in progress.
    #[inline]
    pub fn next_event(&self) -> Option<Ns> {
        if self.commands.has_news() { Some(0) } else { self.queue.next_event() }
    }

    /// Advances time, and appends the commands finished by `now` to `done`.
    #[inline]
    pub fn advance(&mut self, now: Ns, done: &mut Vec<Done>) {
        self.process_events(now);
        self.commands.take_done(done);
        if self.contents.has_grown() {
            self.forget(now);
        }
    }

    /// Appends the data of a finished read to `out`.
    ///
    /// # Errors
    /// Those of the image, and when the power was cut meanwhile; `out` is unchanged then.
    #[inline]
    pub fn fetch(&self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> Result<(), Refused> {
        self.power.expect_on()?;
        Ok(self.contents.image().append(offset, bytes, out)?)
    }

    /// Cuts the power: commands in progress never finish, and data that was not safe is lost,
    /// according to the model and the drive's honesty.
    ///
    /// # Errors
    /// Those of the image: its content is undefined then, so the drive is dead.
    pub fn cut(&mut self, now: Ns) -> Result<Cut, Refused> {
        self.power.expect_on()?;
        self.catch_up(now);
        self.queue.power_cut();
        self.promises.go_on(self.queue.clock());
        let history = self.contents.history();
        let newest = history.newest();
        let left_by_model =
            |sector| if self.barriers.model_knows() { self.queue.stamp_of(sector) } else { 0 };
        let left = losses::left(&newest, history, &self.promises, left_by_model);
        let mut cut = losses::count(&newest, &left, history, &self.promises);
        self.promises.reset();
        self.zeros.clear();
        self.commands.abandon();
        self.power.fail();
        self.contents.cut(&left)?;
        cut.injected = self.faults.strike(self.contents.image_mut())?;
        self.power.survive(cut.clone());
        Ok(cut)
    }

    /// Switches it on again after a cut.
    pub fn power_on(&mut self) -> Result<(), Refused> {
        self.power.switch_on()
    }

    /// Overwrites the drive randomly this many times, in no time. Its data stays, and is safe.
    pub fn wear(&mut self, now: Ns, overwrites: f64) -> Result<(), Refused> {
        self.power.expect_on()?;
        self.catch_up(now);
        if !self.queue.wear(overwrites) {
            return Err(Refused::DoesNotWear);
        }
        self.forget_all();
        Ok(())
    }

    /// Preconditions the first `percent` of it, as if it had been written once, long ago. Its data
    /// stays, and is safe.
    pub fn fill(&mut self, percent: f64) -> Result<(), Refused> {
        self.power.expect_on()?;
        self.queue.precondition(percent);
        self.forget_all();
        Ok(())
    }

    /// Makes the image survive a crash of this host.
    pub fn sync_image(&self) -> io::Result<()> {
        self.contents.image().sync()
    }

    /// Forgets writes that are safe by now.
    pub fn forget(&mut self, now: Ns) {
        self.promises.go_on(now);
        self.forget_safe(now);
        // Applies even to very early promises: no cache is larger.
        while self.contents.is_full() && self.promises.fulfil_oldest() {
            self.forget_safe(now);
        }
    }

    fn forget_safe(&mut self, now: Ns) {
        let knows = self.barriers.model_knows();
        let at_risk = if knows { self.queue.at_risk_from(now).unwrap_or(Stamp::MAX) } else { 0 };
        let open = self.promises.oldest_open().unwrap_or(self.contents.next_stamp());
        let promises = &self.promises;
        let is_safe = |stamp| stamp < open && (stamp < at_risk || promises.fulfilled(stamp));
        let oldest = self.contents.forget_while(is_safe);
        self.promises.forget_before(oldest.min(open));
    }

    /// Marks everything written so far as safe.
    fn forget_all(&mut self) {
        self.contents.forget_all();
        self.promises.forget_all();
    }

    fn check(&self, offset: u64, bytes: u64) -> Result<(), Refused> {
        let capacity_bytes = self.identity().capacity_bytes;
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
        self.power.expect_writable()
    }

    /// Stores zeros in the parts that the queue will send, each with its own stamp. If that fails,
    /// the contents are as before.
    fn store_zeros(&mut self, zeros: Zeros) -> io::Result<Stamps> {
        let first = self.contents.next_stamp();
        for (offset, bytes) in self.queue.parts(zeros.offset, zeros.bytes) {
            let passed = self.faults.zero(self.contents.image(), offset, bytes);
            let stored = passed.and_then(|()| self.contents.zero(offset, bytes, zeros.keeps_space));
            stored.inspect_err(|_| self.contents.take_back_from(first))?;
        }
        Ok(Stamps { first, last: self.contents.next_stamp() - 1 })
    }

    #[inline]
    fn send_write(&mut self, id: u32, offset: u64, bytes: u64, stamps: Stamps) {
        let command = self.commands.get_mut(id);
        if self.contents.durability() == Durability::Logged {
            command.stamps = Some(stamps);
            self.promises.write_came(stamps.range());
        }
        let forced = self.barriers.pass_fua(command.fua);
        self.queue.write(id, offset, bytes, stamps, forced);
    }

    fn flush(&mut self, tag: u64) {
        let next_stamp = self.contents.next_stamp();
        if self.barriers.pass_flush() {
            let id = self.commands.begin(InProgress::new(tag, Op::Flush));
            self.promises.flush_came(id, next_stamp);
            self.queue.flush(id);
        } else {
            let now = self.queue.clock();
            self.promises.flush_waved_through(next_stamp, now);
            self.commands.acknowledge_flush(tag, now);
        }
    }

    /// Processes all events due by `now`, and lets the time pass until then.
    #[inline]
    fn catch_up(&mut self, now: Ns) {
        // The model cannot look back before events that it has already processed.
        let now = now.max(self.queue.clock());
        self.process_events(now);
        self.queue.wait_until(now);
    }

    #[inline]
    fn process_events(&mut self, now: Ns) {
        let mut finished = std::mem::take(&mut self.scratch);
        while self.queue.step(now, &mut finished) {
            for id in finished.drain(..) {
                self.complete(id);
            }
        }
        self.scratch = finished;
    }

    /// Passes a completion up. The next piece of a large range of zeros passes down instead.
    #[inline]
    fn complete(&mut self, id: u32) {
        let at = self.queue.clock();
        let failed = match self.zeros.next_piece(id) {
            None => None,
            Some(piece) => match self.store_zeros(piece) {
                Ok(stamps) => {
                    if let Some(done) = self.commands.get_mut(id).stamps {
                        self.zeros.piece_done(id, done);
                    }
                    return self.send_write(id, piece.offset, piece.bytes, stamps);
                }
                Err(error) => Some(error.kind()),
            },
        };
        let InProgress { op, stamps, fua, .. } = self.commands.end(id, at, failed);
        if op == Op::Flush {
            self.promises.flush_done(id);
        }
        let is_promised = failed.is_none() && self.barriers.promise_write(fua);
        for stamps in self.zeros.end(id).into_iter().chain(stamps) {
            self.promises.write_done(stamps.range(), is_promised, at);
        }
    }
}
