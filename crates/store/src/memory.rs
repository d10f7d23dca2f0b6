//! A store in memory: for tests and simulations, and for a world that need not last.
//!
//! Behaves like the others and is deterministic. It can be told to fail, to die and to be started again as another
//! process would be; see `faults`. Never holds its lock over an await.

mod audit;
mod chats;
mod data;
mod documents;
pub mod faults;

use std::sync::{Arc, Mutex, PoisonError};

use agent_world_core::Timestamp;
use agent_world_core::audit::Statistics;
use agent_world_core::chain::Hash;
use agent_world_core::chat::Life;
use agent_world_core::config::World;
use agent_world_core::ids::{ApprovalId, CallId, ChatId, MessageId, RuleId, WorldId};
use agent_world_core::outstanding::Wake;
use agent_world_core::policy::Grant;
use agent_world_core::view::{ApprovalView, CallView, ChatView, MessageView};
use async_trait::async_trait;

use self::data::Data;
use self::faults::{Fault, Faults, Operation, Sabotage};
use crate::Store;
use crate::error::Error;
use crate::types::{
    Append, Appended, ApprovalFilter, AuditFilter, AuditPage, Audited, Changes, Document,
    DocumentWrite, Epoch, Lease, Loaded, MessagePage, NodeId, ResultPiece, Scope, StoredEvent,
    UsageScope, UsageTotal, WorldChange, WorldWrite,
};

/// A handle of one process; clones are handles of the same process.
#[derive(Clone)]
pub struct Memory {
    shared: Arc<Mutex<Shared>>,
    /// The epoch of the process this handle belongs to.
    epoch: u64,
}

struct Shared {
    data: Data,
    /// The present process has died and no other was started.
    dead: bool,
    appends: u64,
    faults: Option<Box<dyn Faults>>,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl Memory {
    pub fn new() -> Self {
        let data = Data::first();
        let shared = Shared { data, dead: false, appends: 0, faults: None };
        Self { shared: Arc::new(Mutex::new(shared)), epoch: 1 }
    }

    /// The process dies here: none of its handles reads or writes anything any more.
    pub fn crash(&self) {
        self.lock().dead = true;
    }

    /// Starts a new process on the same data. Handles of earlier ones are dead, whether they had crashed or not.
    pub fn restart(&self) -> Self {
        let mut shared = self.lock();
        shared.dead = false;
        shared.data.epoch += 1;
        Self { shared: self.shared.clone(), epoch: shared.data.epoch }
    }

    /// How many appends were tried so far, by all processes.
    pub fn appends(&self) -> u64 {
        self.lock().appends
    }

    /// Asks this before every operation from now on, also after a restart.
    pub fn set_faults(&self, faults: impl Faults + 'static) {
        self.lock().faults = Some(Box::new(faults));
    }

    pub fn clear_faults(&self) {
        self.lock().faults = None;
    }

    /// Plants bugs. Only to prove that a simulation notices them.
    pub fn sabotage(&self, sabotage: Sabotage) {
        self.lock().data.sabotage = sabotage;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, name: &'static str, act: impl FnOnce(&Data) -> T) -> Result<T, Error> {
        let mut shared = self.enter()?;
        shared.perform(&Operation::Read(name), |data| Ok(act(data)))
    }

    fn write<T>(
        &self,
        name: &'static str,
        act: impl FnOnce(&mut Data) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.enter()?.perform(&Operation::Write(name), act)
    }

    fn enter(&self) -> Result<std::sync::MutexGuard<'_, Shared>, Error> {
        let shared = self.lock();
        if shared.dead || shared.data.epoch != self.epoch {
            return Err(Error::Unavailable("this process is dead".to_owned()));
        }
        Ok(shared)
    }
}

