//! Decides which items the blocks of a reply become, as they start, grow and stop.
//! Fed by `reply`, for streams and whole bodies alike. Never fails: events out of order are put where they fit, and
//! blocks of kinds nobody here knows are kept as they are.
//!
//! Neighbouring blocks of text are the parts of one message. A thinking block is a reasoning item whose sealed content
//! is the signature, or the data of a redacted one. The vendor's own tools and all other blocks are items of the type
//! `anthropic:<kind>` with the block inside.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_world_core::item::{FunctionCall, Item, MessageItem, Part, Reasoning, Role};
use serde_json::{Map, Value, json};

use crate::dialect::Asked;
use crate::{Draft, Thought, Usage, origin};

/// Fields of a response that mean something else in the Responses format.
const TAKEN: &[&str] = &["created_at", "status", "output", "incomplete_details", "error"];

/// Blocks that may grow at the same time. The vendor lets one grow; a host could start them without end.
const MOST_OPEN: usize = 256;

/// A reply on its way from blocks to items.
#[derive(Debug)]
pub struct Assembly {
    vendor: Arc<str>,
    model: String,
    blocks: BTreeMap<u64, Block>,
    /// What the vendor counted so far; later numbers replace earlier ones.
    counted: Map<String, Value>,
    reason: String,
}

/// A block that may still grow.
#[derive(Debug)]
enum Block {
    Text {
        place: Option<(usize, usize)>,
        citations: Vec<Value>,
        more: Map<String, Value>,
    },
    Thought {
        item: usize,
        signature: String,
    },
    /// `given` are arguments that came with the start.
    Call {
        item: usize,
        given: String,
        grew: bool,
    },
    Other {
        item: usize,
        raw: Map<String, Value>,
        json: String,
    },
}

impl Assembly {
    pub fn new(asked: &Asked) -> Self {
        Self {
            vendor: Arc::clone(&asked.vendor),
            model: asked.model.clone(),
            blocks: BTreeMap::new(),
            counted: Map::new(),
            reason: String::new(),
        }
    }

    /// The message without its content.
    pub fn begin(&mut self, mut message: Map<String, Value>, draft: &mut Draft) {
        let mut text = |key: &str| match message.shift_remove(key) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let (id, model) = (text("id"), text("model"));
        if !model.is_empty() {
            self.model.clone_from(&model);
        }
        let response = draft.response_mut();
        (response.id, response.model) = (id, self.model.clone());
        for key in ["type", "role"] {
            message.shift_remove(key);
        }
        self.learn(message, draft);
        draft.start();
    }

    /// What the vendor says of the reply as a whole.
    pub fn learn(&mut self, mut said: Map<String, Value>, draft: &mut Draft) {
        if let Some(Value::Object(usage)) = said.shift_remove("usage") {
            self.counted.extend(usage.into_iter().filter(|(_, value)| !value.is_null()));
        }
        if let Some(Value::String(reason)) = said.get("stop_reason") {
            self.reason.clone_from(reason);
        }
        let is_free = |key: &str| !TAKEN.contains(&key);
        let said = said.into_iter().filter(|(key, value)| !value.is_null() && is_free(key));
        draft.response_mut().extra.extend(said);
    }

    /// A block begins, maybe with all its content. `input` are a call's arguments as the vendor wrote them.
    pub fn start(&mut self, index: u64, block: Value, input: Option<&str>, draft: &mut Draft) {
        let Value::Object(mut block) = block else { return };
        // A block is started once; a host that starts it again has finished the first.
        self.stop(index, draft);
        if self.blocks.len() >= MOST_OPEN {
            self.stop_all(draft);
        }
        self.reserve(draft);
        let started = match take_text(&mut block, "type").as_str() {
            "text" => self.start_text(block, draft),
            "thinking" => self.start_thought(block, draft),
            "redacted_thinking" => {
                self.redacted(block, draft);
                return;
            }
            "tool_use" => self.start_call(block, input, draft),
            "" => return,
            kind => self.start_other(kind, block, draft),
        };
        self.blocks.insert(index, started);
    }

