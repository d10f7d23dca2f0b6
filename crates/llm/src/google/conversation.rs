//! Decides how a conversation of items becomes Gemini's turns of user and model, in an order that Gemini takes:
//! every call is answered in the turn right behind it, and nothing else comes first there.
//! Called by the dialect for every request. Linear in the number of items; never leaves out what somebody said.

use std::borrow::Cow;
use std::collections::HashMap;

use agent_world_core::item::{FunctionCall, Item, MessageItem, Reasoning, Role};
use serde_json::Value;

use super::wire::{Call, CallResponse, Content, Made, Named, Object, Part, Side};
use super::{media, results, settings};
use crate::Request;
use crate::dialect::Asked;
use crate::origin::Origin;
use crate::pairing::OpenCalls;

/// What stands for the signature of a call that the asked vendor did not make: its documents name this word for
/// calls that come from elsewhere.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// What the user's side says where Gemini wants it to say something and nobody did.
const GO_ON: &str = "Continue.";

#[derive(Debug)]
pub(super) struct Conversation<'a> {
    pub contents: Vec<Content<'a>>,
    pub system: Option<Content<'a>>,
}

pub(super) fn write<'a>(request: &'a Request, asked: &'a Asked) -> Conversation<'a> {
    let mut writer = Writer {
        asked,
        answers: Answers::find(&request.input),
        items: request.input.iter().map(AsRef::as_ref).collect(),
        contents: Vec::new(),
        calls: Vec::new(),
        system: Vec::new(),
    };
    if !request.instructions.is_empty() {
        writer.system.push(Part::text(&request.instructions));
    }
    for place in 0..writer.items.len() {
        writer.item(place);
    }
    if let Some(words) = settings::format_in_words(request, asked) {
        writer.system.push(Part::text(words));
    }
    writer.finish()
}

struct Writer<'a> {
    asked: &'a Asked,
    items: Vec<&'a Item>,
    answers: Answers,
    contents: Vec<Content<'a>>,
    /// The calls of the model's turn under way, by their places.
    calls: Vec<usize>,
    system: Vec<Part<'a>>,
}

impl<'a> Writer<'a> {
    fn item(&mut self, place: usize) {
        let Some(item) = self.items.get(place).copied() else { return };
        let ours = Origin::by(item, &self.asked.vendor);
        match item {
            Item::Message(message) => match message.role {
                Role::User => self.told(message),
                Role::Assistant => self.said(message, ours),
                Role::System | Role::Developer => self.instructed(message),
            },
            Item::Reasoning(reasoning) => self.thought(reasoning, ours),
            Item::FunctionCall(call) => self.called(place, call, ours),
            Item::FunctionCallOutput(output) => {
                if self.asked.capabilities.tools && self.answers.is_answer(place) {
                    self.answer();
                } else {
                    let words = results::in_words(output);
                    self.user(Part::text(format!("[result of a tool call] {words}")));
                }
            }
            Item::Unknown(value) => {
                if let (Some(_), Some(raw @ Value::Object(_))) = (ours, value.get("raw")) {
                    self.model(Part::Raw(raw));
                }
            }
        }
    }

    fn told(&mut self, message: &'a MessageItem) {
        for part in &message.content {
            self.user(media::part(part, &self.asked.capabilities));
        }
    }

    /// Instructions before everything else are Gemini's system instruction; it has no place for later ones.
    fn instructed(&mut self, message: &'a MessageItem) {
        let text = message.text();
        if text.is_empty() {
            return;
        }
        if self.contents.is_empty() {
            self.system.push(Part::text(text));
        } else {
            self.user(Part::text(format!("System message: {text}")));
        }
    }

    fn said(&mut self, message: &'a MessageItem, ours: Option<Origin<'a>>) {
        if let ([part], Some(origin)) = (message.content.as_slice(), ours)
            && let Some(text) = part.text()
        {
            return self.signed(text, false, origin.get("signatures"));
        }
        for part in &message.content {
            if part.text() != Some("") {
                self.model(media::part(part, &self.asked.capabilities));
            }
        }
    }

    /// Thoughts go back to the vendor who sent them; nobody else's mean anything to it.
    fn thought(&mut self, reasoning: &'a Reasoning, ours: Option<Origin<'a>>) {
        let Some(origin) = ours else { return };
        let thought = origin.get("spoken") != Some(&Value::Bool(true));
        let mut signatures = origin.get("signatures");
        if reasoning.summary.is_empty() {
            self.signed("", thought, signatures.take());
        }
        for part in &reasoning.summary {
            if let Some(text) = part.get("text").and_then(Value::as_str) {
                self.signed(text, thought, signatures.take());
            }
        }
    }

    /// A text in the pieces in which it was signed.
    fn signed(&mut self, text: &'a str, thought: bool, signatures: Option<&'a Value>) {
        for (piece, signature) in pieces(text, signatures) {
            self.model(
                Made {
                    text: Some(Cow::Borrowed(piece)),
                    thought,
                    thought_signature: signature,
                    ..Made::default()
                }
                .into(),
            );
        }
    }

    fn called(&mut self, place: usize, call: &'a FunctionCall, ours: Option<Origin<'a>>) {
        if !self.asked.capabilities.tools {
            let (name, arguments) = (&call.name, &call.arguments);
            return self.model(Part::text(format!("[called {name}] {arguments}")));
        }
        self.calls.push(place);
        let part = Made {
            function_call: Some(Call {
                id: self.id(call, ours),
                name: Cow::Borrowed(&call.name),
                args: arguments(&call.arguments),
            }),
            thought_signature: ours.and_then(|origin| origin.text("signature")),
            ..Made::default()
        };
        self.model(part.into());
    }

