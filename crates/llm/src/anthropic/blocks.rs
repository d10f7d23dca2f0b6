//! Decides how a piece of content is written as a block of the Messages format: text, images, documents, calls and
//! their results. Used by `turns`. A piece that the model cannot take becomes words.

use std::borrow::Cow;

use agent_world_core::item::Part;
use base64::Engine as _;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::{Capabilities, origin};

/// Fields of a block that nobody here interprets.
pub type More<'a> = Option<&'a Map<String, Value>>;

/// One block of a turn.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(flatten)]
        more: More<'a>,
    },
    Thinking {
        thinking: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
        #[serde(flatten)]
        more: More<'a>,
    },
    RedactedThinking {
        data: &'a str,
        #[serde(flatten)]
        more: More<'a>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Input<'a>,
        #[serde(flatten)]
        more: More<'a>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Output::is_nothing")]
        content: Output<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
    },
    /// A block of the vendor that goes back as it came.
    #[serde(untagged)]
    Raw(&'a Value),
}

/// A call's arguments: an object, in the very words in which it was written.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Input<'a> {
    Raw(&'a RawValue),
    Made(Value),
}

/// What a tool gave.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Output<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

/// Where an image or a document is.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
    File { file_id: &'a str },
    Text { media_type: &'static str, data: String },
}

impl<'a> Block<'a> {
    /// Text that the vendor accepts: it refuses blocks without anything to read in them.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Option<Self> {
        let text = text.into();
        (!text.trim().is_empty()).then_some(Self::Text { text, more: None })
    }

    pub fn is_thought(&self) -> bool {
        matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. })
    }

    /// Whether the vendor must have the file that the block names.
    pub fn names_a_file(&self) -> bool {
        match self {
            Self::Image { source } | Self::Document { source, .. } => {
                matches!(source, Source::File { .. })
            }
            Self::ToolResult { content: Output::Blocks(blocks), .. } => {
                blocks.iter().any(Self::names_a_file)
            }
            _ => false,
        }
    }
}

impl<'a> Input<'a> {
    /// The vendor wants an object. Anything else is wrapped in one, so that the model sees what it wrote.
    pub fn of(arguments: &'a str) -> Self {
        let arguments = arguments.trim();
        match serde_json::from_str::<&RawValue>(arguments) {
            Ok(raw) if raw.get().starts_with('{') => Self::Raw(raw),
            Ok(raw) if raw.get() == "null" => Self::Made(json!({})),
            _ if arguments.is_empty() => Self::Made(json!({})),
            _ => Self::Made(json!({ "unreadable_arguments": arguments })),
        }
    }
}

impl<'a> Output<'a> {
    /// A text stays a text; a list of parts becomes blocks; any other JSON is told as its text.
    pub fn of(output: &'a Value, capabilities: &Capabilities) -> Self {
        match output {
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Array(parts) if parts.iter().all(is_part) => Self::Blocks(
                parts.iter().filter_map(|part| from_value(part, capabilities)).collect(),
            ),
            Value::Null => Self::Text(Cow::Borrowed("")),
            other => Self::Text(Cow::Owned(other.to_string())),
        }
    }

    pub fn is_nothing(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Blocks(blocks) => blocks.is_empty(),
        }
    }

    /// Leaves the words and gives the rest.
    pub fn take_all_but_words(&mut self) -> Vec<Block<'a>> {
        let Self::Blocks(blocks) = self else { return Vec::new() };
        let (words, rest) = std::mem::take(blocks)
            .into_iter()
            .partition(|block| matches!(block, Block::Text { .. }));
        *blocks = words;
        rest
    }

    /// The same outside of a result.
    pub fn into_blocks(self) -> Vec<Block<'a>> {
        match self {
            Self::Text(text) => Block::text(text).into_iter().collect(),
            Self::Blocks(blocks) => blocks,
        }
    }
}

/// What a person's side says in one part of a message.
pub fn from_part<'a>(part: &'a Part, capabilities: &Capabilities) -> Option<Block<'a>> {
    let made = match part {
        Part::InputText { text, .. } | Part::OutputText { text, .. } => {
            return Block::text(text.as_str());
        }
        Part::InputImage { image_url, file_id, .. } => {
            image(image_url.as_deref(), file_id.as_deref(), capabilities)
        }
        Part::InputFile { filename, file_data, file_url, file_id, .. } => {
            let file = File {
                name: filename.as_deref(),
                data: file_data.as_deref(),
                url: file_url.as_deref(),
                id: file_id.as_deref(),
            };
            file.block(capabilities)
        }
        Part::Refusal { .. } | Part::Unknown(_) => None,
    };
    made.or_else(|| Block::text(origin::in_words(part)))
}

