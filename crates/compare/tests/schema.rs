//! The types match the published schema.

// A test outside of `mod tests`: a failed unwrap is a failed test.
#![allow(clippy::unwrap_used)]

use serde_json::Value;

#[test]
fn the_committed_schema_is_the_generated_one() {
    let committed: Value =
        serde_json::from_str(include_str!("../../../schemas/compare-1.json")).unwrap();
    assert!(
        committed == serde_json::to_value(compare::json_schema()).unwrap(),
        "schemas/compare-1.json does not match the types. Run `cargo xtask docs` and review the \
         difference."
    );
}
