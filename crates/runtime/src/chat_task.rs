//! Owns one active chat: the only place in this process that changes it and performs what it owes.
//! One task per chat with something to do; a chat that only waits for a person has none.

mod questions;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::chat::Life;
use agent_world_core::command::{Command, Rejection, ToolResult};
use agent_world_core::config::{Rules, World};
use agent_world_core::event::{Event, Form, Output};
use agent_world_core::ids::{CallId, ChatId, WorldId};
use agent_world_core::outstanding::{Effect, Wake, outstanding, wake};
use agent_world_core::prompt::Transcript;
use agent_world_store::{self as store, Lease};
use agent_world_tools::person::{Answer, Question};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{self, AbortHandle, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::effects::{look, model, title, tool};
use crate::engine::Shared;
use crate::error::Error;
use crate::history::History;
use crate::kill_point;
use crate::ledger::{Committed, Ledger, Terms};
use crate::results;
use crate::telemetry::{self, Turns};
use questions::Questions;

/// Pause before a write that must happen is tried again.
const RETRY: Duration = Duration::from_millis(200);

/// How others reach a chat's task.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    mailbox: mpsc::Sender<Ask>,
    abort: AbortHandle,
    home: Home,
}

/// The world of a chat, while the chat is known to be there.
#[derive(Clone, Debug, Default)]
struct Home(Arc<Mutex<Option<WorldId>>>);

impl Home {
    fn get(&self) -> Option<WorldId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn follow(&self, ledger: &Ledger) {
        let is_there = ledger.head.seq > 0 && ledger.chat.life == Life::Living;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_some() != is_there {
            *known = is_there.then(|| ledger.chat.world.clone());
        }
    }
}

#[derive(Debug)]
enum Ask {
    Input {
        command: Box<Command>,
        key: Option<String>,
        answer: oneshot::Sender<Result<Committed, Error>>,
    },
    /// A call that runs here wants to know something.
    Question { call: CallId, attempt: u32, question: Question, answer: oneshot::Sender<Answer> },
    /// Another process may have written up to this event.
    Changed(u64),
    /// The store says that something is due.
    Due,
}

impl Handle {
    pub fn abort(&self) {
        self.abort.abort();
    }
}

/// The way back to a chat's task for what it runs. Does not keep the chat in memory.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    mailbox: mpsc::WeakSender<Ask>,
}

impl Reach {
    /// Whether the question could be handed over. Waits when the chat is busy: a tool has the time.
    pub async fn ask_person(
        &self,
        call: CallId,
        attempt: u32,
        question: Question,
        answer: oneshot::Sender<Answer>,
    ) -> bool {
        match self.mailbox.upgrade() {
            Some(mailbox) => {
                mailbox.send(Ask::Question { call, attempt, question, answer }).await.is_ok()
            }
            None => false,
        }
    }
}

/// Carries an input to the chat's task and waits until it is durable or refused.
pub(crate) async fn ask(
    shared: &Arc<Shared>,
    chat: &ChatId,
    command: Command,
    key: Option<String>,
) -> Result<Committed, Error> {
    let (answer, answered) = oneshot::channel();
    let ask = Ask::Input { command: Box::new(command), key, answer };
    let handle = reach(shared, chat)?;
    // Full: the caller is told and nothing is kept of the request. Closed: the task is gone with the engine.
    handle.mailbox.try_send(ask).map_err(|refused| match refused {
        mpsc::error::TrySendError::Full(_) => Error::Overloaded(chat.clone()),
        mpsc::error::TrySendError::Closed(_) => Error::ShuttingDown,
    })?;
    drop(handle);
    answered.await.unwrap_or(Err(Error::ShuttingDown))
}

/// The world of a chat that is active here. Not known of one that is not, and of one that was deleted.
pub(crate) fn world_of(shared: &Shared, chat: &ChatId) -> Option<WorldId> {
    shared.lock_chats().get(chat).and_then(|handle| handle.home.get())
}

