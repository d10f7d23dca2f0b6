//! Decides what a reply of Gemini means: whole, or in chunks that are replies themselves.
//! Called by the dialect. A chunk may say that the reply is finished and be followed by more of it, so only the end of
//! the stream ends the reply.

use std::borrow::Cow;

use agent_world_core::item::{FunctionCall, Item, MessageItem, Part, Reasoning, Role};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::grounding;
use crate::dialect::{Asked, Reader};
use crate::frames::Frame;
use crate::{Class, Draft, Error, Response, Thought, Usage, explain, origin};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    prompt_feedback: Option<Value>,
    usage_metadata: Option<Value>,
    model_version: Option<String>,
    response_id: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    index: Option<u64>,
    finish_reason: Option<String>,
    finish_message: Option<Value>,
    grounding_metadata: Option<Value>,
    citation_metadata: Option<Value>,
    url_context_metadata: Option<Value>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Piece<'a> {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    #[serde(borrow)]
    function_call: Option<Call<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Call<'a> {
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    partial_args: Option<Vec<Value>>,
    will_continue: Option<bool>,
}

/// Fields of a part beside the one that says what it is.
const BESIDES: &[&str] = &["thought", "thoughtSignature", "partMetadata", "mediaResolution"];

/// Reads a whole reply.
pub(super) fn whole(body: &[u8], asked: &Asked) -> Result<Response, Error> {
    let text = str::from_utf8(body)
        .map_err(|error| asked.error(Class::Server, format!("the reply is not text: {error}")))?;
    let mut reply = Reply::new(asked.clone());
    let mut draft = Draft::new();
    reply.take(text, &mut draft)?;
    if !reply.answered {
        return Err(asked.error(Class::Server, "the reply holds no answer"));
    }
    // A body that came to its end is whole, whether it says so or not.
    reply.finish.get_or_insert_with(|| "STOP".to_owned());
    reply.end(&mut draft)?;
    draft
        .into_response()
        .ok_or_else(|| asked.error(Class::Server, "the reply holds no complete answer"))
}

/// A reply on its way.
#[derive(Debug)]
pub(super) struct Reply {
    asked: Asked,
    /// The item that may still grow.
    open: Option<Open>,
    calls: usize,
    answered: bool,
    finish: Option<String>,
    grounding: Option<Value>,
}

#[derive(Debug)]
struct Open {
    index: usize,
    kind: Kind,
    /// Where signatures came, in bytes of the text.
    signatures: Vec<Value>,
    length: usize,
}

#[derive(Debug)]
enum Kind {
    Message,
    Thought,
    Call { arguments: Arguments, whole: Option<String> },
}

impl Reader for Reply {
    fn read(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        // Gemini marks no end, but hosts of its format do.
        match frame.data.trim() {
            "" | "[DONE]" => Ok(()),
            data => self.take(data, draft),
        }
    }

    fn end(&mut self, draft: &mut Draft) -> Result<(), Error> {
        let Some(finish) = self.finish.take() else { return Ok(()) };
        self.close(draft);
        match finish.as_str() {
            "STOP" => draft.complete(),
            "MAX_TOKENS" => draft.incomplete("max_output_tokens"),
            word if FILTERED.contains(&word) => draft.incomplete("content_filter"),
            word => draft.incomplete(word),
        }
        Ok(())
    }
}

/// Ends that a filter of the vendor made. The model did not refuse: it was not let speak.
const FILTERED: &[&str] = &[
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
];

impl Reply {
    pub fn new(asked: Asked) -> Self {
        Self { asked, open: None, calls: 0, answered: false, finish: None, grounding: None }
    }

    /// Takes a chunk, or a list of them: that is how they come where no events were asked for, and how errors come.
    fn take(&mut self, text: &str, draft: &mut Draft) -> Result<(), Error> {
        let unreadable = |error| self.asked.unreadable("the reply", &error);
        let chunks: Vec<Chunk<'_>> = if text.trim_start().starts_with('[') {
            serde_json::from_str(text).map_err(unreadable)?
        } else {
            vec![serde_json::from_str(text).map_err(unreadable)?]
        };
        chunks.into_iter().try_for_each(|chunk| self.chunk(chunk, draft))
    }

    fn chunk(&mut self, chunk: Chunk<'_>, draft: &mut Draft) -> Result<(), Error> {
        if let Some(error) = chunk.error {
            return Err(explain::value(&self.asked.vendor, &json!({"error": error})));
        }
        self.known(chunk.response_id, chunk.model_version, draft);
        if let Some(usage) = chunk.usage_metadata.as_ref().and_then(usage) {
            draft.usage(usage);
        }
        let candidates = chunk.candidates.unwrap_or_default();
        if candidates.is_empty()
            && let Some(error) = chunk.prompt_feedback.as_ref().and_then(|said| self.blocked(said))
        {
            if !self.answered {
                return Err(error);
            }
            self.finish = Some("SAFETY".to_owned());
        }
        draft.start();
        for candidate in candidates {
            // More than one answer comes only to who asked for it in the vendor's own words; the first is the reply.
            if candidate.index.unwrap_or_default() == 0 {
                self.candidate(candidate, draft);
            }
        }
        Ok(())
    }

