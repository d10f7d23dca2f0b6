//! A store in one SQLite file, for one working process and any number of visitors.
//!
//! The worker holds an exclusive lock beside the file, which the kernel releases however the process ends, and
//! performs all effects. Visitors read, and leave inputs such as a decision; they never perform an effect.
//! Opened by `cli` and by tests.

mod append;
mod audit;
mod connection;
mod documents;
mod queries;
mod reader;
mod results;
mod rows;
mod schema;
mod worlds;
mod writer;

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::audit::Statistics;
use agent_world_core::chain::Hash;
use agent_world_core::config::World;
use agent_world_core::ids::{ApprovalId, CallId, ChatId, MessageId, RuleId, WorldId};
use agent_world_core::outstanding::Wake;
use agent_world_core::policy::Grant;
use agent_world_core::view::{ApprovalView, CallView, ChatView, MessageView};
use async_trait::async_trait;

use self::append::{Prepared, SetWake};
use self::documents::{DeleteDocument, DeleteDocuments};
use self::reader::Readers;
use self::results::KeepResult;
use self::worlds::{DeleteWorld, RevokeRule};
use self::writer::Writer;
use crate::Store;
use crate::error::Error;
use crate::types::{
    Append, Appended, ApprovalFilter, AuditFilter, AuditPage, Audited, Changes, Document,
    DocumentWrite, Epoch, Lease, Loaded, MessagePage, NodeId, ResultPiece, Scope, StoredEvent,
    UsageScope, UsageTotal, WorldChange, WorldWrite,
};

pub use self::connection::Options;

/// Longer than anybody takes to look whether a store is worked on.
const LOOK: Duration = Duration::from_millis(20);

/// The schema of the files this program writes.
pub const SCHEMA: u32 = schema::KNOWN;

/// What a process opens the store for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Performs the effects of all chats. One at a time.
    Worker,
    /// Reads, and leaves inputs for the worker.
    Visitor,
}

/// A handle; clones share the file. When the last is dropped, what is queued is written and the file closed.
#[derive(Clone, Debug)]
pub struct Sqlite {
    shared: Arc<Shared>,
}

// Fields are dropped in this order: the lock is held until the writer has written everything.
#[derive(Debug)]
struct Shared {
    writer: Writer,
    readers: Readers,
    work: Option<Work>,
}

/// A worker's right to perform effects.
#[derive(Debug)]
struct Work {
    epoch: Epoch,
    _lock: File,
}

impl Sqlite {
    /// Opens a store, and makes it where there is none.
    pub fn open(path: impl AsRef<Path>, role: Role) -> Result<Self, Error> {
        Self::open_with(path, role, Options::default())
    }

    pub fn open_with(path: impl AsRef<Path>, role: Role, options: Options) -> Result<Self, Error> {
        let path = path.as_ref();
        let lock = match role {
            Role::Worker => Some(lock(path)?),
            Role::Visitor => None,
        };
        let mut connection = connection::writing(path, options)?;
        if schema::found(&connection)? < schema::KNOWN {
            // Tables must not change under a worker of an older program.
            let _only_here = match role {
                Role::Worker => None,
                Role::Visitor => Some(self::lock(path)?),
            };
            schema::migrate(&mut connection)?;
        }
        let work = match lock {
            Some(lock) => {
                Some(Work { epoch: Epoch(schema::next_epoch(&connection)?), _lock: lock })
            }
            None => None,
        };
        let readers = Readers::new(path.to_owned(), options);
        let writer = Writer::start(connection)?;
        Ok(Self { shared: Arc::new(Shared { writer, readers, work }) })
    }

    async fn read<T, Query>(&self, query: Query) -> Result<T, Error>
    where
        T: Send + 'static,
        Query: FnOnce(&rusqlite::Connection) -> Result<T, Error> + Send + 'static,
    {
        self.shared.readers.read(query).await
    }
}

/// Whether a process works on the store now. Another may begin at any moment.
pub fn is_worked_on(path: &Path) -> bool {
    // Shared, and let go of at once: who looks must not keep anybody from working.
    let held = File::open(lock_of(path)).map(|file| file.try_lock_shared());
    matches!(held, Ok(Err(TryLockError::WouldBlock)))
}

/// The id of the process that works on the store, where one does and it said so.
pub fn worker_of(path: &Path) -> Option<u32> {
    let named = std::fs::read_to_string(lock_of(path)).ok()?;
    is_worked_on(path).then(|| named.trim().parse().ok()).flatten()
}

