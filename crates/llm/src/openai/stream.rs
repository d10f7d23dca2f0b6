//! Decides how the events of a streamed reply grow the response.
//! Fed by `StreamDecoder`. An item is as its last event says; the terminal event says the rest and fills in what the
//! stream left out. Events nobody here knows are ignored.

use std::collections::HashMap;

use agent_world_core::item::{FunctionCall, Item, MessageItem, Part, Reasoning, Role};
use serde_json::{Map, Value};

use super::{Flavour, failure, reason, reply, told};
use crate::dialect::{Asked, Reader};
use crate::frames::Frame;
use crate::{Class, Draft, Error, Status, Thought, explain};

/// Reads the events of one reply.
#[derive(Debug)]
pub(super) struct Events {
    flavour: Flavour,
    asked: Asked,
    /// Where the items are by the vendor's count. Hosts exist that count wrongly, and others that change an item's
    /// id on the way; so an item is looked for by its id first, by its place second.
    places: HashMap<u64, usize>,
    ids: HashMap<String, usize>,
    reasoned: bool,
}

impl Reader for Events {
    fn read(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let event = told::event(data)
            .map_err(|error| self.asked.unreadable("an event of the stream", &error))?;
        let Some(event) = event else { return Ok(()) };
        let kind = match event.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            _ if event.get("error").is_some_and(|error| !error.is_null()) => "error".to_owned(),
            _ => frame.event.clone().unwrap_or_default(),
        };
        self.event(&kind, event, draft)
    }
}

impl Events {
    pub(super) fn new(flavour: Flavour, asked: Asked) -> Self {
        Self { flavour, asked, places: HashMap::new(), ids: HashMap::new(), reasoned: false }
    }

