//! The JSON Schema of a plan, for editors, generated from the table of fields.

use serde_json::{Map, Value, json};

use super::fields::{FIELDS, Field, Kind, Scope};

/// The JSON Schema (draft 2020-12) of a plan in its JSON form. TOML editors check plans against it.
pub fn json_schema() -> Value {
    let mut schema = object(&[Scope::Plan]);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("flushmark plan");
    schema["required"] = json!(["test"]);
    schema
}

/// An object that allows exactly the fields of these scopes.
fn object(scopes: &[Scope]) -> Value {
    let fields = FIELDS.iter().filter(|field| scopes.contains(&field.scope));
    let properties: Map<String, Value> =
        fields.map(|field| (field.name.to_owned(), property(field))).collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn property(field: &Field) -> Value {
    let mut property = value(field.kind);
    property["description"] = json!(field.meaning);
    property
}

fn value(kind: Kind) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Word(words) => json!({ "enum": words() }),
        Kind::Size(low, high) => json!({ "anyOf": [
            { "type": "string", "pattern": "^ *[0-9]+ *([bB]|[kKmMgGtT]([iI]?[bB])?)? *$" },
            { "type": "integer", "minimum": low, "maximum": high },
        ] }),
        Kind::Area(low, high) => json!({ "anyOf": [
            { "type": "string", "pattern": "^ *([0-9]+ \
                                            *([bB]|[kKmMgGtT]([iI]?[bB])?)?|0*([1-9][0-9]?|100) \
                                            *%) *$" },
            { "type": "integer", "minimum": low, "maximum": high },
        ] }),
        Kind::Whole(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Kind::Rate(high) => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": high }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Time { .. } => {
            json!({ "type": "string", "pattern": "^ *([0-9]+([.][0-9]+)? *(us|ms|s|min|m|h) *)+$" })
        }
        Kind::Steps => json!({ "type": "array", "minItems": 1, "items": { "type": "string" } }),
        Kind::Files => {
            json!({ "type": "object", "minProperties": 1, "additionalProperties": object(&[Scope::File]) })
        }
        Kind::Matrix => {
            let varied = FIELDS.iter().filter(|field| field.varies());
            let lists = varied.map(|field| {
                (
                    field.name.to_owned(),
                    json!({ "type": "array", "minItems": 1, "items": value(field.kind) }),
                )
            });
            json!({ "type": "object", "additionalProperties": false, "properties": lists.collect::<Map<_, _>>() })
        }
        Kind::Defaults => object(&[Scope::Test]),
        Kind::Tests => {
            json!({ "type": "array", "minItems": 1, "items": object(&[Scope::Test, Scope::TestOnly]) })
        }
    }
}
