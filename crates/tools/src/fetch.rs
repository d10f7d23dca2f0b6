//! The tool `fetch_url`: gets a page of the web as text.
//! Called by the runtime with the arguments that were stored and approved. Talks HTTP to public addresses only, unless
//! the settings say otherwise, and checks each address where the connection is made: whatever a name means at that
//! moment, and wherever a redirect leads. Never sends a cookie, a key or a password, and uses no proxy.

mod address;
mod html;
mod outbound;
mod page;
mod text;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent_world_core::binding::{Facts, Prepared};
use agent_world_core::config::{Approval, Sandbox, ToolSpec};
use agent_world_core::event::Output;
use async_trait::async_trait;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::trust;
use crate::{Failure, Intent, Invocation, Tool};
use address::{Checked, Lookup, System};
use page::Page;
use text::Form;

pub use outbound::{Outbound, Reach};

pub const NAME: &str = "fetch_url";
/// Bytes read of a page unless the settings say otherwise.
pub const MAX_BYTES: u64 = 5 * 1024 * 1024;
/// No page is waited for longer, redirects included.
pub const TIMEOUT: Duration = Duration::from_secs(30);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const USER_AGENT: &str = concat!("agent-world/", env!("CARGO_PKG_VERSION"));

const DESCRIPTION: &str = "Gets the page at a URL (http or https) and returns it as text: HTML is turned into plain \
    text with its links listed at the end, other text comes as it is. The first line says the status, the type and the \
    final address. What is not text is only described.";

/// What people can set about fetching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Whether this machine and its own networks can be reached. Addresses that hand out a machine's credentials
    /// cannot, in any case.
    pub private_addresses: bool,
    /// The most a call can ask for.
    pub max_bytes: u64,
}

impl Default for Fetch {
    fn default() -> Self {
        Self { private_addresses: false, max_bytes: MAX_BYTES }
    }
}

/// Fetches pages for agents. Clones share their connections.
#[derive(Clone, Debug)]
pub struct FetchUrl {
    settings: Fetch,
    may_reach: fn(IpAddr) -> bool,
    names: Arc<dyn Lookup>,
    timeout: Duration,
    /// Made when it is first needed: the machine's certificates take a while to read.
    client: Arc<OnceLock<Result<Client, String>>>,
    /// The same for worlds that allow private addresses: it has connections of its own.
    unbarred: Arc<OnceLock<FetchUrl>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    url: String,
    max_bytes: Option<u64>,
    #[serde(default)]
    raw: bool,
}

fn schema(most: u64) -> Value {
    json!({
        "type": "object",
        "properties": {
            "url": {
                "type": "string",
                "minLength": 1,
                "maxLength": 8_192,
                "description": "The address, with http:// or https://",
            },
            "max_bytes": {
                "type": "integer",
                "minimum": 1,
                "description": format!("Bytes to read at most; {most} unless given, and never more"),
            },
            "raw": {
                "type": "boolean",
                "description": "Whether to return HTML as it is instead of as plain text",
            },
        },
        "required": ["url"],
        "additionalProperties": false,
    })
}

impl FetchUrl {
    pub fn new(settings: Fetch) -> Self {
        let may_reach =
            if settings.private_addresses { address::is_harmless } else { address::is_public };
        Self {
            settings,
            may_reach,
            names: Arc::new(System),
            timeout: TIMEOUT,
            client: Arc::new(OnceLock::new()),
            unbarred: Arc::new(OnceLock::new()),
        }
    }

    /// The one that a world's settings ask for.
    fn of(&self, sandbox: &Sandbox) -> &Self {
        if !sandbox.private_addresses || self.settings.private_addresses {
            return self;
        }
        self.unbarred.get_or_init(|| Self {
            names: Arc::clone(&self.names),
            timeout: self.timeout,
            ..Self::new(Fetch { private_addresses: true, ..self.settings })
        })
    }

    fn client(&self) -> Result<&Client, String> {
        let client = self.client.get_or_init(|| {
            let names = Checked { names: Arc::clone(&self.names), may_reach: self.may_reach };
            Client::builder()
                .tls_backend_preconfigured(trust::configure()?)
                .user_agent(USER_AGENT)
                .redirect(Policy::none())
                .no_proxy()
                .dns_resolver(Arc::new(names))
                .connect_timeout(CONNECT_TIMEOUT.min(self.timeout))
                .build()
                .map_err(|error| format!("the client for HTTP cannot be made: {error}"))
        });
        client.as_ref().map_err(Clone::clone)
    }

    async fn fetch(&self, arguments: &Arguments) -> Result<Output, Failure> {
        let most = self.settings.max_bytes;
        let limit = arguments.max_bytes.map_or(most, |asked| asked.min(most));
        let url = page::address(&arguments.url, self.may_reach).map_err(Failure::text)?;
        let client = self.client().map_err(Failure::text)?;
        let page = Page::get(client, url, limit, self.may_reach).await.map_err(Failure::text)?;
        let form = if arguments.raw { Form::Raw } else { Form::Readable };
        // Turning a large page into text takes a while.
        let output = tokio::task::spawn_blocking(move || page.into_output(form)).await;
        output.map_err(|error| {
            Failure::text(format!("the page cannot be turned into text: {error}"))
        })?
    }
}

#[async_trait]
impl Tool for FetchUrl {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            approval: Approval { message: Some("Fetch: {url}".to_owned()), ..Approval::default() },
            // Later than the tool's own limit, which says what took so long.
            timeout_seconds: TIMEOUT.as_secs() + 5,
            read_only: true,
            ..ToolSpec::new(NAME, DESCRIPTION, schema(self.settings.max_bytes))
        }
    }

    async fn prepare(&self, intent: Intent<'_>) -> Result<Prepared, String> {
        let arguments = read(intent.arguments.clone())?;
        let url = page::address(&arguments.url, self.of(intent.sandbox).may_reach)?;
        // As it is asked for, with letters of other alphabets spelled out.
        let facts = Facts::from([("url".to_owned(), Url::to_string(&url))]);
        Ok(Prepared { facts, preview: None })
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        let Invocation { arguments, cancelled, sandbox, .. } = invocation;
        let fetching = self.of(&sandbox);
        let arguments = read(arguments).map_err(Failure::text)?;
        tokio::select! {
            biased;
            () = cancelled.cancelled() => Err(Failure::text("cancelled before the page was there")),
            () = tokio::time::sleep(self.timeout) => {
                let seconds = self.timeout.as_secs_f64();
                let text = format!("the page was not there within {seconds}s");
                Err(Failure::TimedOut(Output::text(text)))
            }
            result = fetching.fetch(&arguments) => result,
        }
    }
}

fn read(arguments: Value) -> Result<Arguments, String> {
    serde_json::from_value(arguments)
        .map_err(|error| format!("the arguments cannot be used: {error}"))
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
