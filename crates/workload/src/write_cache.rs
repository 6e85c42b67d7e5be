//! The drive's volatile write cache setting that a test requires.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The setting of the drive's volatile write cache during a test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WriteCache {
    /// Left as it was found.
    #[default]
    Unchanged,
    /// Switched on: writes may be acknowledged from volatile memory, and a sync has to flush.
    On,
    /// Switched off: a write is acknowledged only once it is durable.
    Off,
}

impl WriteCache {
    /// Every setting, in the order in which help lists them.
    pub const ALL: [WriteCache; 3] = [WriteCache::Unchanged, WriteCache::On, WriteCache::Off];

    /// The name used in plans.
    pub const fn name(self) -> &'static str {
        match self {
            WriteCache::Unchanged => "unchanged",
            WriteCache::On => "on",
            WriteCache::Off => "off",
        }
    }

    /// Looks up a setting by its name in plans.
    pub fn from_name(name: &str) -> Option<WriteCache> {
        WriteCache::ALL.into_iter().find(|setting| setting.name() == name)
    }

    /// The cache state that this setting requires, or `None` if it accepts either.
    pub const fn requires_on(self) -> Option<bool> {
        match self {
            WriteCache::Unchanged => None,
            WriteCache::On => Some(true),
            WriteCache::Off => Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_setting() {
        for (setting, wanted) in WriteCache::ALL.into_iter().zip([None, Some(true), Some(false)]) {
            assert_eq!(WriteCache::from_name(setting.name()), Some(setting));
            assert_eq!(serde_json::to_value(setting).unwrap(), setting.name());
            assert_eq!(setting.requires_on(), wanted);
        }
        assert_eq!(WriteCache::from_name("auto"), None);
    }
}
