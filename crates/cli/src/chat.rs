//! An interactive conversation: messages, replies as they are made, and approvals at the prompt.
//! Called by `main`. On a terminal it is drawn by `agent_world_terminal::chat`; otherwise each line of the input is a message, or
//! the answer to what is asked. Both speak to whoever answers through the client alone.

mod input;
mod lines;
mod opening;
mod question;
mod telling;

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_world_client::wire::{Approval, Chat, Page};
use agent_world_client::{Client, Path};
use agent_world_terminal::chat::{FromHost, Setup};
use agent_world_terminal::theme::Theme;
use anyhow::{Context as _, Result};
use serde::de::IgnoredAny;
use tokio::sync::{Mutex, mpsc};

use crate::args;
use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::Exit;
use crate::place::{self, Place, Which};
use crate::screen::{Screen, Tone};
use crate::signals::{Sign, Signals};
use crate::{words, work};

/// How often to look whether the process that works is still there.
const LOOK: Duration = Duration::from_secs(1);
/// Things to tell that were not taken yet. Whoever tells waits when it is full.
const AHEAD: usize = 16;

const FIRST_VISIT: &str = "This is your first visit: a world called `demo` was made for you, with two agents on the \
                           built-in demo model.";
const TO_TRY: &str = "Try: hello · what time is it · run ls -la · @ada @bob hello · /help";
/// How the names of the built-in demo models begin.
const DEMO: &str = "demo/";
const VISITING: &str = "Another agent-world process is running and does the work.";
const TAKEN_OVER: &str = "the other process has ended; this one does the work now";
const FINISHING: &str = "finishing what is under way; Ctrl-C leaves at once";
const EXPLAINED: &str = "/help explains, /quit leaves.";

pub async fn run(to: Whereabouts, wanted: args::Chat) -> Result<Exit> {
    let signals = Signals::listen()?;
    let history = to.data.path().is_dir().then(|| to.data.chat_history());
    let connection = Connection::open(to.clone(), Purpose::Work).await?;
    let which = Which::of(wanted.chat.as_ref(), wanted.new);
    let place = place::find(&connection, wanted.world.as_deref(), which).await?;
    let agent = match &wanted.agent {
        Some(name) => Some(place::known_agent(&place.world, name)?.id.clone()),
        None => None,
    };
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        drawn(connection, to, place, agent, history, signals).await
    } else {
        lines::run(connection, to, place, agent, signals).await
    }
}

async fn drawn(
    connection: Connection,
    to: Whereabouts,
    place: Place,
    agent: Option<String>,
    history: Option<PathBuf>,
    signals: Signals,
) -> Result<Exit> {
    let client = connection.client.clone();
    let is_new = is_new(&client, &place).await;
    let greeting = greeting(&connection, &place, is_new);
    let (tell, host) = mpsc::channel(AHEAD);
    let signs = tokio::spawn(pass_on(signals, tell.clone()));
    let connection = Arc::new(Mutex::new(connection));
    let watch = tokio::spawn(watch(Arc::clone(&connection), to, tell));
    let Place { world, chat, .. } = place;
    let theme = Theme::of_environment();
    let setup =
        Setup { client: client.clone(), world, chat, agent, theme, history, greeting, host };
    let ended = agent_world_terminal::chat::run(setup).await;
    // Whoever is taking the work over is not interrupted in the middle of it.
    let held = connection.lock().await;
    watch.abort();
    signs.abort();
    drop((watch.await, signs.await));
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => {
            drop(held);
            close(connection).await;
            return Err(error);
        }
    };
    let mut signals = Signals::listen()?;
    let mut screen = Screen::stdout();
    if let (true, Some(session)) = (ended.left, held.session()) {
        let path = place::path(&ended.world).then("chats").then(&ended.chat);
        // One that was deleted has nothing to finish.
        let busy = client.get::<Chat>(path).await.is_ok_and(|chat| chat.activity.works());
        if busy && !session.is_visitor() {
            screen.line(Tone::Quiet, FINISHING)?;
        }
        work::finish(session, &mut signals).await?;
    }
    let waiting = waiting_in(&client, &ended.world, &ended.chat).await?;
    let worker = Worker::beside(&held);
    drop(held);
    close(connection).await;
    say_goodbye(&mut screen, &waiting, &ended.world, &ended.chat, worker)
}

/// Ends what this process runs. Nobody else holds the connection any more.
async fn close(connection: Arc<Mutex<Connection>>) {
    if let Some(connection) = Arc::into_inner(connection) {
        connection.into_inner().close().await;
    }
}

/// Whether it is a chat with the demo model in which nothing was said yet: what it understands is not to be guessed.
async fn is_new(client: &Client, place: &Place) -> bool {
    let world = &place.world;
    let mut models =
        world.agents.iter().map(|one| one.model.as_deref().or(world.default_model.as_deref()));
    if !models.all(|model| model.is_some_and(|model| model.starts_with(DEMO))) {
        return false;
    }
    let path = place::path(&world.id).then("chats").then(&place.chat.id).then("messages");
    let said: agent_world_client::Result<Page<IgnoredAny>> =
        client.get(path.with("limit", "1")).await;
    said.is_ok_and(|said| said.data.is_empty())
}

