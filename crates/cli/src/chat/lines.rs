//! A conversation without a terminal: lines in, lines out.
//! Called by `chat`. Each line is a message, posted when the agents are done with the one before, or the answer to what is asked.
//! Everything it shows comes from the log, so that what is written is what is stored.

mod answering;
mod commands;

use std::collections::HashSet;

use agent_world_client::wire::{
    Activity, ApprovalState, Chat, Event, Message, NewMessage, News, OnApproval, Page, Posted, Role,
};
use agent_world_client::{Client, Error, Following, Heard, Path};
use agent_world_runtime::{Environment as _, System};
use agent_world_terminal::chat::{address, insist};
use anyhow::Result;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::input::{Input, Line};
use super::opening::{self, Opening};
use super::question::{self, Questions};
use super::telling::Telling;
use super::{FINISHING, LOOK, Worker, look_after, say_goodbye, waiting_in};
use crate::connect::{Connection, Whereabouts};
use crate::exit::Exit;
use crate::place::{self, Place};
use crate::screen::{Screen, Tone};
use crate::signals::{Sign, Signals};
use crate::work;

/// The call that stands for a request in the list of messages.
pub(super) const REQUEST: &str = "client.requestApproval";

pub async fn run(
    connection: Connection,
    to: Whereabouts,
    place: Place,
    agent: Option<String>,
    mut signals: Signals,
) -> Result<Exit> {
    let mut conversation = Conversation::open(connection, to, place, agent).await?;
    let ending = conversation.hold(&mut signals).await?;
    let (client, world, chat) = conversation.whereabouts();
    let Conversation { connection, mut screen, .. } = conversation;
    if let (Ending::Left, Some(session)) = (ending, connection.session()) {
        work::finish(session, &mut signals).await?;
    }
    let waiting = waiting_in(&client, &world, &chat).await?;
    let worker = Worker::beside(&connection);
    connection.close().await;
    say_goodbye(&mut screen, &waiting, &world, &chat, worker)
}

/// How a conversation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The person is done.
    Left,
    /// Somebody wants the program to end at once.
    Ended,
}

struct Conversation {
    connection: Connection,
    /// Where the server is looked for that may be elsewhere by now.
    to: Whereabouts,
    place: Place,
    /// Whom a message is for that begins with no mention.
    agent: Option<String>,
    input: Input,
    screen: Screen,
    following: Following,
    activity: Activity,
    telling: Telling,
    questions: Questions,
    /// Messages and decisions of this person that were not heard back yet. They need no telling.
    own_messages: HashSet<String>,
    own_decisions: HashSet<String>,
    /// What else lasting decisions answer is being counted. Nobody waits for that.
    asides: JoinSet<Option<String>>,
    /// Nothing is under way: the next line is a message.
    idle: bool,
    /// The person wants to go as soon as nothing is under way.
    leaving: bool,
    /// The person was told that the chat was deleted.
    deleted: bool,
}

impl Conversation {
    async fn open(
        connection: Connection,
        to: Whereabouts,
        place: Place,
        agent: Option<String>,
    ) -> Result<Self> {
        let mut screen = Screen::stdout();
        let Opening { following, activity, questions } =
            opening::enter(&connection, &place, &mut screen).await?;
        Ok(Self {
            connection,
            to,
            place,
            agent,
            input: Input::open()?,
            screen,
            following,
            activity,
            telling: Telling::default(),
            questions,
            own_messages: HashSet::new(),
            own_decisions: HashSet::new(),
            asides: JoinSet::new(),
            idle: false,
            leaving: false,
            deleted: false,
        })
    }

    fn whereabouts(&self) -> (Client, String, String) {
        let Place { world, chat, .. } = &self.place;
        (self.connection.client.clone(), world.id.clone(), chat.id.clone())
    }

    fn client(&self) -> &Client {
        &self.connection.client
    }

    fn path(&self) -> Path {
        place::path(&self.place.world.id).then("chats").then(&self.place.chat.id)
    }

    async fn hold(&mut self, signals: &mut Signals) -> Result<Ending> {
        match self.converse(signals).await {
            Err(error) if is_gone(&error) => {
                // A world that is deleted takes the logs of its chats along, so that no event may have told.
                if !self.deleted {
                    self.note(Tone::Warning, "! somebody deleted this chat")?;
                }
                Ok(Ending::Left)
            }
            ended => ended,
        }
    }

    async fn converse(&mut self, signals: &mut Signals) -> Result<Ending> {
        let mut look = tokio::time::interval(LOOK);
        loop {
            self.catch_up().await?;
            if self.leaving && (self.idle || self.deleted) {
                return Ok(Ending::Left);
            }
            // A pipe is read when it is its turn, so that each line finds the agents done with the one before.
            let listens = !self.leaving
                && (self.input.is_typed || self.idle || self.questions.asked.is_some());
            tokio::select! {
                biased;
                sign = signals.next() => {
                    if let Some(ending) = self.signalled(sign).await? {
                        return Ok(ending);
                    }
                }
                heard = self.following.next() => {
                    if let Heard::Event(event) = heard? {
                        self.happened(&event).await?;
                    }
                }
                Some(told) = self.asides.join_next() => {
                    if let Ok(Some(text)) = told {
                        self.note(Tone::Quiet, &format!("* {text}"))?;
                    }
                }
                line = self.input.next(), if listens => match line {
                    Some(line) => self.heard(line).await?,
                    None => self.leave()?,
                },
                _ = look.tick() => {
                    if let Some(said) = look_after(&mut self.connection, &self.to).await? {
                        self.note(Tone::Quiet, &said)?;
                    }
                }
            }
        }
    }

