//! One drive as one run found it.

use std::collections::BTreeMap;
use std::fmt;

/// A drive in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Specimen {
    pub host: String,
    /// The drive's serial number or, without one, the target; unique on its host.
    pub name: String,
    pub kind: Kind,
    /// The median of the headline latency of each test, in microseconds.
    pub p50_us: BTreeMap<String, f64>,
    pub facts: BTreeMap<Fact, FactValue>,
}

/// What drives must have in common to be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// The drive's model.
    pub model: String,
    /// What was measured, such as the suite and the filesystem.
    pub usage: String,
}

/// Something about a drive or its host that may make it slow.
///
/// In the order in which they are named as a cause if several differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    WriteCache,
    Firmware,
    MediaWear,
    Temperature,
    Scheduler,
    Governor,
    Kernel,
    Filesystem,
    MountOptions,
}

impl Fact {
    /// As sentences name it.
    pub const fn name(self) -> &'static str {
        match self {
            Fact::WriteCache => "write cache",
            Fact::Firmware => "firmware",
            Fact::MediaWear => "wear",
            Fact::Temperature => "temperature",
            Fact::Scheduler => "I/O scheduler",
            Fact::Governor => "CPU governor",
            Fact::Kernel => "kernel",
            Fact::Filesystem => "filesystem",
            Fact::MountOptions => "mount options",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum FactValue {
    Word(String),
    /// Higher is worse.
    Number {
        value: f64,
        unit: &'static str,
    },
}

impl fmt::Display for FactValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FactValue::Word(word) => f.write_str(word),
            FactValue::Number { value, unit } => write!(f, "{value:.0}{unit}"),
        }
    }
}
