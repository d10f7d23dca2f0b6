//! What one chat looks like at a moment: who said what, which calls were made, what goes on.
//! Folded from what the client hears; drawn by `chat` and `tui`. Hearing the same twice changes nothing, so that what was
//! loaded and what is heard may overlap. Memory is bounded: long outputs keep their end, old entries can be let go.

mod entry;
mod load;

use std::collections::HashMap;

use agent_world_client::Heard;
use agent_world_client::wire::{
    Activity, Call, Changed, Chat, Event, Message, News, Notice, Output, Phase, Piece, Role,
    Stream, World,
};
use agent_world_core::Timestamp;
use serde_json::Value;

pub use entry::{Block, Entry, Said, SaidState, Tail};
pub use load::{Loaded, load, load_before, load_with_notices};

/// The name of the call that stands for a request for approval in the list of messages.
const REQUEST: &str = "client.requestApproval";

#[derive(Clone, Debug)]
pub struct Conversation {
    pub world: World,
    pub chat: Chat,
    pub activity: Activity,
    entries: Vec<Entry>,
    /// Where a message or a call is among the entries.
    places: HashMap<String, usize>,
}

impl Conversation {
    pub fn new(world: World, chat: Chat) -> Self {
        let activity = chat.activity.clone();
        Self { world, chat, activity, entries: Vec::new(), places: HashMap::new() }
    }

