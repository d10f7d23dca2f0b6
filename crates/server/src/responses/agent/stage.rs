//! Where agents are asked as models in tests: the real engine on a store in memory, a scripted model, a few tools.
//! Writes every answer as a client would read it, and holds each event against the open specification of the format.
//!
//! The specification is not part of the project. It is looked for in `AGENT_WORLD_SPECS`, then in `shared/specs` beside
//! the project's folder. Where it is not found, tests say that they skipped these checks; where the variable is set, it
//! must be there.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::config::{Agent, Approval, ToolSpec, World};
use agent_world_core::event::Output;
use agent_world_core::ids::{AgentId, ChatId, WorldId};
use agent_world_core::item::{Item, Reply};
use agent_world_core::view::MessageRole;
use agent_world_runtime::llm::resource::EventWriter;
use agent_world_runtime::llm::scripted::{Answer, Scripted as Model};
use agent_world_runtime::llm::{Events, Request};
use agent_world_runtime::store::{Memory, MessagePage};
use agent_world_runtime::tools::person::Answer::Given;
use agent_world_runtime::tools::person::Question;
use agent_world_runtime::tools::scripted::Scripted as Tool;
use agent_world_runtime::{Engine, Options};
use futures::StreamExt as _;
use jsonschema::Validator;
use serde_json::{Value, json};

use super::{Answering, Ask, answer};
use crate::access::{Principal, Proof, Role};
use crate::app::App;
use crate::problem::Problem;

/// Longer than any scene takes on a slow machine: past it, something will never happen.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Stage {
    pub app: Arc<App>,
    pub model: Model,
    /// Asks before it acts.
    pub act: Tool,
    /// Does not ask.
    pub look: Tool,
}

/// What a client was told.
#[derive(Debug)]
pub struct Told {
    pub chat: ChatId,
    pub events: Vec<Value>,
    /// The response of the last event.
    pub response: Value,
}

pub fn eve() -> Principal {
    somebody("eve", Role::Approver)
}

pub fn somebody(name: &str, role: Role) -> Principal {
    Principal { name: name.to_owned(), role, proof: Proof::Token }
}

impl Stage {
    /// A world `w` with these agents; each speaks with the scripted model of its own name. What no scene has prepared is
    /// answered with `Done.`
    pub async fn of(agents: &[&str]) -> Self {
        Self::with(agents, |_| {}).await
    }

    pub async fn with(agents: &[&str], change: impl FnOnce(&mut World)) -> Self {
        let model = Model::answering(|_| Ok(Reply::text("Done.")));
        let (act, look) = (doing(spec("act")), doing(free("look")));
        let engine = Engine::builder(Arc::new(Memory::new()))
            .options(Options { poll: Duration::from_millis(20), ..Options::default() })
            .model("scripted", Arc::new(model.clone()))
            .tool(Arc::new(act.clone()))
            .and_then(|builder| builder.tool(Arc::new(look.clone())))
            .and_then(|builder| builder.tool(Arc::new(painting())))
            .and_then(|builder| builder.start())
            .unwrap();
        let app = Arc::new(App::new(engine, crate::app::Options::default()));
        let stage = Self { app, model, act, look };
        stage.world("w", agents, change).await;
        stage
    }

    pub async fn world(&self, id: &str, agents: &[&str], change: impl FnOnce(&mut World)) {
        let mut world = World::new(WorldId::new(id), id, Timestamp::now());
        let agent =
            |name: &&str| Agent { model: Some(format!("scripted/{name}")), ..Agent::new(*name) };
        world.agents = agents.iter().map(agent).collect();
        world.title_model = Some("scripted/titles".to_owned());
        change(&mut world);
        self.app.engine.create_world(world, "eve").await.unwrap();
    }

    /// Asks ada in a new chat and follows the answer to its end.
    pub async fn ask(&self, request: Value) -> Told {
        self.follow(&request, self.try_ask(&eve(), None, request.clone()).await.unwrap()).await
    }

    pub async fn ask_in(&self, chat: &ChatId, request: Value) -> Told {
        let answering = self.try_ask(&eve(), Some(chat), request.clone()).await;
        self.follow(&request, answering.unwrap()).await
    }

    pub async fn try_ask(
        &self,
        who: &Principal,
        chat: Option<&ChatId>,
        request: Value,
    ) -> Result<Answering, Problem> {
        self.try_agent(who, ("w", "ada"), chat, request).await
    }

