//! Tests of what a collector of OpenTelemetry is told by the real program, and that it is told nothing unasked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind, status::StatusCode};
use prost::Message as _;

use crate::home::{Ended, Home};

/// Takes what is sent, and keeps it.
struct Collector {
    endpoint: String,
    kept: Arc<Mutex<Vec<Delivery>>>,
}

#[derive(Clone, Debug)]
struct Delivery {
    path: String,
    head: String,
    body: Vec<u8>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let kept: Arc<Mutex<Vec<Delivery>>> = Arc::default();
        let keep = Arc::clone(&kept);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let delivery = take(&stream.unwrap());
                keep.lock().unwrap().extend(delivery);
            }
        });
        Self { endpoint, kept }
    }

    fn run(&self, home: &Home, more: &[(&str, &str)], arguments: &[&str]) -> Ended {
        let mut set = vec![("OTEL_EXPORTER_OTLP_ENDPOINT", self.endpoint.as_str()), DIRECTLY];
        set.extend(more);
        home.run_where(&set, arguments)
    }

    fn deliveries(&self, path: &str) -> Vec<Delivery> {
        let all = self.kept.lock().unwrap();
        all.iter().filter(|delivery| delivery.path == path).cloned().collect()
    }

    fn spans(&self) -> Vec<Span> {
        let decode = |delivery: &Delivery| {
            ExportTraceServiceRequest::decode(delivery.body.as_slice()).unwrap().resource_spans
        };
        let resources = self.deliveries("/v1/traces").iter().flat_map(decode).collect::<Vec<_>>();
        resources.into_iter().flat_map(|one| one.scope_spans).flat_map(|one| one.spans).collect()
    }

    fn metrics(&self) -> Vec<Metric> {
        let decode = |delivery: &Delivery| {
            ExportMetricsServiceRequest::decode(delivery.body.as_slice()).unwrap().resource_metrics
        };
        let resources = self.deliveries("/v1/metrics").iter().flat_map(decode).collect::<Vec<_>>();
        resources
            .into_iter()
            .flat_map(|one| one.scope_metrics)
            .flat_map(|one| one.metrics)
            .collect()
    }
}

/// The collector is on this machine, whatever proxy the environment of the test names.
const DIRECTLY: (&str, &str) = ("NO_PROXY", "127.0.0.1");

fn take(mut stream: &TcpStream) -> Option<Delivery> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1)?.lines().next()?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    stream.write_all(answer.as_bytes()).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    Some(Delivery { path, head, body })
}

fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    Some(match found.value.clone()?.value? {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}

#[track_caller]
fn assert_has(span: &Span, expected: &[(&str, &str)]) {
    for (key, value) in expected {
        assert_eq!(attribute(&span.attributes, key).as_deref(), Some(*value), "{key} of {span:#?}");
    }
}

fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

#[test]
fn a_turn_is_told_with_its_model_calls_and_tools() {
    let (home, collector) = (Home::new(), Collector::start());
    let more =
        [("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=blue"), ("OTEL_SERVICE_NAME", "night-shift")];
    collector.run(&home, &more, &["send", "--approve", "all", "run touch told"]).succeeded();
    let spans = collector.spans();
    let turns = named(&spans, "invoke_agent ada");
    let [turn] = turns.as_slice() else { panic!("{spans:#?}") };
    assert!(turn.parent_span_id.is_empty());
    assert_eq!(turn.kind(), SpanKind::Internal);
    let conversation = attribute(&turn.attributes, "gen_ai.conversation.id").unwrap();
    assert!(conversation.starts_with("chat_"), "{conversation}");
    assert_has(
        turn,
        &[
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.provider.name", "demo"),
            ("gen_ai.agent.id", "ada"),
            ("agent_world.world.id", "demo"),
            ("agent_world.turn.ending", "completed"),
        ],
    );
    let happened: Vec<&str> = turn.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(happened, ["agent_world.approval.requested", "agent_world.approval.decided"]);
    let decided = &turn.events[1].attributes;
    assert_eq!(attribute(decided, "agent_world.approval.decision").unwrap(), "approved_once");
    assert_eq!(attribute(decided, "agent_world.approval.decided_by").unwrap(), "person");

    let calls = named(&spans, "chat demo");
    let within: Vec<&&Span> =
        calls.iter().filter(|call| call.parent_span_id == turn.span_id).collect();
    assert_eq!(within.len(), 2, "{spans:#?}");
    for call in within {
        assert_eq!((call.kind(), &call.trace_id), (SpanKind::Client, &turn.trace_id));
        assert_has(
            call,
            &[
                ("gen_ai.operation.name", "chat"),
                ("gen_ai.provider.name", "demo"),
                ("gen_ai.request.model", "demo"),
                ("gen_ai.agent.id", "ada"),
                ("gen_ai.conversation.id", &conversation),
            ],
        );
        let tokens = attribute(&call.attributes, "gen_ai.usage.output_tokens").unwrap();
        assert!(tokens.parse::<u64>().unwrap() > 0, "{tokens}");
    }

    let tools = named(&spans, "execute_tool shell_cmd");
    let [tool] = tools.as_slice() else { panic!("{spans:#?}") };
    assert_eq!((&tool.parent_span_id, &tool.trace_id), (&turn.span_id, &turn.trace_id));
    let call = attribute(&tool.attributes, "gen_ai.tool.call.id").unwrap();
    assert!(call.starts_with("call_"), "{call}");
    assert_has(
        tool,
        &[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "shell_cmd"),
            ("agent_world.tool.outcome", "completed"),
        ],
    );
    assert_eq!(attribute(decided, "gen_ai.tool.call.id").unwrap(), call);
    assert!(spans.iter().all(|span| attribute(&span.attributes, "error.type").is_none()));

    let delivery = collector.deliveries("/v1/traces").remove(0);
    assert!(delivery.head.contains("x-tenant: blue"), "{}", delivery.head);
    let resource = ExportTraceServiceRequest::decode(delivery.body.as_slice()).unwrap();
    let resource = resource.resource_spans[0].resource.clone().unwrap().attributes;
    assert_eq!(attribute(&resource, "service.name").unwrap(), "night-shift");
    let bytes: Vec<u8> =
        collector.kept.lock().unwrap().iter().flat_map(|one| one.body.clone()).collect();
    assert!(!String::from_utf8_lossy(&bytes).contains("touch"), "nobody asked for what was said");
}

