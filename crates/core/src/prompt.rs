//! Decides what a model sees: instructions, and of one chat only what concerns one agent.
//! The transcript is a second fold over the log, kept by the runtime while a chat is active. Never changes what is
//! stored, and never shows a model another agent's private messages, `client.*` calls or notices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::chain::Recorded;
use crate::config::{Agent, Mode, Rules, ToolSpec};
use crate::event::{
    Copied, Decision, Event, Message, Outcome, Position, ReplyRecorded, SetAside, ToolCalled,
    ToolFinished, Waiting,
};
use crate::ids::{AgentId, CallId, MessageId};
use crate::item::{Item, MessageItem, Part, Role};
use crate::long_result::shortened;
use crate::sender::Sender;

/// Everything one model call is given.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub instructions: String,
    pub items: Vec<Arc<Item>>,
    pub tools: Vec<Arc<ToolSpec>>,
}

/// A chat's history as its agents see it.
#[derive(Clone, Debug)]
pub struct Transcript {
    head: u64,
    /// Characters of a result that a model is given.
    result_limit: usize,
    agents: BTreeMap<AgentId, Memory>,
    /// Messages an agent is to answer and was not shown yet.
    unread: BTreeMap<(AgentId, MessageId), (Position, Arc<Item>)>,
    /// Calls whose result is still to come.
    open: BTreeMap<CallId, OpenCall>,
    /// The first thing said to an agent and the first answer: what a title is made from.
    opening: Vec<(Position, String)>,
    /// What clients offered to execute, by client.
    client_tools: BTreeMap<String, Vec<Arc<ToolSpec>>>,
}

/// One agent's view.
#[derive(Clone, Debug, Default)]
struct Memory {
    entries: Vec<Entry>,
    outputs: BTreeMap<CallId, (Position, Arc<Item>)>,
    /// Ids already used towards the vendor.
    used: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct Entry {
    position: Position,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    Heard(Arc<Item>),
    /// A reply as the model sent it, and its calls under the ids it is answered with.
    Said {
        items: Vec<Arc<Item>>,
        calls: Vec<(CallId, String)>,
    },
}

#[derive(Clone, Debug)]
struct OpenCall {
    made: Arc<ToolCalled>,
    /// The id the vendor knows it by.
    sent_as: String,
    started: bool,
    edited: Option<String>,
    result: Option<(Position, Arc<Item>)>,
}

impl Transcript {
    pub fn new(result_limit: usize) -> Self {
        Self {
            head: 0,
            result_limit,
            agents: BTreeMap::new(),
            unread: BTreeMap::new(),
            open: BTreeMap::new(),
            opening: Vec::new(),
            client_tools: BTreeMap::new(),
        }
    }

    /// The last event folded in.
    pub fn head(&self) -> u64 {
        self.head
    }

    pub fn result_limit(&self) -> usize {
        self.result_limit
    }

    pub fn apply(&mut self, recorded: &Recorded) {
        self.head = recorded.seq;
        match &recorded.event {
            Event::HistoryCopied { events } => {
                for (index, Copied { event, .. }) in (0..).zip(events) {
                    self.apply_at(Position { seq: recorded.seq, index }, event);
                }
            }
            event => self.apply_at(Position { seq: recorded.seq, index: 0 }, event),
        }
    }

    fn apply_at(&mut self, position: Position, event: &Event) {
        match event {
            Event::MessagePosted(posted) => {
                self.posted(position, &posted.message, &posted.recipients);
            }
            Event::ModelCallRequested(call) => self.show(&call.agent, &call.joined),
            Event::TurnLimitReached { agent, set_aside, .. } => self.show(agent, set_aside),
            Event::WorkStopped { set_aside, .. } => {
                for SetAside { agent, waiting } in set_aside {
                    self.show(agent, waiting);
                }
            }
            Event::ReplyRecorded(reply) => self.replied(position, reply),
            Event::ToolCalled(called) => self.called(called),
            Event::ToolStarted { call, .. } => self.started(position, call),
            Event::ToolFinished(finished) => self.finished(position, finished),
            Event::ApprovalDecided(decided) => {
                if let Decision::Approved { arguments: Some(arguments), .. } = &decided.decision {
                    self.edited(&decided.call, arguments);
                }
            }
            Event::ArgumentsEdited { call, arguments } => self.edited(call, arguments),
            Event::ClientToolsOffered { client, tools, .. } => {
                let tools = tools.iter().cloned().map(Arc::new).collect();
                self.client_tools.insert(client.clone(), tools);
            }
            Event::HistoryCut { position, .. } => self.cut(*position),
            _ => {}
        }
    }

