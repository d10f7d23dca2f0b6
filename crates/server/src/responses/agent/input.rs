//! Decides what a request says to an agent: a message, decisions, results of the client's tools, and what came before.
//! Called by `answer` before anything happens. Looks nothing up and refuses only what cannot be meant.
//!
//! Everything new that the user says is one message. What an agent was set up with stays: `instructions` and messages of
//! the system or developer are told with the message, marked as the calling program's words.

use std::sync::Arc;

use agent_world_core::command::{Answer, Scope};
use agent_world_core::ids::{ApprovalId, CallId};
use agent_world_core::item::{FunctionCallOutput, Item, MessageItem, Part, Role};
use agent_world_runtime::llm::Request;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::problem::Problem;

/// Stands before what the calling program adds to the user's words.
const ADDED: &str = "[The calling program adds to this message:]";
/// What an agent is told when a client brings a conversation that ends with the results of its own tools.
const GO_ON: &str = "[The results above are complete. Go on.]";

/// Whose memory of the conversation counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// A new chat: all that came before is in the input.
    Clients,
    /// A chat goes on, and the input is new.
    Ours,
    /// A chat goes on, and the input repeats what came before.
    Both,
}

/// What a request says.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The conversation so far, where only the client has it.
    pub history: Vec<Item>,
    pub text: String,
    /// Images and files beside the text.
    pub parts: Vec<Part>,
    pub decisions: Vec<Decision>,
    pub results: Vec<(CallId, String)>,
}

/// An answer to a request for approval.
#[derive(Debug)]
pub(super) struct Decision {
    pub approval: ApprovalId,
    pub answer: Answer,
    pub told: Telling,
}

/// Whether a client says something for the first time, as far as it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Telling {
    New,
    /// A model has answered since.
    Again,
}

/// The item of the format, with one field of ours.
#[derive(Deserialize)]
struct ApprovalResponse {
    approval_request_id: String,
    approve: bool,
    #[serde(default)]
    reason: Option<String>,
    /// In place of the model's, or what a running tool asked for.
    #[serde(default)]
    arguments: Option<Value>,
}

impl Said {
    pub fn read(request: &Request, memory: Memory) -> Result<Self, Problem> {
        let mut said = Self::default();
        let mut reader = Reader { texts: Vec::new(), added: Vec::new() };
        reader.add(&request.instructions);
        let new = match memory {
            Memory::Ours => 0,
            Memory::Clients | Memory::Both => first_new(&request.input),
        };
        for (index, item) in request.input.iter().enumerate() {
            if index < new {
                said.read_earlier(item, memory, &mut reader)?;
            } else {
                said.read_new(item, memory, &mut reader)?;
            }
        }
        // Decisions and results go to calls; what the program adds has no message to go with then.
        let decides = said.decisions.iter().any(|decision| decision.told == Telling::New);
        let answers = decides || !said.results.is_empty();
        if !(answers && reader.texts.is_empty() && said.parts.is_empty()) {
            said.text = reader.text();
        }
        if memory == Memory::Clients && reader.texts.is_empty() && said.ends_with_results() {
            said.text = [GO_ON, &said.text].join("\n\n").trim_end().to_owned();
        }
        if said.is_empty() {
            return Err(refused("the input says nothing; send a message of the user"));
        }
        Ok(said)
    }

    /// Whether there is something to post.
    pub fn speaks(&self) -> bool {
        !(self.text.is_empty() && self.parts.is_empty())
    }

    fn is_empty(&self) -> bool {
        !self.speaks() && self.decisions.is_empty() && self.results.is_empty()
    }

    fn ends_with_results(&self) -> bool {
        matches!(self.history.last(), Some(Item::FunctionCallOutput(_)))
    }

    /// What a client repeats is known already, unless only the client has it.
    fn read_earlier(
        &mut self,
        item: &Item,
        memory: Memory,
        reader: &mut Reader,
    ) -> Result<(), Problem> {
        match item {
            Item::Unknown(value) => self.read_decision(value, Telling::Again)?,
            _ if memory != Memory::Clients => {}
            Item::Message(message) if is_the_programs(message.role) => {
                reader.add(&message.text());
            }
            item => self.history.push(item.clone()),
        }
        Ok(())
    }