    fn event(
        &mut self,
        kind: &str,
        mut event: Map<String, Value>,
        draft: &mut Draft,
    ) -> Result<(), Error> {
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => {
                self.head(&mut event, draft);
                draft.response_mut().status = Status::InProgress;
                draft.start();
            }
            "response.output_item.added" => self.added(&mut event, draft),
            "response.output_item.done" => self.done(&mut event, draft),
            "response.completed" | "response.incomplete" | "response.done" => {
                return self.finish(kind, &mut event, draft);
            }
            "response.failed" | "response.cancelled" => {
                let response = event.get("response");
                return Err(if kind == "response.cancelled" {
                    self.asked.error(Class::Cancelled, "the vendor cancelled the reply")
                } else {
                    failure(&self.asked, response.and_then(|response| response.get("error")))
                });
            }
            // Nested in practice, flat in the vendor's description: both are read.
            "error" => return Err(explain::value(&self.asked.vendor, &Value::Object(event))),
            _ => self.piece(kind, &event, draft),
        }
        Ok(())
    }

    /// What the event says of the response; gives its output.
    fn head(&self, event: &mut Map<String, Value>, draft: &mut Draft) -> Vec<Value> {
        let mut output = Vec::new();
        if let Some(Value::Object(fields)) = event.shift_remove("response") {
            output = reply::apply(fields, draft.response_mut(), self.flavour);
        }
        let response = draft.response_mut();
        if response.model.is_empty() {
            response.model.clone_from(&self.asked.model);
        }
        output
    }

    fn added(&mut self, event: &mut Map<String, Value>, draft: &mut Draft) {
        let item = reply::item(event.shift_remove("item").unwrap_or_default());
        self.open(event, &item, draft);
    }

    /// Begins an item. What it holds already is told like any other piece of it.
    fn open(&mut self, event: &Map<String, Value>, item: &Item, draft: &mut Draft) -> usize {
        let index = draft.open(empty(item));
        if let Some(place) = event.get("output_index").and_then(Value::as_u64) {
            self.places.insert(place, index);
        }
        let id = id_of(item).or_else(|| event.get("item_id").and_then(Value::as_str));
        if let Some(id) = id {
            self.ids.insert(id.to_owned(), index);
        }
        tell_rest(draft, index, item);
        index
    }

    fn done(&mut self, event: &mut Map<String, Value>, draft: &mut Draft) {
        let item = reply::item(event.shift_remove("item").unwrap_or_default());
        let place = event.get("output_index").and_then(Value::as_u64);
        let index = match self.find(id_of(&item), place) {
            Some(index) => index,
            None => self.open(event, &item, draft),
        };
        self.settle(index, item, draft);
    }

    fn find(&self, id: Option<&str>, place: Option<u64>) -> Option<usize> {
        let by_id = id.and_then(|id| self.ids.get(id));
        by_id.or_else(|| self.places.get(&place?)).copied()
    }

    /// The item is as given, whatever was told of it. Once settled, it stays.
    fn settle(&mut self, index: usize, mut item: Item, draft: &mut Draft) {
        if !draft.is_open(index) {
            return;
        }
        tell_rest(draft, index, &item);
        self.mark(index, &mut item, draft);
        if let Some(held) = draft.item_mut(index) {
            *held = item;
        }
        draft.close(index);
    }

    fn mark(&mut self, index: usize, item: &mut Item, draft: &Draft) {
        let (vendor, model) = (&self.asked.vendor, &self.asked.model);
        reply::mark(item, vendor, model, draft.response(), (index, self.reasoned));
        self.reasoned |= matches!(item, Item::Reasoning(_));
    }

    fn finish(
        &mut self,
        kind: &str,
        event: &mut Map<String, Value>,
        draft: &mut Draft,
    ) -> Result<(), Error> {
        let output = self.head(event, draft);
        if draft.response().status == Status::Failed {
            let error = draft.response().error.as_ref();
            let error = serde_json::to_value(error).unwrap_or_default();
            return Err(failure(&self.asked, Some(&error)));
        }
        if draft.response().status == Status::Cancelled {
            return Err(self.asked.error(Class::Cancelled, "the vendor cancelled the reply"));
        }
        for (place, value) in (0_u64..).zip(output) {
            let item = reply::item(value);
            let index = match self.find(id_of(&item), Some(place)) {
                Some(index) => index,
                None => self.open(&Map::new(), &item, draft),
            };
            self.settle(index, item, draft);
        }
        for index in 0..draft.response().output.len() {
            if let Some(item) = draft.item(index).filter(|_| draft.is_open(index)) {
                self.settle(index, item.clone(), draft);
            }
        }
        if kind == "response.incomplete" || draft.response().status == Status::Incomplete {
            let reason = reason(draft.response());
            draft.incomplete(&reason);
        } else {
            draft.response_mut().status = Status::Completed;
            draft.complete();
        }
        Ok(())
    }

    /// A piece of an item's text.
    fn piece(&mut self, kind: &str, event: &Map<String, Value>, draft: &mut Draft) {
        let (Some(begun), Some(Value::String(piece))) = (begun_by(kind), event.get("delta")) else {
            return;
        };
        let number = |key: &str| event.get(key).and_then(Value::as_u64);
        let id = event.get("item_id").and_then(Value::as_str);
        let index = match self.find(id, number("output_index")) {
            Some(index) => index,
            None => self.open(event, &begun, draft),
        };
        let part = number("content_index").or_else(|| number("summary_index")).unwrap_or_default();
        let part = usize::try_from(part).unwrap_or(usize::MAX);
        let held = draft.item(index).map_or(0, parts_of);
        if !draft.is_open(index) || part > held.saturating_add(MOST_SKIPPED) {
            return;
        }
        match kind {
            TEXT => draft.text(index, part, piece),
            REFUSAL => draft.refusal(index, part, piece),
            SUMMARY => draft.thought(index, part, Thought::Summary, piece),
            ARGUMENTS => draft.arguments(index, piece),
            _ => draft.thought(index, part, Thought::Raw, piece),
        }
    }
}

/// Parts that may be missing before one that gets a piece. Any number could come, and each would take its place.
const MOST_SKIPPED: usize = 8;

const TEXT: &str = "response.output_text.delta";
const REFUSAL: &str = "response.refusal.delta";
const SUMMARY: &str = "response.reasoning_summary_text.delta";
const ARGUMENTS: &str = "response.function_call_arguments.delta";
/// OpenAI's name, and that of the open specification.
const THOUGHTS: [&str; 2] = ["response.reasoning_text.delta", "response.reasoning.delta"];

