//! Decides which tools an agent may call that the client executes: the functions of the request.
//! Called by `answer`. They hold for the chat until the next request, which brings its own. Never offers a tool under a
//! name that the world uses, nor one that the agent's settings keep from it.
//!
//! `tool_choice` says which of the functions are offered: `none` for none of them, `allowed_tools` for some. It cannot
//! make an agent call one, and leaves the agent's own tools as they are.

use agent_world_core::config::{Agent, Approval, ToolSpec, World};
use agent_world_runtime::Engine;
use agent_world_runtime::llm::{FunctionTool, Request, Tool, ToolChoice};
use axum::http::StatusCode;

use crate::problem::Problem;

/// Under this name clients of this interface offer tools for a chat.
pub(super) const CLIENT: &str = "responses";
/// A client brings a result with a later request, and nobody knows when that comes. Past this the call has failed.
const PATIENCE_SECONDS: u64 = 24 * 60 * 60;

/// The functions of a request as tools of its client.
pub(super) fn offered(
    engine: &Engine,
    world: &World,
    agent: &Agent,
    request: &Request,
) -> Result<Vec<ToolSpec>, Problem> {
    let known = engine.tools_of(world);
    let mut specs = Vec::new();
    for tool in &request.tools {
        let Tool::Function(function) = tool else {
            return Err(refused(
                "an agent has its own tools; a client can only offer functions that it executes itself",
            ));
        };
        let name = &function.name;
        if known.get(name).is_some() {
            return Err(refused(&format!(
                "`{name}` is a tool of world {}; choose another name",
                world.id
            )));
        }
        if !agent.may_see(name) {
            return Err(refused(&format!(
                "agent {} may not use `{name}`; add it to the agent's tools",
                agent.id
            )));
        }
        if is_chosen(name, request.tool_choice.as_ref()) {
            specs.push(spec(function));
        }
    }
    Ok(specs)
}

fn spec(function: &FunctionTool) -> ToolSpec {
    let parameters = function.described().into_owned();
    ToolSpec {
        // Whoever offers it executes it, and can ask whom it likes before.
        approval: Approval::not_required(),
        timeout_seconds: PATIENCE_SECONDS,
        ..ToolSpec::new(function.name.as_str(), function.description.as_str(), parameters)
    }
}

fn is_chosen(name: &str, choice: Option<&ToolChoice>) -> bool {
    match choice {
        Some(ToolChoice::None) => false,
        Some(ToolChoice::Allowed { names, .. }) => names.iter().any(|allowed| allowed == name),
        _ => true,
    }
}

/// Tools that cannot be offered.
pub(super) fn refused(detail: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "invalid_request", detail).with("param", "tools")
}
