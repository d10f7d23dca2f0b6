//! Posts one message, waits until the agents are done and prints their replies.
//! Called by `main`. Replies go to stdout, everything else to stderr. Never approves anything it was not told to, and
//! decides only about calls that its own message led to: others may be talking in the same chat.

mod descent;

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Read as _};
use std::time::Duration;

use agent_world_core::command::{Answer, Claims, Scope};
use agent_world_core::event::{Attendance, Decider, Event, NoticeCode};
use agent_world_core::ids::{ApprovalId, CallId, ChatId, MessageId};
use agent_world_core::sender::Sender;
use agent_world_core::view::{ApprovalState, ApprovalView};
use agent_world_runtime::{Error, FeedItem, NewMessage, Subscription};
use agent_world_store::{self as store, StoredEvent};
use anyhow::{Context as _, Result};

use crate::args::{Approve, Send};
use crate::data::DataFolder;
use crate::exit::{Exit, Usage};
use crate::narrator::Narrator;
use crate::place::{self, Place, Which};
use crate::screen::{Screen, Tone};
use crate::setup::{Session, who};
use crate::signals::Signals;
use crate::{wire, words, work};
use descent::Descent;

/// How often to look whether the process that works, and the chat, are still there.
const LOOK: Duration = Duration::from_secs(1);
const ONLY_READING: &str = "this run approves only tools that declare themselves read-only";

pub async fn run(data: DataFolder, wanted: Send) -> Result<Exit> {
    let text = message(wanted.message.as_deref())?;
    let mut signals = Signals::listen()?;
    let session = Session::open(data).await?;
    let which = Which::of(wanted.chat.as_ref(), wanted.new);
    let place = place::find(&session, wanted.world.as_deref(), which).await?;
    if place.is_first_use {
        place::tell_of_first_use();
    }
    let mut errand = Errand::begin(session, place, &wanted).await?;
    errand.post(text).await?;
    let finished = errand.wait(&mut signals).await?;
    if finished {
        work::finish(&errand.session, &mut signals).await?;
    }
    errand.session.engine.shutdown().await;
    if finished {
        errand.conclude().await
    } else {
        eprintln!("left before the end; nothing is lost: `agent-world resume` goes on");
        Ok(Exit::Failed)
    }
}

fn message(given: Option<&str>) -> Result<String> {
    let text = match given {
        Some("-") => read_input()?,
        Some(text) => text.to_owned(),
        None if !std::io::stdin().is_terminal() => read_input()?,
        None => String::new(),
    };
    if text.trim().is_empty() {
        let usage = "there is no message; write one, as in: agent-world send \"hello\"";
        return Err(Usage(usage.to_owned()).into());
    }
    Ok(text)
}

fn read_input() -> Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).context("the message cannot be read from stdin")?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// One message and what it leads to.
struct Errand {
    session: Session,
    chat: ChatId,
    world: String,
    /// What the message led to: all that this run may decide about.
    descent: Descent,
    approve: Approve,
    json: bool,
    subscription: Subscription,
    /// The last event of the chat that was handled.
    seen: u64,
    narrator: Narrator,
    replies: Screen,
    notes: Screen,
    failed: bool,
    denied: BTreeSet<ApprovalId>,
}

impl Errand {
    async fn begin(session: Session, place: Place, wanted: &Send) -> Result<Self> {
        let chat = place.chat.id;
        let position = session.store().position().await?;
        let seen = work::standing(session.store(), &chat).await?.head;
        let scope = store::Scope::Chat(chat.clone());
        Ok(Self {
            subscription: session.engine.subscribe(scope, position),
            session,
            chat,
            world: place.world.id.to_string(),
            descent: Descent::default(),
            approve: wanted.approve,
            json: wanted.json,
            seen,
            narrator: Narrator::default(),
            replies: Screen::stdout(),
            notes: Screen::stderr(),
            failed: false,
            denied: BTreeSet::new(),
        })
    }

    async fn post(&mut self, text: String) -> Result<()> {
        let attendance = match self.approve {
            Approve::None => Attendance::Unattended,
            Approve::ReadOnly | Approve::All | Approve::Wait => Attendance::Attended,
        };
        let message = NewMessage { attendance, ..NewMessage::human(text) };
        let posted = self.session.engine.post(&self.chat, message).await?;
        self.descent = Descent::of(posted.message.id);
        if self.session.is_visitor() {
            let text = "another agent-world process is running and does the work";
            self.notes.line(Tone::Quiet, text)?;
        }
        Ok(())
    }

    /// Until nothing is under way any more; false if somebody ended the program before.
    async fn wait(&mut self, signals: &mut Signals) -> Result<bool> {
        let mut look = tokio::time::interval(LOOK);
        loop {
            let standing = work::standing(self.session.store(), &self.chat).await?;
            if standing.head <= self.seen && !standing.works {
                return Ok(true);
            }
            tokio::select! {
                biased;
                _ = signals.next() => return Ok(false),
                item = self.subscription.next() => match item? {
                    Some(FeedItem::Stored(event)) => self.happened(event).await?,
                    Some(FeedItem::Chunk(_) | FeedItem::Output(_)) => {}
                    None => return Ok(false),
                },
                _ = look.tick() => self.take_over().await?,
            }
        }
    }