    fn posted(&mut self, position: Position, message: &Message, recipients: &[AgentId]) {
        if let Sender::Agent(author) = &message.sender
            && message.turn.is_none()
        {
            // Posted in the agent's name without a model call: the turn-limit notice, or by a client.
            let item = Arc::new(Item::assistant(message.text.clone()));
            let body = Body::Said { items: vec![item], calls: Vec::new() };
            self.remember(author, position, body);
        }
        if self.opening.len() < 2 && message.sender != Sender::System {
            self.opening.push((position, message.text.clone()));
        }
        if !recipients.is_empty() {
            let item = Arc::new(heard(message));
            for agent in recipients {
                let key = (agent.clone(), message.id.clone());
                self.unread.insert(key, (position, Arc::clone(&item)));
            }
        }
    }

    // An entry keeps the place where it was said: taking back a later message must not take it along.
    fn show(&mut self, agent: &AgentId, waiting: &[Waiting]) {
        for one in waiting {
            let shown = match one {
                Waiting::Message { id, .. } => self.unread.remove(&(agent.clone(), id.clone())),
                Waiting::Background { call } => self.open.remove(call).and_then(|call| call.result),
            };
            if let Some((position, item)) = shown {
                self.remember(agent, position, Body::Heard(item));
            }
        }
    }

    /// The vendor's own ids are kept where they name one call only; vendors repeat and omit them.
    fn replied(&mut self, position: Position, reply: &ReplyRecorded) {
        let memory = self.agents.entry(reply.agent.clone()).or_default();
        let mut ids = reply.calls.iter();
        let mut calls = Vec::new();
        let mut items = Vec::with_capacity(reply.items.len());
        for item in reply.items.iter().filter(|item| is_a_models(item)) {
            let mut item = item.clone();
            if let Item::FunctionCall(call) = &mut item
                && let Some(id) = ids.next()
            {
                if call.call_id.is_empty() || !memory.used.insert(call.call_id.clone()) {
                    call.call_id = id.to_string();
                    memory.used.insert(call.call_id.clone());
                }
                calls.push((id.clone(), call.call_id.clone()));
            }
            items.push(Arc::new(item));
        }
        memory.entries.push(Entry { position, body: Body::Said { items, calls } });
    }

    fn called(&mut self, called: &ToolCalled) {
        let sent_as = self
            .agents
            .get(&called.agent)
            .and_then(|memory| memory.sent_as(&called.call))
            .unwrap_or_else(|| called.call.to_string());
        let call = OpenCall {
            made: Arc::new(called.clone()),
            sent_as,
            started: false,
            edited: None,
            result: None,
        };
        self.open.insert(called.call.clone(), call);
    }

    fn started(&mut self, position: Position, id: &CallId) {
        let Some(call) = self.open.get_mut(id) else {
            return;
        };
        call.started = true;
        if call.made.mode == Mode::Background {
            let text = format!("started in the background, id {id}; its result will follow");
            let item = Arc::new(Item::output(call.sent_as.clone(), text));
            let agent = call.made.agent.clone();
            self.answer(&agent, id, position, item);
        }
    }

    fn finished(&mut self, position: Position, finished: &ToolFinished) {
        let Some(call) = self.open.get_mut(&finished.call) else {
            return;
        };
        let text = result_text(finished, call.edited.as_deref(), self.result_limit);
        let agent = call.made.agent.clone();
        if call.made.mode == Mode::Blocking || !call.started {
            let item = Arc::new(Item::output(call.sent_as.clone(), text));
            self.open.remove(&finished.call);
            self.answer(&agent, &finished.call, position, item);
            return;
        }
        let text = format!("Background call {} ({}): {text}", finished.call, call.made.name);
        let item = Arc::new(Item::user(text));
        if finished.outcome == Outcome::Cancelled {
            self.open.remove(&finished.call);
            self.remember(&agent, position, Body::Heard(item));
        } else {
            call.result = Some((position, item));
        }
    }

    fn edited(&mut self, call: &CallId, arguments: &Value) {
        if let Some(call) = self.open.get_mut(call) {
            call.edited = Some(arguments.to_string());
        }
    }

    /// Forgets a place and all after it. Work was stopped before: no call is open any more.
    fn cut(&mut self, from: Position) {
        for memory in self.agents.values_mut() {
            memory.entries.retain(|entry| entry.position < from);
            memory.outputs.retain(|_, (position, _)| *position < from);
        }
        self.unread.retain(|_, (position, _)| *position < from);
        self.opening.retain(|(position, _)| *position < from);
        self.open.clear();
    }

    fn remember(&mut self, agent: &AgentId, position: Position, body: Body) {
        let memory = self.agents.entry(agent.clone()).or_default();
        memory.entries.push(Entry { position, body });
    }

    fn answer(&mut self, agent: &AgentId, call: &CallId, position: Position, item: Arc<Item>) {
        let memory = self.agents.entry(agent.clone()).or_default();
        memory.outputs.insert(call.clone(), (position, item));
    }

