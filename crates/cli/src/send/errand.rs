//! One message and what it leads to: posted once, followed until nothing is under way any more.
//! Used by `send`. Where the server it talked to is gone and its store is here, it goes on with the store; nothing that
//! happened meanwhile is missed, because events have the same numbers everywhere.

use std::collections::BTreeSet;
use std::time::Duration;

use agent_world_client::wire::{
    Activity, Approval, ApprovalState, Call, CallState, Doing, Event, Message, NewMessage, News,
    OnApproval, Page, Posted, Role, Standing,
};
use agent_world_client::{Error, Following, Heard, Path, Scope};
use agent_world_runtime::{Environment as _, System};
use anyhow::Result;
use backon::{ExponentialBuilder, Retryable as _};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::conclusion::Conclusion;
use super::deciding::{Became, Deciding};
use super::descent::Descent;
use super::leaving::{self, Stage};
use super::{Approve, Form, finish};
use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::Exit;
use crate::narration::{Narration, is_failure};
use crate::phrases;
use crate::place::{self, Place};
use crate::progress::Progress;
use crate::screen::{Screen, Tone};
use crate::signals::Signals;

/// How often to look whether whoever works is still there.
const LOOK: Duration = Duration::from_secs(1);

pub struct Errand {
    to: Whereabouts,
    pub(super) connection: Connection,
    pub(super) world: String,
    pub(super) chat: String,
    path: Path,
    scope: Scope,
    following: Following,
    /// The connection to a server is gone for now.
    lost: bool,
    pub(super) approve: Approve,
    deciding: Deciding,
    /// What the message led to: all that this run may decide about.
    pub(super) descent: Descent,
    form: Form,
    stage: Stage,
    /// What goes on, as far as it was heard since the message was posted.
    activity: Option<Activity>,
    narration: Narration,
    progress: Progress,
    replies: Screen,
    notes: Screen,
    pub(super) failed: bool,
    /// The chat is deleted: nothing comes any more.
    pub(super) gone: bool,
    pub(super) denied: BTreeSet<String>,
    /// Calls of the message that were cut off while they ran.
    pub(super) interrupted: Vec<Call>,
}

impl Errand {
    /// Follows the chat from now on: whatever the message leads to comes after this.
    pub async fn begin(
        to: Whereabouts,
        connection: Connection,
        place: Place,
        approve: Approve,
        form: Form,
    ) -> Result<Self> {
        let (world, chat) = (place.world.id, place.chat.id);
        let scope = Scope::Chat { world: world.clone(), chat: chat.clone() };
        let following = connection.client.follow(&scope, None).await?;
        Ok(Self {
            to,
            path: place::path(&world).then("chats").then(&chat),
            deciding: Deciding::new(approve, place::path(&world)),
            connection,
            world,
            chat,
            scope,
            following,
            lost: false,
            approve,
            descent: Descent::default(),
            form,
            stage: Stage::Unsent,
            activity: None,
            narration: Narration::default(),
            progress: Progress::start("waiting for the agents"),
            replies: Screen::stdout(),
            notes: Screen::stderr(),
            failed: false,
            gone: false,
            denied: BTreeSet::new(),
            interrupted: Vec::new(),
        })
    }

    pub async fn run(&mut self, text: String, signals: &mut Signals) -> Result<Exit> {
        tokio::select! {
            biased;
            _ = signals.next() => return self.leave(),
            done = self.post_and_wait(text) => done?,
        }
        finish(&self.connection, signals).await?;
        tokio::select! {
            biased;
            _ = signals.next() => self.leave(),
            exit = self.conclude() => exit,
        }
    }

    pub async fn close(self) {
        drop(self.following);
        self.connection.close().await;
    }

    /// Somebody ended the program: they are told what goes on without it.
    fn leave(&mut self) -> Result<Exit> {
        let activity = self.activity.as_ref();
        let text = leaving::words(self.stage, &self.connection, &self.chat, activity);
        self.note(Tone::Plain, &text)?;
        Ok(Exit::Failed)
    }

    async fn post_and_wait(&mut self, text: String) -> Result<()> {
        self.stage = Stage::Posting;
        self.post(text).await?;
        self.stage = Stage::Posted;
        self.wait().await
    }

