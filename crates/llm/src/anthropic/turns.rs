//! Decides how a conversation of items becomes turns of blocks that the vendor accepts: roles alternate, results stand
//! directly behind their calls, thoughts come first and unmodified, nothing is empty. Called when a request is
//! written. Linear in the conversation; texts are borrowed. Never fails: what does not fit is left out or told.
//!
//! A conversation may have been cut or made by other vendors, so a call may lack its result and a result its call,
//! ids may repeat or be of a shape that the vendor refuses. The first is given a stand-in, the second is told in
//! words, ids are made to fit.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use agent_world_core::item::{
    FunctionCall, FunctionCallOutput, Item, MessageItem, Part, Reasoning, Role,
};
use serde::Serialize;
use serde_json::Value;

use super::blocks::{self, Block, Input, Output};
use crate::dialect::Asked;
use crate::origin::{self, Origin};
use crate::pairing::OpenCalls;
use crate::{Capabilities, Request};

const NO_RESULT: &str = "[no result: this call was not carried out]";
/// The vendor refuses a failure without a word.
const NO_WORDS: &str = "[the call failed without saying why]";
const LOST_CALL: &str = "[the result of an earlier tool call]";

/// A conversation as it is sent.
#[derive(Debug)]
pub struct Conversation<'a> {
    instructions: &'a str,
    /// Messages of the system before anything else was said.
    system: Vec<Cow<'a, str>>,
    pub turns: Vec<Turn<'a>>,
}

#[derive(Debug, Serialize)]
pub struct Turn<'a> {
    role: Speaker,
    content: Vec<Block<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Speaker {
    User,
    Assistant,
    System,
}

/// Instructions alone are sent as the text they are; with messages of the system beside them each is a block.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum System<'a> {
    Text(&'a str),
    Blocks(Vec<Block<'a>>),
}

impl<'a> Conversation<'a> {
    pub fn write(request: &'a Request, asked: &'a Asked) -> Self {
        let items: Vec<&Item> = request.input.iter().map(AsRef::as_ref).collect();
        let mut writer = Writer {
            vendor: &asked.vendor,
            capabilities: &asked.capabilities,
            pairs: Pairs::of(&items, &asked.vendor),
            system: Vec::new(),
            turns: Vec::new(),
            waiting: Vec::new(),
            thoughts: Vec::new(),
            calls: Vec::new(),
            ids: Ids::default(),
            foreign: false,
        };
        for (index, item) in items.iter().enumerate() {
            writer.item(index, item, &items);
        }
        writer.tell_waiting(&items);
        writer.settle(&items);
        // Nothing but instructions is no conversation for this vendor: the last of them is put as the question.
        if writer.turns.is_empty()
            && let Some(text) = writer.system.pop()
        {
            writer.user(Block::text(text).into_iter().collect(), &items);
        }
        Self { instructions: &request.instructions, system: writer.system, turns: writer.turns }
    }

    pub fn system(&self) -> Option<System<'_>> {
        let instructions = Block::text(self.instructions);
        if self.system.is_empty() {
            return instructions.map(|_| System::Text(self.instructions));
        }
        let messages = self.system.iter().filter_map(|text| Block::text(text.as_ref()));
        Some(System::Blocks(instructions.into_iter().chain(messages).collect()))
    }

    /// Whether thoughts are sent back.
    pub fn has_thoughts(&self) -> bool {
        self.blocks().any(Block::is_thought)
    }

    pub fn names_files(&self) -> bool {
        self.blocks().any(Block::names_a_file)
    }

    /// Whether the model is in the midst of calls that did not begin with a thought. The vendor refuses thinking to
    /// begin there where it has a budget.
    pub fn goes_on_without_thought(&self) -> bool {
        let mut beginning = None;
        let mut turns = self.turns.iter().rev();
        while let Some(results) = turns.next()
            && results.has_results()
            && let Some(calls) = turns.next()
        {
            beginning = Some(calls);
        }
        beginning.is_some_and(|calls| !calls.content.first().is_some_and(Block::is_thought))
    }

    /// Says something to the model at the very end, where it changes nothing that may be cached.
    pub fn add_words(&mut self, words: &[String]) {
        let blocks = words.iter().filter_map(|words| Block::text(words.clone()));
        match self.turns.last_mut() {
            Some(turn) if turn.role != Speaker::Assistant => turn.content.extend(blocks),
            Some(turn) if turn.is_paused() => {}
            _ => {
                let content: Vec<_> = blocks.collect();
                if !content.is_empty() {
                    self.turns.push(Turn { role: Speaker::User, content });
                }
            }
        }
    }

    /// A conversation that ends with the model's own words is gone on with where the model takes that; there the
    /// vendor refuses white space at its end. Other models are asked to go on. A turn that the vendor paused is sent
    /// as it is.
    pub fn end_well(&mut self, continues: bool) {
        let Some(last) = self.turns.last_mut() else { return };
        if last.role != Speaker::Assistant || last.is_paused() {
            return;
        }
        match last.content.last_mut() {
            Some(Block::Text { text, .. }) if continues => {
                *text = match std::mem::take(text) {
                    Cow::Borrowed(text) => Cow::Borrowed(text.trim_end()),
                    Cow::Owned(text) => Cow::Owned(text.trim_end().to_owned()),
                };
            }
            _ => self.turns.push(Turn {
                role: Speaker::User,
                content: Block::text("Continue.").into_iter().collect(),
            }),
        }
    }

    fn blocks(&self) -> impl Iterator<Item = &Block<'a>> {
        self.turns.iter().flat_map(|turn| &turn.content)
    }
}

