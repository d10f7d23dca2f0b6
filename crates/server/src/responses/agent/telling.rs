//! Decides what a client is told of an agent's replies: their texts and thoughts, in pieces as they come.
//! Fed by `watch`. What was told stands: the stored reply only adds what is missing. The text is the model's own; mentions
//! that the world adds or removes for routing are not shown.
//!
//! Tools that the server runs are not shown: in this format an item of theirs would ask the client to do something, or
//! be one that strict clients do not know.

use agent_world_core::Timestamp;
use agent_world_core::event::ReplyRecorded;
use agent_world_core::ids::MessageId;
use agent_world_core::item::{Finish, Item, MessageItem, Reasoning, Reply, Role};
use agent_world_runtime::Chunk;
use agent_world_runtime::llm::{Draft, Event, Response, Status, Thought, Usage};
use serde_json::{Map, Value, json};

#[derive(Debug)]
pub(super) struct Telling {
    draft: Draft,
    /// The reply being made.
    reply: Option<Told>,
    usage: Usage,
    /// How the last reply ended.
    finish: Finish,
}

/// What was told of a reply.
#[derive(Debug)]
struct Told {
    id: MessageId,
    text: String,
    /// Characters of the text.
    characters: usize,
    /// Items made of it so far.
    messages: usize,
    thoughts: usize,
    /// Pieces were missed or void; the stored reply makes it good.
    lost: bool,
}

impl Telling {
    pub fn new(model: String) -> Self {
        let mut draft = Draft::new();
        *draft.response_mut() = Response {
            model,
            created_at: Some(Timestamp::now().as_second()),
            status: Status::InProgress,
            // Clients expect the whole object from the first event on.
            usage: Some(Usage::default()),
            ..Response::default()
        };
        draft.start();
        Self { draft, reply: None, usage: Usage::default(), finish: Finish::Completed }
    }

    pub fn take_events(&mut self) -> Vec<Event> {
        self.draft.take_events()
    }

    /// A model is asked; pieces of its reply may follow.
    pub fn begin(&mut self, id: &MessageId) {
        self.draft.close_all();
        self.reply = Some(Told {
            id: id.clone(),
            text: String::new(),
            characters: 0,
            messages: 0,
            thoughts: 0,
            lost: false,
        });
    }

    pub fn piece(&mut self, chunk: &Chunk) {
        let Some(told) = self.reply.as_mut().filter(|told| told.id == chunk.message) else {
            return;
        };
        if told.lost || (!chunk.text.is_empty() && chunk.offset != told.characters) {
            told.lost = true;
            return;
        }
        self.think(&chunk.reasoning);
        self.say(&chunk.text);
    }

    /// The reply as it is stored. Tells what no piece has told.
    pub fn recorded(&mut self, reply: &ReplyRecorded) {
        self.usage += Usage::from(reply.usage);
        self.finish = reply.finish.clone();
        if self.reply.as_ref().is_none_or(|told| told.id != reply.reply) {
            self.begin(&reply.reply);
        }
        let told = self.reply.as_ref();
        if told.is_some_and(|told| told.messages + told.thoughts == 0) {
            self.tell_whole(&reply.items);
        } else {
            self.tell_rest(reply);
        }
        self.draft.close_all();
        self.reply = None;
    }

    fn tell_whole(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Message(message) if message.role == Role::Assistant => {
                    self.say(&message.text());
                    self.draft.close_all();
                }
                Item::Reasoning(reasoning) => self.think(&thoughts(reasoning)),
                _ => {}
            }
        }
    }

    /// Pieces do not say where one message of a reply ends and the next begins: together they are one.
    fn tell_rest(&mut self, reply: &ReplyRecorded) {
        let told = self.reply.as_ref().map(|told| told.text.clone()).unwrap_or_default();
        let spoken = Reply::of(reply.items.clone()).spoken();
        let joined: String = reply.items.iter().filter_map(said).collect();
        let rest = joined.strip_prefix(told.as_str()).or_else(|| spoken.strip_prefix(&*told));
        match rest {
            Some(rest) => self.say(rest),
            // What was told is of an attempt that was given up.
            None => {
                if let Some(index) = self.draft.last_open()
                    && let Some(Item::Message(message)) = self.draft.item_mut(index)
                {
                    message.extra.insert("status".to_owned(), "incomplete".into());
                }
                self.draft.close_all();
                self.say(&spoken);
            }
        }
    }

    fn say(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        let open = self.draft.last_open();
        let open = open.filter(|index| matches!(self.draft.item(*index), Some(Item::Message(_))));
        let index = match open {
            Some(index) => index,
            None => self.open_message(),
        };
        self.draft.text(index, 0, piece);
        if let Some(told) = &mut self.reply {
            told.text.push_str(piece);
            told.characters += piece.chars().count();
        }
    }

    fn think(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        let open = self.draft.last_open();
        let open = open.filter(|index| matches!(self.draft.item(*index), Some(Item::Reasoning(_))));
        let index = match open {
            Some(index) => index,
            None => self.open_thought(),
        };
        self.draft.thought(index, 0, Thought::Summary, piece);
    }

    /// The first message of a reply has the id under which the chat keeps it.
    fn open_message(&mut self) -> usize {
        self.draft.close_all();
        let id = self.reply.as_mut().map(|told| {
            told.messages += 1;
            numbered(told.id.as_str(), told.messages)
        });
        let (role, content) = (Role::Assistant, Vec::new());
        self.draft.open(Item::Message(MessageItem { id, role, content, extra: Map::new() }))
    }

    fn open_thought(&mut self) -> usize {
        self.draft.close_all();
        let id = self.reply.as_mut().map(|told| {
            told.thoughts += 1;
            numbered(&told.id.as_str().replacen(MessageId::PREFIX, "rs", 1), told.thoughts)
        });
        let (summary, extra) = (Vec::new(), Map::new());
        self.draft.open(Item::Reasoning(Reasoning { id, summary, extra }))
    }

    /// The end: nothing more happens, or not before somebody answers these.
    pub fn end(&mut self, awaited: Vec<Item>) {
        self.draft.close_all();
        for item in awaited {
            self.draft.tell_whole(item);
        }
        self.close();
        match std::mem::take(&mut self.finish) {
            Finish::Completed => self.draft.complete(),
            Finish::Incomplete { reason } => self.draft.incomplete(&reason),
        }
    }

    /// An end by a limit of the world.
    pub fn cut(&mut self, reason: &str) {
        self.close();
        self.draft.incomplete(reason);
    }

    fn close(&mut self) {
        self.draft.usage(self.usage.clone());
        let completed_at = json!(Timestamp::now().as_second());
        self.draft.response_mut().extra.insert("completed_at".to_owned(), completed_at);
    }
}

fn numbered(id: &str, number: usize) -> String {
    match number {
        1 => id.to_owned(),
        further => format!("{id}_{further}"),
    }
}

fn said(item: &Item) -> Option<String> {
    match item {
        Item::Message(message) if message.role == Role::Assistant => Some(message.text()),
        _ => None,
    }
}

/// What people read of a model's thoughts, whichever way its vendor shows them.
fn thoughts(reasoning: &Reasoning) -> String {
    let content = reasoning.extra.get("content").and_then(Value::as_array);
    let parts = reasoning.summary.iter().chain(content.into_iter().flatten());
    let texts: Vec<&str> =
        parts.filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
    texts.join("\n\n")
}

#[cfg(test)]
#[path = "telling_tests.rs"]
mod tests;
