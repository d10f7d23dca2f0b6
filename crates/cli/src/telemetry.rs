//! Sends what the runtime tells of agents, models and tools to an OpenTelemetry collector, where the environment wants it.
//! Called by `logging`. Does nothing unless one of the standard variables (`OTEL_*`) asks for it. A collector that
//! does not answer is mentioned in the log, and holds nothing up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent_world_runtime::telemetry::{
    AGENT_DURATION, METRICS, OPERATION_DURATION, SPANS, TOKEN_USAGE, TOOL_DURATION,
};
use anyhow::{Context as _, Result, anyhow, bail};
use async_trait::async_trait;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{Aggregation, Instrument, SdkMeterProvider, Stream};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::MetricsLayer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::{Layer as _, Registry};

/// One of several that all see the same.
pub type Layer = Box<dyn tracing_subscriber::Layer<Registry> + Send + Sync>;

const NAME: &str = "agent-world";
/// Where the requests of clients are told of.
const REQUESTS: &str = "agent_world_server";
/// How long one delivery may take, unless the environment says otherwise.
const DELIVERY: Duration = Duration::from_secs(10);
/// How long the end of the program waits for the last delivery of each kind.
const LAST_DELIVERY: Duration = Duration::from_secs(3);

/// Bounds of seconds, as the conventions advise for models; longer for tools and turns, which wait for people.
const SECONDS: [f64; 18] = [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 300.0,
    900.0, 3_600.0, 86_400.0,
];
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

/// What reads the environment.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Traces,
    Metrics,
}

#[derive(Debug)]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
}

impl Telemetry {
    /// None where nobody asked for it.
    pub fn start(runtime: &Handle, variables: Variables<'_>) -> Result<Option<Self>> {
        let (traces, metrics) =
            (wanted(Signal::Traces, variables)?, wanted(Signal::Metrics, variables)?);
        if !traces && !metrics {
            return Ok(None);
        }
        let carrier = Carrier::new(runtime, variables)?;
        let resource = resource(variables);
        Ok(Some(Self {
            traces: traces.then(|| tracer(carrier.clone(), resource.clone())).transpose()?,
            metrics: metrics.then(|| meter(carrier, resource)).transpose()?,
        }))
    }

    pub fn layers(&self) -> Vec<Layer> {
        let spans = self.traces.iter().map(|provider| {
            let told = Targets::new()
                .with_target(SPANS, LevelFilter::INFO)
                .with_target(REQUESTS, LevelFilter::INFO);
            tracing_opentelemetry::layer()
                .with_tracer(provider.tracer(NAME))
                .with_location(false)
                .with_threads(false)
                .with_target(false)
                .with_tracked_inactivity(false)
                .with_filter(told)
                .boxed()
        });
        let measured = self.metrics.iter().map(|provider| {
            let told = Targets::new().with_target(METRICS, LevelFilter::INFO);
            MetricsLayer::new(provider.clone()).with_filter(told).boxed()
        });
        spans.chain(measured).collect()
    }

    /// Sends what is left. The runtime must still be there.
    pub fn end(self) {
        if let Some(traces) = self.traces
            && let Err(error) = traces.shutdown_with_timeout(LAST_DELIVERY)
        {
            tracing::warn!(%error, "the last spans were not delivered");
        }
        if let Some(metrics) = self.metrics
            && let Err(error) = metrics.shutdown_with_timeout(LAST_DELIVERY)
        {
            tracing::warn!(%error, "the last metrics were not delivered");
        }
    }
}

/// Whether a signal is to be sent, by the variables that every OpenTelemetry program has.
fn wanted(signal: Signal, variables: Variables<'_>) -> Result<bool> {
    let set = |name: &str| variables(name).map(|value| value.trim().to_ascii_lowercase());
    if set("OTEL_SDK_DISABLED").as_deref() == Some("true") {
        return Ok(false);
    }
    let (exporter, own) = match signal {
        Signal::Traces => ("OTEL_TRACES_EXPORTER", "TRACES"),
        Signal::Metrics => ("OTEL_METRICS_EXPORTER", "METRICS"),
    };
    let endpoint = format!("OTEL_EXPORTER_OTLP_{own}_ENDPOINT");
    let asked = match set(exporter).as_deref() {
        None => set(&endpoint).or(set("OTEL_EXPORTER_OTLP_ENDPOINT")).is_some(),
        Some("none") => false,
        Some("otlp") => true,
        Some(other) => bail!("{exporter}=`{other}` is not supported; it is `otlp` or `none`"),
    };
    let protocol = format!("OTEL_EXPORTER_OTLP_{own}_PROTOCOL");
    match set(&protocol).or(set("OTEL_EXPORTER_OTLP_PROTOCOL")).as_deref() {
        Some(other) if asked && other != "http/protobuf" => bail!(
            "the protocol `{other}` is not supported; set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, \
             and the collector's port for it, usually 4318"
        ),
        _ => Ok(asked),
    }
}

