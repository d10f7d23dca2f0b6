//! Decides how a conversation of items becomes a list of messages: all that an assistant said and called between two
//! others is one message, and every call is followed at once by exactly one result.
//! Called by `request`. Items of the same vendor go back with what they came with; of all others only text, calls and
//! results are told. Linear in the conversation, whose texts are borrowed.

use std::borrow::Cow;
use std::collections::HashSet;

use agent_world_core::item::{FunctionCall, FunctionCallOutput, Item, MessageItem, Part, Role};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::content::{Content, Shown, Viewer, join, worded};
use super::flavour::Thoughts;
use super::ids::shaped;
use super::notes;
use crate::Request;
use crate::dialect::Asked;
use crate::origin::Origin;
use crate::pairing::OpenCalls;

/// A message as it is sent.
#[derive(Debug, Serialize)]
pub(super) struct Message<'a> {
    role: &'static str,
    content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(flatten)]
    fields: Fields<'a>,
}

#[derive(Debug, Serialize)]
struct Call<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: Function<'a>,
    #[serde(flatten)]
    fields: Fields<'a>,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

/// Fields that are not the same for every host.
#[derive(Debug, Default)]
struct Fields<'a>(Vec<(&'a str, Field<'a>)>);

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Field<'a> {
    Text(Cow<'a, str>),
    Noted(&'a Value),
}

/// Fields that are written anyway. A note under one of these names would be there twice.
const MESSAGE_FIELDS: &[&str] = &["role", "content", "refusal", "tool_calls", "tool_call_id"];
const CALL_FIELDS: &[&str] = &["id", "type", "function"];

impl<'a> Fields<'a> {
    fn add(&mut self, noted: &'a Map<String, Value>, taken: &[&str]) {
        for (key, value) in noted {
            let known = self.0.iter().any(|(known, _)| known == key);
            if !known && !taken.contains(&key.as_str()) {
                self.0.push((key, Field::Noted(value)));
            }
        }
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'a> Message<'a> {
    fn new(role: &'static str, content: Content<'a>) -> Self {
        Self {
            role,
            content: Some(content),
            refusal: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            fields: Fields::default(),
        }
    }
}

/// What an assistant said and called between two others.
#[derive(Debug, Default)]
struct Turn<'a> {
    said: Vec<Said<'a>>,
    calls: Vec<Called<'a>>,
    noted: Vec<&'a Map<String, Value>>,
}

#[derive(Debug)]
enum Said<'a> {
    Text(Cow<'a, str>),
    Refusal(&'a str),
    /// In the field in which it came.
    Thought(&'a str, Cow<'a, str>),
}

#[derive(Debug)]
struct Called<'a> {
    call: &'a FunctionCall,
    /// The host's own: its id and its fields are what the host gave.
    own: Option<Origin<'a>>,
    output: Option<&'a FunctionCallOutput>,
}

/// One step of the conversation.
#[derive(Debug)]
enum Step<'a> {
    Turn(Turn<'a>),
    Other(Message<'a>),
}

/// Writes a conversation.
pub(super) struct Writer<'a> {
    viewer: Viewer<'a>,
    asked: &'a Asked,
    /// Whether a turn without thoughts needs a blank in their place.
    blank_thoughts: bool,
    system_anywhere: bool,
    strict_turns: bool,
    steps: Vec<Step<'a>>,
    /// Whether the last step may still grow.
    open: bool,
    /// Calls without a result so far, by id: an id may be used again.
    waiting: OpenCalls<'a, (usize, usize)>,
    /// What is told before everything else, for hosts that take one `system` message.
    front: Vec<Cow<'a, str>>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(viewer: Viewer<'a>, asked: &'a Asked, request: &Request) -> Self {
        let effort = request.reasoning.as_ref().and_then(|reasoning| reasoning.effort.as_deref());
        Self {
            viewer,
            asked,
            blank_thoughts: viewer.flavour.thoughts_return == Thoughts::Always
                && viewer.capabilities.reasoning
                && effort != Some("none"),
            system_anywhere: viewer.flavour.system_anywhere
                && viewer.capabilities.accepts.system_messages,
            // A host of many makers passes on what the maker refuses.
            strict_turns: viewer.flavour.strict_turns
                || (viewer.flavour.many_makers && asked.model.starts_with("mistralai/")),
            steps: Vec::new(),
            open: false,
            waiting: OpenCalls::default(),
            front: Vec::new(),
        }
    }

    /// The messages for a request, whose instructions may have grown by a few words.
    pub(super) fn write(
        mut self,
        instructions: Cow<'a, str>,
        request: &'a Request,
    ) -> Vec<Message<'a>> {
        if !instructions.is_empty() {
            if self.system_anywhere {
                let role = self.role(Role::Developer);
                self.other(Message::new(role, Content::Text(instructions)));
            } else {
                self.front.push(instructions);
            }
        }
        for item in &request.input {
            self.item(item);
        }
        let mut messages = Vec::with_capacity(self.steps.len() + self.front.len());
        if !self.front.is_empty() {
            let front = join(std::mem::take(&mut self.front), "\n\n");
            messages.push(Message::new(self.role(Role::Developer), Content::Text(front)));
        }
        for step in std::mem::take(&mut self.steps) {
            match step {
                Step::Turn(turn) => self.turn(turn, &mut messages),
                Step::Other(message) => messages.push(message),
            }
        }
        if self.strict_turns { in_strict_turns(messages) } else { messages }
    }

    fn item(&mut self, item: &'a Item) {
        let own = Origin::by(item, &self.asked.vendor).filter(|origin| self.same_maker(*origin));
        if let Some(Value::Object(fields)) = own.and_then(|own| own.get(notes::MESSAGE))
            && self.viewer.flavour.unknown_fields_return
        {
            self.grow(|turn| turn.noted.push(fields));
        }
        match item {
            Item::Message(message) => self.message(message),
            Item::FunctionCall(call) => self.call(call, own),
            Item::FunctionCallOutput(output) => self.output(output),
            Item::Reasoning(reasoning) => {
                let field = own.and_then(|own| own.text(notes::FIELD));
                let returns = self.viewer.flavour.thoughts_return != Thoughts::Never;
                // A thought that was part of the text is what the model's template cuts out of the history itself.
                if let Some(field) = field.filter(|field| returns && *field != "text") {
                    let thought = thought(&reasoning.extra);
                    self.grow(|turn| turn.said.push(Said::Thought(field, thought)));
                }
            }
            // Another format's own; nothing of it can be said here.
            Item::Unknown(_) => {}
        }
    }

    fn message(&mut self, message: &'a MessageItem) {
        if message.role != Role::Assistant {
            self.waiting.interrupted();
        }
        match message.role {
            Role::Assistant => self.said(&message.content),
            Role::User => {
                let content = self.viewer.content(&message.content);
                self.other(Message::new("user", content));
            }
            Role::System | Role::Developer => self.system(message),
        }
    }

    fn said(&mut self, parts: &'a [Part]) {
        let apart = self.viewer.flavour.openai_fields;
        let mut texts = Vec::new();
        for part in parts {
            match part {
                Part::Refusal { refusal, .. } if apart => {
                    self.grow(|turn| turn.said.push(Said::Refusal(refusal)));
                }
                part => texts.push(worded(part)),
            }
        }
        let text = join(texts, "");
        if !text.is_empty() {
            self.grow(|turn| turn.said.push(Said::Text(text)));
        }
    }

    fn system(&mut self, message: &'a MessageItem) {
        let content = self.viewer.texts(&message.content);
        if self.system_anywhere {
            let role = self.role(message.role);
            self.other(Message::new(role, content));
            return;
        }
        let texts = message.content.iter().map(worded).collect();
        let text = join(texts, "\n\n");
        if self.steps.is_empty() {
            self.front.push(text);
        } else {
            let told = format!("[from the system]\n{text}");
            self.other(Message::new("user", Content::Text(told.into())));
        }
    }

    fn call(&mut self, call: &'a FunctionCall, own: Option<Origin<'a>>) {
        if !self.viewer.capabilities.tools {
            let told = format!("[called {} with {}]", call.name, call.arguments);
            self.grow(|turn| turn.said.push(Said::Text(told.into())));
            return;
        }
        let mut place = 0;
        self.grow(|turn| {
            place = turn.calls.len();
            turn.calls.push(Called { call, own, output: None });
        });
        let step = self.steps.len() - 1;
        self.waiting.called(&call.call_id, (step, place));
    }

    fn output(&mut self, output: &'a FunctionCallOutput) {
        self.open = false;
        let waiting = self.waiting.answered(&output.call_id);
        let called = waiting.and_then(|(step, place)| match self.steps.get_mut(step) {
            Some(Step::Turn(turn)) => turn.calls.get_mut(place),
            _ => None,
        });
        match called {
            Some(called) => called.output = Some(output),
            None => {
                // Nobody here knows the call, or the model knows no calls: the result is told in words.
                let result = self.viewer.result(&output.output);
                let told = format!("[result of a call]\n{}", result.text);
                let content = match result.images.is_empty() {
                    true => Content::Text(told.into()),
                    false => with_images(told, result.images),
                };
                self.other(Message::new("user", content));
            }
        }
    }

    /// Adds to the turn under way, or to a new one.
    fn grow(&mut self, grow: impl FnOnce(&mut Turn<'a>)) {
        if !(self.open && matches!(self.steps.last(), Some(Step::Turn(_)))) {
            self.steps.push(Step::Turn(Turn::default()));
            self.open = true;
        }
        if let Some(Step::Turn(turn)) = self.steps.last_mut() {
            grow(turn);
        }
    }

    fn other(&mut self, message: Message<'a>) {
        self.open = false;
        self.steps.push(Step::Other(message));
    }

    /// Writes a turn and the results of its calls.
    fn turn(&self, turn: Turn<'a>, messages: &mut Vec<Message<'a>>) {
        let Turn { said, calls, noted } = turn;
        let spoken = said.iter().any(|said| !matches!(said, Said::Thought(..)));
        if !spoken && calls.is_empty() {
            return;
        }
        let mut message = Message::new("assistant", Content::Text("".into()));
        self.speak(said, &mut message);
        for fields in noted {
            message.fields.add(fields, MESSAGE_FIELDS);
        }
        let mut results = Vec::with_capacity(calls.len());
        let mut images = Vec::new();
        let mut used: HashSet<Cow<'a, str>> = HashSet::new();
        for called in calls {
            let mut id = self.id(&called);
            // Hosts exist that give every call the same id; results could not be told apart.
            let mut number = used.len();
            while used.contains(&id) {
                let another = format!("{}_{number}", called.call.call_id);
                id = Cow::Owned(shaped(&another, self.viewer.flavour.ids).into_owned());
                number += 1;
            }
            used.insert(id.clone());
            let text = match called.output {
                Some(output) => {
                    let result = self.viewer.result(&output.output);
                    if !result.images.is_empty() {
                        let told = format!("[shown by the result of {}]", called.call.name);
                        images.push(Message::new("user", with_images(told, result.images)));
                    }
                    result.text
                }
                None => "[there is no result: the call was not carried out]".into(),
            };
            let mut result = Message::new("tool", Content::Text(text));
            result.tool_call_id = Some(id.clone());
            results.push(result);
            message.tool_calls.push(self.written(&called, id));
        }
        messages.push(message);
        messages.append(&mut results);
        messages.append(&mut images);
    }

    /// Puts what was said and thought into a message.
    fn speak(&self, said: Vec<Said<'a>>, message: &mut Message<'a>) {
        let mut thoughts: Vec<(&str, Vec<Cow<'a, str>>)> = Vec::new();
        let mut chunks = Vec::new();
        let (mut texts, mut refusals) = (Vec::new(), Vec::new());
        let in_chunks = said.iter().any(|said| matches!(said, Said::Thought("content", _)));
        for said in said {
            match said {
                Said::Text(text) if in_chunks => chunks.push(Shown::Text { text }),
                Said::Text(text) => texts.push(text),
                Said::Refusal(refusal) => refusals.push(Cow::Borrowed(refusal)),
                Said::Thought("content", text) => {
                    chunks.push(Shown::Thinking { thinking: vec![Shown::Text { text }] });
                }
                Said::Thought(field, text) => {
                    match thoughts.iter_mut().find(|(known, _)| *known == field) {
                        Some((_, known)) => known.push(text),
                        None => thoughts.push((field, vec![text])),
                    }
                }
            }
        }
        message.content = match (in_chunks, texts.is_empty()) {
            (true, _) => Some(Content::Parts(chunks)),
            (false, true) => None,
            (false, false) => Some(Content::Text(join(texts, "\n\n"))),
        };
        message.refusal = (!refusals.is_empty()).then(|| join(refusals, "\n\n"));
        if thoughts.is_empty() && self.blank_thoughts {
            thoughts.push(("reasoning_content", vec![" ".into()]));
        }
        for (field, texts) in thoughts {
            message.fields.0.push((field, Field::Text(join(texts, "\n\n"))));
        }
    }

    fn written(&self, called: &Called<'a>, id: Cow<'a, str>) -> Call<'a> {
        let mut fields = Fields::default();
        if let Some(Value::Object(noted)) = called.own.and_then(|own| own.get(notes::CALL))
            && self.viewer.flavour.unknown_fields_return
        {
            fields.add(noted, CALL_FIELDS);
        }
        let arguments = self.arguments(&called.call.arguments);
        Call {
            id,
            r#type: "function",
            function: Function { name: &called.call.name, arguments },
            fields,
        }
    }

    /// Arguments the host can read. A call that a limit cut has broken ones, and they may stay in a history for good.
    fn arguments(&self, arguments: &'a str) -> Cow<'a, str> {
        if arguments.trim().is_empty() {
            return Cow::Borrowed("{}");
        }
        let readable = self.viewer.flavour.broken_arguments
            || serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok();
        if readable {
            Cow::Borrowed(arguments)
        } else {
            Cow::Owned(serde_json::json!({"unreadable_arguments": arguments}).to_string())
        }
    }

    /// The host's own id as it was; any other in the shape the host wants.
    fn id(&self, called: &Called<'a>) -> Cow<'a, str> {
        let given = called.own.is_some_and(|own| own.get(notes::MADE_ID).is_none());
        if given && !called.call.call_id.is_empty() {
            Cow::Borrowed(&called.call.call_id)
        } else {
            shaped(&called.call.call_id, self.viewer.flavour.ids)
        }
    }

    fn role(&self, role: Role) -> &'static str {
        let developer =
            self.viewer.flavour.developer_role && self.viewer.capabilities.accepts.developer_role;
        if role == Role::Developer && developer { "developer" } else { "system" }
    }

    /// Whether the model that made an item is of the same maker as the one asked, where that matters.
    fn same_maker(&self, origin: Origin<'_>) -> bool {
        let maker = |model: &str| model.split('/').next().unwrap_or_default().to_owned();
        !self.viewer.flavour.many_makers
            || origin.model().is_none_or(|model| maker(model) == maker(&self.asked.model))
    }
}

/// The messages for a host that lets nobody but the assistant speak behind results, and waits for the user at the end.
fn in_strict_turns(messages: Vec<Message<'_>>) -> Vec<Message<'_>> {
    let said = |role, text: &'static str| Message::new(role, Content::Text(text.into()));
    let mut ordered = Vec::with_capacity(messages.len() + 1);
    let mut before = "";
    for message in messages {
        if before == "tool" && !matches!(message.role, "tool" | "assistant") {
            ordered.push(said("assistant", "OK."));
        }
        before = message.role;
        ordered.push(message);
    }
    if !matches!(before, "user" | "tool") {
        ordered.push(said("user", "Continue."));
    }
    ordered
}

/// The text of a reasoning item that one of these hosts made.
fn thought(extra: &Map<String, Value>) -> Cow<'_, str> {
    let parts = extra.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts = parts.filter_map(|part| part.get("text")?.as_str()).map(Cow::Borrowed).collect();
    join(texts, "\n\n")
}

fn with_images(text: String, images: Vec<Shown<'_>>) -> Content<'_> {
    let mut parts = vec![Shown::text(text)];
    parts.extend(images);
    Content::Parts(parts)
}

#[cfg(test)]
#[path = "messages_tests.rs"]
mod tests;
