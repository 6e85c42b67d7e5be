//! The interface common to all kinds of modelled drives.
//!
//! A drive is driven by events: commands are submitted, and completions are returned when time has
//! advanced to them. The end of a command cannot be determined at submission: the end of a FLUSH
//! depends on later arrivals (a round covers all writes acknowledged before it starts), and a disk
//! reorders commands. The owner of the clock decides whether time is virtual or real.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::time::Ns;

/// Bytes of a sector, the smallest unit of tracked contents.
pub const SECTOR_BYTES: u64 = 512;

/// The contents of a sector, reduced to a number chosen by its write; 0 if it was never written.
pub type Stamp = u64;

/// One command to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The host's identifier, which is part of the completion.
    pub id: u32,
    pub op: Op,
    /// Offset in bytes; a multiple of a sector.
    pub offset: u64,
    /// Length in bytes; a multiple of a sector and at least one, except for a flush.
    pub bytes: u64,
    /// Forced unit access: the write must be durable when it completes.
    pub fua: bool,
    /// The contents of each written sector, if contents are tracked.
    pub stamp: Stamp,
}

/// Kinds of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    Read,
    /// Writes a range.
    Write,
    /// FLUSH CACHE: makes all writes acknowledged before it durable.
    Flush,
}

/// A completed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The identifier of the command.
    pub id: u32,
    pub at: Ns,
}

/// The properties that the drive reports.
#[expect(clippy::struct_excessive_bools, reason = "four facts that do not depend on each other")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub capacity_bytes: u64,
    /// The drive reports a volatile cache that is on, so the host sends flushes.
    pub volatile_cache: bool,
    /// Supports writes with forced unit access.
    pub fua: bool,
    /// Maximum number of outstanding commands.
    pub queue_depth: u32,
    /// Has rotating media.
    pub rotational: bool,
    /// The write cache can be switched.
    pub switchable: bool,
}

/// Operations of a drive so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Activity {
    /// Number of completed reads.
    pub reads: u64,
    /// Number of completed writes.
    pub writes: u64,
    pub written_bytes: u64,
    /// Number of completed flushes.
    pub flushes: u64,
    /// Time spent in flushes, each from arrival to completion.
    pub flush_ns: Ns,
    /// Bytes written to the medium, including data moved by garbage collection and padding of
    /// partially filled word lines.
    pub medium_bytes: u64,
}

impl Activity {
    /// Bytes written to the medium per byte written by the host; 1 if nothing was written.
    pub fn write_amplification(&self) -> f64 {
        if self.written_bytes == 0 {
            1.0
        } else {
            self.medium_bytes as f64 / self.written_bytes as f64
        }
    }
}

/// A modelled drive.
pub trait Device: Send {
    /// The properties that the drive reports.
    fn identity(&self) -> Identity;

    /// Switches the write cache. Its contents are written first, as the standards require. No
    /// effect if it cannot be switched.
    fn set_write_cache(&mut self, now: Ns, on: bool);

    /// Lays out the drive as if its first `bytes` had been written once, in order, long ago. Takes
    /// no time. If this changes anything, earlier writes are durable and their contents are no
    /// longer tracked.
    fn precondition(&mut self, bytes: u64);

    /// Overwrites the laid-out data at random, `overwrites` times, in no time: the state of a drive
    /// after years of use. Returns `false` if the drive does not wear. Earlier writes are durable
    /// and their contents are no longer tracked.
    fn wear(&mut self, _now: Ns, _overwrites: f64, _chance: &mut Xoshiro256PlusPlus) -> bool {
        false
    }

    /// Submits a command. `now` must never decrease, all events due by then must have been
    /// processed ([`Device::advance`]), and at most [`Identity::queue_depth`] commands can be
    /// outstanding.
    fn submit(&mut self, now: Ns, request: Request);

    /// A hint that a write to this offset will follow soon. What it needs can be fetched into the
    /// processor's cache meanwhile. Has no effect on the simulation.
    fn anticipate(&self, _offset: u64) {}

    /// The time of the next event; `None` while nothing is outstanding.
    fn next_event(&self) -> Option<Ns>;

    /// Processes all events due by `now`, and appends completions to `done` in order of time.
    fn advance(&mut self, now: Ns, done: &mut Vec<Completion>);

    /// Cuts the power: outstanding commands never complete, and data that was not durable is lost
    /// according to the drive's rules and chance. Afterwards, the drive is in the state after its
    /// next start, at `now`.
    fn power_cut(&mut self, now: Ns, chance: &mut Xoshiro256PlusPlus);

    /// The data that a read of these sectors would return now. Requires tracked contents; otherwise
    /// zeros.
    fn contents(&self, offset: u64, bytes: u64) -> Vec<Stamp>;

    /// The stamp of the oldest acknowledged write that a power cut at `now` could lose, provided
    /// stamps increase with every write; `None` if no acknowledged write can be lost. The result
    /// may be an older write, but never a later one. Requires tracked contents.
    fn at_risk_from(&self, now: Ns) -> Option<Stamp>;

    /// Acknowledged bytes that are not on the medium at `now`, even if capacitors would save them.
    fn dirty_bytes(&self, now: Ns) -> u64;

    /// Operations so far.
    fn activity(&self) -> Activity;
}
