//! Agent World inside another axum application: its routes beside those of the program.
//! Run it with `cargo run -p agent-world-server --example mounted`, then ask http://127.0.0.1:7421/api/worlds.

use std::sync::Arc;

use agent_world_runtime::Engine;
use agent_world_runtime::core::Timestamp;
use agent_world_runtime::core::config::{Agent, World};
use agent_world_runtime::llm::demo::Demo;
use agent_world_runtime::store::Memory;
use agent_world_server::{Options, Server};
use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::builder(Arc::new(Memory::new())).model("demo", Arc::new(Demo)).start()?;
    let mut world = World::new("lab".into(), "Lab", Timestamp::now());
    world.agents.push(Agent { model: Some("demo/demo".into()), ..Agent::new("ada") });
    engine.create_world(world, "example").await?;

    let server = Server::new(engine.clone(), Options::default());
    let listener = TcpListener::bind("127.0.0.1:7421").await?;
    // Whoever can reach it can have programs run: beyond this machine that takes tokens.
    server.may_listen(listener.local_addr()?).await?;
    let application =
        Router::new().route("/", get(|| async { "my own page" })).merge(server.router());

    let stopping = server.stopping().clone();
    let stop = async move {
        tokio::signal::ctrl_c().await.ok();
        stopping.cancel();
    };
    let serving = axum::serve(listener, application).with_graceful_shutdown(stop);
    let (served, ()) = tokio::join!(serving.into_future(), server.deliver_webhooks());
    engine.shutdown().await;
    Ok(served?)
}