/// Tells an active chat that the log may be ahead of it. One that is not active will read it anyway.
pub(crate) fn tell_changed(shared: &Arc<Shared>, chat: &ChatId, seq: u64) {
    if let Some(handle) = shared.lock_chats().get(chat) {
        // Full: it has plenty to do and meets the newer head with its next append.
        handle.mailbox.try_send(Ask::Changed(seq)).ok();
    }
}

/// Tells all active chats that something beside their logs has changed.
pub(crate) fn tell_all(shared: &Arc<Shared>) {
    for handle in shared.lock_chats().values() {
        // Full: it has plenty to do and meets the change with its next append.
        handle.mailbox.try_send(Ask::Changed(u64::MAX)).ok();
    }
}

/// Makes a chat active because it owes something.
pub(crate) fn take_up(shared: &Arc<Shared>, chat: &ChatId) {
    if let Ok(handle) = reach(shared, chat) {
        // With something in its mailbox it is awake already. It stays due until it has looked, so it is told again;
        // and a chat that is held up must have room for what people say.
        if handle.mailbox.capacity() == handle.mailbox.max_capacity() {
            handle.mailbox.try_send(Ask::Due).ok();
        }
    }
}

fn reach(shared: &Arc<Shared>, chat: &ChatId) -> Result<Handle, Error> {
    if shared.cancelled.is_cancelled() {
        return Err(Error::ShuttingDown);
    }
    let mut chats = shared.lock_chats();
    if let Some(handle) = chats.get(chat).filter(|handle| !handle.mailbox.is_closed()) {
        return Ok(handle.clone());
    }
    let (mailbox, asks) = mpsc::channel(shared.options.mailbox);
    let reach = Reach { mailbox: mailbox.downgrade() };
    let home = Home::default();
    let task = run(Arc::clone(shared), chat.clone(), asks, reach, home.clone());
    let abort = shared.tasks.spawn(task).abort_handle();
    let handle = Handle { mailbox, abort, home };
    chats.insert(chat.clone(), handle.clone());
    Ok(handle)
}

#[tracing::instrument(name = "chat", skip_all, fields(chat = %id))]
async fn run(
    shared: Arc<Shared>,
    id: ChatId,
    mut asks: mpsc::Receiver<Ask>,
    reach: Reach,
    home: Home,
) {
    // Many may be woken at once; they are read one after another, a few at a time.
    let opening = shared.openings.acquire().await;
    let opened = ChatTask::open(&shared, id.clone(), reach, home).await;
    drop(opening);
    match opened {
        Ok(mut task) => {
            task.work(&mut asks).await;
            if let Err(error) = shared.store.release(&id, task.lease).await {
                tracing::debug!(%error, "the lease was not given back; it ends by itself");
            }
        }
        Err(error) => {
            tracing::warn!(%error, "the chat could not be opened");
            shared.lock_chats().remove(&id);
            refuse(&mut asks, &error);
        }
    }
}

// The first caller gets the error itself, in words; a store's error cannot be copied.
fn refuse(asks: &mut mpsc::Receiver<Ask>, error: &Error) {
    asks.close();
    while let Ok(ask) = asks.try_recv() {
        if let Ask::Input { answer, .. } = ask {
            let copy = match error {
                Error::ShuttingDown => Error::ShuttingDown,
                Error::Store(store::Error::Visitor) => Error::Store(store::Error::Visitor),
                error => Error::Store(store::Error::Unavailable(error.to_string())),
            };
            answer.send(Err(copy)).ok();
        }
    }
}

struct ChatTask {
    shared: Arc<Shared>,
    id: ChatId,
    lease: Lease,
    ledger: Ledger,
    /// Kept while the chat is active and a model was called; made again from the log when needed.
    history: Option<History>,
    reach: Reach,
    home: Home,
    /// What running calls wait to be told.
    questions: Questions,
    turns: Turns,
    running: BTreeMap<Effect, CancellationToken>,
    effects: JoinSet<Command>,
    /// What each spawned task performs. One that was cancelled has nothing to report.
    names: HashMap<task::Id, (Effect, CancellationToken)>,
    /// Somebody else performs this chat's effects now, or the engine shuts down: do nothing more.
    over: bool,
    /// An append's fate is not known: read the log before trusting the ledger.
    doubtful: bool,
    /// Something happened that more may follow: worth staying in memory for a while.
    lingers: bool,
    /// What a model is to see could not be read just now. Everything else goes on meanwhile.
    held_up: bool,
}