    /// Asks what there is to ask once everything that is stored is on the screen.
    async fn catch_up(&mut self) -> Result<()> {
        self.idle = false;
        if self.deleted || !self.is_up_to_date().await? {
            return Ok(());
        }
        let asks = !self.leaving && self.questions.ask(&mut self.screen)?;
        self.idle = !self.activity.works() && !asks;
        if self.idle && !self.leaving {
            self.screen.prompt(Tone::Name, "> ")?;
        }
        Ok(())
    }

    async fn is_up_to_date(&mut self) -> Result<bool> {
        if !self.own_messages.is_empty() || !self.own_decisions.is_empty() {
            return Ok(false);
        }
        // What goes on is read before it is asked whether there is something to hear: in this order, what was read is
        // never newer than what was heard.
        let chat: Chat = self.client().get(self.path()).await?;
        let later = self.path().then("events").with("after", self.following.known().to_string());
        let page: Page<IgnoredAny> = self.client().get(later.with("limit", "1")).await?;
        self.activity = chat.activity;
        Ok(page.data.is_empty())
    }

    async fn signalled(&mut self, sign: Sign) -> Result<Option<Ending>> {
        self.screen.fresh_line()?;
        if sign == Sign::Terminate || self.leaving {
            return Ok(Some(Ending::Ended));
        }
        let chat: Chat = self.client().get(self.path()).await?;
        if chat.activity.works() {
            self.client().post::<Value>(self.path().then("stop"), &json!({})).await?;
            return Ok(None);
        }
        Ok(Some(Ending::Left))
    }

    fn leave(&mut self) -> Result<()> {
        self.leaving = true;
        if self.activity.works() {
            self.note(Tone::Quiet, FINISHING)?;
        }
        Ok(())
    }

    fn note(&mut self, tone: Tone, text: &str) -> Result<()> {
        Ok(self.screen.line(tone, text)?)
    }

    // What is heard from the person.

    async fn heard(&mut self, line: Line) -> Result<()> {
        if self.input.is_typed {
            self.screen.line_was_entered();
        } else {
            self.screen.echo(&line.text)?;
        }
        let asked = self.questions.asked.clone();
        match asked {
            _ if line.text.starts_with('/') && !line.text.starts_with("//") => {
                self.command(&line.text).await
            }
            // Somebody was still typing a message when the question came up.
            Some(asked) if !self.input.is_typed || line.read_at >= asked.since => {
                self.answered(question::read(&asked, &line.text), &line.text, asked.step).await
            }
            _ => self.post(&line.text).await,
        }
    }

    async fn post(&mut self, line: &str) -> Result<()> {
        let text = line.strip_prefix('/').unwrap_or(line).trim();
        if text.is_empty() {
            return Ok(());
        }
        let content = match &self.agent {
            Some(agent) if !text.starts_with('@') => format!("@{agent} {text}"),
            _ => text.to_owned(),
        };
        if let Some(told) = address::of_strangers(&self.place.world, &content) {
            self.note(Tone::Quiet, &told)?;
        }
        let message = NewMessage { content, reply_to: None, on_approval: OnApproval::Ask };
        // The same message however often it is sent: whether a lost request was carried out nobody knows.
        let key = format!("chat-{:032x}", System.entropy());
        let (client, path) = (self.client().clone(), self.path().then("messages"));
        let posted: Result<Posted, Error> =
            insist(|| client.post_once(path.clone(), &message, &key)).await;
        match posted {
            Ok(posted) => {
                self.own_messages.insert(posted.message.id);
                Ok(())
            }
            Err(refused @ Error::Refused(_)) if refused.status() != Some(404) => {
                self.note(Tone::Warning, &format!("! not posted: {refused}"))
            }
            Err(error) => Err(error.into()),
        }
    }

    // What happens.

    async fn happened(&mut self, event: &Event) -> Result<()> {
        if event.chat_id.as_deref() != Some(&self.place.chat.id) {
            return Ok(());
        }
        let mut is_own = false;
        match &event.news {
            News::Message(message) => self.said(message)?,
            News::Activity(activity) => self.activity = activity.clone(),
            News::Approval(approval) if approval.state == ApprovalState::Pending => {
                self.questions.add(approval.as_ref().clone());
            }
            News::Approval(approval) => {
                self.questions.settle(&approval.id);
                is_own = self.own_decisions.remove(&approval.id);
            }
            News::Changed(changed) if changed.entity == "chat" && changed.action == "deleted" => {
                self.leaving = true;
                self.deleted = true;
            }
            _ => {}
        }
        match self.telling.tell(event) {
            Some(told) if !is_own => self.note(told.tone, &told.text),
            _ => Ok(()),
        }
    }

    fn said(&mut self, message: &Message) -> Result<()> {
        let is_request = message.tool_calls.iter().any(|call| call.function.name == REQUEST);
        let is_own = self.own_messages.remove(&message.id);
        match message.role {
            Role::Tool | Role::System => Ok(()),
            Role::User | Role::Assistant if is_own || is_request => Ok(()),
            Role::User | Role::Assistant if message.content.trim().is_empty() => Ok(()),
            Role::User | Role::Assistant => {
                Ok(self.screen.said(&message.sender, &message.content)?)
            }
        }
    }
}

/// Whether there is nothing left to talk in.
fn is_gone(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Error>().is_some_and(|error| matches!(error.status(), Some(404 | 410)))
}
