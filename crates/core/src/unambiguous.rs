//! Reads JSON in which no object has a name twice.
//! Used for what people send to be kept or run, policies and edited arguments above all. A reader would take the last of
//! both, while a person may have seen only the first: a rule could pass for another one. Never looks at what the names mean.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Any value in which no object has a name twice.
#[derive(Clone, Debug, PartialEq)]
pub struct Unambiguous(pub Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

/// The same for a field that may be left out.
///
/// # Errors
/// Where a name is there twice.
pub fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let read = Option::<Unambiguous>::deserialize(deserializer)?;
    Ok(read.map(|Unambiguous(value)| value))
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if fields.contains_key(&name) {
                return Err(de::Error::custom(format!("`{name}` is there twice")));
            }
            let Unambiguous(value) = map.next_value()?;
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Unambiguous(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, serde_json::Error> {
        serde_json::from_str(text).map(|Unambiguous(value)| value)
    }

    #[test]
    fn a_name_that_stands_twice_is_found_at_any_depth() {
        for twice in [
            r#"{"a": 1, "a": 1}"#,
            r#"[{"b": {"a": [], "a": null}}]"#,
            r#"{"a": 1, "\u0061": 2}"#,
            r#"{"a": 1.5e300, "b": -1, "c": true, "a": "x"}"#,
        ] {
            let error = read(twice).unwrap_err().to_string();
            assert!(error.contains("`a` is there twice at line 1"), "{twice}: {error}");
        }
    }

    #[test]
    fn everything_else_is_read_as_it_stands_and_what_is_no_json_is_refused() {
        for good in [
            r#"{"a": {"a": [{"a": 1}, {"a": 123456789012345678901234567890}]}}"#,
            r#"{"b": [-1, 0.5, "x", true, null], "a": 18446744073709551615}"#,
            "null",
        ] {
            assert_eq!(read(good).unwrap(), serde_json::from_str::<Value>(good).unwrap());
        }
        for bad in ["", "{", &"[".repeat(100_000)] {
            read(bad).unwrap_err();
        }
    }
}