fn greeting(connection: &Connection, place: &Place, is_new: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if place.is_first_use {
        lines.push(FIRST_VISIT.to_owned());
    }
    if place.is_first_use || is_new {
        lines.push(TO_TRY.to_owned());
    }
    match connection.session() {
        Some(session) if session.is_visitor() => lines.push(format!("{VISITING} {EXPLAINED}")),
        Some(_) => lines.push(EXPLAINED.to_owned()),
        None => lines.push(format!("Connected to {}. {EXPLAINED}", connection.client.place())),
    }
    lines
}

async fn pass_on(mut signals: Signals, tell: mpsc::Sender<FromHost>) {
    loop {
        let said = match signals.next().await {
            Sign::Interrupt => FromHost::Interrupt,
            Sign::Terminate => FromHost::End,
        };
        if tell.send(said).await.is_err() {
            return;
        }
    }
}

/// Takes the work over when the process that did it is gone, and finds a server that is elsewhere now.
async fn watch(connection: Arc<Mutex<Connection>>, to: Whereabouts, tell: mpsc::Sender<FromHost>) {
    let mut look = tokio::time::interval(LOOK);
    let mut trouble = Trouble::default();
    loop {
        look.tick().await;
        let looked = look_after(&mut *connection.lock().await, &to).await;
        let said = match looked {
            Ok(said) => {
                trouble = Trouble::default();
                match said {
                    Some(text) => FromHost::Note(text),
                    None => continue,
                }
            }
            Err(error) => match trouble.news(format!("{error:#}")) {
                Some(why) => FromHost::Warning(format!("! {why}")),
                None => continue,
            },
        };
        if tell.send(said).await.is_err() {
            return;
        }
    }
}

/// Sees to it that somebody does the work and answers. Says what changed.
async fn look_after(connection: &mut Connection, to: &Whereabouts) -> Result<Option<String>> {
    if connection.take_over().await.context("the work cannot be taken over")? {
        return Ok(Some(TAKEN_OVER.to_owned()));
    }
    let found = connection.find_again(to).await.context("the server cannot be used")?;
    Ok(found.map(|url| format!("the server is at {url} now")))
}

/// What goes wrong again and again is told once, until it is something else.
#[derive(Debug, Default)]
struct Trouble(Option<String>);

impl Trouble {
    fn news(&mut self, why: String) -> Option<String> {
        let is_new = self.0.as_ref() != Some(&why);
        self.0 = Some(why);
        self.0.clone().filter(|_| is_new)
    }
}

/// What waits in a chat when somebody leaves it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Waiting {
    Known(usize),
    /// Nobody answers there.
    Unknown {
        place: String,
    },
}

/// How many requests wait in a chat.
async fn waiting_in(client: &Client, world: &str, chat: &str) -> Result<Waiting> {
    let path = Path::new("/api/approvals").with("state", "pending").with("world", world);
    let waiting: agent_world_client::Result<Vec<Approval>> =
        client.all(path.with("chat", chat)).await;
    match waiting {
        Ok(waiting) => Ok(Waiting::Known(waiting.len())),
        // The chat or its world was deleted, and nothing waits in it.
        Err(error) if error.status() == Some(404) => Ok(Waiting::Known(0)),
        Err(error) if error.may_pass() => Ok(Waiting::Unknown { place: client.place() }),
        Err(error) => Err(error.into()),
    }
}

/// Who does the work after this conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Worker {
    /// A server, or another process.
    Another,
    /// Nobody, before somebody starts one.
    Nobody,
}

impl Worker {
    fn beside(connection: &Connection) -> Self {
        match connection.session() {
            Some(session) if !session.is_visitor() => Self::Nobody,
            _ => Self::Another,
        }
    }
}

/// Says what goes on waiting, and how to come back.
fn say_goodbye(
    screen: &mut Screen,
    waiting: &Waiting,
    world: &str,
    chat: &str,
    worker: Worker,
) -> Result<Exit> {
    screen.fresh_line()?;
    let waiting = match waiting {
        Waiting::Known(0) => return Ok(Exit::Done),
        Waiting::Known(number) => format!("{} still waiting", words::count(*number, "approval")),
        Waiting::Unknown { place } => {
            format!("nobody answers at {place}, so what is waiting is not known")
        }
    };
    let resume = match worker {
        Worker::Another => "",
        Worker::Nobody => ", then `agent-world resume`",
    };
    screen.line(Tone::Question, &format!("{waiting}. Come back with"))?;
    // The command has a line of its own, so that it is copied whole.
    screen.hint(Tone::Question, &format!("  agent-world chat -w {world} -c {chat}"))?;
    let text = format!("or decide with `agent-world approvals list`{resume}.");
    screen.hint(Tone::Question, &text)?;
    Ok(Exit::Waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_trouble_is_told_once_until_it_changes() {
        let mut trouble = Trouble::default();
        let told: Vec<Option<String>> = ["locked", "locked", "gone", "gone", "locked"]
            .map(|why| trouble.news(why.to_owned()))
            .into();
        let told: Vec<&str> = told.iter().flatten().map(String::as_str).collect();
        assert_eq!(told, ["locked", "gone", "locked"]);
    }
}
