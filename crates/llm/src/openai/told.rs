//! Reads an event of a streamed reply without what its response only repeats of the request.
//!
//! A vendor says again, up to three times in each reply, which tools and instructions it was given: often more text than
//! all the rest. Nobody asks the vendor for it (see `resource`), so it is passed over and never built.
//! Called for every event. Never fails on anything but text that is no JSON.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// What a response repeats.
const ECHOED: &[&str] = &["instructions", "metadata", "text", "tool_choice", "tools"];

/// The fields of an event; none if it is no object.
pub(super) fn event(data: &str) -> Result<Option<Map<String, Value>>, serde_json::Error> {
    let mut text = serde_json::Deserializer::from_str(data);
    let event = Object::Event.deserialize(&mut text)?;
    text.end()?;
    Ok(event)
}

/// Which object is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Object {
    Event,
    Response,
}

impl<'de> DeserializeSeed<'de> for Object {
    type Value = Option<Map<String, Value>>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Object {
    type Value = Option<Map<String, Value>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            if self == Self::Response && ECHOED.contains(&key.as_str()) {
                from.next_value::<IgnoredAny>()?;
            } else if self == Self::Event && key == "response" {
                if let Some(response) = from.next_value_seed(Self::Response)? {
                    fields.insert(key, Value::Object(response));
                }
            } else {
                fields.insert(key, from.next_value()?);
            }
        }
        Ok(Some(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        while from.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_a_response_repeats_of_the_request_is_passed_over() {
        let data = json!({
            "type": "response.created",
            "tools": 1,
            "response": {"id": "r", "tools": [{"a": [1]}], "instructions": "x", "top_p": 0.5, "output": [{"text": "t"}]},
        });
        let expected = json!({
            "type": "response.created",
            "tools": 1,
            "response": {"id": "r", "top_p": 0.5, "output": [{"text": "t"}]},
        });
        let event = event(&data.to_string()).unwrap();
        assert_eq!(event.map(Value::Object), Some(expected));
    }

    #[test]
    fn anything_else_is_no_event_and_what_is_no_json_is_an_error() {
        for text in ["null", "true", "1", "-1", "1.5", "\"a\"", "[{\"a\": [1]}]"] {
            assert_eq!(event(text).unwrap(), None, "{text}");
        }
        for text in ["", "{", "{} {}", "{\"response\": }", "[1", "nul"] {
            assert!(event(text).is_err(), "{text}");
        }
        let event = event("{\"response\": [1], \"type\": \"x\"}").unwrap();
        assert_eq!(event.map(Value::Object), Some(json!({"type": "x"})));
    }
}