impl Turn<'_> {
    fn has_results(&self) -> bool {
        self.content.iter().any(|block| matches!(block, Block::ToolResult { .. }))
    }

    /// Whether the vendor has still to go on with its own tools.
    fn is_paused(&self) -> bool {
        self.role == Speaker::Assistant && matches!(self.content.last(), Some(Block::Raw(_)))
    }
}

struct Writer<'a> {
    vendor: &'a str,
    capabilities: &'a Capabilities,
    pairs: Pairs<'a>,
    system: Vec<Cow<'a, str>>,
    turns: Vec<Turn<'a>>,
    /// What the system said; the vendor takes it only between a user's turn and the model's.
    waiting: Vec<Cow<'a, str>>,
    /// Thoughts for which nothing came yet: the vendor refuses a turn that ends with one.
    thoughts: Vec<Block<'a>>,
    /// Calls of the last turn by their place among the items, and the ids they were given.
    calls: Vec<(usize, Cow<'a, str>)>,
    ids: Ids,
    /// Whether another vendor spoke in the last turn.
    foreign: bool,
}

impl<'a> Writer<'a> {
    fn item(&mut self, index: usize, item: &'a Item, items: &[&'a Item]) {
        let origin = Origin::by(item, self.vendor);
        let more = origin.and_then(|origin| origin.get("more")?.as_object());
        match item {
            Item::Message(message) => match message.role {
                Role::User => {
                    let parts = message.content.iter();
                    let blocks =
                        parts.filter_map(|part| blocks::from_part(part, self.capabilities));
                    let blocks = blocks.collect();
                    self.user(blocks, items);
                }
                Role::Assistant => self.said(message, origin, items),
                Role::System | Role::Developer => self.system(message, items),
            },
            Item::FunctionCall(call) => {
                let block = self.call(index, call, more);
                self.assistant(block, origin.is_some(), items);
            }
            Item::FunctionCallOutput(output) => self.output(index, output, items),
            Item::Reasoning(reasoning) => {
                if let Some(origin) = origin
                    && self.capabilities.reasoning
                    && !(self.foreign && self.speaker() == Some(Speaker::Assistant))
                {
                    self.thoughts.extend(thought(reasoning, origin, more));
                }
            }
            Item::Unknown(_) => {
                let raw = origin.and_then(|origin| origin.get("raw"));
                if let Some(raw) = raw.filter(|raw| self.pairs.is_whole(index, raw)) {
                    self.assistant(Block::Raw(raw), true, items);
                }
            }
        }
    }

    /// What the model said. Of a reply of this vendor each part was a block, with fields of its own.
    fn said(&mut self, message: &'a MessageItem, origin: Option<Origin<'a>>, items: &[&'a Item]) {
        let fields = origin.and_then(|origin| origin.get("parts")?.as_array());
        for (place, part) in message.content.iter().enumerate() {
            let text = match part {
                Part::InputText { text, .. } | Part::OutputText { text, .. } => {
                    Cow::Borrowed(text.as_str())
                }
                Part::Refusal { refusal, .. } => Cow::Borrowed(refusal.as_str()),
                other => Cow::Owned(origin::in_words(other)),
            };
            if !text.trim().is_empty() {
                let more = fields.and_then(|fields| fields.get(place)?.as_object());
                self.assistant(Block::Text { text, more }, origin.is_some(), items);
            }
        }
    }

    fn system(&mut self, message: &'a MessageItem, items: &[&'a Item]) {
        let texts = message.content.iter().map(|part| match part.text() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(origin::in_words(part)),
        });
        let texts = texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>();
        if self.turns.is_empty() && self.thoughts.is_empty() {
            self.system.extend(texts);
        } else if self.capabilities.accepts.system_messages {
            self.waiting.extend(texts);
        } else {
            self.user(texts.iter().filter_map(|text| told(text)).collect(), items);
        }
    }

    fn call(&mut self, index: usize, call: &'a FunctionCall, more: blocks::More<'a>) -> Block<'a> {
        let id = self.ids.unique(&call.call_id);
        self.calls.push((index, id.clone()));
        let name =
            if call.name.is_empty() { Cow::Borrowed("unknown") } else { fitting(&call.name) };
        Block::ToolUse { id, name, input: Input::of(&call.arguments), more }
    }

    /// A result is written with its turn's others, wherever it stands; one without a call is told.
    fn output(&mut self, index: usize, output: &'a FunctionCallOutput, items: &[&'a Item]) {
        self.settle(items);
        if self.pairs.partner(index).is_none() {
            let mut content: Vec<_> = Block::text(LOST_CALL).into_iter().collect();
            content.extend(Output::of(&output.output, self.capabilities).into_blocks());
            self.user(content, items);
        }
    }

    fn assistant(&mut self, block: Block<'a>, ours: bool, items: &[&'a Item]) {
        let mut thoughts = std::mem::take(&mut self.thoughts);
        if self.speaker() != Some(Speaker::Assistant) {
            let calls = std::mem::take(&mut self.calls);
            self.tell_waiting(items);
            self.calls = calls;
            self.turns.push(Turn { role: Speaker::Assistant, content: Vec::new() });
            self.foreign = false;
        }
        self.foreign |= !ours;
        if let Some(turn) = self.turns.last_mut() {
            turn.content.append(&mut thoughts);
            turn.content.push(block);
        }
    }

    fn user(&mut self, content: Vec<Block<'a>>, items: &[&'a Item]) {
        if content.is_empty() {
            return;
        }
        self.settle(items);
        match self.turns.last_mut() {
            Some(turn) if turn.role == Speaker::User => turn.content.extend(content),
            _ => self.turns.push(Turn { role: Speaker::User, content }),
        }
    }

    /// The model's turn is over: its calls get their results, and thoughts that led to nothing are dropped.
    fn settle(&mut self, items: &[&'a Item]) {
        self.thoughts.clear();
        let calls = std::mem::take(&mut self.calls);
        if calls.is_empty() {
            return;
        }
        // What a failed call shows beside words follows behind all results: the vendor takes words alone from it.
        let mut behind = Vec::new();
        let results = calls.into_iter().map(|(index, id)| {
            let partner = self.pairs.partner(index).and_then(|place| items.get(place));
            match partner {
                Some(Item::FunctionCallOutput(output)) => {
                    let is_error = output.extra.get("is_error").and_then(Value::as_bool);
                    let mut content = Output::of(&output.output, self.capabilities);
                    if is_error == Some(true) {
                        behind.append(&mut content.take_all_but_words());
                        if content.is_nothing() {
                            content = Output::Text(Cow::Borrowed(NO_WORDS));
                        }
                    }
                    Block::ToolResult { tool_use_id: id, content, is_error }
                }
                _ => Block::ToolResult {
                    tool_use_id: id,
                    content: Output::Text(Cow::Borrowed(NO_RESULT)),
                    is_error: Some(true),
                },
            }
        });
        let mut content: Vec<_> = results.collect();
        content.append(&mut behind);
        self.turns.push(Turn { role: Speaker::User, content });
    }

    /// Says what the system said, as the system where the vendor takes that here.
    fn tell_waiting(&mut self, items: &[&'a Item]) {
        let texts = std::mem::take(&mut self.waiting);
        if texts.is_empty() {
            return;
        }
        self.settle(items);
        if self.speaker() == Some(Speaker::User) {
            let content = texts.into_iter().filter_map(Block::text).collect();
            self.turns.push(Turn { role: Speaker::System, content });
        } else {
            self.user(texts.iter().filter_map(|text| told(text)).collect(), items);
        }
    }

    fn speaker(&self) -> Option<Speaker> {
        self.turns.last().map(|turn| turn.role)
    }
}

/// A thought goes back with its seal. One whose seal never came, because the reply was cut, is refused by the vendor.
fn thought<'a>(
    reasoning: &'a Reasoning,
    origin: Origin<'a>,
    more: blocks::More<'a>,
) -> Option<Block<'a>> {
    let flag = |key: &str| origin.get(key).and_then(Value::as_bool).unwrap_or_default();
    let sealed = reasoning.extra.get("encrypted_content").and_then(Value::as_str);
    let sealed = sealed.filter(|sealed| !sealed.is_empty());
    if flag("redacted") {
        return sealed.map(|data| Block::RedactedThinking { data, more });
    }
    if sealed.is_none() && !flag("unsigned") {
        return None;
    }
    let mut texts =
        reasoning.summary.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
    let mut thinking = Cow::Borrowed(texts.next().unwrap_or_default());
    texts.for_each(|text| thinking.to_mut().push_str(text));
    Some(Block::Thinking { thinking, signature: sealed, more })
}

