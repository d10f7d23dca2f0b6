//! Decides what of a chunk is read at all: every chunk repeats the same few fields, and most of a stream is them.
//! Called by `reply` once these fields are known. What is not known to be repeated is never skipped.

use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

/// The chunk without what every chunk repeats.
pub(super) fn news(text: &str) -> Result<Value, serde_json::Error> {
    let mut chunk = serde_json::Deserializer::from_str(text);
    let value = chunk.deserialize_any(News)?;
    chunk.end()?;
    Ok(value)
}

const REPEATED: &[&str] =
    &["id", "created", "model", "service_tier", "system_fingerprint", "obfuscation"];

struct News;

impl<'de> Visitor<'de> for News {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a chunk of a reply")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(key) = fields.next_key::<std::borrow::Cow<'de, str>>()? {
            if REPEATED.contains(&&*key) {
                fields.next_value::<IgnoredAny>()?;
            } else {
                kept.insert(key.into_owned(), fields.next_value()?);
            }
        }
        Ok(Value::Object(kept))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_repeated_is_skipped_and_nothing_else() {
        let chunk = r#"{"id":"c","choices":[{"delta":{"content":"x"}}],"model":"m","usage":null,"timings":{"a":1}}"#;
        let kept =
            json!({"choices": [{"delta": {"content": "x"}}], "usage": null, "timings": {"a": 1}});
        assert_eq!(news(chunk).unwrap(), kept);
    }

    #[test]
    fn what_is_no_object_or_goes_on_is_refused() {
        for odd in ["[1]", "1", "\"x\"", "{} {}", "{\"id\":", "", "{\"id\": nope}"] {
            assert!(news(odd).is_err(), "{odd}");
        }
    }
}
