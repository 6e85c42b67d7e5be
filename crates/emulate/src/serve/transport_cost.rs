//! The floor: what the transport to an emulated drive costs each kind of command.

use simdrive::Ns;

/// Kinds of commands by the cost of their transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Data is returned.
    Read,
    /// Data is sent.
    Write,
    /// No data.
    Flush,
}

/// The cost of the way to the drive and back for each kind of command, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct TransportCost {
    /// Cost of a 4 KiB read.
    pub read_ns: Ns,
    /// Cost of a 4 KiB write.
    pub write_ns: Ns,
    /// Cost of a flush; 0 if none is sent.
    pub flush_ns: Ns,
}

/// The range of a cost, which depends on where both sides run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CostRange {
    /// Best case.
    pub min_ns: Ns,
    /// Worst case.
    pub max_ns: Ns,
}

/// The range of costs for each kind of command. Waking up another processor costs a multiple of
/// waking up the same one, and the scheduler decides where both sides run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransportCosts {
    /// Best case.
    pub min: TransportCost,
    /// Worst case.
    pub max: TransportCost,
}

impl TransportCosts {
    pub(crate) const fn of(&self, kind: Kind) -> CostRange {
        match kind {
            Kind::Read => CostRange { min_ns: self.min.read_ns, max_ns: self.max.read_ns },
            Kind::Write => CostRange { min_ns: self.min.write_ns, max_ns: self.max.write_ns },
            Kind::Flush => CostRange { min_ns: self.min.flush_ns, max_ns: self.max.flush_ns },
        }
    }
}
