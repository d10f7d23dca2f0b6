//! MCP servers of a world as clients read them, with their health, and what they send to add some.
//! The values of variables and headers are never shown.

use std::collections::BTreeMap;

use agent_world_core::Timestamp;
use agent_world_core::config;
use agent_world_runtime::tools::mcp::{ServerHealth, State};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::Page;
use crate::problem::Problem;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct McpServer {
    #[serde(default)]
    pub name: String,
    /// The program, where it is a child process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The variables it is given: `${NAME}` where one is read from the environment, else `(set)`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Where it is, where it is reached over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// A person vouches for it: what it says about its tools is believed.
    #[serde(default)]
    pub trusted: bool,
    #[serde(default)]
    pub disabled: bool,
    /// How long one call may take.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
    /// How it is; absent where it was never started.
    #[serde(skip_deserializing)]
    pub health: Option<Health>,
    /// What other programs wrote there: kept, not understood.
    #[serde(flatten)]
    #[schema(additional_properties, value_type = Object)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `starting`, `ready`, `failed` or `stopped`.
    pub state: &'static str,
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it is tried again; absent while it waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_attempt: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    /// How many tools it gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
    /// The last thing that went wrong, also when all is well by now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<HealthProblem>,
    /// Where a person is to go, before the server lets us in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorize_at: Option<String>,
    /// Tools that were left out or cut, and why.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct HealthProblem {
    pub error: String,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

impl McpServer {
    pub fn from_settings(
        name: &str,
        server: &config::McpServer,
        health: Option<&ServerHealth>,
    ) -> Result<Self, Problem> {
        let shown = Value::Object(server.shown());
        let shown: Self = serde_json::from_value(shown).map_err(Problem::internal)?;
        Ok(Self { name: name.to_owned(), health: health.map(Health::of), ..shown })
    }
}

impl Health {
    fn of(health: &ServerHealth) -> Self {
        let common = Self {
            since: health.since,
            last_error: health
                .last_error
                .as_ref()
                .map(|last| HealthProblem { error: last.error.clone(), at: last.at }),
            authorize_at: health.authorize_at.clone(),
            notes: health.notes.clone(),
            ..Self::default()
        };
        match &health.state {
            State::Starting => Self { state: "starting", ..common },
            State::Stopped => Self { state: "stopped", ..common },
            State::Failed { error, next_attempt } => Self {
                state: "failed",
                error: Some(error.clone()),
                next_attempt: *next_attempt,
                ..common
            },
            State::Ready(ready) => Self {
                state: "ready",
                protocol_version: Some(ready.protocol_version.clone()),
                server_name: Some(ready.server_name.clone()),
                server_version: Some(ready.server_version.clone()),
                tools: Some(ready.tools),
                ..common
            },
        }
    }
}

/// Whether a server is started. All else about it stays.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpServerSwitch {
    pub disabled: bool,
}

/// One server, or several in the format other programs use. One of the same name is replaced.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpServersInput {
    /// What one server is called.
    pub name: Option<String>,
    /// Several servers by name, each as other programs write it.
    #[serde(rename = "mcpServers")]
    #[schema(value_type = Option<BTreeMap<String, Object>>)]
    pub servers: Option<Map<String, Value>>,
    pub command: Option<String>,
    pub args: Option<Vec<String>>,
    /// Keys are put away and only named in the settings; `(set)` keeps what is there.
    pub env: Option<BTreeMap<String, String>>,
    pub cwd: Option<String>,
    pub url: Option<String>,
    /// As `env`.
    pub headers: Option<BTreeMap<String, String>>,
    pub trusted: Option<bool>,
    pub disabled: Option<bool>,
    pub timeout_seconds: Option<u64>,
    /// `stdio` or `http`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Who we are to an authorization server: `clientId`, `clientSecret`, `scopes`.
    #[schema(value_type = Option<Object>)]
    pub oauth: Option<Map<String, Value>>,
}

impl McpServersInput {
    /// The servers by name, as other programs write them.
    pub fn written(self) -> Result<Map<String, Value>, Problem> {
        let mut one = Map::new();
        for (field, value) in [
            ("command", self.command.map(Value::from)),
            ("args", self.args.map(Value::from)),
            ("env", self.env.map(object)),
            ("cwd", self.cwd.map(Value::from)),
            ("url", self.url.map(Value::from)),
            ("headers", self.headers.map(object)),
            ("trusted", self.trusted.map(Value::from)),
            ("disabled", self.disabled.map(Value::from)),
            ("timeout_seconds", self.timeout_seconds.map(Value::from)),
            ("type", self.kind.map(Value::from)),
            ("oauth", self.oauth.map(Value::from)),
        ] {
            one.extend(value.map(|value| (field.to_owned(), value)));
        }
        let refused = |field: &str, why: &str| {
            Problem::unprocessable("body_invalid", format!("the body is refused: {why}"))
                .with("field", field)
        };
        match (self.name, self.servers) {
            (Some(name), None) => Ok(Map::from_iter([(name, Value::Object(one))])),
            (None, Some(servers)) if one.is_empty() => Ok(servers),
            (None, None) => Err(refused("name", "send `name` with one server, or `mcpServers`")),
            (_, Some(_)) => {
                Err(refused("mcpServers", "send either one server or `mcpServers`, not both"))
            }
        }
    }
}

fn object(values: BTreeMap<String, String>) -> Value {
    values.into_iter().map(|(name, value)| (name, Value::from(value))).collect()
}

/// What was added: one server, or several.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum AddedServers {
    One(Box<McpServer>),
    Several(Page<McpServer>),
}