    /// What an agent's model is given now.
    pub fn prompt(&self, agent: &AgentId, rules: Rules<'_>) -> Option<Prompt> {
        let settings = rules.world.agent(agent)?;
        let items = self.agents.get(agent).map(Memory::items).unwrap_or_default();
        Some(Prompt {
            instructions: fill(&settings.instructions, &rules.world.variables),
            items,
            tools: self.tools(settings, rules),
        })
    }

    /// The world's tools and, where none of them has the name, the clients'.
    fn tools(&self, agent: &Agent, rules: Rules<'_>) -> Vec<Arc<ToolSpec>> {
        let offered = self.client_tools.values().flatten();
        let offered = offered
            .filter(|spec| rules.tools.get(&spec.name).is_none() && agent.may_see(&spec.name));
        rules.tools.of(agent).chain(offered).cloned().collect()
    }

    /// What a model is given to name the chat.
    pub fn title_prompt(&self) -> Prompt {
        let opening: Vec<String> = self
            .opening
            .iter()
            .map(|(_, text)| text.chars().take(TITLE_EXCERPT).collect())
            .collect();
        Prompt {
            instructions: TITLE_INSTRUCTIONS.to_owned(),
            items: vec![Arc::new(Item::user(opening.join("\n\n")))],
            tools: Vec::new(),
        }
    }
}

/// Characters of each opening message that a title is made from.
const TITLE_EXCERPT: usize = 1_000;
/// How a model is asked for a title. The demo model knows these words.
pub const TITLE_INSTRUCTIONS: &str = "Name the conversation that begins as follows. Answer with the title alone: 3 to 6 words, no quotes.";

impl Memory {
    fn sent_as(&self, call: &CallId) -> Option<String> {
        self.entries.iter().rev().find_map(|entry| match &entry.body {
            Body::Said { calls, .. } => {
                calls.iter().find(|(id, _)| id == call).map(|(_, sent_as)| sent_as.clone())
            }
            Body::Heard(_) => None,
        })
    }

    /// Every call is followed by exactly one result, right behind the reply that made it.
    fn items(&self) -> Vec<Arc<Item>> {
        let mut items = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            match &entry.body {
                Body::Heard(item) => items.push(Arc::clone(item)),
                Body::Said { items: said, calls } => {
                    items.extend(said.iter().cloned());
                    for (id, sent_as) in calls {
                        items.push(match self.outputs.get(id) {
                            Some((_, output)) => Arc::clone(output),
                            None => Arc::new(Item::output(sent_as.clone(), NO_RESULT)),
                        });
                    }
                }
            }
        }
        items
    }
}

const NO_RESULT: &str = "the result of this call was removed from the conversation";

/// What a model may say in its own name: no results, nobody else's words, and no call that was not taken for one.
fn is_a_models(item: &Item) -> bool {
    match item {
        Item::Message(message) => message.role == Role::Assistant,
        Item::FunctionCallOutput(_) => false,
        Item::Unknown(value) => {
            let kind = value.get("type").and_then(Value::as_str);
            kind.is_some_and(|kind| !kind.starts_with("function_call"))
        }
        Item::FunctionCall(_) | Item::Reasoning(_) => true,
    }
}

/// Another agent's message carries its name; the human's does not need one.
fn heard(message: &Message) -> Item {
    let text = match &message.sender {
        Sender::Agent(_) | Sender::World => format!("{}: {}", message.sender, message.text),
        Sender::Human | Sender::System => message.text.clone(),
    };
    // Some vendors refuse a text that says nothing, and a picture needs none.
    let speaks = !text.trim().is_empty() || message.parts.is_empty();
    let text = speaks.then_some(Part::InputText { text, extra: Map::new() });
    let content = text.into_iter().chain(message.parts.iter().cloned()).collect();
    Item::Message(MessageItem { id: None, role: Role::User, content, extra: Map::new() })
}

fn result_text(finished: &ToolFinished, edited: Option<&str>, limit: usize) -> String {
    let mut text = shortened(&finished.call, &finished.output, limit);
    if finished.outcome == Outcome::Timeout {
        text = format!("timed out and was killed. {text}");
    }
    match edited {
        Some(arguments) => {
            format!("[the user changed the arguments of this call to {arguments}]\n{text}")
        }
        None => text,
    }
}

/// Fills `{{name}}` from the world's variables, once; what a variable holds is not filled again.
fn fill(template: &str, variables: &BTreeMap<String, String>) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        match after.split_once("}}") {
            Some((name, behind)) => {
                match variables.get(name.trim()) {
                    Some(value) => filled.push_str(value),
                    None => filled.push_str(&format!("{{{{{name}}}}}")),
                }
                rest = behind;
            }
            None => {
                filled.push_str("{{");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}
