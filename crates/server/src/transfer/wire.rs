//! Decides what a client sends and is given when a world leaves or comes in.
//! Used by the routes of `transfer`. The document itself is read and written by the runtime, which knows its format; here
//! it is described.

use std::collections::BTreeMap;

use agent_world_runtime::transfer;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportQuery {
    /// `json`: everything, as one document. `folder`: the settings, as files.
    #[serde(default)]
    #[param(inline)]
    pub form: Form,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    #[default]
    Json,
    Folder,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ImportQuery {
    /// Another id for the world; only without chats, since their logs name their world.
    #[serde(default, rename = "as")]
    pub name: Option<String>,
    /// Lets the world's MCP servers start, as the file says. Without it they come switched off: they are programs.
    #[serde(default)]
    pub trust: bool,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct FolderQuery {
    /// Only says what would change.
    #[serde(default)]
    pub dry_run: bool,
    /// Lets MCP servers that are new or changed start, as the files say. Without it they come switched off: they are
    /// programs.
    #[serde(default)]
    pub trust: bool,
}

/// What the files of a folder change.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChangedWorld {
    pub id: String,
    /// Whether anything was written.
    pub changed: bool,
    /// A line for each setting that differs.
    pub changes: Vec<String>,
    /// MCP servers that the files let start, and that stay or come switched off without `trust`.
    pub switched_off: Vec<String>,
    /// The version of the settings now.
    pub version: u64,
}

/// Tells a folder from a whole world.
#[derive(Debug, Deserialize)]
pub(super) struct Probe {
    #[serde(default)]
    pub files: Option<IgnoredAny>,
}

/// A world's settings as files: `world.toml`, `policy.toml` and `agents/ID.md`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Folder {
    /// Texts by the names of their files.
    pub files: BTreeMap<String, String>,
    #[serde(default)]
    pub missing_secrets: Vec<MissingSecret>,
}

/// A value that did not come along.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MissingSecret {
    /// The variable that the settings name in its place.
    pub name: String,
    /// The MCP server that needs it.
    pub server: String,
    /// Where in its settings it stood.
    pub field: String,
}

/// Either form of a world.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what is read by the runtime")]
pub(super) enum WorldForm {
    Folder(Folder),
    Whole(WholeWorld),
}

/// A whole world.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what is read and written by the runtime")]
pub(super) struct WholeWorld {
    /// `agent-world/world`
    format: String,
    /// 1
    version: u32,
    #[schema(format = DateTime)]
    exported_at: String,
    /// The settings, with agents and policy.
    #[schema(value_type = Object)]
    world: Value,
    /// The rules granted with `always` that are in force.
    #[schema(value_type = Vec<Object>)]
    granted: Vec<Value>,
    /// Who took the others back, and when.
    revoked: Vec<Revocation>,
    missing_secrets: Vec<MissingSecret>,
    /// Left out: the settings only, and the world gets a first chat.
    #[schema(required = false)]
    chats: Vec<ChatLog>,
    /// Texts too long for the log, by their digest.
    results: Vec<LongResult>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what is read and written by the runtime")]
pub(super) struct Revocation {
    rule: String,
    by: String,
    #[schema(format = DateTime)]
    at: String,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what is read and written by the runtime")]
pub(super) struct ChatLog {
    id: String,
    events: Vec<SealedEvent>,
}

/// An event as it is stored: each carries the hash of its predecessor.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what is read and written by the runtime")]
pub(super) struct SealedEvent {
    seq: u64,
    #[schema(format = DateTime)]
    at: String,
    kind: String,
    version: u32,
    /// JSON text, byte for byte what the hash covers.
    payload: String,
    hash: String,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what is read and written by the runtime")]
pub(super) struct LongResult {
    /// SHA-256 of the text.
    digest: String,
    text: String,
}

/// What came in.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ImportedWorld {
    pub id: String,
    pub chats: usize,
    pub events: u64,
    /// Rules granted with `always` that are in force in it.
    pub granted_rules: usize,
    /// Chats in which something was under way: it was stopped.
    pub stopped: Vec<String>,
    /// Variables that the settings name and that must be set for its MCP servers to work.
    pub missing_secrets: Vec<MissingSecret>,
    /// Servers that are started when the world is used.
    pub mcp_servers: Vec<String>,
}

impl From<transfer::Imported> for ImportedWorld {
    fn from(imported: transfer::Imported) -> Self {
        let transfer::Imported { world, chats, events, stopped, missing_secrets } = imported;
        let servers = world.mcp_servers.iter().filter(|(_, server)| !server.disabled);
        Self {
            id: world.id.to_string(),
            chats,
            events,
            granted_rules: world.policy.granted.len(),
            stopped: stopped.iter().map(ToString::to_string).collect(),
            missing_secrets: missing_secrets.into_iter().map(Into::into).collect(),
            mcp_servers: servers.map(|(name, _)| name.clone()).collect(),
        }
    }
}

impl From<transfer::MissingSecret> for MissingSecret {
    fn from(missing: transfer::MissingSecret) -> Self {
        let transfer::MissingSecret { name, server, field } = missing;
        Self { name, server, field }
    }
}

impl From<MissingSecret> for transfer::MissingSecret {
    fn from(missing: MissingSecret) -> Self {
        let MissingSecret { name, server, field } = missing;
        Self { name, server, field }
    }
}
