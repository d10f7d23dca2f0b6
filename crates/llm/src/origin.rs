//! Decides how an item remembers which vendor made it, and what only that vendor understands of it.
//! Marked by every dialect when it reads a reply, asked when it writes a request: what came from the same vendor goes
//! back as it came; of everything else only what all vendors understand is sent.

use agent_world_core::item::{Item, Part};
use serde_json::{Map, Value};

/// The field of an item that says where it came from. Ours alone: no vendor is sent it.
pub const ORIGIN: &str = "origin";

/// Where an item came from. Further fields are the dialect's own.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a>(&'a Map<String, Value>);

impl<'a> Origin<'a> {
    /// The origin of an item that this vendor made.
    pub fn by(item: &'a Item, vendor: &str) -> Option<Self> {
        Self::of(item).filter(|origin| origin.vendor() == Some(vendor))
    }

    pub fn of(item: &'a Item) -> Option<Self> {
        fields(item)?.get(ORIGIN)?.as_object().map(Self)
    }

    pub fn vendor(self) -> Option<&'a str> {
        self.text("vendor")
    }

    /// The model that made it.
    pub fn model(self) -> Option<&'a str> {
        self.text("model")
    }

    pub fn text(self, key: &str) -> Option<&'a str> {
        self.get(key)?.as_str()
    }

    pub fn get(self, key: &str) -> Option<&'a Value> {
        self.0.get(key)
    }
}

/// Notes on an item which vendor's model made it.
pub fn mark(item: &mut Item, vendor: &str, model: &str) {
    note(item, "vendor", vendor.into());
    if !model.is_empty() {
        note(item, "model", model.into());
    }
}

/// Notes something that only the vendor who made the item understands.
pub fn note(item: &mut Item, key: &str, value: Value) {
    if let Some(fields) = fields_mut(item) {
        let origin = fields.entry(ORIGIN).or_insert(Value::Null);
        // A vendor may have a field of the same name; ours is never sent, so nothing of it would come back anyway.
        if !origin.is_object() {
            *origin = Value::Object(Map::new());
        }
        if let Value::Object(origin) = origin {
            origin.insert(key.to_owned(), value);
        }
    }
}

/// The fields of an item beside those that its type names.
pub fn fields(item: &Item) -> Option<&Map<String, Value>> {
    match item {
        Item::Message(message) => Some(&message.extra),
        Item::FunctionCall(call) => Some(&call.extra),
        Item::FunctionCallOutput(output) => Some(&output.extra),
        Item::Reasoning(reasoning) => Some(&reasoning.extra),
        Item::Unknown(value) => value.as_object(),
    }
}

fn fields_mut(item: &mut Item) -> Option<&mut Map<String, Value>> {
    match item {
        Item::Message(message) => Some(&mut message.extra),
        Item::FunctionCall(call) => Some(&mut call.extra),
        Item::FunctionCallOutput(output) => Some(&mut output.extra),
        Item::Reasoning(reasoning) => Some(&mut reasoning.extra),
        Item::Unknown(value) => value.as_object_mut(),
    }
}

/// What a person reads of a reasoning item: its summary, or else the thoughts themselves.
pub fn thoughts(reasoning: &agent_world_core::item::Reasoning) -> String {
    let texts = |parts: &[Value]| -> String {
        let texts: Vec<&str> =
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
        texts.join("\n\n")
    };
    let summary = texts(&reasoning.summary);
    if !summary.is_empty() {
        return summary;
    }
    match reasoning.extra.get("content") {
        Some(Value::Array(parts)) => texts(parts),
        _ => String::new(),
    }
}

/// The text of a message's part, in words where the part is something else: for a vendor that cannot take it.
pub fn in_words(part: &Part) -> String {
    match part {
        Part::InputText { text, .. } | Part::OutputText { text, .. } => text.clone(),
        Part::Refusal { refusal, .. } => refusal.clone(),
        Part::InputImage { image_url: Some(url), .. } if !url.starts_with("data:") => {
            format!("[image: {url}]")
        }
        Part::InputImage { .. } => "[an image that this model cannot be shown]".to_owned(),
        Part::InputFile { filename: Some(name), .. } => {
            format!("[file {name}, which this model cannot be shown]")
        }
        Part::InputFile { .. } => "[a file that this model cannot be shown]".to_owned(),
        Part::Unknown(value) => match value.get("type").and_then(Value::as_str) {
            Some(kind) => format!("[{kind}, which this model cannot be shown]"),
            None => "[something that this model cannot be shown]".to_owned(),
        },
    }
}

#[cfg(test)]
#[path = "origin_tests.rs"]
mod tests;
