//! Decides how Ollama's messages are written down, in both directions.
//! Used by the reading and the writing half of the dialect. Borrows wherever it can and decides nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// One object of a reply: a piece of it, or all of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Line<'a> {
    pub model: Option<String>,
    pub created_at: Option<String>,
    #[serde(borrow)]
    pub message: Option<Said<'a>>,
    pub done: Option<bool>,
    pub done_reason: Option<String>,
    pub prompt_eval_count: Value,
    pub eval_count: Value,
    pub total_duration: Value,
    pub load_duration: Value,
    pub prompt_eval_duration: Value,
    pub eval_duration: Value,
    pub error: Value,
    /// Beside an error: the status it would have come with, had the stream not begun.
    pub status: Value,
    pub code: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Said<'a> {
    pub content: Option<String>,
    pub thinking: Option<String>,
    #[serde(borrow)]
    pub tool_calls: Option<Vec<Wish<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wish<'a> {
    pub id: Option<String>,
    #[serde(borrow)]
    pub function: Option<WishedFunction<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct WishedFunction<'a> {
    pub index: Value,
    pub name: Option<String>,
    /// An object, whose text is kept as it came.
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
}

/// One message of a conversation.
#[derive(Debug, Default, Serialize)]
pub struct Message<'a> {
    pub role: &'static str,
    pub content: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub thinking: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    pub function: CalledFunction<'a>,
}

#[derive(Debug, Serialize)]
pub struct CalledFunction<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<&'a Value>,
    pub name: &'a str,
    pub arguments: Arguments<'a>,
}

/// Ollama takes an object and nothing else.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Arguments<'a> {
    Object(&'a RawValue),
    None {},
    /// What a model wrote instead of an object.
    Text {
        arguments: &'a str,
    },
}

#[derive(Debug, Serialize)]
pub struct Tool<'a> {
    pub r#type: &'static str,
    pub function: ToolFunction<'a>,
}

#[derive(Debug, Serialize)]
pub struct ToolFunction<'a> {
    pub name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub description: &'a str,
    pub parameters: Cow<'a, Value>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Format<'a> {
    Name(&'static str),
    Schema(&'a Value),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Think {
    Switch(bool),
    Effort(&'static str),
}

/// A request. The caller's own settings win, field by field.
#[derive(Debug)]
pub struct Body<'a> {
    pub model: &'a str,
    pub messages: Vec<Message<'a>>,
    pub stream: bool,
    pub tools: Vec<Tool<'a>>,
    pub think: Option<Think>,
    pub format: Option<Format<'a>>,
    pub options: BTreeMap<&'static str, Value>,
    pub settings: Option<&'a Map<String, Value>>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = Fields { map: serializer.serialize_map(None)?, settings: self.settings };
        fields.add("model", Some(self.model))?;
        fields.add("messages", Some(&self.messages))?;
        fields.add("stream", Some(self.stream))?;
        fields.add("tools", (!self.tools.is_empty()).then_some(&self.tools))?;
        fields.add("think", self.think.as_ref())?;
        fields.add("format", self.format.as_ref())?;
        fields.add("options", (!self.options.is_empty()).then_some(&self.options))?;
        for (key, value) in self.settings.into_iter().flatten() {
            if !FIELDS.contains(&key.as_str()) {
                fields.map.serialize_entry(key, value)?;
            }
        }
        fields.map.end()
    }
}

const FIELDS: &[&str] = &["model", "messages", "stream", "tools", "think", "format", "options"];

struct Fields<'a, M> {
    map: M,
    settings: Option<&'a Map<String, Value>>,
}

impl<M: serde::ser::SerializeMap> Fields<'_, M> {
    /// Only a field that the caller changes in part is made a value first; messages are written as they are.
    fn add(&mut self, key: &'static str, value: Option<impl Serialize>) -> Result<(), M::Error> {
        match (value, self.settings.and_then(|settings| settings.get(key))) {
            (Some(value), None) => self.map.serialize_entry(key, &value),
            (Some(value), Some(setting @ Value::Object(_))) => {
                let mut merged = serde_json::to_value(value).map_err(serde::ser::Error::custom)?;
                merge(&mut merged, setting);
                self.map.serialize_entry(key, &merged)
            }
            (_, Some(setting)) => self.map.serialize_entry(key, setting),
            (None, None) => Ok(()),
        }
    }
}

/// Objects are merged, everything else is replaced.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                match into.get_mut(key) {
                    Some(old) => merge(old, value),
                    None => {
                        into.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (into, from) => *into = from.clone(),
    }
}
