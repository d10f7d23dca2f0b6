//! Decides how a chat's history begins, is taken back, is copied, and ends.
//! Called by `decide`. Never touches another chat, and never deletes an event: the log keeps everything.

use crate::apply::apply;
use crate::chain::Recorded;
use crate::chat::Chat;
use crate::command::{CreateChat, Fork, MessageRef, Rejection};
use crate::event::{
    Author, ChatCreated, Copied, Event, Message, Outcome, Output, SetAside, ToolFinished,
};
use crate::ids::{CallId, ChatId, MessageId};
use crate::nesting;
use crate::sender::Sender;

use super::Draft;

/// What a chat is called until somebody names it.
pub const DEFAULT_TITLE: &str = "New Chat";

impl Draft<'_> {
    pub(super) fn create_chat(&mut self, create: CreateChat) -> Result<(), Rejection> {
        if self.chat.life != crate::chat::Life::Unborn {
            return Err(Rejection::ChatExists);
        }
        let (title, by) = match create.title.map(|title| title.trim().to_owned()) {
            Some(title) if title.is_empty() => return Err(Rejection::EmptyTitle),
            Some(title) => (title, Author::Person(create.by)),
            None => (DEFAULT_TITLE.to_owned(), Author::Default),
        };
        let chat = self.chat.id.clone();
        let (forked_from, history) = match create.fork {
            Some(Fork { origin, history }) => (origin, history),
            None => (None, Vec::new()),
        };
        // What is copied is stored already; what a client brought may be anything.
        if forked_from.is_none() && history.iter().any(|copied| nesting::is_too_deep(&copied.event))
        {
            return Err(Rejection::TooDeep);
        }
        self.emit(Event::ChatCreated(ChatCreated {
            chat,
            world: create.world,
            title,
            by,
            forked_from,
        }));
        if !history.is_empty() {
            let events = self.close_history(history);
            self.emit(Event::HistoryCopied { events });
        }
        Ok(())
    }

    /// A copy holds no open work: calls without an end are cancelled, messages nobody was shown yet are set aside.
    fn close_history(&mut self, mut history: Vec<Copied>) -> Vec<Copied> {
        let (calls, set_aside) = left_open(&history);
        let at = self.at;
        for call in calls {
            let message = MessageId::next(&mut self.ids);
            let output = Output::text("the chat was forked before this call had ended");
            let finished = ToolFinished { call, message, outcome: Outcome::Cancelled, output };
            history.push(Copied { at, event: Event::ToolFinished(finished) });
        }
        if !set_aside.is_empty() {
            let event = Event::WorkStopped { agent: None, by: "fork".to_owned(), set_aside };
            history.push(Copied { at, event });
        }
        history
    }

    pub(super) fn delete_chat(&mut self, by: String) -> Result<(), Rejection> {
        self.halt(None, &by);
        self.emit(Event::ChatDeleted { by });
        Ok(())
    }

    pub(super) fn edit_message(
        &mut self,
        target: MessageRef,
        text: String,
        user: Option<String>,
        by: String,
    ) -> Result<(), Rejection> {
        // Its images stay, and say something without a text, too.
        if text.trim().is_empty() && target.parts.is_empty() {
            return Err(Rejection::EmptyMessage);
        }
        let named = self.check_recipients(&target.sender, target.recipients.as_deref())?;
        self.delete_message(&target, by)?;
        let message = Message {
            id: MessageId::next(&mut self.ids),
            sender: Sender::Human,
            user,
            text,
            parts: target.parts,
            reply_to: target.reply_to,
            turn: None,
            usage: None,
        };
        self.route(message, named, target.attendance);
        Ok(())
    }

    pub(super) fn delete_message(
        &mut self,
        target: &MessageRef,
        by: String,
    ) -> Result<(), Rejection> {
        if target.sender != Sender::Human {
            return Err(Rejection::NotHuman {
                id: target.id.clone(),
                sender: target.sender.clone(),
            });
        }
        self.halt(None, &by);
        let (from, position) = (target.id.clone(), target.position);
        self.emit(Event::HistoryCut { from, position, by });
        Ok(())
    }
}

/// The calls without an end, and what no agent was shown yet.
fn left_open(history: &[Copied]) -> (Vec<CallId>, Vec<SetAside>) {
    let mut scratch = Chat::unborn(ChatId::new(""));
    for copied in history {
        let event = copied.event.clone();
        apply(&mut scratch, &Recorded { seq: 0, at: copied.at, event });
    }
    let open = scratch.calls.values().filter(|call| !call.state.is_final());
    let calls = open.map(|call| call.made.call.clone()).collect();
    let inboxes = scratch.agents.iter().filter(|(_, desk)| !desk.inbox.is_empty());
    let set_aside = inboxes.map(|(agent, desk)| SetAside {
        agent: agent.clone(),
        waiting: desk.inbox.iter().cloned().collect(),
    });
    (calls, set_aside.collect())
}
