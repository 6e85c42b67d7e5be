//! The floor: what the transport to an emulated drive costs each kind of command.

use simdrive::time::Ns;

/// Kinds of commands by the cost of their transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Data is returned.
    Read,
    /// Data is sent.
    Write,
    /// No data.
    Flush,
}

/// The cost of the way to the drive and back for each kind of command, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Floor {
    /// Cost of a 4 KiB read.
    pub read_ns: Ns,
    /// Cost of a 4 KiB write.
    pub write_ns: Ns,
    /// Cost of a flush; 0 if none is sent.
    pub flush_ns: Ns,
}

/// The range of a cost, which depends on where both sides run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Best case.
    pub least_ns: Ns,
    /// Worst case.
    pub most_ns: Ns,
}

/// The range of costs for each kind of command. Waking up another processor costs a multiple of
/// waking up the same one, and the scheduler decides where both sides run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Floors {
    /// Best case.
    pub least: Floor,
    /// Worst case.
    pub most: Floor,
}

impl Floors {
    /// The cost of a command of this kind.
    pub const fn of(&self, kind: Kind) -> Cost {
        match kind {
            Kind::Read => Cost { least_ns: self.least.read_ns, most_ns: self.most.read_ns },
            Kind::Write => Cost { least_ns: self.least.write_ns, most_ns: self.most.write_ns },
            Kind::Flush => Cost { least_ns: self.least.flush_ns, most_ns: self.most.flush_ns },
        }
    }
}
