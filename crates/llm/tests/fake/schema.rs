//! Makes a value that follows a JSON schema, for replies and for arguments.
//! Knows as much of the language as the schemas of the tests use.

use serde_json::{Map, Value, json};

/// A value that follows the schema.
pub fn example(schema: &Value) -> Value {
    follow(schema, schema)
}

fn follow(schema: &Value, root: &Value) -> Value {
    if let Some(place) = schema["$ref"].as_str() {
        return follow(root.pointer(place.trim_start_matches('#')).unwrap(), root);
    }
    for choices in ["enum", "anyOf", "oneOf"] {
        if let Some(first) = schema[choices].get(0) {
            return if choices == "enum" { first.clone() } else { follow(first, root) };
        }
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    match schema["type"].as_str() {
        Some("string") => "fake".into(),
        Some("integer") => 7.into(),
        Some("number") => json!(1.5),
        Some("boolean") => true.into(),
        Some("array") => json!([follow(&schema["items"], root)]),
        Some("object") => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let fields = properties.map(|(name, schema)| (name.clone(), follow(schema, root)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        _ => Value::Null,
    }
}
