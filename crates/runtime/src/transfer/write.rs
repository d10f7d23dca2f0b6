//! Carries out the plan of an import: a world nobody can do anything in, then its texts and its chats, and last of all its
//! settings, with which it becomes itself.
//! Called by `Engine::import` with what `check` found true. On a failure in the middle all of it is removed again; if the
//! process ends instead, what is left is a world without agents that says of itself what to do: delete it.
//!
//! At no moment does a chat owe anything: a log is written in groups that end only where nothing is under way, each in
//! one transaction, and none of them makes a chat due. So neither recovery nor somebody who finds a chat early can start
//! what the file says was about to be started.

use agent_world_core::apply::apply;
use agent_world_core::chain::{Head, Sealed};
use agent_world_core::chat::Chat;
use agent_world_core::config::World;
use agent_world_core::ids::WorldId;
use agent_world_core::outstanding::Wake;
use agent_world_core::policy::Preset;
use agent_world_core::view::{self, Row};
use agent_world_store::{self as store, Append, Snapshot, WorldChange, WorldWrite};

use super::check::{Log, Plan, is_quiet};
use super::{ImportError, Imported};
use crate::engine::Engine;
use crate::error::Error;

/// Events after which a group ends, as soon as nothing is under way.
const GROUP: usize = 256;

pub(super) async fn write(engine: &Engine, plan: Plan, by: &str) -> Result<Imported, ImportError> {
    let Some(chats) = plan.chats else {
        return engine.import_settings(plan.world, plan.missing_secrets, by).await;
    };
    let id = plan.world.id.clone();
    if engine.store().world(&id).await?.is_some() {
        return Err(Error::WorldExists(id).into());
    }
    check_free(engine, &chats).await?;
    let version = begin(engine, &plan.world, by).await?;
    let (events, stopped) = (count(&chats), stopped(&chats));
    let number = chats.len();
    let mut writing = Writing { engine, world: id.clone(), version };
    let contents = Contents { chats, results: plan.results, revoked: plan.revoked };
    let written = match writing.contents(contents).await {
        Ok(()) => writing.finish(plan.world, by).await,
        Err(error) => Err(error),
    };
    engine.shared().worlds.forget(&id);
    match written {
        Ok(world) => {
            engine.tell_stored().await?;
            let missing_secrets = plan.missing_secrets;
            Ok(Imported { world, chats: number, events, stopped, missing_secrets })
        }
        Err(error) => Err(remove(engine, &id, by, error).await),
    }
}

/// Ids are unique in a store: a chat that is there already is the same chat, or an older state of it.
async fn check_free(engine: &Engine, chats: &[Log]) -> Result<(), ImportError> {
    let store = engine.store();
    for log in chats {
        if store.load(&log.chat).await?.is_some() {
            return Err(ImportError::ChatExists(log.chat.clone()));
        }
        for approval in &log.approvals {
            if store.approval(approval).await?.is_some() {
                return Err(ImportError::ApprovalExists(approval.clone()));
            }
        }
    }
    Ok(())
}

/// Makes the world without agents, servers or permissions. Returns its version.
async fn begin(engine: &Engine, world: &World, by: &str) -> Result<u64, ImportError> {
    let mut shell = World::new(
        world.id.clone(),
        format!("{} (import under way)", world.name),
        world.created_at,
    );
    shell.description =
        "This world is being imported. If no import is under way any more, it did not finish: \
                         delete the world and import it again."
            .to_owned();
    shell.policy.preset = Preset::ReadOnly;
    let change = engine.change("world", "created", world.id.as_str(), by);
    let write = WorldWrite { world: shell, expected: None, change };
    match engine.store().write_world(write).await {
        Err(store::Error::WorldConflict { .. }) => Err(Error::WorldExists(world.id.clone()).into()),
        written => Ok(written?.version),
    }
}

/// Takes everything back, and says why.
async fn remove(engine: &Engine, world: &WorldId, by: &str, error: ImportError) -> ImportError {
    let change = engine.change("world", "deleted", world.as_str(), by);
    let removed = engine.store().delete_world(world, change).await;
    engine.shared().worlds.forget(world);
    engine.shared().toolbox.forget(world);
    let told = engine.tell_stored().await;
    match (removed, told) {
        (Ok(()), told) => {
            if let Err(error) = told {
                tracing::warn!(%error, "followers learn a little later of a world that was removed");
            }
            error
        }
        (Err(second), _) => {
            let why = format!("{error}; then {second}");
            ImportError::LeftInPart { world: world.clone(), why }
        }
    }
}

