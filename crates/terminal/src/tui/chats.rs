//! Opens chats, makes them, and posts to them: the part of the state that is about one chat.
//! Called by `update` and by keys. Keeps few chats, the ones that were opened last and those with messages on their way.

use agent_world_client::wire::{Chat, World};

use super::message::Effect;
use super::state::{Focus, State, Tone};
use super::transcript::Transcript;
use super::tree::Row;
use crate::conversation::Loaded;

/// Chats that are kept.
const KEPT: usize = 3;
/// Log positions before the newest from which notices are loaded, and numbers of events for each position.
const NOTICES: u64 = 50_000 * 16;

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
        // What is not stored yet exists only here.
        let is_stored = |known: &Transcript| known.sending().is_empty();
        let oldest = self.transcripts.iter().position(is_stored);
        if let Some(oldest) = oldest.filter(|_| self.transcripts.len() >= KEPT) {
            self.transcripts.remove(oldest);
        }
        let transcript = Transcript::opening(world, chat, self.theme);
        let effect = transcript.load_effect(self.notices_after());
        self.transcripts.push(transcript);
        vec![effect]
    }

    /// After which event what the runtime said is loaded with a chat.
    pub(super) fn notices_after(&self) -> u64 {
        self.known.saturating_sub(NOTICES)
    }

    /// Tries again to load the chat that is looked at.
    pub(super) fn open_again(&mut self) -> Vec<Effect> {
        let after = self.notices_after();
        self.transcript_mut().map(|transcript| transcript.load_again(after)).into_iter().collect()
    }

    pub(super) fn opened(&mut self, loaded: Loaded) -> Vec<Effect> {
        let after = self.notices_after();
        let id = loaded.conversation.chat.id.clone();
        let transcript = self.transcripts.iter_mut().find(|known| known.chat() == id);
        transcript.and_then(|transcript| transcript.loaded(loaded, after)).into_iter().collect()
    }

    pub(super) fn not_opened(&mut self, chat: &str, why: String) -> Vec<Effect> {
        self.with(chat, |transcript| transcript.failed_to_load(why))
    }

    pub(super) fn not_created(&mut self, why: String) -> Vec<Effect> {
        let begun = std::mem::take(&mut self.begun);
        if !begun.is_empty() {
            self.composer.give_back(self.open.as_deref(), &begun.join("\n"));
        }
        self.told(Tone::Warning, why)
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
        for text in std::mem::take(&mut self.begun) {
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
            // One chat is made, however much is said before it is there.
            let is_under_way = !self.begun.is_empty();
            let effects = if is_under_way { Vec::new() } else { self.create() };
            if effects.is_empty() && !is_under_way {
                self.composer.give_back(None, &text);
            } else {
                self.begun.push(text);
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
        let text = self
            .transcripts
            .iter_mut()
            .find_map(|transcript| Some((transcript.chat().to_owned(), transcript.sent(key)?)));
        if let Some((chat, text)) = text {
            self.composer.give_back(Some(&chat), &text);
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
            return self.stop_at(world, chat, None);
        }
        let leave = if self.focus == Focus::Composer { "Esc and then q quit" } else { "q quits" };
        let waits = if waiting > 0 { "what waits for you goes on waiting; " } else { "" };
        self.tell(Tone::Plain, format!("nothing runs in this chat; {waits}{leave}"));
        Vec::new()
    }

    pub(super) fn stop_at(
        &mut self,
        world: String,
        chat: String,
        agent: Option<String>,
    ) -> Vec<Effect> {
        let whom = agent.as_deref().unwrap_or("the agents of this chat");
        self.tell(Tone::Plain, format!("stopping {whom}"));
        self.stopping.push(chat.clone());
        vec![Effect::Stop { world, chat, agent }]
    }

    /// It is known what became of a stop.
    pub(super) fn stopped(&mut self, chat: &str, tone: Tone, what: &str) -> Vec<Effect> {
        if let Some(place) = self.stopping.iter().position(|stopping| stopping == chat) {
            self.stopping.remove(place);
        }
        self.told(tone, what.to_owned())
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
