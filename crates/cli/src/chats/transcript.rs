//! Shows what was said in a chat, with each call beside what was decided about it and what came of it.
//! Used by `chat show`. Requests and results are messages of their own in the interface; here they belong to their call.

use std::collections::HashMap;

use agent_world_client::wire::{Message, Role, ToolCall};
use anyhow::Result;
use serde_json::Value;

use crate::screen::{Screen, Tone};
use crate::words;

/// Lines of one message, and of what a call gave back, that are shown.
const LINES: usize = 20;
const RESULT_LINES: usize = 10;
/// The call by which a client is asked, as the interface names it.
const REQUEST: &str = "client.requestApproval";

pub struct Transcript<'m> {
    /// What stands for itself: all but requests, decisions and results.
    said: Vec<&'m Message>,
    /// What a call gave back, or a request was answered with, by its id.
    answers: HashMap<&'m str, &'m str>,
    /// The requests about a call, by the call's id.
    requests: HashMap<String, Vec<&'m str>>,
}

impl<'m> Transcript<'m> {
    pub fn of(all: &'m [Message]) -> Self {
        let mut found =
            Self { said: Vec::new(), answers: HashMap::new(), requests: HashMap::new() };
        for message in all {
            match (message.role, &message.tool_call_id) {
                (Role::Tool, Some(call)) => drop(found.answers.insert(call, &message.content)),
                _ if is_request(message) => {
                    for request in &message.tool_calls {
                        let about = asked_about(request);
                        found.requests.entry(about).or_default().push(&request.id);
                    }
                }
                _ => found.said.push(message),
            }
        }
        found
    }

    pub fn show(&self, screen: &mut Screen, most: usize) -> Result<()> {
        let left_out = self.said.len().saturating_sub(most);
        if left_out > 0 {
            let left_out = words::count(left_out, "message");
            screen.line(Tone::Quiet, &format!("… {left_out} before; --messages shows more"))?;
        }
        for message in self.said.iter().skip(left_out) {
            let sender = words::unbroken(&message.sender);
            let text = words::first_lines(&message.content, LINES);
            if !text.is_empty() {
                screen.said(&sender, &text)?;
            }
            for call in &message.tool_calls {
                self.show_call(screen, &sender, call)?;
            }
        }
        Ok(())
    }

    fn show_call(&self, screen: &mut Screen, sender: &str, call: &ToolCall) -> Result<()> {
        let arguments = serde_json::from_str(&call.function.arguments).unwrap_or_default();
        let action = words::action(&call.function.name, &arguments);
        screen.line(Tone::Quiet, &format!("* {sender}: {action}"))?;
        for request in self.requests.get(&call.id).into_iter().flatten() {
            let text = match self.answers.get(request) {
                Some(answer) => decided(answer),
                None if self.answers.contains_key(call.id.as_str()) => continue,
                None => format!("waits for a decision: {request}"),
            };
            screen.line(Tone::Quiet, &format!("    {}", words::excerpt(&text)))?;
        }
        if let Some(result) = self.answers.get(call.id.as_str()) {
            for line in words::first_lines(result, RESULT_LINES).lines() {
                screen.line(Tone::Quiet, &format!("    | {line}"))?;
            }
        }
        Ok(())
    }
}

fn is_request(message: &Message) -> bool {
    !message.tool_calls.is_empty()
        && message.tool_calls.iter().all(|call| call.function.name == REQUEST)
}

/// The call that a request is about.
fn asked_about(request: &ToolCall) -> String {
    let asked: Value = serde_json::from_str(&request.function.arguments).unwrap_or_default();
    let id = asked.get("originalToolCall").and_then(|call| call.get("id")).and_then(Value::as_str);
    id.unwrap_or_default().to_owned()
}

/// What a person chose, in words.
fn decided(answer: &str) -> String {
    match answer {
        "approve_once" => "approved once".to_owned(),
        "approve_session" => "approved for the rest of this chat".to_owned(),
        "approve_always" => "approved always".to_owned(),
        "deny" => "denied".to_owned(),
        other => match other.strip_prefix("deny: ") {
            Some(reason) => format!("denied: {reason}"),
            None => format!("answered: {other}"),
        },
    }
}