#[test]
fn what_is_measured_has_the_names_and_units_of_the_conventions() {
    let (home, collector) = (Home::new(), Collector::start());
    collector.run(&home, &[], &["send", "--approve", "all", "run touch told"]).succeeded();
    let metrics = collector.metrics();
    for (name, unit) in [
        ("gen_ai.client.operation.duration", "s"),
        ("gen_ai.client.token.usage", "{token}"),
        ("gen_ai.execute_tool.duration", "s"),
        ("gen_ai.invoke_agent.duration", "s"),
        ("agent_world.approvals", ""),
    ] {
        let found = metrics.iter().find(|metric| metric.name == name);
        let found = found.unwrap_or_else(|| panic!("{name} is not among {metrics:#?}"));
        assert_eq!(found.unit, unit, "{name}");
    }
}

#[test]
fn what_was_said_is_told_to_those_who_ask_for_it() {
    let (home, collector) = (Home::new(), Collector::start());
    let more = [("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")];
    collector.run(&home, &more, &["send", "--approve", "all", "run touch told"]).succeeded();
    let spans = collector.spans();
    let call = named(&spans, "chat demo")[0];
    let heard = attribute(&call.attributes, "gen_ai.input.messages").unwrap();
    let heard: serde_json::Value = serde_json::from_str(&heard).unwrap();
    assert_eq!(heard[0]["role"], "user", "{heard}");
    assert!(heard[0]["parts"][0]["content"].as_str().unwrap().contains("run touch told"));
    let said = attribute(&call.attributes, "gen_ai.output.messages").unwrap();
    assert!(said.contains("tool_call"), "{said}");
    let tool = named(&spans, "execute_tool shell_cmd")[0];
    assert!(attribute(&tool.attributes, "gen_ai.tool.call.arguments").unwrap().contains("touch"));
    assert!(attribute(&tool.attributes, "gen_ai.tool.call.result").is_some());
}

#[test]
fn what_fails_is_told_with_its_kind() {
    let (home, collector) = (Home::new(), Collector::start());
    home.run(&["world", "create", "lab", "--agent", "ada:openai/gpt-5"]).succeeded();
    let nobody = [("OPENAI_API_KEY", "none"), ("OPENAI_BASE_URL", "http://127.0.0.1:1")];
    collector.run(&home, &nobody, &["send", "-w", "lab", "hello"]).with_code(1);
    let spans = collector.spans();
    for (name, kind) in [("invoke_agent ada", "turn_failed"), ("chat gpt-5", "network")] {
        let span = named(&spans, name)[0];
        assert_has(span, &[("error.type", kind)]);
        assert_eq!(span.status.clone().unwrap().code(), StatusCode::Error);
    }
}

#[test]
fn nothing_is_sent_unless_it_is_asked_for() {
    let (home, collector) = (Home::new(), Collector::start());
    home.run_where(&[DIRECTLY], &["send", "hello"]).succeeded();
    let off = [("OTEL_SDK_DISABLED", "true")];
    collector.run(&home, &off, &["send", "hello"]).succeeded();
    let no_metrics = [("OTEL_METRICS_EXPORTER", "none"), ("OTEL_TRACES_SAMPLER", "always_off")];
    collector.run(&home, &no_metrics, &["send", "hello"]).succeeded();
    assert!(collector.kept.lock().unwrap().is_empty());
}

#[test]
fn a_collector_that_is_not_there_holds_nothing_up() {
    let home = Home::new();
    let nowhere = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    let logged = ("AGENT_WORLD_LOG", "warn");
    let sent = home.run_where(&[nowhere, DIRECTLY, logged], &["send", "hello"]).succeeded();
    sent.says("ada: ").warns("the OpenTelemetry collector cannot be told");
    let wrong = [nowhere, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
    home.run_where(&wrong, &["send", "hello"]).succeeded().warns("set OTEL_EXPORTER_OTLP_PROTOCOL");
}
