//! JSON Schemas (draft 2020-12) of the documents.

use schemars::JsonSchema;

/// The schema of a document whose field `schema` is `name`. Unknown keys are allowed because new
/// fields are compatible.
pub fn of<T: JsonSchema>(what: &str, name: &str) -> schemars::Schema {
    let mut schema = schemars::schema_for!(T);
    schema.insert("title".to_owned(), format!("flushmark {what} document, {name}").into());
    if let Some(own) =
        schema.pointer_mut("/properties/schema").and_then(serde_json::Value::as_object_mut)
    {
        own.insert("const".to_owned(), name.into());
    }
    schema
}