impl ChatTask {
    async fn open(
        shared: &Arc<Shared>,
        id: ChatId,
        reach: Reach,
        home: Home,
    ) -> Result<Self, Error> {
        let store = shared.store.as_ref();
        let lease = store.lease(&id, &shared.node, shared.environment.now()).await?;
        let ledger = Ledger::load(store, &id).await?;
        let ledger = ledger.unwrap_or_else(|| Ledger::unborn(id.clone()));
        home.follow(&ledger);
        kill_point::reached(kill_point::CHAT_LOADED);
        Ok(Self {
            shared: Arc::clone(shared),
            ledger,
            home,
            id,
            lease,
            history: None,
            reach,
            questions: Questions::default(),
            turns: Turns::default(),
            running: BTreeMap::new(),
            effects: JoinSet::new(),
            names: HashMap::new(),
            over: false,
            doubtful: false,
            lingers: false,
            held_up: false,
        })
    }

    async fn work(&mut self, asks: &mut mpsc::Receiver<Ask>) {
        loop {
            if self.doubtful {
                self.reload().await;
            }
            self.perform_owed().await;
            if self.over {
                break;
            }
            let pause = self.pause();
            tokio::select! {
                biased;
                () = self.shared.cancelled.cancelled() => self.over = true,
                Some(ended) = self.effects.join_next_with_id() => self.effect_ended(ended).await,
                Some(ask) = asks.recv() => self.handle(ask).await,
                () = tokio::time::sleep(pause) => {
                    let held_up = std::mem::take(&mut self.held_up);
                    if !held_up && self.is_quiet() && self.leave(asks) {
                        return;
                    }
                }
            }
        }
        self.abandon(asks).await;
    }

    /// Until the next deadline or, with nothing under way, until the chat may leave memory.
    fn pause(&self) -> Duration {
        let now = self.shared.environment.now();
        let until = |at: Timestamp| Duration::try_from(at.duration_since(now)).unwrap_or_default();
        let deadline = outstanding(&self.ledger.chat).iter().filter_map(Effect::deadline).min();
        let timer = deadline.map(until).unwrap_or(Duration::MAX);
        if self.held_up {
            return RETRY;
        }
        // Nothing more follows in a chat that was deleted.
        let lingers = self.lingers && self.ledger.chat.life == Life::Living;
        let grace = match (self.is_quiet(), lingers) {
            (false, _) => Duration::from_secs(3600),
            (true, true) => self.shared.options.idle_grace,
            (true, false) => Duration::ZERO,
        };
        timer.min(grace)
    }

    fn is_quiet(&self) -> bool {
        self.running.is_empty() && self.effects.is_empty() && !self.doubtful
    }

    /// Leaves memory, unless somebody is just about to say something. Whoever wants to speak needs the same lock.
    fn leave(&self, asks: &mpsc::Receiver<Ask>) -> bool {
        let mut chats = self.shared.lock_chats();
        if !asks.is_empty() || asks.sender_strong_count() > 1 {
            return false;
        }
        chats.remove(&self.id);
        true
    }

    /// The end of the engine or of the lease: what runs is ended here and settled by whoever comes next.
    async fn abandon(&mut self, asks: &mut mpsc::Receiver<Ask>) {
        self.shared.lock_chats().remove(&self.id);
        refuse(asks, &Error::ShuttingDown);
        for cancelled in std::mem::take(&mut self.running).into_values() {
            cancelled.cancel();
        }
        let grace = self.shared.options.cancel_grace;
        let ended = async { while self.effects.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, ended).await.is_err() {
            self.effects.shutdown().await;
        }
    }

