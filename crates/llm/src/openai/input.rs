//! Decides how a conversation is told to the vendor: which items go as they are, which are converted, which are left
//! out, and what must be added so that the request is accepted.
//! Called by `body`. Linear in the number of items; texts are borrowed. Never fails.

use std::borrow::Cow;
use std::collections::HashSet;

use agent_world_core::item::{
    FunctionCall, FunctionCallOutput, Item, MessageItem, Reasoning, Role,
};
use serde_json::{Map, Value};

use super::written::{Line, parts, result, result_in_words};
use super::{Flavour, reply};
use crate::dialect::Asked;
use crate::names::shortened;
use crate::origin::{self, Origin};
use crate::pairing::OpenCalls;
use crate::{Format, Request};

/// Everything the vendor is told, in order.
pub(super) fn lines<'a>(request: &'a Request, asked: &'a Asked, flavour: Flavour) -> Vec<Line<'a>> {
    let mut writer = Writer::new(request, asked, flavour);
    writer.preface();
    let anchors = anchors(request, &asked.vendor);
    for (item, anchor) in request.input.iter().zip(anchors) {
        writer.item(item, anchor);
    }
    writer.answered()
}

/// What directly follows an item, as far as a reasoning item depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    /// Nothing that this vendor's model made.
    Nothing,
    /// Something of its turn, but without the id by which the vendor would know it.
    Nameless,
    Named,
}

/// For each item, what follows it. Reasoning items may stand between.
fn anchors(request: &Request, vendor: &str) -> Vec<Anchor> {
    let mut following = Anchor::Nothing;
    let mut anchors: Vec<Anchor> = request
        .input
        .iter()
        .rev()
        .map(|item| {
            let behind = following;
            let own = Origin::by(item, vendor).is_some();
            let named = |id: Option<&str>| match (own, id) {
                (false, _) => Anchor::Nothing,
                (true, None) => Anchor::Nameless,
                (true, Some(_)) => Anchor::Named,
            };
            following = match &**item {
                Item::Reasoning(_) if own => behind,
                // A reply that a limit cut may end with a message that says nothing, and nothing is sent of it.
                Item::Message(message) if message.content.is_empty() => Anchor::Nothing,
                Item::Message(message) if message.role == Role::Assistant => {
                    named(message.id.as_deref())
                }
                Item::FunctionCall(call) => named(call.id.as_deref()),
                Item::Unknown(value) => named(value.get("id").and_then(Value::as_str)),
                _ => Anchor::Nothing,
            };
            behind
        })
        .collect();
    anchors.reverse();
    anchors
}

/// What was done with the thoughts of the turn under way. The vendor knows which items followed which reasoning, and
/// refuses an item by its id when the reasoning before it is missing; without its id it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thoughts {
    None,
    Sent,
    LeftOut,
}

struct Writer<'a> {
    request: &'a Request,
    asked: &'a Asked,
    flavour: Flavour,
    lines: Vec<Line<'a>>,
    thoughts: Thoughts,
    /// Calls without a result yet: the ids they were sent with, and their lines.
    waiting: OpenCalls<'a, (Cow<'a, str>, usize)>,
    /// Ids of calls that were sent. Some vendors use one twice.
    used: HashSet<Cow<'a, str>>,
}

/// Characters of a call's id.
const LONGEST: usize = 64;

/// Calls of tools that the vendor runs itself. They need their id.
const HOSTED: &[&str] = &[
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
];

impl<'a> Writer<'a> {
    fn new(request: &'a Request, asked: &'a Asked, flavour: Flavour) -> Self {
        Self {
            request,
            asked,
            flavour,
            lines: Vec::with_capacity(request.input.len() + 1),
            thoughts: Thoughts::None,
            waiting: OpenCalls::default(),
            used: HashSet::new(),
        }
    }

    /// What is said before the conversation.
    fn preface(&mut self) {
        let (request, able) = (self.request, &self.asked.capabilities);
        if self.flavour == Flavour::Xai && !request.instructions.is_empty() {
            let text = Cow::Borrowed(request.instructions.as_str());
            self.lines.push(Line::words(self.role(Role::System), text));
        }
        if let Some(schema) = request.json_schema().filter(|_| !able.json_schema) {
            let text = format!(
                "Answer with nothing but JSON that follows this JSON Schema:\n{}",
                schema.schema
            );
            self.lines.push(Line::words(self.role(Role::System), Cow::Owned(text)));
        }
        // The vendor refuses to hold a reply to JSON when nobody has asked for it in the conversation itself.
        let format = request.text.as_ref().and_then(|text| text.format.as_ref());
        if matches!(format, Some(Format::JsonObject)) && !request.talks_of_json() {
            let text = Cow::Borrowed("Answer with one JSON object and no other text.");
            self.lines.push(Line::words(self.role(Role::System), text));
        }
    }

    fn item(&mut self, item: &'a Item, anchor: Anchor) {
        let origin = Origin::of(item);
        let own = Origin::by(item, &self.asked.vendor).is_some();
        // What a caller wrote is in this format already; what another vendor made is not meant for this one.
        let extra = match origin {
            Some(_) if !own => None,
            _ => origin::fields(item),
        };
        match item {
            Item::Message(message) => self.message(item, message, extra, own),
            Item::FunctionCall(call) => self.call(item, call, extra, own),
            Item::FunctionCallOutput(output) => self.output(output, extra),
            Item::Reasoning(reasoning) if own => self.reasoning(reasoning, anchor),
            Item::Reasoning(_) => {}
            Item::Unknown(value) if value.is_object() && (own || origin.is_none()) => {
                self.other(item, value, own);
            }
            Item::Unknown(_) => {}
        }
    }

