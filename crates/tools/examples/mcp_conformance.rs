//! Drives our MCP client for the protocol's own conformance suite, as the runtime would: lists a server's tools and calls them.
//! Started by `cargo xtask conformance`, once per scenario, with the server's address as the last argument. Plays the person, too:
//! logs in wherever it is sent and accepts what is asked. Which era the server speaks it finds out by itself, as always, and so has no
//! use for `MCP_CONFORMANCE_PROTOCOL_VERSION`.
#![allow(clippy::expect_used, reason = "the suite reads a panic as what it is: a failed scenario")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::config::{McpServer, ToolSpec, World};
use agent_world_core::ids::{AgentId, CallId, ChatId, WorldId};
use agent_world_tools::mcp::{Options, Redirect, Servers, State};
use agent_world_tools::person::{Answer, Person, Question};
use agent_world_tools::{Invocation, Source};
use async_trait::async_trait;
use serde_json::{Map, Value, json};

const SERVER: &str = "conformance";
const REDIRECT: &str = "http://localhost:3000/callback";
/// Where the suite expects this client to describe itself; nobody fetches it.
const METADATA: &str = "https://conformance-test.local/client-metadata.json";
const LIMIT: Duration = Duration::from_secs(25);

#[tokio::main]
async fn main() -> ExitCode {
    let url = std::env::args().next_back().expect("the server's address is the last argument");
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let redirect = Redirect::To(REDIRECT.to_owned());
    let servers = Arc::new(Servers::new(Options { redirect, ..Options::default() }));
    let mut world = World::new(WorldId::from(SERVER), SERVER, Timestamp::now());
    world.mcp_servers.insert(SERVER.to_owned(), settings(&url, &context));
    let outcome = tokio::time::timeout(LIMIT, play(&servers, &world, &context)).await;
    servers.close().await;
    match outcome {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(problem)) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
        Err(_) => {
            eprintln!("not done within {} s", LIMIT.as_secs());
            ExitCode::FAILURE
        }
    }
}

fn settings(url: &str, context: &Value) -> McpServer {
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let mut oauth = json!({"clientMetadataUrl": METADATA});
    for (ours, theirs) in [("clientId", "client_id"), ("clientSecret", "client_secret")] {
        if let (Some(value), Some(fields)) = (context.get(theirs), oauth.as_object_mut()) {
            fields.insert(ours.to_owned(), value.clone());
        }
    }
    if scenario.starts_with("auth/client-credentials")
        && let Some(fields) = oauth.as_object_mut()
    {
        fields.insert("grant".to_owned(), json!("client_credentials"));
    }
    serde_json::from_value(json!({"url": url, "oauth": oauth})).expect("the settings are whole")
}

async fn play(servers: &Arc<Servers>, world: &World, context: &Value) -> Result<(), String> {
    start(servers, world).await?;
    let registry = servers.tools(world);
    let mut problems = Vec::new();
    let specs: Vec<ToolSpec> = registry.specs().iter().map(|spec| spec.as_ref().clone()).collect();
    for (name, arguments) in calls(&specs, context) {
        let Some(tool) = registry.get(&name) else { continue };
        let mut invocation = Invocation::new(
            CallId::from("call"),
            world.id.clone(),
            ChatId::from("chat"),
            AgentId::from("agent"),
            arguments,
        );
        invocation.facts = tool.prepare(invocation.intent()).await?.facts;
        invocation.person = Arc::new(Willing);
        match tool.run(invocation).await {
            Ok(output) => println!("{name}: {}", output.text),
            Err(failure) => problems.push(format!("{name}: {}", failure.into_output().text)),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

/// Waits until the server is ready, logging in where it wants that.
async fn start(servers: &Servers, world: &World) -> Result<(), String> {
    let mut visited = None;
    loop {
        servers.ready(world).await;
        let health = servers.health(&world.id).pop().ok_or("the server is not known")?;
        if let Some(url) = health.authorize_at
            && visited.as_ref() != Some(&url)
        {
            let address = log_in(&url).await?;
            servers.redirected(&world.id, SERVER, address)?;
            visited = Some(url);
        }
        match health.state {
            State::Ready(_) => return Ok(()),
            State::Failed { error, next_attempt: Some(_) } => return Err(error),
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// What the suite wants called, or every tool once.
fn calls(specs: &[ToolSpec], context: &Value) -> Vec<(String, Value)> {
    if let Some(wanted) = context.get("toolCalls").and_then(Value::as_array) {
        return wanted
            .iter()
            .filter_map(|call| {
                let name = format!("{SERVER}.{}", call.get("name")?.as_str()?);
                Some((name, call.get("arguments").cloned().unwrap_or_default()))
            })
            .collect();
    }
    let echo = format!("{SERVER}.json_schema_echo");
    specs
        .iter()
        .map(|spec| {
            // Wants to see what became of the other tool's schema.
            let other = specs.iter().find(|other| spec.name == echo && other.name != echo);
            let arguments = match other {
                Some(other) => json!({"schema": other.parameters}),
                None => fitting(&spec.parameters),
            };
            (spec.name.clone(), arguments)
        })
        .collect()
}

/// Some value for everything a schema names.
fn fitting(schema: &Value) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let some = |property: &Value| match property.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => json!(3),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("test"),
    };
    let fields: Map<String, Value> = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| (name.clone(), some(property)))
        .collect();
    Value::Object(fields)
}

/// Says yes to everything, and fills in only what must be.
#[derive(Debug)]
struct Willing;

#[async_trait]
impl Person for Willing {
    async fn ask(&self, question: Question) -> Answer {
        if let Some(url) = &question.url {
            return match log_in(url).await {
                Ok(address) => Answer::Given(json!({"redirected_to": address})),
                Err(_) => Answer::Declined,
            };
        }
        let Value::Object(mut fields) = fitting(&question.schema) else {
            return Answer::Declined;
        };
        let properties = question.schema.get("properties").cloned().unwrap_or_default();
        fields.retain(|name, _| {
            properties.get(name).is_some_and(|property| property.get("default").is_none())
        });
        Answer::Given(Value::Object(fields))
    }
}

/// Visits a login page as a browser would, and says where it was sent to in the end.
async fn log_in(url: &str) -> Result<String, String> {
    let problem = |error: reqwest::Error| format!("the login page cannot be visited: {error}");
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(no_tls()?)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(problem)?;
    let response = client.get(url).send().await.map_err(problem)?;
    let location = response.headers().get("location").and_then(|value| value.to_str().ok());
    location.map(str::to_owned).ok_or_else(|| "the login page sends nobody back".to_owned())
}

/// The suite's pages are on this machine.
fn no_tls() -> Result<rustls::ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}
