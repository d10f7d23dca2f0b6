//! What waits for a person in all worlds, and the one that is looked at.
//! Owned by the state; a fold of what is loaded and heard. Nothing is taken for decided before the server says so, and no
//! request takes the place of another under somebody's fingers.

mod reading;

use std::collections::{HashMap, VecDeque};

use agent_world_client::wire::{Approval, Decision};
use ratatui::text::Line;

use super::sent::{self, Delivery, Sent};
use super::words;
use crate::attention::{Attention, Untaken};
use crate::deciding::Deciding;
use crate::theme::Theme;

/// Settled requests that are remembered, for lists that were asked for before they were.
const REMEMBERED: usize = 1_000;

#[derive(Debug, Default)]
pub struct Inbox {
    waiting: Vec<Approval>,
    settled: VecDeque<String>,
    deciding: Option<Deciding>,
    /// What became of the one that was looked at, while another decided it. The next one is not put in its place: a key that
    /// was meant for it must not decide another.
    became: Option<String>,
    /// Its id, where nobody has said yet why it waits no more.
    gone: Option<String>,
    /// Where it was.
    at: usize,
    /// Whether a key may be an answer to the one that is looked at.
    attention: Attention,
    /// How often somebody came back to it.
    turns: u64,
    /// Whether the last frame said that keys count.
    was_ready: bool,
    /// Why the last key that could have been an answer was none.
    swallowed: Option<Untaken>,
    /// The decisions that are on their way.
    sent: HashMap<String, Sent>,
    /// Lines of the card that are above the screen.
    pub scrolled: usize,
    /// What of the card the frame has room for.
    pub view: View,
    /// Lines of the card that were on the screen, from its first on.
    read_to: usize,
    card: Card,
}

/// What of a card there is room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    pub first: usize,
    pub rows: usize,
    /// There is none for the keys that answer it: then nobody can.
    pub is_cramped: bool,
}

/// The lines of what is looked at, kept until it is another one or has another place.
#[derive(Debug, Default)]
struct Card {
    of: (String, usize, usize, u16),
    lines: Vec<Line<'static>>,
}

/// What became of a request that was heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It waits, or this is no news.
    No,
    /// As this person decided, or without any decision of theirs.
    Yes,
    /// This person decided, and somebody else had decided otherwise.
    Otherwise,
}

