//! Judgement, as data: what `judge` concludes and `report` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One sentence of judgement, with what it rests on and what to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// A stable name, such as `no-power-loss-protection`.
    pub id: String,
    /// The sentence.
    pub title: String,
    /// The numbers and facts it rests on; at least one.
    pub evidence: Vec<Evidence>,
    /// How sure it is.
    pub confidence: Confidence,
    /// Why the confidence is not higher, if something in particular lowers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// What to do, or what to look at next.
    pub advice: String,
}

/// A number or a fact on which a finding rests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What was looked at, such as `fsync p50`.
    pub what: String,
    /// What it was.
    pub value: serde_json::Value,
    /// The unit of a number, such as `us`; empty for facts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
}

impl Evidence {
    /// A number with its unit.
    pub fn number(what: impl Into<String>, value: f64, unit: impl Into<String>) -> Evidence {
        Evidence { what: what.into(), value: value.into(), unit: unit.into() }
    }

    /// A fact in words.
    pub fn fact(what: impl Into<String>, value: impl Into<String>) -> Evidence {
        Evidence { what: what.into(), value: value.into().into(), unit: String::new() }
    }
}

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A hint; other explanations fit as well.
    Low,
    /// The likeliest explanation.
    Medium,
    /// Hardly anything else explains the numbers.
    High,
}

/// What storage may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// Data and journal of a Ceph OSD.
    CephOsd,
    /// Separate intent log of a ZFS pool.
    ZfsSlog,
    /// Redo or write-ahead log of a database.
    DatabaseLog,
    /// Everything else that a machine does.
    General,
}

impl Use {
    /// Every use, in the order in which reports list them.
    pub const ALL: [Use; 4] = [Use::CephOsd, Use::ZfsSlog, Use::DatabaseLog, Use::General];

    /// As the result document and `--fail-on` write it.
    pub const fn name(self) -> &'static str {
        match self {
            Use::CephOsd => "ceph-osd",
            Use::ZfsSlog => "zfs-slog",
            Use::DatabaseLog => "database-log",
            Use::General => "general",
        }
    }

    /// As people read it.
    pub const fn label(self) -> &'static str {
        match self {
            Use::CephOsd => "Ceph OSD",
            Use::ZfsSlog => "ZFS SLOG",
            Use::DatabaseLog => "database log",
            Use::General => "general use",
        }
    }
}

/// How well storage fits a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Cannot be told from what was measured.
    Unknown,
    /// Will disappoint, or loses data.
    Unfit,
    /// Works, slowly.
    Poor,
    /// Enough for most.
    Fair,
    /// Made for it.
    Good,
    /// As good as it gets.
    Excellent,
}

impl Grade {
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

/// A grade and its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fitness {
    /// How well it fits.
    pub grade: Grade,
    /// Why, in one sentence with the deciding number.
    pub because: String,
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
        let grades = [Grade::Unknown, Grade::Unfit, Grade::Poor, Grade::Fair, Grade::Good, Grade::Excellent];
        for grade in grades {
            assert_eq!(serde_json::to_value(grade).unwrap(), grade.name());
        }
        assert_eq!(Use::ALL.map(Use::label).into_iter().collect::<BTreeSet<_>>().len(), Use::ALL.len());
    }
}
