//! Makes a value that follows a JSON schema, for programs that ask the demo model for structured output.
//! Called by `demo`. The value has the right shape and means nothing; texts in it say `demo`.

use serde_json::{Map, Value, json};

/// Schemas may refer to themselves; nothing useful is this deep.
const DEEPEST: usize = 16;
const MOST_ELEMENTS: u64 = 8;

pub fn of(schema: &Value) -> Value {
    fitting(schema, schema, 0)
}

fn fitting(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > DEEPEST {
        return Value::Null;
    }
    let deeper = |schema: &Value| fitting(schema, root, depth.saturating_add(1));
    if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
        let target = path.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or(Value::Null, deeper);
    }
    if let Some(value) = schema.get("const").or_else(|| schema.get("default")) {
        return value.clone();
    }
    if let Some(first) = schema.get("enum").and_then(|choices| choices.get(0)) {
        return first.clone();
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema.get(choice).and_then(|choices| choices.get(0)) {
            return deeper(first);
        }
    }
    let count = |key: &str| schema.get(key).and_then(Value::as_u64).unwrap_or_default();
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
        kind => kind.and_then(Value::as_str),
    };
    match kind {
        Some("string") => {
            let missing = count("minLength").saturating_sub(4).min(1_000);
            let padding = ".".repeat(usize::try_from(missing).unwrap_or_default());
            format!("demo{padding}").into()
        }
        Some("number" | "integer") => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
        Some("boolean") => false.into(),
        Some("null") => Value::Null,
        Some("array") => {
            let element = schema.get("items").map_or(Value::Null, deeper);
            (0..count("minItems").min(MOST_ELEMENTS)).map(|_| element.clone()).collect()
        }
        _ if schema.get("properties").is_some() || kind == Some("object") => {
            let empty = Map::new();
            let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
            let required = schema.get("required").and_then(Value::as_array);
            let wanted =
                |name: &str| required.is_none_or(|names| names.iter().any(|one| one == name));
            let fields = properties.iter().filter(|(name, _)| wanted(name));
            Value::Object(fields.map(|(name, schema)| (name.clone(), deeper(schema))).collect())
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_shape_its_schema_asks_for() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 6},
                "day": {"enum": ["mon", "tue"]},
                "hosts": {"type": "array", "items": {"$ref": "#/$defs/host"}, "minItems": 2},
                "note": {"anyOf": [{"type": "null"}, {"type": "string"}]},
                "left_out": {"type": "string"},
            },
            "required": ["name", "day", "hosts", "note"],
            "$defs": {"host": {"type": "object", "properties": {"age": {"type": "integer", "minimum": 3}}}},
        });
        let value = of(&schema);
        assert_eq!(
            value,
            json!({"name": "demo..", "day": "mon", "hosts": [{"age": 3}, {"age": 3}], "note": null}),
        );
        assert!(jsonschema::is_valid(&schema, &value));
    }

    #[test]
    fn a_schema_that_refers_to_itself_comes_to_an_end() {
        let schema =
            json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]});
        assert!(of(&schema)["next"]["next"].is_object());
        assert_eq!(of(&json!(true)), Value::Null);
    }
}