fn count(chats: &[Log]) -> u64 {
    chats.iter().map(|log| u64::try_from(log.events.len()).unwrap_or(u64::MAX)).sum()
}

fn stopped(chats: &[Log]) -> Vec<agent_world_core::ids::ChatId> {
    chats.iter().filter(|log| log.was_stopped).map(|log| log.chat.clone()).collect()
}

struct Contents {
    chats: Vec<Log>,
    results: Vec<String>,
    revoked: Vec<super::Revocation>,
}

struct Writing<'a> {
    engine: &'a Engine,
    world: WorldId,
    /// Of the world's settings: a rule that a chat grants makes the next one.
    version: u64,
}

impl Writing<'_> {
    async fn contents(&mut self, contents: Contents) -> Result<(), ImportError> {
        // A text is there before the event that names it.
        for text in contents.results {
            self.engine.store().keep_result(&self.world, text).await?;
        }
        for log in contents.chats {
            self.log(log).await?;
        }
        for revocation in contents.revoked {
            let change = WorldChange {
                entity: "rule".to_owned(),
                action: "deleted".to_owned(),
                id: revocation.rule.to_string(),
                by: revocation.by,
                at: revocation.at,
                settings: None,
            };
            self.engine.store().revoke_rule(&self.world, &revocation.rule, change).await?;
            self.version += 1;
        }
        Ok(())
    }

    async fn log(&mut self, log: Log) -> Result<(), ImportError> {
        let mut group = Group::new(Chat::unborn(log.chat));
        let last = log.events.last().map_or(0, |last| last.seq);
        for sealed in log.events {
            let is_last = sealed.seq == last;
            group.take(sealed)?;
            if is_last || group.events.len() >= GROUP && is_quiet(&group.chat) {
                self.append(&mut group, is_last).await?;
                // The next group must not keep a long one's thread busy.
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    async fn append(&mut self, group: &mut Group, is_last: bool) -> Result<(), ImportError> {
        let chat = &group.chat;
        let snapshot = match is_last {
            true => {
                let state = chat.to_snapshot().map_err(store::Error::from)?;
                Some(Snapshot { seq: chat.head, state })
            }
            false => None,
        };
        let rows = std::mem::take(&mut group.rows);
        let granted = rows.iter().filter(|row| matches!(row, Row::Rule(_))).count();
        let events = std::mem::take(&mut group.events);
        let head = events.last().map_or(group.written, Sealed::head);
        let updated_at = events.last().map_or(chat.created_at, |last| last.at);
        let append = Append {
            chat: chat.id.clone(),
            world: self.world.clone(),
            world_version: self.version,
            expected: group.written,
            fence: None,
            events,
            rows,
            view: view::chat_view(chat, updated_at),
            life: chat.life,
            // Not even a title is asked for by itself.
            wake: Wake::Never,
            snapshot,
            idempotency: None,
        };
        let appended = self.engine.store().append(append).await;
        match appended {
            // Somebody was faster with the same chat, between our look and this.
            Err(store::Error::Misplaced { chat, .. } | store::Error::Conflict { chat, .. }) => {
                return Err(ImportError::ChatExists(chat));
            }
            appended => appended?,
        };
        group.written = head;
        self.version += u64::try_from(granted).unwrap_or_default();
        Ok(())
    }

    /// Gives the world its own settings: from here on it is as it was.
    async fn finish(&self, world: World, by: &str) -> Result<World, ImportError> {
        let change = self.engine.change("world", "updated", world.id.as_str(), by);
        let write = WorldWrite { world, expected: Some(self.version), change };
        Ok(self.engine.store().write_world(write).await?)
    }
}

/// Events that are written together.
struct Group {
    chat: Chat,
    /// Where the log that is written ends.
    written: Head,
    events: Vec<Sealed>,
    rows: Vec<Row>,
}

impl Group {
    fn new(chat: Chat) -> Self {
        Self { chat, written: Head::default(), events: Vec::new(), rows: Vec::new() }
    }

    fn take(&mut self, sealed: Sealed) -> Result<(), ImportError> {
        let recorded = sealed.open().map_err(store::Error::from)?;
        let before = self.chat.clone();
        apply(&mut self.chat, &recorded);
        self.rows.extend(view::rows(&before, &self.chat, &recorded));
        self.events.push(sealed);
        Ok(())
    }
}
