//! Decides which events of the *Responses* format a client is sent while a reply is made.
//! Fed with the events of any vendor's reply. Every item gets its whole sequence, whether its text came in pieces or
//! at once; what the events say of an item is what the last response holds.

use std::collections::BTreeMap;

use agent_world_core::item::{Item, Part, Reasoning};
use serde_json::{Map, Value, json};

use super::items::{self, Standing};
use super::{compose, failure, response_id, settings};
use crate::{Delta, Error, Event, Request, Response, Status};

/// Writes the events of one response.
#[derive(Debug)]
pub struct EventWriter {
    asked: Map<String, Value>,
    /// What is known of the response, without its output.
    response: Response,
    sequence: u64,
    items: Vec<Begun>,
    /// An item that is done but not yet told: only what comes next says whether it was cut.
    done: Option<(usize, Item)>,
    out: Vec<Value>,
}

/// An item under way.
#[derive(Debug)]
struct Begun {
    id: String,
    /// What was told of each text.
    told: BTreeMap<Place, String>,
    /// As it was told at its end.
    written: Option<Value>,
}

/// A text within an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    kind: Kind,
    part: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Summary,
    Thought,
    Text,
    Refusal,
    Arguments,
}

impl EventWriter {
    pub fn new(request: &Request) -> Self {
        let response = Response { status: Status::InProgress, ..Response::default() };
        Self {
            asked: settings::asked(request),
            response,
            sequence: 0,
            items: Vec::new(),
            done: None,
            out: Vec::new(),
        }
    }

    /// What a client is sent for an event: nothing, one event or many.
    pub fn write(&mut self, event: &Event) -> Vec<Value> {
        match event {
            Event::Started(response) => self.start(response),
            Event::ItemStarted { index, item } => {
                self.flush(Standing::Completed);
                self.begin(*index, item);
            }
            Event::Delta { index, part, delta } => {
                self.flush(Standing::Completed);
                let (kind, text) = match delta {
                    Delta::Text(text) => (Kind::Text, text),
                    Delta::Refusal(text) => (Kind::Refusal, text),
                    Delta::Reasoning(text) => (Kind::Thought, text),
                    Delta::Summary(text) => (Kind::Summary, text),
                    Delta::Arguments(text) => (Kind::Arguments, text),
                };
                self.piece(*index, Place { kind, part: *part }, text);
            }
            Event::ItemDone { index, item } => {
                self.flush(Standing::Completed);
                self.done = Some((*index, item.clone()));
            }
            Event::Completed(response) => self.complete(response),
        }
        std::mem::take(&mut self.out)
    }

    /// What a client is sent when the reply failed.
    pub fn failed(&mut self, error: &Error) -> Vec<Value> {
        self.flush(Standing::Incomplete);
        let payload = failure(error);
        let mut response = self.response.clone();
        response.status = Status::Failed;
        response.error = serde_json::from_value(payload.clone()).ok();
        self.tell("error", json!({"error": payload}));
        let response = compose(&self.asked, self.id(), &response, self.written());
        self.tell("response.failed", json!({"response": response}));
        std::mem::take(&mut self.out)
    }

    fn start(&mut self, response: &Response) {
        self.response = response.clone();
        self.response.output = Vec::new();
        self.response.status = Status::InProgress;
        let response = compose(&self.asked, self.id(), &self.response, Vec::new());
        self.tell("response.created", json!({"response": response}));
        self.tell("response.in_progress", json!({"response": response}));
    }

    fn begin(&mut self, index: usize, item: &Item) {
        if index != self.items.len() {
            return;
        }
        let id = items::id(self.id(), index, item);
        let fields = json!({"output_index": index, "item": items::begun(item, &id)});
        self.tell("response.output_item.added", fields);
        self.items.push(Begun { id, told: BTreeMap::new(), written: None });
    }

