//! Facts of a run's document that may explain why a drive is slow.

use std::collections::BTreeMap;

use drive::{Backing, BlockDevice, Place, WriteCache};
use measurement::RunDocument;
use schemars::JsonSchema;
use serde::Serialize;

use crate::specimen::{Fact, FactValue};

/// The drive's and its host's, as far as the document has them.
pub fn facts(document: &RunDocument) -> BTreeMap<Fact, FactValue> {
    let mut facts = BTreeMap::new();
    let mut word = |fact: Fact, value: Option<&str>| {
        if let Some(value) = value {
            facts.insert(fact, FactValue::Word(value.to_owned()));
        }
    };
    let host = &document.host;
    word(Fact::Kernel, host.kernel_release.as_deref());
    word(Fact::Governor, host.cpu_governor.as_deref());
    let mount = document.drive.as_ref().and_then(|place| place.mount.as_ref());
    word(Fact::Filesystem, mount.map(|mount| mount.fs_type.as_str()));
    let options = mount.map(|mount| {
        let all: Vec<&str> =
            mount.options.iter().chain(&mount.super_options).map(String::as_str).collect();
        all.join(",")
    });
    word(Fact::MountOptions, options.as_deref());
    if let Some(device) = document.drive.as_ref().and_then(only_drive) {
        word(Fact::Firmware, device.firmware.as_deref());
        word(Fact::Link, device.link.as_ref().map(|link| link.now.as_str()));
        word(Fact::Scheduler, device.queue.scheduler.as_deref());
        // The drive's own word, or else the kernel's.
        let own = document.drives.iter().find(|record| record.device.name == device.disk_name());
        let kernels = device.queue.write_cache.map(|cache| cache == WriteCache::WriteBack);
        let is_on = own.map_or(kernels, |record| record.cache.is_on());
        word(Fact::WriteCache, is_on.map(|on| if on { "on" } else { "off" }));
    }
    let [record] = &document.drives[..] else { return facts };
    let mut number = |fact: Fact, value: Option<f64>, unit: &'static str| {
        if let Some(value) = value {
            facts.insert(fact, FactValue::Number { value, unit });
        }
    };
    let health = record.health.told();
    let used = health.and_then(|health| health.used_percent);
    number(Fact::MediaWear, used.map(f64::from), " %");
    let temperature = health.and_then(|health| health.temperature_celsius);
    number(Fact::Temperature, temperature.map(f64::from), " °C");
    facts
}

fn only_drive(place: &Place) -> Option<&BlockDevice> {
    let Backing::BlockDevice(device) = &place.backing else { return None };
    match device.drives()[..] {
        [drive] => Some(drive),
        _ => None,
    }
}

/// A fact that differs between two runs of a drive.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    pub fact: Fact,
    pub before: FactValue,
    pub after: FactValue,
}

/// Facts that differ between two runs of a drive.
pub(crate) fn changes(
    before: &BTreeMap<Fact, FactValue>,
    after: &BTreeMap<Fact, FactValue>,
) -> Vec<Change> {
    /// A drive's temperature varies by this much anyway.
    const WARMER: f64 = 10.0;
    let differs = |before: &FactValue, after: &FactValue| match (before, after) {
        (FactValue::Number { value: before, .. }, FactValue::Number { value: after, .. }) => {
            after - before > WARMER
        }
        _ => before != after,
    };
    after
        .iter()
        .filter_map(|(&fact, after)| {
            let before = before.get(&fact)?;
            differs(before, after).then(|| Change {
                fact,
                before: before.clone(),
                after: after.clone(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_a_document() {
        let document = samples::document::checked();
        let shown: Vec<String> = facts(&document)
            .iter()
            .map(|(fact, value)| format!("{}: {value}", fact.name()))
            .collect();
        assert!(shown.iter().any(|line| line.starts_with("kernel: ")), "{shown:?}");
        assert!(shown.iter().any(|line| line.starts_with("I/O scheduler: ")), "{shown:?}");
        assert!(facts(&samples::document(Vec::new())).len() < shown.len());
    }

    #[test]
    fn a_change_is_another_word_or_a_number_that_rose_much() {
        let word = |text: &str| FactValue::Word(text.to_owned());
        let degrees = |value: f64| FactValue::Number { value, unit: " °C" };
        let of = |firmware: &str, temperature: f64| {
            BTreeMap::from([
                (Fact::Firmware, word(firmware)),
                (Fact::Temperature, degrees(temperature)),
            ])
        };
        assert_eq!(changes(&of("1", 40.0), &of("1", 49.0)), []);
        assert_eq!(
            changes(&of("1", 40.0), &of("2", 51.0)),
            [
                Change { fact: Fact::Firmware, before: word("1"), after: word("2") },
                Change { fact: Fact::Temperature, before: degrees(40.0), after: degrees(51.0) },
            ]
        );
        // A fact that was not known before has not changed.
        assert_eq!(changes(&BTreeMap::new(), &of("1", 90.0)), []);
    }
}
