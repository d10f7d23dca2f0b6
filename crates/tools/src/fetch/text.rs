//! Decides what a page says: in which characters it is written, and what of it is text.
//! Called by `page`. Does no IO. Never shows bytes that are no text.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use reqwest::Url;

use super::html;

/// Bytes at the beginning of HTML in which its characters may be declared.
const HEAD: usize = 1024;
/// Bytes of text made from a page.
const LIMIT: usize = 1024 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub enum Content {
    Text(String),
    /// And how it is packed, if it is.
    Binary(Option<String>),
}

/// How HTML is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Readable,
    Raw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Html,
    Text,
    /// It was not said.
    Unknown,
    Other,
}

/// The body of a page as text. HTML stays as it is when it is wanted raw.
pub fn read(content_type: Option<&str>, body: &[u8], url: &Url, form: Form) -> Content {
    let kind = kind_of(content_type);
    if kind == Kind::Other || body.is_empty() {
        return Content::Binary(None);
    }
    let declared = content_type.and_then(charset);
    if kind == Kind::Unknown && declared.is_none() && !looks_like_text(body) {
        return Content::Binary(None);
    }
    let text = decode(body, declared, kind);
    if text.contains('\0') {
        return Content::Binary(None);
    }
    let text =
        if kind == Kind::Html && form == Form::Readable { html::plain(&text, url) } else { text };
    Content::Text(bounded(text))
}

fn kind_of(content_type: Option<&str>) -> Kind {
    let Some(content_type) = content_type else {
        return Kind::Unknown;
    };
    let name = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match name.as_str() {
        "text/html" | "application/xhtml+xml" => Kind::Html,
        "" | "application/octet-stream" | "application/unknown" => Kind::Unknown,
        "application/json"
        | "application/xml"
        | "application/javascript"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/x-ndjson"
        | "application/sql"
        | "application/x-sh"
        | "application/graphql"
        | "application/ecmascript"
        | "application/x-javascript"
        | "application/jsonlines"
        | "image/svg+xml" => Kind::Text,
        name if name.starts_with("text/") => Kind::Text,
        name if name.ends_with("+json") || name.ends_with("+xml") || name.ends_with("+yaml") => {
            Kind::Text
        }
        _ => Kind::Other,
    }
}

fn charset(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| Encoding::for_label(value.trim().trim_matches('"').as_bytes()))?
    })
}

// The cut of a body may go through its last character. That alone, after nothing but ASCII, is no sign of UTF-8.
fn looks_like_text(body: &[u8]) -> bool {
    !body.contains(&0)
        && match std::str::from_utf8(body) {
            Ok(_) => true,
            Err(error) => {
                let before = body.get(..error.valid_up_to()).unwrap_or_default();
                error.error_len().is_none() && !before.is_ascii()
            }
        }
}

/// A byte order mark says it best, then the server, then the page. Otherwise it is UTF-8, or what the web was written
/// in before.
fn decode(body: &[u8], declared: Option<&'static Encoding>, kind: Kind) -> String {
    let in_page = || (kind == Kind::Html).then(|| declared_in(body)).flatten();
    let guessed = || if looks_like_text(body) { UTF_8 } else { WINDOWS_1252 };
    let encoding = declared.or_else(in_page).unwrap_or_else(guessed);
    // A mark is looked for first, and is no part of the text.
    let (text, _, _) = encoding.decode(body);
    text.into_owned()
}

/// What `<meta charset=...>` or the older form of it says.
fn declared_in(body: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(body.get(..HEAD).unwrap_or(body)).to_ascii_lowercase();
    let meta = head.get(head.find("<meta")?..)?;
    let (_, value) = meta.split_once("charset")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let end = value.find(|one: char| !one.is_ascii_alphanumeric() && !"-_.:".contains(one));
    let label = value.get(..end.unwrap_or(value.len()))?;
    // A page that could be read so far is not in two bytes for each character, whatever it says.
    Encoding::for_label(label.as_bytes()).map(Encoding::output_encoding)
}

fn bounded(mut text: String) -> String {
    if text.len() > LIMIT {
        let left = text.len() - LIMIT;
        text.truncate(text.floor_char_boundary(LIMIT));
        text.push_str(&format!("\n[cut: about {left} more bytes of text]"));
    }
    text
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
