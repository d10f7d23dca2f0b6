//! One chat on the stage: its log as a store would keep it, and everything folded from it.
//! Called by `stage` and by the random walk. After every command it compares what lives in memory with what is read
//! back from the stored form, and holds the log to the invariants.

use std::collections::BTreeMap;

use agent_world_core::apply::apply;
use agent_world_core::audit::Entry;
use agent_world_core::chain::{Head, Recorded, Sealed, seal};
use agent_world_core::chat::Chat;
use agent_world_core::command::{Input, Rejection};
use agent_world_core::config::Rules;
use agent_world_core::decide::decide;
use agent_world_core::ids::{ApprovalId, CallId, ChatId, GrantId};
use agent_world_core::outstanding::outstanding;
use agent_world_core::policy::{Grant, Rule};
use agent_world_core::prompt::Transcript;
use agent_world_core::view::{self, ApprovalView, CallView, MessageView, Row, UsageView};

use crate::invariants::{self, Ledger};

#[derive(Clone)]
pub struct Scene {
    pub chat: Chat,
    pub transcript: Transcript,
    pub log: Vec<Recorded>,
    pub stored: Vec<Sealed>,
    pub tables: Tables,
    pub ledger: Ledger,
}

/// The read models, folded from rows as a store would.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    pub messages: Vec<MessageView>,
    pub calls: BTreeMap<CallId, CallView>,
    pub approvals: BTreeMap<ApprovalId, ApprovalView>,
    pub grants: BTreeMap<GrantId, Grant>,
    pub rules: Vec<Rule>,
    pub usage: Vec<UsageView>,
    pub audit: Vec<Entry>,
}

impl Scene {
    pub fn new(id: ChatId, result_limit: usize) -> Self {
        Self {
            chat: Chat::unborn(id),
            transcript: Transcript::new(result_limit),
            log: Vec::new(),
            stored: Vec::new(),
            tables: Tables::default(),
            ledger: Ledger::default(),
        }
    }

    /// Folds a log that was stored earlier.
    pub fn load(id: ChatId, result_limit: usize, stored: &[Sealed]) -> Self {
        let mut scene = Self::new(id, result_limit);
        for sealed in stored {
            scene.take(sealed.clone());
        }
        scene
    }

    /// Decides a command, stores its events and folds them. The new events are the last ones of the log.
    pub fn perform(&mut self, rules: Rules<'_>, input: Input) -> Result<usize, Rejection> {
        let at = input.at;
        let before = self.chat.clone();
        let decided = decide(&self.chat, rules, input);
        assert_eq!(before, self.chat, "deciding must change nothing");
        let events = decided?;
        let count = events.len();
        for event in events {
            let recorded = Recorded { seq: self.chat.head + 1, at, event };
            let head = self.stored.last().map(Sealed::head).unwrap_or_default();
            let sealed = seal(head, &recorded).expect("every event can be written");
            assert_eq!(sealed.open().expect("and read"), recorded, "an event must survive storage");
            self.take(sealed);
        }
        invariants::check_scene(self, rules);
        Ok(count)
    }

    fn take(&mut self, sealed: Sealed) {
        let previous: Head = self.stored.last().map(Sealed::head).unwrap_or_default();
        assert_eq!(sealed.hash, sealed.hash_after(previous.hash), "event {}", sealed.seq);
        assert_eq!(sealed.seq, previous.seq + 1);
        let recorded = sealed.open().expect("a stored event can be read");
        assert_eq!(sealed.kind, recorded.event.kind());
        let before = self.chat.clone();
        apply(&mut self.chat, &recorded);
        self.transcript.apply(&recorded);
        for row in view::rows(&before, &self.chat, &recorded) {
            self.tables.take(row);
        }
        self.ledger.observe(&recorded);
        self.log.push(recorded);
        self.stored.push(sealed);
    }

    /// Drops everything in memory and folds the stored log again: nothing may differ.
    pub fn crash(&mut self, rules: Rules<'_>) {
        let limit = self.transcript.result_limit();
        let again = Self::load(self.chat.id.clone(), limit, &self.stored);
        assert_eq!(again.chat, self.chat, "the state after a crash");
        assert_eq!(outstanding(&again.chat), outstanding(&self.chat), "what is owed after a crash");
        let snapshot = self.chat.to_snapshot().expect("a state can be written");
        let read = Chat::from_snapshot(&snapshot).expect("and read");
        assert_eq!(read, self.chat, "a state must survive storage");
        assert_eq!(again.log, self.log);
        assert_eq!(again.tables, self.tables);
        for agent in &rules.world.agents {
            let prompt = |scene: &Self| scene.transcript.prompt(&agent.id, rules).map(|p| p.items);
            assert_eq!(prompt(&again), prompt(self), "what {} sees after a crash", agent.id);
        }
        *self = again;
    }
}

impl Tables {
    fn take(&mut self, row: Row) {
        match row {
            Row::Message(message) => {
                let last = self.messages.last();
                assert!(
                    last.is_none_or(|last| last.position <= message.position),
                    "messages come in order: {message:?}"
                );
                assert!(
                    self.messages.iter().all(|earlier| earlier.id != message.id),
                    "a message is inserted once: {message:?}"
                );
                self.messages.push(message);
            }
            Row::MessagesCut(position) => self.messages.retain(|one| one.position < position),
            Row::Call(call) => {
                self.calls.insert(call.id.clone(), call);
            }
            Row::Approval(approval) => {
                self.approvals.insert(approval.id.clone(), *approval);
            }
            Row::Grant(grant) => {
                assert_eq!(self.grants.insert(grant.id.clone(), grant), None);
            }
            Row::GrantRevoked(grant) => assert!(self.grants.remove(&grant).is_some()),
            Row::Rule(rule) => self.rules.push(rule),
            Row::Usage(usage) => self.usage.push(usage),
            Row::Audit { entry, .. } => self.audit.push(*entry),
            Row::Glance { .. } => {}
        }
    }
}
