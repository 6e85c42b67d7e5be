//! The JSON output of `flushmark results list`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::run::Summary;

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/results/1";

/// Stored runs, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListDocument<'a> {
    /// The name and version of this format.
    pub schema: &'static str,
    pub runs: &'a [Summary],
}

impl ListDocument<'_> {
    pub fn of(runs: &[Summary]) -> ListDocument<'_> {
        ListDocument { schema: SCHEMA, runs }
    }
}

/// The JSON Schema (draft 2020-12) of [`ListDocument`]. The repository keeps it as
/// `schemas/results-1.json`.
pub fn json_schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(ListDocument<'static>);
    schema.insert("title".to_owned(), format!("flushmark results document, {SCHEMA}").into());
    if let Some(own) =
        schema.pointer_mut("/properties/schema").and_then(serde_json::Value::as_object_mut)
    {
        own.insert("const".to_owned(), SCHEMA.into());
    }
    schema
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_schema_matches_the_types() {
        let committed: serde_json::Value =
            serde_json::from_str(include_str!("../../../schemas/results-1.json")).unwrap();
        let current = serde_json::to_value(super::json_schema()).unwrap();
        assert!(
            committed == current,
            "schemas/results-1.json does not match the types. Run `cargo xtask docs` and review \
             the difference."
        );
    }
}
