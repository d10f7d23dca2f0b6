//! What waits for a person in all worlds, and the one that is looked at.
//! Owned by the state; a fold of what is loaded and heard. Nothing is taken for decided before the server says so.

use std::collections::{HashSet, VecDeque};

use agent_world_client::wire::Approval;

use super::words;
use crate::deciding::Deciding;

/// Settled requests that are remembered, for lists that were asked for before they were.
const REMEMBERED: usize = 1_000;
/// Beats of a quarter of a second in which nobody reads a question.
const UNREAD: u8 = 2;

#[derive(Debug, Default)]
pub struct Inbox {
    waiting: Vec<Approval>,
    settled: VecDeque<String>,
    deciding: Option<Deciding>,
    /// What became of the one that was looked at, while another decided it. The next one is not put in its place: a key that
    /// was meant for it must not decide another.
    became: Option<String>,
    /// Where it was.
    at: usize,
    /// Beats until the one that is looked at takes keys, where nobody chose it: a key pressed so soon was not meant for it.
    unread: u8,
    /// Those whose decision is on its way.
    sent: HashSet<String>,
    /// Lines of the card that are above the screen.
    pub scrolled: usize,
}

impl Inbox {
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn waiting(&self) -> &[Approval] {
        &self.waiting
    }

    pub fn waiting_in(&self, world: &str) -> usize {
        self.waiting.iter().filter(|approval| approval.world_id == world).count()
    }

    pub fn waiting_in_chat(&self, chat: &str) -> usize {
        self.waiting.iter().filter(|approval| approval.chat_id == chat).count()
    }

    /// Takes in all that wait.
    pub fn load(&mut self, approvals: Vec<Approval>) {
        let settled = &self.settled;
        self.waiting = approvals;
        self.waiting.retain(|approval| approval.is_pending() && !settled.contains(&approval.id));
        self.sort();
        let waiting = &self.waiting;
        self.sent.retain(|id| waiting.iter().any(|approval| approval.id == *id));
        self.look_again();
    }

    /// Takes in a request as it is now. Returns whether it was settled just now.
    pub fn hear(&mut self, approval: &Approval) -> bool {
        let place = self.waiting.iter().position(|known| known.id == approval.id);
        if approval.is_pending() {
            if place.is_none() && !self.settled.contains(&approval.id) {
                self.waiting.push(approval.clone());
                self.sort();
            }
            self.look_again();
            return false;
        }
        if self.settled.contains(&approval.id) {
            return false;
        }
        self.settled.push_back(approval.id.clone());
        if self.settled.len() > REMEMBERED {
            self.settled.pop_front();
        }
        let is_ours = self.sent.remove(&approval.id);
        if let Some(place) = place {
            let is_looked_at = self.selected() == Some(approval.id.as_str());
            self.waiting.remove(place);
            if is_looked_at {
                self.at = place.min(self.waiting.len().saturating_sub(1));
                self.deciding = None;
                if is_ours {
                    self.look_at(self.at);
                    self.unread = UNREAD;
                } else {
                    self.became = Some(words::outcome(approval));
                }
            }
        }
        true
    }

    fn sort(&mut self) {
        self.waiting.sort_by(|a, b| (&a.created_at, &a.id).cmp(&(&b.created_at, &b.id)));
    }

    /// Keeps what is looked at while it waits; otherwise looks at the oldest.
    fn look_again(&mut self) {
        let known = self.selected().map(ToOwned::to_owned);
        let waits = known.is_some_and(|id| self.waiting.iter().any(|one| one.id == id));
        if !waits && self.became.is_none() {
            self.look_at(0);
            self.unread = UNREAD;
        }
    }

    pub fn look_at(&mut self, place: usize) {
        let approval = self.waiting.get(place);
        if approval.map(|approval| approval.id.as_str()) != self.selected() {
            self.deciding = approval.cloned().map(Deciding::new);
            self.scrolled = 0;
        }
        self.became = None;
        self.at = place;
        self.unread = 0;
    }

    /// Somebody turns to the inbox: what they press from now on is meant for what they see.
    pub fn attend(&mut self) {
        self.unread = 0;
    }

    /// A quarter of a second has passed.
    pub fn beat(&mut self) {
        self.unread = self.unread.saturating_sub(1);
    }

    pub fn step(&mut self, by: isize) {
        let by = if self.became.is_some() { 0 } else { by };
        match self.waiting.len().checked_sub(1) {
            Some(last) => self.look_at(self.place().saturating_add_signed(by).min(last)),
            None => self.became = None,
        }
    }

    /// What became of the one that was looked at.
    pub fn became(&self) -> Option<&str> {
        self.became.as_deref()
    }

    /// Goes to the next one, and from the last to the first.
    pub fn later(&mut self) {
        let next = self.place() + usize::from(self.became.is_none());
        self.look_at(if next < self.waiting.len() { next } else { 0 });
    }

    pub fn selected(&self) -> Option<&str> {
        self.deciding.as_ref().map(|deciding| deciding.approval.id.as_str())
    }

    /// The place of what is looked at.
    pub fn place(&self) -> usize {
        let id = self.selected();
        self.waiting.iter().position(|one| Some(one.id.as_str()) == id).unwrap_or(self.at)
    }

    /// The place of the request about a call.
    pub fn place_of_call(&self, call: &str) -> Option<usize> {
        self.waiting.iter().position(|one| one.tool_call_id == call)
    }

    pub fn deciding(&self) -> Option<&Deciding> {
        self.deciding.as_ref()
    }

    /// The one that keys can decide: none while a decision about it is on its way.
    pub fn open(&mut self) -> Option<&mut Deciding> {
        let is_sent = self.selected().is_some_and(|id| self.sent.contains(id));
        let takes_keys = !is_sent && self.unread == 0;
        self.deciding.as_mut().filter(|_| takes_keys)
    }

    pub fn is_sent(&self, id: &str) -> bool {
        self.sent.contains(id)
    }

    pub fn sent(&mut self, id: &str) {
        self.sent.insert(id.to_owned());
    }

    /// A decision did not get through: the request can be decided again.
    pub fn reopen(&mut self, id: &str) {
        self.sent.remove(id);
        if self.selected() == Some(id) {
            let place = self.place();
            self.deciding = self.waiting.get(place).cloned().map(Deciding::new);
        }
    }
}