    fn known(&self, id: Option<String>, model: Option<String>, draft: &mut Draft) {
        let response = draft.response_mut();
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            response.id = id;
        }
        match model.filter(|model| !model.is_empty()) {
            Some(model) => response.model = model,
            None if response.model.is_empty() => response.model.clone_from(&self.asked.model),
            None => {}
        }
    }

    /// The prompt itself was not let through.
    fn blocked(&self, feedback: &Value) -> Option<Error> {
        let reason = feedback.get("blockReason")?.as_str()?;
        let message = match feedback.get("blockReasonMessage").and_then(Value::as_str) {
            Some(message) => format!("the prompt was blocked ({reason}): {message}"),
            None => format!("the prompt was blocked ({reason})"),
        };
        Some(self.asked.error(Class::ContentRefused, message))
    }

    fn candidate(&mut self, candidate: Candidate<'_>, draft: &mut Draft) {
        self.answered = true;
        let parts = candidate.content.and_then(|content| content.parts).unwrap_or_default();
        for part in parts {
            self.part(part, draft);
        }
        if candidate.grounding_metadata.is_some() {
            self.grounding.clone_from(&candidate.grounding_metadata);
        }
        let extra = &mut draft.response_mut().extra;
        for (key, value) in [
            ("finishMessage", candidate.finish_message),
            ("groundingMetadata", candidate.grounding_metadata),
            ("citationMetadata", candidate.citation_metadata),
            ("urlContextMetadata", candidate.url_context_metadata),
        ] {
            if let Some(value) = value {
                extra.insert(key.to_owned(), value);
            }
        }
        if let Some(finish) = candidate.finish_reason
            && !matches!(finish.as_str(), "" | "FINISH_REASON_UNSPECIFIED")
        {
            self.finish = Some(finish);
        }
    }

    fn part(&mut self, raw: &RawValue, draft: &mut Draft) {
        match serde_json::from_str::<Piece<'_>>(raw.get()) {
            Ok(Piece { function_call: Some(call), thought_signature, .. }) => {
                self.call(call, thought_signature, draft);
            }
            Ok(piece) if piece.text.is_some() || is_bare(raw) => {
                let text = piece.text.unwrap_or_default();
                let thought = piece.thought.unwrap_or_default();
                self.text(&text, thought, piece.thought_signature, draft);
            }
            Ok(_) | Err(_) => self.unknown(raw, draft),
        }
    }

    fn text(&mut self, text: &str, thought: bool, signature: Option<String>, draft: &mut Draft) {
        if text.is_empty() && signature.is_none() {
            return;
        }
        let goes_on = match self.open.as_ref().map(|open| &open.kind) {
            Some(Kind::Message) => !thought,
            Some(Kind::Thought) => thought,
            Some(Kind::Call { .. }) | None => false,
        };
        if !goes_on {
            // A signature that comes with no words is nothing that was said: it is kept as an unspoken thought.
            let item = if thought || text.is_empty() { reasoning(!thought) } else { message() };
            let kind = if thought || text.is_empty() { Kind::Thought } else { Kind::Message };
            self.begin(item, kind, draft);
        }
        if let Some(open) = &mut self.open {
            let from = open.length;
            open.length += text.len();
            if let Some(signature) = signature {
                open.signatures
                    .push(json!({"from": from, "to": open.length, "signature": signature}));
            }
            match open.kind {
                Kind::Message => draft.text(open.index, 0, text),
                _ if text.is_empty() => {}
                _ => draft.thought(open.index, 0, Thought::Summary, text),
            }
        }
        if !goes_on && text.is_empty() {
            self.close(draft);
        }
    }

    /// A call, whole or in parts: a part without a name goes on with the call before it.
    fn call(&mut self, call: Call<'_>, signature: Option<String>, draft: &mut Draft) {
        let name = call.name.unwrap_or_default();
        let partial = call.partial_args.unwrap_or_default();
        let args = call.args.map(RawValue::get).filter(|args| *args != "null");
        let goes_on =
            name.is_empty() && matches!(&self.open, Some(Open { kind: Kind::Call { .. }, .. }));
        if !goes_on {
            if name.is_empty() && partial.is_empty() && args.is_none() {
                return;
            }
            self.begin_call(name, call.id, draft);
        }
        let Some(open) = &mut self.open else { return };
        if let (Some(signature), Some(item)) = (signature, draft.item_mut(open.index)) {
            origin::note(item, "signature", signature.into());
        }
        if let Kind::Call { arguments, whole } = &mut open.kind {
            partial.iter().for_each(|entry| arguments.add(entry));
            if let Some(args) = args {
                *whole = Some(args.to_owned());
            }
        }
        if call.will_continue != Some(true) {
            self.close(draft);
        }
    }

    fn begin_call(&mut self, name: String, id: Option<String>, draft: &mut Draft) {
        self.calls += 1;
        let given = id.filter(|id| !id.is_empty());
        let made = given.is_none();
        let call_id = given.unwrap_or_else(|| {
            let response = match draft.response().id.as_str() {
                "" => "0",
                id => id,
            };
            format!("call_{response}_{}", self.calls)
        });
        let mut item = Item::FunctionCall(FunctionCall {
            id: None,
            call_id,
            name,
            arguments: String::new(),
            extra: Map::new(),
        });
        if made {
            origin::note(&mut item, "made_id", true.into());
        }
        self.begin(item, Kind::Call { arguments: Arguments::default(), whole: None }, draft);
    }

    /// What only this vendor has: kept as it came, to be sent back as it came.
    fn unknown(&mut self, raw: &RawValue, draft: &mut Draft) {
        let Ok(Value::Object(fields)) = serde_json::from_str(raw.get()) else { return };
        let kind = fields.keys().find(|key| !BESIDES.contains(&key.as_str()));
        let kind = format!("google:{}", kind.map_or("part", String::as_str));
        let mut item = Item::Unknown(json!({"type": kind, "raw": fields}));
        self.close(draft);
        self.mark(&mut item, draft);
        draft.add(item);
    }

    fn begin(&mut self, mut item: Item, kind: Kind, draft: &mut Draft) {
        self.close(draft);
        self.mark(&mut item, draft);
        let index = draft.open(item);
        self.open = Some(Open { index, kind, signatures: Vec::new(), length: 0 });
    }

    fn mark(&self, item: &mut Item, draft: &Draft) {
        origin::mark(item, &self.asked.vendor, &draft.response().model);
    }

    /// The item under way is done.
    fn close(&mut self, draft: &mut Draft) {
        let Some(open) = self.open.take() else { return };
        if let Kind::Call { arguments, whole } = &open.kind {
            let text = whole.as_ref().map_or_else(|| arguments.text().into(), Cow::from);
            draft.arguments(open.index, &text);
        }
        if let Some(item) = draft.item_mut(open.index) {
            if !open.signatures.is_empty() {
                origin::note(item, "signatures", open.signatures.into());
            }
            if let (Item::Message(message), Some(grounding)) = (item, &self.grounding) {
                annotate(message, grounding);
            }
        }
        draft.close(open.index);
    }
}

