//! Decides what a world in a file looks like: one JSON document with the settings, the logs as they were sealed, and the
//! long results they name.
//! Written by `export`, read by whoever imports. What is misspelt is refused; whether a log is true is `check`'s to say.

use agent_world_core::Timestamp;
use agent_world_core::chain::{Hash, Sealed};
use agent_world_core::config::{Agent, World};
use agent_world_core::ids::{AgentId, ChatId, RuleId, WorldId, is_slug};
use agent_world_core::policy::{Policy, Rule};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ImportError;
use super::reference::MissingSecret;

/// What every document says of itself.
pub const FORMAT: &str = "agent-world/world";
/// Counts the meanings the format has had.
pub const VERSION: u32 = 1;

/// A world as a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    pub format: String,
    pub version: u32,
    pub exported_at: Timestamp,
    /// The settings, without what was granted; see [`Document::settings`].
    pub world: Value,
    /// The rules people granted with `always` that are still in force, by id. The logs tell how each came to be.
    #[serde(default)]
    pub granted: Vec<Rule>,
    /// Who took the others back, and when.
    #[serde(default)]
    pub revoked: Vec<Revocation>,
    #[serde(default)]
    pub missing_secrets: Vec<MissingSecret>,
    /// Absent: settings only, and the world gets a first chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chats: Option<Vec<ChatLog>>,
    #[serde(default)]
    pub results: Vec<LongResult>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revocation {
    pub rule: RuleId,
    pub by: String,
    pub at: Timestamp,
}

/// A chat, deleted ones included: what was decided in them still holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatLog {
    pub id: ChatId,
    pub events: Vec<SealedEvent>,
}

/// An event as it is stored and hashed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealedEvent {
    pub seq: u64,
    pub at: Timestamp,
    pub kind: String,
    pub version: u32,
    /// JSON text, byte for byte what the hash covers.
    pub payload: String,
    pub hash: Hash,
}

/// A text that was too long for the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongResult {
    pub digest: Hash,
    pub text: String,
}

impl From<Sealed> for SealedEvent {
    fn from(sealed: Sealed) -> Self {
        let Sealed { seq, at, kind, version, payload, hash } = sealed;
        Self { seq, at, kind, version, payload, hash }
    }
}

impl From<SealedEvent> for Sealed {
    fn from(event: SealedEvent) -> Self {
        let SealedEvent { seq, at, kind, version, payload, hash } = event;
        Self { seq, at, kind, version, payload, hash }
    }
}

impl Document {
    /// A document that was read from somewhere.
    ///
    /// # Errors
    /// Says what is no document of this kind, and where.
    pub fn parse(bytes: &[u8]) -> Result<Self, ImportError> {
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let document: Self = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            ImportError::Unreadable(format!("{}: {}", error.path(), error.inner()))
        })?;
        reader.end().map_err(|error| ImportError::Unreadable(error.to_string()))?;
        document.check_format()?;
        Ok(document)
    }

    /// # Errors
    /// When it is a document of another kind, or newer than this program.
    pub fn check_format(&self) -> Result<(), ImportError> {
        if self.format != FORMAT {
            let why = format!("format: it says `{}`, and a world says `{FORMAT}`", self.format);
            return Err(ImportError::Unreadable(why));
        }
        if self.version != VERSION {
            let why = format!(
                "version: it has {}, and this program knows {VERSION}; update agent-world",
                self.version
            );
            return Err(ImportError::Unreadable(why));
        }
        Ok(())
    }

    /// The world, without granted rules.
    ///
    /// # Errors
    /// Names the setting that is unknown or cannot be read.
    pub fn settings(&self) -> Result<World, ImportError> {
        settings_from(self.world.clone()).map_err(ImportError::Unreadable)
    }

    /// Gives a world without chats another id.
    ///
    /// # Errors
    /// When it has chats: their logs name their world.
    pub fn rename(&mut self, id: &WorldId) -> Result<(), ImportError> {
        if self.has_chats() {
            let why = "its chats belong to its world, so it cannot get another id; leave that out, or take `chats`, \
                       `granted`, `revoked` and `results` out of the file";
            return Err(ImportError::Unreadable(why.to_owned()));
        }
        if let Some(fields) = self.world.as_object_mut() {
            fields.insert("id".to_owned(), Value::from(id.as_str()));
        }
        Ok(())
    }

    pub fn has_chats(&self) -> bool {
        self.chats.as_ref().is_some_and(|chats| !chats.is_empty())
    }

    /// The world's id, as far as it can be one.
    pub fn id(&self) -> Option<WorldId> {
        let id = self.world.get("id")?.as_str()?;
        is_slug(id).then(|| WorldId::new(id))
    }

    /// Switches the world's MCP servers off, and takes back that somebody vouched for them.
    pub fn switch_servers_off(&mut self) {
        let servers = self.world.get_mut("mcp_servers").and_then(Value::as_object_mut);
        for server in servers.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut)
        {
            server.insert("disabled".to_owned(), Value::Bool(true));
            server.shift_remove("trusted");
        }
    }

    /// Where the world's tools work, if it says so.
    pub fn working_directory(&self) -> Option<&str> {
        self.world.get("working_directory")?.as_str()
    }

    pub fn set_working_directory(&mut self, folder: &str) {
        if let Some(fields) = self.world.as_object_mut() {
            fields.insert("working_directory".to_owned(), Value::from(folder));
        }
    }
}

