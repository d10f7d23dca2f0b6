//! Goes on with whatever a store owes, and says what was done: a line on stdout for each thing, the rest on stderr.
//! Called by `main`. Works for all chats, decides nothing: what waits for a person goes on waiting.

use std::time::Duration;

use agent_world_core::event::{Ending, Event};
use agent_world_core::sender::Sender;
use agent_world_runtime::{FeedItem, Subscription};
use agent_world_store::{ApprovalFilter, Scope, StoredEvent};
use anyhow::Result;

use crate::args::Resume;
use crate::data::DataFolder;
use crate::exit::Exit;
use crate::narrator::Narrator;
use crate::screen::{Screen, Tone};
use crate::setup::Session;
use crate::signals::Signals;
use crate::{wire, words, work};

/// How often the store is asked whether everything is done.
const LOOK: Duration = Duration::from_millis(50);

pub async fn run(data: DataFolder, wanted: Resume) -> Result<Exit> {
    let mut signals = Signals::listen()?;
    let Some(session) = Session::work(data).await? else {
        let text = "another agent-world process works on this store and does what is owed";
        Screen::stderr().line(Tone::Quiet, text)?;
        return Ok(Exit::Done);
    };
    let mut report = Report {
        subscription: session.engine.subscribe(Scope::All, session.began),
        session,
        json: wanted.json,
        screen: Screen::stdout(),
        notes: Screen::stderr(),
        narrator: Narrator::default(),
        done: 0,
        failed: false,
    };
    if wanted.watch && !wanted.json {
        let text = "working, also for other processes, until Ctrl-C";
        report.notes.line(Tone::Quiet, text)?;
    }
    let finished = report.follow(&mut signals, wanted.watch).await;
    report.session.engine.shutdown().await;
    match finished? {
        true => report.conclude().await,
        false => Ok(Exit::Done),
    }
}

struct Report {
    session: Session,
    subscription: Subscription,
    json: bool,
    screen: Screen,
    notes: Screen,
    narrator: Narrator,
    done: usize,
    failed: bool,
}

impl Report {
    /// Until nothing is left to do; false if somebody ended the program before.
    async fn follow(&mut self, signals: &mut Signals, watch: bool) -> Result<bool> {
        let mut look = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                biased;
                _ = signals.next() => return Ok(false),
                item = self.subscription.next() => match item? {
                    Some(FeedItem::Stored(event)) => self.happened(event).await?,
                    Some(FeedItem::Chunk(_) | FeedItem::Output(_)) => {}
                    None => return Ok(false),
                },
                _ = look.tick(), if !watch => {
                    if self.is_done().await? {
                        return Ok(true);
                    }
                }
            }
        }
    }

    async fn is_done(&self) -> Result<bool> {
        let idle = work::owing(self.session.store()).await?.chats.is_empty();
        Ok(idle && self.subscription.cursor() >= self.session.store().position().await?)
    }

    async fn happened(&mut self, stored: StoredEvent) -> Result<()> {
        if self.json {
            self.screen.json(&wire::event(&stored))?;
        }
        let Some(chat) = &stored.chat else {
            return Ok(());
        };
        let event = stored.sealed.open()?.event;
        let failed = matches!(&event, Event::TurnEnded { ending: Ending::Failed { .. }, .. });
        self.failed |= failed;
        let store = self.session.engine.store().as_ref();
        let told = self.narrator.tell(store, chat, &event).await?;
        let (tone, text) = match (&event, told) {
            (Event::MessagePosted(posted), _) => match &posted.message.sender {
                Sender::Agent(agent) => (Tone::Plain, format!("{agent}: {}", posted.message.text)),
                sender => (Tone::Quiet, format!("{sender}: {}", posted.message.text)),
            },
            (Event::ApprovalRequested(asked), _) => {
                let text = format!("? {} waits: {}", asked.approval, asked.question);
                (Tone::Question, text)
            }
            (_, Some(told)) => (told.tone, told.text),
            (_, None) => return Ok(()),
        };
        self.done += 1;
        if !self.json {
            self.screen.line(tone, &format!("[{} {chat}] {text}", stored.world))?;
        }
        Ok(())
    }

    async fn conclude(&mut self) -> Result<Exit> {
        let unreadable = work::owing(self.session.store()).await?.unreadable;
        for (chat, error) in &unreadable {
            let text = format!("chat {chat} cannot be gone on with: {error:#}");
            self.notes.line(Tone::Warning, &text)?;
        }
        let waiting = work::pending(self.session.store(), ApprovalFilter::default()).await?;
        let text = match (self.done, waiting.len()) {
            (0, 0) => "there was nothing to do".to_owned(),
            (_, 0) => "nothing is left to do".to_owned(),
            (_, number) => format!(
                "nothing is left to do but {}: `agent-world approvals list`",
                words::count(number, "approval")
            ),
        };
        self.notes.line(Tone::Quiet, &text)?;
        Ok(if self.failed || !unreadable.is_empty() { Exit::Failed } else { Exit::Done })
    }
}