fn is_part(value: &Value) -> bool {
    value.get("type").is_some_and(Value::is_string)
}

/// A part inside a tool's output, where parts are not typed.
fn from_value<'a>(value: &'a Value, capabilities: &Capabilities) -> Option<Block<'a>> {
    let field = |key: &str| value.get(key).and_then(Value::as_str);
    let made = match field("type") {
        Some("input_text" | "output_text" | "text") if field("text").is_some() => {
            return Block::text(field("text").unwrap_or_default());
        }
        Some("input_image") => image(field("image_url"), field("file_id"), capabilities),
        Some("input_file") => {
            let file = File {
                name: field("filename"),
                data: field("file_data"),
                url: field("file_url"),
                id: field("file_id"),
            };
            file.block(capabilities)
        }
        _ => None,
    };
    made.or_else(|| {
        let part = serde_json::from_value::<Part>(value.clone());
        let part = part.unwrap_or_else(|_| Part::Unknown(value.clone()));
        Block::text(origin::in_words(&part))
    })
}

fn image<'a>(
    url: Option<&'a str>,
    file_id: Option<&'a str>,
    capabilities: &Capabilities,
) -> Option<Block<'a>> {
    if !capabilities.vision {
        return None;
    }
    let source = match (url, file_id) {
        (Some(url), _) if url.starts_with("data:") => {
            let data = DataUrl::read(url)?;
            let media_type = match data.media_type {
                "image/jpg" => "image/jpeg",
                known @ ("image/jpeg" | "image/png" | "image/gif" | "image/webp") => known,
                _ => return None,
            };
            Source::Base64 { media_type, data: data.base64 }
        }
        (Some(url), _) if is_web(url) => Source::Url { url },
        (None, Some(file_id)) if is_our_file(file_id) => Source::File { file_id },
        _ => return None,
    };
    Some(Block::Image { source })
}

/// A file of a message.
struct File<'a> {
    name: Option<&'a str>,
    data: Option<&'a str>,
    url: Option<&'a str>,
    id: Option<&'a str>,
}

impl<'a> File<'a> {
    /// The vendor takes PDF files and plain text as documents.
    fn block(&self, capabilities: &Capabilities) -> Option<Block<'a>> {
        let source = match (self.data, self.url, self.id) {
            (Some(data), ..) => self.content(data, capabilities)?,
            (None, Some(url), _) if is_web(url) => Source::Url { url },
            (None, None, Some(file_id)) if is_our_file(file_id) => Source::File { file_id },
            _ => return None,
        };
        Some(Block::Document { source, title: self.name.filter(|name| !name.is_empty()) })
    }

    fn content(&self, data: &'a str, capabilities: &Capabilities) -> Option<Source<'a>> {
        let (media_type, base64) = match DataUrl::read(data) {
            Some(url) => (url.media_type, url.base64),
            None if data.starts_with("data:") => return None,
            // Some callers leave the type to the name.
            None if self.name?.to_ascii_lowercase().ends_with(".pdf") => ("application/pdf", data),
            None => return None,
        };
        if media_type == "application/pdf" {
            return capabilities.vision.then_some(Source::Base64 { media_type, data: base64 });
        }
        let is_text = media_type.starts_with("text/")
            || matches!(media_type, "application/json" | "application/xml" | "application/yaml");
        let bytes = base64::engine::general_purpose::STANDARD.decode(base64).ok();
        let text = bytes.filter(|_| is_text).and_then(|bytes| String::from_utf8(bytes).ok())?;
        (!text.trim().is_empty()).then_some(Source::Text { media_type: "text/plain", data: text })
    }
}

/// A `data:` URL with its content in base64.
struct DataUrl<'a> {
    media_type: &'a str,
    base64: &'a str,
}

impl<'a> DataUrl<'a> {
    fn read(url: &'a str) -> Option<Self> {
        let (head, base64) = url.strip_prefix("data:")?.split_once(',')?;
        let head = head.strip_suffix(";base64")?;
        let media_type = head.split(';').next().unwrap_or_default();
        Some(Self { media_type, base64 })
    }
}

fn is_web(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

/// The vendor's ids begin like this; the id of a file elsewhere means nothing to it.
fn is_our_file(id: &str) -> bool {
    id.starts_with("file_")
}
