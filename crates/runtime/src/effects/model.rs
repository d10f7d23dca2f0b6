//! Calls a model for a turn and streams the pieces to whoever follows along.
//! Started by the chat's task. Never stores anything: its end is a command.

use std::sync::Arc;

use agent_world_core::command::Command;
use agent_world_core::config::{Agent, Location, ToolSpec, World};
use agent_world_core::ids::{AgentId, ChatId, MessageId, TurnId};
use agent_world_core::item::Reply;
use agent_world_core::prompt::Prompt;
use agent_world_llm::{Event, ReasoningOptions, Request, Tool, complete};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use crate::effects::look::{self, Caller};
use crate::engine::Shared;
use crate::feed::Chunk;
use crate::telemetry::{Asker, ModelCall};

/// Which call this is.
pub(crate) struct Job {
    /// What is told of the turn.
    pub within: Span,
    pub chat: ChatId,
    pub turn: TurnId,
    pub agent: AgentId,
    pub reply: MessageId,
}

pub(crate) fn call(
    shared: &Arc<Shared>,
    world: &Arc<World>,
    job: Job,
    prompt: Option<Prompt>,
    cancelled: CancellationToken,
) -> impl Future<Output = Command> + Send + 'static {
    let (shared, world) = (Arc::clone(shared), Arc::clone(world));
    async move {
        let streaming = Streaming::begin(&shared, &world, &job);
        let answered = tokio::select! {
            biased;
            () = cancelled.cancelled() => Err("the call was cancelled".to_owned()),
            answered = in_turn(&shared, &world, &job, prompt) => answered,
        };
        drop(streaming);
        match answered {
            Ok((model, answer)) => {
                let caller =
                    Caller { world: &world, chat: &job.chat, agent: &job.agent, directory: None };
                let looks = look::at_reply(&shared, caller, &answer).await;
                Command::RecordReply { turn: job.turn, reply: job.reply, model, answer, looks }
            }
            Err(error) => Command::RecordModelFailure { turn: job.turn, reply: job.reply, error },
        }
    }
}

/// Calls wait for a place when very many are under way.
async fn in_turn(
    shared: &Shared,
    world: &World,
    job: &Job,
    prompt: Option<Prompt>,
) -> Result<(String, Reply), String> {
    // Before a place is taken: a server that hangs holds up its own world and no other.
    shared.toolbox.ready(world).await;
    let place = shared.model_calls.acquire().await.map_err(|error| error.to_string())?;
    let answered = generate(shared, world, job, prompt).await;
    drop(place);
    answered
}

async fn generate(
    shared: &Shared,
    world: &World,
    job: &Job,
    prompt: Option<Prompt>,
) -> Result<(String, Reply), String> {
    let (Some(agent), Some(prompt)) = (world.agent(&job.agent), prompt) else {
        return Err(format!("agent {} was deleted", job.agent));
    };
    let tools = tools(shared, world, agent, prompt.tools).await;
    let name = world.model_of(agent).ok_or_else(|| {
        format!("agent {} has no model; set its model or the world's default_model", job.agent)
    })?;
    let (model, own_name) = shared.models.find(name).map_err(|error| error.to_string())?;
    let request = Request {
        model: own_name.to_owned(),
        instructions: prompt.instructions,
        input: prompt.items,
        tools: tools.iter().map(|tool| Tool::from(&**tool)).collect(),
        temperature: agent.temperature,
        max_output_tokens: agent.max_output_tokens,
        reasoning: agent
            .reasoning_effort
            .clone()
            .map(|effort| ReasoningOptions { effort: Some(effort), ..ReasoningOptions::default() }),
        parallel_tool_calls: Some(agent.parallel_tool_calls),
        // The log is the memory: the vendor need not keep one, and gets what it said before from us.
        store: Some(false),
        // Each agent of a chat has a conversation of its own.
        prompt_cache_key: Some(format!("{}/{}", job.chat, job.agent)),
        stream: world.streams(agent),
        ..Request::default()
    };
    let asker = Asker { within: &job.within, chat: &job.chat, agent: Some(&job.agent) };
    let told = ModelCall::begin(&asker, name, &request);
    let answered = told.watch(async {
        if request.stream {
            let events = model.stream(request);
            complete(events, |event| pass_on(shared, job, event)).await
        } else {
            model.generate(request).await
        }
    });
    let answer = answered.await.map_err(|error| error.to_string())?;
    Ok((name.to_owned(), Reply::from(answer)))
}

/// What the agent is offered now that all servers have had the time to say what they have. What clients offer is in the
/// prompt already.
async fn tools(
    shared: &Shared,
    world: &World,
    agent: &Agent,
    offered: Vec<Arc<ToolSpec>>,
) -> Vec<Arc<ToolSpec>> {
    shared.toolbox.ready(world).await;
    let specs = shared.toolbox.specs(world);
    let of_clients = offered
        .into_iter()
        .filter(|spec| spec.location == Location::Client && specs.get(&spec.name).is_none());
    specs.of(agent).cloned().chain(of_clients).collect()
}

fn pass_on(shared: &Shared, job: &Job, event: &Event) {
    if let Event::Delta { delta, .. } = event {
        let (text, thought) = (delta.spoken().unwrap_or(""), delta.thought().unwrap_or(""));
        if !(text.is_empty() && thought.is_empty()) {
            shared.feed.piece(&job.reply, text, thought);
        }
    }
}

/// Announces pieces for as long as it lives, also when the call is cancelled or breaks down.
struct Streaming {
    shared: Arc<Shared>,
    reply: MessageId,
}

impl Streaming {
    fn begin(shared: &Arc<Shared>, world: &World, job: &Job) -> Self {
        shared.feed.begin(Chunk {
            world: world.id.clone(),
            chat: job.chat.clone(),
            agent: job.agent.clone(),
            message: job.reply.clone(),
            offset: 0,
            text: String::new(),
            reasoning: String::new(),
            number: 0,
        });
        Self { shared: Arc::clone(shared), reply: job.reply.clone() }
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        self.shared.feed.end(&self.reply);
    }
}
