//! Decides how the pieces of a request look on the wire, borrowed from the conversation they are made of.
//! Made by `conversation`, `media` and `results`. Knows no rules about what may follow what.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// What one side says before the other does.
#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    /// A system instruction has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Side>,
    pub parts: Vec<Part<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Side {
    User,
    Model,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Part<'a> {
    Made(Box<Made<'a>>),
    /// As the vendor sent it.
    Raw(&'a Value),
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Made<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline_data: Option<Blob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_data: Option<FileData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function_call: Option<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function_response: Option<CallResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob<'a> {
    pub mime_type: Cow<'a, str>,
    pub data: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<&'static str>,
    pub file_uri: Cow<'a, str>,
}

#[derive(Debug, Serialize)]
pub(super) struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    pub name: Cow<'a, str>,
    pub args: Object<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct CallResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    pub name: Cow<'a, str>,
    pub response: Object<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part<'a>>,
}

/// A JSON object: the vendor takes nothing else for arguments and results.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Object<'a> {
    /// In the very words in which it came.
    Raw(&'a RawValue),
    Value(&'a Value),
    /// Something else, under a name.
    Named(Named<'a>),
    Empty {},
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Named<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Output<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Text(Cow<'a, str>),
    Value(&'a Value),
}

impl Content<'_> {
    /// A part with nothing in it is taken where nothing else is said, and refused by some hosts where something is.
    pub fn tidy(&mut self) {
        if self.parts.iter().all(Part::is_empty) {
            self.parts.truncate(1);
        } else {
            self.parts.retain(|part| !part.is_empty());
        }
    }
}

impl<'a> Part<'a> {
    fn is_empty(&self) -> bool {
        match self {
            Self::Made(made) => {
                made.text.as_deref() == Some("") && made.thought_signature.is_none()
            }
            Self::Raw(_) => false,
        }
    }

    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Made { text: Some(text.into()), ..Made::default() }.into()
    }

    pub fn inline(mime_type: impl Into<Cow<'a, str>>, data: &'a str) -> Self {
        let blob = Blob { mime_type: mime_type.into(), data };
        Made { inline_data: Some(blob), ..Made::default() }.into()
    }

    pub fn file(mime_type: Option<&'static str>, uri: impl Into<Cow<'a, str>>) -> Self {
        let file = FileData { mime_type, file_uri: uri.into() };
        Made { file_data: Some(file), ..Made::default() }.into()
    }
}

impl<'a> From<Made<'a>> for Part<'a> {
    fn from(made: Made<'a>) -> Self {
        Self::Made(Box::new(made))
    }
}

impl<'a> Object<'a> {
    /// The text when it is a JSON object, so that its bytes stay as they are.
    pub fn raw(text: &'a str) -> Option<Self> {
        if !text.trim_start().starts_with('{') {
            return None;
        }
        serde_json::from_str::<&RawValue>(text).ok().map(Self::Raw)
    }
}
