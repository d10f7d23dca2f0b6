//! Every vendor, the whole way: set up from settings and environment, asked over a real connection, answered by a fake
//! that speaks the vendor's own format and takes one key alone. Every call that programs have is made to each of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails, also in functions that tests call"
)]

#[path = "fake/vendors.rs"]
mod fake;
#[path = "network/server.rs"]
mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agent_world_core::config::ToolSpec;
use agent_world_core::item::Item;
use agent_world_llm::settings::Settings;
use agent_world_llm::{Class, Delta, Error, Event, Models, Request, Tool, vendors};
use fake::{DOORS, Door, Fake, KEY, THOUGHT};
use futures::StreamExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a test has at a door.
struct Visit<'a> {
    door: &'static Door,
    models: &'a Models,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct City {
    name: String,
    people: u32,
    size: Size,
    rivers: Vec<String>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
enum Size {
    Large,
    Small,
}

impl Visit<'_> {
    fn vendor(&self) -> &'static str {
        if self.door.name == "azure-deployments" { "azure" } else { self.door.name }
    }

    fn request(&self, text: &str) -> Request {
        let model = match self.door.name {
            "openai" => "gpt-5",
            "anthropic" => "claude-sonnet-4-5",
            "google" => "gemini-3-flash-preview",
            "xai" => "grok-4",
            "groq" => "openai/gpt-oss-120b",
            "together" => "meta-llama/Llama-3.3-70B-Instruct-Turbo",
            "mistral" => "mistral-small-latest",
            "deepseek" => "deepseek-chat",
            "openrouter" => "anthropic/claude-sonnet-4.5",
            "ollama" => "qwen3:8b",
            "llamacpp" => "any",
            "vllm" => "Qwen/Qwen3-8B",
            "azure" | "azure-deployments" => "my-deployment",
            "lab" => "small",
            other => panic!("name a model of {other}"),
        };
        let instructions = "Be brief.".to_owned();
        Request { instructions, ..Request::new(format!("{}/{model}", self.vendor()), text) }
    }

    async fn validate_access(&self) -> Result<(), Error> {
        self.models.vendor(self.vendor()).unwrap().validate_access().await
    }
}

/// All vendors with the same key, or without: those known by name by their variables, a host of one's own by settings,
/// Azure by one of its doors.
fn models(fake: &Fake, key: Option<&str>, azure: &str) -> Models {
    let mut variables = BTreeMap::new();
    let mut set = |name: String, value: Option<&str>| {
        variables.extend(value.map(|value| (name, value.to_owned())));
    };
    for door in DOORS {
        let name = match door.name {
            "azure" | "azure-deployments" => continue,
            "google" => "GEMINI".to_owned(),
            name => name.to_uppercase(),
        };
        set(format!("{name}_BASE_URL"), Some(&fake.url(door.name)));
        set(format!("{name}_API_KEY"), key);
    }
    let endpoint = fake.url(azure);
    set(
        "AZURE_OPENAI_ENDPOINT".to_owned(),
        endpoint.strip_suffix("/openai/v1").or(Some(&endpoint)),
    );
    set("AZURE_OPENAI_API_KEY".to_owned(), key);
    let version = (azure == "azure-deployments").then_some("2024-12-01-preview");
    set("AZURE_OPENAI_API_VERSION".to_owned(), version);
    let mut lab = json!({"base_url": fake.url("lab"), "models": {"small": "Qwen/Qwen3-8B"}});
    if key.is_some() {
        lab["key"] = json!({"env": ["NOT_SET", "LAB_API_KEY"]});
    }
    let settings: Settings = serde_json::from_value(json!({"vendors": {"lab": lab}})).unwrap();
    vendors::models(&settings, &|name| variables.get(name).cloned()).unwrap()
}

/// Does the same at every door, with this key.
async fn at_every_door(fake: &Fake, key: Option<&str>, mut play: impl AsyncFnMut(&Visit<'_>)) {
    let plain = models(fake, key, "azure");
    let deployments = models(fake, key, "azure-deployments");
    for door in DOORS {
        let models = if door.name == "azure-deployments" { &deployments } else { &plain };
        play(&Visit { door, models }).await;
    }
}

#[tokio::test]
async fn every_vendor_has_a_door() {
    let nobody = vendors::models(&Settings::default(), &|_| None).unwrap();
    let known: BTreeSet<&str> = nobody.vendors().collect();
    let doors: BTreeSet<&str> = DOORS.iter().map(|door| door.name).collect();
    let more: Vec<&&str> = doors.difference(&known).collect();
    assert_eq!(more, [&"azure-deployments", &"lab"], "one has two, and one is described");
    assert_eq!(known.difference(&doors).count(), 0, "{known:?}");
}

/// The page for people.
const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models.md"));

#[test]
fn the_page_names_every_vendor_for_every_call() {
    let tables: Vec<&str> = PAGE.split("\n\n").filter(|block| block.starts_with("| ")).collect();
    let of_vendors: Vec<&&str> = tables.iter().filter(|table| table.contains("`xai")).collect();
    assert_eq!(of_vendors.len(), 6, "where they are, five calls, and the rest");
    for table in of_vendors {
        for door in DOORS.iter().filter(|door| !matches!(door.name, "azure-deployments" | "lab")) {
            let (name, model) = (format!("`{}`", door.name), format!("`{}/", door.name));
            assert!(table.contains(&name) || table.contains(&model), "{name}: {table}");
        }
    }
}

#[test]
fn the_settings_on_the_page_can_be_used() {
    let blocks = PAGE.split("```toml\n").skip(1);
    let blocks: Vec<&str> = blocks.filter(|block| block.starts_with("[vendors")).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let text = block.split("```").next().unwrap();
        let settings: Settings = toml::from_str(text).unwrap();
        let secret = |name: &str| name.ends_with("_SECRET").then(|| "s".to_owned());
        let models = vendors::models(&settings, &secret).unwrap();
        assert!(settings.vendors.keys().all(|name| models.vendor(name).is_some()), "{text}");
    }
}

