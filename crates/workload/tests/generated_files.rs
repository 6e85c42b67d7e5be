//! The committed files that are made from the table of fields are those that it makes now.

use workload::plan;

#[test]
fn the_reference_page_is_made_from_the_fields() {
    let page = include_str!("../../../docs/plan.md");
    assert_eq!(
        page,
        plan::reference(),
        "docs/plan.md is not what the fields say; run cargo xtask docs"
    );
}

#[test]
fn the_schema_is_made_from_the_fields() {
    // As values: the order of keys in the text depends on what else is built.
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../schemas/plan-1.json")).unwrap_or_default();
    assert_eq!(
        schema,
        plan::json_schema(),
        "schemas/plan-1.json is not what the fields say; run cargo xtask docs"
    );
}

#[test]
fn the_page_about_fio_is_made_from_its_options() {
    let page = include_str!("../../../docs/fio.md");
    assert_eq!(
        page,
        workload::fio::reference(),
        "docs/fio.md is not what the options say; run cargo xtask docs"
    );
}
