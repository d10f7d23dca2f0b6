//! Checks which arguments are accepted and what their canonical form is, as tables and as properties.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "text": { "type": "string" },
            "count": { "type": "integer" },
            "ratio": { "type": "number" },
            "flag": { "type": "boolean" },
            "words": { "type": "array", "items": { "type": "string" } },
            "numbers": { "type": "array", "items": { "type": "integer" } },
            "points": {
                "type": "array",
                "items": { "type": "object", "properties": { "x": { "type": "number" } } },
            },
            "mixed": { "type": ["array", "number"] },
            "nothing": { "type": ["string", "null"] },
            "inner": {
                "type": "object",
                "properties": { "count": { "type": "integer" } },
                "required": ["count"],
            },
            "free": {},
        },
    })
}

#[test]
fn what_is_plain_is_understood() {
    for (given, canonical) in [
        // As it should be.
        (json!({}), json!({})),
        (json!({ "text": "3" }), json!({ "text": "3" })),
        (json!({ "count": 3 }), json!({ "count": 3 })),
        (json!({ "words": ["a", "b"] }), json!({ "words": ["a", "b"] })),
        (json!({ "mixed": 3 }), json!({ "mixed": 3 })),
        (json!({ "mixed": 3.5 }), json!({ "mixed": 3.5 })),
        (json!({ "free": "3" }), json!({ "free": "3" })),
        (json!({ "free": null }), json!({ "free": null })),
        (json!({ "unknown": [1, null] }), json!({ "unknown": [1, null] })),
        // Numbers and truth values in quotes.
        (json!({ "count": "3" }), json!({ "count": 3 })),
        (json!({ "count": " -3 " }), json!({ "count": -3 })),
        (json!({ "ratio": "0.5" }), json!({ "ratio": 0.5 })),
        (json!({ "ratio": "3" }), json!({ "ratio": 3 })),
        (json!({ "flag": "true" }), json!({ "flag": true })),
        (json!({ "inner": { "count": "3" } }), json!({ "inner": { "count": 3 } })),
        // A whole number is an integer however it is written, so that a rule about 3 is one about 3.0.
        (json!({ "count": 3.0 }), json!({ "count": 3 })),
        // A single value for a list.
        (json!({ "words": "a" }), json!({ "words": ["a"] })),
        (json!({ "numbers": 3 }), json!({ "numbers": [3] })),
        (json!({ "numbers": "3" }), json!({ "numbers": [3] })),
        (json!({ "numbers": ["3", 4] }), json!({ "numbers": [3, 4] })),
        (json!({ "points": { "x": "1" } }), json!({ "points": [{ "x": 1 }] })),
        // Null for an absent optional, unless null means something.
        (json!({ "text": null, "count": null }), json!({})),
        (json!({ "nothing": null }), json!({ "nothing": null })),
        (Value::Null, json!({})),
    ] {
        assert_eq!(validate(given.clone(), &schema()), Ok(canonical), "{given}");
    }
}

#[test]
fn what_would_have_to_be_guessed_is_refused() {
    for given in [
        json!({ "count": "three" }),
        json!({ "count": "3.5" }),
        json!({ "count": 3.5 }),
        json!({ "count": "" }),
        json!({ "count": "3 4" }),
        json!({ "count": "NaN" }),
        json!({ "count": true }),
        json!({ "flag": "yes" }),
        json!({ "flag": 1 }),
        json!({ "text": 3 }),
        json!({ "text": ["a"] }),
        json!({ "words": [1] }),
        json!({ "words": { "0": "a" } }),
        json!({ "inner": {} }),
        json!({ "inner": { "count": null } }),
        json!({ "inner": "{\"count\":3}" }),
        json!([]),
        json!([{ "count": 3 }]),
        json!("text"),
        json!(3),
        json!(true),
    ] {
        let refused = validate(given.clone(), &schema());
        assert!(refused.is_err(), "{given} became {refused:?}");
    }
}

