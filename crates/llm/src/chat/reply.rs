//! Decides what a reply in the chat completions format says: one message whole, or the same message in deltas.
//! Called by `Chat` for both, so that both give the same items. Knows the envelope; what a message holds is read by
//! `turn`. Tolerates what compatible hosts leave out, add or write in another type.

use serde_json::Value;

use super::envelope;
use super::flavour::Flavour;
use super::turn::Turn;
use super::usage;
use crate::dialect::{Asked, Reader};
use crate::explain;
use crate::frames::Frame;
use crate::{Class, Draft, Error, Response};

/// Reads a whole reply.
pub(super) fn whole(body: &[u8], flavour: &Flavour, asked: &Asked) -> Result<Response, Error> {
    let text = std::str::from_utf8(body)
        .map_err(|_| asked.error(Class::Server, "the reply is not text"))?;
    let value: Value =
        serde_json::from_str(text).map_err(|error| asked.unreadable("the reply", &error))?;
    let mut draft = Draft::new();
    let mut listener = Listener::new(flavour, asked);
    listener.take(&value, text, &mut draft)?;
    if !listener.chosen {
        return Err(asked.error(Class::Server, "the reply holds no choice"));
    }
    // A host that answers whole and gives no reason has said all it had to say.
    listener.finish.get_or_insert_default();
    listener.finish(&mut draft)?;
    draft
        .into_response()
        .ok_or_else(|| asked.error(Class::Server, "the reply came to no end; ask again"))
}

/// Reads a reply from its envelopes.
#[derive(Debug)]
pub(super) struct Listener {
    asked: Asked,
    turn: Turn,
    /// Whether a choice was among what came.
    chosen: bool,
    /// Why the model stopped, once it has.
    finish: Option<String>,
}

impl Listener {
    pub(super) fn new(flavour: &Flavour, asked: &Asked) -> Self {
        Self { asked: asked.clone(), turn: Turn::new(flavour, asked), chosen: false, finish: None }
    }

    /// Takes a chunk, or a whole reply, which is the same with a `message` for its `delta`.
    fn take(&mut self, value: &Value, text: &str, draft: &mut Draft) -> Result<(), Error> {
        if let Some(error) = failure(value) {
            return Err(explain::value(&self.asked.vendor, error));
        }
        head(value, draft);
        draft.start();
        let choices = value.get("choices").and_then(Value::as_array);
        // Only the first of several answers counts; in a stream each says which it belongs to.
        let choice = choices.into_iter().flatten().enumerate().find(|(_, choice)| {
            choice.get("index").and_then(Value::as_u64).unwrap_or_default() == 0
        });
        let counted = [
            value.get("usage"),
            value.get("x_groq").and_then(|groq| groq.get("usage")),
            choice.and_then(|(_, choice)| choice.get("usage")),
        ];
        if let Some(usage) = counted.into_iter().flatten().find_map(usage::read) {
            draft.usage(usage);
        }
        let Some((place, choice)) = choice else { return Ok(()) };
        if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
            return Err(explain::value(&self.asked.vendor, error));
        }
        self.chosen = true;
        match (choice.get("delta"), choice.get("message")) {
            (Some(delta), _) if delta.is_object() => {
                self.turn.take(delta, false, &|| raw_arguments(text, place), draft);
            }
            (_, Some(message)) => {
                self.turn.take(message, true, &|| raw_arguments(text, place), draft);
            }
            _ => {}
        }
        match choice.get("finish_reason").and_then(Value::as_str) {
            Some(reason) if !reason.is_empty() => self.finish = Some(reason.to_owned()),
            _ => {}
        }
        Ok(())
    }

    /// The reply is whole.
    fn finish(&mut self, draft: &mut Draft) -> Result<(), Error> {
        let Some(reason) = &self.finish else {
            return Err(self
                .asked
                .error(Class::StreamCut, "the stream ended without saying why the model stopped"));
        };
        let end = End::of(reason);
        if let End::Failed(class) = end {
            let message = format!("the host gave up on the reply: {reason}");
            return Err(self.asked.error(class, message));
        }
        if draft.response().model.is_empty() {
            draft.response_mut().model.clone_from(&self.asked.model);
        }
        self.turn.finish(end == End::Limit, draft);
        match end {
            End::Limit => draft.incomplete("max_output_tokens"),
            End::Filter => draft.incomplete("content_filter"),
            End::Natural | End::Failed(_) => draft.complete(),
        }
        Ok(())
    }
}

