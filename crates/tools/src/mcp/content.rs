//! Decides what is kept of a tool's result: text for the model, everything else beside it, all within bounds.
//! Called by `call` with what a server sent. Never decodes an image and never follows a link.

use agent_world_core::event::Output;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Map, Value, json};

use crate::Failure;

/// Bytes of text of one result.
const TEXT_LIMIT: usize = 1024 * 1024;
/// Bytes of images, sounds and other data kept of one result, as they are encoded.
const DATA_LIMIT: usize = 4 * 1024 * 1024;

/// # Errors
/// When the tool says that it failed.
pub fn result(result: CallToolResult) -> Result<Output, Failure> {
    let failed = result.is_error == Some(true);
    let output = output(result);
    if failed { Err(Failure::Failed(output)) } else { Ok(output) }
}

fn output(result: CallToolResult) -> Output {
    let mut pieces = Vec::new();
    let mut kept = Kept::default();
    for block in result.content {
        pieces.push(told(block, &mut kept));
    }
    let mut details = Map::new();
    if let Some(structured) = result.structured_content {
        let text = structured.to_string();
        if pieces.iter().all(|piece| piece.trim().is_empty()) {
            pieces = vec![text.clone()];
        }
        if text.len() <= TEXT_LIMIT {
            details.insert("structured".to_owned(), structured);
        } else {
            pieces.push(format!("[structured content of {} left out]", size(text.len())));
        }
    }
    if !kept.data.is_empty() {
        details.insert("data".to_owned(), Value::Array(kept.data));
    }
    let details = if details.is_empty() { Value::Null } else { Value::Object(details) };
    Output { details, ..Output::text(bounded(pieces.join("\n"))) }
}

#[derive(Default)]
struct Kept {
    data: Vec<Value>,
    bytes: usize,
}

impl Kept {
    /// Keeps what still fits, and says in words what it is.
    fn keep(&mut self, kind: &str, mime_type: &str, data: String, uri: Option<&str>) -> String {
        let length = data.len() / 4 * 3;
        let mut told = format!("[{mime_type}, {}", size(length));
        if self.bytes + data.len() <= DATA_LIMIT {
            self.bytes += data.len();
            let mut entry = json!({"type": kind, "mime_type": mime_type, "data": data});
            if let (Some(uri), Some(fields)) = (uri, entry.as_object_mut()) {
                fields.insert("uri".to_owned(), json!(uri));
            }
            self.data.push(entry);
        } else {
            told.push_str(", too large to be kept");
        }
        told.push(']');
        told
    }
}

fn told(block: ContentBlock, kept: &mut Kept) -> String {
    match block {
        ContentBlock::Text(text) => text.text,
        ContentBlock::Image(image) => kept.keep("image", &image.mime_type, image.data, None),
        ContentBlock::Audio(audio) => kept.keep("audio", &audio.mime_type, audio.data, None),
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[resource {uri}]\n{text}")
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let mime_type = mime_type.as_deref().unwrap_or("application/octet-stream");
                let told = kept.keep("resource", mime_type, blob, Some(&uri));
                format!("[resource {uri}] {told}")
            }
            _ => "[a resource of a kind that is not known]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => {
            let mut told = format!("[resource link {}: {}", link.name, link.uri);
            for fact in [&link.mime_type, &link.description].into_iter().flatten() {
                told.push_str(", ");
                told.push_str(fact);
            }
            told.push(']');
            told
        }
        _ => "[content of a kind that is not known]".to_owned(),
    }
}

fn bounded(mut text: String) -> String {
    if text.len() > TEXT_LIMIT {
        let whole = text.len();
        let end = text.floor_char_boundary(TEXT_LIMIT);
        text.truncate(end);
        text.push_str(&format!("\n[cut: {} of {} shown]", size(end), size(whole)));
    }
    text
}

/// As people say it.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(result: Value) -> Result<Output, Failure> {
        super::result(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn everything_is_told_and_data_is_kept_beside_the_text() {
        let output = read(json!({"content": [
            {"type": "text", "text": "hello"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA".repeat(4000)},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAA"}},
            {"type": "resource_link", "uri": "file:///c", "name": "c", "mimeType": "text/plain"}
        ]}))
        .unwrap();
        assert_eq!(
            output.text,
            "hello\n[image/png, 12 kB]\n[resource file:///a]\ninside\n\
             [resource file:///b] [application/octet-stream, 3 B]\n\
             [resource link c: file:///c, text/plain]"
        );
        assert_eq!(output.details["data"].as_array().unwrap().len(), 2);
        assert_eq!(output.details["data"][1]["uri"], "file:///b");
    }

    #[test]
    fn structured_content_is_kept_and_stands_in_for_missing_text() {
        let structured = json!({"b": 1, "a": [2]});
        let alone = read(json!({"content": [], "structuredContent": structured})).unwrap();
        assert_eq!(alone.text, r#"{"b":1,"a":[2]}"#);
        assert_eq!(alone.details["structured"], structured);
        let both = json!({"content": [{"type": "text", "text": "t"}], "structuredContent": 1});
        assert_eq!(read(both).unwrap().text, "t");
    }

    #[test]
    fn a_failure_is_a_failure_with_its_words() {
        let failed = read(json!({"content": [{"type": "text", "text": "no"}], "isError": true}));
        assert_eq!(failed, Err(Failure::text("no")));
    }

    #[test]
    fn results_of_hostile_size_are_cut_and_say_so() {
        let text = "é".repeat(TEXT_LIMIT);
        let output = read(json!({"content": [{"type": "text", "text": text}]})).unwrap();
        assert!(output.text.len() < TEXT_LIMIT + 100);
        assert!(output.text.ends_with("[cut: 1.0 MB of 2.0 MB shown]"));
        let image =
            json!({"type": "image", "mimeType": "image/png", "data": "A".repeat(3_000_000)});
        let output = read(json!({"content": [image, image]})).unwrap();
        assert!(output.text.ends_with("too large to be kept]"), "{}", output.text);
        assert_eq!(output.details["data"].as_array().unwrap().len(), 1);
    }
}
