//! Decides what OpenTelemetry is told about agents, and under which names: the one place that knows them.
//! Called by the chat's task and by what it performs. The names follow OpenTelemetry's conventions for generative AI,
//! which are still in development; what those do not name stands under `agent_world.`. Nothing is stored: a turn that
//! outlives its process is told of again, from there on, by the next one. What was said is told only to those who asked
//! for it, and never to a log.

mod content;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::LazyLock;
use std::time::Instant;

use agent_world_core::chat::{Call, Chat};
use agent_world_core::command::{Command, ToolResult};
use agent_world_core::event::{ApprovalDecided, Decider, Decision, Ending, Event, Permission};
use agent_world_core::ids::{AgentId, CallId, ChatId, TurnId, WorldId};
use agent_world_core::item::Usage;
use agent_world_core::{chain::Recorded, display::mask_secrets};
use agent_world_llm as llm;
use tracing::{Instrument as _, Level, Span, event, field, span};

/// The target of all spans told here, and of what happens within them.
pub const SPANS: &str = "agent_world_telemetry::spans";
/// The target of all measurements.
pub const METRICS: &str = "agent_world_telemetry::metrics";

/// How long a model took to answer, in seconds.
pub const OPERATION_DURATION: &str = "gen_ai.client.operation.duration";
/// Tokens of one model call, those that went in and those that came out apart.
pub const TOKEN_USAGE: &str = "gen_ai.client.token.usage";
/// How long a tool ran, in seconds.
pub const TOOL_DURATION: &str = "gen_ai.execute_tool.duration";
/// How long a turn took, in seconds, waiting for people included.
pub const AGENT_DURATION: &str = "gen_ai.invoke_agent.duration";
/// Requests for approval that were settled.
pub const APPROVALS: &str = "agent_world.approvals";

/// Says that what was said may be told, too.
pub const CAPTURE_CONTENT: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

static WITH_CONTENT: LazyLock<bool> = LazyLock::new(|| {
    std::env::var(CAPTURE_CONTENT).is_ok_and(|value| value.trim().eq_ignore_ascii_case("true"))
});

/// The spans of a chat's open turns, as far as this process has seen them.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    open: BTreeMap<TurnId, Open>,
}

#[derive(Debug)]
struct Open {
    span: Span,
    began: Instant,
    agent: AgentId,
    usage: Usage,
}

impl Turns {
    /// The span of a turn, begun now if this process has not seen the turn start.
    pub fn span(&mut self, chat: &Chat, turn: &TurnId) -> Span {
        match (self.open.get(turn), chat.turns.get(turn)) {
            (Some(open), _) => open.span.clone(),
            (None, Some(known)) => self.begin(chat, turn, &known.agent.clone()),
            (None, None) => Span::none(),
        }
    }

    /// Takes in what was recorded; `chat` is as it stands since.
    pub fn follow(&mut self, chat: &Chat, events: &[Arc<Recorded>]) {
        for recorded in events {
            match &recorded.event {
                Event::TurnStarted(started) => {
                    self.begin(chat, &started.turn, &started.agent);
                }
                Event::ReplyRecorded(reply) => {
                    if let Some(open) = self.open.get_mut(&reply.turn) {
                        open.usage.input_tokens += reply.usage.input_tokens;
                        open.usage.output_tokens += reply.usage.output_tokens;
                    }
                }
                Event::TurnEnded { turn, ending } => self.end(turn, ending),
                Event::ApprovalRequested(asked) => {
                    let span = self.span_of_call(chat, &asked.call);
                    event!(
                        target: SPANS,
                        parent: &span,
                        Level::INFO,
                        {
                        "gen_ai.tool.call.id" = asked.call.as_str(),
                        "agent_world.approval.id" = asked.approval.as_str()
                        },
                        "agent_world.approval.requested"
                    );
                }
                Event::ApprovalDecided(decided) => {
                    settled(&self.span_of_call(chat, &decided.call), decided);
                }
                Event::ApprovalExpired { .. } => count_approval("expired", "nobody"),
                Event::ApprovalWithdrawn { .. } => count_approval("withdrawn", "nobody"),
                _ => {}
            }
        }
    }

    /// Lets go of turns that have ended without this process being told.
    pub fn keep_open_of(&mut self, chat: &Chat) {
        self.open.retain(|turn, _| chat.turns.contains_key(turn));
    }

    fn begin(&mut self, chat: &Chat, turn: &TurnId, agent: &AgentId) -> Span {
        let span = invocation(&chat.world, &chat.id, turn, agent);
        let open = Open {
            span: span.clone(),
            began: Instant::now(),
            agent: agent.clone(),
            usage: Usage::default(),
        };
        self.open.insert(turn.clone(), open);
        span
    }

