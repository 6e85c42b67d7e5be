//! Parses a modelled drive as the user names it: `sim:MODEL[,KEY=VALUE]...`.

use catalogue::model::{Array, Bytes, Filesystem, Level, Model, Parameters};
use workload::{ByteSize, TargetName, WriteCache};

use crate::run::Machine;

/// The keys with their values, as listed in errors.
const KEYS: &str = "write-cache=on|off, seed=N, filesystem=ext4|none, capacity=SIZE, raid=0|1|5|6, \
                    members=N, chunk=SIZE, journal=on|off";

/// Invalid settings of a modelled target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTarget {
    #[error("unknown setting `{0}`; expected one of {KEYS}")]
    Key(String),
    #[error("invalid value `{key}={value}`; expected {takes}")]
    Value {
        key: String,
        /// The value as given by the user.
        value: String,
        /// The valid values.
        takes: &'static str,
    },
    #[error("`{0}` requires an array; add raid=0, 1, 5 or 6")]
    NoArray(&'static str),
}

/// A parsed target: the model's name and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimTarget<'a> {
    /// The model's name, or the path of a model file.
    pub model: &'a str,
    settings: Vec<(&'a str, &'a str)>,
}

impl<'a> SimTarget<'a> {
    /// Parses a target; `None` if it does not begin with `sim:`.
    pub fn split(given: &'a str) -> Option<SimTarget<'a>> {
        match TargetName::parse(given) {
            TargetName::Model(model) => Some(SimTarget::new(model)),
            _ => None,
        }
    }

    /// Parses the text after `sim:`.
    pub fn new(given: &'a str) -> SimTarget<'a> {
        let mut parts = given.split(',');
        let model = parts.next().unwrap_or_default();
        let settings = parts.map(|part| part.split_once('=').unwrap_or((part, ""))).collect();
        SimTarget { model, settings }
    }

    /// Applies the settings to a model.
    pub fn machine(&self, model: &Model) -> Result<Machine, BadTarget> {
        let mut machine = Machine::new(model.clone());
        let mut array = Raid::default();
        for &(key, value) in &self.settings {
            let bad =
                |takes| BadTarget::Value { key: key.to_owned(), value: value.to_owned(), takes };
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
                "write-cache" => {
                    machine.write_cache = if on_off()? { WriteCache::On } else { WriteCache::Off }
                }
                "seed" => machine.seed = value.parse().map_err(|_| bad("a whole number"))?,
                "filesystem" => {
                    let known = [Filesystem::None, Filesystem::Ext4];
                    let named = known.into_iter().find(|filesystem| filesystem.name() == value);
                    machine.model.host.filesystem = named.ok_or_else(|| bad("ext4 or none"))?;
                }
                "capacity" => machine.capacity_bytes = Some(size()?),
                "raid" => {
                    let levels = [Level::Raid0, Level::Raid1, Level::Raid5, Level::Raid6];
                    let level =
                        levels.into_iter().find(|level| level.number().to_string() == value);
                    array.level = Some(level.ok_or_else(|| bad("0, 1, 5 or 6"))?);
                }
                "members" => {
                    array.members = Some(value.parse().map_err(|_| bad("a number of drives"))?);
                }
                "chunk" => array.chunk = Some(size()?),
                "journal" => array.journal = Some(on_off()?),
                _ => return Err(BadTarget::Key(key.to_owned())),
            }
        }
        array.around(&mut machine.model)?;
        Ok(machine)
    }
}

/// The settings of an array that were given.
#[derive(Debug, Default)]
struct Raid {
    level: Option<Level>,
    members: Option<u32>,
    chunk: Option<u64>,
    journal: Option<bool>,
}

impl Raid {
    /// Turns a drive into an array of such drives.
    fn around(self, model: &mut Model) -> Result<(), BadTarget> {
        let Some(level) = self.level else {
            let first = [
                ("members", self.members.is_some()),
                ("chunk", self.chunk.is_some()),
                ("journal", self.journal.is_some()),
            ];
            return first
                .into_iter()
                .find(|(_, given)| *given)
                .map_or(Ok(()), |(key, _)| Err(BadTarget::NoArray(key)));
        };
        let least = match level {
            Level::Raid0 | Level::Raid1 => 2,
            Level::Raid5 => 3,
            Level::Raid6 => 4,
        };
        let member = Box::new(model.drive.clone());
        let chunk = Bytes(self.chunk.unwrap_or(512 << 10));
        let members = self.members.unwrap_or(least);
        model.drive = Parameters::Array(Array {
            level,
            members,
            chunk,
            journal: self.journal.unwrap_or(false),
            member,
        });
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
        let set = machine(
            "sim:micron-5100-eco-960gb,write-cache=off,seed=7,filesystem=ext4,capacity=8GiB",
        )
        .unwrap();
        assert_eq!(
            (set.write_cache, set.seed, set.capacity_bytes),
            (WriteCache::Off, 7, Some(8 << 30))
        );
        assert_eq!(set.model.host.filesystem, Filesystem::Ext4);
        let Parameters::Array(array) =
            machine("sim:micron-5100-eco-960gb,raid=5,journal=on").unwrap().model.drive
        else {
            panic!("no array")
        };
        assert_eq!(
            (array.level, array.members, array.chunk.0, array.journal),
            (Level::Raid5, 3, 512 << 10, true)
        );
        assert_eq!(SimTarget::split("/dev/sda"), None);
    }

    #[test]
    fn refusals() {
        let error = |given| machine(given).unwrap_err();
        insta::assert_snapshot!(error("sim:micron-5100"), @"unknown model `micron-5100` (did you mean `micron-5100-eco-960gb`?); run `flushmark models` for a list");
        insta::assert_snapshot!(error("sim:"), @"unknown model ``; run `flushmark models` for a list");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,cache=off"), @"unknown setting `cache`; expected one of write-cache=on|off, seed=N, filesystem=ext4|none, capacity=SIZE, raid=0|1|5|6, members=N, chunk=SIZE, journal=on|off");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,write-cache=maybe"), @"invalid value `write-cache=maybe`; expected on or off");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,seed=-1"), @"invalid value `seed=-1`; expected a whole number");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,filesystem=zfs"), @"invalid value `filesystem=zfs`; expected ext4 or none");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,capacity=big"), @"invalid value `capacity=big`; expected a size such as 64GiB");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,raid=4"), @"invalid value `raid=4`; expected 0, 1, 5 or 6");
        insta::assert_snapshot!(error("sim:samsung-980-1tb,members=4"), @"`members` requires an array; add raid=0, 1, 5 or 6");
    }
}
