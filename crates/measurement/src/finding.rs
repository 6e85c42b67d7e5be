//! Conclusions as data: made by `judge`, printed by `report`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One conclusion, with its evidence and advice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// A stable name, such as `no-power-loss-protection`.
    pub id: String,
    /// The conclusion in one sentence.
    pub title: String,
    /// The numbers and facts that support it; at least one.
    pub evidence: Vec<Evidence>,
    /// Certainty of the conclusion.
    pub confidence: Confidence,
    /// A particular reason that lowers the confidence, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Recommended action, or the next thing to check.
    pub advice: String,
}

/// A number or a fact that supports a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Name of the figure or fact, such as `fsync p50`.
    pub what: String,
    /// The number, or the fact as text.
    pub value: serde_json::Value,
    /// The unit of a number, such as `us`; empty for facts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
}

impl Evidence {
    pub fn number(what: impl Into<String>, value: f64, unit: impl Into<String>) -> Evidence {
        Evidence { what: what.into(), value: value.into(), unit: unit.into() }
    }

    /// A fact without a unit.
    pub fn fact(what: impl Into<String>, value: impl Into<String>) -> Evidence {
        Evidence { what: what.into(), value: value.into().into(), unit: String::new() }
    }
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A hint; other explanations fit as well.
    Low,
    /// The most likely explanation.
    Medium,
    /// Hardly anything else explains the numbers.
    High,
}

/// A use that storage is graded for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// Data and journal of a Ceph OSD.
    CephOsd,
    /// Separate intent log (SLOG) of a ZFS pool.
    ZfsSlog,
    /// Redo or write-ahead log of a database.
    DatabaseLog,
    /// Everything else: the system disk, files, builds.
    General,
}

impl Use {
    /// Every use, in the order in which reports list them.
    pub const ALL: [Use; 4] = [Use::CephOsd, Use::ZfsSlog, Use::DatabaseLog, Use::General];

    /// The name in result documents and in `--fail-on`.
    pub const fn name(self) -> &'static str {
        match self {
            Use::CephOsd => "ceph-osd",
            Use::ZfsSlog => "zfs-slog",
            Use::DatabaseLog => "database-log",
            Use::General => "general",
        }
    }

    /// The name in reports for people.
    pub const fn label(self) -> &'static str {
        match self {
            Use::CephOsd => "Ceph OSD",
            Use::ZfsSlog => "ZFS SLOG",
            Use::DatabaseLog => "database log",
            Use::General => "general use",
        }
    }
}

/// Grade of storage for a use, from worst to best.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// The measurements do not say.
    Unknown,
    /// Too slow to be usable, or loses data.
    Unfit,
    /// Works, but slowly.
    Poor,
    /// Fast enough for most needs.
    Fair,
    /// Made for this use.
    Good,
    /// As fast as storage gets.
    Excellent,
}

impl Grade {
    /// Every grade, from worst to best.
    pub const ALL: [Grade; 6] =
        [Grade::Unknown, Grade::Unfit, Grade::Poor, Grade::Fair, Grade::Good, Grade::Excellent];

    /// The grade in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Grade::Unknown => "unknown",
            Grade::Unfit => "unfit",
            Grade::Poor => "poor",
            Grade::Fair => "fair",
            Grade::Good => "good",
            Grade::Excellent => "excellent",
        }
    }
}

/// A grade and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fitness {
    /// Grade of the storage for this use.
    pub grade: Grade,
    /// The reason, in one sentence with the deciding number.
    pub because: String,
}

/// The grades of each use under both settings of the write cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FitnessUnderEachSetting {
    /// With the write cache off.
    pub off: BTreeMap<Use, Fitness>,
    /// With the write cache on.
    pub on: BTreeMap<Use, Fitness>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_those_of_the_document_and_labels_differ() {
        for used in Use::ALL {
            assert_eq!(serde_json::to_value(used).unwrap(), used.name());
        }
        let grades =
            [Grade::Unknown, Grade::Unfit, Grade::Poor, Grade::Fair, Grade::Good, Grade::Excellent];
        for grade in grades {
            assert_eq!(serde_json::to_value(grade).unwrap(), grade.name());
        }
        assert_eq!(
            Use::ALL.map(Use::label).into_iter().collect::<BTreeSet<_>>().len(),
            Use::ALL.len()
        );
    }
}