    pub async fn try_agent(
        &self,
        who: &Principal,
        (world, agent): (&str, &str),
        chat: Option<&ChatId>,
        request: Value,
    ) -> Result<Answering, Problem> {
        let request: Request = serde_json::from_value(request).unwrap();
        let (world, agent) = (WorldId::new(world), AgentId::new(agent));
        answer(&self.app, who, Ask { world, agent, request, chat: chat.cloned(), follows: None })
            .await
    }

    pub async fn follow(&self, request: &Value, answering: Answering) -> Told {
        let followed = tokio::time::timeout(PATIENCE, written(request, answering.events)).await;
        let events = followed.expect("the answer never came to its end");
        let response = events.last().unwrap()["response"].clone();
        check(&events);
        Told { chat: answering.chat, events, response }
    }

    /// What was said in a chat: `sender: text`.
    pub async fn said(&self, chat: &ChatId) -> Vec<String> {
        let page = MessagePage::After(None, 1_000);
        let messages = self.app.engine.store().messages(chat, page).await.unwrap();
        let said = messages
            .into_iter()
            .filter(|message| message.role != MessageRole::Tool && message.tool_calls.is_empty());
        said.map(|message| format!("{}: {}", message.sender, message.text)).collect()
    }

    /// What ada's model was given with its latest request, a line for each item.
    pub fn shown(&self) -> Vec<String> {
        let requests = self.model.requests();
        let request = requests.iter().rfind(|request| request.model == "ada").unwrap();
        let line = |item: &Arc<Item>| match &**item {
            Item::Message(message) => format!("{:?}: {}", message.role, message.text()),
            Item::FunctionCall(call) => format!("{}({})", call.name, call.arguments),
            Item::FunctionCallOutput(output) => format!("= {}", output.text()),
            other => format!("{other:?}"),
        };
        request.input.iter().map(line).collect()
    }

    /// What a tool was told to do, in the order of its starts.
    pub fn done(tool: &Tool) -> Vec<String> {
        let what = |arguments: &Value| arguments["what"].as_str().unwrap().to_owned();
        tool.invocations().iter().map(|invocation| what(&invocation.arguments)).collect()
    }
}

impl Told {
    pub fn output(&self) -> &[Value] {
        self.response["output"].as_array().unwrap()
    }

    /// The texts of the output's messages.
    pub fn texts(&self) -> Vec<&str> {
        let messages = self.of_type("message");
        messages.iter().map(|item| item["content"][0]["text"].as_str().unwrap()).collect()
    }

    pub fn of_type(&self, kind: &str) -> Vec<&Value> {
        self.output().iter().filter(|item| item["type"] == kind).collect()
    }

    pub fn kinds(&self) -> Vec<&str> {
        self.output().iter().map(|item| item["type"].as_str().unwrap()).collect()
    }

    /// The ids of the requests for approval, by what is to be done.
    pub fn approvals(&self) -> Vec<(String, String)> {
        let request = |item: &&Value| {
            let arguments: Value =
                serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap();
            (
                arguments["what"].as_str().unwrap().to_owned(),
                item["id"].as_str().unwrap().to_owned(),
            )
        };
        self.of_type("mcp_approval_request").iter().map(request).collect()
    }

    pub fn deltas(&self) -> Vec<&str> {
        let deltas =
            self.events.iter().filter(|event| event["type"] == "response.output_text.delta");
        deltas.map(|event| event["delta"].as_str().unwrap()).collect()
    }

    pub fn error(&self) -> &Value {
        let error = self.events.iter().find(|event| event["type"] == "error");
        &error.expect("an error")["error"]
    }
}

/// A tool that takes `what` and asks before it does it.
pub fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "Does something.", parameters())
}

pub fn free(name: &str) -> ToolSpec {
    ToolSpec { approval: Approval::not_required(), ..spec(name) }
}