#[test]
fn a_text_is_an_object_or_nothing_at_all() {
    for text in ["", "  ", "{}", "null", " { } "] {
        assert_eq!(parse(text, &schema()), Ok(json!({})), "{text:?}");
    }
    for text in ["{", "ls", "{}{}", "{} x", "[]", "\"{}\"", "{'a':1}", "\u{feff}{}"] {
        assert!(parse(text, &schema()).is_err(), "{text:?}");
    }
}

#[test]
fn what_is_required_is_missed() {
    let schema = json!({
        "type": "object",
        "properties": { "command": { "type": "string" } },
        "required": ["command"],
    });
    for text in ["", "null", "{}", r#"{"command":null}"#] {
        assert!(parse(text, &schema).is_err(), "{text:?}");
    }
}

#[test]
fn an_error_says_where_it_is() {
    let error = validate(json!({ "inner": { "count": "x" } }), &schema()).unwrap_err();
    assert!(error.contains("/inner/count"), "{error}");
}

#[test]
fn nesting_has_a_limit() {
    let deep = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    assert!(validate(json!({ "free": deep(nesting::LIMIT - 1) }), &schema()).is_ok());
    assert!(validate(json!({ "free": deep(nesting::LIMIT) }), &schema()).is_err());
}

#[test]
fn a_broken_schema_is_an_error_and_not_a_permission() {
    assert!(validate(json!({}), &json!({ "type": "no such type" })).is_err());
    assert!(check_schema(&json!({ "type": "no such type" })).is_err());
    assert!(check_schema(&schema()).is_ok());
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~]{0,6}|[0-9]{1,3}|true".prop_map(Value::from),
    ];
    let names = prop_oneof![
        Just("text"),
        Just("count"),
        Just("ratio"),
        Just("flag"),
        Just("words"),
        Just("numbers"),
        Just("points"),
        Just("mixed"),
        Just("nothing"),
        Just("inner"),
        Just("free"),
        Just("x"),
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        let fields = proptest::collection::btree_map(names.clone(), inner.clone(), 0..5);
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Value::from),
            fields.prop_map(|fields| {
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// What is shown, approved and run is read back from the log: reading must not change it.
    #[test]
    fn the_canonical_form_is_its_own_canonical_form_and_survives_storage(given in values()) {
        if let Ok(canonical) = validate(given, &schema()) {
            prop_assert_eq!(validate(canonical.clone(), &schema()), Ok(canonical.clone()));
            let stored = canonical.to_string();
            prop_assert_eq!(serde_json::from_str::<Value>(&stored).unwrap(), canonical);
        }
    }

    #[test]
    fn a_number_survives_storage_whatever_it_is(number in any::<f64>()) {
        let canonical = parse(&json!({ "ratio": number }).to_string(), &schema()).unwrap();
        let again: Value = serde_json::from_str(&canonical.to_string()).unwrap();
        prop_assert_eq!(again, canonical);
    }
}

#[test]
fn a_schema_that_takes_for_ever_to_check_is_refused_at_once() {
    let mut definitions = Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        definitions.insert(format!("a{level}"), json!({"allOf": [next.clone(), next]}));
    }
    definitions.insert("a60".to_owned(), json!({"type": "object"}));
    let doubling =
        json!({"type": "object", "$defs": definitions, "allOf": [{"$ref": "#/$defs/a0"}]});
    let itself = json!({
        "type": "object",
        "properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}},
    });
    let nested = format!("{}{{}}{}", "{\"a\":".repeat(60), "}".repeat(60));
    for (schema, arguments) in [(&doubling, "{}"), (&itself, nested.as_str())] {
        let refused = parse(arguments, schema).unwrap_err();
        assert!(refused.contains("refers to itself too often"), "{refused}");
    }
    // One that refers to itself as trees do is fine.
    let tree = json!({
        "type": "object",
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
    });
    assert!(parse(r#"{"left": {"left": {}, "right": {}}, "right": {}}"#, &tree).is_ok());
}