    pub fn delta(&mut self, index: u64, delta: &Map<String, Value>, draft: &mut Draft) {
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        let kind = text("type");
        match self.blocks.get_mut(&index) {
            Some(Block::Text { place, citations, .. }) => match kind {
                "citations_delta" => citations.extend(delta.get("citation").cloned()),
                _ if text("text").is_empty() => {}
                _ => {
                    let (item, part) =
                        *place.get_or_insert_with(|| open_part(&self.vendor, &self.model, draft));
                    draft.text(item, part, text("text"));
                }
            },
            Some(Block::Thought { item, signature }) => {
                if !text("thinking").is_empty() {
                    draft.thought(*item, 0, Thought::Summary, text("thinking"));
                }
                signature.push_str(text("signature"));
            }
            Some(Block::Call { item, grew, .. }) if !text("partial_json").is_empty() => {
                *grew = true;
                draft.arguments(*item, text("partial_json"));
            }
            Some(Block::Other { raw, json, .. }) => match kind {
                "input_json_delta" => json.push_str(text("partial_json")),
                _ => grow(raw, delta),
            },
            Some(Block::Call { .. }) | None => {}
        }
    }

    /// A block is whole.
    pub fn stop(&mut self, index: u64, draft: &mut Draft) {
        match self.blocks.remove(&index) {
            Some(Block::Text { place: Some((item, part)), citations, more }) => {
                finish_text(item, part, citations, more, draft);
            }
            Some(Block::Thought { item, signature }) => {
                if !signature.is_empty()
                    && let Some(Item::Reasoning(reasoning)) = draft.item_mut(item)
                {
                    reasoning.extra.insert("encrypted_content".to_owned(), signature.into());
                }
                draft.close(item);
            }
            Some(Block::Call { item, given, grew }) => {
                if !grew {
                    draft.arguments(item, &given);
                }
                draft.close(item);
            }
            Some(Block::Other { item, mut raw, json }) => {
                // What cannot be read of the input leaves it as the block began with it.
                if let Ok(input) = serde_json::from_str(&json) {
                    raw.insert("input".to_owned(), input);
                }
                if let Some(item) = draft.item_mut(item) {
                    origin::note(item, "raw", Value::Object(raw));
                }
                draft.close(item);
            }
            Some(Block::Text { place: None, .. }) | None => {}
        }
    }

    fn stop_all(&mut self, draft: &mut Draft) {
        while let Some((&index, _)) = self.blocks.first_key_value() {
            self.stop(index, draft);
        }
    }

    /// The reply is whole.
    pub fn finish(&mut self, draft: &mut Draft) {
        self.stop_all(draft);
        if !self.counted.is_empty() {
            draft.usage(usage(std::mem::take(&mut self.counted)));
        }
        match self.reason.as_str() {
            "max_tokens" => draft.incomplete("max_output_tokens"),
            reason @ ("pause_turn" | "model_context_window_exceeded") => draft.incomplete(reason),
            "refusal" => {
                self.refuse(draft);
                draft.complete();
            }
            _ => draft.complete(),
        }
    }

    /// The vendor may refuse without a word, or explain itself beside the content.
    fn refuse(&self, draft: &mut Draft) {
        let details = draft.response().extra.get("stop_details");
        let explanation = details.and_then(|details| details.get("explanation")?.as_str());
        let explanation = explanation.unwrap_or_default().to_owned();
        let (item, part) = message(&self.vendor, &self.model, draft);
        draft.refusal(item, part, &explanation);
    }

    /// Keeps the order of blocks where a second one starts before anything came of the first.
    fn reserve(&mut self, draft: &mut Draft) {
        for block in self.blocks.values_mut() {
            if let Block::Text { place: place @ None, .. } = block {
                *place = Some(open_part(&self.vendor, &self.model, draft));
            }
        }
    }

    fn start_text(&mut self, mut block: Map<String, Value>, draft: &mut Draft) -> Block {
        let text = take_text(&mut block, "text");
        let citations = match block.shift_remove("citations") {
            Some(Value::Array(citations)) => citations,
            _ => Vec::new(),
        };
        let mut place = None;
        if !text.is_empty() {
            let (item, part) = open_part(&self.vendor, &self.model, draft);
            draft.text(item, part, &text);
            place = Some((item, part));
        }
        Block::Text { place, citations, more: block }
    }

