//! Decides what a model is given as the conversation: what came before, what is new, references resolved, our own
//! compactions read. Called before every answer. Refuses what no model could make sense of: a result without its call.

use std::collections::BTreeSet;
use std::sync::Arc;

use agent_world_core::item::Item;
use serde_json::Value;

use super::failure::{Failure, short};
use super::seal;

/// What is new in a request, with the items it refers to by id put in their place.
pub(super) fn resolved(
    input: &[Arc<Item>],
    before: &[Arc<Item>],
) -> Result<Vec<Arc<Item>>, Failure> {
    let mut items = Vec::with_capacity(input.len());
    for (index, item) in input.iter().enumerate() {
        match reference(item) {
            None => items.push(Arc::clone(item)),
            // What came before is told anyhow.
            Some(id) if before.iter().any(|item| own_id(item) == Some(id)) => {}
            Some(id) => {
                let message = format!(
                    "no item `{}` is in the conversation this request goes on from; send the item itself",
                    short(id)
                );
                let param = format!("input[{index}]");
                return Err(Failure::refused("item_not_found", param, message));
            }
        }
    }
    Ok(items)
}

/// Everything as a model is to be given it.
pub(super) fn readable(items: &[Arc<Item>]) -> Result<Vec<Arc<Item>>, Failure> {
    let read = |item: &Arc<Item>| {
        Ok(match seal::read(item)? {
            Some(summary) => Arc::new(summary),
            None => Arc::clone(item),
        })
    };
    items.iter().map(read).collect()
}

/// Every result answers a call that comes before it.
pub(super) fn check_results(items: &[Arc<Item>]) -> Result<(), Failure> {
    let mut calls = BTreeSet::new();
    for item in items {
        match &**item {
            Item::FunctionCall(call) => {
                calls.insert(call.call_id.as_str());
            }
            Item::FunctionCallOutput(output) if !calls.contains(output.call_id.as_str()) => {
                let message = format!(
                    "no call with call_id `{}` comes before its output; send the call as well",
                    short(&output.call_id)
                );
                return Err(Failure::refused("call_not_found", "input", message));
            }
            _ => {}
        }
    }
    Ok(())
}

fn reference(item: &Item) -> Option<&str> {
    let Item::Unknown(value) = item else { return None };
    let is_reference = value.get("type").and_then(Value::as_str) == Some("item_reference");
    is_reference.then(|| value.get("id").and_then(Value::as_str).unwrap_or_default())
}

/// The id an item came with.
pub(super) fn own_id(item: &Item) -> Option<&str> {
    match item {
        Item::Message(message) => message.id.as_deref(),
        Item::FunctionCall(call) => call.id.as_deref(),
        Item::Reasoning(reasoning) => reasoning.id.as_deref(),
        Item::FunctionCallOutput(output) => output.extra.get("id").and_then(Value::as_str),
        Item::Unknown(value) => value.get("id").and_then(Value::as_str),
    }
}
