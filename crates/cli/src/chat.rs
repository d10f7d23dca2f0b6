//! An interactive conversation: messages, replies as they are made, and approvals at the prompt.
//! Called by `main`. One loop owns the screen; everything it shows comes from the log, so that what is on the screen
//! is what is stored. Without a terminal each line is a message, or the answer to what is being asked.

mod commands;
mod input;
mod opening;
mod question;
mod voices;

use std::collections::HashSet;
use std::time::Duration;

use agent_world_core::command::{Answer, Claims};
use agent_world_core::event::Event;
use agent_world_core::ids::{AgentId, ApprovalId, ChatId, MessageId};
use agent_world_core::item::Reply;
use agent_world_core::sender::Sender;
use agent_world_core::view::ApprovalState;
use agent_world_runtime::{Error, FeedItem, NewMessage, Standing, Subscription};
use agent_world_store::{Scope, StoredEvent};
use anyhow::Result;

use crate::args;
use crate::data::DataFolder;
use crate::exit::Exit;
use crate::narrator::Narrator;
use crate::place::{self, Place, Which};
use crate::screen::{Screen, Tone};
use crate::setup::{Session, who};
use crate::signals::{Sign, Signals};
use crate::work;
use input::{Input, Line};
use question::{Questions, Reading, Step};
use voices::Voices;

/// How often to look whether the process that works, and the chat, are still there.
const LOOK: Duration = Duration::from_secs(1);

pub async fn run(data: DataFolder, wanted: args::Chat) -> Result<Exit> {
    let mut signals = Signals::listen()?;
    let session = Session::open(data).await?;
    let which = Which::of(wanted.chat.as_ref(), wanted.new);
    let place = place::find(&session, wanted.world.as_deref(), which).await?;
    let agent = match &wanted.agent {
        Some(name) => Some(place::known_agent(&place.world, name)?),
        None => None,
    };
    let mut conversation = Conversation::open(session, place, agent).await?;
    let ending = conversation.hold(&mut signals).await?;
    if ending == Ending::Left {
        work::finish(&conversation.session, &mut signals).await?;
    }
    conversation.session.engine.shutdown().await;
    conversation.say_goodbye().await
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
    session: Session,
    place: Place,
    /// Whom a message is for that begins with no mention.
    agent: Option<AgentId>,
    input: Input,
    screen: Screen,
    subscription: Subscription,
    /// The last event of the chat that is on the screen.
    seen: u64,
    narrator: Narrator,
    voices: Voices,
    questions: Questions,
    /// Messages and decisions of this person, which need no telling.
    own_messages: HashSet<MessageId>,
    own_decisions: HashSet<ApprovalId>,
    /// Nothing is under way: the next line is a message.
    idle: bool,
    /// The person wants to go as soon as nothing is under way.
    leaving: bool,
    /// The person was told that the chat was deleted.
    deleted: bool,
}

impl Conversation {
    async fn open(session: Session, place: Place, agent: Option<AgentId>) -> Result<Self> {
        let chat = place.chat.id.clone();
        let subscription = session.engine.subscribe(Scope::Chat(chat), u64::MAX);
        let mut conversation = Self {
            session,
            place,
            agent,
            input: Input::open()?,
            screen: Screen::stdout(),
            subscription,
            seen: 0,
            narrator: Narrator::default(),
            voices: Voices::default(),
            questions: Questions::default(),
            own_messages: HashSet::new(),
            own_decisions: HashSet::new(),
            idle: false,
            leaving: false,
            deleted: false,
        };
        conversation.enter().await?;
        Ok(conversation)
    }

    fn chat(&self) -> ChatId {
        self.place.chat.id.clone()
    }

    async fn hold(&mut self, signals: &mut Signals) -> Result<Ending> {
        let ended = self.converse(signals).await;
        let chat = self.chat();
        let look_up = self.session.store().chat(&chat);
        if ended.is_ok() || !matches!(look_up.await, Ok(None)) {
            return ended;
        }
        // Whatever went wrong, there is nothing left to talk in. A world that is deleted takes the logs of its
        // chats along, so that no event may have told.
        if !self.deleted {
            self.note(Tone::Warning, "! somebody deleted this chat")?;
        }
        Ok(Ending::Left)
    }

