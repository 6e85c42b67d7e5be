//! One drive as one run found it.

use std::collections::BTreeMap;
use std::fmt;

use measurement::RunDocument;
use schemars::JsonSchema;
use serde::Serialize;
use store::{Figures, RunFigures, RunId};

use crate::facts::facts;

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

impl Specimen {
    /// The drive of a run, whose tests have these names, from its document without tests.
    fn of(run: &RunFigures, names: &[String], header: &RunDocument) -> Specimen {
        let mount = header.drive.as_ref().and_then(|place| place.mount.as_ref());
        let filesystem = mount.map_or("no filesystem", |mount| mount.fs_type.as_str());
        let model = run.drive.as_ref().and_then(|drive| drive.model.clone());
        Specimen {
            host: run.host.clone(),
            name: name(run).to_owned(),
            kind: Kind {
                model: model.unwrap_or_default(),
                usage: format!("{} on {filesystem}", run.suite),
            },
            p50_us: run.tests.iter().map(|&(name, p50)| (names[name].clone(), p50)).collect(),
            facts: facts(header),
        }
    }
}

/// The drives of these runs; runs whose document was deleted in the meantime are left out.
pub fn specimens(figures: &Figures, headers: &BTreeMap<RunId, RunDocument>) -> Vec<Specimen> {
    let runs = figures.runs.iter();
    runs.filter_map(|run| Some(Specimen::of(run, &figures.names, headers.get(&run.id)?))).collect()
}

/// The name of a drive: its serial number or, without one, the target; unique on its host.
pub(crate) fn name(run: &RunFigures) -> &str {
    run.drive.as_ref().and_then(|drive| drive.serial.as_deref()).unwrap_or(&run.target)
}

/// What drives must have in common to be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Kind {
    /// The drive's model.
    pub model: String,
    /// What was measured, such as the suite and the filesystem.
    pub usage: String,
}

/// Something about a drive or its host that may make it slow.
///
/// In the order in which they are named as a cause if several differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    WriteCache,
    Firmware,
    Link,
    MediaWear,
    Temperature,
    Scheduler,
    Governor,
    Kernel,
    Filesystem,
    MountOptions,
}

impl Fact {
    /// The name in sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Fact::WriteCache => "write cache",
            Fact::Firmware => "firmware",
            Fact::Link => "link",
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

/// The value of a fact.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
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
