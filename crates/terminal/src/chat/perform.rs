//! Carries out what a conversation wants done, each in a request of its own.
//! Called by `run` in tasks, so that nothing on the screen waits for an answer. Repeats only what is carried out once however
//! often it is sent: messages, which have a key, and decisions, of which one takes effect.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_world_client::wire::{Approval, Chat, Decision, NewMessage, OnApproval, Posted, World};
use agent_world_client::{Client, Error, Path, Result};
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep};

use super::effect::{Effect, Told, Which};
use super::open::open;
use super::released::released;
use super::words;
use crate::permissions;

/// How long a request is repeated that nobody answers, and the time between two.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(500);

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

/// None where there is nothing to tell: what happens is heard. `meanwhile` takes what is to be told before the end.
pub async fn perform(
    client: Client,
    place: Place,
    effect: Effect,
    meanwhile: Sender<Told>,
) -> Option<Told> {
    match effect {
        Effect::Post { number, text, key } => Some(post(&client, &place, number, text, &key).await),
        Effect::Edit { message, text } => {
            let path = place.chat().then("messages").then(&message);
            let edited = client.put::<Value>(path, &json!({ "content": text })).await;
            let why = edited.err()?.to_string();
            Some(Told::NotEdited { chat: place.chat, message, text, why })
        }
        Effect::Decide { approval, decision } => {
            Some(decide(&client, approval, &decision, &meanwhile).await)
        }
        Effect::CountReleased { approval, after } => {
            let (world, chat) = (&place.world.id, &place.chat);
            released(&client, world, chat, &approval, after).await.map(Told::Noted)
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

/// Asks until somebody answers. Only for what may be asked twice.
///
/// # Errors
/// What was answered, or that nobody did for too long.
pub async fn insist<T, F: Future<Output = Result<T>>>(ask: impl Fn() -> F) -> Result<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        match ask().await {
            Err(error) if error.may_pass() && Instant::now() < end => sleep(PAUSE).await,
            answer => return answer,
        }
    }
}

async fn post(client: &Client, place: &Place, number: u64, text: String, key: &str) -> Told {
    let message = NewMessage { content: text, reply_to: None, on_approval: OnApproval::Ask };
    let path = place.chat().then("messages");
    let posted: Result<Posted> = insist(|| client.post_once(path.clone(), &message, key)).await;
    match posted {
        Ok(posted) => Told::Posted { number, message: Box::new(posted.message) },
        Err(error @ Error::Unreachable { .. }) => Told::NotPosted {
            number,
            why: format!("{error}; entered again as it is, it is posted once"),
            is_unsure: true,
        },
        Err(error) => Told::NotPosted { number, why: error.to_string(), is_unsure: false },
    }
}

async fn decide(
    client: &Client,
    approval: String,
    decision: &Decision,
    meanwhile: &Sender<Told>,
) -> Told {
    let path = Path::new("/api/approvals").then(&approval);
    let asked = AtomicUsize::new(0);
    let decided: Result<Approval> = insist(|| async {
        let is_first = asked.fetch_add(1, Ordering::Relaxed) == 0;
        let answer = client.post(path.clone(), decision).await;
        if is_first && answer.as_ref().is_err_and(Error::may_pass) {
            // Nobody listens any more: then nobody waits either.
            meanwhile.send(Told::DecisionDelayed { approval: approval.clone() }).await.ok();
        }
        answer
    })
    .await;
    match decided {
        Ok(decided) => Told::Decided(Box::new(decided)),
        Err(error) if error.status() == Some(409) => {
            // It may have been this very decision, of which the answer was lost.
            if asked.load(Ordering::Relaxed) > 1
                && let Ok(settled) = client.get::<Approval>(path).await
            {
                return Told::Decided(Box::new(settled));
            }
            Told::DecidedBefore { approval, why: error.to_string() }
        }
        Err(Error::Unreachable { place, .. }) => Told::NotDecided {
            approval,
            why: format!("the decision was not delivered: nobody answers at {place}; decide again"),
        },
        Err(error) => Told::NotDecided { approval, why: error.to_string() },
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
    let lines = all.iter().map(line).collect();
    let mut elsewhere = Vec::new();
    for one in all {
        if one.chat_id != place.chat {
            let name = chat_of(client, &one).await;
            elsewhere.push((one, name));
        }
    }
    Ok(Told::Waiting { lines, elsewhere })
}

/// Where a request comes from, for somebody who is elsewhere.
async fn chat_of(client: &Client, approval: &Approval) -> String {
    let Approval { world_id: world, chat_id: chat, .. } = approval;
    let path = Path::new("/api/worlds").then(world).then("chats").then(chat);
    match client.get::<Chat>(path).await {
        Ok(found) => format!("“{}” ({chat}) of {world}", found.title),
        Err(_) => format!("{chat} of {world}"),
    }
}

async fn policy(client: &Client, place: &Place) -> Result<Told> {
    Ok(Told::Listed(permissions::lines(client, &place.world.id, &place.chat).await?))
}