    async fn handle(&mut self, ask: Ask) {
        match ask {
            Ask::Input { command, key, answer } => {
                self.lingers = true;
                let result = self.input(*command, key).await;
                // The caller may have gone; what was recorded stays recorded.
                answer.send(result).ok();
            }
            Ask::Question { call, attempt, question, answer } => {
                self.put_question(call, attempt, question, answer).await;
            }
            Ask::Changed(seq) => {
                if seq > self.ledger.head.seq {
                    self.reload().await;
                    self.review().await;
                }
            }
            Ask::Due => {
                // With nothing under way there is no reason to trust what is in memory: somebody else may have
                // written what is due.
                if self.is_quiet() && self.ledger.head.seq > 0 {
                    self.reload().await;
                }
                self.review().await;
            }
        }
    }

    async fn input(&mut self, command: Command, key: Option<String>) -> Result<Committed, Error> {
        loop {
            if self.doubtful {
                self.reload().await;
            }
            if self.over {
                return Err(match self.shared.cancelled.is_cancelled() {
                    true => Error::ShuttingDown,
                    false => Error::UnknownChat(self.id.clone()),
                });
            }
            match self.commit(command.clone(), key.clone()).await {
                Err(Error::Store(store::Error::Conflict { .. })) => self.doubtful = true,
                Err(Error::Store(store::Error::StaleSettings { world, .. })) => {
                    self.shared.worlds.forget(&world);
                }
                Err(error) => {
                    self.doubtful |= fate_unknown(&error);
                    self.over |= matches!(error, Error::Store(store::Error::Fenced { .. }));
                    return Err(error);
                }
                result => return result,
            }
        }
    }

    /// Records what an effect led to. Must happen: tried until it is durable, refused, or no longer ours to do.
    async fn must_record(&mut self, command: Command) -> Option<Committed> {
        loop {
            if self.doubtful {
                self.reload().await;
            }
            if self.over {
                return None;
            }
            match self.commit(command.clone(), None).await {
                Ok(committed) => return Some(committed),
                Err(Error::Rejected(Rejection::Stale(what))) => {
                    tracing::debug!(%what, "came too late");
                    return None;
                }
                Err(Error::Rejected(rejection)) => {
                    tracing::debug!(%rejection, "was not wanted any more");
                    return None;
                }
                Err(Error::Store(store::Error::Fenced { .. })) => self.over = true,
                Err(Error::Store(store::Error::Conflict { .. })) => self.doubtful = true,
                Err(Error::Store(store::Error::StaleSettings { world, .. })) => {
                    self.shared.worlds.forget(&world);
                }
                Err(
                    Error::UnknownChat(_)
                    | Error::UnknownWorld(_)
                    | Error::Store(store::Error::UnknownWorld(_)),
                ) => self.over = true,
                Err(error) => {
                    tracing::warn!(%error, "could not be recorded; trying again");
                    self.doubtful = true;
                    self.breathe().await;
                }
            }
        }
    }

    async fn commit(&mut self, command: Command, key: Option<String>) -> Result<Committed, Error> {
        let world = match &command {
            Command::CreateChat(create) => create.world.clone(),
            _ if self.ledger.head.seq == 0 => return Err(Error::UnknownChat(self.id.clone())),
            _ => self.ledger.chat.world.clone(),
        };
        let settings = self.shared.worlds.get(self.shared.store.as_ref(), &world).await?;
        let specs = self.shared.toolbox.specs(&settings);
        let terms = Terms {
            store: self.shared.store.as_ref(),
            environment: self.shared.environment.as_ref(),
            rules: Rules { world: &settings, tools: &specs },
            fence: Some(self.lease.epoch),
            key,
        };
        let committed = self.ledger.commit(command, terms).await?;
        self.home.follow(&self.ledger);
        if let Some(history) = &mut self.history {
            history.follow(&committed);
        }
        self.questions.follow(&committed.events);
        self.turns.follow(&self.ledger.chat, &committed.events);
        self.shared.committed(&world, &self.id, &committed);
        Ok(committed)
    }