impl Reader for Listener {
    fn read(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        let data = frame.data.trim();
        if data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            return self.finish(draft);
        }
        let value = match is_introduced(draft.response()) {
            // What is odd about a chunk is found by reading all of it.
            true => envelope::news(data).or_else(|_| serde_json::from_str(data)),
            false => serde_json::from_str(data),
        };
        let value: Value =
            value.map_err(|error| self.asked.unreadable("an event of the stream", &error))?;
        if frame.event.as_deref() == Some("error") {
            return Err(explain::value(&self.asked.vendor, &value));
        }
        self.take(&value, data, draft)
    }

    fn end(&mut self, draft: &mut Draft) -> Result<(), Error> {
        // The usage follows the reason, so only the end says that nothing more comes. Some hosts say nothing at the end.
        if self.finish.is_some() { self.finish(draft) } else { Ok(()) }
    }
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Natural,
    Limit,
    Filter,
    Failed(Class),
}

impl End {
    fn of(reason: &str) -> Self {
        match reason {
            "length" | "max_tokens" | "model_length" | "max_output_tokens" => Self::Limit,
            "content_filter" | "safety" | "SAFETY" => Self::Filter,
            "error" => Self::Failed(Class::Server),
            "insufficient_system_resource" => Self::Failed(Class::Overloaded),
            _ => Self::Natural,
        }
    }
}

/// What a body of success says of its failure.
fn failure(value: &Value) -> Option<&Value> {
    let named = value.get("error").is_some_and(|error| !error.is_null());
    let object = value.get("object").and_then(Value::as_str) == Some("error");
    let detail = value.get("choices").is_none() && value.get("detail").is_some();
    (named || object || detail).then_some(value)
}

/// Whether what every chunk says of the reply is known.
fn is_introduced(response: &Response) -> bool {
    !response.id.is_empty() && !response.model.is_empty() && response.created_at.is_some()
}

/// What is said of the reply beside its message. The first chunk of some hosts leaves it blank.
fn head(value: &Value, draft: &mut Draft) {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let response = draft.response_mut();
    if response.id.is_empty() {
        text("id").clone_into(&mut response.id);
    }
    if response.model.is_empty() {
        text("model").clone_into(&mut response.model);
    }
    if response.created_at.is_none() {
        response.created_at = value.get("created").and_then(Value::as_i64);
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        // Every chunk repeats them.
        let news = response.extra.get(key) != Some(value);
        if news && !value.is_null() && !HEAD.contains(&key.as_str()) {
            response.extra.insert(key.clone(), value.clone());
        }
    }
}

/// Fields that are read elsewhere, that say nothing, or whose names mean something else in our own response.
const HEAD: &[&str] = &[
    "id",
    "object",
    "model",
    "created",
    "created_at",
    "choices",
    "usage",
    "error",
    "obfuscation",
    "status",
    "output",
    "incomplete_details",
];

/// The arguments of a choice's calls as they were written, for hosts that write an object where the format has a text.
fn raw_arguments(text: &str, place: usize) -> Vec<Option<String>> {
    let Ok(mut outline) = serde_json::from_str::<outline::Reply<'_>>(text) else {
        return Vec::new();
    };
    if place >= outline.choices.len() {
        return Vec::new();
    }
    let choice = outline.choices.swap_remove(place);
    let calls = choice.delta.or(choice.message).unwrap_or_default().tool_calls;
    let raw = |call: outline::Call<'_>| Some(call.function?.arguments?.get().to_owned());
    calls.unwrap_or_default().into_iter().map(raw).collect()
}

/// Just enough of a reply to find the text of its arguments.
mod outline {
    use serde::Deserialize;
    use serde_json::value::RawValue;

    #[derive(Deserialize)]
    pub(super) struct Reply<'a> {
        #[serde(borrow, default)]
        pub(super) choices: Vec<Choice<'a>>,
    }

    #[derive(Deserialize)]
    pub(super) struct Choice<'a> {
        #[serde(borrow, default)]
        pub(super) delta: Option<Message<'a>>,
        #[serde(borrow, default)]
        pub(super) message: Option<Message<'a>>,
    }

    #[derive(Default, Deserialize)]
    pub(super) struct Message<'a> {
        #[serde(borrow, default)]
        pub(super) tool_calls: Option<Vec<Call<'a>>>,
    }

    #[derive(Deserialize)]
    pub(super) struct Call<'a> {
        #[serde(borrow, default)]
        pub(super) function: Option<Function<'a>>,
    }

    #[derive(Deserialize)]
    pub(super) struct Function<'a> {
        #[serde(borrow, default)]
        pub(super) arguments: Option<&'a RawValue>,
    }
}