    async fn take_over(&mut self) -> Result<()> {
        if self.session.take_over().await? {
            let scope = store::Scope::Chat(self.chat.clone());
            let cursor = self.subscription.cursor();
            self.subscription = self.session.engine.subscribe(scope, cursor);
            let text = "the other process has ended; this one does the work now";
            self.notes.line(Tone::Quiet, text)?;
        }
        Ok(())
    }

    async fn happened(&mut self, stored: StoredEvent) -> Result<()> {
        // Events that were there before the message was posted are nobody's news.
        if stored.sealed.seq <= self.seen {
            return Ok(());
        }
        self.seen = stored.sealed.seq;
        let event = stored.sealed.open()?.event;
        self.descent.follow(&event);
        match &event {
            Event::MessagePosted(posted) => {
                let message = &posted.message;
                if let (Sender::Agent(agent), false) = (&message.sender, self.json) {
                    self.replies.said(agent.as_str(), &message.text)?;
                }
                self.message_as_json(&message.id).await?;
            }
            Event::NoticePosted(notice) => {
                self.failed |= notice.code != NoticeCode::ReplyIncomplete;
                self.message_as_json(&notice.id).await?;
            }
            Event::ToolFinished(finished) if self.json => {
                let found = self.session.store().call(&self.chat, &finished.call).await?;
                if let Some(view) = found {
                    self.replies.json(&wire::call(&self.chat, &view))?;
                }
            }
            Event::ApprovalRequested(asked) => self.asked(&asked.approval, &asked.call).await?,
            Event::ApprovalDecided(decided) => {
                if decided.by == Decider::Nobody {
                    self.denied.insert(decided.approval.clone());
                }
                if self.json {
                    let view = self.session.engine.approval(&decided.approval).await?;
                    self.replies.json(&wire::approval(&view))?;
                }
            }
            // The message will not be answered any more.
            Event::ChatDeleted { .. } => self.failed = true,
            _ => {}
        }
        let store = self.session.engine.store().as_ref();
        if let Some(told) = self.narrator.tell(store, &self.chat, &event).await? {
            self.notes.line(told.tone, &told.text)?;
        }
        Ok(())
    }

    async fn message_as_json(&mut self, id: &MessageId) -> Result<()> {
        if self.json
            && let Some(view) = self.session.store().message(&self.chat, id).await?
        {
            self.replies.json(&wire::message(&self.chat, &view))?;
        }
        Ok(())
    }

    /// A call needs approval: decides it as far as the command line says how. What somebody else's message led to
    /// is theirs to decide.
    async fn asked(&mut self, id: &ApprovalId, call: &CallId) -> Result<()> {
        let view = self.session.engine.approval(id).await?;
        if view.state != ApprovalState::Pending {
            return Ok(());
        }
        if self.json {
            self.replies.json(&wire::approval(&view))?;
        }
        if !self.descent.has_call(call) {
            return Ok(());
        }
        let approve = Answer::Approve { scope: Scope::Once, matches: Vec::new(), arguments: None };
        let answer = match self.approve {
            Approve::None | Approve::Wait => return Ok(()),
            // What a tool wants to know nobody here can say.
            _ if view.form.is_some() => {
                self.denied.insert(id.clone());
                Answer::Deny { reason: Some("nobody is there to answer".to_owned()) }
            }
            Approve::All => approve,
            Approve::ReadOnly if self.only_reads(&view) => approve,
            Approve::ReadOnly => {
                self.denied.insert(id.clone());
                Answer::Deny { reason: Some(ONLY_READING.to_owned()) }
            }
        };
        match self.session.engine.answer(id, answer, &who(), Claims::default()).await {
            // Somebody else was faster: theirs counts.
            Err(Error::AlreadySettled(_)) => Ok(()),
            answered => answered.map(drop).map_err(Into::into),
        }
    }

    fn only_reads(&self, view: &ApprovalView) -> bool {
        let spec = self.session.engine.tools().get(&view.tool);
        spec.is_some_and(|spec| spec.read_only)
    }

    /// Says what was not done for want of a person.
    async fn conclude(&mut self) -> Result<Exit> {
        for id in &self.denied {
            let why = match self.approve {
                Approve::ReadOnly => "it is not declared read-only",
                _ => "nobody could be asked",
            };
            let text =
                format!("{id} was denied because {why}; see --approve, or use `agent-world chat`");
            self.notes.line(Tone::Warning, &text)?;
        }
        let filter = store::ApprovalFilter {
            chat: Some(self.chat.clone()),
            ..store::ApprovalFilter::default()
        };
        let waiting = work::pending(self.session.store(), filter).await?;
        for view in &waiting {
            let text = format!("{} is waiting: {}", view.id, words::wish(view));
            self.notes.line(Tone::Warning, &text)?;
        }
        if !waiting.is_empty() {
            let (world, chat) = (&self.world, &self.chat);
            let text = format!(
                "decide with `agent-world approvals approve ID` or `deny ID`, then `agent-world resume`; \
                 or go on with `agent-world chat -w {world} -c {chat}`"
            );
            self.notes.line(Tone::Plain, &text)?;
        }
        Ok(match (self.failed, self.denied.is_empty() && waiting.is_empty()) {
            (true, _) => Exit::Failed,
            (false, false) => Exit::Waiting,
            (false, true) => Exit::Done,
        })
    }
}
