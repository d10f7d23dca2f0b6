//! Messages as clients send them: a text, or parts in the *Responses* format.

use agent_world_core::item::Part;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::Message;
use crate::problem::Problem;

/// A message to post.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMessage {
    pub content: Content,
    /// `human` unless said; or `world`, `system`, an agent's id.
    pub sender: Option<String>,
    /// A message of the same chat.
    pub reply_to: Option<String>,
    /// What becomes of calls that need a person's approval.
    #[serde(default)]
    pub on_approval: OnApproval,
}

/// A new text for a message. Its images and files stay.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    pub content: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct PostedMessage {
    pub message: Message,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnApproval {
    /// They wait for a person.
    #[default]
    Ask,
    /// They are denied at once: nobody can be asked.
    Deny,
}

#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "content must be a text, or a list of input_text, input_image and input_file parts"
)]
pub(crate) enum Content {
    Text(String),
    Parts(Vec<InputPart>),
}

#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(tag = "type", deny_unknown_fields)]
pub(crate) enum InputPart {
    #[serde(rename = "input_text")]
    Text { text: String },
    /// By `image_url` (also a `data:` URL) or `file_id`.
    #[serde(rename = "input_image")]
    Image {
        image_url: Option<String>,
        file_id: Option<String>,
        /// `low`, `high` or `auto`.
        detail: Option<String>,
    },
    /// By `file_data` (a `data:` URL), `file_url` or `file_id`.
    #[serde(rename = "input_file")]
    File {
        filename: Option<String>,
        file_data: Option<String>,
        file_url: Option<String>,
        file_id: Option<String>,
    },
}

impl Content {
    /// The text, and what is beside it. Texts of several parts are lines of one.
    pub fn split(self) -> Result<(String, Vec<Part>), Problem> {
        let given = match self {
            Self::Text(text) => return Ok((text, Vec::new())),
            Self::Parts(given) => given,
        };
        let (mut texts, mut parts) = (Vec::new(), Vec::new());
        for (index, part) in given.into_iter().enumerate() {
            match part {
                InputPart::Text { text } => texts.push(text),
                other => parts.push(other.part().ok_or_else(|| nothing_in(index))?),
            }
        }
        Ok((texts.join("\n"), parts))
    }
}

impl InputPart {
    /// None where it names neither content nor a place to find it.
    fn part(self) -> Option<Part> {
        match self {
            Self::Text { text } => Some(Part::InputText { text, extra: Map::new() }),
            Self::Image { image_url, file_id, detail } => {
                image_url.as_ref().or(file_id.as_ref())?;
                let detail = detail.map(|detail| ("detail".to_owned(), Value::String(detail)));
                Some(Part::InputImage { image_url, file_id, extra: detail.into_iter().collect() })
            }
            Self::File { filename, file_data, file_url, file_id } => {
                file_data.as_ref().or(file_url.as_ref()).or(file_id.as_ref())?;
                let extra = Map::new();
                Some(Part::InputFile { filename, file_data, file_url, file_id, extra })
            }
        }
    }
}

fn nothing_in(index: usize) -> Problem {
    let detail = format!(
        "part {index} of the content has nothing in it; give `image_url`, `file_data`, `file_url` or `file_id`"
    );
    Problem::unprocessable("part_empty", detail).with("field", format!("content[{index}]"))
}
