//! The JSON output of `flushmark fleet`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::drift::Drifts;
use crate::outliers::Outliers;
use crate::scaling::Scaling;
use crate::summary::Summary;
use crate::table::Table;

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/fleet/1";

/// An answer over many hosts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FleetDocument {
    /// The name and version of this format.
    schema: &'static str,
    #[serde(flatten)]
    answer: Answer,
}

/// The answer of each verb.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    Summary(Summary),
    Outliers(Outliers),
    Drift(Drifts),
    Table(Table),
    Scaling(Vec<Scaling>),
}

impl From<Answer> for FleetDocument {
    fn from(answer: Answer) -> FleetDocument {
        FleetDocument { schema: SCHEMA, answer }
    }
}

/// The JSON schema of [`FleetDocument`].
pub fn json_schema() -> schemars::Schema {
    measurement::json_schema::of::<FleetDocument>("fleet", SCHEMA)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_schema_matches_the_types() {
        let committed: serde_json::Value =
            serde_json::from_str(include_str!("../../../schemas/fleet-1.json")).unwrap();
        let current = serde_json::to_value(super::json_schema()).unwrap();
        assert!(
            committed == current,
            "schemas/fleet-1.json does not match the types. Run `cargo xtask docs` and review the \
             difference."
        );
    }
}