/// Says who holds the lock, for people. What was there is of a process that has ended.
fn sign(mut file: &File) -> std::io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())
}

fn lock_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".lock");
    PathBuf::from(name)
}

/// Takes the exclusive lock of a store's worker.
fn lock(path: &Path) -> Result<File, Error> {
    let name = lock_of(path);
    let unavailable =
        |error| Error::Unavailable(format!("{} cannot be locked: {error}", name.display()));
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&name)
        .map_err(unavailable)?;
    let held = file.try_lock().or_else(|_| {
        // Somebody may only have looked.
        std::thread::sleep(LOOK);
        file.try_lock()
    });
    match held {
        Ok(()) => {
            sign(&file).map_err(unavailable)?;
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => Err(Error::InUse { path: path.display().to_string() }),
        Err(TryLockError::Error(error)) => Err(unavailable(error)),
    }
}

#[async_trait]
impl Store for Sqlite {
    async fn write_world(&self, write: WorldWrite) -> Result<World, Error> {
        self.shared.writer.write(write).await
    }

    async fn world(&self, id: &WorldId) -> Result<Option<World>, Error> {
        let id = id.clone();
        self.read(move |connection| worlds::world(connection, &id)).await
    }

    async fn worlds(&self) -> Result<Vec<World>, Error> {
        self.read(worlds::worlds).await
    }

    async fn delete_world(&self, id: &WorldId, change: WorldChange) -> Result<(), Error> {
        self.shared.writer.write(DeleteWorld { world: id.clone(), change }).await
    }

    async fn revoke_rule(
        &self,
        world: &WorldId,
        rule: &RuleId,
        change: WorldChange,
    ) -> Result<(), Error> {
        let revoke = RevokeRule { world: world.clone(), rule: rule.clone(), change };
        self.shared.writer.write(revoke).await
    }

    async fn append(&self, append: Append) -> Result<Appended, Error> {
        self.shared.writer.write(Prepared::new(append)?).await
    }

    async fn load(&self, chat: &ChatId) -> Result<Option<Loaded>, Error> {
        let chat = chat.clone();
        self.read(move |connection| queries::load(connection, &chat)).await
    }

