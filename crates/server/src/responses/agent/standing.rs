//! Decides whether an agent's turn can go on by itself, and what it waits for if it cannot.
//! Called by `watch` on the fold of the chat's log, after an event. The same state as the engine's own, so that "nothing
//! more happens without the client or a person" means what the engine means by it.

use agent_world_core::chat::{Call, CallState, Chat, Phase, Request, Turn};
use agent_world_core::config::{Location, Source, World};
use agent_world_core::display::mask_secrets;
use agent_world_core::ids::{AgentId, CallId};
use agent_world_core::item::{FunctionCall, Item};
use agent_world_runtime::Engine;
use serde_json::{Map, json};

use super::offer::CLIENT;

/// The server that tools of the program itself are said to be of.
const OWN_LABEL: &str = "agent-world";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// A model, a tool or another client is at it.
    Works,
    /// Only the client or a person can move it.
    Waits,
    /// The agent has no open turn.
    Rests,
}

impl Standing {
    pub fn of(chat: &Chat, agent: &AgentId) -> Self {
        match chat.turn_of(agent) {
            None => Self::Rests,
            Some(turn) => Self::of_turn(chat, turn),
        }
    }

    fn of_turn(chat: &Chat, turn: &Turn) -> Self {
        match &turn.phase {
            Phase::Starting | Phase::CallingModel { .. } => Self::Works,
            Phase::AwaitingHuman { .. } => Self::Waits,
            Phase::RunningTools { calls, .. } => {
                let batch: Vec<&Call> = calls
                    .iter()
                    .filter_map(|id| chat.calls.get(id).map(AsRef::as_ref))
                    .filter(|call| !call.is_settled())
                    .collect();
                // A batch without an open call is about to be followed by something.
                if batch.is_empty() || batch.into_iter().any(|call| moves(chat, call)) {
                    Self::Works
                } else {
                    Self::Waits
                }
            }
        }
    }
}

/// Whether something happens to a call without the client or a person.
fn moves(chat: &Chat, call: &Call) -> bool {
    match (call.state, call.made.location) {
        (CallState::Ended(_), _) => true,
        (CallState::AwaitingApproval, _) => false,
        (CallState::Pending, _) => chat.comes_next(call),
        (CallState::Executing, Location::Server) => !asks(chat, &call.made.call),
        (CallState::Executing, Location::Client) => !is_ours(chat, call),
    }
}

/// Whether a running call waits for what a person says.
fn asks(chat: &Chat, call: &CallId) -> bool {
    chat.approvals.values().any(|request| request.asked.call == *call)
}

/// Whether the clients of this interface execute a call. One whose tool nobody offers any more was theirs.
fn is_ours(chat: &Chat, call: &Call) -> bool {
    let offers = |client: &&String| {
        let tools = chat.client_tools.get(*client).into_iter().flatten();
        tools.into_iter().any(|spec| spec.name == call.made.name)
    };
    chat.client_tools.keys().find(offers).is_none_or(|client| client == CLIENT)
}

/// What the client is to answer before an agent goes on: requests for approval first, then calls of its own tools.
pub(super) fn awaited(engine: &Engine, world: &World, chat: &Chat, agent: &AgentId) -> Vec<Item> {
    let requests = chat.approvals.values().filter(|request| request.agent == *agent);
    let requests = requests.filter_map(|request| {
        let call = chat.calls.get(&request.asked.call)?;
        Some(approval_request(request, call, &label(engine, world, &call.made.name)))
    });
    let calls = chat.calls.values().filter(|call| {
        call.made.agent == *agent
            && call.state == CallState::Executing
            && call.made.location == Location::Client
            && is_ours(chat, call)
    });
    requests.chain(calls.map(|call| function_call(call))).collect()
}

/// A person sees what will run, secrets masked; a running tool's question with the schema of its answer.
fn approval_request(request: &Request, call: &Call, label: &str) -> Item {
    let arguments = match &request.asked.form {
        None => mask_secrets(call.arguments()),
        Some(form) => json!({
            "question": request.asked.question,
            "schema": form.schema,
            "url": form.url,
        }),
    };
    Item::Unknown(json!({
        "type": "mcp_approval_request",
        "id": request.asked.approval,
        "server_label": label,
        "name": call.made.name,
        "arguments": arguments.to_string(),
    }))
}

fn function_call(call: &Call) -> Item {
    let id = call.made.call.to_string();
    Item::FunctionCall(FunctionCall {
        id: Some(id.replacen(CallId::PREFIX, "fc", 1)),
        call_id: id,
        name: call.made.name.clone(),
        // No mask: whoever executes it must know.
        arguments: call.arguments().to_string(),
        extra: Map::new(),
    })
}

fn label(engine: &Engine, world: &World, tool: &str) -> String {
    match engine.tools_of(world).get(tool).map(|spec| &spec.source) {
        Some(Source::McpServer(server)) => server.clone(),
        _ => OWN_LABEL.to_owned(),
    }
}