    fn start_thought(&mut self, mut block: Map<String, Value>, draft: &mut Draft) -> Block {
        let thinking = take_text(&mut block, "thinking");
        let is_unsigned = !block.contains_key("signature");
        let signature = take_text(&mut block, "signature");
        let mut item = self.reasoning(Map::new(), block);
        if is_unsigned {
            // Hosts that copy the format do not seal thoughts, and want them back all the same.
            origin::note(&mut item, "unsigned", true.into());
        }
        let item = self.open(item, draft);
        if !thinking.is_empty() {
            draft.thought(item, 0, Thought::Summary, &thinking);
        }
        Block::Thought { item, signature }
    }

    fn redacted(&mut self, mut block: Map<String, Value>, draft: &mut Draft) {
        let data = block.shift_remove("data").unwrap_or_default();
        let sealed = Map::from_iter([("encrypted_content".to_owned(), data)]);
        let mut item = self.reasoning(sealed, block);
        origin::note(&mut item, "redacted", true.into());
        let item = self.open(item, draft);
        draft.close(item);
    }

    fn reasoning(&self, extra: Map<String, Value>, more: Map<String, Value>) -> Item {
        let item = Item::Reasoning(Reasoning { id: None, summary: Vec::new(), extra });
        self.marked(item, more)
    }

    fn start_call(
        &mut self,
        mut block: Map<String, Value>,
        input: Option<&str>,
        draft: &mut Draft,
    ) -> Block {
        let (mut call_id, name) = (take_text(&mut block, "id"), take_text(&mut block, "name"));
        let parsed = block.shift_remove("input");
        let given = match (input, parsed) {
            (Some("null"), _) | (_, None | Some(Value::Null)) => "{}".to_owned(),
            (Some(input), _) => input.to_owned(),
            (None, Some(parsed)) => parsed.to_string(),
        };
        let is_made = call_id.is_empty();
        if is_made {
            let response = draft.response();
            let of = if response.id.is_empty() { "0" } else { &response.id };
            call_id = format!("call_{of}_{}", response.output.len());
        }
        let call =
            FunctionCall { id: None, call_id, name, arguments: String::new(), extra: Map::new() };
        let mut item = self.marked(Item::FunctionCall(call), block);
        if is_made {
            origin::note(&mut item, "made_id", true.into());
        }
        Block::Call { item: self.open(item, draft), given, grew: false }
    }

    fn start_other(&mut self, kind: &str, block: Map<String, Value>, draft: &mut Draft) -> Block {
        let mut shown = Map::from_iter([("type".to_owned(), format!("anthropic:{kind}").into())]);
        if let Some(id) = block.get("id") {
            shown.insert("id".to_owned(), id.clone());
        }
        let mut raw = Map::from_iter([("type".to_owned(), kind.into())]);
        raw.extend(block);
        let item = self.marked(Item::Unknown(Value::Object(shown)), Map::new());
        Block::Other { item: self.open(item, draft), raw, json: String::new() }
    }

    fn marked(&self, item: Item, more: Map<String, Value>) -> Item {
        marked(item, &self.vendor, &self.model, more)
    }

    /// A message before it is over, unless one of its parts still grows.
    fn open(&mut self, item: Item, draft: &mut Draft) -> usize {
        if let Some(last) = draft.last_open()
            && matches!(draft.item(last), Some(Item::Message(_)))
            && !self.blocks.values().any(|block| {
                matches!(block, Block::Text { place: Some((item, _)), .. } if *item == last)
            })
        {
            draft.close(last);
        }
        draft.open(item)
    }
}

fn marked(mut item: Item, vendor: &str, model: &str, more: Map<String, Value>) -> Item {
    origin::mark(&mut item, vendor, model);
    if !more.is_empty() {
        origin::note(&mut item, "more", Value::Object(more));
    }
    item
}

