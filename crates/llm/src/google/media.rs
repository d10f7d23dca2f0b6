//! Decides how images, files and sounds are shown to Gemini: inside the request, or by an address it can read.
//! Called for messages and for results of calls. What the model cannot be shown is put in words.

use agent_world_core::item::Part as Given;
use serde_json::Value;

use super::wire::Part;
use crate::{Capabilities, origin};

/// Where files are that were given to Gemini before; a bare id names one of them.
const FILES: &str = "https://generativelanguage.googleapis.com/v1beta/";

/// A part of a message as Gemini takes it.
pub(super) fn part<'a>(given: &'a Given, capabilities: &Capabilities) -> Part<'a> {
    shown(given, capabilities).unwrap_or_else(|| Part::text(origin::in_words(given)))
}

/// The part, unless it can only be put in words.
fn shown<'a>(given: &'a Given, capabilities: &Capabilities) -> Option<Part<'a>> {
    match given {
        Given::InputText { text, .. } | Given::OutputText { text, .. } => Some(Part::text(text)),
        Given::Refusal { refusal, .. } => Some(Part::text(refusal)),
        Given::InputImage { .. } if !capabilities.vision => None,
        Given::InputImage { image_url, file_id, .. } => image_url
            .as_deref()
            .and_then(|url| at(url, Some("image/jpeg")))
            .or_else(|| file_id.as_deref().and_then(kept)),
        Given::InputFile { filename, file_data, file_url, file_id, .. } => {
            let name = filename.as_deref().unwrap_or_default();
            file_data
                .as_deref()
                .and_then(|data| content(data, name))
                .or_else(|| file_url.as_deref().and_then(|url| at(url, by_ending(name))))
                .or_else(|| file_id.as_deref().and_then(kept))
        }
        Given::Unknown(value) => sound(value),
    }
}

/// What a `data:` URL holds; nothing for one that is not in base 64.
pub(super) fn inline(url: &str) -> Option<Part<'_>> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(',')?;
    let kind = kind.strip_suffix(";base64")?;
    let mime_type = kind.split(';').next().filter(|kind| !kind.is_empty()).unwrap_or("text/plain");
    Some(Part::inline(mime_type, data))
}

/// Something by its address. Addresses seldom say what they lead to; `otherwise` is what it is taken for.
fn at<'a>(url: &'a str, otherwise: Option<&'static str>) -> Option<Part<'a>> {
    if url.starts_with("data:") {
        return inline(url);
    }
    let readable = ["https://", "http://", "gs://"].iter().any(|scheme| url.starts_with(scheme));
    let path = url.split(['?', '#']).next().unwrap_or(url);
    readable.then(|| Part::file(by_ending(path).or(otherwise), url))
}

/// A file's content, as a `data:` URL or in base 64 alone.
fn content<'a>(data: &'a str, name: &str) -> Option<Part<'a>> {
    if data.starts_with("data:") {
        return inline(data);
    }
    (!data.is_empty()).then(|| Part::inline(by_ending(name).unwrap_or("application/pdf"), data))
}

/// A file that Gemini has. Ids of other vendors' files say nothing to it.
fn kept(id: &str) -> Option<Part<'_>> {
    match id {
        id if id.starts_with("files/") => Some(Part::file(None, format!("{FILES}{id}"))),
        id if id.starts_with("https://") || id.starts_with("gs://") => {
            Some(Part::file(by_ending(id), id))
        }
        _ => None,
    }
}

/// The *Responses* format has a part for sounds that `Part` does not name.
fn sound(value: &Value) -> Option<Part<'_>> {
    if value.get("type")? != "input_audio" {
        return None;
    }
    let sound = value.get("input_audio")?;
    let data = sound.get("data")?.as_str()?;
    let format = sound.get("format").and_then(Value::as_str).unwrap_or("wav");
    Some(Part::inline(format!("audio/{format}"), data))
}

fn by_ending(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "heic" => "image/heic",
        "heif" => "image/heif",
        "pdf" => "application/pdf",
        "txt" | "log" => "text/plain",
        "md" => "text/markdown",
        "html" | "htm" => "text/html",
        "csv" => "text/csv",
        "xml" => "text/xml",
        "json" => "application/json",
        "mp3" => "audio/mp3",
        "wav" => "audio/wav",
        "ogg" => "audio/ogg",
        "flac" => "audio/flac",
        "aac" => "audio/aac",
        "aiff" => "audio/aiff",
        "m4a" => "audio/m4a",
        "mp4" => "video/mp4",
        "mov" => "video/mov",
        "mpeg" | "mpg" => "video/mpeg",
        "webm" => "video/webm",
        "avi" => "video/avi",
        "wmv" => "video/wmv",
        "3gp" | "3gpp" => "video/3gpp",
        _ => return None,
    })
}
