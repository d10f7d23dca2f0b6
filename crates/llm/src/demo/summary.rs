//! Puts a conversation in fewer words, when the demo model is asked to compact it: who said what, each cut short.
//! Called by `demo`. Leaves nothing out but length: it cannot tell what matters.

use std::sync::Arc;

use agent_world_core::item::{Item, Role};

use super::phrases::quoted;
use crate::compaction;

pub fn of(input: &[Arc<Item>]) -> String {
    let lines: Vec<String> = input.iter().filter_map(|item| line(item)).collect();
    if lines.is_empty() { "Nothing was said.".to_owned() } else { lines.join("\n") }
}

fn line(item: &Item) -> Option<String> {
    match item {
        Item::Message(message) => {
            let text = message.text();
            let who = match message.role {
                Role::User => "The user said",
                Role::Assistant => "The assistant said",
                Role::System | Role::Developer => "It was noted",
            };
            (!text.is_empty() && text != compaction::REQUEST)
                .then(|| format!("{who} {}.", quoted(&text)))
        }
        Item::FunctionCall(call) => {
            Some(format!("{} was called with {}.", call.name, quoted(&call.arguments)))
        }
        Item::FunctionCallOutput(output) => {
            let text =
                output.output.as_str().map_or_else(|| output.output.to_string(), str::to_owned);
            Some(format!("It gave {}.", quoted(&text)))
        }
        Item::Reasoning(_) | Item::Unknown(_) => None,
    }
}