#[tokio::test]
async fn text_is_generated() {
    at_every_door(&Fake::start().await, Some(KEY), async |visit| {
        let text = visit.models.generate_text(visit.request("hello")).await.unwrap();
        assert_eq!(text, "You said: hello", "{}", visit.door.name);
    })
    .await;
}

#[tokio::test]
async fn json_is_generated() {
    at_every_door(&Fake::start().await, Some(KEY), async |visit| {
        let found = visit.models.generate_json::<City>(visit.request("Which city?")).await.unwrap();
        let rivers = vec!["fake".to_owned()];
        let expected = City { name: "fake".to_owned(), people: 7, size: Size::Large, rivers };
        assert_eq!(found.value, expected, "{}", visit.door.name);
        assert_eq!(found.repaired, None, "{}", visit.door.name);
        assert_eq!(found.usage.total_tokens, 15, "{}", visit.door.name);
    })
    .await;
}

#[tokio::test]
async fn a_reply_comes_whole_and_in_pieces_and_is_the_same() {
    at_every_door(&Fake::start().await, Some(KEY), async |visit| {
        let mut request = visit.request("Is it the same?");
        request.tools = vec![tool()];
        let whole = visit.models.generate(request.clone()).await.unwrap();
        assert_eq!(whole.output_text(), "I will look.", "{}", visit.door.name);
        assert_eq!(whole.usage.as_ref().unwrap().input_tokens, 10, "{}", visit.door.name);
        let (mut text, mut thoughts, mut arguments) = (String::new(), String::new(), String::new());
        let mut events = visit.models.stream(request).unwrap();
        let mut streamed = None;
        while let Some(event) = events.next().await {
            match event.unwrap() {
                Event::Delta { delta: Delta::Arguments(piece), .. } => arguments.push_str(&piece),
                Event::Delta { delta, .. } => {
                    text.push_str(delta.spoken().unwrap_or_default());
                    thoughts.push_str(delta.thought().unwrap_or_default());
                }
                Event::Completed(response) => streamed = Some(response),
                _ => {}
            }
        }
        let streamed = streamed.expect("a stream ends with the response");
        assert_eq!(streamed.output, whole.output, "{}", visit.door.name);
        assert_eq!(streamed.usage, whole.usage, "{}", visit.door.name);
        assert_eq!(text, whole.output_text(), "{}", visit.door.name);
        assert_eq!(thoughts, THOUGHT, "{}", visit.door.name);
        let call = whole.calls().next().unwrap();
        assert_eq!(arguments, call.arguments, "{}", visit.door.name);
    })
    .await;
}

fn tool() -> Tool {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}},
        "required": ["path"]});
    Tool::from(&ToolSpec::new("files.read", "Reads a file.", parameters))
}

#[tokio::test]
async fn a_tool_is_called_by_its_own_name_and_its_result_understood() {
    at_every_door(&Fake::start().await, Some(KEY), async |visit| {
        for stream in [false, true] {
            let mut request = visit.request("What is in it?");
            request.tools = vec![tool()];
            let ask = async |request: Request| match stream {
                true => {
                    agent_world_llm::complete(visit.models.stream(request).unwrap(), |_| {}).await
                }
                false => visit.models.generate(request).await,
            };
            let called = ask(request.clone()).await.unwrap();
            let call = called.calls().next().unwrap().clone();
            assert_eq!(call.name, "files.read", "{}", visit.door.name);
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            assert_eq!(arguments, json!({"path": "fake"}), "{}", visit.door.name);
            request.input.extend(called.output.into_iter().map(Arc::new));
            request.input.push(Arc::new(Item::output(call.call_id, "42 lines")));
            let answered = ask(request).await.unwrap();
            assert_eq!(answered.output_text(), "The tool said: 42 lines", "{}", visit.door.name);
        }
    })
    .await;
}

#[tokio::test]
async fn access_is_had_with_the_right_key_alone() {
    let fake = Fake::start().await;
    at_every_door(&fake, Some(KEY), async |visit| visit.validate_access().await.unwrap()).await;
    let wrong = "sk-wrong-fedcba9876543210";
    at_every_door(&fake, Some(wrong), async |visit| {
        let access = visit.validate_access().await;
        let asked = visit.models.generate(visit.request("hello")).await;
        for error in [access.unwrap_err(), asked.unwrap_err()] {
            assert_eq!(error.class, Class::Auth, "{error}");
            assert_eq!(error.vendor, visit.vendor());
            let told = format!("{error} {error:?}");
            assert!(told.contains("is not valid"), "the vendor's own words: {told}");
            assert!(!told.contains(wrong), "{told}");
        }
    })
    .await;
}

#[tokio::test]
async fn without_a_key_nothing_is_sent_to_a_vendor_that_wants_one() {
    let fake = Fake::start().await;
    at_every_door(&fake, None, async |visit| {
        let before = fake.requests().len();
        let asked = visit.models.generate(visit.request("hello")).await;
        let sent = fake.requests().len() - before;
        if visit.door.key_optional {
            asked.unwrap();
            return;
        }
        let error = asked.unwrap_err();
        assert_eq!(error.class, Class::Auth, "{error}");
        // Whether a host of one's own wants a key is known to the host alone.
        assert_eq!(sent, usize::from(visit.door.name == "lab"), "{error}");
    })
    .await;
}
