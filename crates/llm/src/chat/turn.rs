//! Decides which items an assistant's message becomes: its thoughts, its text, its calls, in the order in which they
//! come. Fed by `reply` with deltas, or with one whole message. Notes on the items what only the host that made them
//! understands, so that `messages` can send it back.

use agent_world_core::item::{Item, MessageItem, Part, Reasoning, Role};
use serde_json::{Map, Value};

use super::calls::Calls;
use super::flavour::Flavour;
use super::notes;
use super::think::{Piece, Splitter};
use crate::dialect::Asked;
use crate::{Draft, Thought, origin};

/// Fields in which hosts write thoughts. Some write the same in two of them.
const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// Fields of a message that are read here, or that say nothing the others do not.
const KNOWN: &[&str] = &[
    "role",
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "annotations",
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "channel",
];

/// An assistant's message in the making.
#[derive(Debug)]
pub(super) struct Turn {
    asked: Asked,
    splitter: Splitter,
    /// The field the thoughts come in.
    field: Option<&'static str>,
    /// The items that may still grow, by their place in the draft.
    reasoning: Option<usize>,
    message: Option<usize>,
    calls: Calls,
    annotations: Vec<Value>,
    /// Fields that nobody here knows.
    unknown: Map<String, Value>,
}

impl Turn {
    pub(super) fn new(flavour: &Flavour, asked: &Asked) -> Self {
        Self {
            asked: asked.clone(),
            splitter: if flavour.think_tags { Splitter::new() } else { Splitter::text_only() },
            field: None,
            reasoning: None,
            message: None,
            calls: Calls::default(),
            annotations: Vec::new(),
            unknown: Map::new(),
        }
    }

    /// Takes a delta, or a whole message. `raw` gives the calls' arguments as they were written.
    pub(super) fn take(
        &mut self,
        delta: &Value,
        whole: bool,
        raw: &dyn Fn() -> Vec<Option<String>>,
        draft: &mut Draft,
    ) {
        self.thoughts(delta, draft);
        self.content(delta.get("content").unwrap_or(&Value::Null), draft);
        if let Some(refusal) = delta.get("refusal").and_then(Value::as_str) {
            self.refuse(refusal, draft);
        }
        if let Some(calls) = delta.get("tool_calls").and_then(Value::as_array)
            && !calls.is_empty()
        {
            self.end_thoughts(draft);
            self.calls.take(calls, whole, raw, draft);
        } else if let Some(function) = delta.get("function_call").filter(|call| call.is_object()) {
            // The format's older way: one call, without an id.
            self.end_thoughts(draft);
            let call = serde_json::json!([{"index": 0, "function": function}]);
            self.calls.take(call.as_array().map_or(&[], Vec::as_slice), whole, &Vec::new, draft);
        }
        if let Some(notes) = delta.get("annotations").and_then(Value::as_array) {
            self.annotations.extend(notes.iter().map(flat));
        }
        for (key, value) in delta.as_object().into_iter().flatten() {
            if !KNOWN.contains(&key.as_str()) {
                notes::merge(&mut self.unknown, key, value);
            }
        }
    }

    /// The message is at its end. `truncated` says that a limit cut it.
    pub(super) fn finish(&mut self, truncated: bool, draft: &mut Draft) {
        let mut pieces = Vec::new();
        self.splitter.end(&mut pieces);
        self.pieces(pieces, draft);
        self.calls.settle(truncated, draft);
        self.annotate(draft);

        let open = [self.reasoning.take(), self.message.take()].into_iter().flatten();
        let open: Vec<usize> = open.chain(self.calls.places()).collect();
        let first = open.iter().min().and_then(|at| draft.item_mut(*at));
        if let Some(item) = first
            && !self.unknown.is_empty()
        {
            origin::note(item, notes::MESSAGE, Value::Object(std::mem::take(&mut self.unknown)));
        }
        for at in open {
            self.close(at, draft);
        }
    }

    fn thoughts(&mut self, delta: &Value, draft: &mut Draft) {
        for field in THOUGHTS {
            let text = delta.get(field).and_then(Value::as_str).unwrap_or_default();
            if text.is_empty() || self.field.is_some_and(|known| known != field) {
                continue;
            }
            if self.field.is_none() {
                self.field = Some(field);
                // A host that keeps thoughts apart does not write them into the text as well.
                let mut pieces = Vec::new();
                self.splitter.end(&mut pieces);
                self.pieces(pieces, draft);
            }
            self.think(field, text, draft);
        }
    }

    /// A text, or a list of chunks; one host begins with lists and goes on with texts.
    fn content(&mut self, content: &Value, draft: &mut Draft) {
        match content {
            Value::String(text) => self.text(text, draft),
            Value::Array(chunks) => chunks.iter().for_each(|chunk| self.chunk(chunk, draft)),
            _ => {}
        }
    }

