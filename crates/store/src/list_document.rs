//! What `flushmark results list` prints for programs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::run::Summary;

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/results/1";

/// Kept runs, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListDocument<'a> {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// The runs.
    pub runs: &'a [Summary],
}

impl ListDocument<'_> {
    /// Of these runs.
    pub fn of(runs: &[Summary]) -> ListDocument<'_> {
        ListDocument { schema: SCHEMA, runs }
    }
}

/// The JSON Schema (draft 2020-12) of [`ListDocument`]. The repository keeps it as `schemas/results-1.json`.
pub fn json_schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(ListDocument<'static>);
    schema.insert("title".to_owned(), format!("flushmark results document, {SCHEMA}").into());
    if let Some(own) = schema.pointer_mut("/properties/schema").and_then(serde_json::Value::as_object_mut) {
        own.insert("const".to_owned(), SCHEMA.into());
    }
    schema
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_schema_is_what_the_types_say() {
        let committed: serde_json::Value =
            serde_json::from_str(include_str!("../../../schemas/results-1.json")).unwrap();
        let current = serde_json::to_value(super::json_schema()).unwrap();
        assert!(
            committed == current,
            "schemas/results-1.json is not what the types say. Run `cargo xtask docs`, look at the difference."
        );
    }
}