    async fn post(&mut self, text: String) -> Result<()> {
        let on_approval = match self.approve {
            Approve::None => OnApproval::Deny,
            Approve::ReadOnly | Approve::All | Approve::Wait => OnApproval::Ask,
        };
        let message = NewMessage { content: text, reply_to: None, on_approval };
        // The same message however often it is sent: whether a lost request was carried out nobody knows.
        let key = key();
        let path = self.path.clone().then("messages");
        let client = &self.connection.client;
        let posted: Posted = again(|| client.post_once(path.clone(), &message, &key)).await?;
        self.descent = Descent::of(&posted.message.id);
        if self.connection.session().is_some_and(|session| session.is_visitor()) {
            self.note(Tone::Quiet, "another agent-world process is running and does the work")?;
        }
        Ok(())
    }

    /// Until nothing is under way any more.
    async fn wait(&mut self) -> Result<()> {
        let mut look = tokio::time::interval(LOOK);
        let mut news = true;
        loop {
            if self.gone || (news && self.is_done().await?) {
                return Ok(());
            }
            news = tokio::select! {
                biased;
                heard = self.following.next() => match heard? {
                    Heard::Event(event) => self.happened(&event).await.map(|()| true)?,
                    Heard::Lost(why) => self.lose(&why).await.map(|()| false)?,
                    Heard::Back => self.come_back().map(|()| true)?,
                    Heard::Piece(_) | Heard::Output(_) => false,
                },
                _ = look.tick() => self.look().await.map(|()| true)?,
            };
        }
    }