fn resource(variables: Variables<'_>) -> Resource {
    let named = variables("OTEL_SERVICE_NAME").is_some()
        || variables("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|all| all.contains("service.name="));
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let builder = Resource::builder().with_attribute(version);
    if named { builder.build() } else { builder.with_service_name(NAME).build() }
}

fn tracer(carrier: Carrier, resource: Resource) -> Result<SdkTracerProvider> {
    let exporter = SpanExporter::builder().with_http().with_http_client(carrier).build();
    let exporter = exporter.context("spans cannot be sent")?;
    Ok(SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build())
}

fn meter(carrier: Carrier, resource: Resource) -> Result<SdkMeterProvider> {
    let exporter = MetricExporter::builder().with_http().with_http_client(carrier).build();
    let exporter = exporter.context("metrics cannot be sent")?;
    Ok(SdkMeterProvider::builder()
        .with_resource(resource)
        .with_periodic_exporter(exporter)
        .with_view(described)
        .build())
}

/// What is measured says neither in what nor how finely; the conventions do.
fn described(instrument: &Instrument) -> Option<Stream> {
    let (unit, bounds) = match instrument.name() {
        OPERATION_DURATION | TOOL_DURATION | AGENT_DURATION => ("s", SECONDS.to_vec()),
        TOKEN_USAGE => ("{token}", TOKENS.to_vec()),
        _ => return None,
    };
    let counted = Aggregation::ExplicitBucketHistogram { boundaries: bounds, record_min_max: true };
    Stream::builder().with_unit(unit).with_aggregation(counted).build().ok()
}

/// Carries deliveries on the program's runtime: they are made by threads that have none.
#[derive(Clone, Debug)]
struct Carrier {
    client: reqwest::Client,
    runtime: Handle,
    limit: Duration,
    /// Whether the last delivery failed: mentioned when it begins and when it is over, not each time.
    failing: Arc<AtomicBool>,
}

impl Carrier {
    fn new(runtime: &Handle, variables: Variables<'_>) -> Result<Self> {
        let trust = agent_world_tools::trust::configure().map_err(|error| anyhow!(error))?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(trust)
            .user_agent(concat!("agent-world/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .context("no client for HTTP can be made")?;
        let milliseconds =
            variables("OTEL_EXPORTER_OTLP_TIMEOUT").and_then(|text| text.parse().ok());
        Ok(Self {
            client,
            runtime: runtime.clone(),
            limit: milliseconds.map_or(DELIVERY, Duration::from_millis),
            failing: Arc::default(),
        })
    }

    fn note(&self, delivered: &Result<Response<Bytes>, HttpError>) {
        let problem = match delivered {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("it answered {}", answer.status())),
            Err(error) => Some(error.to_string()),
        };
        let failed_before = self.failing.swap(problem.is_some(), Ordering::Relaxed);
        match problem {
            Some(problem) if !failed_before => {
                tracing::warn!(%problem, "the OpenTelemetry collector cannot be told");
            }
            None if failed_before => tracing::warn!("the OpenTelemetry collector answers again"),
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for Carrier {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (client, limit) = (self.client.clone(), self.limit);
        let sent = self.runtime.spawn(async move {
            match tokio::time::timeout(limit, client.send_bytes(request)).await {
                Ok(delivered) => delivered,
                Err(_) => Err(format!("no answer within {} s", limit.as_secs_f32()).into()),
            }
        });
        let delivered = sent.await.unwrap_or_else(|error| Err(Box::new(error)));
        self.note(&delivered);
        delivered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_wanted(signal: Signal, set: &[(&str, &str)]) -> Result<bool> {
        let find = |name: &str| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        wanted(signal, &find)
    }

    #[test]
    fn nothing_is_sent_unless_a_variable_asks_for_it() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
        for (set, traces, metrics) in [
            (&[][..], false, false),
            (&[("OTEL_SERVICE_NAME", "x")], false, false),
            (&[endpoint], true, true),
            (&[("OTEL_TRACES_EXPORTER", "otlp")], true, false),
            (&[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://x")], false, true),
            (&[endpoint, ("OTEL_METRICS_EXPORTER", "none")], true, false),
            (&[endpoint, ("OTEL_SDK_DISABLED", "TRUE")], false, false),
            (&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")], true, true),
        ] {
            assert_eq!(is_wanted(Signal::Traces, set).unwrap(), traces, "{set:?}");
            assert_eq!(is_wanted(Signal::Metrics, set).unwrap(), metrics, "{set:?}");
        }
    }

    #[test]
    fn what_cannot_be_sent_as_asked_is_said() {
        let console = [("OTEL_TRACES_EXPORTER", "console")];
        let error = is_wanted(Signal::Traces, &console).unwrap_err().to_string();
        assert!(error.contains("`otlp` or `none`"), "{error}");
        let grpc =
            [("OTEL_TRACES_EXPORTER", "otlp"), ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc")];
        let error = is_wanted(Signal::Traces, &grpc).unwrap_err().to_string();
        assert!(error.contains("http/protobuf"), "{error}");
        assert!(!is_wanted(Signal::Metrics, &grpc).unwrap());
    }
}