impl Shared {
    fn perform<T>(
        &mut self,
        operation: &Operation<'_>,
        act: impl FnOnce(&mut Data) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let fault = self.faults.as_mut().map(|faults| faults.before(operation)).unwrap_or_default();
        let failed = Err(Error::Unavailable(format!("made to fail: {fault:?}")));
        match fault {
            Fault::Proceed => act(&mut self.data),
            Fault::FailBefore => failed,
            Fault::FailAfter => act(&mut self.data).and(failed),
            Fault::DieBefore => {
                self.dead = true;
                failed
            }
            Fault::DieAfter => {
                // Whatever the answer was, nobody lives to hear it.
                drop(act(&mut self.data));
                self.dead = true;
                failed
            }
        }
    }
}

#[async_trait]
impl Store for Memory {
    async fn write_world(&self, write: WorldWrite) -> Result<World, Error> {
        self.write("write_world", |data| data.write_world(&write))
    }

    async fn world(&self, id: &WorldId) -> Result<Option<World>, Error> {
        self.read("world", |data| data.world(id))
    }

    async fn worlds(&self) -> Result<Vec<World>, Error> {
        self.read("worlds", Data::worlds)
    }

    async fn delete_world(&self, id: &WorldId, change: WorldChange) -> Result<(), Error> {
        self.write("delete_world", |data| data.delete_world(id, &change))
    }

    async fn revoke_rule(
        &self,
        world: &WorldId,
        rule: &RuleId,
        change: WorldChange,
    ) -> Result<(), Error> {
        self.write("revoke_rule", |data| data.revoke_rule(world, rule, &change))
    }

    async fn append(&self, append: Append) -> Result<Appended, Error> {
        let mut shared = self.enter()?;
        shared.appends += 1;
        let operation = Operation::Append { number: shared.appends, append: &append };
        shared.perform(&operation, |data| data.append(&append))
    }

    async fn load(&self, chat: &ChatId) -> Result<Option<Loaded>, Error> {
        self.read("load", |data| data.load(chat))
    }

