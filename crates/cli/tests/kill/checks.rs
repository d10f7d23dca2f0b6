//! What must be true of a life that has come to rest, read from the store and from the ledger outside.

use std::collections::BTreeMap;

use agent_world_runtime::core::chat::CallState;
use agent_world_runtime::core::event::Outcome;
use agent_world_runtime::core::ids::{MessageId, WorldId};
use agent_world_runtime::core::view::{CallView, MessageRole, MessageView};
use agent_world_runtime::store::sqlite::Role;
use agent_world_runtime::store::verify::{compare_read_models, verify};
use agent_world_runtime::store::{MessagePage, Sqlite, Store};

use crate::life::Life;

#[derive(Default)]
pub struct Found {
    pub interrupted: u64,
}

pub fn check(life: &Life) -> Result<Found, String> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio.block_on(look(life))
}

async fn look(life: &Life) -> Result<Found, String> {
    let path = life.data().join("agent-world.db");
    let store = Sqlite::open(path, Role::Visitor).map_err(|error| error.to_string())?;
    let chats = store.chats(&WorldId::new("demo"), None, 100).await.unwrap();
    let (mut calls, mut messages) = (Vec::new(), Vec::new());
    for chat in &chats {
        verify(&store, &chat.id).await.map_err(|broken| broken.to_string())?;
        compare_read_models(&store, &chat.id).await.map_err(|broken| broken.to_string())?;
        if chat.activity.busy || !chat.activity.waiting.is_empty() {
            return Err(format!("not at rest: {:?}", chat.activity));
        }
        calls.extend(store.calls(&chat.id, None, 100).await.unwrap());
        messages.extend(store.messages(&chat.id, MessagePage::After(None, 1_000)).await.unwrap());
    }
    accepted_is_kept(life, &messages)?;
    done_at_most_once(life, &calls)
}

/// A message that was said to be stored is stored, once, and somebody answered it.
fn accepted_is_kept(life: &Life, messages: &[MessageView]) -> Result<(), String> {
    let people = messages.iter().filter(|message| message.role == MessageRole::User).count();
    if people > 1 {
        return Err(format!("one message was posted {people} times"));
    }
    let Some(accepted) = life.accepted.as_deref().map(MessageId::new) else { return Ok(()) };
    if !messages.iter().any(|message| message.id == accepted) {
        return Err(format!("{accepted} was accepted and is lost"));
    }
    let answered = messages
        .iter()
        .any(|message| message.role == MessageRole::Assistant && message.tool_calls.is_empty());
    if answered { Ok(()) } else { Err(format!("{accepted} was never answered")) }
}

/// The ledger holds no call twice, every call that is said to be completed, and none that never started. A message
/// that was accepted has led to all its calls.
fn done_at_most_once(life: &Life, calls: &[CallView]) -> Result<Found, String> {
    let mut done: BTreeMap<&str, u32> = BTreeMap::new();
    let ledger = life.ledger();
    for line in ledger.lines() {
        *done.entry(line).or_default() += 1;
    }
    let mut found = Found::default();
    for token in &life.tokens {
        let times = done.remove(token.as_str()).unwrap_or(0);
        let of_token: Vec<&CallView> = calls
            .iter()
            .filter(|call| call.arguments.to_string().contains(token.as_str()))
            .collect();
        if times > 1 || of_token.len() > 1 {
            return Err(format!("{token} was done {times} times by {} calls", of_token.len()));
        }
        let state = of_token.first().map(|call| call.state);
        match (state, times) {
            (Some(CallState::Ended(Outcome::Completed)), 1) => {}
            (None, 0) if life.accepted.is_none() => {}
            (Some(CallState::Ended(Outcome::Interrupted)), _) => found.interrupted += 1,
            (state, times) => {
                let output = of_token.first().and_then(|call| call.output.as_ref());
                let output = output.map_or("", |output| output.text.as_str());
                return Err(format!("{token} is {state:?} and was done {times} times: {output}"));
            }
        }
    }
    if done.is_empty() { Ok(found) } else { Err(format!("nobody asked for {done:?}")) }
}
