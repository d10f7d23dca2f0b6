//! What scenes are made of: agents, tools that say what they did, replies, and what a model was shown.
//! Used by every scene.

use std::sync::Arc;

use agent_world_core::command::{Answer as Decision, Scope as Reach};
use agent_world_core::config::{Agent, Approval, Modes, ToolSpec};
use agent_world_core::event::Output;
use agent_world_core::ids::AgentId;
use agent_world_core::item::Item;
use agent_world_llm::Request;
use agent_world_llm::scripted::Answer;
use agent_world_tools::Invocation;
use agent_world_tools::scripted::Scripted;
use serde_json::json;
use tokio::sync::Semaphore;

pub fn approval_of(scope: Reach) -> Decision {
    Decision::Approve { scope, matches: Vec::new(), arguments: None, reason: None }
}

pub fn agent(name: &str) -> Agent {
    Agent { model: Some(format!("scripted/{name}")), ..Agent::new(name) }
}

pub fn agent_id(name: &str) -> AgentId {
    AgentId::new(name)
}

pub fn gate() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

/// A tool that takes `what` and asks before it does it.
pub fn spec(name: &str) -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {"what": {"type": "string"}},
        "required": ["what"],
    });
    ToolSpec::new(name, "Does something.", parameters)
}

/// A tool that need not ask.
pub fn free(name: &str) -> ToolSpec {
    ToolSpec { approval: Approval::not_required(), ..spec(name) }
}

/// A tool that need not ask and runs in the background.
pub fn in_background(name: &str) -> ToolSpec {
    ToolSpec { mode: Modes::Background, ..free(name) }
}

/// Says what it has done.
pub fn doing(spec: ToolSpec) -> Scripted {
    Scripted::new(spec, |invocation| async move {
        let what = invocation.arguments["what"].as_str().unwrap().to_owned();
        Ok(Output::text(format!("did {what}")))
    })
}

/// What a tool was told to do, in the order of its starts.
pub fn done(tool: &Scripted) -> Vec<String> {
    let what = |invocation: Invocation| invocation.arguments["what"].as_str().unwrap().to_owned();
    tool.invocations().into_iter().map(what).collect()
}

/// A reply that makes one call.
pub fn call(tool: &str, what: &str) -> Answer {
    Answer::call(tool, json!({"what": what}))
}

/// A reply that makes several calls of one tool at once.
pub fn calls(tool: &str, what: &[&str]) -> Answer {
    Answer::calls(what.iter().map(|what| (tool, json!({"what": what}))))
}

/// The names of the tools that a model was offered.
pub fn offered(request: &Request) -> Vec<String> {
    let names = request.tools.iter().filter_map(|tool| match tool {
        agent_world_llm::Tool::Function(function) => Some(function.name.clone()),
        agent_world_llm::Tool::Unknown(_) => None,
    });
    names.collect()
}

/// What a model was given, a line for each item.
pub fn shown(request: &Request) -> Vec<String> {
    let line = |item: &Arc<Item>| match &**item {
        Item::Message(message) => format!("{:?}: {}", message.role, message.text()),
        Item::FunctionCall(call) => format!("{}({})", call.name, call.arguments),
        Item::FunctionCallOutput(output) => format!("= {}", output.output.as_str().unwrap()),
        other => format!("{other:?}"),
    };
    request.input.iter().map(line).collect()
}
