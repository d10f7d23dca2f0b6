//! Worlds through the engine: their settings, and the rules people granted.
//! Part of the embedder's API. Every write states the version it was made on.

use std::sync::Arc;

use agent_world_core::command::Command;
use agent_world_core::config::World;
use agent_world_core::ids::{RuleId, WorldId};
use agent_world_core::view::ChatView;
use agent_world_store::{self as store, WorldChange, WorldWrite};

use super::{Engine, PAGE};
use crate::error::Error;

/// What of a world was changed, for whoever follows along or audits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldPart<'a> {
    /// `world`, `agent`, `policy`, `mcp_server`.
    pub entity: &'a str,
    /// `created`, `updated`, `deleted`.
    pub action: &'a str,
    pub id: &'a str,
}

impl Engine {
    /// Creates a world with its first chat.
    pub async fn create_world(&self, world: World, by: &str) -> Result<World, Error> {
        let id = world.id.clone();
        let change = self.change("world", "created", id.as_str(), by);
        let world = match self.write_world(WorldWrite { world, expected: None, change }).await {
            Err(Error::Store(store::Error::WorldConflict { .. })) => {
                return Err(Error::WorldExists(id));
            }
            written => written?,
        };
        self.create_chat(&id, None, by).await?;
        Ok(world)
    }

    /// Replaces a world's settings if its version is still the one given.
    pub async fn update_world(&self, world: World, by: &str) -> Result<World, Error> {
        let id = world.id.clone();
        self.update_part(
            world,
            WorldPart { entity: "world", action: "updated", id: id.as_str() },
            by,
        )
        .await
    }

    /// The same, told as a change of one part of the world: an agent, the policy.
    pub async fn update_part(
        &self,
        mut world: World,
        part: WorldPart<'_>,
        by: &str,
    ) -> Result<World, Error> {
        world.updated_at = self.shared.environment.now();
        let expected = Some(world.version);
        let change = self.change(part.entity, part.action, part.id, by);
        self.write_world(WorldWrite { world, expected, change }).await
    }

    async fn write_world(&self, write: WorldWrite) -> Result<World, Error> {
        write.world.check()?;
        let before = match write.expected {
            Some(_) => self.shared.store.world(&write.world.id).await?,
            None => None,
        };
        write.world.check_bounds(before.as_ref())?;
        let id = write.world.id.clone();
        let written = self.shared.store.write_world(write).await;
        self.shared.worlds.forget(&id);
        self.tell_stored().await?;
        Ok(written?)
    }

    pub async fn delete_world(&self, id: &WorldId, by: &str) -> Result<(), Error> {
        for chat in self.all_chats(id).await? {
            self.input(&chat.id, Command::DeleteChat { by: by.to_owned() }, None).await?;
        }
        let change = self.change("world", "deleted", id.as_str(), by);
        self.shared.store.delete_world(id, change).await?;
        self.shared.worlds.forget(id);
        self.shared.toolbox.forget(id);
        self.tell_stored().await
    }

    /// Takes back a rule that somebody granted with `always`.
    pub async fn revoke_rule(&self, world: &WorldId, rule: &RuleId, by: &str) -> Result<(), Error> {
        let change = self.change("rule", "deleted", rule.as_str(), by);
        self.shared.store.revoke_rule(world, rule, change).await?;
        self.shared.worlds.forget(world);
        self.tell_stored().await
    }

    pub async fn world(&self, id: &WorldId) -> Result<Arc<World>, Error> {
        self.shared.worlds.get(self.shared.store.as_ref(), id).await
    }

    async fn all_chats(&self, world: &WorldId) -> Result<Vec<ChatView>, Error> {
        let mut all: Vec<ChatView> = Vec::new();
        loop {
            let after = all.last().map(|chat| chat.id.clone());
            let page = self.shared.store.chats(world, after.as_ref(), PAGE).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    pub(crate) fn change(&self, entity: &str, action: &str, id: &str, by: &str) -> WorldChange {
        WorldChange {
            entity: entity.to_owned(),
            action: action.to_owned(),
            id: id.to_owned(),
            by: by.to_owned(),
            at: self.shared.environment.now(),
            settings: None,
        }
    }

    pub(crate) async fn tell_stored(&self) -> Result<(), Error> {
        self.shared.feed.stored(self.shared.store.position().await?);
        Ok(())
    }
}