    fn piece(&mut self, index: usize, place: Place, text: &str) {
        if self.items.get(index).is_none_or(|item| item.written.is_some()) {
            return;
        }
        self.open(index, place);
        let Some(item) = self.items.get_mut(index) else { return };
        item.told.entry(place).or_default().push_str(text);
        let mut fields = self.at(index, place);
        fields.insert("delta".to_owned(), text.into());
        if place.kind == Kind::Text {
            fields.insert("logprobs".to_owned(), json!([]));
        }
        self.tell(&format!("response.{}.delta", name(place.kind)), Value::Object(fields));
    }

    /// Announces a text, once.
    fn open(&mut self, index: usize, place: Place) {
        let Some(item) = self.items.get_mut(index) else { return };
        if item.told.contains_key(&place) {
            return;
        }
        item.told.insert(place, String::new());
        if let Some((event, part)) = part(place.kind, "") {
            let mut fields = self.at(index, place);
            fields.insert("part".to_owned(), part);
            self.tell(&format!("response.{event}.added"), Value::Object(fields));
        }
    }

    /// Tells the end of the item that is done.
    fn flush(&mut self, standing: Standing) {
        let Some((index, item)) = self.done.take() else { return };
        let Some(id) = self.items.get(index).map(|begun| begun.id.clone()) else { return };
        let written = items::written(&item, &id, standing);
        match &item {
            Item::Message(message) => {
                for (part, value) in message.content.iter().enumerate() {
                    match value {
                        Part::OutputText { text, .. } => {
                            self.end(index, Place { kind: Kind::Text, part }, text, &written);
                        }
                        Part::Refusal { refusal, .. } => {
                            self.end(index, Place { kind: Kind::Refusal, part }, refusal, &written);
                        }
                        _ => {}
                    }
                }
            }
            Item::FunctionCall(call) => {
                let place = Place { kind: Kind::Arguments, part: 0 };
                self.end(index, place, &call.arguments, &written);
            }
            Item::Reasoning(reasoning) => {
                for (kind, parts) in [
                    (Kind::Summary, reasoning.summary.as_slice()),
                    (Kind::Thought, content(reasoning)),
                ] {
                    for (part, value) in parts.iter().enumerate() {
                        let text = value.get("text").and_then(Value::as_str).unwrap_or_default();
                        self.end(index, Place { kind, part }, text, &written);
                    }
                }
            }
            Item::FunctionCallOutput(_) | Item::Unknown(_) => {}
        }
        let fields = json!({"output_index": index, "item": written});
        self.tell("response.output_item.done", fields);
        if let Some(begun) = self.items.get_mut(index) {
            begun.written = Some(written);
        }
    }

    /// Tells the end of a text, and before it what was not told yet.
    fn end(&mut self, index: usize, place: Place, text: &str, written: &Value) {
        self.open(index, place);
        let told = self.items.get(index).and_then(|item| item.told.get(&place));
        let rest = text.strip_prefix(told.map_or("", String::as_str)).unwrap_or_default();
        if !rest.is_empty() {
            self.piece(index, place, rest);
        }
        self.notes(index, place, written);
        let mut fields = self.at(index, place);
        match place.kind {
            Kind::Refusal => fields.insert("refusal".to_owned(), text.into()),
            Kind::Arguments => {
                fields.insert("name".to_owned(), written.get("name").cloned().unwrap_or_default());
                fields.insert("arguments".to_owned(), text.into())
            }
            Kind::Text => {
                fields.insert("logprobs".to_owned(), json!([]));
                fields.insert("text".to_owned(), text.into())
            }
            Kind::Summary | Kind::Thought => fields.insert("text".to_owned(), text.into()),
        };
        self.tell(&format!("response.{}.done", name(place.kind)), Value::Object(fields));
        if let Some((event, made)) = part(place.kind, text) {
            let list = if place.kind == Kind::Summary { "summary" } else { "content" };
            let whole = written.get(list).and_then(|parts| parts.get(place.part));
            let mut fields = self.at(index, place);
            fields.insert("part".to_owned(), whole.cloned().unwrap_or(made));
            self.tell(&format!("response.{event}.done"), Value::Object(fields));
        }
    }