/// What is decided about: whoever has read one of two requests in which this is the same has read the other.
fn asked(approval: &Approval) -> impl PartialEq + use<'_> {
    let Approval { tool, arguments, shown, preview, working_directory, binding, form, .. } =
        approval;
    (tool, arguments, shown, preview, working_directory, binding, form)
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
        match self.selected().map(ToOwned::to_owned) {
            Some(id) => self.look_again_at(&id),
            None => self.look_at_first(),
        }
    }

    /// Keeps what is looked at where it still waits. Where it does not, nothing is put in its place before somebody asks.
    fn look_again_at(&mut self, id: &str) {
        match self.waiting.iter().position(|one| one.id == id) {
            Some(place) => {
                let known = self.deciding.as_ref().map(|deciding| &deciding.approval);
                if known.map(asked) != self.waiting.get(place).map(asked) {
                    self.show(place);
                    self.arm();
                }
            }
            None => {
                let gone = self.deciding.take().map(|deciding| deciding.approval);
                self.at = self.at.min(self.waiting.len().saturating_sub(1));
                self.became = gone.map(|approval| words::vanished(&approval));
                self.gone = Some(id.to_owned());
            }
        }
    }

    /// Takes in a request as it is now.
    pub fn hear(&mut self, approval: &Approval) -> Settled {
        let place = self.waiting.iter().position(|known| known.id == approval.id);
        if approval.is_pending() {
            if place.is_none() && !self.settled.contains(&approval.id) {
                self.waiting.push(approval.clone());
                self.sort();
            }
            self.look_at_first();
            return Settled::No;
        }
        if self.settled.contains(&approval.id) {
            return Settled::No;
        }
        self.settled.push_back(approval.id.clone());
        if self.settled.len() > REMEMBERED {
            self.settled.pop_front();
        }
        let sent = self.sent.remove(&approval.id);
        let is_ours = sent.as_ref().is_some_and(|sent| sent::is_same(&sent.decision, approval));
        let was_looked_at = match place {
            Some(place) => {
                let is_looked_at = self.selected() == Some(approval.id.as_str());
                self.waiting.remove(place);
                if is_looked_at {
                    self.at = place.min(self.waiting.len().saturating_sub(1));
                    self.deciding = None;
                }
                is_looked_at
            }
            None => self.became.is_some() && self.gone.as_deref() == Some(approval.id.as_str()),
        };
        if was_looked_at {
            let elsewhere = if sent.is_some() { "Decided elsewhere. " } else { "" };
            self.became = Some(format!("{elsewhere}{}", words::outcome(approval)));
            if is_ours {
                self.go_on();
            }
        }
        if sent.is_some() && !is_ours { Settled::Otherwise } else { Settled::Yes }
    }

    fn sort(&mut self) {
        self.waiting.sort_by(|a, b| (&a.created_at, &a.id).cmp(&(&b.created_at, &b.id)));
    }

    /// Looks at the oldest where nothing is looked at.
    fn look_at_first(&mut self) {
        if self.deciding.is_none() && self.became.is_none() {
            self.look_at(0);
            self.arm();
        }
    }

    fn show(&mut self, place: usize) {
        self.deciding = self.waiting.get(place).cloned().map(Deciding::new);
        if let Some(deciding) = &mut self.deciding {
            deciding.read(false);
        }
        (self.scrolled, self.read_to) = (0, 0);
        self.swallowed = None;
        self.card = Card::default();
    }

    /// Looks at one. Also where somebody chose it: until it is on the screen, they have not read it.
    pub fn look_at(&mut self, place: usize) {
        let id = self.waiting.get(place).map(|approval| approval.id.as_str());
        if id != self.selected() {
            self.attention.leave();
            self.show(place);
            self.arm();
        }
        self.became = None;
        self.at = place;
    }

    /// Nobody's keys act on it: the next one may take the place of what was settled.
    pub fn go_on(&mut self) {
        if self.became.take().is_some() {
            self.look_at(self.at);
            self.arm();
        }
    }

    pub fn step(&mut self, by: isize) {
        let is_next = self.became.is_some();
        let by = if is_next { 0 } else { by };
        match self.waiting.len().checked_sub(1) {
            Some(last) => self.look_at(self.place().saturating_add_signed(by).min(last)),
            None => self.became = None,
        }
        // It was not on the screen before.
        if is_next {
            self.arm();
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
        self.arm();
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
        let is_sent = self.selected().is_some_and(|id| self.sent.contains_key(id));
        self.deciding.as_mut().filter(|_| !is_sent)
    }

    /// How the decision about a request fares, where one is on its way.
    pub fn delivery(&self, id: &str) -> Option<Delivery> {
        self.sent.get(id).map(|sent| sent.delivery)
    }

    pub fn sent(&mut self, id: &str, decision: Decision) {
        self.sent.insert(id.to_owned(), Sent { decision, delivery: Delivery::OnItsWay });
    }

    /// Nobody answered: it is tried again.
    pub fn delayed(&mut self, id: &str) {
        if let Some(sent) = self.sent.get_mut(id) {
            sent.delivery = Delivery::Retrying;
        }
    }

    /// The requests about which a decision is on its way, in order.
    pub fn undelivered(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.sent.keys().map(String::as_str).collect();
        ids.sort_unstable();
        ids
    }

    /// A decision did not get through: the request can be decided again, and what was typed for it is still there.
    pub fn reopen(&mut self, id: &str, why: &str) {
        self.sent.remove(id);
        if let Some(deciding) = self.deciding.as_mut().filter(|one| one.approval.id == id) {
            deciding.refused(why);
        }
    }

    /// Makes the lines of what is looked at, where they are others than before.
    pub fn arrange(&mut self, width: u16, theme: Theme) {
        let (number, total) = (self.place() + 1, self.len());
        let Some(deciding) = &self.deciding else {
            self.card = Card::default();
            return;
        };
        let of = (deciding.approval.id.clone(), number, total, width);
        if self.card.of != of {
            // What was read at another width is not known line by line.
            if (&self.card.of.0, self.card.of.3) != (&of.0, of.3) {
                self.read_to = 0;
            }
            let lines = deciding.lines(number, total, width, theme);
            self.card = Card { of, lines };
        }
    }

    /// What must be seen before deciding.
    pub fn card(&self) -> &[Line<'static>] {
        &self.card.lines
    }
}
