//! What is said about servers to people: the API, `doctor`, a settings page.
//! Made by `supervisor`, read through `Servers::health`. Never holds a secret.

use agent_world_core::Timestamp;
use serde::Serialize;

/// How one server of a world is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerHealth {
    pub name: String,
    #[serde(flatten)]
    pub state: State,
    /// When this state began.
    pub since: Timestamp,
    /// The last thing that went wrong, also when all is well by now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Problem>,
    /// Where a person is to go, before the server lets us in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorize_at: Option<String>,
    /// Tools that were left out or cut, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    Starting,
    Ready(Ready),
    Failed {
        error: String,
        /// None while it waits for a person.
        #[serde(skip_serializing_if = "Option::is_none")]
        next_attempt: Option<Timestamp>,
    },
    /// Switched off, or ended.
    Stopped,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ready {
    pub protocol_version: String,
    pub server_name: String,
    pub server_version: String,
    pub tools: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    pub error: String,
    pub at: Timestamp,
}