    /// An id that we made up is left out for the model that gave none. Another may insist on ids.
    fn id(&self, call: &'a FunctionCall, ours: Option<Origin<'a>>) -> Option<&'a str> {
        let made = ours.is_some_and(|origin| {
            let model = self.asked.model.rsplit('/').next();
            origin.get("made_id") == Some(&Value::Bool(true))
                && (origin.model().is_none() || origin.model() == model)
        });
        (!made && !call.call_id.is_empty()).then_some(call.call_id.as_str())
    }

    fn model(&mut self, part: Part<'a>) {
        self.push(Side::Model, part);
    }

    fn user(&mut self, part: Part<'a>) {
        self.answer();
        self.push(Side::User, part);
    }

    fn push(&mut self, side: Side, part: Part<'a>) {
        match self.contents.last_mut() {
            Some(last) if last.role == Some(side) => last.parts.push(part),
            _ => self.contents.push(Content { role: Some(side), parts: vec![part] }),
        }
    }

    /// Answers all calls of the model's turn, in their order.
    fn answer(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        if calls.is_empty() {
            return;
        }
        self.sign();
        let mut behind = Vec::new();
        for place in calls {
            let Some(item @ Item::FunctionCall(call)) = self.items.get(place).copied() else {
                continue;
            };
            let answer = self.answers.to(place).and_then(|place| self.items.get(place).copied());
            let told = match answer {
                Some(Item::FunctionCallOutput(output)) => {
                    results::of(output, &self.asked.capabilities)
                }
                _ => results::unknown(),
            };
            let response = CallResponse {
                id: self.id(call, Origin::by(item, &self.asked.vendor)),
                name: Cow::Borrowed(&call.name),
                response: told.response,
                parts: told.inside,
            };
            behind.extend(told.behind);
            let part = Made { function_response: Some(response), ..Made::default() };
            self.push(Side::User, part.into());
        }
        for part in behind {
            self.push(Side::User, part);
        }
    }

    /// Newer models refuse a turn whose first call is not signed. The calls behind it need no signature.
    fn sign(&mut self) {
        if !settings::wants_signatures(self.asked) {
            return;
        }
        let parts = self.contents.last_mut().into_iter().flat_map(|last| last.parts.iter_mut());
        let first = parts.into_iter().find_map(|part| match part {
            Part::Made(made) if made.function_call.is_some() => Some(made),
            _ => None,
        });
        if let Some(first) = first {
            first.thought_signature.get_or_insert(UNSIGNED);
        }
    }

    fn finish(mut self) -> Conversation<'a> {
        self.answer();
        if self.contents.is_empty() {
            self.user(Part::text(""));
        }
        self.contents.iter_mut().for_each(Content::tidy);
        let side = |content: Option<&Content<'_>>| content.and_then(|content| content.role);
        if side(self.contents.first()) == Some(Side::Model) {
            let first = Content { role: Some(Side::User), parts: vec![Part::text(GO_ON)] };
            self.contents.insert(0, first);
        }
        if side(self.contents.last()) == Some(Side::Model)
            && settings::wants_the_users_word_last(self.asked)
        {
            self.user(Part::text(GO_ON));
        }
        let system =
            (!self.system.is_empty()).then_some(Content { role: None, parts: self.system });
        Conversation { contents: self.contents, system }
    }
}

/// Arguments in the words in which they came. What is no object (they may be cut, or never were JSON) is named.
fn arguments(text: &str) -> Object<'_> {
    match Object::raw(text) {
        Some(object) => object,
        None if matches!(text.trim(), "" | "null") => Object::Empty {},
        None => Object::Named(Named { arguments: Some(text), ..Named::default() }),
    }
}

/// The pieces of a text, each with the signature that came with it. Signatures whose place is not in the text are
/// of a text that somebody changed since.
fn pieces<'a>(text: &'a str, signatures: Option<&'a Value>) -> Vec<(&'a str, Option<&'a str>)> {
    let mut pieces = Vec::new();
    let mut place = 0;
    for mark in signatures.and_then(Value::as_array).into_iter().flatten() {
        let number = |key: &str| {
            mark.get(key).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
        };
        let (Some(from), Some(to)) = (number("from"), number("to")) else { continue };
        let (Some(before), Some(piece)) = (text.get(place..from), text.get(from..to)) else {
            continue;
        };
        if !before.is_empty() {
            pieces.push((before, None));
        }
        pieces.push((piece, mark.get("signature").and_then(Value::as_str)));
        place = to;
    }
    if let Some(rest) = text.get(place..).filter(|rest| !rest.is_empty()) {
        pieces.push((rest, None));
    }
    pieces
}

/// Which results answer which calls.
#[derive(Debug, Default)]
struct Answers {
    by_call: HashMap<usize, usize>,
    answers: HashMap<usize, usize>,
}

impl Answers {
    fn find<T: AsRef<Item>>(items: &[T]) -> Self {
        let mut found = Self::default();
        let mut open = OpenCalls::default();
        for (place, item) in items.iter().enumerate() {
            match item.as_ref() {
                Item::FunctionCall(call) => open.called(&call.call_id, place),
                Item::FunctionCallOutput(output) => {
                    if let Some(call) = open.answered(&output.call_id) {
                        found.by_call.insert(call, place);
                        found.answers.insert(place, call);
                    }
                }
                Item::Message(message) if message.role != Role::Assistant => open.interrupted(),
                Item::Message(_) | Item::Reasoning(_) | Item::Unknown(_) => {}
            }
        }
        found
    }

    fn to(&self, call: usize) -> Option<usize> {
        self.by_call.get(&call).copied()
    }

    fn is_answer(&self, place: usize) -> bool {
        self.answers.contains_key(&place)
    }
}
