//! Opens chats, makes them, and posts to them: the part of the state that is about one chat.
//! Called by `update` and by keys. Keeps few chats, the ones that were opened last.

use agent_world_client::wire::{Chat, World};

use super::message::Effect;
use super::state::{Focus, State, Tone};
use super::transcript::Transcript;
use super::tree::Row;

/// Chats that are kept.
const KEPT: usize = 3;

impl State {
    pub(super) fn worlds(&mut self, worlds: Vec<World>) -> Vec<Effect> {
        let unknown = self.tree.worlds(worlds);
        let is_stale = std::mem::take(&mut self.is_stale);
        let wanted = if is_stale { self.tree.world_ids() } else { unknown };
        wanted.into_iter().map(Effect::LoadChats).collect()
    }

    /// Opens the newest chat of the world to begin with, where none is open.
    pub(super) fn open_first(&mut self, world: &str) -> Vec<Effect> {
        if self.open.is_some() || self.wanted.as_deref().is_some_and(|wanted| wanted != world) {
            return Vec::new();
        }
        match self.tree.newest(Some(world)).map(|chat| chat.id.clone()) {
            Some(chat) => self.open(&chat),
            None => Vec::new(),
        }
    }

    pub(super) fn open(&mut self, chat: &str) -> Vec<Effect> {
        let Some((world, chat)) = self.tree.find(chat) else {
            return Vec::new();
        };
        let (world, chat) = (world.clone(), chat.clone());
        self.tree.select(&chat.id);
        self.shows_log = false;
        self.open = Some(chat.id.clone());
        let known = self.transcripts.iter().position(|known| known.chat() == chat.id);
        if let Some(place) = known {
            let transcript = self.transcripts.remove(place);
            self.transcripts.push(transcript);
            return Vec::new();
        }
        if self.transcripts.len() >= KEPT {
            self.transcripts.remove(0);
        }
        self.transcripts.push(Transcript::opening(world.clone(), chat.clone(), self.theme));
        vec![Effect::Open { world: Box::new(world), chat: Box::new(chat) }]
    }

    pub(super) fn chat(&mut self, chat: Chat) -> Vec<Effect> {
        let world = chat.world_id.clone();
        if let Some(open) = self.transcripts.iter_mut().find(|known| known.chat() == chat.id) {
            open.conversation.chat.title.clone_from(&chat.title);
        }
        self.tree.chat(chat);
        self.open_first(&world)
    }

    pub(super) fn chat_gone(&mut self, chat: &str) -> Vec<Effect> {
        self.tree.gone(chat);
        self.forget(chat);
        Vec::new()
    }

    pub(super) fn forget(&mut self, chat: &str) {
        self.transcripts.retain(|transcript| transcript.chat() != chat);
        if self.open.as_deref() == Some(chat) {
            self.open = None;
            self.tell(Tone::Warning, "this chat was deleted");
        }
    }

    pub(super) fn created(&mut self, chat: Chat) -> Vec<Effect> {
        let id = chat.id.clone();
        self.tree.chat(chat);
        self.focus = Focus::Composer;
        let mut effects = self.open(&id);
        if let Some(text) = self.begun.take() {
            effects.extend(self.post(text));
        }
        effects
    }

    pub(super) fn create(&mut self) -> Vec<Effect> {
        // In the list, the world is the one that is pointed at.
        let pointed_at = match self.tree.selected().filter(|_| self.focus == Focus::Tree) {
            Some(Row::World { world, .. }) => Some(world.id.as_str()),
            Some(Row::Chat(chat)) => Some(chat.world_id.as_str()),
            None => None,
        };
        match pointed_at.or_else(|| self.world()).map(ToOwned::to_owned) {
            Some(world) => vec![Effect::CreateChat(world)],
            None => {
                self.tell(Tone::Warning, "there is no world; `agent-world world create` makes one");
                Vec::new()
            }
        }
    }

    pub(super) fn post(&mut self, text: String) -> Vec<Effect> {
        let key = self.next_key();
        let Some(transcript) = self.transcript_mut() else {
            let effects = self.create();
            match effects.is_empty() {
                true => self.composer.give_back(&text),
                false => self.begun = Some(text),
            }
            return effects;
        };
        transcript.send(&key, &text);
        let (world, chat) = (transcript.world().to_owned(), transcript.chat().to_owned());
        self.shows_log = false;
        vec![Effect::Post { world, chat, text, key }]
    }

    pub(super) fn posted(&mut self, key: &str) -> Vec<Effect> {
        for transcript in &mut self.transcripts {
            transcript.sent(key);
        }
        Vec::new()
    }

    pub(super) fn not_posted(&mut self, key: &str, why: &str) -> Vec<Effect> {
        let text = self.transcripts.iter_mut().find_map(|transcript| transcript.sent(key));
        if let Some(text) = text {
            self.composer.give_back(&text);
        }
        self.tell(Tone::Warning, why);
        Vec::new()
    }

    /// Stops the agents of the chat that is looked at.
    pub(super) fn stop(&mut self) -> Vec<Effect> {
        let Some(transcript) = self.transcript() else {
            return Vec::new();
        };
        let (world, chat) = (transcript.world().to_owned(), transcript.chat().to_owned());
        let activity = &transcript.conversation.activity;
        let waiting = activity.waiting_approvals;
        if activity.works() {
            self.tell(Tone::Plain, "stopping the agents of this chat");
            return vec![Effect::Stop { world, chat }];
        }
        let leave = if self.focus == Focus::Composer { "Esc and then q quit" } else { "q quits" };
        let waits = if waiting > 0 { "what waits for you goes on waiting; " } else { "" };
        self.tell(Tone::Plain, format!("nothing runs in this chat; {waits}{leave}"));
        Vec::new()
    }

    /// What was before, where somebody has looked at all there is.
    pub(super) fn load_older(&mut self) -> Vec<Effect> {
        let Some(transcript) = self.transcript_mut() else {
            return Vec::new();
        };
        let Some(before) = transcript.wants_older() else {
            return Vec::new();
        };
        let world = Box::new(transcript.conversation.world.clone());
        let chat = Box::new(transcript.conversation.chat.clone());
        vec![Effect::LoadOlder { world, chat, before }]
    }
}
