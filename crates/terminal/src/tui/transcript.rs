//! One chat as somebody looks at it: which part is on the screen, what is selected, what was rendered of it.
//! Owned by the state. Only what is visible is ever rendered, and places are kept by entry, so that what comes before or
//! after never moves what somebody reads.

pub mod laid;
mod moving;
pub mod rendered;
mod window;

use std::collections::HashMap;

use agent_world_client::Heard;
use agent_world_client::wire::{Call, Chat, World};

use self::laid::Budget;
use self::rendered::{Rendered, Unfolded};
use super::message::Effect;
use crate::conversation::{Block, Conversation, Entry, Loaded};
use crate::theme::Theme;

/// Entries that are kept of a chat while its end is looked at, and at most.
const KEPT: usize = 2_000;
const MOST: usize = 10_000;
/// Bytes of text that are kept of a chat while its end is looked at.
const HEAVIEST: usize = 64 * 1024 * 1024;
/// Entries above the limit before some are let go: letting go of one at a time is tedious.
const SLACK: usize = 200;
/// What is kept of what is heard while a chat is loaded.
const BACKLOG: usize = 5_000;

#[derive(Debug)]
pub struct Transcript {
    pub conversation: Conversation,
    /// What was heard of it while the chat is loaded; none once it is.
    backlog: Option<Backlog>,
    /// Why it could not be loaded.
    problem: Option<String>,
    /// The oldest message there is here; none where there is nothing before.
    before: Option<String>,
    is_loading_older: bool,
    anchor: Anchor,
    selected: Option<String>,
    unfolded: Unfolded,
    cache: HashMap<String, Rendered>,
    width: u16,
    height: usize,
    theme: Theme,
    visible: Vec<Slice>,
    is_unfinished: bool,
    sending: Vec<Sending>,
    /// What may still be rendered before the next frame.
    budget: Budget,
}

/// What was heard of a chat while it is loaded.
#[derive(Debug, Default)]
struct Backlog {
    heard: Vec<Heard>,
    /// More was heard than is kept.
    is_full: bool,
}

impl Backlog {
    fn keep(&mut self, heard: &Heard) {
        match self.heard.len() < BACKLOG {
            true => self.heard.push(heard.clone()),
            // What is kept has a gap now, and is of no use.
            false => *self = Self { heard: Vec::new(), is_full: true },
        }
    }
}

/// A message that is on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    pub key: String,
    pub text: String,
}

/// What the screen is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Anchor {
    End,
    /// This line of this entry is at the top.
    Top {
        id: String,
        line: usize,
    },
}

/// A part of an entry that is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    place: usize,
    from: usize,
    rows: usize,
}

impl Transcript {
    /// A chat that is being loaded.
    pub fn opening(world: World, chat: Chat, theme: Theme) -> Self {
        Self {
            conversation: Conversation::new(world, chat),
            backlog: Some(Backlog::default()),
            problem: None,
            before: None,
            is_loading_older: false,
            anchor: Anchor::End,
            selected: None,
            unfolded: Unfolded::new(),
            cache: HashMap::new(),
            width: 80,
            height: 20,
            theme,
            visible: Vec::new(),
            is_unfinished: false,
            sending: Vec::new(),
            budget: Budget::of_frame(),
        }
    }

    pub fn chat(&self) -> &str {
        &self.conversation.chat.id
    }

    pub fn world(&self) -> &str {
        &self.conversation.world.id
    }

    pub fn is_loading(&self) -> bool {
        self.backlog.is_some()
    }

    pub fn is_loading_older(&self) -> bool {
        self.is_loading_older
    }

    pub fn is_at_end(&self) -> bool {
        self.anchor == Anchor::End
    }

    /// More could be rendered in another frame.
    pub fn is_unfinished(&self) -> bool {
        self.is_unfinished
    }

    /// How much is kept of what was heard while it is loaded.
    #[cfg(test)]
    pub fn kept_for_later(&self) -> Option<usize> {
        self.backlog.as_ref().map(|backlog| backlog.heard.len())
    }

    /// Lines that were made since the last frame began.
    #[cfg(test)]
    pub fn made(&self) -> usize {
        self.budget.made
    }

    pub fn sending(&self) -> &[Sending] {
        &self.sending
    }

    pub fn send(&mut self, key: &str, text: &str) {
        self.sending.push(Sending { key: key.to_owned(), text: text.to_owned() });
        self.go_to_end();
    }

    /// Forgets a message that was on its way; returns its text.
    pub fn sent(&mut self, key: &str) -> Option<String> {
        let place = self.sending.iter().position(|sending| sending.key == key)?;
        Some(self.sending.remove(place).text)
    }

