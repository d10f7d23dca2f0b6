//! Finds a name that stands twice in one object of a JSON text.
//! Called before a document is read. The reader would take the last of both, while a person may have seen only the first:
//! a rule could pass for another one. Never looks at what the names mean.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Refuses a text with such a name, saying where it is.
pub fn check(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<Unambiguous>(text).map(drop)
}

/// Any value in which no object has a name twice. Nothing of it is kept.
struct Unambiguous;

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Unambiguous)
    }
}

impl<'de> Visitor<'de> for Unambiguous {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                return Err(de::Error::custom(format!("`{name}` is there twice")));
            }
            names.insert(name);
            map.next_value::<Unambiguous>()?;
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Unambiguous>()?.is_some() {}
        Ok(self)
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self, E> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_stands_twice_is_found_at_any_depth() {
        for twice in [
            r#"{"a": 1, "a": 1}"#,
            r#"[{"b": {"a": [], "a": null}}]"#,
            r#"{"a": 1, "\u0061": 2}"#,
            r#"{"a": 1.5e300, "b": -1, "c": true, "a": "x"}"#,
        ] {
            let error = check(twice).unwrap_err().to_string();
            assert!(error.contains("`a` is there twice at line 1"), "{twice}: {error}");
        }
    }

    #[test]
    fn everything_else_passes_and_what_is_no_json_is_refused() {
        for good in [r#"{"a": {"a": [{"a": 1}, {"a": 123456789012345678901234567890}]}}"#, "null"] {
            check(good).unwrap();
        }
        for bad in ["", "{", &"[".repeat(100_000)] {
            check(bad).unwrap_err();
        }
    }
}