fn annotate(message: &mut MessageItem, grounding: &Value) {
    if let [Part::OutputText { text, extra }] = message.content.as_mut_slice() {
        let annotations = grounding::annotations(text, grounding);
        if !annotations.is_empty() {
            extra.insert("annotations".to_owned(), annotations.into());
        }
    }
}

fn message() -> Item {
    Item::Message(MessageItem {
        id: None,
        role: Role::Assistant,
        content: Vec::new(),
        extra: Map::new(),
    })
}

/// `spoken` says that the vendor did not call it a thought, which matters when it goes back.
fn reasoning(spoken: bool) -> Item {
    let mut item = Item::Reasoning(Reasoning { id: None, summary: Vec::new(), extra: Map::new() });
    if spoken {
        origin::note(&mut item, "spoken", true.into());
    }
    item
}

/// Whether a part holds nothing but what may stand beside something.
fn is_bare(raw: &RawValue) -> bool {
    serde_json::from_str::<Map<String, Value>>(raw.get())
        .is_ok_and(|fields| fields.keys().all(|key| BESIDES.contains(&key.as_str())))
}

/// Nothing where nothing was counted yet: chunks may carry no numbers.
fn usage(counted: &Value) -> Option<Usage> {
    let count = |key: &str| counted.get(key).and_then(Value::as_u64);
    let (prompt, total) = (count("promptTokenCount"), count("totalTokenCount"));
    if prompt.is_none() && total.is_none() {
        return None;
    }
    let or_none = |key: &str| count(key).unwrap_or_default();
    let thoughts = or_none("thoughtsTokenCount");
    // What the vendor's own tools gave was read by the model too.
    let input = prompt.unwrap_or_default().saturating_add(or_none("toolUsePromptTokenCount"));
    let output = or_none("candidatesTokenCount").saturating_add(thoughts);
    let mut usage = Usage::new(input, output)
        .with_cached(or_none("cachedContentTokenCount"))
        .with_reasoning(thoughts);
    if let Some(total) = total {
        usage.total_tokens = total;
    }
    Some(usage)
}
