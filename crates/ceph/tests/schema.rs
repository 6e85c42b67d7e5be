//! The types match the published schemas.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::Value;

#[test]
fn the_committed_schemas_are_the_generated_ones() {
    let schemas = [
        (
            "ceph-sizing-1",
            include_str!("../../../schemas/ceph-sizing-1.json"),
            ceph::sizing::json_schema(),
        ),
        (
            "ceph-tell-bench-1",
            include_str!("../../../schemas/ceph-tell-bench-1.json"),
            ceph::osd_bench::json_schema(),
        ),
    ];
    for (name, committed, generated) in schemas {
        let committed: Value = serde_json::from_str(committed).unwrap();
        assert!(
            committed == serde_json::to_value(generated).unwrap(),
            "schemas/{name}.json does not match the types. Run `cargo xtask docs` and review the \
             difference."
        );
    }
}
