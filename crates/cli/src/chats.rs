//! Lists, creates, shows, renames and deletes chats.
//! Called by `main` for `chat` with one of these words; without one it is a conversation, see `chat`.

mod transcript;

use agent_world_client::wire;
use agent_world_core::Timestamp;
use agent_world_store::sqlite::is_worked_on;
use anyhow::Result;
use clap::Subcommand;
use serde_json::{Value, json};

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::screen::{Screen, Tone};
use crate::table::Table;
use crate::world::show_grants;
use crate::{place, words};
use transcript::Transcript;

#[derive(Debug, Subcommand)]
pub enum Chats {
    /// The chats of a world, the one used last first; with --json the oldest first
    #[command(after_help = "\
Examples:
  agent-world chat list -w lab
  agent-world chat list --json")]
    List {
        /// The world; otherwise `demo`, or the only one there is
        #[arg(short, long)]
        world: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// One chat: what goes on in it, and what was said last
    #[command(after_help = "\
Examples:
  agent-world chat show chat_01m7ewk6w8918ge0j08h4fdwke --messages 50")]
    Show {
        id: String,
        /// The world; otherwise whichever has the chat
        #[arg(short, long)]
        world: Option<String>,
        /// How many of the last messages are shown; calls with their results belong to theirs
        #[arg(long, value_name = "N", default_value_t = 10)]
        messages: usize,
        #[arg(long)]
        json: bool,
    },
    /// A new chat. Without a title a model names it later
    #[command(after_help = "\
Examples:
  agent-world chat create -w lab --title \"Monday\"")]
    Create {
        /// The world; otherwise `demo`, or the only one there is
        #[arg(short, long)]
        world: Option<String>,
        #[arg(long)]
        title: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Names a chat. No model renames it afterwards
    #[command(after_help = "\
Examples:
  agent-world chat update chat_01m7ewk6w8918ge0j08h4fdwke --title \"Monday\"")]
    Update {
        id: String,
        /// The world; otherwise whichever has the chat
        #[arg(short, long)]
        world: Option<String>,
        #[arg(long)]
        title: String,
        #[arg(long)]
        json: bool,
    },
    /// Ends all work in a chat and removes it
    #[command(after_help = "\
The audit stays.

Examples:
  agent-world chat delete chat_01m7ewk6w8918ge0j08h4fdwke --yes")]
    Delete {
        id: String,
        /// The world; otherwise whichever has the chat
        #[arg(short, long)]
        world: Option<String>,
        /// Nothing is deleted without it
        #[arg(long)]
        yes: bool,
        #[arg(long)]
        json: bool,
    },
}

pub async fn run(to: Whereabouts, wanted: Chats) -> Result<Exit> {
    let connection = Connection::open(to, Purpose::Visit).await?;
    let done = match wanted {
        Chats::List { world, json } => list(&connection, world.as_deref(), json).await,
        Chats::Show { id, world, messages, json } => {
            let chat = find(&connection, world.as_deref(), &id).await;
            match chat {
                Ok(chat) => show(&connection, &chat, messages, json).await,
                Err(error) => Err(error),
            }
        }
        Chats::Create { world, title, json } => {
            create(&connection, world.as_deref(), title, json).await
        }
        Chats::Update { id, world, title, json } => {
            rename(&connection, world.as_deref(), &id, &title, json).await
        }
        Chats::Delete { id, world, yes, json } => {
            delete(&connection, world.as_deref(), &id, yes, json).await
        }
    };
    connection.close().await;
    done.map(|()| Exit::Done)
}

async fn find(connection: &Connection, world: Option<&str>, id: &str) -> Result<wire::Chat> {
    let (_, chat) = place::named_chat(&connection.client, world, id).await?;
    Ok(chat)
}

fn path(chat: &wire::Chat) -> agent_world_client::Path {
    place::path(&chat.world_id).then("chats").then(&chat.id)
}

async fn list(connection: &Connection, world: Option<&str>, json: bool) -> Result<()> {
    let world = place::world(connection, world).await?;
    let path = place::path(&world.id).then("chats").with("limit", "1000");
    let mut screen = Screen::stdout();
    if json {
        let mut chats = connection.client.pages::<Value>(path);
        while let Some(value) = chats.next().await? {
            screen.json(&value)?;
        }
        return Ok(());
    }
    let mut chats: Vec<wire::Chat> = connection.client.all(path).await?;
    chats.sort_by(|one, other| other.updated_at.cmp(&one.updated_at));
    let workers = Workers::of(connection);
    let mut table = Table::new(["CHAT", "LAST USED (UTC)", "TITLE", "STATE"], 2);
    for chat in &chats {
        let state = standing(chat, workers);
        table.row([chat.id.clone(), moment(&chat.updated_at), chat.title.clone(), state]);
    }
    if table.is_empty() {
        let id = &world.id;
        let text = format!(
            "world {id} has no chats; `agent-world chat create -w {id}` or `agent-world send -w {id}` makes one"
        );
        return Ok(screen.hint(Tone::Plain, &text)?);
    }
    table.show(&mut screen)?;
    if workers == Workers::None && chats.iter().any(is_at_work) {
        screen.hint(Tone::Plain, "unfinished: `agent-world resume` goes on")?;
    }
    Ok(())
}

