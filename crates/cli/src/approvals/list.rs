//! Lists what waits for a person and, where that is wanted, goes on with what comes.
//! Part of `approvals`. Whoever watches goes on over lost connections and restarts of the server; decides nothing.

use std::time::Duration;

use agent_world_client::wire::{Approval, Chat, Page};
use agent_world_client::{Client, Error, Path};
use agent_world_core::Timestamp;
use anyhow::Result;
use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use clap::Args;
use serde_json::Value;

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::Exit;
use crate::screen::{Screen, Tone};
use crate::signals::Signals;
use crate::table::Table;
use crate::{phrases, place, words};

/// Seconds that a server is asked to wait for a new request at a time.
const WAIT: &str = "30";
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agent-world approvals list
  agent-world approvals list -w demo --json
  agent-world approvals list --watch")]
pub struct List {
    /// Only of this world
    #[arg(short, long)]
    world: Option<String>,
    /// Goes on with new requests as they come, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

pub async fn run(to: &Whereabouts, connection: Connection, wanted: &List) -> Result<Exit> {
    let mut watching = Watching {
        connection,
        path: Path::new("/api/approvals").maybe("world", wanted.world.as_deref()),
        last: None,
        screen: Screen::stdout(),
        json: wanted.json,
    };
    let done = watching.carry_out(to, wanted).await;
    watching.connection.close().await;
    done
}

struct Watching {
    connection: Connection,
    path: Path,
    /// The newest that was shown. Ids grow, so each is shown once.
    last: Option<String>,
    screen: Screen,
    json: bool,
}

impl Watching {
    async fn carry_out(&mut self, to: &Whereabouts, wanted: &List) -> Result<Exit> {
        if let Some(world) = &wanted.world {
            place::known_world(&self.connection.client, Some(world)).await?;
        }
        match wanted.watch {
            true => {
                self.list().await?;
                self.watch(to).await
            }
            false if wanted.json => self.list().await.map(|()| Exit::Done),
            false => self.table().await.map(|()| Exit::Done),
        }
    }

    /// All of them, one on a line.
    async fn table(&mut self) -> Result<()> {
        let path = self.path.clone().with("limit", "1000");
        let mut pages = self.connection.client.pages::<Approval>(path);
        let mut table = Table::new(["APPROVAL", "AGENT", "WANTS", "WORLD", "AGE"], 2);
        let (mut number, now) = (0, Timestamp::now());
        while let Some(one) = pages.next().await? {
            let wants = match one.form {
                Some(_) => phrases::wish(&one),
                None => words::action(&one.tool, &one.arguments),
            };
            let age = age(&one.created_at, now);
            table.row([one.id, one.agent_id, wants, one.world_id, age]);
            number += 1;
        }
        if !table.is_empty() {
            table.show(&mut self.screen)?;
        }
        self.tell_number(number)
    }

    /// Those that wait already, as those that come will be shown.
    async fn list(&mut self) -> Result<()> {
        let client = self.connection.client.clone();
        let mut pages = client.pages::<Value>(self.path.clone().with("limit", "1000"));
        let mut number = 0;
        while let Some(one) = pages.next().await? {
            self.show(&client, &one).await?;
            number += 1;
        }
        self.tell_number(number)
    }

    fn tell_number(&mut self, number: usize) -> Result<()> {
        if !self.json {
            let text = match number {
                0 => "nothing is waiting for approval".to_owned(),
                number => format!(
                    "{} waiting; `agent-world approvals show|approve|deny ID`",
                    words::count(number, "approval")
                ),
            };
            self.screen.hint(Tone::Quiet, &text)?;
        }
        Ok(())
    }

    /// Shows requests as they come, until somebody ends it.
    async fn watch(&mut self, to: &Whereabouts) -> Result<Exit> {
        let mut signals = Signals::listen()?;
        let mut pauses: Option<ExponentialBackoff> = None;
        loop {
            let looked = tokio::select! {
                _ = signals.next() => return Ok(Exit::Done),
                looked = self.look() => looked,
            };
            match looked {
                Ok(()) if pauses.take().is_some() => note("the connection is back")?,
                Ok(()) => {}
                Err(error) if may_pass(&error) => {
                    if pauses.is_none() {
                        note(&format!("the connection is lost, trying again: {error:#}"))?;
                    }
                    let pause = pauses.get_or_insert_with(self::pauses).next();
                    tokio::select! {
                        _ = signals.next() => return Ok(Exit::Done),
                        () = tokio::time::sleep(pause.unwrap_or(LONGEST_PAUSE)) => {}
                    }
                    tokio::select! {
                        _ = signals.next() => return Ok(Exit::Done),
                        () = self.find_again(to) => {}
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// What came since, or nothing after a while.
    async fn look(&mut self) -> Result<()> {
        let client = self.connection.client.clone();
        let next = self.path.clone().with("wait", WAIT).maybe("after", self.last.as_deref());
        let page: Page<Value> = client.get(next).await?;
        for one in &page.data {
            self.show(&client, one).await?;
        }
        Ok(())
    }

    /// A server that was found on the data folder may be elsewhere now, or gone. One that was named is waited for.
    async fn find_again(&mut self, to: &Whereabouts) {
        if to.server.is_some() {
            return;
        }
        if let Ok(next) = Connection::open(to.clone(), Purpose::Visit).await {
            std::mem::replace(&mut self.connection, next).close().await;
        }
    }

    async fn show(&mut self, client: &Client, one: &Value) -> Result<()> {
        let id = one.get("id").and_then(Value::as_str).map(str::to_owned);
        match self.json {
            true => self.screen.json(one)?,
            false => show_line(client, &mut self.screen, one).await?,
        }
        self.last = id;
        Ok(())
    }
}

async fn show_line(client: &Client, screen: &mut Screen, one: &Value) -> Result<()> {
    let approval: Approval = serde_json::from_value(one.clone())?;
    let Approval { world_id, chat_id, created_at, .. } = &approval;
    let title = match client.get::<Chat>(place::path(world_id).then("chats").then(chat_id)).await {
        Ok(chat) => chat.title,
        Err(error) if error.status() == Some(404) => chat_id.clone(),
        Err(error) => return Err(error.into()),
    };
    let wants = match approval.form {
        Some(_) => phrases::wish(&approval),
        None => {
            let action = words::action(&approval.tool, &approval.arguments);
            format!("{}: {action}", approval.agent_id)
        }
    };
    screen.line(Tone::Question, &format!("{}  {wants}", approval.id))?;
    let text = format!("    world {world_id}, chat “{title}”, since {created_at}");
    Ok(screen.line(Tone::Quiet, &text)?)
}

/// How long something waits, in the largest unit.
fn age(since: &str, now: Timestamp) -> String {
    let Ok(since) = since.parse::<Timestamp>() else {
        return since.to_owned();
    };
    match now.duration_since(since).as_secs().max(0) {
        seconds @ ..60 => format!("{seconds}s"),
        seconds @ ..3_600 => format!("{}m", seconds / 60),
        seconds @ ..86_400 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

fn may_pass(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Error>().is_some_and(Error::may_pass)
}

fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(LONGEST_PAUSE)
        .without_max_times()
        .with_jitter()
        .build()
}

fn note(text: &str) -> Result<()> {
    Ok(Screen::stderr().line(Tone::Warning, text)?)
}
