//! Decides how the result of a call is told to Gemini: always a JSON object, with images beside it.
//! Called by `conversation`, which knows the call. Never fails: whatever a tool gave is sent in some form.

use std::borrow::Cow;

use agent_world_core::item::{FunctionCallOutput, Part as Given};
use serde_json::Value;

use super::media;
use super::wire::{Named, Object, Output, Part};
use crate::{Capabilities, Thinking, origin};

/// What is told of a call whose result nobody has.
const NOTHING: &str = "no result of this call is known";

/// A result, taken apart.
pub(super) struct Told<'a> {
    pub response: Object<'a>,
    /// Images that belong to the result itself.
    pub inside: Vec<Part<'a>>,
    /// What the model can only be shown behind the results.
    pub behind: Vec<Part<'a>>,
}

pub(super) fn unknown<'a>() -> Told<'a> {
    told(Object::Named(Named {
        error: Some(Output::Text(Cow::Borrowed(NOTHING))),
        ..Named::default()
    }))
}

pub(super) fn of<'a>(output: &'a FunctionCallOutput, capabilities: &Capabilities) -> Told<'a> {
    let failed = output.extra.get("is_error") == Some(&Value::Bool(true));
    match &output.output {
        Value::String(text) => told(named(Cow::Borrowed(text), failed)),
        Value::Null => told(named(Cow::Borrowed(""), failed)),
        object @ Value::Object(_) => told(Object::Value(object)),
        Value::Array(list) => {
            match list.iter().map(Piece::read).collect::<Option<Vec<Piece<'a>>>>() {
                Some(pieces) if !pieces.is_empty() => in_pieces(pieces, failed, capabilities),
                _ => told(labelled(Output::Value(&output.output), failed)),
            }
        }
        Value::Bool(_) | Value::Number(_) => told(labelled(Output::Value(&output.output), failed)),
    }
}

/// The result in words, for where no result may stand.
pub(super) fn in_words(output: &FunctionCallOutput) -> Cow<'_, str> {
    match &output.output {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// A piece of a result in the words of the *Responses* format.
enum Piece<'a> {
    Text(&'a str),
    Image(&'a str),
    Else(String),
}

impl<'a> Piece<'a> {
    /// Nothing for what is no such piece: then the whole list is data of the tool.
    fn read(value: &'a Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        match text("type")? {
            "input_text" | "output_text" | "text" => text("text").map(Self::Text),
            "input_image" if text("image_url").is_some_and(|url| url.starts_with("data:")) => {
                text("image_url").map(Self::Image)
            }
            "input_image" | "input_file" => {
                let part: Given = serde_json::from_value(value.clone()).ok()?;
                Some(Self::Else(origin::in_words(&part)))
            }
            _ => None,
        }
    }
}

fn in_pieces<'a>(pieces: Vec<Piece<'a>>, failed: bool, capabilities: &Capabilities) -> Told<'a> {
    let mut words: Vec<Cow<'a, str>> = Vec::new();
    let mut images = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => words.push(Cow::Borrowed(text)),
            Piece::Else(text) => words.push(Cow::Owned(text)),
            Piece::Image(url) => match media::inline(url) {
                Some(image) if capabilities.vision => images.push(image),
                _ => words.push(Cow::Borrowed("[an image that this model cannot be shown]")),
            },
        }
    }
    let text = match words.len() {
        0 if !images.is_empty() => Cow::Borrowed("the images that belong to this result"),
        0 | 1 => words.pop().unwrap_or_default(),
        _ => Cow::Owned(words.join("\n")),
    };
    let mut told = told(named(text, failed));
    // Models that are told by a number how much to think take no images inside of results.
    if capabilities.accepts.thinking == Thinking::Budget {
        told.behind = images;
    } else {
        told.inside = images;
    }
    told
}

/// An object as it is, anything else under the name that the vendor's documents give it.
fn named(text: Cow<'_, str>, failed: bool) -> Object<'_> {
    if let Cow::Borrowed(text) = text
        && let Some(object) = Object::raw(text)
    {
        return object;
    }
    labelled(Output::Text(text), failed)
}

fn labelled(output: Output<'_>, failed: bool) -> Object<'_> {
    Object::Named(if failed {
        Named { error: Some(output), ..Named::default() }
    } else {
        Named { output: Some(output), ..Named::default() }
    })
}

fn told(response: Object<'_>) -> Told<'_> {
    Told { response, inside: Vec::new(), behind: Vec::new() }
}
