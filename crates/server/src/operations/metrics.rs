//! The server's numbers and what they are called.
//! Counted by `measure` (requests) and `follow` (what happens in chats), shown by the route. Where OpenTelemetry's
//! conventions for generative AI name a metric, it has that name. Every label has few values: routes are templates,
//! and what people and models name is bounded by `names`.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};

use super::names::Names;

/// Tools and models that are told apart.
const MOST_NAMES: usize = 200;

/// Seconds an HTTP request takes.
const REQUEST_SECONDS: [f64; 11] =
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Seconds a model or a tool takes, as OpenTelemetry's conventions advise.
const OPERATION_SECONDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/// Seconds a turn takes: people are waited for.
const TURN_SECONDS: [f64; 12] =
    [0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3_600.0, 86_400.0];
/// Tokens of one call, as the conventions advise.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

type Label = Arc<str>;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct Request {
    /// The template that matched; one for all addresses that nothing is at.
    pub route: Label,
    pub method: &'static str,
    /// `2xx` and so on.
    pub status: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Timed {
    route: Label,
    method: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Asked {
    gen_ai_operation_name: &'static str,
    gen_ai_provider_name: Label,
    gen_ai_request_model: Label,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Tokens {
    gen_ai_operation_name: &'static str,
    gen_ai_provider_name: Label,
    gen_ai_request_model: Label,
    gen_ai_token_type: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    model: Label,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ToolUsed {
    tool: Label,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ToolTimed {
    gen_ai_tool_name: Label,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Settled {
    decision: &'static str,
    by: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Delivered {
    outcome: &'static str,
}

/// How a request for approval was settled, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settlement {
    pub decision: &'static str,
    pub by: &'static str,
}

/// A model call that gave a reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply<'a> {
    /// `vendor/model`.
    pub model: &'a str,
    pub outcome: &'static str,
    /// Unknown where the call was begun before anybody counted.
    pub took: Option<Duration>,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// All numbers. Cheap to count with from anywhere.
pub(crate) struct Metrics {
    registry: Registry,
    models: Names,
    tools: Names,
    requests: Family<Request, Counter>,
    request_seconds: Histograms<Timed>,
    in_flight: Gauge,
    streams: Gauge,
    streamed: Counter,
    resident: Gauge,
    pending: Gauge,
    position: Gauge<i64>,
    messages: Family<Kind, Counter>,
    turns: Family<Kind, Counter>,
    notices: Family<Kind, Counter>,
    turn_seconds: Histogram,
    model_calls: Family<Answered, Counter>,
    model_seconds: Histograms<Asked>,
    tokens: Histograms<Tokens>,
    tool_calls: Family<ToolUsed, Counter>,
    tool_seconds: Histograms<ToolTimed>,
    requested: Counter,
    settled: Family<Settled, Counter>,
    deliveries: Family<Delivered, Counter>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Registers as it makes.
struct Book(Registry);

impl Book {
    fn add<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0.register(name, help, metric.clone());
        metric
    }
}

impl Metrics {
    pub fn new() -> Self {
        let mut book = Book(Registry::default());
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        book.0.register("agent_world_build", "What is running", build);
        let started: Gauge<f64, AtomicU64> = Gauge::default();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        started.set(since.as_secs_f64());
        book.0.register("process_start_time_seconds", "When the server started", started);
        let request_seconds = histograms(|| Histogram::new(REQUEST_SECONDS));
        let model_seconds = histograms(|| Histogram::new(OPERATION_SECONDS));
        let tool_seconds = histograms(|| Histogram::new(OPERATION_SECONDS));
        let tokens = histograms(|| Histogram::new(TOKENS));
        let turn_seconds = Histogram::new(TURN_SECONDS);
        Self {
            requests: book.add("agent_world_http_requests", "Requests answered", Family::default()),
            request_seconds: book.add(
                "agent_world_http_request_duration_seconds",
                "Time until an answer began",
                request_seconds,
            ),
            in_flight: book.add(
                "agent_world_http_requests_in_flight",
                "Requests whose answer has not begun",
                Gauge::default(),
            ),
            streams: book.add(
                "agent_world_event_streams_open",
                "Event streams that somebody reads",
                Gauge::default(),
            ),
            streamed: book.add(
                "agent_world_stream_events",
                "Events sent on event streams",
                Counter::default(),
            ),
            resident: book.add(
                "agent_world_resident_chats",
                "Chats held in memory",
                Gauge::default(),
            ),
            pending: book.add(
                "agent_world_pending_approvals",
                "Requests that wait for a decision",
                Gauge::default(),
            ),
            position: book.add(
                "agent_world_store_position",
                "Position of the newest stored event",
                Gauge::default(),
            ),
            messages: book.add(
                "agent_world_messages",
                "Messages posted, by the kind of sender",
                Family::default(),
            ),
            turns: book.add("agent_world_turns", "Turns ended, by how", Family::default()),
            notices: book.add(
                "agent_world_notices",
                "Notices to people, such as a model that could not be asked",
                Family::default(),
            ),
            turn_seconds: book.add(
                "gen_ai_invoke_agent_duration_seconds",
                "Time turns took, waiting for people included",
                turn_seconds,
            ),
            model_calls: book.add(
                "agent_world_model_calls",
                "Replies of models, by how they ended",
                Family::default(),
            ),
            model_seconds: book.add(
                "gen_ai_client_operation_duration_seconds",
                "Time from the request for a reply until it was recorded",
                model_seconds,
            ),
            tokens: book.add("gen_ai_client_token_usage", "Tokens of model calls", tokens),
            tool_calls: book.add(
                "agent_world_tool_calls",
                "Tool calls ended, by how",
                Family::default(),
            ),
            tool_seconds: book.add(
                "gen_ai_execute_tool_duration_seconds",
                "Time tools ran",
                tool_seconds,
            ),
            requested: book.add(
                "agent_world_approvals_requested",
                "Requests for approval",
                Counter::default(),
            ),
            settled: book.add(
                "agent_world_approvals_settled",
                "Requests settled, by decision and by what decided",
                Family::default(),
            ),
            deliveries: book.add(
                "agent_world_webhook_deliveries",
                "Attempts to tell somebody through a webhook, by how they ended",
                Family::default(),
            ),
            models: Names::up_to(MOST_NAMES),
            tools: Names::up_to(MOST_NAMES),
            registry: book.0,
        }
    }

    /// All of them, as Prometheus reads them.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    pub fn request_began(&self) {
        self.in_flight.inc();
    }

    pub fn request_left(&self) {
        self.in_flight.dec();
    }

    pub fn answered(&self, request: &Request, took: Duration) {
        let timed = Timed { route: Arc::clone(&request.route), method: request.method };
        self.requests.get_or_create(request).inc();
        self.request_seconds.get_or_create(&timed).observe(took.as_secs_f64());
    }

    pub fn stream_opened(&self) {
        self.streams.inc();
    }

    pub fn stream_closed(&self) {
        self.streams.dec();
    }

    pub fn streamed(&self, events: u64) {
        self.streamed.inc_by(events);
    }

    pub fn resident(&self, chats: usize) {
        self.resident.set(whole(chats));
    }

    pub fn pending(&self, approvals: usize) {
        self.pending.set(whole(approvals));
    }

    pub fn at_position(&self, position: u64) {
        self.position.set(i64::try_from(position).unwrap_or(i64::MAX));
    }

    pub fn message(&self, kind: &'static str) {
        self.messages.get_or_create(&Kind { kind }).inc();
    }

    pub fn notice(&self, kind: &'static str) {
        self.notices.get_or_create(&Kind { kind }).inc();
    }

    pub fn turn_ended(&self, kind: &'static str, took: Option<Duration>) {
        self.turns.get_or_create(&Kind { kind }).inc();
        if let Some(took) = took {
            self.turn_seconds.observe(took.as_secs_f64());
        }
    }

    pub fn replied(&self, reply: &Reply<'_>) {
        let name = self.models.label(reply.model);
        let answered = Answered { model: Arc::clone(&name), outcome: reply.outcome };
        self.model_calls.get_or_create(&answered).inc();
        let (provider, model) = name.split_once('/').unwrap_or((&name, &name));
        let provider: Label = agent_world_runtime::telemetry::provider(provider).into();
        let model: Label = model.into();
        for (kind, tokens) in [("input", reply.input_tokens), ("output", reply.output_tokens)] {
            let labels = Tokens {
                gen_ai_operation_name: "chat",
                gen_ai_provider_name: Arc::clone(&provider),
                gen_ai_request_model: Arc::clone(&model),
                gen_ai_token_type: kind,
            };
            let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
            self.tokens.get_or_create(&labels).observe(f64::from(tokens));
        }
        if let Some(took) = reply.took {
            let labels = Asked {
                gen_ai_operation_name: "chat",
                gen_ai_provider_name: provider,
                gen_ai_request_model: model,
            };
            self.model_seconds.get_or_create(&labels).observe(took.as_secs_f64());
        }
    }

    pub fn tool_ended(&self, tool: &str, outcome: &'static str, ran: Option<Duration>) {
        let tool = self.tools.label(tool);
        if let Some(ran) = ran {
            let labels = ToolTimed { gen_ai_tool_name: Arc::clone(&tool) };
            self.tool_seconds.get_or_create(&labels).observe(ran.as_secs_f64());
        }
        self.tool_calls.get_or_create(&ToolUsed { tool, outcome }).inc();
    }

    pub fn approval_requested(&self) {
        self.requested.inc();
    }

    pub fn approval_settled(&self, Settlement { decision, by }: Settlement) {
        self.settled.get_or_create(&Settled { decision, by }).inc();
    }

    /// `delivered`, `failed` or `given_up`.
    #[allow(dead_code, reason = "counted by the webhooks")]
    pub fn webhook_delivery(&self, outcome: &'static str) {
        self.deliveries.get_or_create(&Delivered { outcome }).inc();
    }
}

fn histograms<L: Clone + std::hash::Hash + Eq>(make: fn() -> Histogram) -> Histograms<L> {
    Family::new_with_constructor(make)
}

fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