    async fn events(
        &self,
        scope: &Scope,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, Error> {
        self.read("events", |data| data.events(scope, after, limit))
    }

    async fn last_events(
        &self,
        scope: &Scope,
        until: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, Error> {
        self.read("last_events", |data| data.last_events(scope, until, limit))
    }

    async fn log(
        &self,
        chat: &ChatId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, Error> {
        self.read("log", |data| data.log(chat, after, limit))
    }

    async fn position(&self) -> Result<u64, Error> {
        self.read("position", Data::position)
    }

    async fn changes(&self, after: u64) -> Result<Changes, Error> {
        self.read("changes", |data| data.changes(after))
    }

    async fn outcome(&self, key: &str) -> Result<Option<String>, Error> {
        self.read("outcome", |data| data.outcomes.get(key).cloned())
    }

    async fn lease(&self, _chat: &ChatId, _node: &NodeId, _now: Timestamp) -> Result<Lease, Error> {
        self.read("lease", |data| Lease { epoch: Epoch(data.epoch), until: None })
    }

    // A process owns all chats as long as it lives: there is nothing to give back.
    async fn release(&self, _chat: &ChatId, _lease: Lease) -> Result<(), Error> {
        self.write("release", |_| Ok(()))
    }

    async fn due(
        &self,
        now: Timestamp,
        after: Option<&ChatId>,
        limit: usize,
    ) -> Result<Vec<ChatId>, Error> {
        self.read("due", |data| data.due(now, after, limit))
    }

    async fn set_wake(
        &self,
        chat: &ChatId,
        head: u64,
        world_version: u64,
        wake: Wake,
    ) -> Result<(), Error> {
        self.write("set_wake", |data| data.set_wake(chat, head, world_version, wake))
    }

    async fn chat(&self, id: &ChatId) -> Result<Option<ChatView>, Error> {
        self.read("chat", |data| {
            let chat = data.chats.get(id).filter(|chat| chat.life == Life::Living);
            chat.map(|chat| chat.view.clone())
        })
    }

    async fn chats(
        &self,
        world: &WorldId,
        after: Option<&ChatId>,
        limit: usize,
    ) -> Result<Vec<ChatView>, Error> {
        self.read("chats", |data| data.chats_of(world, after, limit))
    }

    async fn messages(&self, chat: &ChatId, page: MessagePage) -> Result<Vec<MessageView>, Error> {
        self.read("messages", |data| {
            data.chats.get(chat).map(|chat| chat.page(page)).unwrap_or_default()
        })
    }

    async fn message(&self, chat: &ChatId, id: &MessageId) -> Result<Option<MessageView>, Error> {
        self.read("message", |data| {
            data.chats.get(chat)?.messages.values().find(|message| message.id == *id).cloned()
        })
    }

    async fn calls(
        &self,
        chat: &ChatId,
        after: Option<&CallId>,
        limit: usize,
    ) -> Result<Vec<CallView>, Error> {
        self.read("calls", |data| {
            data.chats.get(chat).map(|chat| chat.calls_after(after, limit)).unwrap_or_default()
        })
    }

    async fn call(&self, chat: &ChatId, id: &CallId) -> Result<Option<CallView>, Error> {
        self.read("call", |data| {
            data.chats.get(chat)?.calls.iter().find(|call| call.id == *id).cloned()
        })
    }

    async fn approvals(
        &self,
        filter: &ApprovalFilter,
        after: Option<&ApprovalId>,
        limit: usize,
    ) -> Result<Vec<ApprovalView>, Error> {
        self.read("approvals", |data| data.approvals(filter, after, limit))
    }

    async fn approval(&self, id: &ApprovalId) -> Result<Option<ApprovalView>, Error> {
        self.read("approval", |data| data.approval(id))
    }

    async fn grants(&self, chat: &ChatId) -> Result<Vec<Grant>, Error> {
        self.read("grants", |data| {
            data.chats.get(chat).map(|chat| chat.grants.clone()).unwrap_or_default()
        })
    }

    async fn usage(&self, scope: &UsageScope) -> Result<Vec<UsageTotal>, Error> {
        self.read("usage", |data| match scope {
            UsageScope::World(world) => {
                let chats = data.chats.values().filter(|chat| chat.world == *world);
                chats::totals(chats.flat_map(|chat| &chat.usage))
            }
            UsageScope::Chat(chat) => {
                chats::totals(data.chats.get(chat).into_iter().flat_map(|chat| &chat.usage))
            }
            UsageScope::Turn(chat, turn) => {
                let used = data.chats.get(chat).into_iter().flat_map(|chat| &chat.usage);
                chats::totals(used.filter(|((of, _), _)| of.as_ref() == Some(turn)))
            }
        })
    }

    async fn audit(&self, filter: &AuditFilter, page: AuditPage) -> Result<Vec<Audited>, Error> {
        self.read("audit", |data| data.audit.page(filter, page))
    }

    async fn statistics(&self, world: Option<&WorldId>) -> Result<Vec<Statistics>, Error> {
        self.read("statistics", |data| data.audit.statistics(world))
    }

    async fn keep_result(&self, world: &WorldId, text: String) -> Result<Hash, Error> {
        self.write("keep_result", |data| data.keep_result(world, text))
    }

    async fn result(
        &self,
        world: &WorldId,
        digest: Hash,
        offset: u64,
        limit: u64,
    ) -> Result<Option<ResultPiece>, Error> {
        self.read("result", |data| data.result(world, digest, offset, limit))
    }

    async fn write_document(&self, write: DocumentWrite) -> Result<u64, Error> {
        self.write("write_document", |data| data.documents.write(write))
    }

    async fn document(&self, kind: &str, key: &str) -> Result<Option<Document>, Error> {
        self.read("document", |data| data.documents.one(kind, key))
    }

    async fn documents(
        &self,
        kind: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Document>, Error> {
        self.read("documents", |data| data.documents.page(kind, after, limit))
    }

    async fn delete_document(&self, kind: &str, key: &str) -> Result<bool, Error> {
        self.write("delete_document", |data| Ok(data.documents.delete(kind, key)))
    }

    async fn delete_documents(&self, kind: &str, before: Timestamp) -> Result<u64, Error> {
        self.write("delete_documents", |data| Ok(data.documents.delete_before(kind, before)))
    }
}