    async fn converse(&mut self, signals: &mut Signals) -> Result<Ending> {
        let mut look = tokio::time::interval(LOOK);
        loop {
            let standing = self.catch_up().await?;
            if self.leaving && self.idle {
                return Ok(Ending::Left);
            }
            // What is typed is taken at any time. A pipe is read when it is its turn, so that each line finds the
            // agents done with the one before.
            let listens = !self.leaving
                && (self.input.is_typed || self.idle || self.questions.asked.is_some());
            tokio::select! {
                biased;
                sign = signals.next() => {
                    if let Some(ending) = self.signalled(sign, &standing).await? {
                        return Ok(ending);
                    }
                }
                item = self.subscription.next() => match item? {
                    Some(FeedItem::Stored(event)) => self.happened(event).await?,
                    Some(FeedItem::Chunk(chunk)) => {
                        if self.input.is_typed {
                            self.voices.piece(&mut self.screen, &chunk)?;
                        }
                    }
                    // What a tool writes is shown with its result.
                    Some(FeedItem::Output(_)) => {}
                    None => return Ok(Ending::Ended),
                },
                line = self.input.next(), if listens => match line {
                    Some(line) => self.heard(line).await?,
                    None => self.leave(&standing)?,
                },
                _ = look.tick() => self.take_over().await?,
            }
        }
    }

    /// Asks what there is to ask once everything that is stored is on the screen.
    async fn catch_up(&mut self) -> Result<Standing> {
        let standing = work::standing(self.session.store(), &self.chat()).await?;
        if standing.head > self.seen || self.voices.is_speaking() {
            self.idle = false;
            return Ok(standing);
        }
        let asks = !self.leaving && self.questions.ask(&mut self.screen)?;
        self.idle = !standing.works && !asks;
        if self.idle && !self.leaving {
            self.screen.prompt(Tone::Name, "> ")?;
        }
        Ok(standing)
    }

    async fn signalled(&mut self, sign: Sign, standing: &Standing) -> Result<Option<Ending>> {
        self.voices.interrupt();
        self.screen.fresh_line()?;
        if sign == Sign::Terminate || self.leaving {
            return Ok(Some(Ending::Ended));
        }
        if standing.works {
            self.session.engine.stop(&self.chat(), None, &who()).await?;
            return Ok(None);
        }
        Ok(Some(Ending::Left))
    }

    fn leave(&mut self, standing: &Standing) -> Result<()> {
        self.leaving = true;
        if standing.works {
            self.note(Tone::Quiet, "finishing what is under way; Ctrl-C leaves at once")?;
        }
        Ok(())
    }

    fn note(&mut self, tone: Tone, text: &str) -> Result<()> {
        self.voices.interrupt();
        Ok(self.screen.line(tone, text)?)
    }

    async fn take_over(&mut self) -> Result<()> {
        if self.session.take_over().await? {
            let cursor = self.subscription.cursor();
            let scope = Scope::Chat(self.chat());
            self.subscription = self.session.engine.subscribe(scope, cursor);
            self.note(Tone::Quiet, "the other process has ended; this one does the work now")?;
        }
        Ok(())
    }

    // What is heard.

