//! Performs what the state wants done, each in a task of its own, and answers with messages.
//! Used by the loop in `tui`. Reading is tried again until somebody answers, since it changes nothing; so are messages, which
//! carry a key by which a server knows them again. Decisions and stops, in `deliver`, are given up after a while.

mod deliver;

use std::fs::OpenOptions;
use std::future::Future;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use agent_world_client::wire::{Call, Chat, NewMessage, OnApproval, Page, Posted};
use agent_world_client::{Client, Error, Following, Path, Result, Scope};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;

use self::deliver::Patience;
use super::message::{Effect, Message};
use crate::conversation::{Conversation, load_before, load_with_notices};
use crate::permissions;

/// Between two attempts.
const PAUSE: Duration = Duration::from_secs(1);
/// Messages that are loaded of a chat at once.
const MESSAGES: usize = 100;
const EVENTS: usize = 1_000;
/// Bytes of a result that are loaded to be looked at.
const LONGEST_RESULT: usize = 16 * 1024 * 1024;

/// Whoever performs effects. Dropped, all its tasks end.
#[derive(Debug)]
pub struct Worker {
    client: Client,
    sender: Sender<Message>,
    tasks: JoinSet<()>,
    /// Ends with the last message that was sent: the next waits for it, so that they arrive in their order.
    last: Option<oneshot::Receiver<()>>,
}

impl Worker {
    pub fn new(client: Client, sender: Sender<Message>) -> Self {
        Self { client, sender, tasks: JoinSet::new(), last: None }
    }

    /// Follows everything that happens.
    pub fn follow(&mut self) {
        let (client, sender) = (self.client.clone(), self.sender.clone());
        self.tasks.spawn(async move { follow(&client, &sender).await });
    }

    pub fn perform(&mut self, effect: Effect) {
        while self.tasks.try_join_next().is_some() {}
        let (client, sender) = (self.client.clone(), self.sender.clone());
        let turn = self.turn_of(&effect);
        self.tasks.spawn(async move {
            let _done = match turn {
                Some((before, done)) => {
                    // It says nothing: that it is over is enough.
                    before.await.ok();
                    Some(done)
                }
                None => None,
            };
            if let Some(message) = perform(&client, &sender, effect).await {
                // Nobody listens any more: the view is over.
                sender.send(message).await.ok();
            }
        });
    }
}

impl Worker {
    /// What a message waits for, and what the next one waits for.
    fn turn_of(&mut self, effect: &Effect) -> Option<(oneshot::Receiver<()>, oneshot::Sender<()>)> {
        if !matches!(effect, Effect::Post { .. } | Effect::Edit { .. }) {
            return None;
        }
        let (done, next) = oneshot::channel();
        let nothing = oneshot::channel().1;
        Some((self.last.replace(next).unwrap_or(nothing), done))
    }
}

async fn follow(client: &Client, sender: &Sender<Message>) {
    loop {
        let why = match client.follow(&Scope::All, None).await {
            Ok(following) => match hear(following, sender).await {
                Some(why) => why,
                None => return,
            },
            Err(error) => error.to_string(),
        };
        if sender.send(Message::Broken(why)).await.is_err() {
            return;
        }
        sleep(PAUSE).await;
    }
}

/// Hears until there is nothing to hear, and why; none when nobody listens any more.
async fn hear(mut following: Following, sender: &Sender<Message>) -> Option<String> {
    sender.send(Message::Following(following.known())).await.ok()?;
    loop {
        match following.next().await {
            Ok(heard) => sender.send(Message::Heard(heard)).await.ok()?,
            Err(error) => return Some(error.to_string()),
        }
    }
}

/// Asks until somebody answers.
async fn insist<T, F: Future<Output = Result<T>>>(ask: impl Fn() -> F) -> Result<T> {
    loop {
        match ask().await {
            Err(error) if error.may_pass() => sleep(PAUSE).await,
            answer => return answer,
        }
    }
}

