//! Says how far a lasting approval reaches: for which calls it holds, and which other requests it released.
//! Used by `approvals approve`. Only looks; what a permission covers is decided in `core`.

use std::collections::BTreeSet;

use agent_world_client::wire::{Approval, Decision, Reach};
use agent_world_client::{Client, Path, Result};

use crate::words;

/// What waited in a world before a decision.
#[derive(Debug)]
pub struct Before {
    world: String,
    waiting: BTreeSet<String>,
}

impl Before {
    /// None where nothing else can be released.
    pub async fn look(client: &Client, id: &str, decision: &Decision) -> Result<Option<Self>> {
        if !matches!(decision.scope, Some(Reach::Session | Reach::Always)) {
            return Ok(None);
        }
        let request: Approval = match client.get(super::path(id)).await {
            Ok(request) => request,
            // The decision itself says what is wrong.
            Err(_) => return Ok(None),
        };
        let mut waiting = waiting(client, &request.world_id).await?;
        waiting.remove(id);
        Ok(Some(Self { world: request.world_id, waiting }))
    }

    /// The requests that wait no more since a permission covers them.
    pub async fn released(&self, client: &Client) -> Result<Vec<String>> {
        let now = waiting(client, &self.world).await?;
        let mut released = Vec::new();
        for id in self.waiting.difference(&now) {
            let request: Approval = client.get(super::path(id)).await?;
            if request.decided_through.is_some() {
                released.push(id.clone());
            }
        }
        Ok(released)
    }
}

async fn waiting(client: &Client, world: &str) -> Result<BTreeSet<String>> {
    let path = Path::new("/api/approvals").with("world", world).with("limit", "1000");
    let waiting: Vec<Approval> = client.all(path).await?;
    Ok(waiting.into_iter().map(|request| request.id).collect())
}

/// Which calls run from now on without being asked about; none where it was only this one.
pub fn holds_for(approval: &Approval, decision: &Decision) -> Option<String> {
    let narrowed = decision.suggestion.and_then(|number| approval.suggested_matches.get(number));
    let (calls, whatever) = match narrowed {
        Some(suggestion) => (words::unbroken(&suggestion.label), ""),
        None => (format!("every call of {}", approval.tool), ", with any arguments"),
    };
    let (agent, world) = (&approval.agent_id, &approval.world_id);
    match decision.scope {
        Some(Reach::Session) => {
            Some(format!("holds for {calls} by {agent} for the rest of this chat{whatever}"))
        }
        Some(Reach::Always) => Some(format!(
            "holds for {calls} by {agent} in world {world}, in all its chats{whatever}"
        )),
        Some(Reach::Once) | None => None,
    }
}

/// The others that were released.
pub fn also(released: &[String]) -> String {
    let number = words::count(released.len(), "waiting request");
    format!("also released: {number} ({})", released.join(", "))
}