    /// Takes in the chat as it was loaded. Where more was heard meanwhile than is kept, it is to be loaded again.
    pub fn loaded(&mut self, loaded: Loaded, after: u64) -> Option<Effect> {
        let before = std::mem::replace(&mut self.conversation, loaded.conversation);
        self.conversation.remember(&before);
        self.before = loaded.before;
        self.problem = None;
        let backlog = self.backlog.take().unwrap_or_default();
        for heard in &backlog.heard {
            self.conversation.hear(heard);
        }
        backlog.is_full.then(|| self.load_again(after))
    }

    /// Something may have been missed.
    pub fn load_again(&mut self, after: u64) -> Effect {
        self.backlog = Some(Backlog::default());
        self.problem = None;
        self.load_effect(after)
    }

    pub fn load_effect(&self, after: u64) -> Effect {
        Effect::Open {
            world: Box::new(self.conversation.world.clone()),
            chat: Box::new(self.conversation.chat.clone()),
            after,
        }
    }

    /// It cannot be loaded. What is heard of it from now on is shown, and nothing is kept for later.
    pub fn failed_to_load(&mut self, why: String) {
        self.backlog = None;
        self.problem = Some(why);
    }

    /// Why it could not be loaded.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub fn older(&mut self, loaded: Loaded) {
        self.is_loading_older = false;
        self.before = loaded.before;
        self.conversation.precede(loaded.conversation);
    }

    pub fn failed_to_load_older(&mut self) {
        self.is_loading_older = false;
    }

    /// Whether anything changed.
    pub fn hear(&mut self, heard: &Heard) -> bool {
        let activity = self.conversation.activity.clone();
        let (many, title) = (self.conversation.entries().len(), self.conversation.chat.title.len());
        let changed = self.conversation.hear(heard);
        if let Some(backlog) = &mut self.backlog
            && self.conversation.is_about(heard)
        {
            backlog.keep(heard);
        }
        if self.is_at_end() && self.conversation.entries().len() > KEPT + SLACK {
            self.let_go(KEPT);
        }
        if matches!(heard, Heard::Event(_)) && !changed.is_empty() {
            self.lighten();
        }
        !changed.is_empty()
            || activity != self.conversation.activity
            || many != self.conversation.entries().len()
            || title != self.conversation.chat.title.len()
    }

    pub fn call(&mut self, call: &Call) {
        self.conversation.call(call, "");
    }

    /// Lets the oldest go where all of them together are too much to keep.
    fn lighten(&mut self) {
        let mut weight = 0;
        let entries = self.conversation.entries();
        let newest = entries.iter().rev().take_while(|entry| {
            weight += entry.weight();
            weight <= HEAVIEST
        });
        let keep = newest.count().max(1);
        if keep < entries.len() && self.is_at_end() {
            self.let_go(keep);
        }
    }

    fn let_go(&mut self, keep: usize) {
        self.conversation.let_go(keep);
        let first = self.conversation.entries().iter().find_map(|entry| match entry {
            Entry::Said(said) => Some(said.id.clone()),
            _ => None,
        });
        self.before = first.or_else(|| self.before.take());
        self.cache.retain(|id, _| self.conversation.entry(id).is_some());
    }

    /// The message before which more is to be loaded, where somebody has looked at all there is.
    pub fn wants_older(&mut self) -> Option<String> {
        let at_top = self.visible.first().is_none_or(|slice| slice.place == 0 && slice.from == 0);
        let may = at_top && !self.is_loading() && !self.is_loading_older;
        if !may || self.conversation.entries().len() >= MOST {
            return None;
        }
        let before = self.before.clone()?;
        self.is_loading_older = true;
        Some(before)
    }

    pub fn selected(&self) -> Option<&Entry> {
        self.conversation.entry(self.selected.as_deref()?)
    }

    /// The call that is meant: the selected one, or the last on the screen, or else the last one before.
    pub fn call_meant(&self) -> Option<&Block> {
        if let Some(Entry::Call(block)) = self.selected() {
            return Some(block);
        }
        let last = self.visible.last().map_or(0, |slice| slice.place + 1);
        let seen = self.conversation.entries().get(..last).unwrap_or_default();
        seen.iter().rev().find_map(|entry| match entry {
            Entry::Call(block) => Some(block.as_ref()),
            _ => None,
        })
    }

    /// Shows or hides the reasoning of what is selected, or of everything where nothing is.
    pub fn toggle_reasoning(&mut self) {
        let thought =
            |entry: &&Entry| matches!(entry, Entry::Said(said) if !said.reasoning.is_empty());
        let ids: Vec<String> = match self.selected() {
            Some(entry) => vec![entry.id().to_owned()],
            None => {
                let entries = self.conversation.entries().iter().filter(thought);
                entries.map(|entry| entry.id().to_owned()).collect()
            }
        };
        let all_unfolded = ids.iter().all(|id| self.unfolded.contains(id));
        for id in ids {
            if all_unfolded {
                self.unfolded.remove(&id);
            } else {
                self.unfolded.insert(id);
            }
        }
    }
}