    /// Reads the chat anew from the log, until that works or the engine shuts down.
    async fn reload(&mut self) {
        while !self.over {
            match Ledger::load(self.shared.store.as_ref(), &self.id).await {
                Ok(ledger) => {
                    // What was there and is gone was deleted with its world, by another process.
                    self.over |= ledger.is_none() && self.ledger.head.seq > 0;
                    self.ledger = ledger.unwrap_or_else(|| Ledger::unborn(self.id.clone()));
                    self.home.follow(&self.ledger);
                    self.doubtful = false;
                    self.turns.keep_open_of(&self.ledger.chat);
                    self.hear_answers().await;
                    return;
                }
                Err(Error::Store(store::Error::Fenced { .. })) => self.over = true,
                Err(error) => {
                    tracing::warn!(%error, "the chat could not be read; trying again");
                    self.breathe().await;
                }
            }
        }
    }

    /// Puts a running call's question into the log; the answer comes from there.
    async fn put_question(
        &mut self,
        call: CallId,
        attempt: u32,
        question: Question,
        answer: oneshot::Sender<Answer>,
    ) {
        let Question { message, schema, url } = question;
        let form = Form { schema, url };
        let command = Command::AskPerson { call, attempt, question: message, form };
        // Not recorded: the call has ended, or asks for what nobody can be asked. Dropping the sender says so.
        let Some(committed) = self.must_record(command).await else { return };
        let asked = committed.events.iter().find_map(|recorded| match &recorded.event {
            Event::ApprovalRequested(requested) => Some(requested.approval.clone()),
            _ => None,
        });
        if let Some(approval) = asked {
            self.questions.wait(approval, answer);
            // Where nobody can be asked it was settled in the same breath.
            self.questions.follow(&committed.events);
        }
    }

    /// Answers that another process recorded.
    async fn hear_answers(&mut self) {
        for approval in self.questions.settled_in(&self.ledger.chat) {
            match self.shared.store.approval(&approval).await {
                Ok(Some(view)) => {
                    self.questions.answer(&approval, questions::of_state(&view.state))
                }
                Ok(None) => self.questions.answer(&approval, Answer::Unanswered),
                // Whoever waits for it has no time limit meanwhile: it is looked up again.
                Err(error) => {
                    tracing::warn!(%error, "an answer could not be read; trying again");
                    self.doubtful = true;
                    self.breathe().await;
                    return;
                }
            }
        }
    }

    async fn breathe(&mut self) {
        tokio::select! {
            biased;
            () = self.shared.cancelled.cancelled() => self.over = true,
            () = tokio::time::sleep(RETRY) => {}
        }
    }

    /// A rule granted elsewhere may settle what waits here. If nothing follows, the chat is not due any more.
    async fn review(&mut self) {
        if self.ledger.head.seq == 0 {
            return;
        }
        let settled = self.must_record(Command::ReviewApprovals).await;
        if settled.is_some_and(|committed| committed.events.is_empty())
            && let Err(error) = self.rest().await
        {
            tracing::debug!(%error, "stays due and is looked at again");
            // What it is due for may have been written by another process.
            self.doubtful |= matches!(error, Error::Store(store::Error::Conflict { .. }));
        }
    }

    async fn rest(&self) -> Result<(), Error> {
        let next = wake(&outstanding(&self.ledger.chat));
        if next == Wake::Now {
            return Ok(());
        }
        let store = self.shared.store.as_ref();
        let world = self.shared.worlds.get(store, &self.ledger.chat.world).await?;
        Ok(store.set_wake(&self.id, self.ledger.head.seq, world.version, next).await?)
    }

    /// Starts what is owed and not under way; ends what is under way and not owed any more.
    async fn perform_owed(&mut self) {
        loop {
            let owed: BTreeSet<Effect> = outstanding(&self.ledger.chat).into_iter().collect();
            self.running.retain(|effect, cancelled| {
                let wanted = owed.contains(effect);
                if !wanted {
                    cancelled.cancel();
                }
                wanted
            });
            let now = self.shared.environment.now();
            let next = owed.into_iter().find(|effect| {
                !self.running.contains_key(effect) && effect.deadline().is_none_or(|at| at <= now)
            });
            match next {
                Some(effect) if !self.over && !self.is_hindered() => {
                    self.lingers = true;
                    self.perform(effect).await;
                }
                _ => return,
            }
        }
    }

