//! A model's call with tools outside of any world: a chat of its own, in memory, gone when the answer is there.
//! Called by programs that want an answer and no server. It is the engine's loop and no other: limits, parallel
//! calls, background tools, approvals and time limits mean here what they mean everywhere.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::chat::CallState;
use agent_world_core::command::{Answer, Claims};
use agent_world_core::config::{Agent, Mode, ToolSpec, World};
use agent_world_core::event::{ApprovalRequested, Event, NoticeCode, Outcome, Output};
use agent_world_core::ids::{CallId, ChatId, WorldId};
use agent_world_core::view::CallView;
use agent_world_llm::{
    Capabilities, Class, Events, Model, Models, Request, Response, Tool as Offered, ToolChoice,
    Usage,
};
use agent_world_store::{Memory, Scope};
use agent_world_tools::{Failure, Invocation, Tool, Unusable};
use futures::StreamExt as _;

use crate::{Chunk, Engine, Error, FeedItem, NewMessage, Standing};

/// The name of the world, of its agent and of its vendor; nobody outside sees it.
const NAME: &str = "model";
/// Calls of one answer that are counted and given back.
const MOST_CALLS: usize = 10_000;

type Deciding = dyn Fn(&ApprovalRequested) -> Answer + Send + Sync;

/// What a model may use for its answer, and within which limits.
pub struct WithTools {
    models: Models,
    request: Request,
    tools: Vec<Arc<dyn Tool>>,
    limits: Vec<(String, Duration)>,
    max_iterations: u32,
    decide: Arc<Deciding>,
}

/// The answer, and what it took.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The last reply, which called nothing. It may be a refusal, and cut short: its status says so.
    pub response: Response,
    /// Of all replies.
    pub usage: Usage,
    /// Every reply, in order.
    pub replies: Vec<Response>,
    /// Every call, in order, with its result.
    pub calls: Vec<CallView>,
    pub statistics: Statistics,
}

/// How the calls of an answer stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    pub total: usize,
    /// Not started: in a queue, or waiting for a decision.
    pub pending: usize,
    pub executing: usize,
    pub completed: usize,
    /// Ended in any other way: failed, out of time, denied, cancelled, interrupted.
    pub failed: usize,
    /// Of all: those the model waits for.
    pub blocking: usize,
    /// Of all: those whose results come later.
    pub background: usize,
}

/// What happens on the way to an answer.
#[derive(Debug)]
pub enum Progress<'a> {
    /// Something was recorded; how the calls stand after it.
    Event { event: &'a Event, statistics: Statistics },
    /// A piece of a reply, where the request asks for a stream.
    Piece(&'a Chunk),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    #[error(transparent)]
    Model(#[from] agent_world_llm::Error),
    #[error(
        "the model made {limit} calls and still has no answer; raise max_iterations or give it better tools"
    )]
    TooManyIterations { limit: u32 },
    #[error(transparent)]
    Tool(#[from] Unusable),
    #[error(
        "the request offers a function `{0}` that no tool carries out; register a tool of that name"
    )]
    NoSuchTool(String),
    #[error("the model gave no usable answer: {0}")]
    NoAnswer(String),
    #[error(transparent)]
    Engine(#[from] Error),
}

/// Asks a model that may use tools, with the usual limits. Whoever wants others, or to follow along, takes [`WithTools`].
///
/// # Errors
/// What the model failed with, or why it came to no answer.
pub async fn generate_with_tools(
    models: &Models,
    request: Request,
    tools: impl IntoIterator<Item = Arc<dyn Tool>>,
) -> Result<Answered, Unanswered> {
    let asking = WithTools::new(models, request);
    tools.into_iter().fold(asking, WithTools::tool).run(|_| {}).await
}

impl WithTools {
    /// Asks the model that the request names as `vendor/model`.
    pub fn new(models: &Models, request: Request) -> Self {
        Self {
            models: models.clone(),
            request,
            tools: Vec::new(),
            limits: Vec::new(),
            max_iterations: agent_world_core::config::DEFAULT_MAX_ITERATIONS,
            decide: Arc::new(|_| Answer::Deny {
                reason: Some("there is nobody to ask".to_owned()),
            }),
        }
    }

    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Ends calls of a tool after a while, whatever the tool says about itself. Whole seconds count, at least one.
    pub fn time_limit(mut self, tool: impl Into<String>, limit: Duration) -> Self {
        self.limits.push((tool.into(), limit));
        self
    }

