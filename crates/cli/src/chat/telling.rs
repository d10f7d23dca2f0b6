//! Tells what happens in a chat besides messages, with notices that are messages as well told once.
//! Used by `lines`. What is said of calls and decisions is `narration`'s.

use std::collections::HashSet;

use agent_world_client::wire::{Event, News, Role};

use crate::narration::{Narration, Told};
use crate::screen::Tone;

#[derive(Debug, Default)]
pub struct Telling {
    narration: Narration,
    /// Messages that were told as notices.
    notices: HashSet<String>,
}

impl Telling {
    /// The line for an event; none where it says nothing to a person, or is a message or a request.
    pub fn tell(&mut self, event: &Event) -> Option<Told> {
        match &event.news {
            News::Message(message) if message.role == Role::System => {
                self.notices.insert(message.id.clone());
                Some(Told { tone: Tone::Warning, text: format!("! {}", message.content) })
            }
            News::Notice(notice)
                if notice.message_id.as_ref().is_some_and(|id| self.notices.contains(id)) =>
            {
                None
            }
            _ => self.narration.tell(event),
        }
    }
}
