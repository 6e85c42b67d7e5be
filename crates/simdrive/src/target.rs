//! A modelled drive as a person names it: `sim:MODEL[,KEY=VALUE]...`.

use catalogue::model::{Array, Bytes, Filesystem, Level, Model, Parameters};
use workload::{ByteSize, TargetName, WriteCache};

use crate::run::Machine;

/// The keys, with their values, as errors list them.
const KEYS: &str = "write-cache=on|off, seed=N, filesystem=ext4|none, capacity=SIZE, raid=0|1|5|6, members=N, chunk=SIZE, journal=on|off";

/// Settings that no model takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTarget {
    /// A key that does not exist.
    #[error("`{0}` is no setting of a model; settings are {KEYS}")]
    Key(String),
    /// A value that its key does not take.
    #[error("`{key}={value}` does not read as {takes}")]
    Value {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// What it takes.
        takes: &'static str,
    },
    /// Settings of an array without one.
    #[error("`{0}` is a setting of an array; add raid=0, 1, 5 or 6")]
    NoArray(&'static str),
}

/// A target's parts: the model's name and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimTarget<'a> {
    /// The model's name, or the path of a model's file.
    pub model: &'a str,
    settings: Vec<(&'a str, &'a str)>,
}

impl<'a> SimTarget<'a> {
    /// The parts of a target; `None` if it is not a model.
    pub fn split(given: &'a str) -> Option<SimTarget<'a>> {
        match TargetName::parse(given) {
            TargetName::Model(model) => Some(SimTarget::new(model)),
            TargetName::Path(_) | TargetName::Null => None,
        }
    }

    /// The parts of what stands behind `sim:`.
    pub fn new(given: &'a str) -> SimTarget<'a> {
        let mut parts = given.split(',');
        let model = parts.next().unwrap_or_default();
        let settings = parts.map(|part| part.split_once('=').unwrap_or((part, ""))).collect();
        SimTarget { model, settings }
    }

    /// The machine that the settings make of a model.
    ///
    /// # Errors
    /// When a setting does not exist, or has a value that it does not take.
    pub fn machine(&self, model: &Model) -> Result<Machine, BadTarget> {
        let mut machine = Machine::new(model.clone());
        let mut array = Raid::default();
        for &(key, value) in &self.settings {
            let bad = |takes| BadTarget::Value { key: key.to_owned(), value: value.to_owned(), takes };
            let on_off = || match value {
                "on" => Ok(true),
                "off" => Ok(false),
                _ => Err(bad("on or off")),
            };
            let size = || {
                let size = value.parse::<ByteSize>().ok().filter(|size| size.0 > 0);
                size.map(|ByteSize(bytes)| bytes).ok_or_else(|| bad("a size such as 64GiB"))
            };
            match key {
                "write-cache" => machine.write_cache = if on_off()? { WriteCache::On } else { WriteCache::Off },
                "seed" => machine.seed = value.parse().map_err(|_| bad("a whole number"))?,
                "filesystem" => {
                    let known = [Filesystem::None, Filesystem::Ext4];
                    let named = known.into_iter().find(|filesystem| filesystem.name() == value);
                    machine.model.host.filesystem = named.ok_or_else(|| bad("ext4 or none"))?;
                }
                "capacity" => machine.capacity_bytes = Some(size()?),
                "raid" => {
                    let levels = [Level::Raid0, Level::Raid1, Level::Raid5, Level::Raid6];
                    let level = levels.into_iter().find(|level| level.number().to_string() == value);
                    array.level = Some(level.ok_or_else(|| bad("0, 1, 5 or 6"))?);
                }
                "members" => array.members = Some(value.parse().map_err(|_| bad("a number of drives"))?),
                "chunk" => array.chunk = Some(size()?),
                "journal" => array.journal = Some(on_off()?),
                _ => return Err(BadTarget::Key(key.to_owned())),
            }
        }
        array.around(&mut machine.model)?;
        Ok(machine)
    }
}

/// The settings of an array, as far as they were given.
#[derive(Debug, Default)]
struct Raid {
    level: Option<Level>,
    members: Option<u32>,
    chunk: Option<u64>,
    journal: Option<bool>,
}

impl Raid {
    /// Makes an array of drives out of one.
    fn around(self, model: &mut Model) -> Result<(), BadTarget> {
        let Some(level) = self.level else {
            let first = [
                ("members", self.members.is_some()),
                ("chunk", self.chunk.is_some()),
                ("journal", self.journal.is_some()),
            ];
            return first.into_iter().find(|(_, given)| *given).map_or(Ok(()), |(key, _)| Err(BadTarget::NoArray(key)));
        };
        let least = match level {
            Level::Raid0 | Level::Raid1 => 2,
            Level::Raid5 => 3,
            Level::Raid6 => 4,
        };
        let member = Box::new(model.drive.clone());
        let chunk = Bytes(self.chunk.unwrap_or(512 << 10));
        let members = self.members.unwrap_or(least);
        model.drive =
            Parameters::Array(Array { level, members, chunk, journal: self.journal.unwrap_or(false), member });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(given: &str) -> Result<Machine, String> {
        let target = SimTarget::split(given).unwrap();
        let model = catalogue::find_model(target.model).map_err(|error| error.to_string())?;
        target.machine(model).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_reach_the_machine() {
        let set = machine("sim:micron-5100-eco-960gb,write-cache=off,seed=7,filesystem=ext4,capacity=8GiB").unwrap();
        assert_eq!((set.write_cache, set.seed, set.capacity_bytes), (WriteCache::Off, 7, Some(8 << 30)));
        assert_eq!(set.model.host.filesystem, Filesystem::Ext4);
        let Parameters::Array(array) = machine("sim:micron-5100-eco-960gb,raid=5,journal=on").unwrap().model.drive
        else {
            panic!("no array")
        };
        assert_eq!((array.level, array.members, array.chunk.0, array.journal), (Level::Raid5, 3, 512 << 10, true));
        assert_eq!(SimTarget::split("/dev/sda"), None);
    }

    #[test]
    fn refusals() {
        let error = |given| machine(given).unwrap_err();
        insta::assert_snapshot!(error("sim:micron-5100"), @"unknown model `micron-5100` (did you mean `micron-5100-eco-960gb`?); run `flushmark models` for a list");
        insta::assert_snapshot!(error("sim:"), @"unknown model ``; run `flushmark models` for a list");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,cache=off"), @"`cache` is no setting of a model; settings are write-cache=on|off, seed=N, filesystem=ext4|none, capacity=SIZE, raid=0|1|5|6, members=N, chunk=SIZE, journal=on|off");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,write-cache=maybe"), @"`write-cache=maybe` does not read as on or off");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,seed=-1"), @"`seed=-1` does not read as a whole number");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,filesystem=zfs"), @"`filesystem=zfs` does not read as ext4 or none");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,capacity=big"), @"`capacity=big` does not read as a size such as 64GiB");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,raid=4"), @"`raid=4` does not read as 0, 1, 5 or 6");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,members=4"), @"`members` is a setting of an array; add raid=0, 1, 5 or 6");
    }
}