async fn perform(client: &Client, sender: &Sender<Message>, effect: Effect) -> Option<Message> {
    let done = match effect {
        Effect::Post { world, chat, text, key } => {
            return Some(post(client, chat_path(&world, &chat), text, key).await);
        }
        Effect::Decide { id, decision } => {
            return Some(deliver::decision(Patience::USUAL, client, sender, id, &decision).await);
        }
        Effect::Stop { world, chat, agent } => {
            return Some(deliver::stop(Patience::USUAL, client, sender, &world, chat, agent).await);
        }
        Effect::LoadChat { world, chat } => return load_chat(client, &world, chat).await,
        Effect::Open { world, chat, after } => {
            let ask =
                || load_with_notices(client, (*world).clone(), (*chat).clone(), MESSAGES, after);
            return Some(match insist(ask).await {
                Ok(loaded) => Message::Opened(Box::new(loaded)),
                Err(error) => Message::NotOpened { chat: chat.id, why: error.to_string() },
            });
        }
        Effect::LoadOlder { world, chat, before } => {
            let of = Conversation::new(*world, *chat);
            return Some(match insist(|| load_before(client, &of, &before, MESSAGES)).await {
                Ok(loaded) => Message::Older(Box::new(loaded)),
                Err(error) => Message::NotOlder { chat: of.chat.id, why: error.to_string() },
            });
        }
        Effect::CreateChat(world) => {
            let path = Path::new("/api/worlds").then(&world).then("chats");
            return Some(created(client.post(path, &json!({})).await));
        }
        Effect::Fork { world, chat, message } => {
            let path = chat_path(&world, &chat).then("fork");
            return Some(created(client.post(path, &json!({ "message_id": message })).await));
        }
        Effect::Save { name, text } => return Some(save(&name, &text)),
        Effect::Quit => return None,
        effect => ask(client, effect).await,
    };
    Some(done.unwrap_or_else(|error| Message::Failed(error.to_string())))
}

fn created(made: Result<Chat>) -> Message {
    match made {
        Ok(chat) => Message::Created(Box::new(chat)),
        Err(error) => Message::NotCreated(error.to_string()),
    }
}

async fn ask(client: &Client, effect: Effect) -> Result<Message> {
    Ok(match effect {
        Effect::LoadMe => Message::Me(insist(|| client.get("/api/me")).await?),
        Effect::LoadWorlds => Message::Worlds(insist(|| client.all("/api/worlds")).await?),
        Effect::LoadChats(world) => {
            let path = Path::new("/api/worlds").then(&world).then("chats").with("limit", "1000");
            let chats = insist(|| client.all(path.clone())).await?;
            Message::Chats { world, chats }
        }
        Effect::LoadApprovals => {
            let path = Path::new("/api/approvals").with("state", "pending").with("limit", "1000");
            Message::Approvals(insist(|| client.all(path.clone())).await?)
        }
        Effect::LoadEvents { world, after } => {
            Message::Events(events(client, &world, after).await?)
        }
        Effect::LoadCall { world, chat, call } => {
            let path = chat_path(&world, &chat).then("tool-calls").then(&call);
            Message::Call(Box::new(whole_call(client, path).await?))
        }
        Effect::Retry { world, chat } => {
            let path = chat_path(&world, &chat).then("retry");
            let _: Value = client.post(path, &json!({})).await?;
            Message::Done("the failed turn is taken up again".to_owned())
        }
        Effect::Rename { world, chat, title } => {
            let path = chat_path(&world, &chat);
            Message::Chat(Box::new(client.patch(path, &json!({ "title": title })).await?))
        }
        Effect::Edit { world, chat, message, text } => {
            let path = chat_path(&world, &chat).then("messages").then(&message);
            let edited: Result<Value> = client.put(path, &json!({ "content": text })).await;
            match edited {
                Ok(_) => Message::Resized,
                Err(error) => {
                    let why = format!("not changed: {error}");
                    Message::NotEdited { chat, message, text, why }
                }
            }
        }
        Effect::ShowPolicy { world, chat } => policy(client, &world, &chat).await?,
        Effect::Post { .. }
        | Effect::Decide { .. }
        | Effect::Stop { .. }
        | Effect::LoadChat { .. }
        | Effect::Open { .. }
        | Effect::LoadOlder { .. }
        | Effect::CreateChat(_)
        | Effect::Fork { .. }
        | Effect::Save { .. }
        | Effect::Quit => Message::Resized,
    })
}