/// The message under way, or a new one, and the place of its next part.
fn message(vendor: &str, model: &str, draft: &mut Draft) -> (usize, usize) {
    if let Some(last) = draft.last_open()
        && let Some(Item::Message(message)) = draft.item(last)
    {
        return (last, message.content.len());
    }
    let message =
        MessageItem { id: None, role: Role::Assistant, content: Vec::new(), extra: Map::new() };
    (draft.open(marked(Item::Message(message), vendor, model, Map::new())), 0)
}

/// The place for another block of text, which is kept even while nothing stands there.
fn open_part(vendor: &str, model: &str, draft: &mut Draft) -> (usize, usize) {
    let (item, part) = message(vendor, model, draft);
    if let Some(Item::Message(message)) = draft.item_mut(item) {
        message.content.push(Part::said(Role::Assistant, ""));
    }
    (item, part)
}

/// Sources become notes that all vendors' callers read; the vendor's own form of them goes back to it.
fn finish_text(
    item: usize,
    part: usize,
    citations: Vec<Value>,
    mut more: Map<String, Value>,
    draft: &mut Draft,
) {
    let Some(Item::Message(message)) = draft.item_mut(item) else { return };
    if !citations.is_empty() {
        if let Some(Part::OutputText { text, extra }) = message.content.get_mut(part) {
            let length = text.chars().count();
            let notes = citations.iter().map(|citation| annotation(citation, length)).collect();
            extra.insert("annotations".to_owned(), Value::Array(notes));
        }
        more.insert("citations".to_owned(), Value::Array(citations));
    }
    if let Some(Value::Object(origin)) = message.extra.get_mut(origin::ORIGIN)
        && !more.is_empty()
        && let Value::Array(parts) = origin.entry("parts").or_insert_with(|| json!([]))
    {
        parts.resize(parts.len().max(part + 1), Value::Null);
        if let Some(place) = parts.get_mut(part) {
            *place = Value::Object(more);
        }
    }
}

/// A source of a text, as the Responses format names it.
fn annotation(citation: &Value, length: usize) -> Value {
    let text =
        |key: &str| citation.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let title = text("title").or_else(|| text("document_title")).unwrap_or_default();
    match text("url").or_else(|| text("source")) {
        Some(url) => json!({
            "type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": length,
        }),
        None => json!({
            "type": "file_citation",
            "file_id": text("file_id").unwrap_or_default(),
            "filename": title,
            "index": length,
        }),
    }
}

/// A piece of a block that nobody here knows: texts are joined, anything else is replaced.
fn grow(raw: &mut Map<String, Value>, delta: &Map<String, Value>) {
    for (key, piece) in delta.iter().filter(|(key, _)| *key != "type") {
        match (raw.get_mut(key), piece) {
            (Some(Value::String(text)), Value::String(piece)) => text.push_str(piece),
            _ => {
                raw.insert(key.clone(), piece.clone());
            }
        }
    }
}

/// The vendor counts what it read from its cache and wrote to it beside the rest of the input.
fn usage(mut counted: Map<String, Value>) -> Usage {
    let mut take = |key: &str| counted.shift_remove(key).and_then(|count| count.as_u64());
    let input = take("input_tokens").unwrap_or_default();
    let output = take("output_tokens").unwrap_or_default();
    let read = take("cache_read_input_tokens").unwrap_or_default();
    let written = take("cache_creation_input_tokens");
    let all = input.saturating_add(read).saturating_add(written.unwrap_or_default());
    let mut details = match counted.shift_remove("output_tokens_details") {
        Some(Value::Object(details)) => details,
        _ => Map::new(),
    };
    let thought = details.shift_remove("thinking_tokens").and_then(|count| count.as_u64());
    let mut usage =
        Usage::new(all, output).with_cached(read).with_reasoning(thought.unwrap_or_default());
    usage.output_tokens_details.extra = details;
    usage.input_tokens_details.cache_write_tokens = written;
    usage.extra = counted;
    usage
}

fn take_text(fields: &mut Map<String, Value>, key: &str) -> String {
    match fields.shift_remove(key) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}