    fn end(&mut self, turn: &TurnId, ending: &Ending) {
        let Some(Open { span, began, agent, usage }) = self.open.remove(turn) else {
            return;
        };
        let (ending, error) = match ending {
            Ending::Completed => ("completed", None),
            Ending::Stopped => ("stopped", None),
            Ending::Failed { .. } => ("failed", Some("turn_failed")),
        };
        span.record("agent_world.turn.ending", ending);
        record_usage(&span, usage.input_tokens, usage.output_tokens);
        record_error(&span, error);
        event!(target: METRICS, Level::INFO, {
            "histogram.gen_ai.invoke_agent.duration" = began.elapsed().as_secs_f64(),
            "gen_ai.operation.name" = "invoke_agent",
            "gen_ai.agent.id" = agent.as_str(),
            "error.type" = error,
        });
    }

    fn span_of_call(&mut self, chat: &Chat, call: &CallId) -> Span {
        match chat.calls.get(call) {
            Some(call) => self.span(chat, &call.made.turn.clone()),
            None => Span::none(),
        }
    }
}

fn invocation(world: &WorldId, chat: &ChatId, turn: &TurnId, agent: &AgentId) -> Span {
    span!(
        target: SPANS,
        parent: None,
        Level::INFO,
        "invoke_agent",
        "otel.name" = format!("invoke_agent {agent}"),
        "otel.kind" = "internal",
        "otel.status_code" = field::Empty,
        "gen_ai.operation.name" = "invoke_agent",
        "gen_ai.provider.name" = field::Empty,
        "gen_ai.agent.id" = agent.as_str(),
        "gen_ai.conversation.id" = chat.as_str(),
        "gen_ai.usage.input_tokens" = field::Empty,
        "gen_ai.usage.output_tokens" = field::Empty,
        "agent_world.world.id" = world.as_str(),
        "agent_world.turn.id" = turn.as_str(),
        "agent_world.turn.ending" = field::Empty,
        "error.type" = field::Empty,
    )
}

/// Who asks a model, and within what.
#[derive(Clone, Debug)]
pub(crate) struct Asker<'a> {
    pub within: &'a Span,
    pub chat: &'a ChatId,
    /// None where no agent asks: for a title.
    pub agent: Option<&'a AgentId>,
}

/// A model call under way.
#[derive(Debug)]
pub(crate) struct ModelCall {
    span: Span,
    began: Instant,
    provider: String,
    model: String,
}

impl ModelCall {
    /// `name` is `vendor/model`.
    pub fn begin(asker: &Asker<'_>, name: &str, request: &llm::Request) -> Self {
        let vendor = name.split_once('/').map_or(name, |(vendor, _)| vendor);
        let (provider, model) = (provider(vendor).to_owned(), request.model.clone());
        let span = span!(
            target: SPANS,
            parent: asker.within.id(),
            Level::INFO,
            "chat",
            "otel.name" = format!("chat {model}"),
            "otel.kind" = "client",
            "otel.status_code" = field::Empty,
            "gen_ai.operation.name" = "chat",
            "gen_ai.provider.name" = provider,
            "gen_ai.request.model" = model,
            "gen_ai.response.model" = field::Empty,
            "gen_ai.agent.id" = asker.agent.map(AgentId::as_str),
            "gen_ai.conversation.id" = asker.chat.as_str(),
            "gen_ai.usage.input_tokens" = field::Empty,
            "gen_ai.usage.output_tokens" = field::Empty,
            "gen_ai.system_instructions" = field::Empty,
            "gen_ai.input.messages" = field::Empty,
            "gen_ai.output.messages" = field::Empty,
            "error.type" = field::Empty,
        );
        asker.within.record("gen_ai.provider.name", provider.as_str());
        if *WITH_CONTENT && !span.is_disabled() {
            span.record("gen_ai.system_instructions", content::instructions(&request.instructions));
            span.record("gen_ai.input.messages", content::heard(&request.input));
        }
        Self { span, began: Instant::now(), provider, model }
    }

    /// Waits for the answer and tells how it ended. If it is dropped before, it just ends.
    pub async fn watch(
        self,
        work: impl Future<Output = Result<llm::Response, llm::Error>>,
    ) -> Result<llm::Response, llm::Error> {
        let answered = work.instrument(self.span.clone()).await;
        let error = answered.as_ref().err().map(|error| error.class.as_str());
        if let Ok(answer) = &answered {
            self.record_answer(answer);
        }
        record_error(&self.span, error);
        event!(target: METRICS, Level::INFO, {
            "histogram.gen_ai.client.operation.duration" = self.began.elapsed().as_secs_f64(),
            "gen_ai.operation.name" = "chat",
            "gen_ai.provider.name" = self.provider,
            "gen_ai.request.model" = self.model,
            "error.type" = error,
        });
        answered
    }