    fn is_hindered(&self) -> bool {
        self.held_up || self.doubtful || self.shared.cancelled.is_cancelled()
    }

    async fn perform(&mut self, effect: Effect) {
        tracing::info!(?effect, "taken up");
        match &effect {
            Effect::CallModel { .. } | Effect::NameChat => self.call_model(effect).await,
            Effect::RunTool { call } => self.look_at(call.clone()).await,
            Effect::FinishTool { call, .. } => {
                self.must_record(Command::RecordLostTool { call: call.clone() }).await;
            }
            Effect::AwaitClient { call, attempt, .. } => {
                let output = Output::text("the client gave no result in time");
                let result = ToolResult::TimedOut(output);
                let (call, attempt) = (call.clone(), *attempt);
                self.must_record(Command::RecordToolResult { call, attempt, result }).await;
            }
            Effect::ExpireApprovals { .. } => {
                self.must_record(Command::ExpireApprovals).await;
            }
        }
    }

    /// The tool has a look before the start is recorded: what was approved may have changed.
    async fn look_at(&mut self, id: CallId) {
        let Some(call) = self.ledger.chat.calls.get(&id).cloned() else {
            return;
        };
        let store = self.shared.store.as_ref();
        let world = match self.shared.worlds.get(store, &self.ledger.chat.world).await {
            Ok(world) => world,
            Err(error) => {
                tracing::warn!(%error, "the world's settings could not be read; trying again");
                self.held_up = true;
                return;
            }
        };
        let cancelled = CancellationToken::new();
        let look = look::before_start(&self.shared, &world, &self.id, &call, cancelled.clone());
        self.spawn(Effect::RunTool { call: id }, cancelled, look);
    }

    /// The start is durable before the tool's process exists; a start that may be recorded is never repeated.
    async fn start_tool(&mut self, command: Command) {
        let store = self.shared.store.as_ref();
        let world = match self.shared.worlds.get(store, &self.ledger.chat.world).await {
            Ok(world) => world,
            Err(error) => {
                tracing::warn!(%error, "the world's settings could not be read; trying again");
                self.held_up = true;
                return;
            }
        };
        let Some(started) = self.must_record(command).await else { return };
        let facts = started.events.iter().find_map(|recorded| match &recorded.event {
            Event::ToolStarted { call, facts, .. } => Some((call.clone(), facts.clone())),
            _ => None,
        });
        // Nothing was started: it was refused, or the person is asked again.
        let Some((id, facts)) = facts else { return };
        let Some(call) = self.ledger.chat.calls.get(&id).cloned() else {
            return;
        };
        kill_point::reached(kill_point::TOOL_STARTED);
        let cancelled = CancellationToken::new();
        let effect = Effect::FinishTool { call: id, attempt: call.attempt };
        let chat = &self.ledger.chat;
        let reach = self.reach.clone();
        let run = tool::run(&self.shared, &world, chat, &call, facts, reach, cancelled.clone());
        let turn = self.turns.span(chat, &call.made.turn);
        let run = telemetry::tool_call(&turn, &self.id, &call, run);
        self.spawn(effect, cancelled, run);
    }

