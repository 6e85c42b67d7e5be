//! What a drive does with commands, whichever kind of drive it is.
//!
//! A drive is driven by events: commands are submitted, and completions come out when time has advanced to them. When a FLUSH ends depends on what
//! arrives after it was submitted (a round covers all writes acknowledged before it starts), and a disk chooses among later arrivals, so the end of a command
//! cannot be told when it is submitted. Whoever owns the clock decides whether time is virtual or real.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::time::Ns;

/// Bytes of the smallest piece that is tracked: a sector.
pub const SECTOR_BYTES: u64 = 512;

/// What a sector holds, reduced to a number that its write gave it; 0 where nothing was written.
pub type Stamp = u64;

/// One command to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The host's name for it, which comes back with its completion.
    pub id: u32,
    /// What to do.
    pub op: Op,
    /// Where, in bytes; a multiple of a sector.
    pub offset: u64,
    /// How much, in bytes; a multiple of a sector, at least one, except for a flush.
    pub bytes: u64,
    /// A write that has to be safe when it completes.
    pub fua: bool,
    /// What a write puts into each of its sectors, where contents are tracked.
    pub stamp: Stamp,
}

/// Kinds of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// FLUSH CACHE: what was acknowledged before is safe afterwards.
    Flush,
}

/// A command that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The command's name.
    pub id: u32,
    /// When it ended.
    pub at: Ns,
}

/// What a host learns when it asks the drive.
#[expect(clippy::struct_excessive_bools, reason = "four facts that do not depend on each other")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Bytes.
    pub capacity_bytes: u64,
    /// Whether the drive says that it has a volatile cache, and it is on: then the host sends flushes.
    pub volatile_cache: bool,
    /// Whether it takes writes with forced unit access.
    pub fua: bool,
    /// Commands that it takes at once.
    pub queue_depth: u32,
    /// Whether it rotates.
    pub rotational: bool,
    /// Whether its write cache can be switched.
    pub switchable: bool,
}

/// What a drive has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Activity {
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes of those.
    pub written_bytes: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// Time spent in flushes, each from its arrival to its end.
    pub flush_ns: Ns,
    /// Bytes that went to the medium for the writes: with what was moved to make room, and what was left empty because something had to be safe at once.
    pub medium_bytes: u64,
}

impl Activity {
    /// Bytes written to the medium for each that the host wrote; 1 where nothing was written.
    pub fn write_amplification(&self) -> f64 {
        if self.written_bytes == 0 { 1.0 } else { self.medium_bytes as f64 / self.written_bytes as f64 }
    }
}

/// A modelled drive.
pub trait Device: Send {
    /// What it says of itself.
    fn identity(&self) -> Identity;

    /// Switches the write cache; what is in it is written first, as the standards ask. Without effect where it cannot be switched.
    fn set_write_cache(&mut self, now: Ns, on: bool);

    /// Lays out the drive as if its first `bytes` had been written once, in order, long ago. Takes no time. As far as it changes something, what was written before is safe and its
    /// contents are no longer tracked.
    fn precondition(&mut self, bytes: u64);

    /// Overwrites what is laid out at random, so many times over, in no time: what a drive is like after years. `false` where nothing wears. Contents are no
    /// longer tracked for what was written before: all of it is safe.
    fn wear(&mut self, _now: Ns, _overwrites: f64, _chance: &mut Xoshiro256PlusPlus) -> bool {
        false
    }

    /// Takes a command. `now` never runs backwards, everything that is due by then has been done ([`Device::advance`]), and no more than [`Identity::queue_depth`] commands are outstanding.
    fn submit(&mut self, now: Ns, request: Request);

    /// When it next has something to do; `None` while nothing is outstanding.
    fn next_event(&self) -> Option<Ns>;

    /// Does everything that is due by `now`, and puts completions behind those in `done`, in the order of their times.
    fn advance(&mut self, now: Ns, done: &mut Vec<Completion>);

    /// The power goes: commands that are outstanding never complete, and what was not safe is lost, as far as the drive's rules and chance want it.
    /// Afterwards the drive stands as after its next start, at `now`.
    fn power_cut(&mut self, now: Ns, chance: &mut Xoshiro256PlusPlus);

    /// What a read of these sectors would get now. Only where contents are tracked; zeros elsewhere.
    fn contents(&self, offset: u64, bytes: u64) -> Vec<Stamp>;

    /// The stamp of the oldest acknowledged write that a power cut at `now` could take, if every write's stamp is higher than those before it; `None` when nothing
    /// that was acknowledged can be lost. It may name an older one, never a younger. Only where contents are tracked.
    fn at_risk_from(&self, now: Ns) -> Option<Stamp>;

    /// Bytes that were acknowledged and are not on the medium at `now`, whether or not capacitors would write them out.
    fn dirty_bytes(&self, now: Ns) -> u64;

    /// What it has done so far.
    fn activity(&self) -> Activity;
}
