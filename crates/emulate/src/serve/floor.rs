//! The floor: what the transport to an emulated drive costs each kind of command.

use simdrive::time::Ns;

/// Kinds of commands, by what their way costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Data comes back.
    Read,
    /// Data goes there.
    Write,
    /// No data.
    Flush,
}

/// What the way to the drive and back costs, in nanoseconds, for each kind of command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Floor {
    /// Of a read of 4 KiB.
    pub read_ns: Ns,
    /// Of a write of 4 KiB.
    pub write_ns: Ns,
    /// Of a flush; 0 where none is sent.
    pub flush_ns: Ns,
}

/// What a way costs, depending on where both sides run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// At best.
    pub least_ns: Ns,
    /// At worst.
    pub most_ns: Ns,
}

/// What the way to the drive and back costs: waking up another processor costs a multiple of waking up the same one, and where both sides run is the scheduler's choice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Floors {
    /// At best.
    pub least: Floor,
    /// At worst.
    pub most: Floor,
}

impl Floors {
    /// What a command of this kind costs.
    pub const fn of(&self, kind: Kind) -> Cost {
        match kind {
            Kind::Read => Cost { least_ns: self.least.read_ns, most_ns: self.most.read_ns },
            Kind::Write => Cost { least_ns: self.least.write_ns, most_ns: self.most.write_ns },
            Kind::Flush => Cost { least_ns: self.least.flush_ns, most_ns: self.most.flush_ns },
        }
    }
}