/// The item that a piece belongs to when nobody announced it.
fn begun_by(kind: &str) -> Option<Item> {
    let extra = Map::new;
    match kind {
        TEXT | REFUSAL => Some(Item::Message(MessageItem {
            id: None,
            role: Role::Assistant,
            content: Vec::new(),
            extra: extra(),
        })),
        ARGUMENTS => Some(Item::FunctionCall(FunctionCall {
            id: None,
            call_id: String::new(),
            name: String::new(),
            arguments: String::new(),
            extra: extra(),
        })),
        kind if kind == SUMMARY || THOUGHTS.contains(&kind) => {
            Some(Item::Reasoning(Reasoning { id: None, summary: Vec::new(), extra: extra() }))
        }
        _ => None,
    }
}

fn parts_of(item: &Item) -> usize {
    match item {
        Item::Message(message) => message.content.len(),
        Item::Reasoning(reasoning) => {
            reasoning.summary.len().max(thoughts(reasoning, Thought::Raw).len())
        }
        Item::FunctionCall(_) | Item::FunctionCallOutput(_) | Item::Unknown(_) => 0,
    }
}

fn id_of(item: &Item) -> Option<&str> {
    let id = match item {
        Item::Message(message) => message.id.as_deref(),
        Item::FunctionCall(call) => call.id.as_deref(),
        Item::Reasoning(reasoning) => reasoning.id.as_deref(),
        Item::FunctionCallOutput(_) => None,
        Item::Unknown(value) => value.get("id").and_then(Value::as_str),
    };
    id.filter(|id| !id.is_empty())
}

/// The item before any of its text.
fn empty(item: &Item) -> Item {
    let mut item = item.clone();
    match &mut item {
        Item::Message(message) => message.content.clear(),
        Item::FunctionCall(call) => call.arguments.clear(),
        Item::Reasoning(reasoning) => {
            reasoning.summary.clear();
            reasoning.extra.shift_remove("content");
        }
        Item::FunctionCallOutput(_) | Item::Unknown(_) => {}
    }
    item
}

/// Tells what the item holds beyond what was told of it.
fn tell_rest(draft: &mut Draft, index: usize, whole: &Item) {
    match whole {
        Item::Message(message) => {
            for (place, part) in message.content.iter().enumerate() {
                let told = match draft.item(index) {
                    Some(Item::Message(held)) => held.content.get(place).and_then(Part::text),
                    _ => None,
                };
                let rest = part.text().and_then(|text| rest(told, text)).map(str::to_owned);
                match (part, rest) {
                    (Part::OutputText { .. }, Some(rest)) => draft.text(index, place, &rest),
                    (Part::Refusal { .. }, Some(rest)) => draft.refusal(index, place, &rest),
                    _ => {}
                }
            }
        }
        Item::FunctionCall(call) => {
            let told = match draft.item(index) {
                Some(Item::FunctionCall(held)) => held.arguments.as_str(),
                _ => "",
            };
            if let Some(rest) = rest(Some(told), &call.arguments).map(str::to_owned) {
                draft.arguments(index, &rest);
            }
        }
        Item::Reasoning(reasoning) => {
            for kind in [Thought::Summary, Thought::Raw] {
                for (place, part) in thoughts(reasoning, kind).iter().enumerate() {
                    let told = match draft.item(index) {
                        Some(Item::Reasoning(held)) => thoughts(held, kind).get(place),
                        _ => None,
                    };
                    let text = |part: &Value| part.get("text")?.as_str().map(str::to_owned);
                    let told = told.and_then(text);
                    let whole = text(part).unwrap_or_default();
                    if let Some(rest) = rest(told.as_deref(), &whole) {
                        draft.thought(index, place, kind, rest);
                    }
                }
            }
        }
        Item::FunctionCallOutput(_) | Item::Unknown(_) => {}
    }
}

fn thoughts(reasoning: &Reasoning, kind: Thought) -> &[Value] {
    match (kind, reasoning.extra.get("content")) {
        (Thought::Summary, _) => &reasoning.summary,
        (Thought::Raw, Some(Value::Array(content))) => content,
        (Thought::Raw, _) => &[],
    }
}

/// What of a text was not told yet. Nothing when it begins differently: what was told cannot be taken back.
fn rest<'a>(told: Option<&str>, whole: &'a str) -> Option<&'a str> {
    whole.strip_prefix(told.unwrap_or_default()).filter(|rest| !rest.is_empty())
}
