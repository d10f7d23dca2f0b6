//! Tools that a client offers to execute for a chat.

use agent_world_core::config::{Approval, Modes, ToolSpec};
use agent_world_core::event::Choice;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// All that a client executes for a chat, in place of what it offered before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientTools {
    /// Empty: the client takes its tools back.
    pub tools: Vec<ClientTool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientTool {
    /// Letters, digits, `_` and `-`; not the name of a tool that the world or another client has.
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments object.
    #[schema(value_type = Object)]
    pub parameters: Map<String, Value>,
    /// What is asked of people before it runs; asked for unless said otherwise.
    #[serde(default)]
    pub approval: ClientApproval,
    /// Whether the model waits for the result; otherwise it gets it when it comes.
    #[serde(default = "default_blocking")]
    pub blocking: bool,
    /// A call without a result fails after this time.
    #[serde(default = "default_timeout")]
    #[schema(minimum = 1, maximum = 604800)]
    pub timeout_seconds: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientApproval {
    pub required: bool,
    /// Shown to the person; `{name}` is filled from the arguments.
    #[serde(default)]
    pub message: Option<String>,
    /// The choices left to the person, of `deny`, `approve_once`, `approve_session`, `approve_always`; absent for all.
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>)]
    pub options: Option<Vec<Choice>>,
}

impl Default for ClientApproval {
    fn default() -> Self {
        Self { required: true, message: None, options: None }
    }
}

impl ClientTool {
    pub fn spec(&self) -> ToolSpec {
        let ClientApproval { required, message, options } = self.approval.clone();
        let parameters = Value::Object(self.parameters.clone());
        ToolSpec {
            approval: Approval { required, message, options },
            mode: if self.blocking { Modes::Blocking } else { Modes::Background },
            timeout_seconds: self.timeout_seconds,
            ..ToolSpec::new(&self.name, &self.description, parameters)
        }
    }
}

fn default_blocking() -> bool {
    true
}

/// A person may be the tool: this is longer than for tools of the program.
fn default_timeout() -> u64 {
    600
}
