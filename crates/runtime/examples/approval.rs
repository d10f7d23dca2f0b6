//! A program with a tool of its own: an agent asks to use it, the program decides, the conversation goes on.
//!
//! Run it with `cargo run -p agent-world-runtime --example approval`. It needs no network and no key: the model answers
//! from a script. Everything is kept in a SQLite file in a temporary folder.

use std::error::Error;
use std::sync::Arc;

use agent_world_runtime::core::Timestamp;
use agent_world_runtime::core::command::{Answer, Claims, Scope as Permission};
use agent_world_runtime::core::config::{Agent, Approval, ToolSpec, World};
use agent_world_runtime::core::event::{Event, Output};
use agent_world_runtime::core::ids::WorldId;
use agent_world_runtime::core::item::{Item, Reply};
use agent_world_runtime::llm::scripted::Scripted;
use agent_world_runtime::store::sqlite::Role;
use agent_world_runtime::store::{Scope, Sqlite};
use agent_world_runtime::tools::{Failure, Invocation, Tool};
use agent_world_runtime::{Engine, FeedItem, NewMessage};
use serde_json::json;

/// Waters the plants. Asks first, because it cannot be undone.
#[derive(Debug)]
struct Water;

#[async_trait::async_trait]
impl Tool for Water {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({
            "type": "object",
            "properties": {"litres": {"type": "number", "minimum": 0}},
            "required": ["litres"],
        });
        ToolSpec {
            approval: Approval {
                message: Some("Water {litres} litres".into()),
                ..Approval::default()
            },
            ..ToolSpec::new("water", "Waters the plants.", parameters)
        }
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        Ok(Output::text(format!("watered: {}", invocation.arguments)))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let store = Sqlite::open(folder.path().join("garden.db"), Role::Worker)?;

    // A model that first wants to water and then says so. A real one is registered the same way.
    let model = Scripted::new();
    model.push("gardener", Reply::of(vec![Item::call("1", "water", &json!({"litres": 2}))]));
    model.push("gardener", Reply::text("The plants have had their two litres."));

    let engine = Engine::builder(Arc::new(store))
        .model("scripted", Arc::new(model))
        .tool(Arc::new(Water))?
        .start()?;

    let mut world = World::new(WorldId::new("garden"), "Garden", Timestamp::now());
    world.agents.push(Agent { model: Some("scripted/gardener".into()), ..Agent::new("ada") });
    let world = engine.create_world(world, "me").await?;
    let chats = engine.store().chats(&world.id, None, 1).await?;
    let chat = chats.first().ok_or("a new world has a chat")?;

    let posted = engine.post(&chat.id, NewMessage::human("@ada water the plants")).await?;
    println!("human: {}", posted.message.text);

    let mut events = engine.subscribe(Scope::Chat(chat.id.clone()), posted.position);
    while let Some(item) = events.next().await? {
        let FeedItem::Stored(event) = item else { continue };
        match event.sealed.open()?.event {
            Event::ApprovalRequested(asked) => {
                println!("asked: {}", asked.question);
                let answer = Answer::Approve {
                    scope: Permission::Once,
                    matches: vec![],
                    arguments: None,
                    reason: None,
                };
                engine.answer(&asked.approval, answer, "me", Claims::default()).await?;
            }
            Event::ToolFinished(finished) => println!("tool: {}", finished.output.text),
            Event::MessagePosted(said) => {
                println!("{}: {}", said.message.sender, said.message.text)
            }
            Event::TurnEnded { .. } => break,
            _ => {}
        }
    }
    engine.shutdown().await;
    Ok(())
}