    fn message(
        &mut self,
        item: &'a Item,
        message: &'a MessageItem,
        extra: Option<&'a Map<String, Value>>,
        own: bool,
    ) {
        if message.role != Role::Assistant {
            self.thoughts = Thoughts::None;
            self.waiting.interrupted();
        }
        let parts = parts(message, extra.is_some(), &self.asked.capabilities);
        if parts.is_empty() {
            return;
        }
        self.lines.push(Line::Message {
            id: message.id.as_deref().filter(|_| own && self.knows(item)),
            role: self.role(message.role),
            parts,
            extra,
        });
    }

    fn call(
        &mut self,
        item: &'a Item,
        call: &'a FunctionCall,
        extra: Option<&'a Map<String, Value>>,
        own: bool,
    ) {
        let call_id = self.fresh_id(&call.call_id);
        let place = (call_id.clone(), self.lines.len());
        self.waiting.called(&call.call_id, place);
        self.lines.push(Line::Call {
            id: call.id.as_deref().filter(|_| own && self.knows(item)),
            call_id,
            name: Cow::Borrowed(&call.name),
            arguments: if call.arguments.is_empty() { "{}" } else { &call.arguments },
            extra,
        });
    }

    /// An id that the vendor takes and that no call before had.
    fn fresh_id(&mut self, call_id: &'a str) -> Cow<'a, str> {
        let wanted = match call_id {
            "" => Cow::Borrowed("call"),
            call_id => shortened(call_id, LONGEST),
        };
        let mut fresh = wanted.clone();
        let mut number = self.used.len();
        while (call_id.is_empty() && fresh == "call") || self.used.contains(&fresh) {
            number += 1;
            fresh = Cow::Owned(shortened(&format!("{wanted}_{number}"), LONGEST).into_owned());
        }
        self.used.insert(fresh.clone());
        fresh
    }

    fn output(&mut self, output: &'a FunctionCallOutput, extra: Option<&'a Map<String, Value>>) {
        let able = &self.asked.capabilities;
        let call_id = match self.waiting.answered(&output.call_id) {
            Some((call_id, _)) => call_id,
            // The call is with the vendor.
            None if self.request.previous_response_id.is_some() => {
                shortened(&output.call_id, LONGEST)
            }
            None => {
                let text = format!(
                    "The result of an earlier tool call:\n{}",
                    result_in_words(&output.output)
                );
                self.lines.push(Line::words("user", Cow::Owned(text)));
                return;
            }
        };
        self.lines.push(Line::Output { call_id, output: result(&output.output, able), extra });
    }

    /// Thoughts that the vendor cannot place or find are left out, or it would refuse the request.
    fn reasoning(&mut self, reasoning: &'a Reasoning, anchor: Anchor) {
        let sealed = reasoning.extra.get("encrypted_content").is_some_and(Value::is_string);
        let placed = match anchor {
            Anchor::Nothing => false,
            Anchor::Nameless => self.flavour == Flavour::Xai || reasoning.id.is_none(),
            Anchor::Named => true,
        };
        let kept = sealed || (self.request.store != Some(false) && reasoning.id.is_some());
        if placed && kept && self.asked.capabilities.reasoning {
            self.lines.push(Line::Reasoning(reasoning));
            self.thoughts = Thoughts::Sent;
        } else {
            self.thoughts = Thoughts::LeftOut;
        }
    }

    fn other(&mut self, item: &'a Item, value: &'a Value, own: bool) {
        let keeps_id = !own || self.knows(item);
        let hosted =
            value.get("type").and_then(Value::as_str).is_some_and(|kind| HOSTED.contains(&kind));
        if keeps_id || !hosted {
            self.lines.push(Line::Other { value, keeps_id });
        }
    }

    /// Whether the vendor will accept an item of its own by its id.
    fn knows(&self, item: &Item) -> bool {
        let depends = Origin::of(item).is_some_and(|origin| origin.get(reply::REASONED).is_some());
        match self.thoughts {
            Thoughts::Sent => true,
            Thoughts::None => !depends,
            Thoughts::LeftOut => matches!(item, Item::Unknown(value)
                if value.get("type").is_some_and(|kind| kind == "compaction")),
        }
    }

    fn role(&self, role: Role) -> &'static str {
        let accepts = &self.asked.capabilities.accepts;
        match role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System | Role::Developer if !accepts.system_messages => "user",
            Role::Developer if accepts.developer_role => "developer",
            Role::System | Role::Developer => "system",
        }
    }

    /// The lines, with a word for every call that nobody answered: the vendor refuses a call without a result.
    fn answered(self) -> Vec<Line<'a>> {
        let mut missing: Vec<(Cow<'a, str>, usize)> = self.waiting.unanswered().collect();
        if missing.is_empty() || self.request.previous_response_id.is_some() {
            return self.lines;
        }
        missing.sort_by_key(|(_, place)| *place);
        let mut missing = missing.into_iter().peekable();
        let mut lines = Vec::with_capacity(self.lines.len() + missing.len());
        for (place, line) in self.lines.into_iter().enumerate() {
            lines.push(line);
            while let Some((call_id, _)) = missing.next_if(|(_, of)| *of == place) {
                lines.push(Line::Unanswered { call_id });
            }
        }
        lines
    }
}