    fn chunk(&mut self, chunk: &Value, draft: &mut Draft) {
        let field = |key: &str| chunk.get(key).and_then(Value::as_str);
        match field("type") {
            Some("thinking") => match chunk.get("thinking") {
                Some(Value::String(text)) => self.think("content", text, draft),
                Some(Value::Array(texts)) => {
                    for text in texts.iter().filter_map(|text| text.get("text")?.as_str()) {
                        self.think("content", text, draft);
                    }
                }
                _ => {}
            },
            Some("refusal") => self.refuse(field("refusal").unwrap_or_default(), draft),
            _ => {
                if let Some(text) = chunk.as_str().or_else(|| field("text")) {
                    self.text(text, draft);
                }
            }
        }
    }

    fn text(&mut self, text: &str, draft: &mut Draft) {
        let mut pieces = Vec::new();
        self.splitter.push(text, &mut pieces);
        self.pieces(pieces, draft);
    }

    fn pieces(&mut self, pieces: Vec<Piece>, draft: &mut Draft) {
        for piece in pieces {
            match piece {
                Piece::Thought(text) => self.think("text", &text, draft),
                Piece::Text(text) => self.say(&text, draft),
            }
        }
    }

    fn think(&mut self, field: &str, text: &str, draft: &mut Draft) {
        if text.is_empty() {
            return;
        }
        if let Some(at) = self.message.take() {
            self.close(at, draft);
        }
        let at = match self.reasoning {
            Some(at) => at,
            None => {
                let mut item =
                    Item::Reasoning(Reasoning { id: None, summary: Vec::new(), extra: Map::new() });
                origin::note(&mut item, notes::FIELD, field.into());
                *self.reasoning.insert(draft.open(item))
            }
        };
        draft.thought(at, 0, Thought::Raw, text);
    }

    fn say(&mut self, text: &str, draft: &mut Draft) {
        if !text.is_empty() {
            let at = self.message(draft);
            let part = behind(draft, at, |part| matches!(part, Part::OutputText { .. }));
            draft.text(at, part, text);
        }
    }

    fn refuse(&mut self, text: &str, draft: &mut Draft) {
        if !text.is_empty() {
            let at = self.message(draft);
            let part = behind(draft, at, |part| matches!(part, Part::Refusal { .. }));
            draft.refusal(at, part, text);
        }
    }

    /// The message under way. It stays open beside calls: a host may say more after the first of them.
    fn message(&mut self, draft: &mut Draft) -> usize {
        self.end_thoughts(draft);
        *self.message.get_or_insert_with(|| {
            draft.open(Item::Message(MessageItem {
                id: None,
                role: Role::Assistant,
                content: Vec::new(),
                extra: Map::new(),
            }))
        })
    }

    fn end_thoughts(&mut self, draft: &mut Draft) {
        if let Some(at) = self.reasoning.take() {
            self.close(at, draft);
        }
    }

    /// Puts what the text refers to on its last part.
    fn annotate(&mut self, draft: &mut Draft) {
        if self.annotations.is_empty() {
            return;
        }
        let item = self.message.and_then(|at| draft.item_mut(at));
        let Some(Item::Message(message)) = item else { return };
        let text = message.content.iter_mut().rev().find_map(|part| match part {
            Part::OutputText { extra, .. } => Some(extra),
            _ => None,
        });
        if let Some(extra) = text {
            let notes = std::mem::take(&mut self.annotations);
            extra.insert("annotations".to_owned(), Value::Array(notes));
        }
    }

    fn close(&self, at: usize, draft: &mut Draft) {
        let model = match draft.response().model.as_str() {
            "" => self.asked.model.clone(),
            model => model.to_owned(),
        };
        if let Some(item) = draft.item_mut(at) {
            origin::mark(item, &self.asked.vendor, &model);
        }
        draft.close(at);
    }
}

/// The last part when it is of the kind wanted, else the place behind it.
fn behind(draft: &Draft, at: usize, wanted: impl Fn(&Part) -> bool) -> usize {
    let Some(Item::Message(message)) = draft.item(at) else { return 0 };
    match message.content.last() {
        Some(part) if wanted(part) => message.content.len() - 1,
        _ => message.content.len(),
    }
}

/// An annotation without the extra level that this format has under the name of its type.
fn flat(note: &Value) -> Value {
    let Some(kind) = note.get("type").and_then(Value::as_str) else { return note.clone() };
    let Some(Value::Object(inner)) = note.get(kind) else { return note.clone() };
    let mut flat = Map::new();
    flat.insert("type".to_owned(), kind.into());
    flat.extend(inner.iter().map(|(key, value)| (key.clone(), value.clone())));
    Value::Object(flat)
}