    fn record_answer(&self, answer: &llm::Response) {
        if !answer.model.is_empty() {
            self.span.record("gen_ai.response.model", answer.model.as_str());
        }
        if *WITH_CONTENT && !self.span.is_disabled() {
            self.span.record("gen_ai.output.messages", content::said(&answer.output));
        }
        let Some(usage) = &answer.usage else { return };
        record_usage(&self.span, usage.input_tokens, usage.output_tokens);
        for (kind, tokens) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
            event!(target: METRICS, Level::INFO, {
                "histogram.gen_ai.client.token.usage" = tokens,
                "gen_ai.operation.name" = "chat",
                "gen_ai.provider.name" = self.provider,
                "gen_ai.request.model" = self.model,
                "gen_ai.token.type" = kind,
            });
        }
    }
}

/// Waits for a tool whose start is recorded, and tells how it ended.
pub(crate) fn tool_call<F>(
    within: &Span,
    chat: &ChatId,
    call: &Call,
    work: F,
) -> impl Future<Output = Command> + Send + 'static
where
    F: Future<Output = Command> + Send + 'static,
{
    let name = call.made.name.clone();
    let span = span!(
        target: SPANS,
        parent: within.id(),
        Level::INFO,
        "execute_tool",
        "otel.name" = format!("execute_tool {name}"),
        "otel.kind" = "internal",
        "otel.status_code" = field::Empty,
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = name,
        "gen_ai.tool.type" = "function",
        "gen_ai.tool.call.id" = call.made.call.as_str(),
        "gen_ai.agent.id" = call.made.agent.as_str(),
        "gen_ai.conversation.id" = chat.as_str(),
        "gen_ai.tool.call.arguments" = field::Empty,
        "gen_ai.tool.call.result" = field::Empty,
        "agent_world.tool.outcome" = field::Empty,
        "agent_world.approval.id" = call.approval.as_ref().map(|approval| approval.as_str()),
        "error.type" = field::Empty,
    );
    if *WITH_CONTENT && !span.is_disabled() {
        let arguments = mask_secrets(call.arguments()).to_string();
        span.record("gen_ai.tool.call.arguments", arguments);
    }
    let began = Instant::now();
    async move {
        let command = work.instrument(span.clone()).await;
        if let Command::RecordToolResult { result, .. } = &command {
            tool_ended(&span, &name, began, result);
        }
        command
    }
}

fn tool_ended(span: &Span, name: &str, began: Instant, result: &ToolResult) {
    let (outcome, output, error) = match result {
        ToolResult::Completed(output) => ("completed", output, None),
        ToolResult::Failed(output) => ("failed", output, Some("failed")),
        ToolResult::TimedOut(output) => ("timeout", output, Some("timeout")),
        ToolResult::Cancelled(output) => ("cancelled", output, Some("cancelled")),
    };
    span.record("agent_world.tool.outcome", outcome);
    if *WITH_CONTENT && !span.is_disabled() {
        span.record("gen_ai.tool.call.result", output.text.as_str());
    }
    record_error(span, error);
    event!(target: METRICS, Level::INFO, {
        "histogram.gen_ai.execute_tool.duration" = began.elapsed().as_secs_f64(),
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = name,
        "error.type" = error,
    });
}

fn settled(span: &Span, decided: &ApprovalDecided) {
    let decision = match &decided.decision {
        Decision::Approved { scope: Permission::Once, .. } => "approved_once",
        Decision::Approved { scope: Permission::Session(_), .. } => "approved_session",
        Decision::Approved { scope: Permission::Always(_), .. } => "approved_always",
        Decision::Answered { .. } => "answered",
        Decision::Denied { .. } => "denied",
    };
    // The kind of it: who it was is in the audit, which nobody sends anywhere.
    let by = match &decided.by {
        Decider::Person(_) => "person",
        Decider::Grant { .. } => "grant",
        Decider::Rule { .. } => "rule",
        Decider::Nobody => "nobody",
    };
    event!(
        target: SPANS,
        parent: span,
        Level::INFO,
        {
        "gen_ai.tool.call.id" = decided.call.as_str(),
        "agent_world.approval.id" = decided.approval.as_str(),
        "agent_world.approval.decision" = decision,
        "agent_world.approval.decided_by" = by
        },
        "agent_world.approval.decided"
    );
    count_approval(decision, by);
}

fn count_approval(decision: &str, by: &str) {
    event!(target: METRICS, Level::INFO, {
        "monotonic_counter.agent_world.approvals" = 1_u64,
        "agent_world.approval.decision" = decision,
        "agent_world.approval.decided_by" = by,
    });
}

// OpenTelemetry's integers are signed; an unsigned one would arrive as text.
fn record_usage(span: &Span, input: u64, output: u64) {
    let signed = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    span.record("gen_ai.usage.input_tokens", signed(input));
    span.record("gen_ai.usage.output_tokens", signed(output));
}

fn record_error(span: &Span, error: Option<&str>) {
    if let Some(error) = error {
        span.record("error.type", error);
        span.record("otel.status_code", "error");
    }
}

/// The conventions' name of a vendor.
pub fn provider(vendor: &str) -> &str {
    match vendor {
        "google" => "gcp.gemini",
        "xai" => "x_ai",
        "azure" => "azure.ai.openai",
        "mistral" => "mistral_ai",
        other => other,
    }
}
