//! Decides how a conversation that a client kept itself becomes the history of a chat.
//! Called by the runtime before it creates the chat. Nothing in it runs, and nobody is taken to have permitted anything:
//! calls are the client's own, with the results that it says they had.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::Timestamp;
use crate::config::{Location, Mode};
use crate::event::{
    Addressing, Attendance, Copied, Event, Message, MessagePosted, ModelCallRequested, Order,
    Outcome, Output, ReplyRecorded, ToolCalled, ToolFinished, Waiting,
};
use crate::ids::{AgentId, CallId, Ids, MessageId, TurnId};
use crate::item::{Finish, FunctionCall, Item, MessageItem, Part, Reply, Role, Usage};
use crate::sender::Sender;

/// What a call is answered with whose result the client did not keep.
const NO_RESULT: &str = "the client gave no result of this call";

/// A conversation with one agent, as a client tells it.
#[derive(Clone, Debug)]
pub struct Brought {
    pub agent: AgentId,
    /// The client's authenticated name.
    pub user: String,
    /// Messages of the user and the assistant, calls and their results. Everything else is left out.
    pub items: Vec<Item>,
}

impl Brought {
    /// The events that would have led to it.
    pub fn history(self, at: Timestamp, ids: &mut Ids) -> Vec<Copied> {
        let results = self.items.iter().filter_map(result).collect();
        let mut writer = Writer {
            agent: self.agent,
            user: self.user,
            turn: TurnId::next(ids),
            ids,
            at,
            results,
            unheard: Vec::new(),
            said: Vec::new(),
            events: Vec::new(),
        };
        for item in self.items {
            match item {
                Item::Message(message) if message.role == Role::User => writer.heard(message),
                Item::Message(message) if message.role == Role::Assistant => {
                    writer.said.push(Item::Message(plain(message)));
                }
                Item::FunctionCall(call) => writer.said.push(Item::FunctionCall(call)),
                Item::FunctionCallOutput(_) => writer.reply(),
                Item::Message(_) | Item::Reasoning(_) | Item::Unknown(_) => {}
            }
        }
        writer.reply();
        writer.events
    }
}

struct Writer<'a> {
    agent: AgentId,
    user: String,
    turn: TurnId,
    ids: &'a mut Ids,
    at: Timestamp,
    results: BTreeMap<String, String>,
    /// What the agent was told since it last spoke.
    unheard: Vec<Waiting>,
    /// What it said since.
    said: Vec<Item>,
    events: Vec<Copied>,
}

impl Writer<'_> {
    fn emit(&mut self, event: Event) {
        self.events.push(Copied { at: self.at, event });
    }

    fn heard(&mut self, item: MessageItem) {
        self.reply();
        let texts: Vec<&str> = item.content.iter().filter_map(Part::text).collect();
        let text = texts.join("\n");
        let parts: Vec<Part> =
            item.content.iter().filter(|part| part.text().is_none()).cloned().collect();
        if text.trim().is_empty() && parts.is_empty() {
            return;
        }
        let id = MessageId::next(self.ids);
        let message = Message {
            id: id.clone(),
            sender: Sender::Human,
            user: Some(self.user.clone()),
            text,
            parts,
            reply_to: None,
            turn: None,
            usage: None,
        };
        let attendance = Attendance::Attended;
        self.unheard.push(Waiting::Message { id, sender: Sender::Human, attendance });
        self.emit(Event::MessagePosted(MessagePosted {
            message,
            recipients: vec![self.agent.clone()],
            attendance,
            addressing: Addressing::Named,
        }));
    }

    /// All that was said in a row is one reply; what it called was answered before anything else was said.
    fn reply(&mut self) {
        let items = std::mem::take(&mut self.said);
        if items.is_empty() {
            return;
        }
        let id = MessageId::next(self.ids);
        let joined = std::mem::take(&mut self.unheard);
        self.emit(Event::ModelCallRequested(ModelCallRequested {
            turn: self.turn.clone(),
            agent: self.agent.clone(),
            reply: id.clone(),
            iteration: 1,
            joined,
        }));
        let calls: Vec<(CallId, FunctionCall)> = items
            .iter()
            .filter_map(|item| match item {
                Item::FunctionCall(call) => Some((CallId::next(self.ids), call.clone())),
                _ => None,
            })
            .collect();
        let reply = Reply::of(items);
        let spoken = reply.spoken();
        self.emit(Event::ReplyRecorded(ReplyRecorded {
            turn: self.turn.clone(),
            agent: self.agent.clone(),
            reply: id.clone(),
            model: String::new(),
            items: reply.items,
            calls: calls.iter().map(|(id, _)| id.clone()).collect(),
            order: Order::Parallel,
            usage: Usage::default(),
            finish: Finish::Completed,
        }));
        if calls.is_empty() {
            self.posted(id, spoken);
        } else {
            for (call, made) in calls {
                self.called(&id, call, made);
            }
        }
    }

    /// The end of a turn. Nobody is addressed by it: what followed is in the conversation.
    fn posted(&mut self, id: MessageId, text: String) {
        let turn = std::mem::replace(&mut self.turn, TurnId::next(self.ids));
        if text.trim().is_empty() {
            return;
        }
        let message = Message {
            id,
            sender: Sender::Agent(self.agent.clone()),
            user: None,
            text,
            parts: Vec::new(),
            reply_to: None,
            turn: Some(turn),
            usage: None,
        };
        self.emit(Event::MessagePosted(MessagePosted {
            message,
            recipients: Vec::new(),
            attendance: Attendance::Attended,
            addressing: Addressing::ByText,
        }));
    }

    fn called(&mut self, reply: &MessageId, id: CallId, made: FunctionCall) {
        let arguments = serde_json::from_str(&made.arguments);
        let output = self.results.get(&made.call_id).cloned();
        self.emit(Event::ToolCalled(ToolCalled {
            call: id.clone(),
            turn: self.turn.clone(),
            agent: self.agent.clone(),
            reply: reply.clone(),
            vendor_id: made.call_id,
            name: made.name,
            arguments: arguments.unwrap_or(Value::String(made.arguments)),
            mode: Mode::Blocking,
            location: Location::Client,
            timeout_seconds: 0,
            may_repeat: false,
            working_directory: None,
            verdict: None,
        }));
        let outcome = if output.is_some() { Outcome::Completed } else { Outcome::Cancelled };
        let message = MessageId::next(self.ids);
        let output = Output::text(output.unwrap_or_else(|| NO_RESULT.to_owned()));
        self.emit(Event::ToolFinished(ToolFinished { call: id, message, outcome, output }));
    }
}

/// Only what was said: ids, statuses and marks are of another conversation.
fn plain(message: MessageItem) -> MessageItem {
    let text = message.text();
    let content = vec![Part::said(Role::Assistant, text)];
    MessageItem { id: None, role: Role::Assistant, content, extra: Map::new() }
}

fn result(item: &Item) -> Option<(String, String)> {
    match item {
        Item::FunctionCallOutput(output) => Some((output.call_id.clone(), output.text())),
        _ => None,
    }
}