/// What a document says of a world.
pub(super) fn settings_to(world: &World) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(world)?;
    if let Some(fields) = value.as_object_mut() {
        // It counts the writes of one store.
        fields.shift_remove("version");
        if let Some(policy) = fields.get_mut("policy").and_then(Value::as_object_mut) {
            policy.shift_remove("granted");
        }
    }
    Ok(value)
}

/// Settings as a document or somebody's files have them. What nobody understands is refused: it would be a setting that
/// never was.
pub(super) fn settings_from(value: Value) -> Result<World, String> {
    let Value::Object(fields) = &value else {
        return Err("world: it must be an object".to_owned());
    };
    known_fields(
        "world",
        fields,
        &fields_of(World::new(WorldId::new("x"), "x", Timestamp::UNIX_EPOCH))?,
    )?;
    if fields.contains_key("version") {
        return Err("world: it has no field `version`; the store counts its changes".to_owned());
    }
    let agent = fields_of(Agent::new(AgentId::new("x")))?;
    let agents = fields.get("agents").and_then(Value::as_array);
    for (number, one) in agents.into_iter().flatten().enumerate() {
        let place = format!("world.agents[{number}]");
        let Some(fields) = one.as_object() else {
            return Err(format!("{place}: it must be an object"));
        };
        known_fields(&place, fields, &agent)?;
    }
    if let Some(policy) = fields.get("policy") {
        if policy.get("granted").is_some() {
            let why =
                "world.policy: it has no field `granted`; what was granted stands beside the world";
            return Err(why.to_owned());
        }
        Policy::read(policy).map_err(|problems| format!("world.{}", problems.join("; ")))?;
    }
    let world: World = serde_path_to_error::deserialize(value)
        .map_err(|error| format!("world.{}: {}", error.path(), error.inner()))?;
    world.check().map_err(|error| format!("world: {error}"))?;
    Ok(world)
}

/// The names of all settings of a thing.
pub(super) fn fields_of(thing: impl Serialize) -> Result<Map<String, Value>, String> {
    match serde_json::to_value(thing) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("settings that are no object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn known_fields(
    place: &str,
    given: &Map<String, Value>,
    known: &Map<String, Value>,
) -> Result<(), String> {
    match given.keys().find(|name| !known.contains_key(name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<&str> = known.keys().map(String::as_str).collect();
            Err(format!("{place}: it has no field `{name}`; there are {}", known.join(", ")))
        }
    }
}

/// Whether something can be the id of a chat: what this program makes, and nothing that could be taken for a path.
pub(super) fn is_chat_id(id: &ChatId) -> bool {
    id.as_str()
        .strip_prefix(ChatId::PREFIX)
        .and_then(|rest| rest.strip_prefix('_'))
        .is_some_and(is_slug)
}