    async fn events(
        &self,
        scope: &Scope,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, Error> {
        let scope = scope.clone();
        self.read(move |connection| queries::events(connection, &scope, after, limit)).await
    }

    async fn last_events(
        &self,
        scope: &Scope,
        until: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, Error> {
        let scope = scope.clone();
        self.read(move |connection| queries::last_events(connection, &scope, until, limit)).await
    }

    async fn log(
        &self,
        chat: &ChatId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, Error> {
        let chat = chat.clone();
        self.read(move |connection| queries::of_chat(connection, &chat, after, limit)).await
    }

    async fn position(&self) -> Result<u64, Error> {
        self.read(|connection| Ok(append::newest(connection)?)).await
    }

    async fn changes(&self, after: u64) -> Result<Changes, Error> {
        self.read(move |connection| queries::changes(connection, after)).await
    }

    async fn outcome(&self, key: &str) -> Result<Option<String>, Error> {
        let key = key.to_owned();
        self.read(move |connection| Ok(append::outcome(connection, &key)?)).await
    }

    async fn lease(&self, _chat: &ChatId, _node: &NodeId, _now: Timestamp) -> Result<Lease, Error> {
        let work = self.shared.work.as_ref().ok_or(Error::Visitor)?;
        Ok(Lease { epoch: work.epoch, until: None })
    }

    // The worker owns all chats as long as it lives: there is nothing to give back.
    async fn release(&self, _chat: &ChatId, _lease: Lease) -> Result<(), Error> {
        Ok(())
    }

    async fn due(
        &self,
        now: Timestamp,
        after: Option<&ChatId>,
        limit: usize,
    ) -> Result<Vec<ChatId>, Error> {
        let after = after.cloned();
        self.read(move |connection| queries::due(connection, now, after.as_ref(), limit)).await
    }

    async fn set_wake(
        &self,
        chat: &ChatId,
        head: u64,
        world_version: u64,
        wake: Wake,
    ) -> Result<(), Error> {
        let write = SetWake { chat: chat.clone(), head, world_version, wake };
        self.shared.writer.write(write).await
    }

    async fn chat(&self, id: &ChatId) -> Result<Option<ChatView>, Error> {
        let id = id.clone();
        self.read(move |connection| queries::chat(connection, &id)).await
    }

    async fn chats(
        &self,
        world: &WorldId,
        after: Option<&ChatId>,
        limit: usize,
    ) -> Result<Vec<ChatView>, Error> {
        let (world, after) = (world.clone(), after.cloned());
        self.read(move |connection| queries::chats(connection, &world, after.as_ref(), limit)).await
    }

    async fn messages(&self, chat: &ChatId, page: MessagePage) -> Result<Vec<MessageView>, Error> {
        let chat = chat.clone();
        self.read(move |connection| queries::messages(connection, &chat, page)).await
    }

    async fn message(&self, chat: &ChatId, id: &MessageId) -> Result<Option<MessageView>, Error> {
        let (chat, id) = (chat.clone(), id.clone());
        self.read(move |connection| queries::message(connection, &chat, &id)).await
    }

    async fn calls(
        &self,
        chat: &ChatId,
        after: Option<&CallId>,
        limit: usize,
    ) -> Result<Vec<CallView>, Error> {
        let (chat, after) = (chat.clone(), after.cloned());
        self.read(move |connection| queries::calls(connection, &chat, after.as_ref(), limit)).await
    }

    async fn call(&self, chat: &ChatId, id: &CallId) -> Result<Option<CallView>, Error> {
        let (chat, id) = (chat.clone(), id.clone());
        self.read(move |connection| queries::call(connection, &chat, &id)).await
    }

    async fn approvals(
        &self,
        filter: &ApprovalFilter,
        after: Option<&ApprovalId>,
        limit: usize,
    ) -> Result<Vec<ApprovalView>, Error> {
        let (filter, after) = (filter.clone(), after.cloned());
        self.read(move |connection| queries::approvals(connection, &filter, after.as_ref(), limit))
            .await
    }

    async fn approval(&self, id: &ApprovalId) -> Result<Option<ApprovalView>, Error> {
        let id = id.clone();
        self.read(move |connection| queries::approval(connection, &id)).await
    }

    async fn grants(&self, chat: &ChatId) -> Result<Vec<Grant>, Error> {
        let chat = chat.clone();
        self.read(move |connection| queries::grants(connection, &chat)).await
    }

    async fn usage(&self, scope: &UsageScope) -> Result<Vec<UsageTotal>, Error> {
        let scope = scope.clone();
        self.read(move |connection| queries::usage(connection, &scope)).await
    }

    async fn audit(&self, filter: &AuditFilter, page: AuditPage) -> Result<Vec<Audited>, Error> {
        let filter = filter.clone();
        self.read(move |connection| audit::page(connection, &filter, page)).await
    }

    async fn statistics(&self, world: Option<&WorldId>) -> Result<Vec<Statistics>, Error> {
        let world = world.cloned();
        self.read(move |connection| audit::statistics(connection, world.as_ref())).await
    }

    async fn keep_result(&self, world: &WorldId, text: String) -> Result<Hash, Error> {
        self.shared.writer.write(KeepResult::new(world.clone(), text)).await
    }

    async fn result(
        &self,
        world: &WorldId,
        digest: Hash,
        offset: u64,
        limit: u64,
    ) -> Result<Option<ResultPiece>, Error> {
        let world = world.clone();
        self.read(move |connection| results::piece(connection, &world, digest, offset, limit)).await
    }

    async fn write_document(&self, write: DocumentWrite) -> Result<u64, Error> {
        self.shared.writer.write(write).await
    }

    async fn document(&self, kind: &str, key: &str) -> Result<Option<Document>, Error> {
        let (kind, key) = (kind.to_owned(), key.to_owned());
        self.read(move |connection| documents::one(connection, &kind, &key)).await
    }

    async fn documents(
        &self,
        kind: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Document>, Error> {
        let (kind, after) = (kind.to_owned(), after.map(str::to_owned));
        self.read(move |connection| documents::page(connection, &kind, after.as_deref(), limit))
            .await
    }

    async fn delete_document(&self, kind: &str, key: &str) -> Result<bool, Error> {
        let delete = DeleteDocument { kind: kind.to_owned(), key: key.to_owned() };
        self.shared.writer.write(delete).await
    }

    async fn delete_documents(&self, kind: &str, before: Timestamp) -> Result<u64, Error> {
        self.shared.writer.write(DeleteDocuments { kind: kind.to_owned(), before }).await
    }
}