    /// Nothing is under way that needs no person, and all that happened was heard.
    async fn is_done(&mut self) -> Result<bool> {
        if self.lost || self.activity.as_ref().is_some_and(is_at_work) {
            return Ok(false);
        }
        let client = &self.connection.client;
        let standing: Standing = match client.get(self.path.clone().then("standing")).await {
            Ok(standing) => standing,
            // Its deletion may be told of no more.
            Err(error) if error.status() == Some(404) => {
                (self.failed, self.gone) = (true, true);
                return Ok(true);
            }
            // The stream says when it is back.
            Err(error) if error.may_pass() => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        if standing.works {
            return Ok(false);
        }
        let known = self.following.known().to_string();
        let rest = self.scope.path().with("after", known).with("limit", "1");
        let rest: Page<IgnoredAny> = match client.get(rest).await {
            Err(error) if error.may_pass() => return Ok(false),
            rest => rest?,
        };
        Ok(rest.data.is_empty() && rest.next.is_none())
    }

    /// Looks whether whoever does the work is still there.
    async fn look(&mut self) -> Result<()> {
        if self.lost {
            return self.find_again().await;
        }
        // Streams of before end, and go on with the routes of now.
        if self.connection.take_over().await? {
            self.note(Tone::Quiet, "the other process has ended; this one does the work now")?;
        }
        Ok(())
    }

    async fn lose(&mut self, why: &str) -> Result<()> {
        // Within this process nothing is lost but on taking over, and then it is back at once.
        if self.connection.session().is_some() || self.gone {
            return Ok(());
        }
        self.lost = true;
        let place = self.connection.client.place();
        self.note(Tone::Warning, &format!("the connection to {place} is lost: {why}; trying again"))
    }

    fn come_back(&mut self) -> Result<()> {
        match std::mem::take(&mut self.lost) {
            true => self.note(Tone::Quiet, "the connection is back"),
            false => Ok(()),
        }
    }

    /// A server that was found on the data folder may be gone, or be elsewhere now. One that was named is waited for.
    async fn find_again(&mut self) -> Result<()> {
        if self.to.server.is_some() {
            return Ok(());
        }
        let Ok(next) = Connection::open(self.to.clone(), Purpose::Work).await else {
            return Ok(());
        };
        self.following = next.client.follow(&self.scope, Some(self.following.known())).await?;
        let text = match next.session() {
            Some(session) if session.is_visitor() => "the server has ended; another process works",
            Some(_) => "the server has ended; this process does the work now",
            None => "the server is back",
        };
        std::mem::replace(&mut self.connection, next).close().await;
        self.lost = false;
        self.note(Tone::Quiet, text)
    }

    async fn happened(&mut self, event: &Event) -> Result<()> {
        self.descent.follow(event);
        self.print(event)?;
        match &event.news {
            News::Notice(notice) => self.failed |= is_failure(notice),
            News::Approval(approval) => self.asked(approval).await?,
            News::Tool(call)
                if call.state == CallState::Interrupted && self.descent.has_call(&call.id) =>
            {
                self.interrupted.push(Call::clone(call));
            }
            News::Activity(activity) => {
                self.progress.tell(&phrases::activity(activity));
                self.activity = Some(activity.clone());
            }
            // The message will not be answered any more.
            News::Changed(changed) if changed.entity == "chat" && changed.action == "deleted" => {
                (self.failed, self.gone) = (true, true);
            }
            _ => {}
        }
        match self.narration.tell(event) {
            Some(told) => self.note(told.tone, &told.text),
            None => Ok(()),
        }
    }

    fn print(&mut self, event: &Event) -> Result<()> {
        let Self { replies, progress, form, .. } = self;
        let is_said = |message: &Message| phrases::is_said(message);
        let printed = match (*form, &event.news) {
            (Form::Events, _) => progress.aside(|| replies.json(&event.json)),
            (Form::Text, News::Message(message))
                if is_said(message) && message.role == Role::Assistant =>
            {
                progress.aside(|| replies.said(&message.sender, &message.content))
            }
            (Form::Objects, News::Message(message)) if is_said(message) => {
                progress.aside(|| replies.json(&object("message", event)))
            }
            (Form::Objects, News::Tool(call)) if call.state.is_over() => {
                progress.aside(|| replies.json(&object("tool", event)))
            }
            (Form::Objects, News::Approval(_)) => {
                progress.aside(|| replies.json(&object("approval", event)))
            }
            _ => Ok(()),
        };
        Ok(printed?)
    }

    /// A call needs approval, or was decided about. What somebody else's message led to is theirs to decide.
    async fn asked(&mut self, approval: &Approval) -> Result<()> {
        if !self.descent.has_call(&approval.tool_call_id) {
            return Ok(());
        }
        if approval.state == ApprovalState::Denied && approval.decided_by.is_none() {
            self.denied.insert(approval.id.clone());
        }
        if !approval.is_pending() {
            return Ok(());
        }
        match self.deciding.decide(&self.connection.client, approval).await? {
            Became::Denied => {
                self.denied.insert(approval.id.clone());
            }
            Became::Left(Some(why)) => {
                self.note(Tone::Warning, &format!("{} is not decided: {why}", approval.id))?;
            }
            Became::Decided | Became::Left(None) => {}
        }
        Ok(())
    }

    /// Says what was not done for want of a person, or was cut off.
    async fn conclude(&mut self) -> Result<Exit> {
        let conclusion = Conclusion::reach(self).await?;
        for (tone, text) in conclusion.lines(self) {
            self.note(tone, &text)?;
        }
        if let (Form::Objects, Some(waits)) = (self.form, conclusion.object(self)) {
            self.replies.json(&waits)?;
        }
        Ok(conclusion.exit(self))
    }

    fn note(&mut self, tone: Tone, text: &str) -> Result<()> {
        let Self { notes, progress, .. } = self;
        Ok(progress.aside(|| notes.line(tone, text))?)
    }
}

/// A model or a tool is at it for certain. Otherwise it may be, and has to be asked.
fn is_at_work(activity: &Activity) -> bool {
    let thinks = activity.agents.iter().any(|agent| agent.doing == Doing::Thinking);
    activity.is_busy() && thinks
}

/// What an event is about, with its type.
fn object(kind: &str, event: &Event) -> Value {
    let mut data = event.json.get("data").cloned().unwrap_or_default();
    if let Some(fields) = data.as_object_mut() {
        fields.insert("type".to_owned(), Value::from(kind));
    }
    data
}

/// Asks again while it may pass, a few times. Only for what can be asked twice without being done twice.
pub async fn again<T, F>(ask: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let pauses = ExponentialBuilder::default().with_jitter().with_max_times(5);
    ask.retry(pauses).when(Error::may_pass).await
}

/// A key that nobody else uses.
fn key() -> String {
    format!("send-{:032x}", System.entropy())
}
