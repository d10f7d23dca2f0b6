//! Worlds as files: a whole world with its logs as one document, and a world's settings as files for people to edit.
//! Called by whoever moves, saves or restores a world. Knows the format and the store, nothing of HTTP or of paths.
//!
//! A document is believed only after every hash chain in it was walked and every log folded; nothing is written before.
//! What it holds never makes anything run: whatever its chats owed is stopped by the import itself.

mod check;
mod differences;
mod document;
mod export;
mod folder;
mod reference;
mod write;

use std::path::Path;

use agent_world_core::Timestamp;
use agent_world_core::config::World;
use agent_world_core::ids::{ApprovalId, ChatId, WorldId};
use agent_world_store as store;
use futures::Stream;

use crate::engine::Engine;
use crate::error::Error;

pub use differences::differences;
pub use document::{ChatLog, Document, FORMAT, LongResult, Revocation, SealedEvent, VERSION};
pub use folder::{Files, read as read_folder, write as write_folder};
pub use reference::{MissingSecret, keep_literals, replace_literals};

/// What happens to keys that stand in the settings of MCP servers as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literals {
    /// For a file that only its owner can read.
    Kept,
    /// A variable is named in their place, and the document says which.
    Replaced,
}

/// What an import led to.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub world: World,
    pub chats: usize,
    pub events: u64,
    /// Chats in which something was under way: it was stopped.
    pub stopped: Vec<ChatId>,
    /// Variables that the settings name and whose values did not come along.
    pub missing_secrets: Vec<MissingSecret>,
}

/// Why a world could not be taken in. Unless it says otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("the file is refused: {0}")]
    Unreadable(String),
    /// The log in the file is not one that was written event by event.
    #[error("the log of chat {chat} is refused at event {event}: {why}")]
    Log { chat: ChatId, event: u64, why: String },
    #[error(
        "chat {0} exists already; an import moves or restores a world and never makes a copy, so remove the other one first"
    )]
    ChatExists(ChatId),
    #[error(
        "approval {0} of the file exists already in another chat; the file cannot be taken into this store"
    )]
    ApprovalExists(ApprovalId),
    #[error(
        "world {world} was taken in only in part, and that part could not be removed ({why}); delete the world and import it again"
    )]
    LeftInPart { world: WorldId, why: String },
    #[error(transparent)]
    Engine(#[from] Error),
}

impl From<store::Error> for ImportError {
    fn from(error: store::Error) -> Self {
        Self::Engine(error.into())
    }
}

impl Engine {
    /// A whole world as one JSON document, in pieces: as it was at one moment, however much is written meanwhile. The
    /// folder that every world of this store gets for its tools is not in it: elsewhere it gets another.
    pub async fn export(
        &self,
        world: &WorldId,
        literals: Literals,
        usual_folder: Option<&Path>,
    ) -> Result<impl Stream<Item = Result<String, Error>> + Send + use<>, Error> {
        let store = self.store().clone();
        let now = self.shared().environment.now();
        let mut outline = export::Outline::read(store.as_ref(), world).await?;
        leave_out(usual_folder, outline.settings_mut());
        Ok(export::pieces(store, outline, literals, now))
    }

    /// Takes a world in, with all its chats or not at all.
    ///
    /// # Errors
    /// Names the chat and the event that cannot be believed, or what is in the way.
    pub async fn import(&self, document: Document, by: &str) -> Result<Imported, ImportError> {
        let environment = &self.shared().environment;
        let importer = check::Importer {
            by: by.to_owned(),
            at: environment.now(),
            entropy: environment.entropy(),
        };
        // Hashing and folding a long log takes its time, and others must not wait for it.
        let checked = tokio::task::spawn_blocking(move || check::check(document, &importer));
        let plan = checked.await.map_err(|error| {
            ImportError::Unreadable(format!("it could not be looked through: {error}"))
        })??;
        write::write(self, plan, by).await
    }

    /// A new world with these settings and its first chat, as one that was never exported.
    pub async fn import_settings(
        &self,
        world: World,
        missing_secrets: Vec<MissingSecret>,
        by: &str,
    ) -> Result<Imported, ImportError> {
        let world = self.create_world(world, by).await?;
        // The first chat of a new world did not come along.
        Ok(Imported { world, chats: 0, events: 0, stopped: Vec::new(), missing_secrets })
    }
}

/// Switches the MCP servers of a world off, and takes back that somebody vouched for them.
pub fn switch_servers_off(world: &mut World) {
    for server in world.mcp_servers.values_mut() {
        server.disabled = true;
        server.trusted = false;
    }
}

/// Switches off the MCP servers of a world that are not those it has at present, and takes back that somebody vouched for
/// them. One that is the same program, or at the same address, stays as far as it is: files can switch it off, and cannot
/// switch it on. Says which would have started.
pub fn switch_strangers_off(world: &mut World, present: &World) -> Vec<String> {
    let mut strangers = Vec::new();
    for (name, server) in &mut world.mcp_servers {
        let wanted_on = !server.disabled;
        let known = present.mcp_servers.get(name);
        let known = known
            .filter(|known| known.transport == server.transport && known.extra == server.extra);
        server.disabled |= known.is_none_or(|known| known.disabled);
        server.trusted &= known.is_some_and(|known| known.trusted);
        if wanted_on && server.disabled {
            strangers.push(name.clone());
        }
    }
    strangers
}

/// Takes the folder that a world has anyway out of its settings.
pub fn leave_out(usual_folder: Option<&Path>, world: &mut World) {
    let folder = world.working_directory.as_deref().map(Path::new);
    if folder.is_some() && folder == usual_folder {
        world.working_directory = None;
    }
}

/// Whether a moment is the same after a store has kept it as nanoseconds.
fn can_be_stored(at: Timestamp) -> bool {
    i64::try_from(at.as_nanosecond()).is_ok()
}