    /// Tells what a text refers to.
    fn notes(&mut self, index: usize, place: Place, written: &Value) {
        let part = written.get("content").and_then(|parts| parts.get(place.part));
        let notes = part.and_then(|part| part.get("annotations")).and_then(Value::as_array);
        for (number, note) in notes.into_iter().flatten().enumerate() {
            let mut fields = self.at(index, place);
            fields.insert("annotation_index".to_owned(), number.into());
            fields.insert("annotation".to_owned(), note.clone());
            self.tell("response.output_text.annotation.added", Value::Object(fields));
        }
    }

    fn complete(&mut self, response: &Response) {
        let incomplete = response.status == Status::Incomplete;
        self.flush(if incomplete { Standing::Incomplete } else { Standing::Completed });
        // Whoever tells only the end leaves out the beginning.
        if self.sequence == 0 {
            self.start(response);
        }
        for (index, item) in response.output.iter().enumerate() {
            self.begin(index, item);
            if self.items.get(index).is_some_and(|begun| begun.written.is_none()) {
                self.done = Some((index, item.clone()));
                let cut = incomplete && index + 1 == response.output.len();
                self.flush(if cut { Standing::Incomplete } else { Standing::Completed });
            }
        }
        let event = match response.status {
            Status::Incomplete => "response.incomplete",
            Status::Failed => "response.failed",
            _ => "response.completed",
        };
        let response = compose(&self.asked, self.id(), response, self.written());
        self.tell(event, json!({"response": response}));
    }

    /// The response's id, the same in every event: what came with the first of them.
    fn id(&self) -> &str {
        response_id(&self.response)
    }

    /// The output as it was told.
    fn written(&self) -> Vec<Value> {
        self.items.iter().filter_map(|item| item.written.clone()).collect()
    }

    /// The fields that say where in the response something is.
    fn at(&self, index: usize, place: Place) -> Map<String, Value> {
        let mut fields = Map::new();
        if let Some(item) = self.items.get(index) {
            fields.insert("item_id".to_owned(), item.id.as_str().into());
        }
        fields.insert("output_index".to_owned(), index.into());
        let key = match place.kind {
            Kind::Summary => "summary_index",
            Kind::Thought | Kind::Text | Kind::Refusal => "content_index",
            Kind::Arguments => return fields,
        };
        fields.insert(key.to_owned(), place.part.into());
        fields
    }

    fn tell(&mut self, kind: &str, fields: Value) {
        let mut event = Map::new();
        event.insert("type".to_owned(), kind.into());
        event.insert("sequence_number".to_owned(), self.sequence.into());
        if let Value::Object(fields) = fields {
            event.extend(fields);
        }
        self.sequence += 1;
        self.out.push(Value::Object(event));
    }
}

/// How the events of a text are called.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Summary => "reasoning_summary_text",
        Kind::Thought => "reasoning_text",
        Kind::Text => "output_text",
        Kind::Refusal => "refusal",
        Kind::Arguments => "function_call_arguments",
    }
}

/// The part that holds a text, and how its events are called. Arguments are no part.
fn part(kind: Kind, text: &str) -> Option<(&'static str, Value)> {
    match kind {
        Kind::Summary => {
            Some(("reasoning_summary_part", json!({"type": "summary_text", "text": text})))
        }
        Kind::Thought => Some(("content_part", json!({"type": "reasoning_text", "text": text}))),
        Kind::Text => Some((
            "content_part",
            json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []}),
        )),
        Kind::Refusal => Some(("content_part", json!({"type": "refusal", "refusal": text}))),
        Kind::Arguments => None,
    }
}

fn content(reasoning: &Reasoning) -> &[Value] {
    match reasoning.extra.get("content") {
        Some(Value::Array(parts)) => parts,
        _ => &[],
    }
}