    async fn call_model(&mut self, effect: Effect) {
        let shared = Arc::clone(&self.shared);
        let within = match &effect {
            Effect::CallModel { turn, .. } => self.turns.span(&self.ledger.chat, turn),
            _ => tracing::Span::none(),
        };
        let (world, transcript) = match self.history().await {
            Ok(history) => history,
            Err(error) => {
                tracing::warn!(%error, "history could not be read; trying again");
                self.held_up = true;
                return;
            }
        };
        let cancelled = CancellationToken::new();
        match &effect {
            Effect::CallModel { turn, agent, reply } => {
                let specs = shared.toolbox.specs(&world);
                let rules = Rules { world: &world, tools: &specs };
                let prompt = transcript.prompt(agent, rules);
                let job = model::Job {
                    within,
                    chat: self.id.clone(),
                    turn: turn.clone(),
                    agent: agent.clone(),
                    reply: reply.clone(),
                };
                let call = model::call(&shared, &world, job, prompt, cancelled.clone());
                self.spawn(effect, cancelled, call);
            }
            _ => {
                let prompt = transcript.title_prompt();
                let call = title::call(&shared, &world, &self.id, prompt, cancelled.clone());
                self.spawn(effect, cancelled, call);
            }
        }
    }

    /// The settings and the history as of the ledger's head.
    async fn history(&mut self) -> Result<(Arc<World>, &Transcript), Error> {
        let store = self.shared.store.as_ref();
        let world = self.shared.worlds.get(store, &self.ledger.chat.world).await?;
        let limit = world.result_limit;
        let usable = |history: &History| history.transcript().result_limit() == limit;
        let kept = self.history.take().filter(usable);
        let history = self.history.insert(kept.unwrap_or_else(|| History::new(limit)));
        history.read_on(store, &self.id, self.ledger.head.seq).await?;
        Ok((world, history.transcript()))
    }

    fn spawn(
        &mut self,
        effect: Effect,
        cancelled: CancellationToken,
        work: impl Future<Output = Command> + Send + 'static,
    ) {
        let task = self.effects.spawn(work);
        self.running.insert(effect.clone(), cancelled.clone());
        self.names.insert(task.id(), (effect, cancelled));
    }

    /// An effect stays under way until its end is recorded: it must not be started a second time meanwhile.
    async fn effect_ended(&mut self, ended: Result<(task::Id, Command), JoinError>) {
        let (id, command) = match ended {
            Ok((id, command)) => (id, Some(command)),
            Err(error) => {
                tracing::error!(%error, "an effect broke down");
                (error.id(), None)
            }
        };
        // The same effect may be owed anew by now; the end of the cancelled one is not its end.
        let Some((effect, _)) =
            self.names.remove(&id).filter(|(_, cancelled)| !cancelled.is_cancelled())
        else {
            return;
        };
        let command = command.unwrap_or_else(|| broke_down(&effect));
        match effect {
            Effect::RunTool { .. } => self.start_tool(command).await,
            Effect::FinishTool { .. } => {
                kill_point::reached(kill_point::TOOL_ENDED);
                let world = &self.ledger.chat.world;
                let command = results::set_apart(&self.shared, world, command).await;
                self.must_record(command).await;
            }
            _ => {
                kill_point::reached(kill_point::MODEL_ANSWERED);
                self.must_record(command).await;
            }
        }
        self.running.remove(&effect);
    }
}

/// What is recorded of an effect whose code panicked.
fn broke_down(effect: &Effect) -> Command {
    match effect {
        Effect::CallModel { turn, reply, .. } => Command::RecordModelFailure {
            turn: turn.clone(),
            reply: reply.clone(),
            error: "the model's client broke down; this is a bug".to_owned(),
        },
        Effect::FinishTool { call, attempt } | Effect::AwaitClient { call, attempt, .. } => {
            Command::RecordToolResult {
                call: call.clone(),
                attempt: *attempt,
                result: ToolResult::Failed(Output::text(
                    "error: the tool broke down while it ran; it may have taken effect in part",
                )),
            }
        }
        Effect::RunTool { call } => Command::StartTool {
            call: call.clone(),
            look: Some(Err("the tool broke down when it looked at the call".to_owned())),
        },
        Effect::ExpireApprovals { .. } | Effect::NameChat => {
            Command::RecordTitle { proposal: Err("the model's client broke down".to_owned()) }
        }
    }
}

fn fate_unknown(error: &Error) -> bool {
    matches!(error, Error::Store(store::Error::Unavailable(_) | store::Error::Busy(_)))
}
