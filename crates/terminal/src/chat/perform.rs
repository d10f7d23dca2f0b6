//! Carries out what a conversation wants done, each in a request of its own.
//! Called by `run` in tasks, so that nothing on the screen waits for an answer. Never repeats a request by itself.

use agent_world_client::wire::{Approval, Chat, NewMessage, OnApproval, Posted, World};
use agent_world_client::{Client, Error, Path, Result};
use serde_json::{Value, json};

use super::effect::{Effect, Told, Which};
use super::open::open;
use super::words;

/// Where requests are about.
#[derive(Clone, Debug)]
pub struct Place {
    pub world: World,
    pub chat: String,
}

impl Place {
    fn world(&self) -> Path {
        Path::new("/api/worlds").then(&self.world.id)
    }

    fn chats(&self) -> Path {
        self.world().then("chats")
    }

    fn chat(&self) -> Path {
        self.chats().then(&self.chat)
    }
}

/// None where there is nothing to tell: what happens is heard.
pub async fn perform(client: Client, place: Place, effect: Effect) -> Option<Told> {
    match effect {
        Effect::Post { number, text } => Some(post(&client, &place, number, text).await),
        Effect::Edit { message, text } => {
            let path = place.chat().then("messages").then(&message);
            refusal(client.put::<Value>(path, &json!({ "content": text })).await)
        }
        Effect::Decide { approval, decision } => {
            let path = Path::new("/api/approvals").then(&approval);
            Some(match client.post::<Approval>(path, &decision).await {
                Ok(decided) => Told::Decided(Box::new(decided)),
                Err(error) if error.status() == Some(409) => {
                    Told::DecidedBefore { approval, why: error.to_string() }
                }
                Err(error) => Told::NotDecided { approval, why: error.to_string() },
            })
        }
        Effect::Stop { agent } => {
            let body = agent.map_or_else(|| json!({}), |agent| json!({ "agent_id": agent }));
            refusal(client.post::<Value>(place.chat().then("stop"), &body).await)
        }
        Effect::Retry => {
            refusal(client.post::<Value>(place.chat().then("retry"), &json!({})).await)
        }
        Effect::Title(title) => {
            refusal(client.patch::<Value>(place.chat(), &json!({ "title": title })).await)
        }
        Effect::Open(which) => Some(told(go(&client, &place, which).await)),
        Effect::ListChats => Some(told(chats(&client, &place).await)),
        Effect::ListApprovals => Some(told(approvals(&client, &place).await)),
        Effect::ShowPolicy => Some(told(policy(&client, &place).await)),
        Effect::Remember(_) | Effect::Quit => None,
    }
}

fn told(result: Result<Told>) -> Told {
    result.unwrap_or_else(|error| Told::Refused(error.to_string()))
}

fn refusal<T>(result: Result<T>) -> Option<Told> {
    result.err().map(|error| Told::Refused(error.to_string()))
}

async fn post(client: &Client, place: &Place, number: u64, text: String) -> Told {
    let message = NewMessage { content: text, reply_to: None, on_approval: OnApproval::Ask };
    match client.post::<Posted>(place.chat().then("messages"), &message).await {
        Ok(posted) => Told::Posted { number, message: Box::new(posted.message) },
        // It may have arrived: what is heard tells.
        Err(error @ Error::Unreachable { .. }) => Told::NotPosted {
            number,
            why: format!("{error}; look whether it arrived before you repeat it"),
        },
        Err(error) => Told::NotPosted { number, why: error.to_string() },
    }
}

async fn go(client: &Client, place: &Place, which: Which) -> Result<Told> {
    let chat: Chat = match which {
        Which::New => client.post(place.chats(), &json!({})).await?,
        Which::Chat(id) => client.get(place.chats().then(&id)).await?,
        Which::Fork(message) => {
            client.post(place.chat().then("fork"), &json!({ "message_id": message })).await?
        }
    };
    let world: World = client.get(place.world()).await?;
    Ok(Told::Opened(Box::new(open(client, world, chat).await?)))
}

async fn chats(client: &Client, place: &Place) -> Result<Told> {
    let chats: Vec<Chat> = client.all(place.chats().with("limit", "1000")).await?;
    let mut lines: Vec<String> = chats
        .iter()
        .map(|chat| {
            let mark = if chat.id == place.chat { "*" } else { " " };
            let waiting = match chat.activity.waiting_approvals {
                0 => String::new(),
                number => format!(", {} waiting", words::count(number, "approval")),
            };
            format!("{mark} {}  {}{waiting}", chat.id, chat.title)
        })
        .collect();
    lines.push("/switch ID goes to one".to_owned());
    Ok(Told::Listed(lines))
}

async fn approvals(client: &Client, place: &Place) -> Result<Told> {
    let all: Vec<Approval> =
        client.all(Path::new("/api/approvals").with("state", "pending")).await?;
    if all.is_empty() {
        return Ok(Told::Listed(vec!["nothing is waiting for approval".to_owned()]));
    }
    let line = |one: &Approval| {
        let here = match one.chat_id == place.chat {
            true => "here".to_owned(),
            false => format!("in {} {}", one.world_id, one.chat_id),
        };
        format!(
            "{} {here}: {} wants to use {}",
            one.id,
            one.agent_id,
            words::call(&one.tool, &one.arguments)
        )
    };
    Ok(Told::Listed(all.iter().map(line).collect()))
}

async fn policy(client: &Client, place: &Place) -> Result<Told> {
    let policy: Value = client.get(place.world().then("policy")).await?;
    let grants: Vec<Value> = client.all(place.chat().then("grants")).await?;
    let mut lines: Vec<String> = format!("{policy:#}").lines().map(str::to_owned).collect();
    match grants.as_slice() {
        [] => lines.push("nothing is permitted for this chat alone".to_owned()),
        grants => {
            lines.push("permitted for this chat:".to_owned());
            lines.extend(grants.iter().map(|grant| format!("  {grant}")));
        }
    }
    Ok(Told::Listed(lines))
}
