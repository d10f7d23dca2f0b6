//! Keeps what an active chat's agents have seen, and reads on in the log where it is behind.
//! Used by the chat's task before a model call. Always a true prefix of the log, so it survives a reload: what others
//! have written is read on from where it ends, never from the beginning.

use agent_world_core::ids::ChatId;
use agent_world_core::prompt::Transcript;
use agent_world_store::{self as store, Scope, Store};

use crate::error::Error;
use crate::ledger::Committed;

/// Events read at once.
const PAGE: usize = 1_000;

#[derive(Debug)]
pub(crate) struct History {
    transcript: Transcript,
    /// The position of the last event folded in.
    position: u64,
}

impl History {
    pub fn new(result_limit: usize) -> Self {
        Self { transcript: Transcript::new(result_limit), position: 0 }
    }

    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Takes along what was just written, if nothing is missing in between.
    pub fn follow(&mut self, committed: &Committed) {
        let next = committed.events.first().map(|first| first.seq);
        if let Some(position) = committed.position
            && next == Some(self.transcript.head() + 1)
        {
            committed.events.iter().for_each(|recorded| self.transcript.apply(recorded));
            self.position = position;
        }
    }

    /// Folds in what is missing up to an event.
    pub async fn read_on(
        &mut self,
        store: &dyn Store,
        chat: &ChatId,
        head: u64,
    ) -> Result<(), Error> {
        let scope = Scope::Chat(chat.clone());
        while self.transcript.head() < head {
            let page = store.events(&scope, self.position, PAGE).await?;
            if page.is_empty() {
                let why = format!("chat {chat} ends before event {head}");
                return Err(store::Error::Corrupt(why).into());
            }
            for event in page.iter().filter(|event| event.sealed.seq <= head) {
                self.transcript.apply(&event.sealed.open().map_err(store::Error::from)?);
                self.position = event.position;
            }
        }
        Ok(())
    }
}
