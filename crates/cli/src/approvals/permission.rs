//! Finds permissions that last, wherever they are in force, and takes them back.
//! Used by `approvals` and `audit`. What a permission covers is decided in `core`.

use agent_world_client::wire::{Approval, Chat, World};
use agent_world_client::{Client, Error, Path};
use agent_world_core::policy::Match;
use anyhow::{Result, anyhow};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::place;
use crate::screen::{Screen, Tone};

/// A rule given with `always`, or a grant for the rest of a chat, as far as both are alike.
#[derive(Clone, Debug, Deserialize)]
pub struct Permission {
    pub id: String,
    #[serde(default)]
    pub matches: Vec<Match>,
    #[serde(default)]
    approval_id: Option<String>,
    #[serde(default)]
    origin: Option<Origin>,
}

#[derive(Clone, Debug, Deserialize)]
struct Origin {
    approval: String,
}

impl Permission {
    fn is_due_to(&self, approval: &str) -> bool {
        let origin = self.origin.as_ref().map(|origin| origin.approval.as_str());
        self.approval_id.as_deref().or(origin) == Some(approval)
    }
}

/// All that are in force in a world and in one of its chats. A world or a chat that is gone has none.
pub async fn in_force(client: &Client, world: &str, chat: Option<&str>) -> Result<Vec<Permission>> {
    let mut all = match client.get::<Value>(place::path(world).then("policy")).await {
        Ok(mut policy) => {
            let granted = policy.get_mut("granted").map(Value::take).unwrap_or_default();
            serde_json::from_value(granted).unwrap_or_default()
        }
        Err(error) if error.status() == Some(404) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    if let Some(chat) = chat {
        let grants = place::path(world).then("chats").then(chat).then("grants");
        match client.all::<Permission>(grants).await {
            Ok(grants) => all.extend(grants),
            Err(error) if error.status() == Some(404) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(all)
}

/// What the answer to a request permitted, if it lasts.
pub async fn given_by(client: &Client, approval: &Approval) -> Result<Option<Permission>> {
    let all = in_force(client, &approval.world_id, Some(&approval.chat_id)).await?;
    Ok(all.into_iter().find(|one| one.is_due_to(&approval.id)))
}

/// Takes back a permission that lasts: a rule given with `always`, or a grant for the rest of a chat.
pub async fn revoke(client: &Client, id: &str, json: bool) -> Result<Exit> {
    let Some(path) = address(client, id).await? else {
        let text = "is no permission in force; `agent-world world show ID` lists those of a world";
        return Err(anyhow!("{id} {text}"));
    };
    client.delete(path).await?;
    let mut screen = Screen::stdout();
    match json {
        true => screen.json(&json!({ "type": "permission", "id": id, "state": "revoked" }))?,
        false => {
            screen.line(Tone::Plain, &format!("{id} is revoked; from now on it is asked again"))?;
        }
    }
    Ok(Exit::Done)
}

/// The address of a permission, wherever it is.
async fn address(client: &Client, id: &str) -> Result<Option<Path>, Error> {
    let has_id = |one: &Value| one.get("id").and_then(Value::as_str) == Some(id);
    for world in client.all::<World>("/api/worlds").await? {
        let policy = place::path(&world.id).then("policy");
        let found: Value = client.get(policy.clone()).await?;
        let granted = found.get("granted").and_then(Value::as_array);
        if granted.into_iter().flatten().any(has_id) {
            return Ok(Some(policy.then("rules").then(id)));
        }
        let chats = place::path(&world.id).then("chats");
        for chat in client.all::<Chat>(chats.clone().with("limit", "1000")).await? {
            let grants = chats.clone().then(&chat.id).then("grants");
            let found: Vec<Value> = client.all(grants.clone()).await?;
            if found.iter().any(has_id) {
                return Ok(Some(grants.then(id)));
            }
        }
    }
    Ok(None)
}