/// What the system says, to a model that is told so by the user's side.
fn told<'a>(text: &str) -> Option<Block<'a>> {
    Block::text(format!("<system>\n{text}\n</system>"))
}

/// Which call each result answers.
struct Pairs<'a> {
    /// For each item the place of its other half.
    partners: Vec<Option<usize>>,
    /// Uses of the vendor's own tools, and those of them that were answered.
    used: HashSet<&'a str>,
    answered: HashSet<&'a str>,
    last_question: Option<usize>,
}

impl<'a> Pairs<'a> {
    fn of(items: &[&'a Item], vendor: &str) -> Self {
        let mut pairs = Self {
            partners: vec![None; items.len()],
            used: HashSet::new(),
            answered: HashSet::new(),
            last_question: None,
        };
        let mut open = OpenCalls::default();
        for (index, item) in items.iter().enumerate() {
            match item {
                Item::FunctionCall(call) => open.called(&call.call_id, index),
                Item::FunctionCallOutput(output) => {
                    if let Some(call) = open.answered(&output.call_id) {
                        pairs.set(call, index);
                        pairs.set(index, call);
                    }
                }
                Item::Message(message) if message.role != Role::Assistant => {
                    open.interrupted();
                    if message.role == Role::User {
                        pairs.last_question = Some(index);
                    }
                }
                Item::Unknown(_) => {
                    let raw = Origin::by(item, vendor).and_then(|origin| origin.get("raw"));
                    let text = |key: &str| raw.and_then(|raw| raw.get(key)?.as_str());
                    pairs.used.extend(text("id"));
                    pairs.answered.extend(text("tool_use_id"));
                }
                Item::Message(_) | Item::Reasoning(_) => {}
            }
        }
        pairs
    }

    fn set(&mut self, index: usize, partner: usize) {
        if let Some(place) = self.partners.get_mut(index) {
            *place = Some(partner);
        }
    }

    fn partner(&self, index: usize) -> Option<usize> {
        self.partners.get(index).copied().flatten()
    }

    /// The vendor refuses its own tools' results without their uses, and uses without results unless it may still
    /// go on with them.
    fn is_whole(&self, index: usize, raw: &Value) -> bool {
        let text = |key: &str| raw.get(key).and_then(Value::as_str);
        match (text("tool_use_id"), text("type"), text("id")) {
            (Some(used), ..) => self.used.contains(used),
            (None, Some(kind), Some(id)) if kind.ends_with("tool_use") => {
                self.answered.contains(id) || self.last_question.is_none_or(|last| last < index)
            }
            _ => true,
        }
    }
}

/// Ids of calls as the vendor takes them: of letters, digits, `_` and `-`, each only once.
#[derive(Debug, Default)]
struct Ids {
    given: HashSet<String>,
    repeats: HashMap<String, usize>,
}

impl Ids {
    fn unique<'a>(&mut self, id: &'a str) -> Cow<'a, str> {
        let wanted = if id.is_empty() { Cow::Borrowed("call") } else { fitting(id) };
        if self.given.insert(wanted.to_string()) {
            return wanted;
        }
        let count = self.repeats.entry(wanted.to_string()).or_insert(1);
        loop {
            *count += 1;
            let other = format!("{wanted}_{count}");
            if self.given.insert(other.clone()) {
                return Cow::Owned(other);
            }
        }
    }
}

/// The vendor takes letters, digits, `_` and `-` in names and ids.
fn fitting(word: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if word.chars().all(fits) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.chars().map(|c| if fits(c) { c } else { '_' }).collect())
    }
}