    /// How many times the model is asked at most, all results that come later included.
    pub fn max_iterations(mut self, limit: u32) -> Self {
        self.max_iterations = limit;
        self
    }

    /// Decides for tools that ask for approval. Without it, they are denied.
    pub fn decide(
        mut self,
        decide: impl Fn(&ApprovalRequested) -> Answer + Send + Sync + 'static,
    ) -> Self {
        self.decide = Arc::new(decide);
        self
    }

    /// Follows the conversation to its end. Dropping it ends what is under way.
    ///
    /// # Errors
    /// What the model failed with, or why it came to no answer.
    pub async fn run(
        self,
        mut seen: impl FnMut(Progress<'_>) + Send,
    ) -> Result<Answered, Unanswered> {
        let limit = self.max_iterations;
        let stand_in = Arc::new(StandIn::new(&self.models, self.request, &self.tools, limit)?);
        let agent = stand_in.agent(&self.tools);
        let mut builder = Engine::builder(Arc::new(Memory::new())).model(NAME, stand_in.clone());
        for tool in self.tools {
            let limit = self.limits.iter().find(|(name, _)| *name == tool.spec().name);
            builder = builder.tool(match limit {
                Some((_, limit)) => Arc::new(Limited { tool, limit: *limit }),
                None => tool,
            })?;
        }
        let engine = Guarded(builder.start()?);
        let chat = open(&engine.0, agent, stand_in.request.stream, limit).await?;
        let conversation =
            Conversation { engine: &engine.0, chat, stand_in: &stand_in, decide: &*self.decide };
        let ended = conversation.follow(&mut seen).await?;
        let calls = engine.0.store().calls(&conversation.chat, None, MOST_CALLS).await;
        let calls = calls.map_err(Error::from)?;
        engine.0.shutdown().await;
        stand_in.answered(ended, calls)
    }
}

async fn open(
    engine: &Engine,
    agent: Agent,
    stream: bool,
    max_iterations: u32,
) -> Result<ChatId, Error> {
    let mut world = World::new(WorldId::new(NAME), NAME, Timestamp::now());
    world.max_iterations = max_iterations;
    // Every result that comes later is a turn of its own; how often the model is asked limits them all.
    world.turn_limit = u32::MAX;
    world.streaming = stream;
    world.result_limit = usize::MAX;
    world.agents.push(agent);
    let world = engine.create_world(world, NAME).await?;
    // A chat that has a title asks no model for one.
    let chat = engine.create_chat(&world.id, Some(NAME.to_owned()), NAME).await?;
    Ok(chat.id)
}

/// Ends everything when the caller loses interest.
struct Guarded(Engine);

impl Drop for Guarded {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// The one chat of an answer.
struct Conversation<'a> {
    engine: &'a Engine,
    chat: ChatId,
    stand_in: &'a StandIn,
    decide: &'a Deciding,
}

impl Conversation<'_> {
    /// Gives what was said about why it ended, if anything was.
    async fn follow(
        &self,
        seen: &mut (impl FnMut(Progress<'_>) + Send),
    ) -> Result<Option<(NoticeCode, String)>, Error> {
        let posted = self.engine.post(&self.chat, NewMessage::human(NAME)).await?;
        let mut events = self.engine.subscribe(Scope::Chat(self.chat.clone()), posted.position);
        let (mut notice, mut tally, mut last) = (None, Tally::default(), None);
        while let Some(item) = events.next().await? {
            let stored = match item {
                FeedItem::Chunk(chunk) => {
                    seen(Progress::Piece(&chunk));
                    continue;
                }
                FeedItem::Output(_) => continue,
                FeedItem::Stored(stored) => stored,
            };
            let event = stored.sealed.open().map_err(agent_world_store::Error::from)?.event;
            tally.count(&event);
            seen(Progress::Event { event: &event, statistics: tally.statistics });
            match &event {
                Event::ApprovalRequested(asked) => self.answer(asked).await?,
                // What a model failed at before does not matter once it has answered.
                Event::ReplyRecorded(_) => notice = None,
                Event::NoticePosted(posted) => notice = Some((posted.code, posted.text.clone())),
                Event::TurnEnded { .. } if self.stand_in.may_not_be_asked(notice.as_ref()) => {
                    return Ok(notice);
                }
                Event::TurnEnded { .. } => last = self.last().await?,
                _ => {}
            }
            if last.is_some_and(|last| stored.sealed.seq >= last) {
                return Ok(notice);
            }
        }
        Err(Error::ShuttingDown)
    }

    /// The event after which nothing more happens, if all that happens is recorded. Whoever looks on slowly has still
    /// to be told what came before it.
    async fn last(&self) -> Result<Option<u64>, Error> {
        let store = self.engine.store();
        let standing = Standing::of(&**store, &self.chat, Timestamp::now()).await?;
        Ok((!standing.works).then_some(standing.head))
    }

    async fn answer(&self, asked: &ApprovalRequested) -> Result<(), Error> {
        let answer = (self.decide)(asked);
        match self.engine.answer(&asked.approval, answer, NAME, Claims::default()).await {
            // A grant given for a sibling may have decided it already.
            Ok(_) | Err(Error::AlreadySettled(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Counts calls by what is told of them, so that a thousand calls are not read anew a thousand times.
#[derive(Debug, Default)]
struct Tally {
    statistics: Statistics,
    /// Calls that have not ended: whether they run.
    open: BTreeMap<CallId, bool>,
}

impl Tally {
    fn count(&mut self, event: &Event) {
        let counted = &mut self.statistics;
        match event {
            Event::ToolCalled(called) => {
                counted.total += 1;
                match called.mode {
                    Mode::Blocking => counted.blocking += 1,
                    Mode::Background => counted.background += 1,
                }
                self.open.insert(called.call.clone(), false);
            }
            Event::ToolStarted { call, .. } => {
                self.open.insert(call.clone(), true);
            }
            Event::ToolRequeued { call } => {
                self.open.insert(call.clone(), false);
            }
            Event::ToolFinished(finished) => {
                self.open.remove(&finished.call);
                match finished.outcome {
                    Outcome::Completed => counted.completed += 1,
                    _ => counted.failed += 1,
                }
            }
            _ => return,
        }
        counted.executing = self.open.values().filter(|runs| **runs).count();
        counted.pending = self.open.len() - counted.executing;
    }
}

impl Statistics {
    pub fn of(calls: &[CallView]) -> Self {
        let mut counted = Self { total: calls.len(), ..Self::default() };
        for call in calls {
            match &call.state {
                CallState::Pending | CallState::AwaitingApproval => counted.pending += 1,
                CallState::Executing => counted.executing += 1,
                CallState::Ended(Outcome::Completed) => counted.completed += 1,
                CallState::Ended(_) => counted.failed += 1,
            }
            if call.blocking {
                counted.blocking += 1;
            } else {
                counted.background += 1;
            }
        }
        counted
    }
}

/// Takes the engine's place in front of the real model: the engine's opening message stands for the caller's input,
/// and every other setting of the caller's request is kept.
#[derive(Debug)]
struct StandIn {
    model: Arc<dyn Model>,
    request: Request,
    limit: u32,
    record: Arc<Mutex<Record>>,
}

#[derive(Debug, Default)]
struct Record {
    asked: u32,
    /// The model would have been asked once too often.
    exhausted: bool,
    replies: Vec<Response>,
    failure: Option<agent_world_llm::Error>,
}

impl StandIn {
    fn new(
        models: &Models,
        request: Request,
        tools: &[Arc<dyn Tool>],
        limit: u32,
    ) -> Result<Self, Unanswered> {
        let (model, own_name) = models.find(&request.model)?;
        let own_name = own_name.to_owned();
        let mut request = Request { model: own_name, ..request };
        let known = |name: &str| tools.iter().any(|tool| tool.spec().name == name);
        let orphan = request.functions().find(|function| !known(&function.name));
        if let Some(orphan) = orphan {
            return Err(Unanswered::NoSuchTool(orphan.name.clone()));
        }
        // What the caller's tools say about themselves comes with every request of the engine.
        request.tools.retain(|tool| matches!(tool, Offered::Unknown(_)));
        Ok(Self { model, request, limit, record: Arc::default() })
    }

    /// Whom the engine takes the model for. It is offered what the caller has, and nothing of the engine's own.
    fn agent(&self, tools: &[Arc<dyn Tool>]) -> Agent {
        Agent {
            model: Some(format!("{NAME}/{NAME}")),
            tools: tools.iter().map(|tool| tool.spec().name).collect(),
            parallel_tool_calls: self.request.parallel_tool_calls != Some(false),
            ..Agent::new(NAME)
        }
    }

    /// What to ask next.
    ///
    /// # Errors
    /// When the model was asked as often as it may be. The engine counts for each turn alone.
    fn next(&self, engine: Request) -> Result<Request, agent_world_llm::Error> {
        let mut record = self.lock();
        if record.asked >= self.limit {
            record.exhausted = true;
            let message = "the model was asked as often as it may be";
            return Err(agent_world_llm::Error::new(Class::Cancelled, NAME, message));
        }
        record.asked += 1;
        drop(record);
        Ok(self.merged(engine))
    }

    /// Whether nothing that still runs can lead to an answer.
    fn may_not_be_asked(&self, notice: Option<&(NoticeCode, String)>) -> bool {
        self.lock().exhausted || matches!(notice, Some((NoticeCode::IterationLimit, _)))
    }

    fn merged(&self, engine: Request) -> Request {
        let mut request = self.request.clone();
        request.input.extend(engine.input.into_iter().skip(1));
        request.tools.extend(engine.tools);
        // A tool that must be used would have to be used for ever.
        let first = self.lock().replies.is_empty();
        if !first && request.tool_choice.as_ref().is_some_and(is_forced) {
            request.tool_choice = None;
        }
        request
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(
        &self,
        notice: Option<(NoticeCode, String)>,
        calls: Vec<CallView>,
    ) -> Result<Answered, Unanswered> {
        let (limit, record) = (self.limit, std::mem::take(&mut *self.lock()));
        if record.exhausted {
            return Err(Unanswered::TooManyIterations { limit });
        }
        match (notice, record.failure) {
            (Some((NoticeCode::ModelFailed, _)), Some(failure)) => return Err(failure.into()),
            // The model answered, or broke down, in a way that could not be taken for a reply.
            (Some((NoticeCode::ModelFailed, text)), None) => {
                return Err(Unanswered::NoAnswer(text));
            }
            (Some((NoticeCode::IterationLimit, _)), _) => {
                return Err(Unanswered::TooManyIterations { limit });
            }
            _ => {}
        }
        let Some(response) = record.replies.last().cloned() else {
            return Err(Unanswered::NoAnswer("it was never asked".to_owned()));
        };
        let mut usage = Usage::default();
        for reply in &record.replies {
            usage += reply.usage.clone().unwrap_or_default();
        }
        let statistics = Statistics::of(&calls);
        Ok(Answered { response, usage, replies: record.replies, calls, statistics })
    }
}

fn is_forced(choice: &ToolChoice) -> bool {
    matches!(
        choice,
        ToolChoice::Required
            | ToolChoice::Function { .. }
            | ToolChoice::Allowed { required: true, .. }
    )
}

#[async_trait::async_trait]
impl Model for StandIn {
    fn stream(&self, request: Request) -> Events {
        let record = Arc::clone(&self.record);
        let events = match self.next(request) {
            Ok(request) => self.model.stream(request),
            Err(error) => return Box::pin(futures::stream::once(async { Err(error) })),
        };
        Box::pin(events.inspect(move |event| {
            let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
            match event {
                Ok(agent_world_llm::Event::Completed(response)) => {
                    record.replies.push(Response::clone(response));
                }
                Ok(_) => {}
                Err(error) => record.failure = Some(error.clone()),
            }
        }))
    }

    async fn generate(&self, request: Request) -> Result<Response, agent_world_llm::Error> {
        let answered = self.model.generate(self.next(request)?).await;
        match &answered {
            Ok(response) => self.lock().replies.push(response.clone()),
            Err(error) => self.lock().failure = Some(error.clone()),
        }
        answered
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        self.model.capabilities(&self.request.model)
    }
}

/// A tool with less time than it gives itself.
#[derive(Debug)]
struct Limited {
    tool: Arc<dyn Tool>,
    limit: Duration,
}

#[async_trait::async_trait]
impl Tool for Limited {
    fn spec(&self) -> ToolSpec {
        ToolSpec { timeout_seconds: self.limit.as_secs().max(1), ..self.tool.spec() }
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        self.tool.run(invocation).await
    }
}

impl fmt::Debug for WithTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithTools")
            .field("model", &self.request.model)
            .field("tools", &self.tools)
            .field("max_iterations", &self.max_iterations)
            .finish_non_exhaustive()
    }
}
