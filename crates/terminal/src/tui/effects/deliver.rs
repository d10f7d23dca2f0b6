//! Delivers what must not be carried out long after it was wanted: decisions, and stops.
//! Called by `effects`. Says at once when nobody answers, tries again for a while, and gives up aloud. To try again is safe: a
//! request is decided once, and what is stopped stays so.

use std::future::Future;
use std::time::Duration;

use agent_world_client::wire::{Approval, Chat, Decision};
use agent_world_client::{Client, Path, Result};
use serde_json::json;
use tokio::sync::mpsc::Sender;
use tokio::time::sleep;

use super::super::message::Message;
use super::{PAUSE, chat_path};

/// How often something is tried, and how long is waited between two attempts.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    attempts: usize,
    pause: Duration,
}

impl Patience {
    pub const USUAL: Self = Self { attempts: 60, pause: PAUSE };
}

/// Asks until somebody answers, or it has been tried often enough. `delayed` is told once, when trying again begins.
async fn try_often<T, F: Future<Output = Result<T>>>(
    patience: Patience,
    sender: &Sender<Message>,
    delayed: impl FnOnce(String) -> Message,
    ask: impl Fn() -> F,
) -> Result<T> {
    let mut delayed = Some(delayed);
    for _ in 1..patience.attempts {
        match ask().await {
            Err(error) if error.may_pass() => {
                if let Some(delayed) = delayed.take() {
                    // Nobody listens any more: then nobody waits either.
                    sender.send(delayed(error.to_string())).await.ok();
                }
                sleep(patience.pause).await;
            }
            answer => return answer,
        }
    }
    ask().await
}

pub async fn decision(
    patience: Patience,
    client: &Client,
    sender: &Sender<Message>,
    id: String,
    decision: &Decision,
) -> Message {
    let path = Path::new("/api/approvals").then(&id);
    let delayed = |why| Message::DecisionDelayed { id: id.clone(), why };
    let decided: Result<Approval> =
        try_often(patience, sender, delayed, || client.post(path.clone(), decision)).await;
    let error = match decided {
        Ok(approval) => return Message::Decided(Box::new(approval)),
        Err(error) => error,
    };
    // Somebody else was first, or an earlier attempt got through: what is so now says which.
    if error.status() == Some(409)
        && let Ok(approval) = client.get::<Approval>(path).await
        && !approval.is_pending()
    {
        return Message::Decided(Box::new(approval));
    }
    let why = match error.may_pass() {
        true => format!("the decision was not delivered: {error}"),
        false => error.to_string(),
    };
    Message::NotDecided { id, why }
}

pub async fn stop(
    patience: Patience,
    client: &Client,
    sender: &Sender<Message>,
    world: &str,
    chat: String,
    agent: Option<String>,
) -> Message {
    let path = chat_path(world, &chat).then("stop");
    let whom = agent.map_or_else(|| json!({}), |agent| json!({ "agent_id": agent }));
    let delayed = |why| Message::StopDelayed { why };
    let stopped: Result<Chat> =
        try_often(patience, sender, delayed, || client.post(path.clone(), &whom)).await;
    match stopped {
        Ok(_) => Message::Stopped { chat },
        Err(error) => Message::NotStopped { chat, why: error.to_string() },
    }
}

#[cfg(test)]
#[path = "deliver_tests.rs"]
mod tests;
