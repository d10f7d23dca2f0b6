//! Says which turns, calls and messages one message led to, by what the stream says joined them.
//! Used by `send`, which decides about nothing else. In doubt a thing is not the message's: whoever approves in
//! advance has seen only their own words.

use std::collections::HashSet;

use agent_world_client::wire::{Event, Joined, News, Phase, Stream};

/// A message and what came of it, as far as the chat was followed.
#[derive(Debug, Default)]
pub struct Descent {
    /// The message itself.
    first: String,
    /// Some turn has taken the message in, be it one that serves others as well.
    heard_by_an_agent: bool,
    messages: HashSet<String>,
    turns: HashSet<String>,
    calls: HashSet<String>,
    /// Turns and calls that were heard of, whosever they are: only the first word about one counts.
    heard: HashSet<String>,
}

impl Descent {
    pub fn of(message: &str) -> Self {
        let first = message.to_owned();
        Self { messages: HashSet::from([first.clone()]), first, ..Self::default() }
    }

    /// Takes in the next event of the chat. None since the message was posted may be left out.
    pub fn follow(&mut self, event: &Event) {
        match &event.news {
            News::Stream(stream) if stream.phase == Phase::Start => self.start(stream),
            News::Message(message)
                if message.turn_id.as_ref().is_some_and(|turn| self.turns.contains(turn)) =>
            {
                self.messages.insert(message.id.clone());
            }
            // A call stays what it was when it was made, even if its turn hears somebody else later.
            News::Tool(call) => {
                let is_new = self.heard.insert(call.id.clone());
                let turn = call.turn_id.as_ref();
                if is_new && turn.is_some_and(|turn| self.turns.contains(turn)) {
                    self.calls.insert(call.id.clone());
                }
            }
            _ => {}
        }
    }

    /// A turn begins with its first call of the model, for what it joins or to do an earlier turn's work. One that was under
    /// way before never gets in, whatever it joins: it serves somebody else as well.
    fn start(&mut self, stream: &Stream) {
        let Some(turn) = &stream.turn_id else {
            return;
        };
        let is_new = self.heard.insert(turn.clone());
        let earlier = stream.retry_of.as_ref();
        if is_new
            && stream.iteration == Some(1)
            && earlier.is_none_or(|earlier| self.turns.contains(earlier))
        {
            self.turns.insert(turn.clone());
        }
        // Where it is not told what was joined, it may be anything.
        let joined = stream.joined.as_ref();
        let is_first =
            |one: &Joined| matches!(one, Joined::MessageId(message) if *message == self.first);
        self.heard_by_an_agent |= joined.is_some_and(|joined| joined.iter().any(is_first));
        if !joined.is_some_and(|joined| joined.iter().all(|one| self.includes(one))) {
            self.turns.remove(turn);
        }
    }

    pub fn message(&self) -> &str {
        &self.first
    }

    /// Whether any agent has taken the message in. Otherwise it waits for one that is not done with something else.
    pub fn is_taken_in(&self) -> bool {
        self.heard_by_an_agent
    }

    /// Whether a call was made for the message and for nothing else.
    pub fn has_call(&self, call: &str) -> bool {
        self.calls.contains(call)
    }

    fn includes(&self, joined: &Joined) -> bool {
        match joined {
            Joined::MessageId(id) => self.messages.contains(id),
            Joined::ToolCallId(call) => self.calls.contains(call),
            Joined::Other(_) => false,
        }
    }
}

#[cfg(test)]
#[path = "descent_tests.rs"]
mod tests;
