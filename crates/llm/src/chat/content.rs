//! Decides how content is written in the chat completions format: texts, images, files, and the results of calls.
//! Called by `messages`. What a host or a model cannot be shown is put in words; texts are borrowed, not copied.

use std::borrow::Cow;

use agent_world_core::item::Part;
use serde::Serialize;
use serde_json::Value;

use super::flavour::{Files, Flavour};
use crate::Capabilities;
use crate::origin::in_words;

/// The content of a message.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Shown<'a>>),
}

/// One part of a content.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Shown<'a> {
    Text {
        text: Cow<'a, str>,
    },
    ImageUrl {
        image_url: ImageUrl<'a>,
    },
    File {
        file: File<'a>,
    },
    DocumentUrl {
        document_url: &'a str,
    },
    Thinking {
        thinking: Vec<Shown<'a>>,
    },
    /// A part that this format writes as ours does.
    #[serde(untagged)]
    AsItIs(&'a Value),
}

#[derive(Debug, Serialize)]
pub(super) struct ImageUrl<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(super) struct File<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_data: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_id: Option<&'a str>,
}

/// What a result shows: its text, and what only a user's message can hold.
#[derive(Debug, Default)]
pub(super) struct Result<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) images: Vec<Shown<'a>>,
}

/// Who is shown the content.
#[derive(Clone, Copy, Debug)]
pub(super) struct Viewer<'a> {
    pub(super) flavour: &'a Flavour,
    pub(super) capabilities: &'a Capabilities,
}

impl<'a> Shown<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into() }
    }
}

impl Viewer<'_> {
    /// The content of a user's message.
    pub(super) fn content<'a>(&self, parts: &'a [Part]) -> Content<'a> {
        self.joined(parts.iter().map(|part| self.shown(part)).collect())
    }

    /// The content of a message that can hold nothing but texts.
    pub(super) fn texts<'a>(&self, parts: &'a [Part]) -> Content<'a> {
        self.joined(parts.iter().map(|part| Shown::Text { text: worded(part) }).collect())
    }

    /// The result of a call.
    pub(super) fn result<'a>(&self, output: &'a Value) -> Result<'a> {
        match output {
            Value::String(text) => Result { text: text.into(), images: Vec::new() },
            Value::Null => Result::default(),
            Value::Array(parts) if parts.iter().all(is_part) => self.result_of(parts),
            other => Result { text: other.to_string().into(), images: Vec::new() },
        }
    }

    fn result_of<'a>(&self, parts: &'a [Value]) -> Result<'a> {
        let mut texts: Vec<Cow<'a, str>> = Vec::new();
        let mut images = Vec::new();
        for part in parts {
            let field = |key: &str| part.get(key).and_then(Value::as_str);
            match (field("text").or_else(|| field("refusal")), field("image_url")) {
                (Some(text), _) => texts.push(text.into()),
                (None, Some(url)) if self.capabilities.vision => images.push(image(url, None)),
                _ => {
                    let part = serde_json::from_value(part.clone());
                    texts.push(in_words(&part.unwrap_or(Part::Unknown(Value::Null))).into());
                }
            }
        }
        if texts.is_empty() && !images.is_empty() {
            texts.push("[the result is shown in the next message]".into());
        }
        Result { text: join(texts, "\n"), images }
    }

    fn joined<'a>(&self, parts: Vec<Shown<'a>>) -> Content<'a> {
        let all_text = parts.iter().all(|part| matches!(part, Shown::Text { .. }));
        if all_text && (parts.len() < 2 || !self.flavour.text_parts) {
            let text = |part| match part {
                Shown::Text { text } => Some(text),
                _ => None,
            };
            Content::Text(join(parts.into_iter().filter_map(text).collect(), "\n\n"))
        } else {
            Content::Parts(parts)
        }
    }

    fn shown<'a>(&self, part: &'a Part) -> Shown<'a> {
        match part {
            Part::InputImage { image_url: Some(url), extra, .. } if self.capabilities.vision => {
                image(url, extra.get("detail").and_then(Value::as_str))
            }
            Part::InputFile { filename, file_data, file_url, file_id, .. } => {
                let file = File {
                    filename: filename.as_deref(),
                    file_data: file_data.as_deref(),
                    file_id: file_id.as_deref(),
                };
                let address = file_url.as_deref().or(file_data.as_deref());
                match (self.flavour.files, address) {
                    (Files::File, _) if file_data.is_some() || file_id.is_some() => {
                        Shown::File { file }
                    }
                    (Files::Document, Some(document_url)) => Shown::DocumentUrl { document_url },
                    _ => Shown::Text { text: worded(part) },
                }
            }
            Part::Unknown(value)
                if self.flavour.files == Files::File
                    && value.get("type").is_some_and(|kind| kind == "input_audio") =>
            {
                Shown::AsItIs(value)
            }
            part => Shown::Text { text: worded(part) },
        }
    }
}

/// Texts with something between them; one alone stays as it is.
pub(super) fn join<'a>(mut texts: Vec<Cow<'a, str>>, between: &str) -> Cow<'a, str> {
    match texts.len() {
        0 => Cow::Borrowed(""),
        1 => texts.swap_remove(0),
        _ => Cow::Owned(texts.join(between)),
    }
}

/// The text of a part, or words for what it is.
pub(super) fn worded(part: &Part) -> Cow<'_, str> {
    match part.text() {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(in_words(part)),
    }
}

fn image<'a>(url: &'a str, detail: Option<&'a str>) -> Shown<'a> {
    let detail = detail.filter(|detail| matches!(*detail, "auto" | "low" | "high"));
    Shown::ImageUrl { image_url: ImageUrl { url, detail } }
}

fn is_part(value: &Value) -> bool {
    let kind = value.get("type").and_then(Value::as_str);
    matches!(
        kind,
        Some("input_text" | "output_text" | "refusal" | "text" | "input_image" | "input_file")
    )
}
