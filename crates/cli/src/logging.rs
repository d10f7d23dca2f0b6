//! Decides what is logged, where and how: on stderr, as text or as JSON, so that output stays what scripts expect.
//! Called by `main` before anything else is done. Commands log nothing unless asked; a server logs warnings and errors,
//! and its start and stop where nobody reads its screen. Keys are never logged; what was said, only at `debug`. What is
//! told to OpenTelemetry goes there and never to the log.

use std::io::IsTerminal as _;

use agent_world_runtime::telemetry::{METRICS, SPANS};
use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use tokio::runtime::Handle;
use tracing::Metadata;
use tracing_subscriber::filter::{EnvFilter, FilterExt as _, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::data::DataFolder;
use crate::settings;
use crate::telemetry::{Layer, Telemetry};

const FILTER: &str = "AGENT_WORLD_LOG";
const FORMAT: &str = "AGENT_WORLD_LOG_FORMAT";
/// The target of what a server says about itself.
pub const SERVER: &str = "agent_world::serve";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// A line for a person.
    #[default]
    Text,
    /// An object on each line, for programs.
    Json,
}

/// What was started, to be ended when the program is done.
#[derive(Debug)]
pub struct Logging {
    telemetry: Option<Telemetry>,
}

impl Logging {
    /// Sends what is left to be sent, within a few seconds.
    pub fn end(self) {
        if let Some(telemetry) = self.telemetry {
            telemetry.end();
        }
    }
}

/// For a command: nothing unless asked for.
pub fn start(runtime: &Handle) -> Result<Logging> {
    let filter = variable(FILTER).map(|wanted| read(FILTER, &wanted)).transpose()?;
    begin(filter, format()?.unwrap_or_default(), runtime)
}

/// For a server: the environment, then the settings, then what everybody needs.
pub fn start_for_server(data: &DataFolder, runtime: &Handle) -> Result<Logging> {
    let settings = settings::read(data)?.server;
    let filter = match (variable(FILTER), settings.log) {
        (Some(wanted), _) => read(FILTER, &wanted)?,
        (None, Some(wanted)) => read("the setting server.log", &wanted)?,
        // On a terminal the screen says that it started.
        (None, None) if std::io::stderr().is_terminal() => EnvFilter::new("warn"),
        (None, None) => EnvFilter::new(format!("warn,{SERVER}=info")),
    };
    let format = format()?.or(settings.log_format).unwrap_or_default();
    begin(Some(filter), format, runtime)
}

fn begin(filter: Option<EnvFilter>, format: Format, runtime: &Handle) -> Result<Logging> {
    let (telemetry, complaint) = match Telemetry::start(runtime, &variable) {
        Ok(telemetry) => (telemetry, None),
        // Whoever watches a program must not be the reason why it does not run.
        Err(error) => (None, Some(error)),
    };
    let mut layers: Vec<Layer> = Vec::new();
    layers.extend(filter.map(|filter| on_stderr(filter, format)));
    layers.extend(telemetry.iter().flat_map(Telemetry::layers));
    if !layers.is_empty() {
        tracing_subscriber::registry().with(layers).init();
    }
    if let Some(error) = complaint {
        eprintln!("warning: OpenTelemetry is told nothing: {error:#}");
    }
    Ok(Logging { telemetry })
}

fn on_stderr(filter: EnvFilter, format: Format) -> Layer {
    let filter = filter.and(filter_fn(|what: &Metadata<'_>| !is_telemetry(what)));
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    match format {
        Format::Text => lines.with_filter(filter).boxed(),
        Format::Json => lines.json().flatten_event(true).with_filter(filter).boxed(),
    }
}

fn is_telemetry(what: &Metadata<'_>) -> bool {
    [SPANS, METRICS].contains(&what.target())
}

fn read(name: &str, wanted: &str) -> Result<EnvFilter> {
    EnvFilter::try_new(wanted).with_context(|| {
        format!("{name}=`{wanted}` cannot be read; try `info` or `agent_world_runtime=debug`")
    })
}

fn format() -> Result<Option<Format>> {
    match variable(FORMAT).as_deref() {
        None => Ok(None),
        Some("text") => Ok(Some(Format::Text)),
        Some("json") => Ok(Some(Format::Json)),
        Some(other) => bail!("{FORMAT}=`{other}` is no format; it is `text` or `json`"),
    }
}

/// One that is empty is as good as none.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
