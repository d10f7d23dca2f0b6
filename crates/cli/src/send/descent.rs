//! Says which turns, calls and messages one message led to, by what the log says joined them.
//! Used by `send`, which decides about nothing else. In doubt a thing is not the message's: whoever approves in
//! advance has seen only their own words.

use std::collections::HashSet;

use agent_world_core::event::{Event, Waiting};
use agent_world_core::ids::{CallId, MessageId, TurnId};

/// A message and what came of it, as far as the log was followed.
#[derive(Debug, Default)]
pub struct Descent {
    messages: HashSet<MessageId>,
    turns: HashSet<TurnId>,
    calls: HashSet<CallId>,
}

impl Descent {
    pub fn of(message: MessageId) -> Self {
        Self { messages: HashSet::from([message]), ..Self::default() }
    }

    /// Takes in the next event of the chat. None may be left out.
    pub fn follow(&mut self, event: &Event) {
        match event {
            // A turn starts for what it joins, which is told next, or to do an earlier turn's work. One that was
            // under way before never gets in, whatever it joins: it serves somebody else as well.
            Event::TurnStarted(started) => {
                let earlier = started.retry_of.as_ref();
                if earlier.is_none_or(|turn| self.turns.contains(turn)) {
                    self.turns.insert(started.turn.clone());
                }
            }
            Event::ModelCallRequested(asked)
                if !asked.joined.iter().all(|waiting| self.includes(waiting)) =>
            {
                self.turns.remove(&asked.turn);
            }
            Event::MessagePosted(posted) => {
                let message = &posted.message;
                if message.turn.as_ref().is_some_and(|turn| self.turns.contains(turn)) {
                    self.messages.insert(message.id.clone());
                }
            }
            // A call stays what it was when it was made, even if its turn hears somebody else later.
            Event::ToolCalled(called) if self.turns.contains(&called.turn) => {
                self.calls.insert(called.call.clone());
            }
            _ => {}
        }
    }

    /// Whether a call was made for the message and for nothing else.
    pub fn has_call(&self, call: &CallId) -> bool {
        self.calls.contains(call)
    }

    fn includes(&self, waiting: &Waiting) -> bool {
        match waiting {
            Waiting::Message { id, .. } => self.messages.contains(id),
            Waiting::Background { call } => self.calls.contains(call),
        }
    }
}

#[cfg(test)]
#[path = "descent_tests.rs"]
mod tests;