    async fn heard(&mut self, line: Line) -> Result<()> {
        if self.input.is_typed {
            self.voices.interrupt();
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
        let text = match &self.agent {
            Some(agent) if !text.starts_with('@') => format!("@{agent} {text}"),
            _ => text.to_owned(),
        };
        match self.session.engine.post(&self.chat(), NewMessage::human(text)).await {
            Ok(posted) => {
                self.own_messages.insert(posted.message.id);
                Ok(())
            }
            Err(refused @ (Error::Rejected(_) | Error::Overloaded(_))) => {
                self.note(Tone::Warning, &format!("! not posted: {refused}"))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn answered(&mut self, reading: Reading, line: &str, step: Step) -> Result<()> {
        match reading {
            Reading::Answer(answer) => self.decide(answer).await,
            Reading::AskReason => self.next_step(Step::Reason),
            Reading::AskArguments => self.next_step(Step::Arguments),
            Reading::Later => {
                self.questions.put_off();
                self.note(Tone::Quiet, "it waits; /approvals asks again")
            }
            Reading::Unclear(problem) => {
                if !line.trim().is_empty() {
                    self.note(Tone::Warning, &problem)?;
                }
                match step {
                    Step::Arguments => self.next_step(Step::Decision),
                    Step::Decision | Step::Reason => Ok(()),
                }
            }
        }
    }

    fn next_step(&mut self, step: Step) -> Result<()> {
        if let Some(asked) = &mut self.questions.asked {
            asked.step = step;
        }
        Ok(())
    }

    async fn decide(&mut self, answer: Answer) -> Result<()> {
        let Some(asked) = self.questions.asked.clone() else {
            return Ok(());
        };
        let view = asked.view;
        // What was on the screen is what is decided about.
        let claims = Claims {
            world: Some(view.world),
            agent: Some(view.agent),
            tool: Some(view.tool),
            arguments: Some(view.arguments),
        };
        match self.session.engine.answer(&view.id, answer, &who(), claims).await {
            Ok(_) => {
                self.own_decisions.insert(view.id.clone());
                self.questions.settle(&view.id);
                Ok(())
            }
            Err(Error::Rejected(rejection)) => {
                self.next_step(Step::Decision)?;
                self.note(Tone::Warning, &format!("! {rejection}"))
            }
            Err(settled @ Error::AlreadySettled(_)) => {
                self.questions.settle(&view.id);
                self.note(Tone::Warning, &format!("! {settled}"))
            }
            Err(error) => Err(error.into()),
        }
    }

    // What happens.

    async fn happened(&mut self, stored: StoredEvent) -> Result<()> {
        // Seen when the chat was entered.
        if stored.sealed.seq <= self.seen {
            return Ok(());
        }
        self.seen = stored.sealed.seq;
        let event = stored.sealed.open()?.event;
        match &event {
            Event::MessagePosted(posted) => {
                let message = &posted.message;
                match &message.sender {
                    Sender::Agent(agent) => {
                        self.voices.said(&mut self.screen, &message.id, agent, &message.text)?;
                    }
                    _ if self.own_messages.remove(&message.id) => {}
                    sender => {
                        self.voices.interrupt();
                        self.screen.said(sender.as_str(), &message.text)?;
                    }
                }
            }
            Event::ReplyRecorded(recorded) if !recorded.calls.is_empty() => {
                let spoken = Reply::of(recorded.items.clone()).spoken();
                if !spoken.trim().is_empty() {
                    let (reply, agent) = (&recorded.reply, &recorded.agent);
                    self.voices.said(&mut self.screen, reply, agent, &spoken)?;
                }
            }
            Event::ApprovalRequested(asked) => {
                let view = self.session.engine.approval(&asked.approval).await?;
                if view.state == ApprovalState::Pending {
                    self.questions.add(view);
                }
            }
            Event::ApprovalDecided(decided) => {
                self.questions.settle(&decided.approval);
                if self.own_decisions.remove(&decided.approval) {
                    return Ok(());
                }
            }
            Event::ApprovalExpired { approval } | Event::ApprovalWithdrawn { approval, .. } => {
                self.questions.settle(approval);
            }
            Event::ModelCallRequested(asked) => {
                let reply = Some(&asked.reply);
                self.voices.over(&mut self.screen, &asked.agent, reply)?;
            }
            Event::TurnEnded { .. } => self.break_off().await?,
            Event::ChatDeleted { .. } => {
                self.leaving = true;
                self.deleted = true;
            }
            _ => {}
        }
        let chat = self.chat();
        let store = self.session.engine.store().as_ref();
        if let Some(told) = self.narrator.tell(store, &chat, &event).await? {
            self.note(told.tone, &told.text)?;
        }
        Ok(())
    }

    /// A turn is over: agents that are not at work any more say nothing more.
    async fn break_off(&mut self) -> Result<()> {
        // A chat that was deleted meanwhile cannot be looked up any more, and nobody is at work in it.
        let view = self.session.store().chat(&self.chat()).await?;
        let busy = view.map(|view| view.activity.agents).unwrap_or_default();
        for agent in self.voices.agents() {
            if !busy.iter().any(|busy| busy.agent == agent) {
                self.voices.over(&mut self.screen, &agent, None)?;
            }
        }
        Ok(())
    }
}