pub fn parameters() -> Value {
    json!({"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]})
}

fn doing(spec: ToolSpec) -> Tool {
    Tool::new(spec, |invocation| async move {
        let what = invocation.arguments["what"].as_str().unwrap().to_owned();
        Ok(Output::text(format!("did {what}")))
    })
}

/// Asks for a colour and says what it was told.
fn painting() -> Tool {
    Tool::new(free("paint"), |invocation| async move {
        let schema = json!({
            "type": "object",
            "properties": {"colour": {"type": "string"}},
            "required": ["colour"],
        });
        let question = Question { message: "Which colour?".to_owned(), schema, url: None };
        Ok(Output::text(match invocation.person.ask(question).await {
            Given(content) => format!("painted {}", content["colour"]),
            other => format!("{other:?}"),
        }))
    })
}

/// A reply that makes calls at once: the tool, and what it is to do.
pub fn calls(calls: &[(&str, &str)]) -> Answer {
    Answer::calls(calls.iter().map(|(tool, what)| (*tool, json!({"what": what}))))
}

/// A request that answers requests for approval.
pub fn decided(decisions: &[(&str, bool)]) -> Value {
    let item = |(id, approve): &(&str, bool)| json!({"type": "mcp_approval_response", "approval_request_id": id, "approve": approve});
    json!({"input": decisions.iter().map(item).collect::<Vec<_>>()})
}

/// A function that the client executes.
pub fn function(name: &str) -> Value {
    json!({"type": "function", "name": name, "description": "Of the client.", "parameters": parameters(), "strict": false})
}

async fn written(request: &Value, mut events: Events) -> Vec<Value> {
    let request: Request = serde_json::from_value(request.clone()).unwrap();
    let mut writer = EventWriter::new(&request);
    let mut written = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => written.extend(writer.write(&event)),
            Err(error) => written.extend(writer.failed(&error)),
        }
    }
    written
}

/// Whatever is told: in order, once, as the specification says, and the pieces add up.
fn check(events: &[Value]) {
    let last = &events.last().unwrap()["response"];
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
    }
    let mut ids = std::collections::BTreeSet::new();
    for (index, item) in last["output"].as_array().unwrap().iter().enumerate() {
        assert!(ids.insert(item["id"].as_str().unwrap()), "an id is used twice: {item}");
        let of = |kind: &str| {
            let fits = |event: &&Value| event["type"] == kind && event["output_index"] == index;
            events.iter().filter(fits).collect::<Vec<_>>()
        };
        assert_eq!(of("response.output_item.added").len(), 1, "{item}");
        let done = of("response.output_item.done");
        assert_eq!((done.len(), &done[0]["item"]), (1, item));
        let pieces = of("response.output_text.delta");
        let text: String = pieces.iter().map(|piece| piece["delta"].as_str().unwrap()).collect();
        if item["type"] == "message" {
            assert_eq!(item["content"][0]["text"], text, "the pieces do not add up");
        }
    }
    let Some(schemas) = schemas() else {
        println!("skipped {} events: the specification is not here", events.len());
        return;
    };
    events.iter().for_each(|event| hold_against(schemas, event));
}

/// The open core knows no requests for approval; these are held against what OpenAI's clients read.
fn hold_against(schemas: &[(String, Validator)], event: &Value) {
    let is_ours = |item: &Value| item["type"] == "mcp_approval_request";
    let mut event = event.clone();
    if is_ours(&event["item"]) {
        let item = event["item"].as_object().unwrap();
        let keys: Vec<&str> = item.keys().map(String::as_str).collect();
        assert_eq!(keys, ["type", "id", "server_label", "name", "arguments"]);
        assert!(item.values().all(Value::is_string), "{item:?}");
        return;
    }
    if let Some(Value::Array(output)) = event.pointer_mut("/response/output") {
        output.retain(|item| !is_ours(item));
    }
    let kind = event["type"].as_str().unwrap().to_owned();
    let (_, schema) = schemas.iter().find(|(of, _)| *of == kind).expect(&kind);
    let problems: Vec<String> = schema
        .iter_errors(&event)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{event:#}\n{problems:#?}");
}

/// The schemas of events by the type that each is for.
fn schemas() -> Option<&'static Vec<(String, Validator)>> {
    static SCHEMAS: OnceLock<Option<Vec<(String, Validator)>>> = OnceLock::new();
    SCHEMAS.get_or_init(read_schemas).as_ref()
}

fn read_schemas() -> Option<Vec<(String, Validator)>> {
    let named = std::env::var_os("AGENT_WORLD_SPECS").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/specs");
    let path = named.clone().unwrap_or_else(beside).join("open-responses.openapi.json");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            assert!(named.is_none(), "AGENT_WORLD_SPECS holds no specification: {error}");
            return None;
        }
    };
    let specification: Value = serde_json::from_str(&text).unwrap();
    let schemas = specification["components"]["schemas"].as_object().unwrap();
    let events = schemas.iter().filter(|(name, _)| name.ends_with("StreamingEvent"));
    Some(
        events
            .map(|(name, schema)| {
                let kind = schema["properties"]["type"]["enum"][0].as_str().unwrap().to_owned();
                let schema = json!({
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    "$ref": format!("#/components/schemas/{name}"),
                    "components": specification["components"],
                });
                (kind, jsonschema::validator_for(&schema).unwrap())
            })
            .collect(),
    )
}