    fn read_new(
        &mut self,
        item: &Item,
        memory: Memory,
        reader: &mut Reader,
    ) -> Result<(), Problem> {
        match item {
            Item::Message(message) => match message.role {
                Role::User => self.hear(message, reader),
                Role::Assistant => reader.add(&format!("assistant: {}", message.text())),
                Role::System | Role::Developer => reader.add(&message.text()),
            },
            Item::FunctionCallOutput(output) if memory == Memory::Clients => {
                self.take_result(output)?;
            }
            Item::FunctionCallOutput(output) => {
                self.results.push((CallId::new(output.call_id.as_str()), output.text()));
            }
            Item::Unknown(value) => self.read_decision(value, Telling::New)?,
            // A client may repeat them beside their results; the log has them.
            Item::FunctionCall(_) | Item::Reasoning(_) => {}
        }
        Ok(())
    }

    fn hear(&mut self, message: &MessageItem, reader: &mut Reader) {
        let texts: Vec<&str> = message.content.iter().filter_map(Part::text).collect();
        let text = texts.join("\n");
        if !text.trim().is_empty() {
            reader.texts.push(text);
        }
        self.parts.extend(message.content.iter().filter(|part| part.text().is_none()).cloned());
    }

    /// In a new chat a result belongs to a call that the client remembers.
    fn take_result(&mut self, output: &FunctionCallOutput) -> Result<(), Problem> {
        let made = self
            .history
            .iter()
            .any(|item| matches!(item, Item::FunctionCall(call) if call.call_id == output.call_id));
        if !made {
            return Err(refused(&format!(
                "there is no call `{}`; send the result with previous_response_id, or with the call before it",
                output.call_id
            )));
        }
        self.history.push(Item::FunctionCallOutput(output.clone()));
        Ok(())
    }

    fn read_decision(&mut self, value: &Value, told: Telling) -> Result<(), Problem> {
        match value.get("type").and_then(Value::as_str) {
            Some("mcp_approval_response") => {}
            Some("item_reference") => {
                return Err(refused("an agent takes no item_reference; send the item itself"));
            }
            // Of another server's own making: nothing that an agent is told.
            _ => return Ok(()),
        }
        let response = ApprovalResponse::deserialize(value)
            .map_err(|error| refused(&format!("an mcp_approval_response is refused: {error}")))?;
        self.decisions.push(Decision {
            approval: ApprovalId::new(response.approval_request_id),
            answer: match response.approve {
                true => Answer::Approve {
                    scope: Scope::Once,
                    matches: Vec::new(),
                    arguments: response.arguments.filter(|arguments| !arguments.is_null()),
                    reason: response.reason,
                },
                false => Answer::Deny { reason: response.reason },
            },
            told,
        });
        Ok(())
    }
}

/// The requests that an input answers, the latest first.
pub(super) fn answered(request: &Request) -> impl Iterator<Item = ApprovalId> {
    request.input.iter().rev().filter_map(|item| match &**item {
        Item::Unknown(value) if value.get("type")? == "mcp_approval_response" => {
            value.get("approval_request_id")?.as_str().map(ApprovalId::from)
        }
        _ => None,
    })
}

/// What was said, and what the calling program adds.
struct Reader {
    texts: Vec<String>,
    added: Vec<String>,
}

impl Reader {
    fn add(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.added.push(text.to_owned());
        }
    }

    fn text(&self) -> String {
        let mut blocks = self.texts.clone();
        if !self.added.is_empty() {
            blocks.push(format!("{ADDED}\n{}", self.added.join("\n\n")));
        }
        blocks.join("\n\n")
    }
}

fn is_the_programs(role: Role) -> bool {
    matches!(role, Role::System | Role::Developer)
}

/// Where the part begins that no model has answered.
fn first_new(input: &[Arc<Item>]) -> usize {
    let is_a_models = |item: &Arc<Item>| match &**item {
        Item::Message(message) => message.role == Role::Assistant,
        Item::FunctionCall(_) | Item::Reasoning(_) => true,
        Item::FunctionCallOutput(_) => false,
        Item::Unknown(value) => {
            let kind = value.get("type").and_then(Value::as_str);
            !matches!(kind, Some("mcp_approval_response" | "item_reference"))
        }
    };
    input.iter().rposition(is_a_models).map_or(0, |last| last + 1)
}

/// An input that an agent cannot be given.
pub(super) fn refused(detail: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "invalid_request", detail).with("param", "input")
}