/// Whether anybody does what is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Workers {
    Some,
    None,
}

impl Workers {
    fn of(connection: &Connection) -> Self {
        match connection.session() {
            Some(session) if !is_worked_on(&session.data.database()) => Self::None,
            _ => Self::Some,
        }
    }
}

/// What is to be known about a chat besides its name.
fn standing(chat: &wire::Chat, workers: Workers) -> String {
    let doing = match (is_at_work(chat), workers) {
        (false, _) => None,
        (true, Workers::Some) => Some("agents are at work".to_owned()),
        (true, Workers::None) => Some("unfinished".to_owned()),
    };
    let waiting = match chat.activity.waiting_approvals {
        0 => None,
        number => Some(format!("{} waiting", words::count(number, "approval"))),
    };
    doing.into_iter().chain(waiting).collect::<Vec<_>>().join(", ")
}

/// Something is under way that does not wait for a person.
fn is_at_work(chat: &wire::Chat) -> bool {
    let wire::Activity { agents, running_calls, .. } = &chat.activity;
    let waits = agents.iter().all(|agent| agent.doing == wire::Doing::AwaitingApproval);
    let only_waits = waits && !agents.is_empty() && running_calls.is_empty();
    chat.activity.is_busy() && !only_waits
}

/// To the minute, in universal time.
fn moment(at: &str) -> String {
    match at.parse::<Timestamp>() {
        Ok(at) => at.strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => at.to_owned(),
    }
}

async fn show(
    connection: &Connection,
    chat: &wire::Chat,
    messages: usize,
    json: bool,
) -> Result<()> {
    let mut screen = Screen::stdout();
    if json {
        let value: Value = connection.client.get(path(chat)).await?;
        return Ok(screen.json(&value)?);
    }
    let state = match standing(chat, Workers::of(connection)) {
        state if state.is_empty() => state,
        state => format!(", {state}"),
    };
    let used = moment(&chat.updated_at);
    let text = format!("{}  {}{state}, last used {used} UTC", chat.id, chat.title);
    screen.line(Tone::Name, &words::unbroken(&text))?;
    screen.line(Tone::Plain, &format!("in world {}", chat.world_id))?;
    show_grants(connection, &mut screen, chat).await?;
    let all: Vec<wire::Message> =
        connection.client.all(path(chat).then("messages").with("limit", "1000")).await?;
    Transcript::of(&all).show(&mut screen, messages)
}

async fn create(
    connection: &Connection,
    world: Option<&str>,
    title: Option<String>,
    json: bool,
) -> Result<()> {
    let world = place::world(connection, world).await?;
    let body = match title {
        Some(title) => json!({ "title": title }),
        None => json!({}),
    };
    let made: Value = connection.client.post(place::path(&world.id).then("chats"), &body).await?;
    let mut screen = Screen::stdout();
    if json {
        return Ok(screen.json(&made)?);
    }
    let id = made.get("id").and_then(Value::as_str).unwrap_or_default();
    let text =
        format!("created chat {id} in world {}; `agent-world chat -c {id}` opens it", world.id);
    Ok(screen.hint(Tone::Plain, &text)?)
}

async fn rename(
    connection: &Connection,
    world: Option<&str>,
    id: &str,
    title: &str,
    json: bool,
) -> Result<()> {
    let chat = find(connection, world, id).await?;
    let named: Value = connection.client.patch(path(&chat), &json!({ "title": title })).await?;
    let mut screen = Screen::stdout();
    if json {
        return Ok(screen.json(&named)?);
    }
    let title = named.get("title").and_then(Value::as_str).unwrap_or_default();
    Ok(screen.line(Tone::Plain, &words::unbroken(&format!("chat {id} is called “{title}” now")))?)
}

async fn delete(
    connection: &Connection,
    world: Option<&str>,
    id: &str,
    yes: bool,
    json: bool,
) -> Result<()> {
    let chat = find(connection, world, id).await?;
    if !yes {
        let text = format!(
            "this would delete chat {id} (“{}”) of world {} for ever; add --yes to do it",
            words::shortened(&chat.title),
            chat.world_id
        );
        return Err(Usage(text).into());
    }
    connection.client.delete(path(&chat)).await?;
    let mut screen = Screen::stdout();
    if json {
        let told =
            json!({ "type": "chat", "id": id, "world_id": chat.world_id, "state": "deleted" });
        return Ok(screen.json(&told)?);
    }
    let text = format!("deleted chat {id} of world {}", chat.world_id);
    Ok(screen.line(Tone::Plain, &text)?)
}
