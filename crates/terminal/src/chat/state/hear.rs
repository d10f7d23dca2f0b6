//! What news and answers change.
//! Part of `state`. The same may be heard twice, as an answer and as news: it is told once.

use std::time::Instant;

use agent_world_client::Heard;
use agent_world_client::wire::{Approval, ApprovalState, CallState, News, Role};
use ratatui::text::{Line, Span};

use super::{Sending, State};
use crate::chat::effect::{Effect, Told};
use crate::chat::words;
use crate::conversation::Entry;

impl State {
    pub fn hear(&mut self, heard: &Heard, now: Instant) -> Vec<Effect> {
        if let Heard::Event(event) = heard {
            self.known = self.known.max(event.seq);
        }
        match heard {
            // Why is for whoever looks after the server; here it only matters that it is tried again.
            Heard::Lost(_) => self.is_lost = true,
            Heard::Back => self.is_lost = false,
            Heard::Event(event) if event.chat_id.as_deref() == Some(&self.conversation.chat.id) => {
                if let News::Approval(approval) = &event.news {
                    self.approval(approval);
                }
                // Heard before the request for it was answered.
                if let News::Message(message) = &event.news
                    && message.role == Role::User
                {
                    let is_it = |sent: &Sending| sent.text == message.content;
                    if let Some(at) = self.sending.iter().position(is_it) {
                        self.sending.remove(at);
                    }
                    // It did arrive: the same words said once more are another message.
                    self.unsure.remove(&message.content);
                }
                if let News::Changed(changed) = &event.news {
                    let by = changed.by.as_deref().unwrap_or("somebody");
                    match (changed.entity.as_str(), changed.action.as_str()) {
                        ("chat", "deleted") => {
                            self.warn(&format!("! {by} deleted this chat"));
                            return vec![Effect::Quit];
                        }
                        ("message", "deleted") => {
                            self.note(&format!(
                                "{by} took messages back; the chat goes on before them"
                            ));
                        }
                        _ => {}
                    }
                }
            }
            Heard::Event(_) | Heard::Piece(_) | Heard::Output(_) => {}
        }
        for place in self.conversation.hear(heard) {
            if let Some(Entry::Call(block)) = self.conversation.entries().get(place) {
                match block.state {
                    CallState::Executing => self.running.entry(block.id.clone()).or_insert(now),
                    _ => {
                        self.running.remove(&block.id);
                        continue;
                    }
                };
            }
        }
        self.stopping &= self.conversation.activity.works();
        Vec::new()
    }

    fn approval(&mut self, approval: &Approval) {
        if approval.is_pending() {
            return self.waiting.add(approval.clone());
        }
        self.waiting.settle(&approval.id);
        if !self.traced.insert(approval.id.clone()) {
            return;
        }
        let (mark, style) = match approval.state {
            ApprovalState::Approved => ("✓ ", self.theme.good()),
            _ => ("✗ ", self.theme.warning()),
        };
        if approval.state == ApprovalState::Denied {
            self.flow.tell_no_more(&approval.tool_call_id);
        }
        let text = words::decided(approval);
        self.out.push(Line::from(vec![
            Span::styled(mark, style),
            Span::styled(text, self.theme.quiet()),
        ]));
        let permitted = self.permitted.remove(&approval.id);
        if let Some(calls) = permitted.filter(|_| approval.state == ApprovalState::Approved) {
            self.note(&words::lasts(approval, &calls));
            self.note(words::UNDO);
        }
    }

    pub fn told(&mut self, told: Told) {
        match told {
            Told::Posted { number, message } => {
                self.sending.retain(|sent| sent.number != number);
                // The person may be in another chat by now.
                if message.chat_id == self.conversation.chat.id {
                    self.conversation.message(&message);
                }
            }
            Told::NotPosted { number, why, is_unsure } => {
                let place = self.sending.iter().position(|sent| sent.number == number);
                // It was heard of meanwhile: only the answer was lost.
                let Some(sent) = place.map(|place| self.sending.remove(place)) else { return };
                // Nothing that was typed is lost.
                if self.composer.is_empty() {
                    self.composer.set(&sent.text);
                }
                if is_unsure {
                    self.unsure.insert(sent.text, sent.key);
                }
                self.warn(&format!("! not posted: {why}"));
            }
            Told::NotEdited { chat, message, text, why } => {
                // What was typed meanwhile is left alone; what is lost of this, Up recalls.
                if chat == self.conversation.chat.id && self.composer.is_empty() {
                    self.composer.set(&text);
                    self.editing = Some(message);
                }
                self.warn(&format!("! not changed: {why}"));
            }
            Told::Decided(approval) => self.approval(&approval),
            Told::DecisionDelayed { approval } => self.waiting.delay(&approval),
            Told::NotDecided { approval, why } => {
                self.permitted.remove(&approval);
                let was_delayed = self.waiting.is_delayed(&approval);
                let waits = self.waiting.ask_anew(&approval, &why);
                // Whoever looked away meanwhile is to find it.
                if was_delayed || !waits {
                    self.warn(&format!("! {approval}: {why}"));
                }
            }
            Told::DecidedBefore { approval, why } => {
                self.waiting.settle(&approval);
                self.warn(&format!("! {why}"));
            }
            Told::Opened(opened) => self.move_to(*opened),
            Told::Noted(text) => self.note(&text),
            Told::Listed(lines) => self.list(&lines),
            Told::Waiting { lines, elsewhere } => {
                self.list(&lines);
                for (approval, place) in elsewhere {
                    self.waiting.add_of(approval, place);
                }
            }
            Told::Refused(why) => {
                self.stopping = false;
                self.warn(&format!("! {why}"));
            }
        }
    }

    fn move_to(&mut self, opened: crate::chat::open::Opened) {
        self.conversation = opened.conversation;
        self.me = opened.me;
        self.waiting = crate::chat::waiting::Waiting::default();
        self.flow = crate::chat::flow::Flow::default();
        self.editing = None;
        self.sending.clear();
        self.unsure.clear();
        self.recalled = None;
        self.running.clear();
        self.out.push(Line::default());
        self.enter(opened.approvals, opened.elsewhere);
    }
}