/// What agents may do in a world, and what was permitted for a chat alone.
async fn policy(client: &Client, world: &str, chat: &str) -> Result<Message> {
    let lines = permissions::lines(client, world, chat).await?;
    Ok(Message::Told { title: "Policy".to_owned(), text: lines.join("\n") })
}

/// A call with all of its result, also where the log has only its beginning and end.
async fn whole_call(client: &Client, path: Path) -> Result<Call> {
    let mut call: Call = insist(|| client.get(path.clone())).await?;
    if call.more.get("result_whole").is_none_or(Value::is_null) {
        return Ok(call);
    }
    let mut whole = String::new();
    let mut offset = Some(0);
    while let Some(from) = offset {
        if whole.len() > LONGEST_RESULT {
            whole.push_str("\n… the rest is too long to be shown here");
            break;
        }
        let piece = path.clone().then("result").with("offset", from.to_string());
        let piece = piece.with("limit", "1000000");
        let piece: ResultPiece = insist(|| client.get(piece.clone())).await?;
        whole.push_str(&piece.text);
        offset = piece.next.filter(|next| *next > from);
    }
    call.result = Some(whole);
    Ok(call)
}

/// A piece of what a tool gave back.
#[derive(Debug, Deserialize)]
struct ResultPiece {
    text: String,
    #[serde(default)]
    next: Option<u64>,
}

/// What happened in a world after an event, a page at a time, as long as the server says that there is more. A page may be
/// short, or empty, before the last.
async fn events(client: &Client, world: &str, after: u64) -> Result<Vec<Value>> {
    let mut all: Vec<Value> = Vec::new();
    let mut after = after.to_string();
    loop {
        let path = Path::new("/api/worlds").then(world).then("events");
        let path = path.with("after", &after).with("limit", EVENTS.to_string());
        let page: Page<Value> = insist(|| client.get(path.clone())).await?;
        all.extend(page.data);
        match page.next.filter(|next| *next != after) {
            Some(next) => after = next,
            None => return Ok(all),
        }
    }
}

fn chat_path(world: &str, chat: &str) -> Path {
    Path::new("/api/worlds").then(world).then("chats").then(chat)
}

async fn post(client: &Client, chat: Path, text: String, key: String) -> Message {
    let message = NewMessage { content: text, reply_to: None, on_approval: OnApproval::Ask };
    let path = chat.then("messages");
    let posted: Result<Posted> = insist(|| client.post_once(path.clone(), &message, &key)).await;
    match posted {
        Ok(_) => Message::Posted { key },
        Err(error) => Message::NotPosted { key, why: error.to_string() },
    }
}

async fn load_chat(client: &Client, world: &str, chat: String) -> Option<Message> {
    let path = chat_path(world, &chat);
    match insist(|| client.get::<Chat>(path.clone())).await {
        Ok(chat) => Some(Message::Chat(Box::new(chat))),
        Err(Error::Refused(problem)) if problem.status == 404 => Some(Message::ChatGone(chat)),
        Err(error) => Some(Message::Failed(error.to_string())),
    }
}

/// Writes a text to a new file that only this person can read.
fn save(name: &str, text: &str) -> Message {
    let name: String =
        name.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
    let path = std::env::temp_dir().join(format!("agent-world-{name}-{}.txt", std::process::id()));
    // One that was written before is out of date. Whatever else is there is left alone: the new file is refused then.
    std::fs::remove_file(&path).ok();
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => Message::Done(format!("written to {}", path.display())),
        Err(error) => Message::Failed(format!("{} cannot be written: {error}", path.display())),
    }
}

#[cfg(test)]
#[path = "effects/policy_tests.rs"]
mod policy_tests;

#[cfg(test)]
#[path = "effects/order_tests.rs"]
mod order_tests;

#[cfg(test)]
#[path = "effects/log_tests.rs"]
mod log_tests;
