//! Goes on with whatever a store owes, and says what was done: a line on stdout for each thing, the rest on stderr.
//! Called by `main`. Works for all chats, decides nothing: what waits for a person goes on waiting. Where a server runs
//! there is nothing to do: it works.

use std::time::Duration;

use agent_world_client::wire::{Approval, Event, News, Page, Role};
use agent_world_client::{Client, Following, Heard, Path, Scope};
use agent_world_server::last_event_id;
use anyhow::Result;
use clap::Args;
use serde::de::IgnoredAny;

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::Exit;
use crate::narration::{Narration, is_failure};
use crate::screen::{Screen, Tone};
use crate::setup::Session;
use crate::signals::Signals;
use crate::{phrases, words, work};

/// How often the store is asked whether everything is done.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, Args)]
#[command(after_help = "\
Works on the store of the data folder. A server does the work for its own store: then there is nothing to do here.

Examples:
  agent-world resume
  agent-world resume --watch
  agent-world resume --json")]
pub struct Resume {
    /// Keeps going, and takes up what other processes leave, until Ctrl-C or SIGTERM
    #[arg(long)]
    watch: bool,
    /// One JSON object per line for each event
    #[arg(long)]
    json: bool,
}

pub async fn run(to: Whereabouts, wanted: Resume) -> Result<Exit> {
    let mut signals = Signals::listen()?;
    let connection = Connection::open(to, Purpose::Work).await?;
    let done = match connection.session() {
        None => {
            let text = format!("the server at {} does what is owed", connection.client.place());
            Screen::stderr().line(Tone::Quiet, &text).map(|()| Exit::Done).map_err(Into::into)
        }
        Some(session) if session.is_visitor() => {
            let text = "another agent-world process works on this store and does what is owed";
            Screen::stderr().line(Tone::Quiet, text).map(|()| Exit::Done).map_err(Into::into)
        }
        Some(session) => go_on(&connection.client, session, &wanted, &mut signals).await,
    };
    connection.close().await;
    done
}

async fn go_on(
    client: &Client,
    session: &Session,
    wanted: &Resume,
    signals: &mut Signals,
) -> Result<Exit> {
    // The engine is at it already: what it has done since it started is told, too.
    let began = last_event_id(session.began);
    let mut report = Report {
        client,
        session,
        following: client.follow(&Scope::All, Some(began)).await?,
        json: wanted.json,
        screen: Screen::stdout(),
        notes: Screen::stderr(),
        narration: Narration::default(),
        done: 0,
        failed: false,
    };
    if wanted.watch && !wanted.json {
        let text = "working, also for other processes, until Ctrl-C";
        report.notes.line(Tone::Quiet, text)?;
    }
    match report.follow(signals, wanted.watch).await? {
        true => report.conclude().await,
        false => Ok(Exit::Done),
    }
}

struct Report<'a> {
    client: &'a Client,
    session: &'a Session,
    following: Following,
    json: bool,
    screen: Screen,
    notes: Screen,
    narration: Narration,
    done: usize,
    failed: bool,
}

impl Report<'_> {
    /// Until nothing is left to do; false if somebody ended the program before.
    async fn follow(&mut self, signals: &mut Signals, watch: bool) -> Result<bool> {
        let mut look = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                biased;
                _ = signals.next() => return Ok(false),
                heard = self.following.next() => {
                    if let Heard::Event(event) = heard? {
                        self.happened(&event)?;
                    }
                }
                _ = look.tick(), if !watch => {
                    if self.is_done().await? {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Nothing is owed, and all that happened is told.
    async fn is_done(&self) -> Result<bool> {
        if !work::owing(self.session.store()).await?.chats.is_empty() {
            return Ok(false);
        }
        let known = self.following.known().to_string();
        let rest = Scope::All.path().with("after", known).with("limit", "1");
        let rest: Page<IgnoredAny> = self.client.get(rest).await?;
        Ok(rest.data.is_empty() && rest.next.is_none())
    }

    fn happened(&mut self, event: &Event) -> Result<()> {
        if self.json {
            self.screen.json(&event.json)?;
        }
        let Some(chat) = &event.chat_id else {
            return Ok(());
        };
        if let News::Notice(notice) = &event.news {
            self.failed |= is_failure(notice);
        }
        let told = self.narration.tell(event);
        let (tone, text) = match (&event.news, told) {
            (News::Message(message), _)
                if phrases::is_said(message) && message.role != Role::System =>
            {
                let tone = match message.agent_id {
                    Some(_) => Tone::Plain,
                    None => Tone::Quiet,
                };
                (tone, format!("{}: {}", message.sender, message.content))
            }
            (News::Approval(asked), _) if asked.is_pending() => {
                (Tone::Question, format!("? {} waits: {}", asked.id, asked.message))
            }
            (_, Some(told)) => (told.tone, told.text),
            (_, None) => return Ok(()),
        };
        self.done += 1;
        if !self.json {
            self.screen.line(tone, &format!("[{} {chat}] {text}", event.world_id))?;
        }
        Ok(())
    }

    async fn conclude(&mut self) -> Result<Exit> {
        let unreadable = work::owing(self.session.store()).await?.unreadable;
        for (chat, error) in &unreadable {
            let text = format!("chat {chat} cannot be gone on with: {error:#}");
            self.notes.line(Tone::Warning, &text)?;
        }
        let path = Path::new("/api/approvals").with("limit", "1000");
        let waiting: Vec<Approval> = self.client.all(path).await?;
        let text = match (self.done, waiting.len()) {
            (0, 0) => "there was nothing to do".to_owned(),
            (_, 0) => "nothing is left to do".to_owned(),
            (_, number) => format!(
                "nothing is left to do but {}: `agent-world approvals list`",
                words::count(number, "approval")
            ),
        };
        self.notes.hint(Tone::Quiet, &text)?;
        Ok(if self.failed || !unreadable.is_empty() { Exit::Failed } else { Exit::Done })
    }
}