    /// Everything, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.get(*self.places.get(id)?)
    }

    /// Whether something that was heard is about this chat.
    pub fn is_about(&self, heard: &Heard) -> bool {
        match heard {
            Heard::Event(event) => event.chat_id.as_deref() == Some(self.chat.id.as_str()),
            Heard::Piece(piece) => piece.chat_id == self.chat.id,
            Heard::Output(output) => output.chat_id == self.chat.id,
            Heard::Lost(_) | Heard::Back => false,
        }
    }

    /// Takes in what was heard of this chat. Returns the entries that are new or different, by their place.
    pub fn hear(&mut self, heard: &Heard) -> Vec<usize> {
        match heard {
            Heard::Event(event) if event.chat_id.as_deref() != Some(self.chat.id.as_str()) => {
                Vec::new()
            }
            Heard::Event(event) => match &event.news {
                News::Message(message) => self.message(message),
                News::Stream(stream) => self.stream(stream, &event.at),
                News::Tool(call) => vec![self.call(call, &event.at)],
                News::Activity(activity) => {
                    self.activity = activity.clone();
                    Vec::new()
                }
                News::Notice(notice) => self.notice(notice, &event.at, event.seq),
                News::Changed(changed) => self.changed(changed),
                News::Approval(_) | News::Other => Vec::new(),
            },
            Heard::Piece(piece) if piece.chat_id == self.chat.id => self.piece(piece),
            Heard::Output(output) if output.chat_id == self.chat.id => self.output(output),
            Heard::Piece(_) | Heard::Output(_) | Heard::Lost(_) | Heard::Back => Vec::new(),
        }
    }

    /// A message that is stored.
    pub fn message(&mut self, message: &Message) -> Vec<usize> {
        let is_request = message.tool_calls.iter().any(|call| call.function.name == REQUEST);
        match message.role {
            // What came of a call is told with the call; a decision with its approval.
            Role::Tool => match message.tool_call_id.as_deref() {
                Some(id) => self.result(id, &message.content),
                None => Vec::new(),
            },
            Role::Assistant if is_request => Vec::new(),
            Role::User | Role::Assistant | Role::System => {
                let mut changed = Vec::new();
                let is_known = self.places.contains_key(&message.id);
                if is_known || !message.content.is_empty() || !message.parts.is_empty() {
                    changed.push(self.said(message));
                }
                for call in &message.tool_calls {
                    changed.extend(self.called(
                        message,
                        &call.id,
                        &call.function.name,
                        &call.function.arguments,
                    ));
                }
                changed
            }
        }
    }

    fn said(&mut self, message: &Message) -> usize {
        let place = self.place(&message.id, || {
            Entry::Said(Said::begun(&message.id, &message.sender, &message.created_at))
        });
        if let Some(Entry::Said(said)) = self.entries.get_mut(place) {
            said.complete(message);
        }
        place
    }

    /// A call, as the message that made it shows it. The call itself tells more.
    fn called(
        &mut self,
        message: &Message,
        id: &str,
        name: &str,
        arguments: &str,
    ) -> Option<usize> {
        if self.places.contains_key(id) {
            return None;
        }
        let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments));
        let agent = message.agent_id.as_deref().unwrap_or(&message.sender);
        let block = Block::new(id, agent, name, arguments, &message.created_at);
        Some(self.place(id, || Entry::Call(Box::new(block))))
    }

    fn result(&mut self, call: &str, content: &str) -> Vec<usize> {
        let Some(place) = self.places.get(call).copied() else {
            return Vec::new();
        };
        match self.entries.get_mut(place) {
            Some(Entry::Call(block)) => {
                block.result(content);
                vec![place]
            }
            _ => Vec::new(),
        }
    }

    /// A call as it is now.
    pub fn call(&mut self, call: &Call, at: &str) -> usize {
        let place = self.place(&call.id, || {
            let arguments = call.arguments.clone();
            Entry::Call(Box::new(Block::new(&call.id, &call.agent_id, &call.name, arguments, at)))
        });
        if let Some(Entry::Call(block)) = self.entries.get_mut(place) {
            block.update(call);
        }
        place
    }

    fn stream(&mut self, stream: &Stream, at: &str) -> Vec<usize> {
        match stream.phase {
            // It shows when there is something to show.
            Phase::Start | Phase::Chunk | Phase::Other => Vec::new(),
            Phase::End | Phase::Error => {
                let Some(place) = self.places.get(&stream.message_id).copied() else {
                    return Vec::new();
                };
                if let Some(Entry::Said(said)) = self.entries.get_mut(place) {
                    said.end(stream, at);
                }
                vec![place]
            }
        }
    }

    fn piece(&mut self, piece: &Piece) -> Vec<usize> {
        let place = self.place(&piece.message_id, || {
            Entry::Said(Said::begun(&piece.message_id, &piece.agent_id, ""))
        });
        match self.entries.get_mut(place) {
            Some(Entry::Said(said)) => said.hear(piece).then_some(place).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn output(&mut self, output: &Output) -> Vec<usize> {
        let Some(place) = self.places.get(&output.id).copied() else {
            return Vec::new();
        };
        match self.entries.get_mut(place) {
            Some(Entry::Call(block)) => {
                block.hear(output);
                vec![place]
            }
            _ => Vec::new(),
        }
    }

    fn notice(&mut self, notice: &Notice, at: &str, seq: u64) -> Vec<usize> {
        if notice.code == "title" {
            self.chat.title.clone_from(&notice.text);
            return Vec::new();
        }
        // One that is also a message is shown as that.
        if notice.message_id.as_ref().is_some_and(|id| self.places.contains_key(id)) {
            return Vec::new();
        }
        let id = format!("notice {seq}");
        let told = Entry::Notice { id: id.clone(), text: notice.text.clone(), at: at.to_owned() };
        vec![self.place(&id, || told)]
    }

    /// Takes in what was told earlier and is no message: what the runtime said, and that a reply broke off. It is put where it
    /// was among the entries there are; what was before all of them is left out.
    pub(crate) fn recall(&mut self, event: &Event) {
        let entry = match &event.news {
            News::Notice(notice) if notice.code != "title" && notice.message_id.is_none() => {
                let id = format!("notice {}", event.seq);
                Entry::Notice { id, text: notice.text.clone(), at: event.at.clone() }
            }
            News::Stream(stream) if stream.phase == Phase::Error => {
                let mut said = Said::begun(&stream.message_id, &stream.agent_id, &event.at);
                said.end(stream, &event.at);
                Entry::Said(said)
            }
            _ => return,
        };
        if self.places.contains_key(entry.id()) {
            return;
        }
        let at = moment(&event.at);
        let earlier = self.entries.iter().rposition(|one| moment(one.at()) <= at);
        let place = match (earlier, self.entries.is_empty()) {
            (Some(place), _) => place + 1,
            (None, true) => 0,
            (None, false) => return,
        };
        self.entries.insert(place, entry);
        self.find_places();
    }

    /// A reply that broke off and of which nothing is known but that: what was heard of it before is kept.
    pub(crate) fn remember(&mut self, before: &Conversation) {
        for entry in &mut self.entries {
            if let Entry::Said(said) = entry
                && said.text.is_empty()
                && matches!(said.state, SaidState::BrokenOff(_))
                && let Some(Entry::Said(heard)) = before.entry(&said.id)
            {
                said.text.clone_from(&heard.text);
                said.reasoning.clone_from(&heard.reasoning);
                said.version = heard.version + 1;
            }
        }
    }

    fn changed(&mut self, changed: &Changed) -> Vec<usize> {
        match (changed.entity.as_str(), changed.from.as_deref()) {
            ("message", Some(from)) => {
                self.cut(from);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// A message and all after it were taken back.
    fn cut(&mut self, from: &str) {
        if let Some(place) = self.places.get(from).copied() {
            self.entries.truncate(place);
            self.places.retain(|_, at| *at < place);
        }
    }

    /// Puts older entries before those there are.
    pub fn precede(&mut self, older: Conversation) {
        let new: Vec<Entry> = older
            .entries
            .into_iter()
            .filter(|entry| !self.places.contains_key(entry.id()))
            .collect();
        self.entries.splice(0..0, new);
        self.find_places();
    }

    /// Forgets the oldest entries but for so many.
    pub fn let_go(&mut self, keep: usize) {
        let many = self.entries.len().saturating_sub(keep);
        self.entries.drain(..many);
        self.find_places();
    }

    fn find_places(&mut self) {
        let ids = self.entries.iter().enumerate();
        self.places = ids.map(|(place, entry)| (entry.id().to_owned(), place)).collect();
    }

    fn place(&mut self, id: &str, new: impl FnOnce() -> Entry) -> usize {
        if let Some(place) = self.places.get(id) {
            return *place;
        }
        let place = self.entries.len();
        self.entries.push(new());
        self.places.insert(id.to_owned(), place);
        place
    }
}

/// What nobody knows the time of comes first: it cannot be what something else follows.
fn moment(at: &str) -> Option<Timestamp> {
    at.parse().ok()
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
