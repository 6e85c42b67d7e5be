//! A page for a JSON schema.

use std::fmt::Write as _;

use serde_json::Value;

/// The objects of a schema, each with a table of its fields.
pub fn page(name: &str, schema: &Value) -> String {
    let mut page = format!("# {name}\n\n");
    let _ = writeln!(
        page,
        "The schema itself is [schemas/{name}.json](../../schemas/{name}.json). Fields may be added \
         within a version; a field that is renamed or removed makes a new one.\n"
    );
    object(&mut page, schema);
    if let Some(definitions) = schema.get("$defs").and_then(Value::as_object) {
        for (name, definition) in definitions {
            let _ = writeln!(page, "## {name}\n");
            object(&mut page, definition);
        }
    }
    page
}

fn object(page: &mut String, schema: &Value) {
    if let Some(text) = description(schema) {
        let _ = writeln!(page, "{text}\n");
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let fields = schema.get("properties").and_then(Value::as_object);
    if let Some(fields) = fields.filter(|fields| !fields.is_empty()) {
        page.push_str("| field | type | meaning |\n| --- | --- | --- |\n");
        for (name, field) in fields {
            let optional = if required.contains(&name.as_str()) { "" } else { ", optional" };
            let meaning = description(field).unwrap_or_default();
            let _ = writeln!(page, "| `{name}` | {}{optional} | {meaning} |", kind(field));
        }
        page.push('\n');
    } else {
        let _ = writeln!(page, "Type: {}\n", kind(schema));
    }
    for part in ["oneOf", "anyOf"] {
        let alternatives = schema.get(part).and_then(Value::as_array).into_iter().flatten();
        for alternative in alternatives.filter(|one| one.get("properties").is_some()) {
            page.push_str("One form:\n\n");
            object(page, alternative);
        }
    }
}

/// The description as the text of a table's cell.
fn description(schema: &Value) -> Option<String> {
    let text = schema.get("description")?.as_str()?;
    Some(
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace('|', "\\|")
            .replace('<', "&lt;"),
    )
}

/// The type, with a link to the definition of an object.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    }
    for part in ["anyOf", "oneOf", "allOf"] {
        if let Some(parts) = schema.get(part).and_then(Value::as_array) {
            return parts.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => match schema.get("items") {
            Some(items) => format!("list of {}", kind(items)),
            None => "list".to_owned(),
        },
        Some(Value::String(name)) if name == "object" => {
            match schema.get("additionalProperties").filter(|values| values.is_object()) {
                Some(values) => format!("map to {}", kind(values)),
                None => "object".to_owned(),
            }
        }
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ => "any value".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_types_and_links() {
        let schema = serde_json::json!({
            "description": "A run.",
            "properties": {
                "drive": {"$ref": "#/$defs/Drive", "description": "The\ndrive"},
                "grade": {"enum": ["good", "poor"]},
                "rates": {"type": "array", "items": {"type": ["number", "null"]}},
            },
            "required": ["drive"],
            "$defs": {"Drive": {"type": "string"}},
        });
        insta::assert_snapshot!(page("run-1", &schema), @r#"
        # run-1

        The schema itself is [schemas/run-1.json](../../schemas/run-1.json). Fields may be added within a version; a field that is renamed or removed makes a new one.

        A run.

        | field | type | meaning |
        | --- | --- | --- |
        | `drive` | [Drive](#drive) | The drive |
        | `grade` | `"good"`, `"poor"`, optional |  |
        | `rates` | list of number or null, optional |  |

        ## Drive

        Type: string
        "#);
    }
}
